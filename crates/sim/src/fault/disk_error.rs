//! Disk error: an append of a broker fails. The log directory goes offline, what was to be appended
//! is answered KAFKA_STORAGE_ERROR, and as it is the broker's only one, the broker halts
//! (`Exit.halt`: no log is closed in good order). The error comes before anything is written, or
//! when all of it is written already. Effective if an append failed before the disk was sound again.
//!
//! Kafka: `LogDirFailureChannel`, `ReplicaManager#handleLogDirFailure`, `LogManager`.

use eosim_actor::{DiskError as Kind, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range, Rate};

const AFTER_WRITE: Site = Site::new("fault.disk_error.after_write", Stream::Fault);
const DOWN: Site = Site::new("fault.disk_error.down", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiskError {
    /// The time between two ticks.
    pub every: Duration,
    /// All brokers, one after the other.
    pub brokers: Vec<ActorId>,
    /// How many of the errors come when all is written.
    pub after_write: Rate,
    /// After what time the disk is sound, and the broker begins again if it has halted.
    pub down: Range,
}

impl Fault for DiskError {
    const NAME: &'static str = "disk_error";
    const SITE: Site = Site::new("fault.disk_error", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.brokers))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let after_write = self.after_write.strikes(cx, AFTER_WRITE, actor);
        let error = if after_write { Kind::AfterWrite } else { Kind::BeforeWrite };
        let down = phase.cut(cx.now, self.down.draw(cx, DOWN, actor));
        cx.order(cx.now, Command::BreakDisk { actor, error });
        cx.order(cx.now + down, Command::MendDisk { actor, error });
        cx.order(cx.now + down, Command::Restart { actor });
        1
    }
}
