//! Zombie producer: it stalls for a planned time, while a successor, which is a client of its own,
//! takes its transactional id.

use eosim_types::{ActorId, Duration, Instant};

use super::{Command, Count, Fault, FaultCx};

/// One planned stall.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stall {
    /// Who.
    pub actor: ActorId,
    /// From when.
    pub at: Instant,
    /// For how long.
    pub lasts: Duration,
}

/// Parameters and counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Zombie {
    /// The stalls of this run.
    pub stalls: Vec<Stall>,
    /// Effective if an event was withheld.
    pub count: Count,
}

impl Fault for Zombie {
    const NAME: &'static str = "zombie";

    #[inline]
    fn is_on(&self) -> bool {
        !self.stalls.is_empty()
    }

    fn count(&mut self) -> &mut Count {
        &mut self.count
    }

    fn start(&mut self, cx: &mut FaultCx<'_>) {
        for stall in &self.stalls {
            self.count.apply(false);
            cx.order(stall.at, Command::Pause { actor: stall.actor });
            cx.order(stall.at + stall.lasts, Command::Resume { actor: stall.actor });
        }
    }
}
