//! Partition: for a while the network between an actor and others is cut, one way or both.
//! Effective if a message was caught by it.
//!
//! Nobody is told: connections stay as they are, and who waits must give up by itself. TCP sends
//! again what was not acknowledged, so that what was caught arrives after all when the partition is
//! over and the next retransmission is due, which is after as long as it lasted at the latest. That
//! holds also for a request whose sender has given up and closed the connection meanwhile: then it
//! is late. A connection that was opened during the partition carries nothing before its handshake
//! has gone through; if it was given up before, its requests were never sent. That TCP itself gives
//! a connection up, after a quarter of an hour, does not occur.

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Peers, Phase, Range, Rate, Side};

const PEERS: Site = Site::new("fault.partition.peers", Stream::Fault);
const PEER: Site = Site::new("fault.partition.peer", Stream::Fault);
const ONE_WAY: Site = Site::new("fault.partition.one_way", Stream::Fault);
const INWARDS: Site = Site::new("fault.partition.inwards", Stream::Fault);
const LASTS: Site = Site::new("fault.partition.lasts", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Partition {
    /// The time between two ticks.
    pub every: Duration,
    /// Whom it may cut off.
    pub targets: Vec<ActorId>,
    /// From whom; one of these is drawn each time.
    pub peers: Vec<Peers>,
    /// How many of the partitions let messages pass one way.
    pub one_way: Rate,
    /// How long it lasts.
    pub lasts: Range,
}

impl Fault for Partition {
    const NAME: &'static str = "partition";
    const SITE: Site = Site::new("fault.partition", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.targets))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let (mut from, mut to) =
            (Side::one(actor), draw_peers(&self.peers, cx, PEERS, PEER, actor));
        let both_ways = !self.one_way.strikes(cx, ONE_WAY, actor);
        if !both_ways && cx.choose(INWARDS, actor, 2) == 1 {
            (from, to) = (to, from);
        }
        let lasts = phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
        cx.order(cx.now, Command::Cut { from, to, both_ways });
        cx.order(cx.now + lasts, Command::Mend { from, to, both_ways });
        1
    }
}

/// Draws one of `peers`, and then who that is.
pub(super) fn draw_peers(
    peers: &[Peers],
    cx: &mut FaultCx<'_>,
    which: Site,
    who: Site,
    actor: ActorId,
) -> Side {
    let n = u32::try_from(peers.len()).expect("a handful");
    let pick = cx.choose(which, actor, n);
    peers[usize::try_from(pick).expect("32 bits")].draw(cx, who, actor)
}
