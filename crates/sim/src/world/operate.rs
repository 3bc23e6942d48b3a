//! Orders: processes die, stall and come back, connections break, what was held goes on.

use std::hash::Hash;

use eosim_actor::{Actor, Choices, CrashKind, Cx, Event, Operation};
use eosim_types::{ActorId, Duration};

use super::World;
use super::connection::NONE;
use super::network::{Taken, timer_of};
use super::process::{Condition, Process, Stop};
use super::queue::Body;
use crate::fault::{Cause, Command, FaultCx, FaultHook, Order};
use crate::listener::{Listener, Stamp};

impl<A, C, F, L> World<A, C, F, L>
where
    A: Actor,
    A::Message: Clone + Hash,
    C: Choices,
    F: FaultHook<A::Message>,
    L: Listener<A::Message, A::Observation>,
{
    /// Obeys what was ordered for now and puts the rest into the queue.
    #[cold]
    pub(super) fn obey_orders(&mut self) {
        while !self.orders.is_empty() {
            let mut orders = std::mem::take(&mut self.orders);
            for order in orders.drain(..) {
                if order.at <= self.now {
                    self.obey(order.cause, order.command);
                } else if super::Queue::reaches(order.at) {
                    let slot = self.scheduled.take();
                    self.scheduled[slot] = Some(order);
                    self.push_background(order.at, Body::Order(slot));
                }
            }
            if self.orders.is_empty() {
                self.orders = orders;
            }
        }
    }

    pub(super) fn order_is_due(&mut self, slot: u32) {
        self.background -= 1;
        let order = self.scheduled[slot].take().expect("a queued order is there");
        self.scheduled.free(slot);
        self.obey(order.cause, order.command);
        self.obey_orders();
    }

    pub(super) fn obey(&mut self, cause: Cause, command: Command) {
        self.listener.command(self.now, cause, &command);
        let effective = match command {
            Command::Crash { actor, kind } => self.crash(actor, kind),
            Command::Restart { actor } => self.restart(actor),
            Command::RequestStop { actor, down } => self.request_stop(actor, Stop { cause, down }),
            Command::Pause { actor } => self.pause(actor, cause),
            Command::Resume { actor } => self.resume(actor),
            Command::Reset { from, to } => self.reset_connections(from, to),
            Command::Release { key } => self.release_held(|held| held == key),
            Command::Cut { from, to, both_ways } => self.cut(cause, from, to, both_ways),
            Command::Mend { from, to, both_ways } => self.mend(cause, from, to, both_ways),
            Command::Slow { from, to, by } => self.slow(cause, from, to, by),
            Command::SetClock { actor, off_by_ms } => {
                self.processes[usize::from(actor.0)].set_clock(off_by_ms)
            }
            Command::BreakDisk { actor, error } => {
                self.actors.get_mut(usize::from(actor.0)).is_some_and(|state| {
                    state.break_disk(error);
                    false
                })
            }
            Command::MendDisk { actor, error } => {
                let state = self.actors.get_mut(usize::from(actor.0));
                state.is_some_and(|state| state.mend_disk(error))
            }
            Command::Operate { actor, operation } => self.operate(actor, operation),
            Command::Heal => self.heal(),
            Command::Wake => {
                let mut cx = FaultCx { cause, ..fault_cx!(self) };
                self.faults.woken(&mut cx);
                false
            }
        };
        if effective {
            self.faults.took_effect(cause);
        }
    }

    /// It hears that it is to stop; returns whether it runs.
    fn request_stop(&mut self, actor: ActorId, stop: Stop) -> bool {
        self.queue.push(self.now, Body::StopRequested(u32::from(actor.0)));
        let runs = self.is_up(actor);
        if runs {
            self.processes[usize::from(actor.0)].stop = Some(stop);
        }
        runs
    }

    /// A process dies; returns whether that interrupted anything.
    fn crash(&mut self, actor: ActorId, kind: CrashKind) -> bool {
        if !self.is_up(actor) {
            return false;
        }
        let mut interrupted = self.processes[usize::from(actor.0)].cancel_timers();
        let process = &mut self.processes[usize::from(actor.0)];
        (process.condition, process.stop) = (Condition::Down, None);
        for slot in self.connections.indices() {
            interrupted |= self.opener_dies(slot, actor);
            interrupted |= self.receiver_dies(slot, actor);
        }
        let mut routes = std::mem::take(&mut self.processes[usize::from(actor.0)].connections);
        routes.drain(..).filter_map(|route| route.connection).for_each(|slot| self.release(slot));
        self.processes[usize::from(actor.0)].connections = routes;
        self.requeue_withheld(actor);
        if kind == CrashKind::PowerLoss {
            self.forget_unacknowledged(actor);
        }
        if let Some(state) = self.actors.get_mut(usize::from(actor.0)) {
            state.crash(kind);
        }
        interrupted
    }

    /// If `actor` opened the connection: its end is gone without a word to anybody.
    fn opener_dies(&mut self, slot: u32, actor: ActorId) -> bool {
        let connection = &mut self.connections[slot];
        if connection.references == 0 || connection.from != actor {
            return false;
        }
        connection.opener_up = false;
        let waited = !connection.open.is_empty();
        connection.open.clear();
        waited
    }

    /// If `actor` received on the connection: all that it was busy with or had not read is gone.
    /// The opener still gets the answers that are under way, and then learns of it.
    fn receiver_dies(&mut self, slot: u32, actor: ActorId) -> bool {
        let connection = &mut self.connections[slot];
        if connection.references == 0 || connection.to != actor || !connection.receiver_up {
            return false;
        }
        connection.receiver_up = false;
        let waited = !connection.open.is_empty() || connection.current != NONE;
        let taken = std::mem::replace(&mut connection.current, NONE);
        let unread = std::mem::take(&mut connection.unread);
        let owned = (taken != NONE && !connection.reading).then_some(taken);
        self.announce_break(slot);
        owned.into_iter().chain(unread).for_each(|request| self.drop_request(request));
        waited
    }

    fn restart(&mut self, actor: ActorId) -> bool {
        let process = &mut self.processes[usize::from(actor.0)];
        if process.condition == Condition::Down {
            process.restart(self.now);
            self.queue.push(self.now, Body::Started(u32::from(actor.0)));
        } else if let Some(stop) = &mut process.stop {
            stop.down.get_or_insert(Duration::ZERO);
        }
        false
    }

    /// An operation reaches a process that runs, between two steps of it.
    fn operate(&mut self, actor: ActorId, operation: Operation) -> bool {
        let place = usize::from(actor.0);
        let Process { condition, node, .. } = &self.processes[place];
        let (Condition::Up, Some(state)) = (condition, self.actors.get_mut(place)) else {
            return false;
        };
        let env = env!(self, node);
        let mut cx = Cx { id: actor, env, choices: &mut self.choices };
        let effective = state.operate(&mut cx, operation, &mut self.out);
        self.carry_out(Stamp { at: self.now, step: self.steps, actor });
        effective
    }

    /// The process ends by itself.
    pub(super) fn exit(&mut self, actor: ActorId, kind: CrashKind) {
        let stop = self.processes[usize::from(actor.0)].stop;
        self.crash(actor, kind);
        if let Some(Stop { cause, down: Some(down) }) = stop {
            let command = Command::Restart { actor };
            self.orders.push(Order { at: self.now + down, cause, command });
        }
    }

    /// Its effect is reported when the first event is withheld.
    fn pause(&mut self, actor: ActorId, cause: Cause) -> bool {
        let condition = &mut self.processes[usize::from(actor.0)].condition;
        if *condition == Condition::Up {
            *condition = Condition::Paused(cause);
        }
        false
    }

    fn resume(&mut self, actor: ActorId) -> bool {
        let condition = &mut self.processes[usize::from(actor.0)].condition;
        if matches!(condition, Condition::Paused(_)) {
            *condition = Condition::Up;
            self.requeue_withheld(actor);
        }
        false
    }

    fn reset_connections(&mut self, from: ActorId, to: ActorId) -> bool {
        let mut interrupted = false;
        for slot in self.connections.indices() {
            let connection = &self.connections[slot];
            if connection.references > 0 && (connection.from, connection.to) == (from, to) {
                interrupted |= connection.opener_up && !connection.open.is_empty();
                self.break_connection(slot);
            }
        }
        interrupted
    }

    fn heal(&mut self) -> bool {
        self.release_held(|_| true);
        self.heal_network();
        for actor in (0..=u16::MAX).map(ActorId).take(self.processes.len()) {
            self.resume(actor);
            self.restart(actor);
            self.processes[usize::from(actor.0)].set_clock_right();
        }
        false
    }

    /// Keeps for later what happens to a stalled process; leads to nothing now.
    #[cold]
    pub(super) fn withhold(&mut self, actor: ActorId, body: Body) -> Taken<A::Message> {
        let process = &mut self.processes[usize::from(actor.0)];
        if let Condition::Paused(cause) = process.condition
            && process.withheld.is_empty()
        {
            self.faults.took_effect(cause);
        }
        process.withheld.push(body);
        None
    }

    /// What was withheld comes up now, in order; what a dead process missed leads to nothing.
    fn requeue_withheld(&mut self, actor: ActorId) {
        let mut withheld = std::mem::take(&mut self.processes[usize::from(actor.0)].withheld);
        for body in withheld.drain(..) {
            if let Body::Timer(timer) = body {
                self.processes[usize::from(actor.0)].requeue(timer_of(timer).1, self.now);
                self.push_background(self.now, body);
            } else {
                self.queue.push(self.now, body);
            }
        }
        self.processes[usize::from(actor.0)].withheld = withheld;
    }

    /// A process begins, or hears that it should stop.
    pub(super) fn process_event(&mut self, body: Body) -> Taken<A::Message> {
        let (Body::Started(index) | Body::StopRequested(index)) = body else {
            unreachable!("{body:?} concerns no process")
        };
        let actor = ActorId(u16::try_from(index).expect("ids have 16 bits"));
        let process = &mut self.processes[usize::from(actor.0)];
        match (process.condition, body) {
            (Condition::Down, _) => None,
            (Condition::Paused(_), _) => self.withhold(actor, body),
            (Condition::Up, Body::Started(_)) => {
                std::mem::take(&mut process.starting).then_some((actor, Event::Started))
            }
            (Condition::Up, _) => Some((actor, Event::StopRequested)),
        }
    }
}
