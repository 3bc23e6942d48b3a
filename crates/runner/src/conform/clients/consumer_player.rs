//! Plays a recorded consumer case: one thread of the application, the consumer, the network.

use eosim_actor::{Cx, Out, Quiet};
use eosim_sim::cluster::consumer::{Consumer, ConsumerCall, PolledPartition, Returned};
use eosim_sim::cluster::{ApiVersions, Exception};
use eosim_types::message::{ApiKey, Message};
use eosim_types::observation::Observed;
use eosim_types::{Duration, Instant, Marks};
use serde_json::{Map, Value, json};

use super::broker::{ScriptedBroker, nodes};
use super::case::{ClientCase, name_of, read};
use super::consumer_steps::{Step, settings};
use super::judge::{Seen, thrown};
use super::names::{CaseNames, committable};
use super::network::{Arrival, Network};
use super::producer_player::{CLIENT, PATIENCE, STEPS_MAX, api_versions, node, refused};
use super::settling::Settling;
use super::wire::Versions;
use crate::conform::fields::Unsupported;

/// How long one of several polls lasts.
const POLL: Duration = Duration::from_millis(50);

type Ended = Result<Returned, Exception>;

/// A case under way.
pub(super) struct ConsumerPlayer {
    names: CaseNames,
    network: Network,
    consumer: Consumer,
    api_versions: ApiVersions,
    versions: Versions,
    marks: Marks,
    out: Out<Message, Observed>,
    outcome: Vec<Value>,
}

/// What several polls gave together.
#[derive(Default)]
struct Polls {
    polls: Vec<Value>,
    polled: Vec<Value>,
}

impl ConsumerPlayer {
    /// Plays `case`.
    pub(super) fn play(case: &ClientCase) -> Result<Seen, Unsupported> {
        let mut names = CaseNames::new();
        let broker = ScriptedBroker::new(case, &mut names)?;
        let config = match settings(case, &mut names)? {
            Ok(config) => config,
            Err(exception) => return Ok(refused(&exception)),
        };
        let api_versions = api_versions(case)?;
        let consumer = Consumer::new(&config, &[], &nodes(case));
        let mut player = Self {
            versions: Versions { find_coordinator: api_versions.latest(ApiKey::FindCoordinator) },
            names,
            network: Network::new(broker, case.transaction_version),
            consumer,
            api_versions,
            marks: Marks::new(),
            out: Out::new(),
            outcome: Vec::new(),
        };
        player.consumer.connected(player.api_versions.clone());
        for (at, step) in case.app.iter().enumerate() {
            let mut entry = player.step(&read("the step", step)?)?;
            entry.insert("step".to_string(), json!(at));
            entry.insert("do".to_string(), json!(name_of(step)));
            player.outcome.push(entry.into());
        }
        player.settle()?;
        let (wire, outcome) = (player.network.broker.wire, player.outcome);
        Ok(Seen { wire, outcome, client_state_end: Value::Null })
    }

    fn with_cx<T>(
        &mut self,
        f: impl FnOnce(&mut Consumer, &mut Cx<'_>, &mut Out<Message, Observed>) -> T,
    ) -> T {
        let env = self.network.env(&mut self.marks);
        let mut cx = Cx { id: CLIENT, env, choices: &mut Quiet };
        let result = f(&mut self.consumer, &mut cx, &mut self.out);
        self.network.take(&mut self.out);
        result
    }

    /// Makes a call and waits for its end.
    fn call(&mut self, call: ConsumerCall) -> Result<Ended, Unsupported> {
        self.consumer.call(call, self.network.now);
        for _ in 0..STEPS_MAX {
            if let Some(ended) = self.with_cx(Consumer::turn) {
                return Ok(ended);
            }
            let wake = self.consumer.next_wake(self.network.now);
            if !self.let_time_pass(wake)? {
                break;
            }
        }
        Err(Unsupported("a call without an end".to_string()))
    }

    /// On to the next instant at which anything happens, `until` at the latest; `false` if there is
    /// none.
    fn let_time_pass(&mut self, until: Instant) -> Result<bool, Unsupported> {
        let at = self.network.next_at().unwrap_or(Instant::FAR).min(until);
        if !self.network.advance(at) {
            return Ok(false);
        }
        while self.network.is_due() {
            match self.network.step(&self.versions, &mut self.names)? {
                Some(Arrival::Ended(correlation, response)) => {
                    self.consumer.arrived(correlation, response);
                }
                Some(Arrival::Connected(_)) => self.consumer.connected(self.api_versions.clone()),
                Some(Arrival::Closed(node)) => self.consumer.disconnected(node),
                None => {}
            }
        }
        Ok(true)
    }

    /// Lets time pass until `is_over`, for so long at most.
    fn wait(
        &mut self,
        patience: Duration,
        is_over: impl Fn(&Network) -> bool,
    ) -> Result<(), Unsupported> {
        let end = self.network.now + patience;
        while !is_over(&self.network) && self.network.now < end {
            // A look every millisecond is as good as one at every event.
            let next = self.network.now + Duration::from_millis(1);
            self.let_time_pass(end.min(next))?;
            self.with_cx(Consumer::turn);
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Unsupported> {
        let settling = Settling::begin(self.network.now);
        self.wait(PATIENCE, |network| settling.is_over(network.now, network.last_activity))
    }

    fn step(&mut self, step: &Step) -> Result<Map<String, Value>, Unsupported> {
        let mut result = json!("ok");
        match step {
            Step::Assign { partitions } => {
                let named = partitions.iter().map(|text| self.names.find_partition(text));
                self.consumer.assign(&named.collect::<Result<Vec<_>, _>>()?);
            }
            Step::Seek { partition, offset } => {
                let partition = self.names.find_partition(partition)?;
                if let Err(exception) = self.consumer.seek(partition, *offset) {
                    return Ok(thrown(Map::new(), &exception));
                }
            }
            Step::SeekToEnd { partition } => {
                let partition = self.names.find_partition(partition)?;
                if let Err(exception) = self.consumer.seek_to_end(partition) {
                    return Ok(thrown(Map::new(), &exception));
                }
            }
            Step::Lag { partition } => {
                let partition = self.names.find_partition(partition)?;
                let lag = self.with_cx(|consumer, cx, out| consumer.lag(partition, cx, out));
                match lag {
                    Ok(lag) => result = json!(lag.map_or("empty".into(), |lag| lag.to_string())),
                    Err(exception) => return Ok(thrown(Map::new(), &exception)),
                }
            }
            Step::Release { name } => {
                self.network.broker.release(name);
                self.network.pump_all();
            }
            Step::Sleep { ms } => self.wait(Duration::from_millis(*ms), |_| false)?,
            Step::Settle {} => self.settle()?,
            Step::Count { api } => result = json!(self.network.broker.arrived(api).to_string()),
            Step::Await { api, n } => {
                self.wait(PATIENCE, |network| network.broker.arrived(api) >= *n)?;
            }
            Step::AwaitAnswered { api, n } => {
                self.wait(PATIENCE, |network| network.broker.answered(api) >= *n)?;
            }
            Step::Features { .. } => {}
            Step::Disconnect { role } => self.network.disconnect(node(*role)?),
            Step::PollOnce { timeout_ms } => return self.poll_once(*timeout_ms),
            Step::PollFetches { n, timeout_ms } => {
                return self.poll_repeatedly(Some(*n), *timeout_ms);
            }
            Step::PollFor { timeout_ms } => return self.poll_repeatedly(None, *timeout_ms),
            call => {
                let call = self.call_of(call)?;
                return Ok(returned(&self.call(call)?));
            }
        }
        Ok(Map::from_iter([("result".to_string(), result)]))
    }

    fn call_of(&mut self, step: &Step) -> Result<ConsumerCall, Unsupported> {
        let mut find = |text: &str| self.names.find_partition(text);
        Ok(match step {
            Step::Position { partition } => ConsumerCall::Position { partition: find(partition)? },
            Step::Committed { partition, timeout_ms } => ConsumerCall::Committed {
                partition: find(partition)?,
                timeout: Duration::from_millis(*timeout_ms),
            },
            Step::Commit { offsets, timeout_ms } => {
                let each = offsets.iter().map(|(tp, &offset)| Ok(committable(find(tp)?, offset)));
                let offsets = each.collect::<Result<_, Unsupported>>()?;
                let timeout = Duration::from_millis(*timeout_ms);
                ConsumerCall::CommitSync { offsets, timeout }
            }
            Step::EndOffsets { partition } => {
                ConsumerCall::EndOffsets { partition: find(partition)? }
            }
            Step::BeginningOffsets { partition } => {
                ConsumerCall::BeginningOffsets { partition: find(partition)? }
            }
            other => return Err(Unsupported(format!("the step {other:?}"))),
        })
    }

    fn poll_once(&mut self, timeout_ms: u64) -> Result<Map<String, Value>, Unsupported> {
        let timeout = Duration::from_millis(timeout_ms);
        let mut polls = Polls::default();
        let ended = self.call(ConsumerCall::Poll { timeout })?;
        let mut entry = returned(&ended);
        if let Ok(Returned::Polled(polled)) = &ended {
            polls.add(polled, &self.names);
        }
        entry.insert("polled".to_string(), json!(polls.polled));
        Ok(entry)
    }

    /// Polls until `fetches` have arrived in all, the time is over or a poll throws.
    fn poll_repeatedly(
        &mut self,
        fetches: Option<u32>,
        timeout_ms: u64,
    ) -> Result<Map<String, Value>, Unsupported> {
        let end = self.network.now + Duration::from_millis(timeout_ms);
        let mut polls = Polls::default();
        let mut entry = Map::from_iter([("result".to_string(), json!("ok"))]);
        loop {
            if fetches.is_some_and(|n| self.network.broker.arrived("Fetch") >= n) {
                break;
            }
            if self.network.now >= end {
                if fetches.is_some() {
                    let result = json!("no further fetch within the time");
                    entry.insert("result".to_string(), result);
                }
                break;
            }
            match self.call(ConsumerCall::Poll { timeout: POLL })? {
                Ok(Returned::Polled(polled)) => polls.add(&polled, &self.names),
                Ok(_) => {}
                Err(exception) => {
                    entry = thrown(Map::new(), &exception);
                    break;
                }
            }
        }
        entry.insert("polls".to_string(), json!(polls.polls));
        entry.insert("polled".to_string(), json!(polls.polled));
        Ok(entry)
    }
}

impl Polls {
    /// Adds what one poll gave, if it gave anything.
    fn add(&mut self, polled: &[PolledPartition], names: &CaseNames) {
        if polled.is_empty() {
            return;
        }
        let mut records = Vec::new();
        let mut next_offsets = Map::new();
        for one in polled {
            let partition = names.partition(one.partition);
            for (offset, value) in &one.records {
                records.push(json!(format!("{partition}@{offset}={}", names.value(*value))));
            }
            next_offsets.insert(partition, json!(one.to));
        }
        self.polled.extend(records.iter().cloned());
        self.polls.push(json!({ "records": records, "next_offsets": next_offsets }));
    }
}

fn returned(ended: &Ended) -> Map<String, Value> {
    let result = match ended {
        Err(exception) => return thrown(Map::new(), exception),
        Ok(Returned::Offset(offset)) => json!(offset),
        Ok(Returned::Committed(None)) => json!("none"),
        Ok(Returned::Committed(Some(offset))) => json!(offset.to_string()),
        Ok(Returned::Nothing | Returned::Polled(_)) => json!("ok"),
    };
    Map::from_iter([("result".to_string(), result)])
}
