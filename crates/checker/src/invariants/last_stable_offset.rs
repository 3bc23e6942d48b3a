//! `last-stable-offset`: a leader's last stable offset is not what its log says.
//!
//! Promised (L-LSO-1 to L-LSO-3): the last stable offset is the first offset of the earliest
//! transaction that is undecided, or decided by a marker that is not below the high watermark; the
//! high watermark if there is none below it. Not promised: where the log start is above 0
//! (L-LSO-4), at followers, or that a restarted replica remembers transactions that a marker above
//! the high watermark decided: of those before its snapshot it does not (L-SNP-1).

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "last-stable-offset",
    promise: "The last stable offset is held by the earliest undecided transaction, and only by it.",
    source: "L-LSO-1, L-LSO-2, L-LSO-3",
    file: "src/invariants/last_stable_offset.rs",
    needs: &[&[Need::StableOffsets]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for log in &end.logs.leaders {
            let replica = &end.dump.replicas[log.replica];
            let replay = end.logs.replay(log.replica);
            if !replay.is_whole || replica.log_start_offset != 0 || replica.unseen.bounds {
                continue;
            }
            let high_watermark = replica.high_watermark;
            let bounded = |first: Option<i64>| first.unwrap_or(high_watermark).min(high_watermark);
            let offsets = replay.first_unstable_offsets(high_watermark).into_iter();
            let allowed: Vec<i64> = offsets.map(bounded).collect();
            let held = replica.last_stable_offset;
            if !allowed.contains(&held) {
                let is_high = allowed.last().is_some_and(|&highest| held > highest);
                let shape = if is_high { "too high" } else { "too low" };
                let summary = format!(
                    "leader {} of {} holds last stable offset {held}, its log says {} (high \
                     watermark {high_watermark})",
                    replica.broker,
                    cx.setup.names.partition(log.partition),
                    allowed[0]
                );
                let subject = partition_key(log.partition);
                report.add(INFO.finding(subject, &[shape], "L-LSO-3", summary));
            }
        }
    }
}
