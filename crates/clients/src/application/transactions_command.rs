//! `kafka-transactions abort` and `find-hanging`, one request at a time.
//!
//! Counterparts: `TransactionsCommand`, `KafkaAdminClient#abortTransaction`,
//! `AbortTransactionHandler`.
//!
//! Invariant: a marker goes to the partition's leader alone; the coordinator is asked, never told
//! (L-TOOL-2).

use alloc::vec;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{
    CoordinatorKey, DescribeProducersRequest, DescribeTransactionsRequest, FindCoordinatorRequest,
    ListTransactionsRequest, PerPartition, ProducerState, Request, Response,
    TransactionDescription, WritableTxnMarker, WriteTxnMarkersRequest,
};
use eosim_types::record::TransactionResult;
use eosim_types::version::TransactionVersion;
use eosim_types::{
    BrokerId, CoordinatorEpoch, ErrorCode, ProducerId, TopicPartition, TransactionalId, rule,
};

use super::admin_call::Progress;
use crate::spec::{AbortTransactionSpec, MarkedProducer};

/// The version that carries a transaction version.
const WRITE_TXN_MARKERS_VERSION: i16 = 2;

/// The command, once the partition's leader is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TransactionsCommand {
    partition: TopicPartition,
    spec: AbortTransactionSpec,
    leader: BrokerId,
    /// Whom ListTransactions goes to: every broker that can be used.
    brokers: Vec<BrokerId>,
    stage: Stage,
}

/// What is asked next. `suspects` are open for too long; the first of them is looked into.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Stage {
    DescribeProducers,
    /// `asked` brokers do not know the suspect's producer id.
    ListTransactions {
        suspects: Vec<ProducerState>,
        asked: usize,
    },
    FindCoordinator {
        suspects: Vec<ProducerState>,
        id: TransactionalId,
    },
    DescribeTransactions {
        suspects: Vec<ProducerState>,
        id: TransactionalId,
        coordinator: BrokerId,
    },
    WriteTxnMarkers(MarkedProducer),
}

impl TransactionsCommand {
    pub(super) fn new(
        partition: TopicPartition,
        spec: AbortTransactionSpec,
        leader: BrokerId,
        brokers: Vec<BrokerId>,
    ) -> Self {
        let stage = match spec {
            AbortTransactionSpec::Producer(producer) => Stage::WriteTxnMarkers(producer),
            AbortTransactionSpec::StartOffset(_) | AbortTransactionSpec::Hanging { .. } => {
                Stage::DescribeProducers
            }
        };
        Self { partition, spec, leader, brokers, stage }
    }

    /// What is sent now, and to whom.
    pub(super) fn request(&self) -> (BrokerId, Request) {
        let partition = self.partition;
        match &self.stage {
            Stage::DescribeProducers => {
                (self.leader, DescribeProducersRequest { partition }.into())
            }
            Stage::ListTransactions { suspects, asked } => {
                let request = ListTransactionsRequest {
                    producer_ids: vec![suspects[0].producer_id],
                    states: Vec::new(),
                    duration_ms: -1,
                };
                (self.brokers[*asked], request.into())
            }
            Stage::FindCoordinator { id, .. } => {
                let key = CoordinatorKey::Transaction(*id);
                (self.brokers[0], FindCoordinatorRequest { key }.into())
            }
            Stage::DescribeTransactions { id, coordinator, .. } => {
                (*coordinator, DescribeTransactionsRequest { transactional_id: *id }.into())
            }
            Stage::WriteTxnMarkers(producer) => (self.leader, self.abort_marker(*producer).into()),
        }
    }

    /// An ABORT marker at the transaction's own epoch; at transaction version 0 that passes (L-MRK-3).
    fn abort_marker(&self, producer: MarkedProducer) -> WriteTxnMarkersRequest {
        let marker = WritableTxnMarker {
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            transaction_result: TransactionResult::Abort,
            partitions: [self.partition].into(),
            coordinator_epoch: producer.coordinator_epoch,
            transaction_version: TransactionVersion::Tv0,
        };
        WriteTxnMarkersRequest { version: WRITE_TXN_MARKERS_VERSION, markers: [marker].into() }
    }

    pub(super) fn answered(&mut self, cx: &mut Cx<'_>, response: &Response) -> Progress {
        let stage = core::mem::replace(&mut self.stage, Stage::DescribeProducers);
        match (stage, response) {
            (Stage::DescribeProducers, Response::DescribeProducers(response)) => {
                if !response.error.is_none() {
                    return Progress::of(response.error);
                }
                let wanted = self.wanted(cx, &response.producers);
                self.described(cx, wanted)
            }
            (Stage::ListTransactions { suspects, asked }, Response::ListTransactions(response)) => {
                if !response.error.is_none() {
                    return Progress::of(response.error);
                }
                let owner = response.transactions.first().map(|&(id, _, _)| id);
                self.listed(cx, suspects, asked, owner)
            }
            (Stage::FindCoordinator { suspects, id }, Response::FindCoordinator(response)) => {
                let Some(coordinator) = response.node else {
                    return Progress::of(response.error);
                };
                self.stage = Stage::DescribeTransactions { suspects, id, coordinator };
                Progress::Continues
            }
            (
                Stage::DescribeTransactions { suspects, .. },
                Response::DescribeTransactions(response),
            ) => {
                let is_unknown = response.error == ErrorCode::TransactionalIdNotFound;
                if !response.error.is_none() && !is_unknown {
                    return Progress::of(response.error);
                }
                self.looked_up(cx, suspects, response.transaction.as_ref())
            }
            (Stage::WriteTxnMarkers(producer), Response::WriteTxnMarkers(response)) => {
                self.marked(producer.producer_id, &response.results)
            }
            (stage, other) => {
                panic!("{stage:?} of kafka-transactions was answered by {}", other.api().name())
            }
        }
    }

    /// The open transactions that the command is after.
    fn wanted(&self, cx: &mut Cx<'_>, producers: &[ProducerState]) -> Vec<ProducerState> {
        let now = cx.env.clock_ms();
        let is_wanted = |producer: &&ProducerState| match self.spec {
            AbortTransactionSpec::StartOffset(offset) => {
                producer.current_txn_start_offset == offset
            }
            AbortTransactionSpec::Hanging { max_transaction_timeout } => {
                let age = u64::try_from(now - producer.last_timestamp).unwrap_or(0);
                age > max_transaction_timeout.as_millis()
            }
            AbortTransactionSpec::Producer(_) => false,
        };
        let open = producers.iter().filter(|producer| producer.current_txn_start_offset >= 0);
        open.filter(is_wanted).copied().collect()
    }

    fn described(&mut self, cx: &mut Cx<'_>, wanted: Vec<ProducerState>) -> Progress {
        let Some(first) = wanted.first() else { return Progress::Over };
        match self.spec {
            AbortTransactionSpec::Hanging { .. } => {
                rule!(cx.env, "L-TOOL-3");
                self.stage = Stage::ListTransactions { suspects: wanted, asked: 0 };
            }
            AbortTransactionSpec::StartOffset(_) | AbortTransactionSpec::Producer(_) => {
                self.abort(cx, *first);
            }
        }
        Progress::Continues
    }

    /// One broker told whose producer id it is, if it knows; nobody's is a hanging transaction's.
    fn listed(
        &mut self,
        cx: &mut Cx<'_>,
        suspects: Vec<ProducerState>,
        asked: usize,
        owner: Option<TransactionalId>,
    ) -> Progress {
        let asked = asked + 1;
        if let Some(id) = owner {
            self.stage = Stage::FindCoordinator { suspects, id };
        } else if asked < self.brokers.len() {
            self.stage = Stage::ListTransactions { suspects, asked };
        } else {
            self.abort(cx, suspects[0]);
        }
        Progress::Continues
    }

    /// A transaction hangs if its coordinator does not know it, or not of this partition (L-TOOL-3).
    fn looked_up(
        &mut self,
        cx: &mut Cx<'_>,
        mut suspects: Vec<ProducerState>,
        transaction: Option<&TransactionDescription>,
    ) -> Progress {
        if transaction.is_none_or(|found| !found.partitions.contains(&self.partition)) {
            self.abort(cx, suspects[0]);
            return Progress::Continues;
        }
        suspects.remove(0);
        if suspects.is_empty() {
            return Progress::Over;
        }
        self.stage = Stage::ListTransactions { suspects, asked: 0 };
        Progress::Continues
    }

    fn abort(&mut self, cx: &mut Cx<'_>, producer: ProducerState) {
        rule!(cx.env, "L-TOOL-1");
        self.stage = Stage::WriteTxnMarkers(MarkedProducer {
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            coordinator_epoch: producer.coordinator_epoch.max(CoordinatorEpoch(0)),
        });
    }

    /// After a hanging transaction the next one is looked for; a refusal is final (L-TOOL-1).
    fn marked(
        &mut self,
        producer_id: ProducerId,
        results: &[(ProducerId, PerPartition<ErrorCode>)],
    ) -> Progress {
        let of_producer = results.iter().filter(|(id, _)| *id == producer_id);
        let mut errors = of_producer.flat_map(|(_, partitions)| partitions);
        let error = errors.next().map_or(ErrorCode::UnknownServerError, |&(_, error)| error);
        match self.spec {
            AbortTransactionSpec::Hanging { .. } if error.is_none() => Progress::Continues,
            _ => Progress::of(error),
        }
    }
}
