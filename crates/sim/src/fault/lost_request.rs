//! Lost request: it never arrives. Always effective: the receiver would have taken it.

use eosim_actor::{Site, Stream};

use super::{Envelope, Fate, Fault, FaultCx, Phase, Way};

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LostRequest {
    /// The connection goes dead in place of breaking.
    pub silent: bool,
}

impl Fault for LostRequest {
    const NAME: &'static str = "lost_request";
    const SITE: Site = Site::new("fault.lost_request", Stream::Fault);
    const WAY: Option<Way> = Some(Way::Request);

    #[inline]
    fn message<M>(&self, _: &mut FaultCx<'_>, _: Phase, _: Envelope<'_, M>) -> Fate {
        Fate::lost(self.silent)
    }
}
