//! The recorder: outside of the cluster, it sends one request after the other, each over a
//! connection of its own, and does to processes what an operator would.

use std::collections::{BTreeMap, BTreeSet};

use eosim_actor::{Correlation, CrashKind, Effect, Event, Lane, Quiet};
use eosim_sim::cluster::{ClusterActor, ClusterPlan, ClusterWorld, Populated};
use eosim_sim::{Command, Limits, NoFaults, Stop};
use eosim_types::message::{Message, Request, Response};
use eosim_types::{ActorId, Duration, Instant};

use super::operator::Process;

/// How long the recorder waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_millis(40_000);

/// What became of a request: its answer, or nothing because the connection broke.
pub(crate) type Fate = Option<Response>;

/// The cluster of a recording, and the recorder outside.
pub(crate) struct Recorder {
    world: ClusterWorld<Quiet, NoFaults, ()>,
    /// The recorder itself.
    id: ActorId,
    correlation: u32,
    fates: BTreeMap<Correlation, Fate>,
    paused: BTreeSet<ActorId>,
}

impl Recorder {
    /// The cluster of `plan`, settled.
    pub(crate) fn new(plan: &ClusterPlan) -> Self {
        let mut world = ClusterWorld::new(Quiet, NoFaults, ());
        Populated::default().begin(&mut world, plan, 1);
        world.advance(Duration::from_millis(1));
        let id = plan.client_id(0);
        let (fates, paused) = (BTreeMap::new(), BTreeSet::new());
        let mut recorder = Self { world, id, correlation: 0, fates, paused };
        recorder.settle();
        recorder
    }

    /// Virtual time.
    pub(crate) fn now(&self) -> Instant {
        self.world.now()
    }

    /// Virtual time, ms.
    pub(crate) fn now_ms(&self) -> i64 {
        self.world.now().as_millis()
    }

    /// The rules that were reached since they were asked for last.
    pub(crate) fn take_rules(&mut self) -> BTreeSet<&'static str> {
        let marks = std::mem::take(&mut self.world.marks);
        marks.counts().filter(|(_, count)| *count > 0).map(|(rule, _)| rule).collect()
    }

    /// All actors of the cluster.
    pub(crate) fn actors(&self) -> &[ClusterActor] {
        self.world.actors()
    }

    /// Is the process alive and not stalled?
    pub(crate) fn is_serving(&self, actor: ActorId) -> bool {
        self.world.is_up(actor) && !self.paused.contains(&actor)
    }

    /// Sends `request` and runs until it is answered; `None` if it never is.
    pub(crate) fn call(&mut self, to: ActorId, request: Request) -> Fate {
        let lane = Lane(0);
        let correlation = self.send(to, lane, request);
        let fate = self.wait(correlation, PATIENCE);
        self.world.act_for(self.id, Effect::Close { to, lane });
        fate.flatten()
    }

    /// Sends `request`, to which there will be no answer, and runs until nothing is left to do.
    pub(crate) fn tell(&mut self, to: ActorId, request: Request) {
        let lane = Lane(0);
        self.send(to, lane, request);
        self.settle();
        self.world.act_for(self.id, Effect::Close { to, lane });
    }

    /// Sends `request` over the connection `lane`.
    pub(crate) fn send(&mut self, to: ActorId, lane: Lane, request: Request) -> Correlation {
        self.correlation += 1;
        let correlation = Correlation(self.correlation);
        let message = Message::Request(request);
        self.world.act_for(self.id, Effect::Send { to, lane, correlation, message });
        correlation
    }

    /// Runs until the fate of a request is known; `None` if `patience` ends before.
    pub(crate) fn wait(&mut self, correlation: Correlation, patience: Duration) -> Option<Fate> {
        let until = self.world.now() + patience;
        loop {
            self.fates.extend(self.world.take_mail().filter_map(|(_, event)| fate(event)));
            if let Some(fate) = self.fates.remove(&correlation) {
                return Some(fate);
            }
            let before = self.world.steps();
            let stop = self.world.run_until(Limits::until(until), |world| world.steps() > before);
            if stop != Stop::Reached {
                self.world.advance(until.since(self.world.now()));
                return None;
            }
        }
    }

    /// Runs until nothing but timers is left to do.
    pub(crate) fn settle(&mut self) {
        self.world.settle(Limits::until(self.world.now() + PATIENCE));
    }

    /// Lets `time` pass.
    pub(crate) fn sleep(&mut self, time: Duration) {
        self.world.advance(time);
    }

    /// Does the same to several processes.
    pub(crate) fn operate(&mut self, actors: &[ActorId], what: Process) {
        for &actor in actors {
            match what {
                Process::Pause => drop(self.paused.insert(actor)),
                _ => drop(self.paused.remove(&actor)),
            }
            self.world.order(command(actor, what));
        }
        if what == Process::Stop {
            let limits = Limits::until(self.world.now() + PATIENCE);
            self.world.run_until(limits, |world| !actors.iter().any(|&a| world.is_up(a)));
        }
    }
}

fn command(actor: ActorId, what: Process) -> Command {
    match what {
        Process::Kill => Command::Crash { actor, kind: CrashKind::Process },
        Process::Stop => Command::RequestStop { actor, down: None },
        Process::Start => Command::Restart { actor },
        Process::Pause => Command::Pause { actor },
        Process::Resume => Command::Resume { actor },
    }
}

/// What an event tells of a request's fate.
fn fate(event: Event<Message>) -> Option<(Correlation, Fate)> {
    match event {
        Event::Response { correlation, message: Message::Response(response) } => {
            Some((correlation, Some(response)))
        }
        Event::Disconnected { correlation } => Some((correlation, None)),
        _ => None,
    }
}
