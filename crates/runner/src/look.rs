//! A recorded run, made again with somebody looking: what led to what, what stands otherwise after
//! each step, and how everything stands in the end.
//!
//! No Kafka counterpart. Nothing of this is kept while seeds are swept.

mod words;

use std::collections::BTreeMap;

use eosim_actor::{Recorded, ReplayError};
use eosim_checker::Verdict;
use eosim_sim::cluster::ClusterActor;
use eosim_sim::fault::{Command, Fate, Way};
use eosim_types::look::{Change, ClientStanding, GroupStanding, Moment, MomentKind, Order, Turn};
use eosim_types::{ActorId, BrokerId, Instant, TopicPartition};

use crate::assemble::assemble;
use crate::explain::{Focus, subject};
use crate::recording::{Observed, Recording, watch};
use crate::run::{Describe, Link, Machine, Trail, What, named};

/// A run that was looked at.
pub struct Look {
    /// The run.
    pub observed: Observed,
    /// Of each line of its transcript what it is.
    pub moments: Vec<Moment>,
    /// What stands otherwise after which step, in order.
    pub turns: Vec<Turn>,
    /// The same in words, as far as it matters to anybody but followers.
    pub changes: Vec<Change>,
    /// What brokers do not tell in a dump, in the end.
    pub end: End,
    /// Where the promise is seen to be broken: at which step, and how.
    pub broken: Vec<(u64, String)>,
    /// Where the run left its recording.
    pub left: Option<ReplayError>,
}

/// What is known of a cluster besides a dump.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct End {
    /// Of each partition that is led, as its leader knows it, who is in sync.
    pub isr: BTreeMap<(TopicPartition, BrokerId), Vec<BrokerId>>,
    /// Groups at their coordinators.
    pub groups: Vec<(BrokerId, GroupStanding)>,
    /// Clients.
    pub clients: Vec<(ActorId, ClientStanding)>,
    /// Which processes run.
    pub up: Vec<bool>,
}

impl Recording {
    /// The same run again, no further than `step` if one is given, looked at.
    #[must_use]
    pub fn look(&self, step: Option<u64>, describe: Describe) -> Look {
        let mut plan = self.plan.clone();
        plan.limits.steps_max = plan.limits.steps_max.min(step.unwrap_or(u64::MAX));
        let mut machine = Machine::new(Recorded::new(self.choices.clone()));
        let mut choose = |site, n| machine.choose_for_plan(site, n);
        let assembly = assemble(&plan, self.defects, &mut choose);
        machine.watch().link();
        machine.survey();
        let observed = watch(&mut machine, (&plan, self.seed), assembly, describe);
        let trail = machine.watch().take_trail();
        let turns = machine.take_turns();
        let changes = words::changes(&turns, &observed.names);
        let end = End::of(machine.actors(), &machine.up());
        let left = machine.choices().left().cloned();
        let moments = moments(&observed, &trail);
        let broken = broken(&observed);
        Look { observed, moments, turns, changes, end, broken, left }
    }
}

fn moments(run: &Observed, trail: &Trail) -> Vec<Moment> {
    let subject = subject(&run.result.verdict);
    let focus = (!subject.is_empty()).then(|| Focus::of(&subject, run));
    let lines = run.lines.iter().zip(&trail.links);
    let moment = |(line, link): (&crate::run::Line, &Link)| Moment {
        at: line.at,
        step: line.step,
        actor: line.actor,
        text: named(&line.text, &run.actors),
        kind: kind_of(&link.what, &line.text),
        from: link.from.map(|from| u32::try_from(from).expect("not so many lines")),
        rules: link.rules.clone(),
        concern: focus.as_ref().map_or(0, |focus| focus.touches(&line.text, &run.names)),
    };
    lines.map(moment).collect()
}

fn kind_of(what: &What, text: &str) -> MomentKind {
    match what {
        What::Starts if text.starts_with("timer") => MomentKind::Timer,
        What::Starts => MomentKind::Starts,
        What::Sends(request) => MomentKind::Sends { request: *request },
        What::TakesRequest(request) => MomentKind::TakesRequest { request: *request },
        What::TakesAnswer { request, is_disconnect } => {
            MomentKind::TakesAnswer { request: *request, is_disconnect: *is_disconnect }
        }
        What::Observes(_) => MomentKind::Observes,
        What::Befalls { request, way, fate, .. } => MomentKind::Befalls {
            request: *request,
            is_answer: *way == Way::Response,
            is_lost: matches!(fate, Fate::Lose | Fate::Silence),
        },
        What::Commanded { command, .. } => MomentKind::Commanded(order_of(command)),
    }
}

const fn order_of(command: &Command) -> Order {
    match *command {
        Command::Crash { actor, .. } => Order::Dies(actor),
        Command::Restart { actor } => Order::Restarts(actor),
        Command::Pause { actor } => Order::Stalls(actor),
        Command::Resume { actor } => Order::GoesOn(actor),
        Command::Wake | Command::Heal | Command::Release { .. } => Order::Quiet,
        Command::Mend { .. } | Command::MendDisk { .. } => Order::Quiet,
        _ => Order::Other,
    }
}

/// Where promises are seen to be broken, at which step and how; of what is stuck, since when.
#[must_use]
pub fn broken(run: &Observed) -> Vec<(u64, String)> {
    let last = run.lines.iter().map(|line| line.step).max().unwrap_or(0);
    let told = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match &run.result.verdict {
        Verdict::Sound | Verdict::Inconclusive(_) => Vec::new(),
        Verdict::Safety(anomalies) => {
            let one = |anomaly: &eosim_checker::Anomaly| {
                let step = if anomaly.step == 0 { last } else { anomaly.step };
                (step, format!("{}: {}", anomaly.invariant, told(&anomaly.summary)))
            };
            anomalies.iter().map(one).collect()
        }
        Verdict::Liveness(stuck) => {
            let step_at = |at: Instant| {
                let before = run.lines.iter().filter(|line| line.at <= at);
                before.map(|line| line.step).max().unwrap_or(0)
            };
            let one = |stuck: &eosim_checker::Stuck| {
                let since = stuck.since;
                let text =
                    format!("stuck since {since}: {} waits for {}", stuck.what, stuck.waiting_for);
                (step_at(since), told(&text))
            };
            stuck.iter().map(one).collect()
        }
    }
}

impl End {
    fn of(actors: &[ClusterActor], up: &[bool]) -> Self {
        let mut end = Self { up: up.to_vec(), ..Self::default() };
        for (actor, at) in actors.iter().zip(0..) {
            match actor {
                ClusterActor::Broker(broker) => {
                    let id = broker.spec().id;
                    for view in broker.replicas().filter(|view| view.is_leader) {
                        end.isr.insert((view.partition, id), view.isr.to_vec());
                    }
                    end.groups.extend(broker.groups().map(|group| (id, group)));
                }
                ClusterActor::Client(client) => end.clients.push((ActorId(at), client.standing())),
                ClusterActor::Controller(_) => {}
            }
        }
        end
    }
}
