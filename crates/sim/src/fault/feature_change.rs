//! Feature change: the operator lowers `transaction.version` to 1, and raises it again, under load.
//! Effective if the controller took it over; the brokers follow with their metadata.

use eosim_actor::{Operation, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase};

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeatureChange {
    /// The time between two ticks.
    pub every: Duration,
}

impl Fault for FeatureChange {
    const NAME: &'static str = "feature_change";
    const SITE: Site = Site::new("fault.feature_change", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &[ActorId::CONTROLLER]))
    }

    fn process(&self, cx: &mut FaultCx<'_>, _: Phase, actor: ActorId) -> u64 {
        cx.order(cx.now, Command::Operate { actor, operation: Operation::ChangeFeature });
        1
    }
}
