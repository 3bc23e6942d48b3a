//! Stale metadata: what a broker hears of the cluster's metadata comes late, while everything else
//! reaches it. It goes on as what it was before. Always effective: the broker polls for them.

use eosim_actor::{Site, Stream};

use super::{Described, Envelope, Fate, Fault, FaultCx, Phase, Range, Way};

const HOW_LATE: Site = Site::new("fault.stale_metadata.delay", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StaleMetadata {
    /// How much later they come.
    pub delay: Range,
}

impl Fault for StaleMetadata {
    const NAME: &'static str = "stale_metadata";
    const SITE: Site = Site::new("fault.stale_metadata", Stream::Fault);
    const WAY: Option<Way> = Some(Way::Response);

    fn concerns<M: Described>(&self, message: &M) -> bool {
        message.api() == "FetchMetadata"
    }

    fn message<M>(&self, cx: &mut FaultCx<'_>, phase: Phase, envelope: Envelope<'_, M>) -> Fate {
        let delay = self.delay.draw(cx, HOW_LATE, envelope.to);
        Fate::Delay(phase.cut(cx.now, delay))
    }
}
