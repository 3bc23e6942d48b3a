//! Leader election: the operator has the preferred replica of a partition elected, or one that is
//! not in sync if it must be. Effective if the partition has another leader then.

use eosim_actor::{Operation, Site, Stream};
use eosim_types::{ActorId, Duration};

use super::{Command, Fault, FaultCx, Phase, Rate};

const PARTITION: Site = Site::new("fault.leader_election.partition", Stream::Fault);
const UNCLEAN: Site = Site::new("fault.leader_election.unclean", Stream::Fault);

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeaderElection {
    /// The time between two ticks.
    pub every: Duration,
    /// How many of the elections may be unclean.
    pub unclean: Rate,
}

impl Fault for LeaderElection {
    const NAME: &'static str = "leader_election";
    const SITE: Site = Site::new("fault.leader_election", Stream::Fault);

    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        Some((self.every, &[ActorId::CONTROLLER]))
    }

    fn process(&self, cx: &mut FaultCx<'_>, _: Phase, actor: ActorId) -> u64 {
        let partition = cx.choose(PARTITION, actor, Operation::PICKS);
        let unclean = self.unclean.strikes(cx, UNCLEAN, actor);
        let operation = Operation::ElectLeader { partition, unclean };
        cx.order(cx.now, Command::Operate { actor, operation });
        1
    }
}
