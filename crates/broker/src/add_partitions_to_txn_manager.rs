//! The leader's calls to transaction coordinators: partitions are verified, or added to their
//! transaction. The rules L-A2T are C-ATM-1 to C-ATM-5 as the coordinator sees them.
//!
//! Kafka counterpart: `AddPartitionsToTxnManager`. Invariants: at most one request in flight per
//! node (L-A2T-3); at most one waiting transaction per node and transactional id (L-A2T-4); every
//! transaction taken over is reported in `finished` exactly once.

use alloc::collections::VecDeque;

use eosim_types::message::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnTransaction,
    PerPartition,
};
use eosim_types::version::TransactionSupportedOperation;
use eosim_types::{BrokerId, ErrorCode, Few, SortedMap, Topic, TopicPartition, rule};

use crate::io::Io;
use crate::network::{Call, lane};

/// The request version of brokers, the first that carries a batch (C-ADD-1).
const REQUEST_VERSION: i16 = 5;

/// Who waits for the outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct VerificationId(pub(crate) u64);

/// Partitions that were refused, each with its error; the others are in the transaction.
pub(crate) type Refused = PerPartition<ErrorCode>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Queued {
    transaction: AddPartitionsToTxnTransaction,
    caller: VerificationId,
}

/// `TransactionDataAndCallbacks`: the capability class is that of the transaction that opened the
/// queue (L-A2T-8).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct TransactionDataAndCallbacks {
    operation: TransactionSupportedOperation,
    transactions: Few<Queued>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Node {
    waiting: Option<TransactionDataAndCallbacks>,
    in_flight: Option<TransactionDataAndCallbacks>,
}

/// `AddPartitionsToTxnManager`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct AddPartitionsToTxnManager {
    nodes: SortedMap<BrokerId, Node>,
    finished: VecDeque<(VerificationId, Refused)>,
}

impl AddPartitionsToTxnManager {
    /// Takes over one transaction (`addOrVerifyTransaction`).
    pub(crate) fn add_or_verify_transaction(
        &mut self,
        io: &mut Io<'_>,
        transaction: AddPartitionsToTxnTransaction,
        operation: TransactionSupportedOperation,
        caller: VerificationId,
    ) {
        let queued = Queued { transaction, caller };
        match coordinator_node(io, &queued.transaction) {
            None => {
                rule!(io.env, "L-A2T-2");
                rule!(io.env, "C-ATM-2");
                self.refuse(&queued, ErrorCode::CoordinatorNotAvailable);
            }
            Some(node) => {
                self.enqueue(io, node, queued, operation);
                self.send_if_idle(io, node);
            }
        }
    }

    /// Takes the oldest outcome that nobody has taken yet.
    pub(crate) fn take_finished(&mut self) -> Option<(VerificationId, Refused)> {
        self.finished.pop_front()
    }

    /// L-A2T-4 (`addTxnData`).
    fn enqueue(
        &mut self,
        io: &mut Io<'_>,
        node: BrokerId,
        queued: Queued,
        operation: TransactionSupportedOperation,
    ) {
        let waiting = &mut self.nodes.get_or_default(node).waiting;
        let waiting = waiting.get_or_insert_with(|| {
            rule!(io.env, "L-A2T-8");
            TransactionDataAndCallbacks { operation, transactions: Few::new() }
        });
        let id = queued.transaction.transactional_id;
        let same = waiting.transactions.iter().position(|w| w.transaction.transactional_id == id);
        let Some(at) = same else {
            waiting.transactions.push(queued);
            return;
        };
        rule!(io.env, "L-A2T-4");
        rule!(io.env, "C-ATM-3");
        let existing_epoch = waiting.transactions[at].transaction.producer_epoch;
        if queued.transaction.producer_epoch < existing_epoch {
            return self.refuse(&queued, ErrorCode::InvalidProducerEpoch);
        }
        let error = if queued.transaction.producer_epoch == existing_epoch {
            ErrorCode::NetworkException
        } else {
            ErrorCode::InvalidProducerEpoch
        };
        let replaced = core::mem::replace(&mut waiting.transactions[at], queued);
        waiting.transactions[at..].rotate_left(1);
        self.refuse(&replaced, error);
    }

    fn refuse(&mut self, queued: &Queued, error: ErrorCode) {
        let refused = queued.transaction.partitions.iter().map(|&tp| (tp, error)).collect();
        self.finished.push_back((queued.caller, refused));
    }

    /// L-A2T-3 (`generateRequests`).
    fn send_if_idle(&mut self, io: &mut Io<'_>, id: BrokerId) {
        let Some(node) = self.nodes.get_mut(id) else { return };
        rule!(io.env, "L-A2T-3");
        // L-A2T-9: what waits is not moved to a coordinator elected meanwhile.
        if node.in_flight.is_some() {
            return;
        }
        let Some(batch) = node.waiting.take() else { return };
        rule!(io.env, "L-A2T-1");
        let transactions = batch.transactions.iter().map(|q| q.transaction.clone()).collect();
        let request = AddPartitionsToTxnRequest { version: REQUEST_VERSION, transactions };
        node.in_flight = Some(batch);
        let call = Call::AddPartitionsToTxn { node: id };
        io.send(id, lane::ADD_PARTITIONS_TO_TXN, call, request);
    }

    /// The node has answered (`AddPartitionsToTxnHandler#onComplete`).
    pub(crate) fn on_response(
        &mut self,
        io: &mut Io<'_>,
        node: BrokerId,
        response: &AddPartitionsToTxnResponse,
    ) {
        let Some(batch) = self.take_in_flight(node) else { return };
        rule!(io.env, "L-A2T-5");
        for queued in batch.transactions {
            match response.error {
                ErrorCode::None => {
                    let refused = refused_partitions(io, batch.operation, &queued, response);
                    self.finished.push_back((queued.caller, refused));
                }
                error => self.finish_with_top_level_error(io, &queued, error),
            }
        }
        self.send_if_idle(io, node);
    }

    /// L-A2T-6: an answer to the request as a whole.
    fn finish_with_top_level_error(&mut self, io: &mut Io<'_>, queued: &Queued, error: ErrorCode) {
        rule!(io.env, "L-A2T-6");
        rule!(io.env, "C-ATM-4");
        match error {
            // A coordinator too old to verify counts as having verified.
            ErrorCode::UnsupportedVersion => {
                self.finished.push_back((queued.caller, Refused::new()));
            }
            ErrorCode::ClusterAuthorizationFailed => {
                self.refuse(queued, ErrorCode::InvalidTxnState);
            }
            other => self.refuse(queued, other),
        }
    }

    /// The request broke or took too long: nobody knows whether it took effect (L-A2T-6, L-A2T-7).
    pub(crate) fn on_disconnected(&mut self, io: &mut Io<'_>, node: BrokerId) {
        let Some(batch) = self.take_in_flight(node) else { return };
        rule!(io.env, "L-A2T-6");
        rule!(io.env, "L-A2T-7");
        for queued in batch.transactions {
            self.refuse(&queued, ErrorCode::NetworkException);
        }
        self.send_if_idle(io, node);
    }

    fn take_in_flight(&mut self, node: BrokerId) -> Option<TransactionDataAndCallbacks> {
        self.nodes.get_mut(node)?.in_flight.take()
    }
}

/// L-A2T-2 (`getTransactionCoordinator`): the living leader of the id's partition, as far as the
/// broker knows.
fn coordinator_node(io: &Io<'_>, transaction: &AddPartitionsToTxnTransaction) -> Option<BrokerId> {
    let count = io.image.partition_count(Topic::TRANSACTION_STATE);
    if count == 0 {
        return None;
    }
    let partition = io.spec.names.transaction_partition(transaction.transactional_id, count);
    let leader = io.image.leader(TopicPartition::new(Topic::TRANSACTION_STATE, partition))?;
    io.image.is_alive(leader).then_some(leader)
}

fn refused_partitions(
    io: &mut Io<'_>,
    operation: TransactionSupportedOperation,
    queued: &Queued,
    response: &AddPartitionsToTxnResponse,
) -> Refused {
    let id = queued.transaction.transactional_id;
    let results = response.results.iter().find(|(transactional_id, _)| *transactional_id == id);
    let results = results.map_or(&[][..], |(_, results)| results.as_slice());
    let failed = results.iter().filter(|(_, error)| !error.is_none());
    failed.map(|&(tp, error)| (tp, map_error(io, operation, error))).collect()
}

/// L-MAP-1, and what of it producers see (P-ERR-5).
fn map_error(
    io: &mut Io<'_>,
    operation: TransactionSupportedOperation,
    error: ErrorCode,
) -> ErrorCode {
    rule!(io.env, "L-MAP-1");
    rule!(io.env, "P-ERR-5");
    match error {
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        ErrorCode::TransactionAbortable
            if operation == TransactionSupportedOperation::DefaultError =>
        {
            ErrorCode::InvalidTxnState
        }
        other => other,
    }
}
