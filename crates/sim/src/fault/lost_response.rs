//! Lost response: the request took effect, but its answer never arrives.
//!
//! Either the connection breaks, or it goes dead in silence and the client must time out.

use eosim_actor::{Site, Stream};

use super::{Count, Envelope, Fate, Fault, FaultCx, Phase, Rate, Way};

const LOST_RESPONSE: Site = Site::new("fault.lost_response", Stream::Fault);

/// Parameters and counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LostResponse {
    /// For each response.
    pub rate: Rate,
    /// The connection goes dead in place of breaking.
    pub silent: bool,
    /// Effective if the client still waited for the answer.
    pub count: Count,
}

impl Fault for LostResponse {
    const NAME: &'static str = "lost_response";
    const WAY: Option<Way> = Some(Way::Response);

    #[inline]
    fn is_on(&self) -> bool {
        self.rate.numerator > 0
    }

    fn count(&mut self) -> &mut Count {
        &mut self.count
    }

    #[inline]
    fn sent<M>(&mut self, cx: &mut FaultCx<'_>, _: Phase, envelope: Envelope<'_, M>) -> Fate {
        if !self.rate.strikes(cx, LOST_RESPONSE, envelope.from) {
            return Fate::Deliver;
        }
        self.count.apply(envelope.awaited);
        if self.silent { Fate::Silence } else { Fate::Lose }
    }
}
