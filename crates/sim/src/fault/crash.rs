//! Crash: a process dies, or its machine does, and begins again some time later. Effective if the
//! process had something under way: a request, an answer or a timer.

use eosim_actor::{CrashKind, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range, Rate};

const POWER_LOSS: Site = Site::new("fault.crash.power_loss", Stream::Fault);
const DOWN: Site = Site::new("fault.crash.down", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Crash {
    /// The time between two ticks.
    pub every: Duration,
    /// Whom it may hit.
    pub targets: Vec<ActorId>,
    /// How many of the crashes are losses of power.
    pub power_loss: Rate,
    /// How long the process stays dead.
    pub down: Range,
}

impl Fault for Crash {
    const NAME: &'static str = "crash";
    const SITE: Site = Site::new("fault.crash", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.targets))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let power_loss = self.power_loss.strikes(cx, POWER_LOSS, actor);
        let kind = if power_loss { CrashKind::PowerLoss } else { CrashKind::Process };
        let down = phase.cut(cx.now, self.down.draw(cx, DOWN, actor));
        cx.order(cx.now, Command::Crash { actor, kind });
        cx.order(cx.now + down, Command::Restart { actor });
        1
    }
}
