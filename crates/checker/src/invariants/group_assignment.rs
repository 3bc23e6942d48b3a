//! `group-assignment`: a group's log gives a partition to two members at once, or goes back to an
//! older generation.
//!
//! Promised (KIP-848, KIP-447, KIP-98's fencing of group members, G-OFF-2, G-OFF-3): a partition is
//! given to a member only when whoever had it has given it up, or is fenced; and generations and
//! epochs of a group only grow, since it is by them that an older owner is known. Judged by what the
//! log says after every batch, so that no consumer needs to be late for it to show. Not promised:
//! what members believe meanwhile; anything of a group that was deleted and came into being again.

use std::collections::{BTreeMap, BTreeSet};

use eosim_types::group_log::{GroupLogRecord, GroupMetadataValue};
use eosim_types::record::Payload;
use eosim_types::{GroupId, Topic, TopicPartition};

use crate::anomaly::Report;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::LeaderLog;
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "group-assignment",
    promise: "A partition has one owner in a group, whose generations and epochs only grow.",
    source: "KIP-848, KIP-447, G-OFF-2, G-OFF-3",
    file: "src/invariants/group_assignment.rs",
    needs: &[&[Need::Groups]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let of_groups = |log: &&LeaderLog| log.partition.topic == Topic::CONSUMER_OFFSETS;
        if cx.setup.is_durable(Topic::CONSUMER_OFFSETS) {
            for log in end.logs.leaders.iter().filter(of_groups) {
                judge(cx, end, log, report);
            }
        }
    }
}

/// A group as its log says it.
#[derive(Default)]
struct Group {
    /// Classic.
    generation: i32,
    epoch: i32,
    assignment_epoch: i32,
    /// What each member has, or has not given up yet.
    held: BTreeMap<u32, Vec<TopicPartition>>,
}

/// What is wrong after a record.
type Wrong = (&'static str, String);

fn judge(cx: Context<'_>, end: End<'_>, log: &LeaderLog, report: &mut Report) {
    let mut groups: BTreeMap<GroupId, Group> = BTreeMap::new();
    for batch in &end.dump.replicas[log.replica].batches {
        let Payload::GroupLog(records) = &batch.payload else { continue };
        let mut touched = BTreeSet::new();
        for record in records.iter() {
            let Some(id) = group_of(record) else { continue };
            touched.insert(id);
            let Some(wrong) = groups.entry(id).or_default().replay(record) else { continue };
            say(cx, (log, batch.base_offset), id, wrong, report);
        }
        for id in touched {
            if let Some(wrong) = groups[&id].shared(cx) {
                say(cx, (log, batch.base_offset), id, wrong, report);
            }
        }
    }
}

fn say(
    cx: Context<'_>,
    (log, at): (&LeaderLog, i64),
    id: GroupId,
    (shape, how): Wrong,
    report: &mut Report,
) {
    let summary = format!(
        "the batch at {at} of {} says of group {}: {how}",
        cx.setup.names.partition(log.partition),
        cx.setup.names.group(id)
    );
    let subject = crate::facts::partition_key(log.partition) ^ u64::from(id.0);
    report.add(INFO.finding(subject, &[shape], "G-OFF-3", summary));
}

const fn group_of(record: &GroupLogRecord) -> Option<GroupId> {
    match record {
        GroupLogRecord::GroupMetadata { group, .. }
        | GroupLogRecord::ConsumerGroupMetadata { group, .. }
        | GroupLogRecord::ConsumerGroupTargetAssignmentMetadata { group, .. }
        | GroupLogRecord::ConsumerGroupCurrentMemberAssignment { group, .. } => Some(*group),
        _ => None,
    }
}

impl Group {
    fn replay(&mut self, record: &GroupLogRecord) -> Option<Wrong> {
        match record {
            GroupLogRecord::GroupMetadata { value: None, .. }
            | GroupLogRecord::ConsumerGroupMetadata { value: None, .. } => {
                *self = Self::default();
                None
            }
            GroupLogRecord::GroupMetadata { value: Some(value), .. } => self.classic(value),
            GroupLogRecord::ConsumerGroupMetadata { value: Some(value), .. } => {
                grows("group epoch", &mut self.epoch, value.epoch)
            }
            GroupLogRecord::ConsumerGroupTargetAssignmentMetadata { assignment_epoch, .. } => {
                grows("assignment epoch", &mut self.assignment_epoch, (*assignment_epoch)?)
            }
            GroupLogRecord::ConsumerGroupCurrentMemberAssignment { member, value, .. } => {
                match value {
                    Some(value) => self.held.insert(*member, value.held().collect()),
                    None => self.held.remove(member),
                };
                None
            }
            _ => None,
        }
    }

    fn classic(&mut self, value: &GroupMetadataValue) -> Option<Wrong> {
        self.held = value.consumers().map(|m| (m.member, m.assignment.clone())).collect();
        grows("generation", &mut self.generation, value.generation)
    }

    /// A partition that two members have.
    fn shared(&self, cx: Context<'_>) -> Option<Wrong> {
        let mut owners = BTreeMap::new();
        let held = self.held.iter().flat_map(|(member, held)| held.iter().map(move |tp| (tp, member)));
        for (tp, member) in held {
            if let Some(other) = owners.insert(tp, member).filter(|other| *other != member) {
                let tp = cx.setup.names.partition(*tp);
                return Some(("two owners", format!("members {other} and {member} have {tp}")));
            }
        }
        None
    }
}

fn grows(what: &'static str, known: &mut i32, told: i32) -> Option<Wrong> {
    let before = std::mem::replace(known, told);
    (told < before).then(|| ("went back", format!("its {what} is {told}, it was {before}")))
}
