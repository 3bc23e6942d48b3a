//! Connection reset: soon after a request was sent, its connection breaks.
//!
//! What is under way to the receiver may still be processed; what is under way back is lost.

use eosim_actor::{Site, Stream};

use super::{Command, Count, Envelope, Fate, Fault, FaultCx, Phase, Range, Rate, Way};

const RESET: Site = Site::new("fault.connection_reset", Stream::Fault);
const RESET_AFTER: Site = Site::new("fault.connection_reset.after", Stream::Fault);

/// Parameters and counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectionReset {
    /// For each request.
    pub rate: Rate,
    /// How long after the request.
    pub after: Range,
    /// Effective if a request was open on the connection.
    pub count: Count,
}

impl Fault for ConnectionReset {
    const NAME: &'static str = "connection_reset";
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
        let (from, to) = (envelope.from, envelope.to);
        if self.rate.strikes(cx, RESET, from) {
            self.count.apply(false);
            let after = phase.cut(cx.now, self.after.draw(cx, RESET_AFTER, from));
            cx.order(cx.now + after, Command::Reset { from, to });
        }
        Fate::Deliver
    }
}
