//! `offset-regressed`: a group's committed offset went back.
//!
//! Promised by consume–transform–produce (KIP-447, K-COM-2, K-CTP-2): whoever owns a partition
//! begins where the last committed transaction ended, and whoever owns it no more is refused, so
//! that of two committed offsets of a partition the later one in the log is not smaller. Not
//! promised after a reset: a tombstone by deletion or expiry; to groups that are not named as such
//! ([`CheckerSetup::transforms`](crate::CheckerSetup)), whose offsets nobody compares (G-OFF-5).

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::group_offsets::{committed_offsets, is_readable};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "offset-regressed",
    promise: "The committed offset of a group that transforms never goes back.",
    source: "KIP-447, K-COM-2, K-CTP-2",
    file: "src/invariants/offset_regressed.rs",
    needs: &[&[Need::Transforms, Need::Offsets]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        if cx.setup.transforms.is_empty() {
            return;
        }
        let committed = committed_offsets(end);
        for pair in committed.windows(2) {
            let [before, after] = pair else { continue };
            let same = (before.group, before.partition) == (after.group, after.partition);
            let (Some(higher), Some(lower)) = (before.offset, after.offset) else { continue };
            let judged = cx.setup.transforms.iter().any(|t| t.group == after.group);
            if same && judged && lower < higher && is_readable(cx, end, after.group) {
                let summary = format!(
                    "group {} committed {lower} of {} at {} of __consumer_offsets, after {higher} \
                     at {}",
                    cx.setup.names.group(after.group),
                    cx.setup.names.partition(after.partition),
                    after.at,
                    before.at
                );
                let subject = partition_key(after.partition) ^ after.at.cast_unsigned();
                report.add(INFO.finding(subject, &["committed offset"], "K-CTP-2", summary));
            }
        }
    }
}
