//! Who in a plan is what, and whom a fault means by that.

use eosim_scenario::Plan;
use eosim_scenario::plan::{self, ClockTarget, CrashTarget, LinkPeers, LinkTarget, PauseTarget};
use eosim_sim::fault::{Peers, Side};
use eosim_types::{ActorId, Names};

/// The actors of a plan by role.
pub(super) struct Actors {
    names: Vec<String>,
    brokers: usize,
    producers: usize,
    consumers: usize,
    group_consumers: usize,
    transformers: usize,
}

impl Actors {
    pub(super) fn new(plan: &Plan) -> Self {
        let brokers = usize::try_from(plan.cluster.brokers).expect("at most 9");
        let producers = plan.producers.iter().flat_map(plan::Producer::instances).count();
        let consumers = plan.consumers.len();
        let transformers = plan.transformers.iter().flat_map(plan::Transformer::instances).count();
        let group_consumers =
            plan.group_consumers.iter().flat_map(plan::GroupConsumer::instances).count();
        let names = plan.actors();
        Self { names, brokers, producers, consumers, group_consumers, transformers }
    }

    fn range(&self, from: usize, to: usize) -> Vec<ActorId> {
        (from..to).map(id).collect()
    }

    /// All brokers.
    pub(super) fn brokers(&self) -> Vec<ActorId> {
        self.range(1, 1 + self.brokers)
    }

    fn producers(&self) -> Vec<ActorId> {
        self.range(1 + self.brokers, 1 + self.brokers + self.producers)
    }

    fn group_consumers(&self) -> Vec<ActorId> {
        let first = 1 + self.brokers + self.producers + self.consumers;
        self.range(first, first + self.group_consumers)
    }

    fn transformers(&self) -> Vec<ActorId> {
        let first = 1 + self.brokers + self.producers + self.consumers + self.group_consumers;
        self.range(first, first + self.transformers)
    }

    /// Whom a pause may strike.
    pub(super) fn stallable(&self, target: PauseTarget) -> Vec<ActorId> {
        let consumers = 1 + self.brokers + self.producers;
        match target {
            PauseTarget::Any => self.range(1, self.names.len()),
            PauseTarget::Broker => self.brokers(),
            PauseTarget::Producer => self.producers(),
            PauseTarget::Consumer => self.range(consumers, self.names.len()),
            PauseTarget::Transformer => self.transformers(),
        }
    }

    /// Whose clock may jump.
    pub(super) fn with_clocks(&self, target: ClockTarget) -> Vec<ActorId> {
        match target {
            ClockTarget::Any => self.range(1, self.names.len()),
            ClockTarget::Broker => self.brokers(),
            ClockTarget::Client => self.range(1 + self.brokers, self.names.len()),
        }
    }

    /// Whom a fault of the network may strike.
    pub(super) fn linked(&self, target: LinkTarget) -> Vec<ActorId> {
        match target {
            LinkTarget::Any => self.range(0, self.names.len()),
            LinkTarget::Controller => vec![ActorId::CONTROLLER],
            LinkTarget::Broker => self.brokers(),
            LinkTarget::Client => self.range(1 + self.brokers, self.names.len()),
        }
    }

    /// To whom its link is struck.
    pub(super) fn peers(&self, peers: LinkPeers) -> Vec<Peers> {
        let last = ActorId(u16::MAX);
        let all = Peers::All(Side { first: id(0), last });
        let nodes = Peers::All(Side { first: id(0), last: id(self.brokers) });
        let clients = Peers::All(Side { first: id(1 + self.brokers), last });
        let one = Peers::One(Side { first: id(0), last: id(self.names.len() - 1) });
        match peers {
            LinkPeers::Any => vec![one, nodes, clients, all],
            LinkPeers::One => vec![one],
            LinkPeers::Nodes => vec![nodes],
            LinkPeers::Clients => vec![clients],
            LinkPeers::All => vec![all],
        }
    }

    /// The one of that name.
    pub(super) fn named(&self, name: &str) -> ActorId {
        let at = self.names.iter().position(|known| known == name);
        id(at.expect("a checked scenario names actors that exist"))
    }
}

fn id(at: usize) -> ActorId {
    ActorId(u16::try_from(at).expect("few actors"))
}

/// Whom a crash may strike.
pub(super) fn crash_targets(plan: &Plan, actors: &Actors, target: CrashTarget) -> Vec<ActorId> {
    let cluster = &plan.cluster;
    let all = actors.brokers();
    let first = |replicas: &Vec<u32>| replicas.first().copied().unwrap_or(1);
    let chosen: Vec<u32> = match target {
        CrashTarget::Broker => return all,
        CrashTarget::Producer => return actors.producers(),
        CrashTarget::Transformer => return actors.transformers(),
        CrashTarget::GroupConsumer => return actors.group_consumers(),
        CrashTarget::Any => {
            return [all, actors.transformers(), actors.group_consumers()].concat();
        }
        CrashTarget::Leader => {
            let topics = cluster.topics.values();
            topics.flat_map(|t| t.assignment(cluster.brokers)).map(|r| first(&r)).collect()
        }
        CrashTarget::Coordinator => {
            let state = cluster.transaction_state.assignment(cluster.brokers);
            let partitions = i32::try_from(state.len()).expect("at most 50");
            let broker = |id: String| {
                let placed = cluster.place.get(&id).copied();
                let partition = usize::try_from(Names::hash_partition(&id, partitions));
                placed.unwrap_or_else(|| first(&state[partition.expect("not negative")]))
            };
            plan.transactional_ids().map(broker).collect()
        }
    };
    all.into_iter().filter(|actor| chosen.contains(&u32::from(actor.0))).collect()
}
