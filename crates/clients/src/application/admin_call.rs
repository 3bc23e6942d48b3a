//! One step of an operator as a conversation: whom to ask what, and what an answer means.
//!
//! Counterparts: `KafkaAdminClient`, `AdminApiDriver` (a lookup, then the request itself).

use alloc::vec;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{
    AlterPartitionReassignmentsRequest, DeleteRecordsRequest, ElectLeadersRequest, MetadataRequest,
    Request, Response, UpdateFeaturesRequest,
};
use eosim_types::metadata::MetadataImage;
use eosim_types::{ActorId, BrokerId, ErrorCode, TopicPartition};

use super::transactions_command::TransactionsCommand;
use crate::spec::AdminStep;

/// What an answer means for its step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// There is more to ask.
    Continues,
    /// Nothing is gained by asking again.
    Over,
    /// From the beginning, after a pause.
    Retry,
}

impl Progress {
    /// ELECTION_NOT_NEEDED is as good as an election.
    pub(super) fn of(error: ErrorCode) -> Self {
        let is_over = error == ErrorCode::ElectionNotNeeded || !error.is_retriable();
        if is_over { Self::Over } else { Self::Retry }
    }
}

/// A step under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum AdminCall {
    /// Goes to the controller.
    Controller(AdminStep),
    /// Looks for the leader of the step's partition.
    Lookup { step: AdminStep, ask: BrokerId },
    /// Goes to that leader.
    DeleteRecords { leader: BrokerId, partition: TopicPartition, offset: i64 },
    /// Begins at that leader.
    Transactions(TransactionsCommand),
}

impl AdminCall {
    /// Begins `step`; metadata comes from `ask`.
    pub(super) fn new(step: &AdminStep, ask: BrokerId) -> Self {
        match step {
            AdminStep::DeleteRecords { .. } | AdminStep::AbortTransaction { .. } => {
                Self::Lookup { step: step.clone(), ask }
            }
            AdminStep::ElectLeader { .. }
            | AdminStep::Reassign { .. }
            | AdminStep::UpdateFeatures { .. } => Self::Controller(step.clone()),
            AdminStep::PauseUntil(_) => unreachable!("a pause asks nothing"),
        }
    }

    /// What is sent now, and to whom.
    pub(super) fn request(&self) -> (ActorId, Request) {
        match self {
            Self::Controller(step) => (ActorId::CONTROLLER, of_controller(step)),
            Self::Lookup { ask, .. } => (ActorId::of_broker(*ask), MetadataRequest {}.into()),
            Self::DeleteRecords { leader, partition, offset } => {
                let (partition, offset, timeout_ms) = (*partition, *offset, 30_000);
                let request = DeleteRecordsRequest { partition, offset, timeout_ms };
                (ActorId::of_broker(*leader), request.into())
            }
            Self::Transactions(command) => {
                let (to, request) = command.request();
                (ActorId::of_broker(to), request)
            }
        }
    }

    /// Takes the answer to [`AdminCall::request`].
    pub(super) fn answered(&mut self, cx: &mut Cx<'_>, response: &Response) -> Progress {
        match (&mut *self, response) {
            (Self::Transactions(command), response) => command.answered(cx, response),
            (Self::Lookup { step, .. }, Response::Metadata(response)) => {
                match after_lookup(step, &response.image) {
                    Some(call) => {
                        *self = call;
                        Progress::Continues
                    }
                    None => Progress::Retry,
                }
            }
            (_, Response::DeleteRecords(response)) => Progress::of(response.error),
            (_, Response::UpdateFeatures(response)) => Progress::of(response.error),
            (_, Response::ElectLeaders(response)) => of_first(&response.partitions),
            (_, Response::AlterPartitionReassignments(response)) => of_first(&response.partitions),
            (_, other) => panic!("an operator was sent {}", other.api().name()),
        }
    }
}

fn of_controller(step: &AdminStep) -> Request {
    match step {
        AdminStep::ElectLeader { partition, unclean } => {
            ElectLeadersRequest { unclean: *unclean, partitions: vec![*partition] }.into()
        }
        AdminStep::Reassign { partition, replicas } => {
            let partitions = [(*partition, replicas.clone())].into();
            AlterPartitionReassignmentsRequest { partitions }.into()
        }
        AdminStep::UpdateFeatures { transaction_version } => {
            UpdateFeaturesRequest { transaction_version: *transaction_version }.into()
        }
        other => unreachable!("{other:?} is no business of the controller"),
    }
}

/// The step goes on at its leader, if there is one.
fn after_lookup(step: &AdminStep, image: &MetadataImage) -> Option<AdminCall> {
    match *step {
        AdminStep::DeleteRecords { partition, offset } => {
            let leader = image.leader(partition)?;
            Some(AdminCall::DeleteRecords { leader, partition, offset })
        }
        AdminStep::AbortTransaction { partition, spec } => {
            let leader = image.leader(partition)?;
            let brokers = image.brokers.keys().copied();
            let alive: Vec<BrokerId> = brokers.filter(|&broker| image.is_alive(broker)).collect();
            let command = || TransactionsCommand::new(partition, spec, leader, alive.clone());
            (!alive.is_empty()).then(|| AdminCall::Transactions(command()))
        }
        _ => unreachable!("{step:?} needs no leader"),
    }
}

fn of_first(results: &[(TopicPartition, ErrorCode)]) -> Progress {
    Progress::of(results.first().map_or(ErrorCode::None, |&(_, error)| error))
}
