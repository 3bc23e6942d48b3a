//! Housekeeping: what a broker does from time to time it does now: retention, compaction, expiry,
//! checkpoints, time-outs of transactions. Always effective at a broker that runs.

use eosim_actor::{Operation, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase};

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Housekeeping {
    /// The time between two ticks.
    pub every: Duration,
    /// All brokers, one after the other.
    pub brokers: Vec<ActorId>,
}

impl Fault for Housekeeping {
    const NAME: &'static str = "housekeeping";
    const SITE: Site = Site::new("fault.housekeeping", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.brokers))
    }

    fn process(&self, cx: &mut FaultCx<'_>, _: Phase, actor: ActorId) -> u64 {
        cx.order(cx.now, Command::Operate { actor, operation: Operation::Housekeeping });
        1
    }
}
