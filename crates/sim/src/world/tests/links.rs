//! Cuts and slow links.

use super::*;
use crate::fault::{Partition, Peers, Side, SlowLink};

const CLIENTS: Side = Side { first: ALICE, last: BOB };
const RETRANSMITTED: &str = "network.retransmission";

fn cut(both_ways: bool) -> Command {
    Command::Cut { from: Side::one(ALICE), to: Side::one(SERVER), both_ways }
}

fn mend(both_ways: bool) -> Command {
    Command::Mend { from: Side::one(ALICE), to: Side::one(SERVER), both_ways }
}

fn with(choices: Scripted) -> Kit {
    kit(choices, Faults::default(), Server::default())
}

fn close(kit: &mut Kit) {
    kit.act_for(ALICE, Effect::Close { to: SERVER, lane: LANE });
}

#[test]
fn a_cut_catches_what_is_under_way_and_sends_it_again_in_order_afterwards() {
    let mut kit = with(Scripted::default().with(RETRANSMITTED, &[3_000]));
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, LANE, 2);
    kit.order(cut(true));
    kit.ask(BOB, LANE, 3);
    kit.advance(Duration(10_000));
    assert_eq!(kit.actors[0].seen, [(1, 3)], "others are not concerned");
    kit.order(mend(true));
    kit.ask(ALICE, LANE, 4);
    kit.settle_all();
    assert_eq!(kit.actors[0].seen, [(1, 3), (11, 1), (14, 2), (14, 4)], "4 lets 1 through");
    assert_eq!(kit.heard(), heard(&[(2, "+3"), (12, "+1"), (15, "+2"), (15, "+4")]));
}

#[test]
fn a_cut_one_way_lets_requests_take_effect_whose_answers_come_late() {
    let mut kit = plain();
    kit.ask(ALICE, LANE, 1);
    kit.settle_all();
    kit.order(Command::Cut { from: Side::one(SERVER), to: CLIENTS, both_ways: false });
    kit.ask(ALICE, LANE, 2);
    kit.advance(Duration(8_000));
    assert_eq!((kit.seen(), kit.heard()), (vec![1, 2], heard(&[(2, "+1")])));
    kit.order(Command::Mend { from: Side::one(SERVER), to: CLIENTS, both_ways: false });
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(11, "+2")]));
}

#[test]
fn a_request_given_up_during_a_cut_is_late_if_its_connection_was_there_before() {
    let mut kit = plain();
    kit.ask(ALICE, LANE, 1);
    kit.settle_all();
    kit.order(cut(true));
    kit.ask(ALICE, LANE, 2);
    close(&mut kit);
    kit.ask(ALICE, LANE, 3);
    close(&mut kit);
    kit.ask(ALICE, LANE, 4);
    kit.advance(Duration(5_000));
    kit.order(mend(true));
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 2, 4], "3 waited for a handshake and was given up");
    assert_eq!(kit.heard(), heard(&[(2, "+1"), (9, "+4")]));
}

#[test]
fn no_connection_is_opened_through_a_cut_one_way() {
    let mut kit = plain();
    kit.order(Command::Cut { from: Side::one(SERVER), to: CLIENTS, both_ways: false });
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(5_000));
    assert_eq!(kit.seen(), [], "the answer to the handshake is lost");
}

#[test]
fn the_death_of_a_receiver_is_not_heard_through_a_cut() {
    let mut kit = keeping();
    kit.ask(ALICE, LANE, 1);
    kit.settle_all();
    kit.order(cut(true));
    kit.order(Command::Crash { actor: SERVER, kind: CrashKind::Process });
    kit.ask(ALICE, Lane(1), 2);
    kit.advance(Duration(5_000));
    assert_eq!(kit.heard(), heard(&[]), "neither broken nor refused");
    kit.order(Command::Restart { actor: SERVER });
    kit.order(Command::Heal);
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(7, "!1"), (7, "!2")]));
    assert_eq!(kit.seen(), [1]);
}

#[test]
fn what_a_machine_without_power_would_have_sent_again_is_gone() {
    for (kind, seen) in [(CrashKind::Process, vec![1, 2]), (CrashKind::PowerLoss, vec![1])] {
        let mut kit = plain();
        kit.ask(ALICE, LANE, 1);
        kit.settle_all();
        kit.order(cut(true));
        kit.ask(ALICE, LANE, 2);
        kit.advance(Duration(5_000));
        kit.order(Command::Crash { actor: ALICE, kind });
        kit.order(Command::Heal);
        kit.settle_all();
        assert_eq!(kit.seen(), seen, "{kind:?}");
    }
}

#[test]
fn a_random_partition_is_effective_if_it_caught_something() {
    let partition = Partition {
        every: Duration(10_000),
        targets: vec![SERVER],
        peers: vec![Peers::All(CLIENTS), Peers::One(CLIENTS)],
        one_way: Rate::new(1, 2),
        lasts: Range::from_millis(5, 500),
    };
    let choices = Scripted::default()
        .with("fault.partition", &[1, 1])
        .with("fault.partition.peers", &[0, 1])
        .with("fault.partition.peer", &[1])
        .with("fault.partition.one_way", &[0, 1])
        .with("fault.partition.inwards", &[1])
        .with("fault.partition.lasts", &[0, 400_000]);
    let partition = ByChance::new(Rate::new(1, 2), partition);
    let mut kit = kit(choices, random(|random| random.partition = partition), Server::default());
    kit.advance(Duration(16_000));
    kit.ask(ALICE, LANE, 1);
    kit.ask(BOB, LANE, 2);
    kit.advance(Duration(5_000));
    kit.ask(ALICE, LANE, 3);
    kit.ask(BOB, LANE, 4);
    kit.advance(Duration(78_000));
    assert_eq!(kit.seen(), [1, 2, 3], "from BOB nothing arrives");
    kit.advance(Duration(100_000));
    assert_eq!(kit.actors[0].seen[3], (101, 4), "the phase ends, and with it the partition");
    assert_eq!(kit.faults.random.partition.count, Count { applied: 2, effective: 1 });
}

#[test]
fn a_slow_link_delays_and_keeps_the_order() {
    let slow = SlowLink {
        every: Duration(10_000),
        targets: vec![SERVER],
        peers: vec![Peers::All(Side::one(ALICE))],
        slower: Range::from_millis(7, 7),
        lasts: Range::from_millis(2, 2),
    };
    let slow = ByChance::new(Rate::new(1, 2), slow);
    let choices = Scripted::default().with("fault.slow_link", &[1]);
    let mut kit = kit(choices, random(|random| random.slow_link = slow), Server::default());
    kit.advance(Duration(9_500));
    kit.ask(ALICE, LANE, 1);
    kit.ask(BOB, LANE, 2);
    kit.advance(Duration(2_000));
    kit.ask(ALICE, LANE, 3);
    kit.advance(Duration(9_000));
    assert_eq!(kit.actors[0].seen, [(10, 2), (12, 1), (17, 3)], "what comes next is behind");
    assert_eq!(kit.faults.random.slow_link.count, ONCE);
}
