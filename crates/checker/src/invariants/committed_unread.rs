//! `committed-unread`: a group has committed an offset behind a record that none of its members was
//! given.
//!
//! Promised to members that commit their positions, by themselves or by hand (K-POS-3, K-COM-3): a
//! group goes on from what it committed, so every record that its isolation level shows, below the
//! committed offset, was delivered to some member, at least once. Not promised: at most once;
//! anything of records that were deleted, or of a log that an unclean election cut; anything of a
//! group that somebody else commits for ([`CheckerSetup::group_readers`](crate::CheckerSetup)).

use std::collections::BTreeSet;

use eosim_types::{ActorId, GroupId};

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::group_offsets::{CommittedOffset, committed_offsets, is_readable};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::LeaderLog;
use crate::need::Need;
use crate::setup::GroupReader;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "committed-unread",
    promise: "Every record that a group's committed offset has passed was given to a member.",
    source: "K-POS-3, K-COM-3",
    file: "src/invariants/committed_unread.rs",
    needs: &[&[Need::GroupReaders, Need::Polls, Need::Offsets, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let readers = &cx.setup.group_readers;
        if readers.is_empty() {
            return;
        }
        let committed = committed_offsets(end);
        let groups: BTreeSet<_> = readers.iter().map(|reader| (reader.group, reader.topic)).collect();
        for (group, topic) in groups {
            let is_whole = is_readable(cx, end, group)
                && cx.setup.is_durable(topic)
                && !cx.setup.is_deletable(topic)
                && !cx.setup.compacted.contains(&topic);
            for log in &end.logs.leaders {
                if is_whole && log.partition.topic == topic {
                    judge(cx, end, (group, log), &committed, report);
                }
            }
        }
    }
}

fn judge(
    cx: Context<'_>,
    end: End<'_>,
    (group, log): (GroupId, &LeaderLog),
    committed: &[CommittedOffset],
    report: &mut Report,
) {
    let of = |one: &&CommittedOffset| (one.group, one.partition) == (group, log.partition);
    let furthest = committed.iter().filter(of).filter_map(|one| one.offset).max();
    let Some(furthest) = furthest else { return };
    let given = given_to(cx, group, log);
    for place in end.logs.places_of(log) {
        let passed = place.offset < furthest && place.fate.is_visible();
        if !passed || given.contains(&place.offset) {
            continue;
        }
        let summary = format!(
            "group {} has committed offset {furthest} of {}, but no member was given {} at {}",
            cx.setup.names.group(group),
            cx.setup.names.partition(log.partition),
            cx.setup.names.value(place.value),
            place.offset
        );
        let subject = partition_key(log.partition) ^ place.offset.cast_unsigned();
        report.add(INFO.finding(subject, &["offset committed", "not read"], "K-POS-3", summary));
    }
}

/// The offsets of `log` at which members of `group` were given a record.
fn given_to(cx: Context<'_>, group: GroupId, log: &LeaderLog) -> BTreeSet<i64> {
    let is_own = |reader: &&GroupReader| reader.group == group;
    let members: BTreeSet<ActorId> =
        cx.setup.group_readers.iter().filter(is_own).map(|reader| reader.actor).collect();
    let polls = cx.facts.polls.iter();
    let polls = polls.filter(|p| p.partition == log.partition && members.contains(&p.actor));
    polls.flat_map(|poll| cx.facts.delivered_by(poll)).map(|record| record.offset).collect()
}
