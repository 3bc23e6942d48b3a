//! `aborted-index`: a replica's index of aborted transactions is not what its log says.
//!
//! Promised (L-IDX-1 to L-IDX-3): one entry for each aborted transaction with data, in the order of
//! the markers, with first offset, marker offset and last stable offset, at leaders and followers
//! alike. Not promised: entries for commits and for empty aborts (none are written), or anything
//! where deletion or compaction took a part of the log away.

use eosim_types::record::AbortedTxn;

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "aborted-index",
    promise: "The index of aborted transactions lists exactly those that the log aborts.",
    source: "L-IDX-1, L-IDX-2, L-IDX-3",
    file: "src/invariants/aborted_index.rs",
    needs: &[&[Need::AbortedIndex]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for (at, replica) in end.dump.replicas.iter().enumerate() {
            let replay = end.logs.replay(at);
            let is_whole = replay.is_whole && replica.log_start_offset == 0;
            let is_seen = replica.is_hosted && !replica.unseen.aborted_transactions;
            let is_judged = is_seen && is_whole;
            if !is_judged || replay.aborted == replica.aborted_transactions {
                continue;
            }
            let (logged, held) = (&replay.aborted, &replica.aborted_transactions);
            let same = logged.iter().zip(held).take_while(|(a, b)| a == b).count();
            let summary = format!(
                "broker {} and {}: entry {same} of the log's aborted transactions is {}, of the \
                 index {}",
                replica.broker,
                cx.setup.names.partition(replica.partition),
                describe(logged.get(same)),
                describe(held.get(same))
            );
            let shape = difference(logged.get(same), held.get(same));
            let subject = partition_key(replica.partition);
            report.add(INFO.finding(subject, &[shape], "L-IDX-3", summary));
        }
    }
}

fn difference(logged: Option<&AbortedTxn>, held: Option<&AbortedTxn>) -> &'static str {
    match (logged, held) {
        (Some(logged), Some(held)) if logged.last_offset == held.last_offset => "entry differs",
        (Some(logged), Some(held)) if logged.last_offset > held.last_offset => "entry too many",
        (None, _) => "entry too many",
        _ => "entry missing",
    }
}

fn describe(entry: Option<&AbortedTxn>) -> String {
    entry.map_or_else(
        || "none".to_string(),
        |entry| {
            format!(
                "producer id {} {}..={} last stable offset {}",
                entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
            )
        },
    )
}
