//! Restart loop: a process dies, begins again, and dies again, several times in a row, often before
//! it has caught up. Each death is counted; effective is one that interrupted something.

use eosim_actor::{CrashKind, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range, Times};

const TIMES: Site = Site::new("fault.restart_loop.times", Stream::Fault);
const UP: Site = Site::new("fault.restart_loop.up", Stream::Fault);
const DOWN: Site = Site::new("fault.restart_loop.down", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RestartLoop {
    /// The time between two ticks.
    pub every: Duration,
    /// Whom it may hit.
    pub targets: Vec<ActorId>,
    /// How often it dies in a row.
    pub times: Times,
    /// How long it lives in between.
    pub up: Range,
    /// How long it stays dead each time.
    pub down: Range,
}

impl Fault for RestartLoop {
    const NAME: &'static str = "restart_loop";
    const SITE: Site = Site::new("fault.restart_loop", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.targets))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let (mut at, mut deaths) = (cx.now, 0);
        for _ in 0..self.times.draw(cx, TIMES, actor) {
            if !phase.contains(at) {
                break;
            }
            deaths += 1;
            cx.order(at, Command::Crash { actor, kind: CrashKind::Process });
            at = phase.end.min(at + self.down.draw(cx, DOWN, actor));
            cx.order(at, Command::Restart { actor });
            at += self.up.draw(cx, UP, actor);
        }
        deaths
    }
}
