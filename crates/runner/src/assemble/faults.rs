//! Faults: by chance, by rule, and zombies.

use eosim_scenario::plan::Zombie;
use eosim_scenario::{Plan, Probability, Spread};
use eosim_sim::cluster::{ClientSpec, ProducerWorkload};
use eosim_sim::fault::{Faults, Stall};
use eosim_types::{ActorId, Duration, Instant, Names};

use super::by_chance;
use super::roles::Actors;

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
        ClientSpec::Producer(spec) => {
            let has_store = matches!(spec.workload, ProducerWorkload::TwoPhase(_));
            spec.transactional_id.is_some() && !has_store
        }
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
    let mut random = by_chance::random(plan, actors);
    random.zombie.fault.stalls = zombies;
    Faults { random, aimed: super::aimed::aimed(plan, actors, names) }
}
