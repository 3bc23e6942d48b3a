//! Slow process: for a while it stalls again and again, so that each of its events is withheld for
//! some time. Each stall is counted; effective is one in which an event was withheld.

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range};

const PAUSE: Site = Site::new("fault.slow_actor.pause", Stream::Fault);
const LASTS: Site = Site::new("fault.slow_actor.lasts", Stream::Fault);

/// How long it runs between two stalls: long enough for what was withheld.
const BETWEEN: Duration = Duration(100);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlowActor {
    /// The time between two ticks.
    pub every: Duration,
    /// Whom it may hit.
    pub targets: Vec<ActorId>,
    /// How long each stall is.
    pub pause: Range,
    /// For how long they follow each other.
    pub lasts: Range,
}

impl Fault for SlowActor {
    const NAME: &'static str = "slow_actor";
    const SITE: Site = Site::new("fault.slow_actor", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.targets))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let end = cx.now + phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
        let (mut at, mut stalls) = (cx.now, 0);
        while at < end {
            cx.order(at, Command::Pause { actor });
            at = end.min(at + self.pause.draw(cx, PAUSE, actor));
            cx.order(at, Command::Resume { actor });
            (at, stalls) = (at + BETWEEN, stalls + 1);
        }
        stalls
    }
}
