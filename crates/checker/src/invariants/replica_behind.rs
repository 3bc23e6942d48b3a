//! `replica-behind`: a follower never gets what its leader holds.
//!
//! Promised in a healed cluster (L-FLT-1 to L-FLT-4, L-TRC-1): a follower asks its leader, gives up
//! where their logs part, and fetches up to its end. Not promised while anything strikes, in the time
//! that a healed cluster takes to come to rest ([`REST`]), of what was written so lately, by clocks
//! that do not jump, or to replicas that no running process hosts.

use eosim_types::Duration;
use eosim_types::observation::ReplicaDump;

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "replica-behind",
    promise: "In a healed cluster every follower gets to the end of its leader's log.",
    source: "L-FLT-1, L-FLT-2, L-FLT-3, L-FLT-4, L-TRC-1",
    file: "src/invariants/replica_behind.rs",
    needs: &[&[Need::Replicas, Need::Healed]],
};

/// How long it takes at most until a follower has what its leader holds.
const REST: Duration = Duration::from_millis(30_000);

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let is_at_rest = cx.setup.healed_at.is_some_and(|at| at + REST <= end.dump.at);
        if !is_at_rest || !end.dump.healed || cx.setup.clock_jumps {
            return;
        }
        for (at, replica) in end.dump.replicas.iter().enumerate() {
            let Some(log) = end.logs.leader(replica.partition) else { continue };
            let leader = &end.dump.replicas[log.replica];
            let follows = log.replica != at && replica.is_hosted && leader.is_leader;
            if follows && leader.is_hosted && is_old(end, leader) && is_behind(leader, replica) {
                judge(cx, leader, replica, report);
            }
        }
    }
}

/// Was the newest batch of `leader` written long ago?
fn is_old(end: End<'_>, leader: &ReplicaDump) -> bool {
    let rest = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
    let written = leader.batches.last().map_or(0, |batch| batch.max_timestamp);
    end.dump.at.as_millis() - written >= rest
}

fn is_behind(leader: &ReplicaDump, replica: &ReplicaDump) -> bool {
    (replica.leader_epoch, replica.log_end_offset) != (leader.leader_epoch, leader.log_end_offset)
}

fn judge(cx: Context<'_>, leader: &ReplicaDump, replica: &ReplicaDump, report: &mut Report) {
    let summary = format!(
        "the log of {} ends at {} in leader epoch {} at broker {}, at {} in leader epoch {} at its leader {}",
        cx.setup.names.partition(replica.partition),
        replica.log_end_offset,
        replica.leader_epoch,
        replica.broker,
        leader.log_end_offset,
        leader.leader_epoch,
        leader.broker
    );
    let subject = partition_key(replica.partition);
    report.add(INFO.finding(subject, &["log ends differ"], "L-FLT-1", summary));
}
