//! Faults: by chance, by rule, and zombies.

use eosim_scenario::plan::{self, CrashTarget, PauseTarget, Zombie};
use eosim_scenario::{Plan, Probability, Spread};
use eosim_sim::cluster::ClientSpec;
use eosim_sim::fault::{
    ByChance, ConnectionReset, Crash, Faults, GcPause, LateRequest, LostRequest, LostResponse,
    Phase, Random, Range, Rate, Stall,
};
use eosim_types::{ActorId, Duration, Instant, Names};

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
        (from..to).map(|at| ActorId(u16::try_from(at).expect("few actors"))).collect()
    }

    fn brokers(&self) -> Vec<ActorId> {
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

    fn stallable(&self, target: PauseTarget) -> Vec<ActorId> {
        let consumers = 1 + self.brokers + self.producers;
        match target {
            PauseTarget::Any => self.range(1, self.names.len()),
            PauseTarget::Broker => self.brokers(),
            PauseTarget::Producer => self.producers(),
            PauseTarget::Consumer => self.range(consumers, self.names.len()),
            PauseTarget::Transformer => self.transformers(),
        }
    }

    pub(super) fn named(&self, name: &str) -> ActorId {
        let at = self.names.iter().position(|known| known == name);
        let at = at.expect("a checked scenario names actors that exist");
        ActorId(u16::try_from(at).expect("few actors"))
    }
}

/// Chooses zombies among those with a transactional id and adds a successor for each, after all
/// other clients.
pub(super) fn zombies(
    plan: &Plan,
    clients: &mut Vec<ClientSpec>,
    brokers: usize,
    choose: &mut dyn FnMut(&'static str, u32) -> u32,
) -> Vec<Stall> {
    let Some(zombie) = &plan.faults.zombie else { return Vec::new() };
    let mut stalls = Vec::new();
    for index in 0..clients.len() {
        if !may_become_zombie(&clients[index]) || !strikes(zombie.rate, "plan.zombie", choose) {
            continue;
        }
        let (stall, successor_at) = draw_stall(zombie, clients[index].start_at(), choose);
        let actor = ActorId(u16::try_from(1 + brokers + index).expect("few actors"));
        stalls.push(Stall { actor, ..stall });
        let successor = successor(&mut clients[index], successor_at);
        clients.push(successor);
    }
    stalls
}

fn may_become_zombie(client: &ClientSpec) -> bool {
    match client {
        ClientSpec::Producer(spec) => spec.transactional_id.is_some(),
        ClientSpec::Transformer(_) => true,
        ClientSpec::Consumer(_) | ClientSpec::GroupConsumer(_) | ClientSpec::Admin(_) => false,
    }
}

/// The process that takes the place of `zombie` at `start_at`. A zombie that learns of it gives up.
fn successor(zombie: &mut ClientSpec, start_at: Instant) -> ClientSpec {
    let mut successor = zombie.clone();
    match (zombie, &mut successor) {
        (_, ClientSpec::Producer(successor)) => successor.start_at = start_at,
        (ClientSpec::Transformer(zombie), ClientSpec::Transformer(successor)) => {
            zombie.gives_up_when_fenced = true;
            successor.start_at = start_at;
        }
        _ => {}
    }
    successor
}

fn strikes(
    rate: Probability,
    site: &'static str,
    choose: &mut dyn FnMut(&'static str, u32) -> u32,
) -> bool {
    rate.numerator > 0 && choose(site, rate.denominator) >= rate.denominator - rate.numerator
}

fn draw_stall(
    zombie: &Zombie,
    start: Instant,
    choose: &mut dyn FnMut(&'static str, u32) -> u32,
) -> (Stall, Instant) {
    let mut draw = |site, spread: Spread| {
        let options = u32::try_from(spread.max - spread.min + 1).expect("a checked spread");
        Duration::from_millis(spread.min + u64::from(choose(site, options)))
    };
    let at = start + draw("plan.zombie.after", zombie.after_ms);
    let lasts = draw("plan.zombie.pause", zombie.pause_ms);
    let successor = at + draw("plan.zombie.successor", zombie.successor_after_ms);
    (Stall { actor: ActorId::CONTROLLER, at, lasts }, successor)
}

/// The faults of `plan`, whose strings are `names`.
pub(super) fn faults(
    plan: &Plan,
    actors: &Actors,
    zombies: Vec<Stall>,
    names: &mut Names,
) -> Faults {
    let faults = &plan.faults;
    let mut random = Random {
        phase: Phase { start: at_ms(faults.start_ms), end: at_ms(faults.until_ms) },
        ..Random::default()
    };
    if let Some(probability) = faults.lost_response {
        random.lost_response = ByChance::new(rate(probability), LostResponse::default());
    }
    if let Some(lost) = faults.lost_request {
        let fault = LostRequest { silent: lost.silent };
        random.lost_request = ByChance::new(rate(lost.rate), fault);
    }
    if let Some(late) = faults.late_request {
        let fault = LateRequest { after: range(late.delay_ms) };
        random.late_request = ByChance::new(rate(late.rate), fault);
    }
    if let Some(reset) = faults.connection_reset {
        let fault = ConnectionReset { after: range(reset.after_ms) };
        random.connection_reset = ByChance::new(rate(reset.rate), fault);
    }
    if let Some(crash) = &faults.crash {
        random.crash = ByChance::new(rate(crash.rate), crash_fault(plan, actors, crash));
    }
    if let Some(pause) = &faults.gc_pause {
        let fault = GcPause {
            every: Duration::from_millis(pause.every_ms),
            targets: actors.stallable(pause.target),
            lasts: range(pause.pause_ms),
        };
        random.gc_pause = ByChance::new(rate(pause.rate), fault);
    }
    random.zombie.fault.stalls = zombies;
    Faults { random, aimed: super::aimed::aimed(plan, actors, names) }
}

fn crash_fault(plan: &Plan, actors: &Actors, crash: &plan::Crash) -> Crash {
    Crash {
        every: Duration::from_millis(crash.every_ms),
        targets: crash_targets(plan, actors, crash.target),
        power_loss: rate(crash.power_loss),
        down: range(crash.down_ms),
    }
}

fn crash_targets(plan: &Plan, actors: &Actors, target: CrashTarget) -> Vec<ActorId> {
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

fn rate(probability: Probability) -> Rate {
    Rate::new(probability.numerator, probability.denominator)
}

fn range(spread: Spread) -> Range {
    Range::from_millis(spread.min, spread.max)
}

fn at_ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}
