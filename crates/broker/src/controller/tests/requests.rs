//! What each request to the controller is answered.

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::message::{
    AllocateProducerIdsRequest, AlterPartitionRequest, AlterPartitionResponse,
    BrokerHeartbeatRequest, BrokerRegistrationRequest, FetchMetadataRequest, Response,
};
use eosim_types::version::TransactionVersion;
use eosim_types::{BrokerId, DefectSet, ErrorCode, LeaderEpoch, TopicPartition};

use super::world::{TP, World, state};
use crate::controller::Controller;
use crate::controller::fixture::{TOPIC, cluster};

fn three(min_insync_replicas: i32) -> World {
    let mut config = cluster(&[1, 2, 3], &[&[1, 2, 3]]);
    config.topics[0].config.min_insync_replicas = min_insync_replicas;
    World::new(config)
}

fn proposal(new_isr: &[(i32, i64)]) -> AlterPartitionRequest {
    AlterPartitionRequest {
        broker: BrokerId(1),
        broker_epoch: 1,
        partition: TP,
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
        new_isr: new_isr.iter().map(|&(broker, epoch)| (BrokerId(broker), epoch)).collect(),
    }
}

fn alter(world: &mut World, request: AlterPartitionRequest) -> AlterPartitionResponse {
    let response = world.ask(request);
    let Response::AlterPartition(response) = response else { panic!("{response:?}") };
    response
}

#[test]
fn alter_partition_refusals_l_isr_2_l_isr_4() {
    use ErrorCode as E;
    let good = || proposal(&[(1, 1), (2, 2)]);
    let unknown = TopicPartition::new(TOPIC, 7);
    let from_2 =
        |request| AlterPartitionRequest { broker: BrokerId(2), broker_epoch: 2, ..request };
    let rows = [
        (AlterPartitionRequest { broker_epoch: 9, ..good() }, E::StaleBrokerEpoch),
        (AlterPartitionRequest { partition: unknown, ..good() }, E::UnknownTopicOrPartition),
        (AlterPartitionRequest { leader_epoch: LeaderEpoch(3), ..good() }, E::NotController),
        (AlterPartitionRequest { partition_epoch: 9, ..good() }, E::NotController),
        (AlterPartitionRequest { leader_epoch: LeaderEpoch(-1), ..good() }, E::FencedLeaderEpoch),
        (from_2(good()), E::InvalidRequest),
        (AlterPartitionRequest { partition_epoch: -1, ..good() }, E::InvalidUpdateVersion),
        (proposal(&[(1, 1), (1, 1)]), E::InvalidRequest),
        (proposal(&[(1, 1), (4, 4)]), E::InvalidRequest),
        (proposal(&[(2, 2)]), E::InvalidRequest),
        (proposal(&[(1, 1), (2, 9)]), E::IneligibleReplica),
        (proposal(&[(1, 1), (2, -1)]), E::None),
        (good(), E::None),
    ];
    for (request, error) in rows {
        let mut world = three(2);
        assert_eq!(alter(&mut world, request.clone()).error, error, "{request:?}");
    }
}

#[test]
fn a_change_of_the_isr_raises_the_partition_epoch_alone_l_isr_4() {
    let mut world = three(2);
    let response = alter(&mut world, proposal(&[(2, 2), (1, 1)]));
    assert_eq!((response.leader_epoch, response.partition_epoch), (LeaderEpoch(0), 1));
    assert_eq!(response.isr, [BrokerId(1), BrokerId(2)]);
    // The same proposal again knows an older partition epoch.
    let again = alter(&mut world, proposal(&[(1, 1), (2, 2)]));
    assert_eq!(again.error, ErrorCode::InvalidUpdateVersion);
    // A proposal of what is so changes nothing.
    let same = AlterPartitionRequest { partition_epoch: 1, ..proposal(&[(1, 1), (2, 2)]) };
    let response = alter(&mut world, same);
    assert_eq!((response.error, response.partition_epoch), (ErrorCode::None, 1));
}

#[test]
fn replicas_that_leave_at_once_are_all_eligible_l_isr_5() {
    let mut world = three(2);
    alter(&mut world, proposal(&[(1, 1)]));
    assert_eq!(world.state(), state(1, 0, &[1], &[2, 3]));
}

#[test]
fn fenced_and_stopping_replicas_do_not_enter_the_isr_l_isr_2() {
    let mut world = three(1);
    world.pause(2);
    world.settle();
    let late = |world: &World, id| {
        let partition_epoch = world.partition().partition_epoch;
        AlterPartitionRequest { partition_epoch, ..proposal(&[(1, 1), (id, i64::from(id))]) }
    };
    let request = late(&world, 2);
    assert_eq!(alter(&mut world, request).error, ErrorCode::IneligibleReplica);
    // Broker 3 leads nothing: it may stop at once and is fenced.
    assert!(world.heartbeat(3, true).should_shut_down);
    let request = late(&world, 3);
    assert_eq!(alter(&mut world, request).error, ErrorCode::IneligibleReplica);
}

/// Its first copy may still be under way when the retry is refused.
#[test]
fn a_proposal_that_was_refused_stays_refused_except_as_released_l_isr_1_l_isr_2() {
    for (defects, error) in [
        (DefectSet::NONE, ErrorCode::InvalidUpdateVersion),
        (DefectSet::as_released(), ErrorCode::None),
    ] {
        let mut world = three(1);
        world.defects = defects;
        world.pause(2);
        world.settle();
        let partition_epoch = world.partition().partition_epoch;
        let proposal = AlterPartitionRequest { partition_epoch, ..proposal(&[(1, 1), (2, 2)]) };
        let refused = alter(&mut world, proposal.clone());
        assert_eq!(refused.error, ErrorCode::IneligibleReplica);
        world.resume(2);
        world.advance(1_000);
        assert_eq!(alter(&mut world, proposal).error, error);
    }
}

#[test]
fn a_deposed_leader_cannot_shrink_the_isr_to_itself_l_isr_4() {
    let mut world = three(1);
    world.pause(1);
    world.settle();
    assert_eq!(world.state(), state(2, 1, &[2, 3], &[]));
    let response = alter(&mut world, proposal(&[(1, 1)]));
    assert_eq!(response.error, ErrorCode::FencedLeaderEpoch);
}

#[test]
fn completing_a_reassignment_may_take_the_leadership_l_isr_4() {
    let mut world = World::new(cluster(&[1, 2, 3], &[&[1, 2]]));
    assert_eq!(world.reassign(&[2, 3]), ErrorCode::None);
    let replicas = [2, 3, 1].map(BrokerId);
    assert_eq!(
        (&world.partition().replicas[..], world.partition().leader_epoch.0),
        (&replicas[..], 0)
    );
    let all = AlterPartitionRequest { partition_epoch: 1, ..proposal(&[(1, 1), (2, 2), (3, 3)]) };
    assert_eq!(alter(&mut world, all).error, ErrorCode::NewLeaderElected);
    assert_eq!(world.partition().replicas, [2, 3].map(BrokerId));
}

#[test]
fn reassignments_that_cannot_be_are_refused() {
    let rows: [(&[i32], ErrorCode); 4] = [
        (&[], ErrorCode::InvalidReplicaAssignment),
        (&[1, 1], ErrorCode::InvalidReplicaAssignment),
        (&[1, 7], ErrorCode::InvalidReplicaAssignment),
        (&[1], ErrorCode::None),
    ];
    for (replicas, error) in rows {
        assert_eq!(three(1).reassign(replicas), error, "{replicas:?}");
    }
}

#[test]
fn elections_that_cannot_be_l_isr_4() {
    let mut world = World::new(cluster(&[1, 2, 3], &[&[1, 2]]));
    assert_eq!(world.elect(true), ErrorCode::ElectionNotNeeded);
    world.pause(1);
    world.settle();
    assert_eq!(world.elect(false), ErrorCode::PreferredLeaderNotAvailable);
    world.pause(2);
    world.settle();
    assert_eq!(world.elect(false), ErrorCode::PreferredLeaderNotAvailable);
    assert_eq!(world.elect(true), ErrorCode::EligibleLeadersNotAvailable);
}

#[test]
fn a_broker_stops_only_when_the_others_know_that_it_leads_nothing() {
    let mut world = three(1);
    let before = world.controller.image().version;
    assert!(!world.heartbeat(1, true).should_shut_down);
    assert_eq!(world.state(), state(2, 1, &[2, 3], &[]));
    world.heartbeat_at(2, before, false);
    world.heartbeat_at(3, before, false);
    assert!(!world.heartbeat(1, true).should_shut_down);
    world.heartbeat(2, false);
    world.heartbeat(3, false);
    let response = world.heartbeat(1, true);
    assert!(response.should_shut_down && response.is_fenced);
}

#[test]
fn a_new_life_is_fenced_until_it_has_caught_up_with_its_registration() {
    let mut world = three(1);
    world.kill(2);
    let before = world.controller.image().version;
    assert_eq!(world.register(2), ErrorCode::None);
    assert!(world.heartbeat_at(2, before, false).is_fenced);
    assert!(!world.heartbeat(2, false).is_fenced);
}

#[test]
fn registrations_are_idempotent_and_earlier_lives_are_refused() {
    let mut world = three(1);
    let mut register_as = |incarnation, supported_transaction_version| {
        let request = BrokerRegistrationRequest {
            broker: BrokerId(2),
            incarnation,
            previous_broker_epoch: -1,
            supported_transaction_version,
        };
        let response = world.ask(request);
        let Response::BrokerRegistration(response) = response else { panic!("{response:?}") };
        (response.error, response.broker_epoch)
    };
    let too_old = register_as(2, TransactionVersion::Tv0);
    assert_eq!(too_old, (ErrorCode::UnsupportedVersion, -1), "version 2 is finalized");
    let mut register = |incarnation| register_as(incarnation, TransactionVersion::Tv2);
    let first = register(2);
    assert_eq!(first.0, ErrorCode::None);
    assert_eq!(register(2), first);
    assert_eq!(register(1), (ErrorCode::DuplicateBrokerRegistration, -1));
    assert!(register(3).1 > first.1);
}

#[test]
fn a_former_life_is_not_heard() {
    let mut world = three(1);
    world.kill(2);
    world.start(2);
    let response = world.ask(BrokerHeartbeatRequest {
        broker: BrokerId(2),
        broker_epoch: 2,
        current_metadata_version: 99,
        want_shut_down: false,
    });
    let Response::BrokerHeartbeat(response) = response else { panic!("{response:?}") };
    assert_eq!(response.error, ErrorCode::StaleBrokerEpoch);
}

#[test]
fn a_fetch_of_metadata_waits_for_news_but_not_for_long() {
    let mut world = three(1);
    let version = world.controller.image().version;
    let fetch = |known_version| FetchMetadataRequest { broker: BrokerId(3), known_version };
    let seen = |answers: Vec<(_, Response)>| -> Vec<_> {
        let image = |(token, response)| match response {
            Response::FetchMetadata(fetched) => Some((token, fetched.image.version)),
            _ => None,
        };
        answers.into_iter().filter_map(image).collect()
    };
    let (token, answers) = world.send(fetch(0));
    assert_eq!(seen(answers), [(token, version)]);
    let (token, answers) = world.send(fetch(version));
    assert_eq!(seen(answers), []);
    assert_eq!(seen(world.advance(500)), [(token, version)]);
    let (token, _) = world.send(fetch(version));
    let (_, answers) = world.send(proposal(&[(1, 1)]));
    assert_eq!(seen(answers), [(token, version + 1)]);
}

fn allocate(world: &mut World) -> i64 {
    let response = world.ask(AllocateProducerIdsRequest { broker: BrokerId(1), broker_epoch: 1 });
    let Response::AllocateProducerIds(response) = response else { panic!("{response:?}") };
    response.producer_id_start.0
}

#[test]
fn decisions_survive_the_controller_and_brokers_get_a_new_session_c_pid_11() {
    let mut world = three(1);
    assert_eq!(allocate(&mut world), 0);
    alter(&mut world, proposal(&[(1, 1), (3, 3)]));
    world.pause(2);
    world.advance(2_500);
    let image = Arc::clone(world.controller.image());
    world.restart_controller();
    assert_eq!(*world.controller.image(), image);
    assert_eq!(allocate(&mut world), 1000);
    world.advance(2_500);
    assert!(world.controller.image().is_alive(BrokerId(2)));
    world.advance(500);
    assert!(!world.controller.image().is_alive(BrokerId(2)));
}

#[test]
fn a_reset_controller_is_a_new_one() {
    let config = cluster(&[1, 2, 3], &[&[1, 2, 3]]);
    let mut world = World::new(config.clone());
    allocate(&mut world);
    world.kill(1);
    world.settle();
    world.start(1);
    world.controller.reset();
    assert_eq!(world.controller, Controller::new(config));
}
