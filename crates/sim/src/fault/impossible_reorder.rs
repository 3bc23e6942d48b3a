//! Impossible reorder: a request is overtaken by what follows on its connection. TCP makes that
//! impossible, and Kafka builds upon TCP: what breaks under this fault is not Kafka's fault. It is
//! there to show what rests on the network's promise. Always effective in that the request is late.

use eosim_actor::{Site, Stream};

use super::{Envelope, Fate, Fault, FaultCx, Phase, Range, Way};

const HOW_LATE: Site = Site::new("fault.impossible_reorder.delay", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImpossibleReorder {
    /// How much later it arrives.
    pub delay: Range,
}

impl Fault for ImpossibleReorder {
    const NAME: &'static str = "impossible_reorder";
    const SITE: Site = Site::new("fault.impossible_reorder", Stream::Fault);
    const WAY: Option<Way> = Some(Way::Request);

    fn message<M>(&self, cx: &mut FaultCx<'_>, phase: Phase, envelope: Envelope<'_, M>) -> Fate {
        let delay = self.delay.draw(cx, HOW_LATE, envelope.from);
        Fate::Overtaken(phase.cut(cx.now, delay))
    }
}
