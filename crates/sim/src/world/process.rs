//! A process as the world sees it: alive, stalled or dead; its timers, its connections.

use eosim_actor::{Lane, TimerKey};
use eosim_types::version::KafkaVersion;
use eosim_types::{ActorId, Duration, Instant};

use super::queue::Body;
use crate::fault::Cause;

/// What an actor's machine is like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Node {
    /// How far its wall clock is off, in milliseconds.
    pub clock_skew_ms: i64,
    /// The Kafka version that it runs.
    pub kafka: KafkaVersion,
    /// What is installed later.
    pub upgrade: Option<Upgrade>,
}

/// A release that is installed while the run goes on: who starts later runs it, unless his own is
/// newer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Upgrade {
    /// When.
    pub at: Instant,
    /// Which.
    pub kafka: KafkaVersion,
}

/// Is it running?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Condition {
    #[default]
    Up,
    /// Stalled, by this fault.
    Paused(Cause),
    Down,
}

/// A process was told to stop in good order, and has not ended yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Stop {
    /// By what.
    pub(super) cause: Cause,
    /// How long it is to be down, if it begins again by itself.
    pub(super) down: Option<Duration>,
}

/// A process.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Process {
    pub(super) node: Node,
    /// How far its clock is off by itself, if a fault has set it since.
    own_clock_skew_ms: Option<i64>,
    pub(super) condition: Condition,
    pub(super) stop: Option<Stop>,
    /// It has not heard yet that it begins.
    pub(super) starting: bool,
    /// The connection in use to each (receiver, lane), if any.
    pub(super) connections: Vec<Route>,
    pub(super) timers: Vec<Timer>,
    /// What happened during a stall, in order.
    pub(super) withheld: Vec<Body>,
}

/// Which connection leads to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Route {
    pub(super) to: ActorId,
    pub(super) lane: Lane,
    pub(super) connection: Option<u32>,
}

/// One timer. At most one queued event is meant for it; it is put off when it comes too early.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timer {
    /// When it runs out; [`Instant::FAR`] if it is not set.
    due: Instant,
    /// When the queued event comes; [`Instant::FAR`] if there is none.
    queued: Instant,
}

impl Default for Timer {
    fn default() -> Self {
        Self { due: Instant::FAR, queued: Instant::FAR }
    }
}

/// What a timer's event amounts to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ring {
    /// Nothing.
    Stale,
    /// It came too early: queue another.
    Later(Instant),
    /// The timer has run out.
    Due,
}

impl Process {
    /// Forgets everything but the memory.
    pub(super) fn reset(&mut self) {
        (self.node, self.own_clock_skew_ms) = (Node::default(), None);
        self.condition = Condition::Up;
        (self.stop, self.starting) = (None, true);
        self.connections.clear();
        self.timers.clear();
        self.withheld.clear();
    }

    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        matches!(self.condition, Condition::Paused(_))
    }

    /// It is started again, with what is installed by then.
    pub(super) fn restart(&mut self, now: Instant) {
        self.condition = Condition::Up;
        self.starting = true;
        if let Some(upgrade) = self.node.upgrade.filter(|upgrade| upgrade.at <= now) {
            self.node.kafka = self.node.kafka.max(upgrade.kafka);
        }
    }

    /// The wall clock is off by another amount; returns whether it is.
    pub(super) fn set_clock(&mut self, off_by_ms: i64) -> bool {
        let before = std::mem::replace(&mut self.node.clock_skew_ms, off_by_ms);
        self.own_clock_skew_ms.get_or_insert(before);
        before != off_by_ms
    }

    /// The wall clock is as it was when the run began.
    pub(super) fn set_clock_right(&mut self) {
        if let Some(skew) = self.own_clock_skew_ms.take() {
            self.node.clock_skew_ms = skew;
        }
    }

    /// Sets a timer; returns whether an event must be queued for `at`.
    #[inline]
    pub(super) fn set_timer(&mut self, TimerKey(key): TimerKey, at: Instant) -> bool {
        let key = usize::from(key);
        if self.timers.len() <= key {
            self.timers.resize(key + 1, Timer::default());
        }
        let timer = &mut self.timers[key];
        timer.due = at;
        let queue = at < timer.queued;
        if queue {
            timer.queued = at;
        }
        queue
    }

    #[inline]
    pub(super) fn cancel_timer(&mut self, TimerKey(key): TimerKey) {
        if let Some(timer) = self.timers.get_mut(usize::from(key)) {
            timer.due = Instant::FAR;
        }
    }

    /// Forgets all timers; returns whether one was set.
    pub(super) fn cancel_timers(&mut self) -> bool {
        let set = self.timers.iter().any(|timer| timer.due < Instant::FAR);
        self.timers.iter_mut().for_each(|timer| timer.due = Instant::FAR);
        set
    }

    /// What the event that comes `now` for a timer amounts to. A timer that is due is left as it
    /// is, for [`Self::ran_out`] or [`Self::requeue`].
    #[inline]
    pub(super) fn ring(&mut self, TimerKey(key): TimerKey, now: Instant) -> Ring {
        let timer = &mut self.timers[usize::from(key)];
        if timer.queued != now {
            return Ring::Stale;
        }
        if timer.due <= now {
            return Ring::Due;
        }
        timer.queued = timer.due;
        if timer.due == Instant::FAR { Ring::Stale } else { Ring::Later(timer.due) }
    }

    /// The timer's event is taken.
    #[inline]
    pub(super) fn ran_out(&mut self, TimerKey(key): TimerKey) {
        self.timers[usize::from(key)] = Timer::default();
    }

    /// The timer's event will come at `at`.
    pub(super) fn requeue(&mut self, TimerKey(key): TimerKey, at: Instant) {
        self.timers[usize::from(key)].queued = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KafkaVersion::{V4_1, V4_2, V4_5};

    #[test]
    fn who_starts_after_an_upgrade_runs_it_unless_his_own_is_newer() {
        for (own, installed, now, runs) in [
            (V4_1, V4_2, Instant(4), V4_1),
            (V4_1, V4_2, Instant(5), V4_2),
            (V4_5, V4_2, Instant(9), V4_5),
        ] {
            let upgrade = Some(Upgrade { at: Instant(5), kafka: installed });
            let node = Node { kafka: own, upgrade, ..Node::default() };
            let mut process = Process { node, condition: Condition::Down, ..Process::default() };
            process.restart(now);
            assert_eq!((process.node.kafka, process.condition), (runs, Condition::Up));
        }
    }
}
