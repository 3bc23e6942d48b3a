//! Connection reset: soon after a request was sent, its connection breaks. Effective if a request
//! was open on it.
//!
//! What is under way to the receiver may still be processed; what is under way back is lost.

use eosim_actor::{Site, Stream};

use super::{Command, Envelope, Fate, Fault, FaultCx, Phase, Range, Way};

const RESET_AFTER: Site = Site::new("fault.connection_reset.after", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectionReset {
    /// How long after the request.
    pub after: Range,
}

impl Fault for ConnectionReset {
    const NAME: &'static str = "connection_reset";
    const SITE: Site = Site::new("fault.connection_reset", Stream::Fault);
    const WAY: Option<Way> = Some(Way::Request);

    #[inline]
    fn message<M>(&self, cx: &mut FaultCx<'_>, phase: Phase, envelope: Envelope<'_, M>) -> Fate {
        let (from, to) = (envelope.from, envelope.to);
        let after = phase.cut(cx.now, self.after.draw(cx, RESET_AFTER, from));
        cx.order(cx.now + after, Command::Reset { from, to });
        Fate::Deliver
    }
}
