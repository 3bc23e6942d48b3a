//! Late request: the client is told that the connection broke and goes on, on another connection
//! or to another broker; the first copy is still under way and is processed afterwards. Effective
//! if the receiver took it in the end.

use eosim_actor::{Site, Stream};

use super::{Envelope, Fate, Fault, FaultCx, Phase, Range, Way};

const HOW_LATE: Site = Site::new("fault.late_request.after", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LateRequest {
    /// How much later it arrives.
    pub after: Range,
}

impl Fault for LateRequest {
    const NAME: &'static str = "late_request";
    const SITE: Site = Site::new("fault.late_request", Stream::Fault);
    const WAY: Option<Way> = Some(Way::Request);

    #[inline]
    fn message<M>(&self, cx: &mut FaultCx<'_>, phase: Phase, envelope: Envelope<'_, M>) -> Fate {
        let after = self.after.draw(cx, HOW_LATE, envelope.from);
        Fate::Late(phase.cut(cx.now, after), cx.cause)
    }
}
