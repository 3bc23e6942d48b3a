//! W1 on the general world: actors behind the protocol's trait, the usual fault machinery, digest
//! on.

use eosim_actor::{Actor, Choices, Correlation, CrashKind, Cx, Event, Lane, Out, TimerKey};
use eosim_types::{ActorId, Duration};

use super::{CLIENTS, LATENCY_MAX, LATENCY_MIN, LOST_OF, Outcome, ROUND_TRIPS_EACH, TIMEOUT};
use crate::fault::{ByChance, Described, LostResponse, Phase, Random, Rate};
use crate::rng::Seeded;
use crate::world::{Latency, Limits, Settings, World};
use eosim_types::Instant;

const SERVER: ActorId = ActorId(CLIENTS);
const LANE: Lane = Lane(0);
const GIVE_UP: TimerKey = TimerKey(0);

/// The world, reused from seed to seed.
#[derive(Clone, Debug)]
pub struct RoundTrips {
    world: World<Party, Seeded, Random, ()>,
}

/// Both ways: the number of a round trip.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Id(u32);

impl Described for Id {
    fn api(&self) -> &'static str {
        "Id"
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Party {
    Client(Client),
    Server(Server),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    id: u32,
    attempt: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    last: [u32; CLIENTS as usize],
    applied: u32,
}

type Effects = Out<Id, ()>;

impl Client {
    fn step(&mut self, cx: &Cx<'_>, event: &Event<Id>, out: &mut Effects) {
        match event {
            Event::Response { .. } => out.cancel_timer(GIVE_UP),
            Event::Timer(_) => {
                out.close(SERVER, LANE);
                return self.ask(cx, out);
            }
            _ => {}
        }
        if self.id < ROUND_TRIPS_EACH {
            self.id += 1;
            self.ask(cx, out);
        }
    }

    fn ask(&mut self, cx: &Cx<'_>, out: &mut Effects) {
        self.attempt += 1;
        out.send(SERVER, LANE, Correlation(self.attempt), Id(self.id));
        out.set_timer(GIVE_UP, cx.now() + Duration(TIMEOUT));
    }
}

impl Server {
    fn step(&mut self, event: &Event<Id>, out: &mut Effects) {
        if let Event::Request { from, token, message } = *event {
            let last = &mut self.last[usize::from(from.0)];
            if *last < message.0 {
                *last = message.0;
                self.applied += 1;
            }
            out.respond(token, message);
        }
    }
}

impl Actor for Party {
    type Message = Id;
    type Observation = ();

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Id>, out: &mut Effects) {
        match self {
            Self::Client(client) => client.step(cx, &event, out),
            Self::Server(server) => server.step(&event, out),
        }
    }

    fn crash(&mut self, _: CrashKind) {}
}

/// A world to run W1 in.
fn world<C: Choices>(choices: C) -> World<Party, C, Random, ()> {
    let lost_response = ByChance::new(Rate::new(1, LOST_OF), LostResponse { silent: true });
    let phase = Phase { start: Instant::START, end: Instant::FAR };
    let faults = Random { phase, lost_response, ..Random::default() };
    let mut world = World::new(choices, faults, ());
    let latency = Latency { min: Duration(LATENCY_MIN), max: Duration(LATENCY_MAX) };
    world.settings = Settings { latency, ..Settings::default() };
    world
}

/// Four clients, then the server.
fn assemble(actors: &mut Vec<Party>) {
    actors.clear();
    actors.resize(usize::from(CLIENTS), Party::Client(Client { id: 0, attempt: 0 }));
    actors.push(Party::Server(Server { last: [0; CLIENTS as usize], applied: 0 }));
}

/// Runs to the end what was reset.
fn finish<C: Choices>(world: &mut World<Party, C, Random, ()>) -> Outcome {
    world.run(Limits::NONE);
    let Some(Party::Server(server)) = world.actors().last() else {
        unreachable!("the server is the last actor")
    };
    let applied = server.applied;
    Outcome { events: world.delivered(), applied, digest: world.digest() }
}

impl RoundTrips {
    /// A world to run W1 in.
    #[must_use]
    pub fn new() -> Self {
        Self { world: world(Seeded::new(0)) }
    }

    /// Begins `seed`: what a sweep does before each.
    #[inline]
    pub fn start(&mut self, seed: u64) {
        self.world.choices.reset(seed);
        self.world.faults.reset();
        self.world.reset(0, assemble);
    }

    /// Runs `seed` to the end.
    pub fn run(&mut self, seed: u64) -> Outcome {
        self.start(seed);
        finish(&mut self.world)
    }
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_actor::{Recorded, Recorder};

    #[test]
    fn a_recorded_run_replays() {
        let mut original = world(Recorder::new(Seeded::new(3)));
        original.reset(0, assemble);
        let outcome = finish(&mut original);
        let mut replay = world(Recorded::new(original.choices.list().to_vec()));
        replay.reset(0, assemble);
        assert_eq!(finish(&mut replay), outcome);
        assert_eq!((replay.choices.left(), replay.choices.unused()), (None, 0));
        assert_eq!(RoundTrips::new().run(3), outcome);
    }

    #[test]
    fn every_lost_answer_counts_as_effective() {
        let mut round_trips = RoundTrips::new();
        let outcome = round_trips.run(4);
        let count = round_trips.world.faults.lost_response.count;
        assert_eq!(count.applied, outcome.events - 2 * u64::from(outcome.applied));
        assert_eq!(count.applied, count.effective);
    }
}
