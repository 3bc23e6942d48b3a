//! Reassignment: the operator moves a partition, of Kafka's own topics too, to other brokers, or to
//! more or fewer, or has another replica preferred. Effective if that changes anything.

use eosim_actor::{Operation, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase};

const PARTITION: Site = Site::new("fault.reassignment.partition", Stream::Fault);
const REPLICAS: Site = Site::new("fault.reassignment.replicas", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reassignment {
    /// The time between two ticks.
    pub every: Duration,
}

impl Fault for Reassignment {
    const NAME: &'static str = "reassignment";
    const SITE: Site = Site::new("fault.reassignment", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &[ActorId::CONTROLLER]))
    }

    fn process(&self, cx: &mut FaultCx<'_>, _: Phase, actor: ActorId) -> u64 {
        let partition = cx.choose(PARTITION, actor, Operation::PICKS);
        let replicas = cx.choose(REPLICAS, actor, Operation::PICKS);
        let operation = Operation::Reassign { partition, replicas };
        cx.order(cx.now, Command::Operate { actor, operation });
        1
    }
}
