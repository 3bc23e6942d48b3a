//! Late request: the client is told that the connection broke and goes on, on another connection
//! or to another broker; the first copy is still under way and is processed afterwards.

use eosim_actor::{Site, Stream};

use super::{Count, Envelope, Fate, Fault, FaultCx, Phase, Range, Rate, Way};

const LATE_REQUEST: Site = Site::new("fault.late_request", Stream::Fault);
const HOW_LATE: Site = Site::new("fault.late_request.after", Stream::Fault);

/// Parameters and counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LateRequest {
    /// For each request.
    pub rate: Rate,
    /// How much later it arrives.
    pub after: Range,
    /// Effective if the receiver took it in the end.
    pub count: Count,
}

impl Fault for LateRequest {
    const NAME: &'static str = "late_request";
    const WAY: Option<Way> = Some(Way::Request);

    #[inline]
    fn is_on(&self) -> bool {
        self.rate.numerator > 0
    }

    fn count(&mut self) -> &mut Count {
        &mut self.count
    }

    #[inline]
    fn sent<M>(&mut self, cx: &mut FaultCx<'_>, phase: Phase, envelope: Envelope<'_, M>) -> Fate {
        if !self.rate.strikes(cx, LATE_REQUEST, envelope.from) {
            return Fate::Deliver;
        }
        self.count.apply(false);
        let after = self.after.draw(cx, HOW_LATE, envelope.from);
        Fate::Late(phase.cut(cx.now, after), cx.cause)
    }
}
