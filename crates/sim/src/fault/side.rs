//! Who is hit by a fault of the network: the actors on one side of it.

use eosim_actor::Site;
use eosim_types::ActorId;

use super::FaultCx;

/// Actors with neighbouring ids: one alone, all nodes, all clients, everybody. An actor on both
/// sides of a cut still reaches itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Side {
    /// The first of them.
    pub first: ActorId,
    /// The last.
    pub last: ActorId,
}

impl Side {
    /// Everybody.
    pub const ALL: Self = Self { first: ActorId(0), last: ActorId(u16::MAX) };

    /// `actor` alone.
    #[must_use]
    pub const fn one(actor: ActorId) -> Self {
        Self { first: actor, last: actor }
    }

    /// Is `actor` on this side?
    #[must_use]
    pub fn has(self, actor: ActorId) -> bool {
        (self.first..=self.last).contains(&actor)
    }
}

/// From whom a struck actor is cut off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Peers {
    /// All of these.
    All(Side),
    /// One of these, drawn each time.
    One(Side),
}

impl Peers {
    /// Those that it is this time. The quiet choice of one is the first.
    pub(super) fn draw(self, cx: &mut FaultCx<'_>, site: Site, actor: ActorId) -> Side {
        match self {
            Self::All(side) => side,
            Self::One(side) => {
                let others = u32::from(side.last.0 - side.first.0) + u32::from(!side.has(actor));
                let pick = cx.choose(site, actor, others);
                let picked = side.first.0 + u16::try_from(pick).expect("as many as ids");
                let skip = side.has(actor) && picked >= actor.0;
                Side::one(ActorId(picked + u16::from(skip)))
            }
        }
    }
}
