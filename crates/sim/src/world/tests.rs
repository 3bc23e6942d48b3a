//! What the network and the operator do, seen from a server and from clients played by hand.

mod links;
mod machines;

use std::collections::VecDeque;

use eosim_actor::{
    Actor, Correlation, CrashKind, Cx, DiskError as Broken, Effect, Event, Lane, Operation, Out,
    RequestToken, Scripted, TimerKey,
};
use eosim_types::machine::EntryState;
use eosim_types::message::Facts;
use eosim_types::{ActorId, Duration, ErrorCode, Instant};

use super::{Latency, Limits, Stop, World};
use crate::fault::{
    Action, Aimed, AimedFault, ByChance, Command, ConnectionReset, Count, Crash, Cue, Described,
    Faults, GcPause, HoldKey, LateRequest, LostRequest, LostResponse, MessageCue, Moment, Phase,
    Random, Range, Rate, Trigger, Which, Whom,
};

mod aimed;

const SERVER: ActorId = ActorId(0);
const ALICE: ActorId = ActorId(1);
const BOB: ActorId = ActorId(2);
const LANE: Lane = Lane(0);
const MILLI: Duration = Duration(1_000);
/// A message that asks for metadata.
const METADATA: u32 = 77;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Id(u32);

impl Described for Id {
    fn api(&self) -> &'static str {
        match self.0 {
            METADATA => "FetchMetadata",
            0..100 => "Small",
            _ => "Large",
        }
    }
    fn says(&self, wanted: &Facts) -> bool {
        wanted.base_sequence.is_none_or(|sequence| u32::try_from(sequence.0) == Ok(self.0))
    }
    fn refused(&self, error: ErrorCode) -> Option<Self> {
        Some(Self(1_000 + u32::from(error.code().unsigned_abs())))
    }
}

/// Notes what happens to it; answers at once, unless it is told to keep requests.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server {
    lives: u32,
    seen: Vec<(u64, u32)>,
    keeps: bool,
    kept: VecDeque<RequestToken>,
    alarm: Option<Instant>,
    alarms: Vec<u64>,
    /// How its disk has been broken, and whether it has noticed.
    broken: Vec<Broken>,
    fails: bool,
    operations: Vec<(u64, Operation)>,
    has_failed: bool,
}

impl Actor for Server {
    type Message = Id;
    type Observation = ();

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Id>, out: &mut Out<Id, ()>) {
        match event {
            Event::Started => {
                self.lives += 1;
                if let Some(at) = self.alarm.take() {
                    out.set_timer(TimerKey(3), at);
                }
            }
            Event::Request { token, message, .. } => {
                self.seen.push((cx.now().0 / 1_000, message.0));
                if message.0 >= 200 {
                    cx.env.enters(EntryState::Open);
                }
                if self.keeps {
                    self.kept.push_back(token);
                } else {
                    out.respond(token, message);
                }
                if std::mem::take(&mut self.fails) {
                    self.has_failed = true;
                    out.halt();
                }
            }
            Event::Timer(_) => self.alarms.push(cx.now().0 / 1_000),
            Event::StopRequested => out.exit(),
            Event::Response { .. } | Event::Disconnected { .. } => {}
        }
    }

    fn crash(&mut self, kind: CrashKind) {
        assert_ne!(kind, CrashKind::PowerLoss, "no test pulls the plug");
        self.kept.clear();
    }

    fn operate(&mut self, cx: &mut Cx<'_>, operation: Operation, _: &mut Out<Id, ()>) -> bool {
        self.operations.push((cx.now().0 / 1_000, operation));
        self.operations.len() == 1
    }

    fn break_disk(&mut self, error: Broken) {
        self.broken.push(error);
        self.fails = true;
    }

    fn mend_disk(&mut self, _: Broken) -> bool {
        self.fails = false;
        std::mem::take(&mut self.has_failed)
    }
}

type Kit = World<Server, Scripted, Faults, ()>;

/// A server and two outsiders; messages travel 1 ms, and longer where `choices` says so.
fn kit(choices: Scripted, faults: Faults, server: Server) -> Kit {
    let mut kit = World::new(choices, faults, ());
    kit.settings.latency = Latency { min: MILLI, max: Duration(9_000) };
    kit.reset(2, |actors| *actors = vec![server]);
    kit.step();
    kit
}

fn plain() -> Kit {
    kit(Scripted::default(), Faults::default(), Server::default())
}

fn keeping() -> Kit {
    kit(Scripted::default(), Faults::default(), Server { keeps: true, ..Server::default() })
}

/// Faults for the first 100 ms.
fn random(change: impl FnOnce(&mut Random)) -> Faults {
    let phase = Phase { start: Instant::START, end: Instant(100_000) };
    let mut random = Random { phase, ..Random::default() };
    change(&mut random);
    Faults { random, ..Faults::default() }
}

fn on(moment: Moment, api: Option<&str>, which: Which) -> Trigger {
    let api = api.map(String::from);
    let facts = Facts::default();
    let cue = MessageCue { moment, api, from: None, to: None, facts, error: None };
    Trigger { cue: Cue::Message(cue), which, after: None }
}

fn aimed(moment: Moment, api: Option<&str>, nth: u32, then: Action) -> AimedFault {
    AimedFault::new(on(moment, api, Which::Nth(nth)), then)
}

fn rules(rules: &[AimedFault]) -> Faults {
    Faults { aimed: Aimed { rules: rules.to_vec(), ..Aimed::default() }, ..Faults::default() }
}

impl Kit {
    fn ask(&mut self, from: ActorId, lane: Lane, id: u32) {
        let (correlation, message) = (Correlation(id), Id(id));
        self.act_for(from, Effect::Send { to: SERVER, lane, correlation, message });
    }

    fn answer(&mut self) {
        let token = self.actors[0].kept.pop_front().expect("a request is kept");
        self.act_for(SERVER, Effect::Respond { token, message: Some(Id(0)) });
    }

    fn seen(&self) -> Vec<u32> {
        self.actors[0].seen.iter().map(|&(_, id)| id).collect()
    }

    /// What the outsiders have heard: "+" for an answer, "!" for a broken connection, with the
    /// time in ms.
    fn heard(&mut self) -> Vec<(u64, String)> {
        let short = |event| match event {
            Event::Response { correlation, .. } => format!("+{}", correlation.0),
            Event::Disconnected { correlation } => format!("!{}", correlation.0),
            other => format!("{other:?}"),
        };
        self.take_mail().map(|(stamp, event)| (stamp.at.0 / 1_000, short(event))).collect()
    }

    fn settle_all(&mut self) {
        assert_eq!(self.settle(Limits::NONE), Stop::Reached);
    }
}

fn heard(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|&(at, text)| (at, text.to_string())).collect()
}

const ONCE: Count = Count { applied: 1, effective: 1 };

#[test]
fn a_connection_is_ordered_each_way() {
    let choices = Scripted::default().with("network.latency", &[5_000, 0, 4_000, 0]);
    let mut kit = kit(choices, Faults::default(), Server::default());
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, LANE, 2);
    kit.settle_all();
    assert_eq!(kit.actors[0].seen, [(6, 1), (6, 2)]);
    assert_eq!(kit.heard(), heard(&[(11, "+1"), (11, "+2")]));
}

#[test]
fn two_connections_bring_what_was_sent_at_once_in_either_order_p_mod_5() {
    for (latencies, order) in [([0, 5_000], [1, 2]), ([5_000, 0], [2, 1])] {
        let choices = Scripted::default().with("network.latency", &latencies);
        let mut kit = kit(choices, Faults::default(), Server::default());
        kit.ask(ALICE, LANE, 1);
        kit.ask(ALICE, Lane(LANE.0 + 1), 2);
        kit.settle_all();
        assert_eq!(kit.seen(), order);
    }
}

#[test]
fn one_request_of_a_connection_at_a_time_l_pipe_7() {
    let mut kit = keeping();
    for (from, lane, id) in
        [(ALICE, LANE, 1), (ALICE, LANE, 2), (ALICE, Lane(1), 3), (BOB, LANE, 4)]
    {
        kit.ask(from, lane, id);
    }
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 3, 4], "2 waits for 1 alone");
    kit.answer();
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 3, 4, 2]);
}

#[test]
fn a_request_finished_without_an_answer_makes_way_too() {
    let mut kit = keeping();
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, LANE, 2);
    kit.settle_all();
    let token = kit.actors[0].kept.pop_front().expect("kept");
    kit.act_for(SERVER, Effect::Respond { token, message: None });
    kit.settle_all();
    kit.answer();
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 2]);
    assert_eq!(kit.heard(), heard(&[(2, "+2")]));
}

#[test]
fn work_on_a_closed_connection_goes_on_and_is_not_answered_l_pipe_7() {
    let mut kit = keeping();
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, LANE, 2);
    kit.settle_all();
    kit.act_for(ALICE, Effect::Close { to: SERVER, lane: LANE });
    kit.ask(ALICE, LANE, 3);
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 3], "the new connection does not wait for the old one");
    kit.answer();
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 3, 2], "what had arrived is still worked off");
    kit.answer();
    kit.answer();
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(3, "+3")]));
}

#[test]
fn a_reset_ends_all_open_requests_in_order() {
    let mut kit = keeping();
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, LANE, 2);
    kit.ask(BOB, LANE, 3);
    kit.settle_all();
    kit.order(Command::Reset { from: ALICE, to: SERVER });
    kit.ask(ALICE, LANE, 4);
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(2, "!1"), (2, "!2"), (2, "!4")]));
    kit.answer();
    kit.answer();
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(3, "+3")]), "the answer to 1 is dropped");
    assert_eq!(kit.seen(), [1, 3, 2], "4 was never sent");
}

#[test]
fn a_crash_forgets_timers_and_requests() {
    let server = Server { keeps: true, alarm: Some(Instant(50_000)), ..Server::default() };
    let mut kit = kit(Scripted::default(), Faults::default(), server);
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, LANE, 2);
    kit.settle_all();
    let stale = kit.actors[0].kept[0];
    kit.order(Command::Crash { actor: SERVER, kind: CrashKind::Process });
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(2, "!1"), (2, "!2")]));
    kit.ask(ALICE, LANE, 3);
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(3, "!3")]), "a dead process refuses");
    kit.order(Command::Restart { actor: SERVER });
    kit.ask(ALICE, LANE, 4);
    kit.settle_all();
    kit.act_for(SERVER, Effect::Respond { token: stale, message: Some(Id(9)) });
    kit.answer();
    kit.advance(Duration(100_000));
    assert_eq!(kit.heard(), heard(&[(5, "+4")]), "a token from before the crash is void");
    assert_eq!((kit.actors[0].lives, kit.actors[0].alarms.len()), (2, 0));
}

#[test]
fn a_process_that_exits_is_dead() {
    let mut kit = plain();
    kit.order(Command::RequestStop { actor: SERVER, down: None });
    kit.settle_all();
    assert!(!kit.is_up(SERVER));
    kit.order(Command::Heal);
    kit.settle_all();
    assert!(kit.is_up(SERVER) && kit.actors[0].lives == 2);
}

#[test]
fn a_process_that_ends_late_is_down_as_long_as_was_ordered_and_begins_again() {
    for (down, restart) in [(Some(Duration(3_000)), false), (None, true)] {
        let mut kit = plain();
        kit.order(Command::Pause { actor: SERVER });
        kit.order(Command::RequestStop { actor: SERVER, down });
        if restart {
            kit.order(Command::Restart { actor: SERVER });
        }
        kit.advance(Duration(9_000));
        assert_eq!(kit.actors[0].lives, 1, "it stalls, and has not heard of it");
        kit.order(Command::Resume { actor: SERVER });
        kit.advance(Duration(2_999));
        assert_eq!(kit.is_up(SERVER), restart);
        kit.advance(Duration(3_000));
        assert!(kit.is_up(SERVER) && kit.actors[0].lives == 2);
    }
}

#[test]
fn a_stall_withholds_events_and_keeps_their_order() {
    let server = Server { alarm: Some(Instant(5_000)), ..Server::default() };
    let mut kit = kit(Scripted::default(), Faults::default(), server);
    kit.order(Command::Pause { actor: SERVER });
    kit.ask(ALICE, LANE, 1);
    kit.ask(BOB, LANE, 2);
    kit.advance(Duration(20_000));
    assert_eq!((kit.seen().len(), kit.actors[0].alarms.len()), (0, 0));
    kit.order(Command::Resume { actor: SERVER });
    kit.settle_all();
    assert_eq!(kit.actors[0].seen, [(20, 1), (20, 2)]);
    assert_eq!(kit.actors[0].alarms, [20]);
}

#[test]
fn what_a_stalled_process_missed_dies_with_it() {
    let server = Server { alarm: Some(Instant(5_000)), ..Server::default() };
    let mut kit = kit(Scripted::default(), Faults::default(), server);
    kit.order(Command::Pause { actor: SERVER });
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(10_000));
    kit.order(Command::Crash { actor: SERVER, kind: CrashKind::Process });
    kit.order(Command::Restart { actor: SERVER });
    kit.advance(Duration(10_000));
    assert_eq!((kit.seen().len(), kit.actors[0].alarms.len(), kit.actors[0].lives), (0, 0, 2));
    assert_eq!(kit.heard(), heard(&[(11, "!1")]));
}

#[test]
fn a_lost_response_has_taken_effect() {
    for (silent, end) in [(false, heard(&[(2, "!1")])), (true, heard(&[]))] {
        let lost = ByChance::new(Rate::new(1, 1), LostResponse { silent });
        let mut kit = kit(
            Scripted::default(),
            random(|random| random.lost_response = lost),
            Server::default(),
        );
        kit.ask(ALICE, LANE, 1);
        kit.settle_all();
        assert_eq!((kit.seen(), kit.heard()), (vec![1], end));
        assert_eq!(kit.faults.random.lost_response.count, ONCE);
    }
}

#[test]
fn a_lost_request_has_not() {
    let lost = ByChance::new(Rate::new(1, 1), LostRequest::default());
    let mut kit =
        kit(Scripted::default(), random(|random| random.lost_request = lost), Server::default());
    kit.ask(ALICE, LANE, 1);
    kit.settle_all();
    assert_eq!((kit.seen(), kit.heard()), (vec![], heard(&[(1, "!1")])));
    assert_eq!(kit.faults.random.lost_request.count, ONCE);
}

#[test]
fn a_late_request_is_processed_after_the_retry() {
    let late = ByChance::new(Rate::new(1, 2), LateRequest { after: Range::from_millis(20, 30) });
    let choices = Scripted::default().with("fault.late_request", &[1, 0]);
    let mut kit = kit(choices, random(|random| random.late_request = late), Server::default());
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(2_000));
    kit.ask(ALICE, LANE, 2);
    kit.settle_all();
    assert_eq!(kit.actors[0].seen, [(3, 2), (21, 1)]);
    assert_eq!(kit.heard(), heard(&[(1, "!1"), (4, "+2")]));
    assert_eq!(kit.faults.random.late_request.count, ONCE);
}

#[test]
fn a_random_reset_hits_an_open_request() {
    let reset = ByChance::new(Rate::new(1, 1), ConnectionReset { after: Range::from_millis(1, 1) });
    let server = Server { keeps: true, ..Server::default() };
    let mut kit =
        kit(Scripted::default(), random(|random| random.connection_reset = reset), server);
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(5_000));
    assert_eq!((kit.seen(), kit.heard()), (vec![1], heard(&[(2, "!1")])));
    assert_eq!(kit.faults.random.connection_reset.count, ONCE);
}

#[test]
fn a_random_crash_ends_with_a_restart_and_the_phase_with_healing() {
    let crash = Crash {
        every: Duration(10_000),
        targets: vec![SERVER],
        down: Range::from_millis(5, 500),
        ..Crash::default()
    };
    let crash = ByChance::new(Rate::new(1, 2), crash);
    let choices =
        Scripted::default().with("fault.crash", &[1, 0, 1]).with("fault.crash.down", &[0, 400_000]);
    let server = Server { keeps: true, ..Server::default() };
    let mut kit = kit(choices, random(|random| random.crash = crash), server);
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(14_000));
    assert_eq!((kit.is_up(SERVER), kit.heard()), (false, heard(&[(11, "!1")])));
    kit.advance(Duration(6_000));
    assert_eq!(kit.actors[0].lives, 2);
    kit.advance(Duration(79_999));
    assert!(!kit.is_up(SERVER), "down for 405 ms, but for the end of the phase");
    kit.advance(Duration(100_000));
    assert_eq!((kit.is_up(SERVER), kit.actors[0].lives), (true, 3));
    assert_eq!(kit.faults.random.crash.count, Count { applied: 2, effective: 1 });
    assert_eq!(kit.run(Limits::NONE), Stop::Idle);
}

#[test]
fn a_random_stall_is_effective_if_something_happened_meanwhile() {
    let pause = GcPause {
        every: Duration(10_000),
        targets: vec![SERVER],
        lasts: Range::from_millis(5, 50),
    };
    let pause = ByChance::new(Rate::new(1, 2), pause);
    let choices = Scripted::default().with("fault.gc_pause", &[1, 1]);
    let mut kit = kit(choices, random(|random| random.gc_pause = pause), Server::default());
    kit.advance(Duration(11_000));
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(89_000));
    assert_eq!(kit.actors[0].seen, [(15, 1)]);
    assert_eq!(kit.faults.random.gc_pause.count, Count { applied: 2, effective: 1 });
}

#[test]
fn a_held_message_holds_what_follows_until_it_is_released() {
    let key = HoldKey(7);
    let faults = rules(&[
        aimed(Moment::Sent, Some("Large"), 1, Action::Hold(key)),
        aimed(Moment::Sent, Some("Small"), 2, Action::Release(key)),
    ]);
    let mut kit = kit(Scripted::default(), faults, Server::default());
    for (lane, id) in [(LANE, 1), (LANE, 100), (LANE, 101)] {
        kit.ask(ALICE, lane, id);
    }
    kit.settle_all();
    assert_eq!(kit.seen(), [1]);
    kit.ask(ALICE, Lane(1), 2);
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 2, 100, 101]);
    assert_eq!(kit.heard(), heard(&[(2, "+1"), (4, "+2"), (4, "+100"), (4, "+101")]));
    assert_eq!(
        kit.faults.aimed.rules.iter().map(|rule| rule.count).collect::<Vec<_>>(),
        [ONCE, ONCE]
    );
}

#[test]
fn an_aimed_crash_comes_before_the_message() {
    let then = Action::Crash {
        who: Whom::Receiver,
        kind: CrashKind::Process,
        down: Some(Duration(3_000)),
    };
    let faults = rules(&[aimed(Moment::Received, None, 2, then)]);
    let mut kit = kit(Scripted::default(), faults, Server::default());
    kit.ask(ALICE, LANE, 1);
    kit.ask(BOB, LANE, 2);
    kit.settle_all();
    kit.advance(Duration(5_000));
    assert_eq!((kit.seen(), kit.actors[0].lives), (vec![1], 2));
    assert_eq!(kit.heard(), heard(&[(2, "+1"), (2, "!2")]), "1 was answered before");
}

#[test]
fn an_aimed_stall_comes_before_the_message() {
    let then = Action::Pause { who: Whom::Receiver, lasts: Some(Duration(3_000)) };
    let faults = rules(&[aimed(Moment::Received, None, 1, then)]);
    let mut kit = kit(Scripted::default(), faults, Server::default());
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(9_000));
    assert_eq!(kit.actors[0].seen, [(4, 1)]);
    assert_eq!(kit.faults.aimed.rules[0].count, ONCE);
}

#[test]
fn a_silent_connection_swallows_all_that_follows() {
    let faults = rules(&[aimed(Moment::Sent, None, 2, Action::Silence)]);
    let mut kit = kit(Scripted::default(), faults, Server::default());
    (1..=3).for_each(|id| kit.ask(ALICE, LANE, id));
    kit.settle_all();
    kit.act_for(ALICE, Effect::Close { to: SERVER, lane: LANE });
    kit.ask(ALICE, LANE, 4);
    kit.settle_all();
    assert_eq!(kit.seen(), [1, 4]);
    assert_eq!(kit.heard(), heard(&[(2, "+1"), (4, "+4")]));
}

#[test]
fn a_reused_world_knows_nothing_of_the_run_before() {
    let script = |kit: &mut Kit| {
        (1..=3).for_each(|id| kit.ask(ALICE, LANE, id));
        kit.settle_all();
        (kit.digest(), kit.steps(), kit.heard())
    };
    let mut kit = keeping();
    kit.ask(BOB, LANE, 8);
    kit.ask(BOB, LANE, 9);
    kit.settle_all();
    kit.order(Command::Pause { actor: SERVER });
    kit.ask(ALICE, LANE, 7);
    kit.settle_all();
    kit.reset(2, |actors| *actors = vec![Server::default()]);
    kit.step();
    assert_eq!(script(&mut kit), script(&mut plain()));
}
