//! A look at the groups of a coordinator from outside, for people.
//!
//! Counterpart: `kafka-consumer-groups --describe --members --state`.

use alloc::vec::Vec;

use eosim_types::GroupId;
use eosim_types::look::{GroupStanding, MemberStanding};

use crate::coordinator::GroupCoordinator;
use crate::shard::{Group, Shard};

impl GroupCoordinator {
    /// Every group of the partitions that are loaded.
    pub fn standings(&self) -> impl Iterator<Item = GroupStanding> {
        self.shards().flat_map(|(partition, shard)| {
            let mut ids: Vec<GroupId> = shard.latest.groups.keys().copied().collect();
            ids.extend(shard.classic.keys().copied());
            ids.sort_unstable();
            ids.dedup();
            ids.into_iter().filter_map(move |group| standing(partition, shard, group))
        })
    }
}

fn standing(partition: i32, shard: &Shard, group: GroupId) -> Option<GroupStanding> {
    match shard.group(group) {
        Group::Absent => None,
        Group::Classic(classic) => {
            let members = classic.members.iter().map(|(id, member)| MemberStanding {
                member: *id,
                epoch: None,
                assigned: member.assignment.clone(),
            });
            Some(GroupStanding {
                partition,
                group,
                protocol: "classic",
                state: Some(classic.state.name()),
                generation_or_epoch: classic.generation,
                members: members.collect(),
            })
        }
        Group::Consumer(consumer) => {
            let members = consumer.members.iter().map(|(id, member)| MemberStanding {
                member: *id,
                epoch: Some((member.current.member_epoch, member.current.state.name())),
                assigned: member.assigned(),
            });
            Some(GroupStanding {
                partition,
                group,
                protocol: "consumer",
                state: None,
                generation_or_epoch: consumer.metadata.epoch,
                members: members.collect(),
            })
        }
    }
}
