//! Lost request: it never arrives.
//!
//! Either the connection breaks, or it goes dead in silence and the client must time out.

use eosim_actor::{Site, Stream};

use super::{Count, Envelope, Fate, Fault, FaultCx, Phase, Rate, Way};

const LOST_REQUEST: Site = Site::new("fault.lost_request", Stream::Fault);

/// Parameters and counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LostRequest {
    /// For each request.
    pub rate: Rate,
    /// The connection goes dead in place of breaking.
    pub silent: bool,
    /// Always effective: the receiver would have taken it.
    pub count: Count,
}

impl Fault for LostRequest {
    const NAME: &'static str = "lost_request";
    const WAY: Option<Way> = Some(Way::Request);

    #[inline]
    fn is_on(&self) -> bool {
        self.rate.numerator > 0
    }

    fn count(&mut self) -> &mut Count {
        &mut self.count
    }

    #[inline]
    fn sent<M>(&mut self, cx: &mut FaultCx<'_>, _: Phase, envelope: Envelope<'_, M>) -> Fate {
        if !self.rate.strikes(cx, LOST_REQUEST, envelope.from) {
            return Fate::Deliver;
        }
        self.count.apply(envelope.awaited);
        if self.silent { Fate::Silence } else { Fate::Lose }
    }
}
