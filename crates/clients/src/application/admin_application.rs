//! An operator's script: elections, reassignments, deletions (`KafkaAdminClient`).
//!
//! Invariant: one request at a time; a step is over when it was answered without a retriable
//! error, or after [`ATTEMPTS`] attempts.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use eosim_actor::{Actor, Correlation, CrashKind, Cx, Event, Lane, Out};
use eosim_types::message::{
    AlterPartitionReassignmentsRequest, DeleteRecordsRequest, ElectLeadersRequest, Message,
    MetadataRequest, Request, Response,
};
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Duration, ErrorCode, Instant, TopicPartition};

use super::alarm::Alarm;
use crate::network_client::ClientOut;
use crate::spec::{AdminSpec, AdminStep};

/// The pause before a step is tried again.
const RETRY_BACKOFF: Duration = Duration::from_millis(100);
/// How long an answer is waited for.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(30_000);
/// How often a step is tried.
const ATTEMPTS: u32 = 600;

/// An operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AdminApplication {
    spec: AdminSpec,
    brokers: Vec<BrokerId>,
    /// The step under way.
    at: usize,
    attempts: u32,
    /// The request in flight: its name, to whom it went.
    open: Option<(Correlation, ActorId)>,
    /// The leader to ask, once it is known.
    leader: Option<BrokerId>,
    /// Nothing is sent before.
    not_before: Instant,
    next_correlation: u32,
    alarm: Alarm,
}

impl AdminApplication {
    /// The operator described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(spec: &AdminSpec, brokers: &[BrokerId]) -> Self {
        Self {
            spec: spec.clone(),
            brokers: brokers.to_vec(),
            at: 0,
            attempts: 0,
            open: None,
            leader: None,
            not_before: Instant::START,
            next_correlation: 0,
            alarm: Alarm::OFF,
        }
    }

    /// Back to the state before the run.
    pub fn reset(&mut self) {
        *self = Self::new(&self.spec, &self.brokers);
    }

    /// Has the script been played to its end?
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.at >= self.spec.steps.len()
    }

    /// What it is waiting for, in words, if it is.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let step = self.spec.steps.get(self.at)?;
        Some(format!("the operator's step {}: {step:?}", self.at))
    }

    fn run(&mut self, cx: &Cx<'_>, out: &mut ClientOut) {
        while let Some(step) = self.spec.steps.get(self.at).cloned() {
            if self.open.is_some() {
                return self.give_up_late(cx, out);
            }
            if let AdminStep::PauseUntil(until) = step {
                if cx.now() < until {
                    return self.alarm.set(until, out);
                }
                self.next_step();
                continue;
            }
            if cx.now() < self.not_before {
                return self.alarm.set(self.not_before, out);
            }
            self.send(cx, &step, out);
        }
    }

    /// Waits for the answer, but not for ever: the connection is closed and the step tried again.
    fn give_up_late(&mut self, cx: &Cx<'_>, out: &mut ClientOut) {
        let deadline = self.not_before + REQUEST_TIMEOUT;
        if let Some((_, to)) = self.open
            && cx.now() >= deadline
        {
            out.close(to, Lane(0));
            self.open = None;
            self.retry(cx);
            return self.alarm.set(self.not_before, out);
        }
        self.alarm.set(deadline, out);
    }

    fn send(&mut self, cx: &Cx<'_>, step: &AdminStep, out: &mut ClientOut) {
        let (to, request): (ActorId, Request) = match (step, self.leader) {
            (AdminStep::DeleteRecords { partition, offset }, Some(leader)) => {
                let (partition, offset, timeout_ms) = (*partition, *offset, 30_000);
                let request = DeleteRecordsRequest { partition, offset, timeout_ms };
                (ActorId::of_broker(leader), request.into())
            }
            (AdminStep::DeleteRecords { .. }, None) => {
                let turn = usize::try_from(self.attempts).unwrap_or(0) % self.brokers.len();
                (ActorId::of_broker(self.brokers[turn]), MetadataRequest {}.into())
            }
            (AdminStep::ElectLeader { partition, unclean }, _) => {
                let request =
                    ElectLeadersRequest { unclean: *unclean, partitions: vec![*partition] };
                (ActorId::CONTROLLER, request.into())
            }
            (AdminStep::Reassign { partition, replicas }, _) => {
                let partitions = vec![(*partition, replicas.clone())];
                (ActorId::CONTROLLER, AlterPartitionReassignmentsRequest { partitions }.into())
            }
            (AdminStep::PauseUntil(_), _) => unreachable!("a pause sends nothing"),
        };
        let correlation = Correlation(self.next_correlation);
        self.next_correlation += 1;
        self.open = Some((correlation, to));
        self.not_before = cx.now();
        out.send(to, Lane(0), correlation, Message::Request(request));
    }

    fn next_step(&mut self) {
        self.at += 1;
        self.attempts = 0;
        self.leader = None;
    }

    fn retry(&mut self, cx: &Cx<'_>) {
        self.attempts += 1;
        self.leader = None;
        self.not_before = cx.now() + RETRY_BACKOFF;
        if self.attempts >= ATTEMPTS {
            self.next_step();
        }
    }

    fn arrived(&mut self, cx: &Cx<'_>, correlation: Correlation, response: Option<&Response>) {
        if self.open.is_none_or(|(open, _)| open != correlation) {
            return;
        }
        self.open = None;
        match response {
            Some(Response::Metadata(response)) => {
                let partition = self.partition();
                self.leader = partition.and_then(|partition| response.image.leader(partition));
                if self.leader.is_none() {
                    self.retry(cx);
                }
            }
            Some(response) if is_final(response) => self.next_step(),
            _ => self.retry(cx),
        }
    }

    fn partition(&self) -> Option<TopicPartition> {
        match self.spec.steps.get(self.at)? {
            AdminStep::DeleteRecords { partition, .. }
            | AdminStep::ElectLeader { partition, .. }
            | AdminStep::Reassign { partition, .. } => Some(*partition),
            AdminStep::PauseUntil(_) => None,
        }
    }
}

/// Is nothing gained by asking again? ELECTION_NOT_NEEDED is as good as an election.
fn is_final(response: &Response) -> bool {
    let error = match response {
        Response::DeleteRecords(response) => response.error,
        Response::ElectLeaders(response) => {
            response.partitions.first().map_or(ErrorCode::None, |(_, error)| *error)
        }
        Response::AlterPartitionReassignments(response) => {
            response.partitions.first().map_or(ErrorCode::None, |(_, error)| *error)
        }
        other => panic!("an operator was sent {}", other.api().name()),
    };
    error == ErrorCode::ElectionNotNeeded || !error.is_retriable()
}

impl Actor for AdminApplication {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match event {
            Event::Started => {}
            Event::Timer(_) => self.alarm.rang(),
            Event::Response { correlation, message: Message::Response(response) } => {
                self.arrived(cx, correlation, Some(&response));
            }
            Event::Disconnected { correlation } => self.arrived(cx, correlation, None),
            Event::StopRequested => return out.exit(),
            Event::Response { .. } | Event::Request { .. } => {
                panic!("a client was sent a request: {event:?}")
            }
        }
        self.run(cx, out);
    }

    /// A crash forgets the request under way; the step is tried again.
    fn crash(&mut self, _: CrashKind) {
        self.open = None;
        self.leader = None;
        self.alarm = Alarm::OFF;
    }
}
