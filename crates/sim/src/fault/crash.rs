//! Crash: a process dies, or its machine does, and begins again some time later.

use eosim_actor::{CrashKind, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Count, Fault, FaultCx, Phase, Range, Rate};

const CRASH: Site = Site::new("fault.crash", Stream::Fault);
const POWER_LOSS: Site = Site::new("fault.crash.power_loss", Stream::Fault);
const DOWN: Site = Site::new("fault.crash.down", Stream::Fault);

/// Parameters and counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Crash {
    /// For each target at each tick.
    pub rate: Rate,
    /// The time between two ticks.
    pub every: Duration,
    /// Whom it may hit.
    pub targets: Vec<ActorId>,
    /// How many of the crashes are losses of power.
    pub power_loss: Rate,
    /// How long the process stays dead.
    pub down: Range,
    /// Effective if the process had something under way: a request, an answer or a timer.
    pub count: Count,
}

impl Fault for Crash {
    const NAME: &'static str = "crash";

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
            if self.rate.strikes(cx, CRASH, actor) {
                self.count.apply(false);
                let power_loss = self.power_loss.strikes(cx, POWER_LOSS, actor);
                let kind = if power_loss { CrashKind::PowerLoss } else { CrashKind::Process };
                let down = phase.cut(cx.now, self.down.draw(cx, DOWN, actor));
                cx.order(cx.now, Command::Crash { actor, kind });
                cx.order(cx.now + down, Command::Restart { actor });
            }
        }
    }
}
