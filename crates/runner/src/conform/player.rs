//! Plays one recorded case on the model.

use std::collections::{BTreeMap, BTreeSet};

use eosim_actor::{Correlation, Lane};
use eosim_types::message::{
    AlterPartitionReassignmentsRequest, DescribeTransactionsRequest, ElectLeadersRequest,
    InitProducerIdRequest, Request, Response,
};
use eosim_types::version::KafkaVersion;
use eosim_types::{
    ActorId, BrokerId, Duration, ErrorCode, Names, ProducerEpoch, ProducerId, TransactionalId,
};
use serde_json::{Map, Value, json};

use super::answer;
use super::asked::{Asked, Live};
use super::case::Case;
use super::compare::{Difference, compare};
use super::conditions;
use super::fields::Unsupported;
use super::operation::{Builder, Operation, Step, Target};
use super::operator::{Operator, Process};
use super::producers::Aliases;
use super::recorder::{Fate, Recorder};
use super::view::View;

/// Errors on which the recorder always sent again.
const ALWAYS_RETRIED: [&str; 3] =
    ["COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"];
/// How long the recorder slept before it sent again.
const RETRY_EVERY: Duration = Duration::from_millis(20);
/// For how long it did so at most.
const RETRIES_MAX: Duration = Duration::from_millis(20_000);
/// How often a transaction is described while a state is awaited.
const AWAIT_EVERY: Duration = Duration::from_millis(100);
/// How long a state is awaited: 60 s.
const AWAIT_MAX: u32 = 600;

/// The broker of recordings on a single one.
const ONLY_BROKER: BrokerId = BrokerId(1);
/// How long a broker is left alone after it was started again.
const RESTART_TIME: Duration = Duration::from_millis(3_000);
/// How long a coordinator takes to take over, at most: shorter than the recorder insists.
const TAKEOVER_TIME: Duration = Duration::from_millis(10_000);
/// How long a killed broker stays down.
const DOWN_TIME: Duration = Duration::from_millis(100);

/// There is nobody to be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoLeader;

/// A request whose answer is read later.
struct Background<'a> {
    correlation: Correlation,
    request: Request,
    bind: Option<&'a str>,
}

/// A case under way.
pub(crate) struct Player<'a> {
    pub(crate) names: Names,
    pub(crate) asked: Asked<'a>,
    pub(crate) several_brokers: bool,
    kafka: KafkaVersion,
    /// The transactional ids and groups of the steps so far.
    pub(crate) seen: BTreeMap<String, Target>,
    aliases: Aliases,
    background: BTreeMap<&'a str, Background<'a>>,
}

impl<'a> Player<'a> {
    /// Plays `case` and compares; `None` if nothing differs. How long a started broker's
    /// coordinator took to take over is not recorded, so either is right: at once, or when somebody
    /// insists.
    pub(crate) fn play(case: &'a Case) -> Result<Option<Difference>, Unsupported> {
        let difference = Self::play_with(case, Duration::ZERO)?;
        if difference.is_none() || !case.steps.iter().any(|step| step["op"] == "restart_broker") {
            return Ok(difference);
        }
        Ok(Self::play_with(case, TAKEOVER_TIME)?.and(difference))
    }

    fn play_with(case: &'a Case, takeover: Duration) -> Result<Option<Difference>, Unsupported> {
        Ok(compare(case, Self::answers(case, takeover)?))
    }

    /// What the model answers to the steps of `case`, the end state last.
    pub(crate) fn answers(case: &'a Case, takeover: Duration) -> Result<Vec<Value>, Unsupported> {
        let mut names = conditions::names(case)?;
        let plan = conditions::plan(case, &mut names, takeover)?;
        let asked = Asked::Model(Box::new(Recorder::new(&plan)));
        Self::new(case, names, asked).all(case)
    }

    /// The rules that the model reaches in step `at` of `case`, or in looking at the end state.
    pub(crate) fn rules(case: &'a Case, at: usize) -> Result<BTreeSet<&'static str>, Unsupported> {
        let mut names = conditions::names(case)?;
        let plan = conditions::plan(case, &mut names, Duration::ZERO)?;
        let asked = Asked::Model(Box::new(Recorder::new(&plan)));
        let mut player = Self::new(case, names, asked);
        for (before, step) in case.steps.iter().take(at).enumerate() {
            player.step(before, step)?;
        }
        player.asked.recorder().take_rules();
        match case.steps.get(at) {
            Some(step) => drop(player.step(at, step)?),
            None => drop(player.end_state(case)?),
        }
        Ok(player.asked.recorder().take_rules())
    }

    /// What `live` answers to the steps of `case`, the end state last.
    pub(crate) fn answers_of(
        case: &'a Case,
        live: &'a mut dyn Live,
    ) -> Result<Vec<Value>, Unsupported> {
        if conditions::is_several(case) {
            return Err(Unsupported("several brokers".into()));
        }
        let names = conditions::names(case)?;
        Self::new(case, names, Asked::Live(live)).all(case)
    }

    fn new(case: &Case, names: Names, asked: Asked<'a>) -> Self {
        Self {
            names,
            asked,
            several_brokers: conditions::is_several(case),
            kafka: case.recorded_on.kafka,
            seen: BTreeMap::new(),
            aliases: Aliases::default(),
            background: BTreeMap::new(),
        }
    }

    fn all(mut self, case: &'a Case) -> Result<Vec<Value>, Unsupported> {
        let mut answers = Vec::new();
        for (at, step) in case.steps.iter().enumerate() {
            answers.push(self.step(at, step)?);
        }
        answers.push(self.end_state(case)?);
        Ok(answers)
    }

    fn step(&mut self, at: usize, step: &'a Map<String, Value>) -> Result<Value, Unsupported> {
        self.see(step);
        let mut builder = Builder {
            names: &mut self.names,
            aliases: &self.aliases,
            step: at,
            now_ms: self.asked.now_ms(),
            kafka: self.kafka,
        };
        let step = builder.build(step)?;
        let settle = step.settle;
        let describe = matches!(&step.operation, Operation::Operator(operator)
            if settle && operator.changes_roles());
        let mut answer = self.run(step)?;
        if settle {
            self.settle();
        }
        if describe {
            let mut state = self.cluster_state();
            if let Some(error) = answer.get_mut("error") {
                state["error"] = error.take();
            }
            answer = state;
        }
        Ok(answer)
    }

    /// Remembers the transactional id and the group of a step.
    fn see(&mut self, step: &Map<String, Value>) {
        if let Some(id) = step.get("transactional_id").and_then(Value::as_str) {
            let target = Target::Transaction(self.names.add_transactional_id(id));
            self.seen.insert(id.to_string(), target);
        }
        if let Some(group) = step.get("group").and_then(Value::as_str) {
            self.seen.insert(group.to_string(), Target::Group(self.names.add_group(group)));
        }
    }

    fn run(&mut self, step: Step<'a>) -> Result<Value, Unsupported> {
        Ok(match step.operation {
            Operation::Call { target, request, retry, bind } => {
                let target = step.to.map_or(target, Target::Broker);
                if let Some(name) = step.background {
                    self.send(name, target, request, bind);
                    return Ok(Value::Null);
                }
                let once = step.to.is_some() || !step.settle;
                let fate = self.call(target, &request, &retry, once);
                self.bound(&request, bind, &fate)
            }
            Operation::RepeatInit { request, times, bind } => {
                self.repeat_init(&request, times, bind)
            }
            Operation::Await { id, state } => self.await_state(id, state),
            Operation::Sleep { ms } => {
                self.asked.sleep(Duration::from_millis(ms));
                Value::Null
            }
            Operation::Restart(how) => self.restart(how)?,
            Operation::Operator(operator) => self.operate(operator)?,
        })
    }

    fn operate(&mut self, operator: Operator<'_>) -> Result<Value, Unsupported> {
        if matches!(self.asked, Asked::Live(_)) {
            return Err(Unsupported("acting on a live cluster".into()));
        }
        Ok(match operator {
            Operator::Broker { actors, what } => {
                self.asked.recorder().operate(&actors, what);
                Value::Null
            }
            Operator::Elect { partition, unclean } => {
                let request = ElectLeadersRequest { unclean, partitions: vec![partition] };
                self.ask_controller(request)
            }
            Operator::Reassign { partition, replicas } => {
                let partitions = [(partition, replicas)].into();
                self.ask_controller(AlterPartitionReassignmentsRequest { partitions })
            }
            Operator::Settle => Value::Null,
            Operator::AwaitLeader { partition, leader } => self.await_view(|view| {
                view.partition(partition).is_some_and(|state| state.leader == Some(leader))
            }),
            Operator::AwaitIsr { partition, isr } => self
                .await_view(|view| view.partition(partition).is_some_and(|state| state.isr == isr)),
            Operator::Answer { name, wait_ms } => self.answer(name, wait_ms),
        })
    }

    fn restart(&mut self, how: Process) -> Result<Value, Unsupported> {
        let recorder = match &mut self.asked {
            Asked::Model(recorder) => recorder,
            Asked::Live(live) => {
                return live.restart(how).map(|()| Value::Null).map_err(Unsupported);
            }
        };
        let broker = [ActorId::of_broker(ONLY_BROKER)];
        recorder.operate(&broker, how);
        if how == Process::Kill {
            recorder.sleep(DOWN_TIME);
        }
        recorder.operate(&broker, Process::Start);
        recorder.sleep(RESTART_TIME);
        Ok(Value::Null)
    }

    fn send(&mut self, name: &'a str, target: Target, request: Request, bind: Option<&'a str>) {
        let Some(broker) = self.asked.view().route(target) else { return };
        let lane = u8::try_from(self.background.len() + 1).expect("few requests at a time");
        let to = ActorId::of_broker(broker);
        let correlation = self.asked.recorder().send(to, Lane(lane), request.clone());
        self.background.insert(name, Background { correlation, request, bind });
    }

    /// Reads the answer to a request that was sent in the background.
    fn answer(&mut self, name: &str, wait_ms: u64) -> Value {
        let Some(sent) = self.background.get(name) else { return pseudo_error("NO_LEADER") };
        let (request, bind) = (sent.request.clone(), sent.bind);
        match self.asked.recorder().wait(sent.correlation, Duration::from_millis(wait_ms)) {
            Some(fate) => self.bound(&request, bind, &Ok(fate)),
            None => pseudo_error("NO_ANSWER"),
        }
    }

    /// Sends a request, again while the answer holds an error on which the recorder did so. The
    /// error is that nobody is there to be asked.
    fn call(
        &mut self,
        target: Target,
        request: &Request,
        retry: &[&str],
        once: bool,
    ) -> Result<Fate, NoLeader> {
        let give_up_at = self.asked.now() + RETRIES_MAX;
        loop {
            let last = self.call_once(target, request);
            let answer = self.rendered(request, &last);
            let again =
                |error: &&str| retry.contains(error) || !once && ALWAYS_RETRIED.contains(error);
            let is_final = !answer::errors(&answer).iter().any(again);
            if is_final || self.asked.now() >= give_up_at {
                return last;
            }
            self.asked.sleep(RETRY_EVERY);
        }
    }

    fn call_once(&mut self, target: Target, request: &Request) -> Result<Fate, NoLeader> {
        if let Request::Produce(produce) = request
            && produce.acks == 0
        {
            self.asked.tell(target, request, &mut self.names)?;
            return Ok(Some(answer::unanswered(produce)));
        }
        self.asked.ask(target, request, &mut self.names)
    }

    fn repeat_init(&mut self, request: &InitProducerIdRequest, times: u32, bind: &str) -> Value {
        let target = request.transactional_id.map_or(Target::Any, Target::Transaction);
        let request = (*request).into();
        let mut last = Err(NoLeader);
        for _ in 0..times {
            last = self.call(target, &request, &["CONCURRENT_TRANSACTIONS"], false);
        }
        self.bound(&request, Some(bind), &last)
    }

    fn await_state(&mut self, id: TransactionalId, state: &str) -> Value {
        let mut last = Value::Null;
        for _ in 0..AWAIT_MAX {
            last = self.describe(id);
            if last["state"] == state {
                break;
            }
            self.asked.sleep(AWAIT_EVERY);
        }
        last
    }

    fn await_view(&mut self, reached: impl Fn(&View<'_>) -> bool) -> Value {
        for _ in 0..AWAIT_MAX {
            if reached(&self.asked.view()) {
                break;
            }
            self.asked.sleep(AWAIT_EVERY);
        }
        Value::Null
    }

    fn describe(&mut self, transactional_id: TransactionalId) -> Value {
        let target = Target::Transaction(transactional_id);
        self.ask(target, DescribeTransactionsRequest { transactional_id })
    }

    /// Leader, in-sync replicas and leader epoch of every partition, and who coordinates whom.
    pub(crate) fn cluster_state(&self) -> Value {
        self.asked.view().to_json(&self.names, &self.seen)
    }

    /// The answer, after its producer was bound to an alias, if it carries one.
    fn bound(
        &mut self,
        request: &Request,
        alias: Option<&str>,
        outcome: &Result<Fate, NoLeader>,
    ) -> Value {
        let identity: Option<(ProducerId, ProducerEpoch)> = match outcome {
            Ok(Some(Response::InitProducerId(r))) if r.error == ErrorCode::None => {
                Some((r.producer_id, r.producer_epoch))
            }
            Ok(Some(Response::EndTxn(r))) if r.producer_id != ProducerId::NONE => {
                Some((r.producer_id, r.producer_epoch))
            }
            _ => None,
        };
        if let (Some(alias), Some(identity)) = (alias, identity) {
            self.aliases.bind(alias, identity);
        }
        self.rendered(request, outcome)
    }

    /// Sends a request and renders its answer.
    pub(crate) fn ask(&mut self, target: Target, request: impl Into<Request>) -> Value {
        let request = request.into();
        let outcome = self.call(target, &request, &[], false);
        self.rendered(&request, &outcome)
    }

    /// Sends a request once and renders its answer.
    pub(crate) fn ask_once(&mut self, target: Target, request: impl Into<Request>) -> Value {
        let request = request.into();
        let outcome = self.call_once(target, &request);
        self.rendered(&request, &outcome)
    }

    fn ask_controller(&mut self, request: impl Into<Request>) -> Value {
        let request = request.into();
        let fate = self.asked.recorder().call(ActorId::CONTROLLER, request.clone());
        self.rendered(&request, &Ok(fate))
    }

    fn rendered(&self, request: &Request, outcome: &Result<Fate, NoLeader>) -> Value {
        match outcome {
            Ok(Some(response)) => answer::render(request, response, &self.names),
            Ok(None) => pseudo_error("DISCONNECTED"),
            Err(NoLeader) => pseudo_error("NO_LEADER"),
        }
    }
}

/// What the recorder notes where no broker answered.
fn pseudo_error(name: &str) -> Value {
    json!({ "error": name })
}
