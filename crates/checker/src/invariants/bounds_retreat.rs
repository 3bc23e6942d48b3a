//! `bounds-retreat`: a leader takes back what was committed or stable.
//!
//! Promised (L-HW-1, L-LSO-5): under one leadership neither the high watermark nor the last stable
//! offset moves back. Not promised: that the next leader begins with the bounds of the one before.

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "bounds-retreat",
    promise: "A leader's high watermark and last stable offset never move back.",
    source: "L-HW-1, L-LSO-5",
    file: "src/invariants/bounds_retreat.rs",
    needs: &[&[Need::TwoDumps]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for retreat in &end.logs.retreats {
            let (broker, partition, leader_epoch) = retreat.leadership;
            let (before, now) = (retreat.before, retreat.now);
            let (shape, rule) = if now.high_watermark < before.high_watermark {
                ("high watermark", "L-HW-1")
            } else {
                ("last stable offset", "L-LSO-5")
            };
            let summary = format!(
                "leader {broker} of {} under leader epoch {leader_epoch} moved its high watermark \
                 from {} to {} and its last stable offset from {} to {}",
                cx.setup.names.partition(partition),
                before.high_watermark,
                now.high_watermark,
                before.last_stable_offset,
                now.last_stable_offset
            );
            report.add(INFO.finding(partition_key(partition), &[shape], rule, summary));
        }
    }
}
