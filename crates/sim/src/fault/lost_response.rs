//! Lost response: the request took effect, but its answer never arrives. Effective if the client
//! still waited for it.

use eosim_actor::{Site, Stream};

use super::{Envelope, Fate, Fault, FaultCx, Phase, Way};

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LostResponse {
    /// The connection goes dead in place of breaking.
    pub silent: bool,
}

impl Fault for LostResponse {
    const NAME: &'static str = "lost_response";
    const SITE: Site = Site::new("fault.lost_response", Stream::Fault);
    const WAY: Option<Way> = Some(Way::Response);

    #[inline]
    fn message<M>(&self, _: &mut FaultCx<'_>, _: Phase, _: Envelope<'_, M>) -> Fate {
        Fate::lost(self.silent)
    }
}
