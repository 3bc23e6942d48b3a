//! Clock jump: the wall clock of a machine is off by another amount from one moment to the next,
//! ahead or behind, until the phase ends. Timers are not concerned: they go by the monotonic clock.
//! Effective if the amount has changed.

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range};

const BY: Site = Site::new("fault.clock_jump.by", Stream::Fault);
const BACK: Site = Site::new("fault.clock_jump.back", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClockJump {
    /// The time between two ticks.
    pub every: Duration,
    /// Whose clock it may be.
    pub targets: Vec<ActorId>,
    /// How far it is off afterwards.
    pub off_by: Range,
}

impl Fault for ClockJump {
    const NAME: &'static str = "clock_jump";
    const SITE: Site = Site::new("fault.clock_jump", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.targets))
    }

    fn process(&self, cx: &mut FaultCx<'_>, _: Phase, actor: ActorId) -> u64 {
        let by = self.off_by.draw(cx, BY, actor).0 / 1_000;
        let by = i64::try_from(by).expect("a range spans less than 2^32 µs");
        let behind = cx.choose(BACK, actor, 2) == 1;
        // No clock stands before 1970: -1 ms means that there is no time.
        let since_start = i64::try_from(cx.now.0 / 1_000).expect("a run ends within ages");
        let off_by_ms = if behind { -by.min(since_start) } else { by };
        cx.order(cx.now, Command::SetClock { actor, off_by_ms });
        1
    }
}
