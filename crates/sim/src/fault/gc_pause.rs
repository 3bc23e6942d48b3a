//! GC pause: a process stalls while the clock goes on, a producer for longer than its timeouts if
//! the scenario says so. Together with a successor of the same transactional id it makes a zombie.

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Count, Fault, FaultCx, Phase, Range, Rate};

const PAUSE: Site = Site::new("fault.gc_pause", Stream::Fault);
const LASTS: Site = Site::new("fault.gc_pause.lasts", Stream::Fault);

/// Parameters and counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcPause {
    /// For each target at each tick.
    pub rate: Rate,
    /// The time between two ticks.
    pub every: Duration,
    /// Whom it may hit.
    pub targets: Vec<ActorId>,
    /// How long it lasts.
    pub lasts: Range,
    /// Effective if an event was withheld.
    pub count: Count,
}

impl Fault for GcPause {
    const NAME: &'static str = "gc_pause";

    #[inline]
    fn is_on(&self) -> bool {
        self.rate.numerator > 0
    }

    fn count(&mut self) -> &mut Count {
        &mut self.count
    }

    fn every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn woken(&mut self, cx: &mut FaultCx<'_>, phase: Phase) {
        for &actor in &self.targets {
            if self.rate.strikes(cx, PAUSE, actor) {
                self.count.apply(false);
                let lasts = phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
                cx.order(cx.now, Command::Pause { actor });
                cx.order(cx.now + lasts, Command::Resume { actor });
            }
        }
    }
}
