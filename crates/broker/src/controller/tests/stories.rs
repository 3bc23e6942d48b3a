//! Stories of the recorded cluster cases, as far as the controller decides them: who leads, with
//! which leader epoch, who is in sync and who is eligible after each step.

use alloc::vec::Vec;

use eosim_types::ErrorCode;

use super::world::{State, World, state};
use crate::controller::ControllerConfig;
use crate::controller::fixture::cluster;

enum Step {
    Kill(&'static [i32]),
    /// The next step comes before the session of the dead has run out.
    KillAndGoOn(i32),
    Pause(&'static [i32]),
    Resume(&'static [i32]),
    Stop(i32),
    Start(i32),
    Elect {
        unclean: bool,
        error: ErrorCode,
    },
    Reassign(&'static [i32]),
}

use Step::{Elect, Kill, KillAndGoOn, Pause, Reassign, Resume, Start, Stop};

struct Topic {
    replicas: &'static [i32],
    min_insync_replicas: i32,
    unclean: bool,
}

const fn topic(replicas: &'static [i32], min_insync_replicas: i32) -> Topic {
    Topic { replicas, min_insync_replicas, unclean: false }
}

impl Topic {
    fn config(&self) -> ControllerConfig {
        let mut config = cluster(&[1, 2, 3], &[self.replicas]);
        let topic = &mut config.topics[0].config;
        topic.min_insync_replicas = self.min_insync_replicas;
        topic.unclean_leader_election_enable = self.unclean;
        config
    }
}

fn take(world: &mut World, step: &Step) {
    match *step {
        Kill(brokers) => brokers.iter().for_each(|&broker| world.kill(broker)),
        KillAndGoOn(broker) => {
            world.kill(broker);
            return;
        }
        Pause(brokers) => brokers.iter().for_each(|&broker| world.pause(broker)),
        Resume(brokers) => brokers.iter().for_each(|&broker| world.resume(broker)),
        Stop(broker) => world.stop(broker),
        Start(broker) => world.start(broker),
        Elect { unclean, error } => assert_eq!(world.elect(unclean), error),
        Reassign(replicas) => assert_eq!(world.reassign(replicas), ErrorCode::None),
    }
    world.settle();
}

/// Runs a story; each step comes with what is recorded after it, if anything is.
fn story(topic: &Topic, steps: Vec<(Step, Option<State>)>) {
    let mut world = World::new(topic.config());
    for (number, (step, recorded)) in steps.into_iter().enumerate() {
        take(&mut world, &step);
        if let Some(recorded) = recorded {
            assert_eq!(world.state(), recorded, "after step {number}");
        }
    }
}

fn is(leader: i32, epoch: i32, isr: &[i32], elr: &[i32]) -> Option<State> {
    Some(state(leader, epoch, isr, elr))
}

const PREFERRED: Step = Elect { unclean: false, error: ErrorCode::None };

#[test]
fn all_stopped_l_isr_5_l_isr_6() {
    let steps = [
        (Stop(1), is(2, 1, &[2, 3], &[])),
        (Stop(2), is(3, 2, &[3], &[2])),
        (Stop(3), is(-1, 3, &[], &[2, 3])),
        (Start(3), is(3, 4, &[3], &[2])),
        (Start(1), is(3, 4, &[1, 3], &[])),
        (Start(2), is(3, 4, &[1, 2, 3], &[])),
    ];
    story(&topic(&[1, 2, 3], 2), steps.into());
}

/// One step for each killed leader, one for the last leader's return: 4 in all.
#[test]
fn all_killed_c_part_6() {
    let steps = [
        (Kill(&[1, 2, 3]), is(-1, 3, &[], &[2, 3])),
        (Start(1), is(-1, 3, &[], &[2, 3])),
        (Start(2), is(-1, 3, &[], &[3])),
        (Start(3), is(3, 4, &[1, 2, 3], &[])),
    ];
    story(&topic(&[1, 2, 3], 2), steps.into());
}

#[test]
fn last_in_sync_stopped_l_isr_6() {
    let steps = [
        (Stop(3), is(1, 0, &[1, 2], &[])),
        (Stop(2), is(1, 0, &[1], &[2])),
        (Stop(1), None),
        (Start(2), is(2, 2, &[2], &[1])),
        (Start(1), is(2, 2, &[1, 2], &[])),
    ];
    story(&topic(&[1, 2, 3], 2), steps.into());
}

#[test]
fn two_killed_one_left_l_isr_5() {
    let steps = [(Kill(&[1, 2]), is(3, 2, &[3], &[2])), (Start(2), is(3, 2, &[2, 3], &[]))];
    story(&topic(&[1, 2, 3], 2), steps.into());
}

#[test]
fn isr_not_enough_l_isr_4_l_isr_5() {
    let steps = [
        (Pause(&[2]), is(1, 0, &[1, 3], &[])),
        (Pause(&[3]), is(1, 0, &[1], &[3])),
        (Resume(&[2, 3]), is(1, 0, &[1, 2, 3], &[])),
    ];
    story(&topic(&[1, 2, 3], 2), steps.into());
}

#[test]
fn isr_min_above_replicas_l_ack_1_l_isr_5() {
    let steps = [(Pause(&[2]), is(1, 0, &[1], &[2])), (Resume(&[2]), is(1, 0, &[1, 2], &[]))];
    story(&topic(&[1, 2], 3), steps.into());
}

#[test]
fn unclean_not_allowed_l_isr_5() {
    let steps = [
        (Pause(&[2]), is(1, 0, &[1], &[])),
        (KillAndGoOn(1), None),
        (Resume(&[2]), is(-1, 1, &[], &[1])),
        (Start(1), is(1, 2, &[1, 2], &[])),
    ];
    story(&topic(&[1, 2], 1), steps.into());
}

#[test]
fn unclean_by_hand_l_fo_5() {
    let unclean = Elect { unclean: true, error: ErrorCode::None };
    let steps = [
        (Pause(&[2]), is(1, 0, &[1], &[])),
        (KillAndGoOn(1), None),
        (Resume(&[2]), is(-1, 1, &[], &[1])),
        (unclean, is(2, 2, &[2], &[])),
        (Start(1), is(2, 2, &[1, 2], &[])),
    ];
    story(&topic(&[1, 2], 1), steps.into());
}

#[test]
fn unclean_all_l_fo_5() {
    let steps = [
        (Pause(&[2]), is(1, 0, &[1], &[])),
        (KillAndGoOn(1), None),
        (Resume(&[2]), is(2, 1, &[2], &[])),
        (Start(1), is(2, 1, &[1, 2], &[])),
    ];
    story(&Topic { unclean: true, ..topic(&[1, 2], 1) }, steps.into());
}

#[test]
fn only_replica_killed_or_paused_c_part_6() {
    let down = || is(-1, 1, &[], &[1]);
    let back = || is(1, 2, &[1], &[]);
    story(&topic(&[1], 1), [(Kill(&[1]), down()), (Start(1), back())].into());
    story(&topic(&[1], 1), [(Stop(1), down()), (Start(1), back())].into());
    story(&topic(&[1], 1), [(Pause(&[1]), down()), (Resume(&[1]), back())].into());
}

/// A new life ends the old one, whose session has not run out, with the same epochs.
#[test]
fn only_replica_restarted_at_once_c_part_6() {
    let steps = [(KillAndGoOn(1), None), (Start(1), is(1, 2, &[1], &[]))];
    story(&topic(&[1], 1), steps.into());
}

#[test]
fn preferred_back_l_isr_4() {
    let again = Elect { unclean: false, error: ErrorCode::ElectionNotNeeded };
    let steps = [
        (Stop(1), is(2, 1, &[2, 3], &[])),
        (Start(1), is(2, 1, &[1, 2, 3], &[])),
        (PREFERRED, is(1, 2, &[1, 2, 3], &[])),
        (again, is(1, 2, &[1, 2, 3], &[])),
    ];
    story(&topic(&[1, 2, 3], 2), steps.into());
}

#[test]
fn window_new_replica_l_isr_4() {
    let steps = [(Reassign(&[3, 1]), is(1, 1, &[1, 3], &[])), (PREFERRED, is(3, 2, &[1, 3], &[]))];
    story(&topic(&[1, 2], 1), steps.into());
}

#[test]
fn txn_reassigned_l_isr_4() {
    let steps = [(Reassign(&[2, 3]), is(2, 1, &[2, 3], &[]))];
    story(&topic(&[1, 2], 1), steps.into());
}
