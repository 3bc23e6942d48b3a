//! Zombie producer: it stalls for a planned time, while a successor, which is a client of its own,
//! takes its transactional id. Effective if an event was withheld.

use eosim_types::{ActorId, Duration, Instant};

use super::{Command, Fault, FaultCx};

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

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Zombie {
    /// The stalls of this run.
    pub stalls: Vec<Stall>,
}

impl Fault for Zombie {
    const NAME: &'static str = "zombie";

    fn start(&self, cx: &mut FaultCx<'_>) -> u64 {
        for stall in &self.stalls {
            cx.order(stall.at, Command::Pause { actor: stall.actor });
            cx.order(stall.at + stall.lasts, Command::Resume { actor: stall.actor });
        }
        self.stalls.len() as u64
    }
}
