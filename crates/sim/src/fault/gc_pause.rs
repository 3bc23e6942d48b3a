//! GC pause: a process stalls while the clock goes on, a producer for longer than its timeouts if
//! the scenario says so. Together with a successor of the same transactional id it makes a zombie.
//! Effective if an event was withheld.

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range};

const LASTS: Site = Site::new("fault.gc_pause.lasts", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcPause {
    /// The time between two ticks.
    pub every: Duration,
    /// Whom it may hit.
    pub targets: Vec<ActorId>,
    /// How long it lasts.
    pub lasts: Range,
}

impl Fault for GcPause {
    const NAME: &'static str = "gc_pause";
    const SITE: Site = Site::new("fault.gc_pause", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.targets))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let lasts = phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
        cx.order(cx.now, Command::Pause { actor });
        cx.order(cx.now + lasts, Command::Resume { actor });
        1
    }
}
