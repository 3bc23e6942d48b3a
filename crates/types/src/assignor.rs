//! How the partitions of topics are shared out among the members of a group.
//!
//! Counterpart: `RangeAssignor` and `UniformAssignor`. The leader of a classic group and the
//! coordinator of a KIP-848 group run the same functions. Invariants: every partition of a topic
//! to which somebody is subscribed has exactly one owner; the result depends on nothing but the
//! arguments.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::ids::{Topic, TopicPartition};

/// A way of sharing out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Assignor {
    /// `range`: topic by topic, each member a run of neighbouring partitions.
    Range,
    /// `uniform`: members keep what they have, as long as all have about the same number.
    Uniform,
}

/// Who is subscribed to what, by member id.
pub type Subscriptions = BTreeMap<u32, Vec<Topic>>;

/// Who owns what, by member id; partitions are sorted.
pub type Assignment = BTreeMap<u32, Vec<TopicPartition>>;

impl Assignor {
    /// Kafka's spelling.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Uniform => "uniform",
        }
    }

    /// Shares out the partitions of `topics` (each with its number of partitions) to members that
    /// own `current` now.
    #[must_use]
    pub fn assign(
        self,
        subscriptions: &Subscriptions,
        topics: &[(Topic, i32)],
        current: &Assignment,
    ) -> Assignment {
        let mut assignment: Assignment =
            subscriptions.keys().map(|&member| (member, Vec::new())).collect();
        match self {
            Self::Range => range(subscriptions, topics, &mut assignment),
            Self::Uniform => uniform(subscriptions, topics, current, &mut assignment),
        }
        assignment.values_mut().for_each(|owned| owned.sort_unstable());
        assignment
    }
}

fn subscribers(subscriptions: &Subscriptions, topic: Topic) -> Vec<u32> {
    let subscribed = subscriptions.iter().filter(|(_, topics)| topics.contains(&topic));
    subscribed.map(|(&member, _)| member).collect()
}

fn range(subscriptions: &Subscriptions, topics: &[(Topic, i32)], assignment: &mut Assignment) {
    for &(topic, count) in topics {
        let members = subscribers(subscriptions, topic);
        let shares = i32::try_from(members.len()).unwrap_or(i32::MAX);
        let mut next = 0;
        for (place, member) in (0..).zip(&members) {
            let share = count / shares + i32::from(place < count % shares);
            let run = (next..next + share).map(|partition| TopicPartition::new(topic, partition));
            assignment.entry(*member).or_default().extend(run);
            next += share;
        }
    }
}

fn uniform(
    subscriptions: &Subscriptions,
    topics: &[(Topic, i32)],
    current: &Assignment,
    assignment: &mut Assignment,
) {
    let all = topics.iter().flat_map(|&(topic, count)| {
        (0..count).map(move |partition| TopicPartition::new(topic, partition))
    });
    let mut free: Vec<TopicPartition> =
        all.filter(|tp| !subscribers(subscriptions, tp.topic).is_empty()).collect();
    let members = subscriptions.len().max(1);
    let (quota, mut extras) = (free.len() / members, free.len() % members);
    for (member, owned) in assignment.iter_mut() {
        let is_own = |tp: &&TopicPartition| {
            subscriptions[member].contains(&tp.topic) && free.binary_search(tp).is_ok()
        };
        let kept = current.get(member).into_iter().flatten().filter(is_own).copied();
        owned.extend(kept.take(quota + usize::from(extras > 0)));
        extras -= usize::from(owned.len() > quota);
        free.retain(|tp| !owned.contains(tp));
    }
    for tp in free {
        let members = subscribers(subscriptions, tp.topic);
        let least = members.into_iter().min_by_key(|member| (assignment[member].len(), *member));
        if let Some(member) = least {
            assignment.entry(member).or_default().push(tp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Topic = Topic::FIRST_USER;
    const B: Topic = Topic(3);

    fn assigned(
        assignor: Assignor,
        members: &[(u32, &[Topic])],
        current: &Assignment,
    ) -> Vec<(u32, Vec<(u16, i32)>)> {
        let subscriptions = members.iter().map(|(member, topics)| (*member, topics.to_vec()));
        let assignment = assignor.assign(&subscriptions.collect(), &[(A, 3), (B, 2)], current);
        let plain =
            |tps: Vec<TopicPartition>| tps.iter().map(|tp| (tp.topic.0, tp.partition)).collect();
        assignment.into_iter().map(|(member, tps)| (member, plain(tps))).collect()
    }

    #[test]
    fn range_gives_runs_topic_by_topic() {
        let both: &[Topic] = &[A, B];
        let rows = assigned(Assignor::Range, &[(1, both), (2, both)], &Assignment::new());
        assert_eq!(rows, [(1, [(2, 0), (2, 1), (3, 0)].to_vec()), (2, [(2, 2), (3, 1)].to_vec())]);
        let rows = assigned(Assignor::Range, &[(1, &[B]), (2, &[A])], &Assignment::new());
        assert_eq!(rows, [(1, [(3, 0), (3, 1)].to_vec()), (2, [(2, 0), (2, 1), (2, 2)].to_vec())]);
    }

    #[test]
    fn uniform_moves_as_little_as_it_can() {
        let current: Assignment =
            [(7, (0..3).map(|p| TopicPartition::new(A, p)).collect::<Vec<_>>())].into();
        let rows = assigned(Assignor::Uniform, &[(3, &[A, B]), (7, &[A, B])], &current);
        assert_eq!(rows, [(3, [(3, 0), (3, 1)].to_vec()), (7, [(2, 0), (2, 1), (2, 2)].to_vec())]);
        let rows = assigned(Assignor::Uniform, &[(3, &[A]), (7, &[A])], &current);
        assert_eq!(rows, [(3, [(2, 2)].to_vec()), (7, [(2, 0), (2, 1)].to_vec())]);
    }
}
