//! Controller away: for a while nobody reaches the controller, and it reaches nobody. Leaders stay
//! what they are, nothing is elected, and brokers that it does not hear of are fenced when it is
//! back. Effective if a message was caught; what becomes of those, see [`super::Partition`].

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range, Side};

const LASTS: Site = Site::new("fault.controller_away.lasts", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ControllerAway {
    /// The time between two ticks.
    pub every: Duration,
    /// How long it lasts.
    pub lasts: Range,
}

impl Fault for ControllerAway {
    const NAME: &'static str = "controller_away";
    const SITE: Site = Site::new("fault.controller_away", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &[ActorId::CONTROLLER]))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let (from, to, both_ways) = (Side::one(actor), Side::ALL, true);
        let lasts = phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
        cx.order(cx.now, Command::Cut { from, to, both_ways });
        cx.order(cx.now + lasts, Command::Mend { from, to, both_ways });
        1
    }
}
