//! The broker's timers, one per subsystem.
//!
//! Kafka counterpart: `KafkaScheduler` and the timers of the purgatories. A timer is armed for the
//! earliest deadline asked for and may fire before the deadline that is due by then: whoever owns
//! it looks at its own deadlines and asks again.

use eosim_actor::TimerKey;
use eosim_types::Instant;

use crate::io::Outbox;

/// One of the broker's timers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Timer {
    /// Registration, heartbeats, metadata (`BrokerLifecycleManager`).
    Lifecycle,
    /// Parked produces, fetches, deletions (`DelayedOperationPurgatory`).
    Purgatory,
    /// Back-off of replica fetchers.
    ReplicaFetcher,
    /// Checkpoints, ISR shrinking, expiry.
    Maintenance,
    /// Retries of the verification stage (L-VER-8).
    Verification,
    /// Own requests that nobody answers.
    RequestTimeout,
    /// AlterPartition to be sent again.
    AlterPartition,
    /// Loading of a `__transaction_state` partition (C-LK-4).
    TransactionStateLoad,
    /// Deadlines of groups, and of commits that wait for replicas (L-TOC-3).
    GroupCoordinator,
}

/// Number of the broker's own timers; the keys after them belong to the transaction coordinator.
pub(crate) const BROKER_TIMERS: u16 = 9;

const ALL: [Timer; BROKER_TIMERS as usize] = [
    Timer::Lifecycle,
    Timer::Purgatory,
    Timer::ReplicaFetcher,
    Timer::Maintenance,
    Timer::Verification,
    Timer::RequestTimeout,
    Timer::AlterPartition,
    Timer::TransactionStateLoad,
    Timer::GroupCoordinator,
];

/// For when each timer is armed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Timers {
    armed: [Option<Instant>; BROKER_TIMERS as usize],
}

impl Timers {
    /// Makes sure that `timer` fires at `at` or earlier.
    pub(crate) fn wake_at(&mut self, timer: Timer, at: Instant, out: &mut Outbox) {
        let armed = &mut self.armed[timer as usize];
        if armed.is_none_or(|earlier| at < earlier) {
            *armed = Some(at);
            out.set_timer(TimerKey(timer as u16), at);
        }
    }

    /// Which of the broker's own timers has fired; `None` if the key is not one of them.
    pub(crate) fn fired(&mut self, key: TimerKey) -> Option<Timer> {
        let timer = *ALL.get(usize::from(key.0))?;
        self.armed[usize::from(key.0)] = None;
        Some(timer)
    }
}
