//! `processed-twice`: two transactions that both committed hold outputs of one input record.
//!
//! Promised by consume–transform–produce with the group's offsets and metadata in the transaction
//! (KIP-98, KIP-447, K-CTP): the effect of an input is committed once. Not promised: that an input
//! is read once, or that aborted attempts leave no outputs in the log (N13); how many outputs one
//! transaction makes of an input; anything to applications that commit offsets elsewhere
//! ([`CheckerSetup::exactly_once_inputs`](crate::CheckerSetup)).

use eosim_types::TopicPartition;

use crate::anomaly::Report;
use crate::facts::Index;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::Fate;
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "processed-twice",
    promise: "The effect of an input record is committed at most once.",
    source: "KIP-98, KIP-447, K-CTP-1",
    file: "src/invariants/processed_twice.rs",
    needs: &[&[Need::Inputs, Need::TransactionalSends, Need::EndLogs]],
};

pub(super) struct Check;

/// An input, the partition of the output, the transaction, and the send.
type Effect = ((TopicPartition, i64), Index, Index);

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        if !cx.setup.exactly_once_inputs {
            return;
        }
        let effect = |(index, send): (Index, &crate::facts::Send)| -> Option<Effect> {
            let (input, transaction) = (send.input?, send.transaction?);
            let judged = cx.facts.is_unique(index) && cx.setup.is_durable(send.partition.topic);
            let is_committed = |fate| matches!(fate, Fate::Committed(_));
            let committed = judged && end.logs.copies(send).any(|copy| is_committed(copy.fate));
            committed.then_some((input, transaction, index))
        };
        let mut effects: Vec<Effect> = (0..).zip(&cx.facts.sends).filter_map(effect).collect();
        effects.sort_unstable();
        for pair in effects.windows(2) {
            let [(input, one, first), (other_input, other, second)] = pair else { continue };
            if input == other_input && one != other {
                let summary = format!(
                    "input {} of {} has committed outputs of two transactions: {}; {}",
                    input.1,
                    cx.setup.names.partition(input.0),
                    cx.words().send(*first),
                    cx.words().send(*second)
                );
                let subject = crate::facts::partition_key(input.0) ^ input.1.cast_unsigned();
                report.add(INFO.finding(subject, &["two commits"], "K-CTP-1", summary));
            }
        }
    }
}
