//! `effect-reordered`: results lie in the output in another order than their input.
//!
//! Promised by consume–transform–produce (KIP-98, K-COM-2, L-SEQ-4): one owner at a time transforms
//! a partition, and it goes on where the one before it has committed, so that committed results of
//! one input partition in one output partition follow the order of the input, over rebalances and
//! aborted attempts. Not promised: any order between results of different input partitions, or
//! among the results of one record; the place of what was aborted.

use std::collections::BTreeMap;

use eosim_types::TopicPartition;

use crate::anomaly::Report;
use crate::facts::Index;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::LeaderLog;
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "effect-reordered",
    promise: "Committed results lie in the order of the input records that they were made from.",
    source: "KIP-98, KIP-447, K-COM-2, K-CTP-6",
    file: "src/invariants/effect_reordered.rs",
    needs: &[&[Need::Inputs, Need::TransactionalSends, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        if !cx.setup.exactly_once_inputs {
            return;
        }
        for log in &end.logs.leaders {
            if cx.setup.is_durable(log.partition.topic) {
                judge(cx, end, log, report);
            }
        }
    }
}

fn judge(cx: Context<'_>, end: End<'_>, log: &LeaderLog, report: &mut Report) {
    // The latest input offset of each input partition, and its result.
    let mut latest: BTreeMap<TopicPartition, (i64, Index)> = BTreeMap::new();
    for place in end.logs.places_of(log).iter().filter(|place| place.fate.is_visible()) {
        let Some(index) = place.send.filter(|&index| cx.facts.is_unique(index)) else { continue };
        let send = cx.facts.send(index);
        let (Some((input, offset)), Some(_)) = (send.input, send.transaction) else { continue };
        let (before, earlier) = *latest.entry(input).or_insert((offset, index));
        if offset < before {
            let summary = format!(
                "in {} a result of input {offset} of {} follows one of input {before}: {}; {}",
                cx.setup.names.partition(log.partition),
                cx.setup.names.partition(input),
                cx.words().send(earlier),
                cx.words().send(index)
            );
            report.add(INFO.finding(send.value.0, &["later input first"], "K-COM-2", summary));
        }
        latest.insert(input, (before.max(offset), index));
    }
}
