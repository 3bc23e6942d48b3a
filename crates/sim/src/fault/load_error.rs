//! Load error: a transaction coordinator that loads a partition cannot read it to its end: a record
//! that cannot be decoded, a read that fails. Kafka goes on with what it has read so far (C-LOAD-4,
//! hazard H-6). Effective if a load was cut short before the disk was sound again.

use eosim_actor::{DiskError, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range};

const PERCENT: Site = Site::new("fault.load_error.percent", Stream::Fault);
const LASTS: Site = Site::new("fault.load_error.lasts", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoadError {
    /// The time between two ticks.
    pub every: Duration,
    /// All brokers, one after the other.
    pub brokers: Vec<ActorId>,
    /// How long the disk is so; it fails once.
    pub lasts: Range,
}

impl Fault for LoadError {
    const NAME: &'static str = "load_error";
    const SITE: Site = Site::new("fault.load_error", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.brokers))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let unread = cx.choose(PERCENT, actor, 100);
        let percent = 99 - u8::try_from(unread).expect("not above 99");
        let error = DiskError::Load { percent };
        let lasts = phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
        cx.order(cx.now, Command::BreakDisk { actor, error });
        cx.order(cx.now + lasts, Command::MendDisk { actor, error });
        1
    }
}
