//! Impossible duplicate: a request is delivered twice, the second time on its own. TCP makes that
//! impossible, and Kafka builds upon TCP: what breaks under this fault is not Kafka's fault. It is
//! there to show what rests on the network's promise. Effective if the second copy was taken.

use eosim_actor::{Site, Stream};

use super::{Envelope, Fate, Fault, FaultCx, Phase, Range, Way};

const HOW_LATE: Site = Site::new("fault.impossible_duplicate.after", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImpossibleDuplicate {
    /// How much later the second copy comes.
    pub after: Range,
}

impl Fault for ImpossibleDuplicate {
    const NAME: &'static str = "impossible_duplicate";
    const SITE: Site = Site::new("fault.impossible_duplicate", Stream::Fault);
    const WAY: Option<Way> = Some(Way::Request);

    fn message<M>(&self, cx: &mut FaultCx<'_>, phase: Phase, envelope: Envelope<'_, M>) -> Fate {
        let after = self.after.draw(cx, HOW_LATE, envelope.from);
        Fate::Twice(phase.cut(cx.now, after), cx.cause)
    }
}
