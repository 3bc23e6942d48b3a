//! Changes of one partition: tables of elections, ELR and epochs, and every small partition.

use alloc::vec::Vec;

use eosim_types::metadata::PartitionMetadata;
use eosim_types::{BrokerId, LeaderEpoch};

use super::partition_change_builder::{Election, PartitionChangeBuilder};
use super::partition_registration::{PartitionRegistration, Unsettled};
use crate::controller::fixture::with_env;

fn ids(list: &[i32]) -> Vec<BrokerId> {
    list.iter().copied().map(BrokerId).collect()
}

/// A partition of brokers 1, 2, 3 at leader epoch 5 and partition epoch 9; leader 0 is none.
fn partition(leader: i32, isr: &[i32], elr: &[i32]) -> PartitionRegistration {
    PartitionRegistration {
        metadata: PartitionMetadata {
            replicas: ids(&[1, 2, 3]),
            isr: ids(isr),
            elr: ids(elr),
            leader: (leader > 0).then_some(BrokerId(leader)),
            leader_epoch: LeaderEpoch(5),
            partition_epoch: 9,
        },
        unsettled: Unsettled::default(),
    }
}

/// What a change should do, `live` being the brokers that may lead.
struct Change {
    min: i32,
    election: Election,
    live: &'static [i32],
    target_isr: &'static [i32],
    unclean_shutdown: Option<i32>,
}

const KEEP_3: Change = Change {
    min: 2,
    election: Election::Online,
    live: &[1, 2, 3],
    target_isr: &[1, 2, 3],
    unclean_shutdown: None,
};

fn build(partition: &PartitionRegistration, change: &Change) -> Option<PartitionRegistration> {
    let is_acceptable_leader = |replica: BrokerId| change.live.contains(&replica.0);
    let builder = PartitionChangeBuilder::new(partition, &is_acceptable_leader, change.min)
        .set_election(change.election)
        .set_unclean_shutdown_replica(change.unclean_shutdown.map(BrokerId))
        .set_target_isr(ids(change.target_isr));
    with_env(|env| builder.build(env))
}

/// Leader, ISR, ELR before a change.
type Before = (i32, &'static [i32], &'static [i32]);

/// Leader, ISR, ELR after it, and by how much the leader epoch rose.
type After = (i32, &'static [i32], &'static [i32], i32);

/// As [`After`].
type Outcome = (i32, Vec<BrokerId>, Vec<BrokerId>, i32);

fn outcome(next: &PartitionRegistration) -> Outcome {
    let state = &next.metadata;
    let leader = state.leader.map_or(0, |leader| leader.0);
    (leader, state.isr.clone(), state.elr.clone(), state.leader_epoch.0 - 5)
}

type Row = (&'static str, Before, Change, After);

fn check(rows: &[Row]) {
    for (about, (leader, isr, elr), change, (to_leader, to_isr, to_elr, epochs)) in rows {
        let next = build(&partition(*leader, isr, elr), change).expect(about);
        assert_eq!(outcome(&next), (*to_leader, ids(to_isr), ids(to_elr), *epochs), "{about}");
        assert_eq!(next.metadata.partition_epoch, 10, "{about}");
    }
}

#[test]
fn leaving_and_returning_replicas_l_isr_5() {
    check(&[
        (
            "L-ISR-5: below the minimum, who leaves is eligible",
            (1, &[1, 3], &[]),
            Change { live: &[1, 2], target_isr: &[1], ..KEEP_3 },
            (1, &[1], &[3], 0),
        ),
        (
            "L-ISR-5: nobody is eligible while the minimum is reached",
            (1, &[1, 2, 3], &[]),
            Change { live: &[1, 2], target_isr: &[1], min: 1, ..KEEP_3 },
            (1, &[1], &[], 0),
        ),
        (
            "L-ISR-5: the last one leaves an empty ISR and is eligible, minimum 1 too",
            (1, &[1], &[]),
            Change { live: &[], target_isr: &[], min: 1, ..KEEP_3 },
            (0, &[], &[1], 1),
        ),
        (
            "L-ISR-5: with the minimum reached again nobody is eligible",
            (1, &[1], &[3]),
            Change { target_isr: &[1, 2], ..KEEP_3 },
            (1, &[1, 2], &[], 0),
        ),
        (
            "L-ISR-5: who may have lost its log's end is not eligible",
            (0, &[], &[1, 2]),
            Change { live: &[3], target_isr: &[], unclean_shutdown: Some(2), ..KEEP_3 },
            (0, &[], &[1], 0),
        ),
    ]);
}

#[test]
fn elections_l_isr_4_l_isr_6_l_fo_5_c_part_6() {
    use Election::{Online, Preferred, Unclean};
    check(&[
        (
            "L-ISR-4: the first live replica of the ISR follows the leader, one epoch up",
            (1, &[1, 2, 3], &[]),
            Change { live: &[2, 3], target_isr: &[2, 3], ..KEEP_3 },
            (2, &[2, 3], &[], 1),
        ),
        (
            "L-ISR-4: the leader in office stays when another replica leaves",
            (2, &[1, 2, 3], &[]),
            Change { live: &[2, 3], target_isr: &[2, 3], ..KEEP_3 },
            (2, &[2, 3], &[], 0),
        ),
        (
            "L-ISR-4: the preferred replica is elected when asked for",
            (2, &[1, 2, 3], &[]),
            Change { election: Preferred, ..KEEP_3 },
            (1, &[1, 2, 3], &[], 1),
        ),
        (
            "L-ISR-6: an eligible replica is elected cleanly when the ISR is empty",
            (0, &[], &[1, 2]),
            Change { live: &[2, 3], target_isr: &[], ..KEEP_3 },
            (2, &[2], &[1], 1),
        ),
        (
            "L-ISR-6: not while the ISR has anybody, dead or not",
            (3, &[3], &[2]),
            Change { live: &[2], target_isr: &[3], ..KEEP_3 },
            (0, &[3], &[2], 1),
        ),
        (
            "L-FO-5: nobody outside ISR and ELR leads by default",
            (1, &[1], &[]),
            Change { live: &[2, 3], target_isr: &[], min: 1, ..KEEP_3 },
            (0, &[], &[1], 1),
        ),
        (
            "L-FO-5: an unclean leader is the whole ISR, nobody is eligible",
            (1, &[1], &[]),
            Change { live: &[2, 3], target_isr: &[], min: 1, election: Unclean, ..KEEP_3 },
            (2, &[2], &[], 1),
        ),
        (
            "L-FO-5: unclean is the last resort",
            (1, &[1, 3], &[]),
            Change { live: &[2, 3], target_isr: &[3], election: Unclean, ..KEEP_3 },
            (3, &[3], &[1], 1),
        ),
        (
            "C-PART-6: led again, one epoch up",
            (0, &[], &[1]),
            Change { live: &[1], target_isr: &[], min: 1, election: Online, ..KEEP_3 },
            (1, &[1], &[], 1),
        ),
    ]);
}

#[test]
fn no_change_raises_no_epoch_l_isr_4() {
    assert_eq!(build(&partition(1, &[1, 2, 3], &[]), &KEEP_3), None);
}

#[test]
fn the_last_known_leader_comes_back_when_nobody_is_eligible_l_fo_5() {
    let killed = Change { live: &[], target_isr: &[], unclean_shutdown: Some(2), min: 1, ..KEEP_3 };
    let leaderless = build(&partition(2, &[2], &[]), &killed).expect("the leader is lost");
    assert_eq!(outcome(&leaderless), (0, ids(&[]), ids(&[]), 1));
    let back = Change { live: &[1, 3], unclean_shutdown: None, ..killed };
    assert_eq!(build(&leaderless, &back), None);
    let back = Change { live: &[1, 2, 3], ..back };
    let next = build(&leaderless, &back).expect("the last leader lives");
    assert_eq!(outcome(&next), (2, ids(&[2]), ids(&[]), 2));
    assert_eq!(next.unsettled, Unsettled::default());
}

#[test]
fn a_dropped_replica_raises_the_leader_epoch_l_isr_4() {
    let old = partition(1, &[1, 2, 3], &[]);
    let builder = PartitionChangeBuilder::new(&old, &|_| true, 1);
    let builder = builder.set_target_replicas(ids(&[1, 3, 2]), ids(&[]), ids(&[2]));
    let next = with_env(|env| builder.build(env)).expect("a replica is dropped");
    assert_eq!(next.metadata.replicas, ids(&[1, 3]));
    assert_eq!(outcome(&next), (1, ids(&[1, 3]), ids(&[]), 1));
}

const SUBSETS: [&[i32]; 8] = [&[], &[1], &[2], &[3], &[1, 2], &[1, 3], &[2, 3], &[1, 2, 3]];

/// Every partition of three replicas with every target and every set of live brokers: only clean
/// candidates win clean elections, and epochs rise by what changed.
#[test]
fn every_small_change_l_isr_4_l_isr_5_l_isr_6() {
    let mut built = 0;
    for old in every_partition() {
        for target_isr in SUBSETS {
            for live in SUBSETS {
                let change = Change { live, target_isr, ..KEEP_3 };
                built += u32::from(check_change(&old, &change));
            }
        }
    }
    assert!(built > 2_000, "only {built} changes");
}

fn every_partition() -> impl Iterator<Item = PartitionRegistration> {
    let disjoint = |(isr, elr): &(&[i32], &[i32])| elr.iter().all(|r| !isr.contains(r));
    let lists = SUBSETS.iter().flat_map(|&isr| SUBSETS.iter().map(move |&elr| (isr, elr)));
    lists.filter(disjoint).flat_map(|(isr, elr)| {
        let leaders = isr.iter().copied().chain([0]);
        leaders.map(move |leader| partition(leader, isr, elr))
    })
}

fn check_change(old: &PartitionRegistration, change: &Change) -> bool {
    // A leader leaves the ISR only if it cannot lead any more.
    let stays = |leader: BrokerId| change.live.contains(&leader.0);
    let leaves = |leader: BrokerId| !change.target_isr.contains(&leader.0);
    if old.metadata.leader.is_some_and(|leader| stays(leader) && leaves(leader)) {
        return false;
    }
    let Some(next) = build(old, change) else { return false };
    let (before, after) = (&old.metadata, &next.metadata);
    assert_eq!(after.partition_epoch, before.partition_epoch + 1);
    let rise = after.leader_epoch.0 - before.leader_epoch.0;
    assert_eq!(rise, i32::from(after.leader != before.leader), "{old:?} → {next:?}");
    if let Some(leader) = after.leader {
        let was_eligible = before.isr.contains(&leader) || before.elr.contains(&leader);
        assert!(was_eligible || change.target_isr.contains(&leader.0), "{old:?} → {next:?}");
        assert!(change.live.contains(&leader.0), "{old:?} → {next:?}");
    }
    assert!(after.isr.len() < 2 || after.elr.is_empty(), "{old:?} → {next:?}");
    true
}
