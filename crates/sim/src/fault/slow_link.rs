//! Slow link: for a while, all that travels between an actor and others takes longer, both ways.
//! What is under way is slowed down, too; order is kept. Effective if a message was.

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration};

use super::partition::draw_peers;
use super::{Command, Fault, FaultCx, Peers, Phase, Range, Side};

const PEERS: Site = Site::new("fault.slow_link.peers", Stream::Fault);
const PEER: Site = Site::new("fault.slow_link.peer", Stream::Fault);
const SLOWER: Site = Site::new("fault.slow_link.slower", Stream::Fault);
const LASTS: Site = Site::new("fault.slow_link.lasts", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlowLink {
    /// The time between two ticks.
    pub every: Duration,
    /// Whose link it may be.
    pub targets: Vec<ActorId>,
    /// To whom; one of these is drawn each time.
    pub peers: Vec<Peers>,
    /// How much longer a message takes.
    pub slower: Range,
    /// How long that lasts.
    pub lasts: Range,
}

impl Fault for SlowLink {
    const NAME: &'static str = "slow_link";
    const SITE: Site = Site::new("fault.slow_link", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &self.targets))
    }

    fn process(&self, cx: &mut FaultCx<'_>, phase: Phase, actor: ActorId) -> u64 {
        let to = draw_peers(&self.peers, cx, PEERS, PEER, actor);
        let by = self.slower.draw(cx, SLOWER, actor);
        let lasts = phase.cut(cx.now, self.lasts.draw(cx, LASTS, actor));
        let slow = |by| Command::Slow { from: Side::one(actor), to, by };
        cx.order(cx.now, slow(by));
        cx.order(cx.now + lasts, slow(Duration::ZERO));
        1
    }
}
