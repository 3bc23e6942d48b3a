//! Replication stall: for a while a broker and the others do not reach each other, while the
//! controller and all clients reach both. Followers do not fetch: the leader throws them out of
//! the in-sync replicas, appends stay unacknowledged (L-ACK-4), and then too few replicas are in
//! sync and appends are refused before anything is written (L-ACK-2). Effective if a message was
//! caught; what becomes of those, see [`super::Partition`].

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Range, Side};

const LASTS: Site = Site::new("fault.replication_stall.lasts", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReplicationStall {
    /// The time between two ticks.
    pub every: Duration,
    /// All brokers, one after the other.
    pub brokers: Vec<ActorId>,
    /// How long it lasts.
    pub lasts: Range,
}

impl Fault for ReplicationStall {
    const NAME: &'static str = "replication_stall";
    const SITE: Site = Site::new("fault.replication_stall", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.brokers))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let ends = self.brokers.first().zip(self.brokers.last());
        let (&first, &last) = ends.expect("one of them is struck");
        let (from, to, both_ways) = (Side::one(actor), Side { first, last }, true);
        let lasts = phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
        cx.order(cx.now, Command::Cut { from, to, both_ways });
        cx.order(cx.now + lasts, Command::Mend { from, to, both_ways });
        1
    }
}
