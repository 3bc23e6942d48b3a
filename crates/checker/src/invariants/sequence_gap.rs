//! `sequence-gap`: a log holds a batch whose sequence does not follow on the one before.
//!
//! Promised by idempotence (KIP-98, L-SEQ-3, L-SEQ-4): of a producer that a log knows it takes the
//! next sequence of the epoch, 0 first, and nothing else, whoever leads. Not promised of the first
//! batch that a log ever has of a producer (L-EPO-2), of one whose entry may have expired (L-EXP-4),
//! after an unclean election, or where deletion or compaction took a part of the log away.

use eosim_types::Instant;

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "sequence-gap",
    promise: "The batches of a producer lie in a log with sequences that follow on each other.",
    source: "KIP-98, L-SEQ-3, L-SEQ-4",
    file: "src/invariants/sequence_gap.rs",
    needs: &[&[Need::WholeLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        if cx.setup.clock_jumps || report.at >= Instant::START + cx.setup.producer_id_expiration {
            return;
        }
        for (at, replica) in end.dump.replicas.iter().enumerate() {
            let replay = end.logs.replay(at);
            let is_whole = replay.is_whole && replica.log_start_offset == 0;
            let is_judged = is_whole && cx.setup.is_durable(replica.partition.topic);
            let Some(gap) = replay.gaps.first().filter(|_| is_judged) else { continue };
            let summary = format!(
                "broker {} and {}: the batch of producer id {} epoch {} at offset {} begins with \
                 sequence {}, the one before ended with {}",
                replica.broker,
                cx.setup.names.partition(replica.partition),
                gap.producer_id,
                gap.producer_epoch,
                gap.offset,
                gap.base_sequence,
                gap.last_sequence
            );
            let shape = if gap.last_sequence.0 < 0 { "first of its epoch" } else { "within an epoch" };
            report.add(INFO.finding(partition_key(replica.partition), &[shape], "L-SEQ-4", summary));
        }
    }
}
