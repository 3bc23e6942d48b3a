//! Requests that wait for replicas or data.
//!
//! Kafka counterpart: `DelayedOperationPurgatory`, `DelayedProduce`, `DelayedFetch`,
//! `DelayedDeleteRecords`. Invariant: every operation here has a deadline at which it is answered
//! whatever has become of it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_transaction_coordinator::AppendId;
use eosim_types::message::{FetchRequest, ProducePartitionResponse};
use eosim_types::{ErrorCode, Instant, ProducerId, TopicPartition};

/// The name of a parked operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct OperationId(pub(crate) u64);

/// Who waits for an append.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Appender {
    /// A client.
    Produce(RequestToken),
    /// One marker of a `WriteTxnMarkers` request.
    Markers {
        /// Which request.
        request: RequestToken,
        /// The marker's producer id.
        producer_id: ProducerId,
    },
    /// The transaction coordinator.
    TransactionLog(AppendId),
}

/// An append that waits for the high watermark (`DelayedProduce`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DelayedProduce {
    /// Who waits.
    pub(crate) appender: Appender,
    /// When it is given up.
    pub(crate) deadline: Instant,
    /// Partitions that are not decided yet.
    pub(crate) waiting: Vec<TopicPartition>,
    /// The answers, in the order of the request; those of waiting partitions may change still.
    pub(crate) responses: Vec<ProducePartitionResponse>,
}

impl DelayedProduce {
    /// `partition` is decided.
    pub(crate) fn decide(&mut self, partition: TopicPartition, error: ErrorCode) {
        self.waiting.retain(|&waiting| waiting != partition);
        for response in &mut self.responses {
            if response.partition == partition {
                response.error = error;
            }
        }
    }
}

/// A fetch that waits for data (`DelayedFetch`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DelayedFetch {
    /// By which name to answer.
    pub(crate) token: RequestToken,
    /// The request.
    pub(crate) request: FetchRequest,
    /// When it is answered with what there is.
    pub(crate) deadline: Instant,
}

/// A deletion that waits for the replicas (`DelayedDeleteRecords`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DelayedDeleteRecords {
    /// By which name to answer.
    pub(crate) token: RequestToken,
    /// The partition.
    pub(crate) partition: TopicPartition,
    /// The log start that every living replica must reach.
    pub(crate) offset: i64,
    /// When it is given up.
    pub(crate) deadline: Instant,
}

/// All parked operations of a broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Purgatory {
    next: u64,
    pub(crate) produces: BTreeMap<OperationId, DelayedProduce>,
    pub(crate) fetches: BTreeMap<OperationId, DelayedFetch>,
    pub(crate) deletes: BTreeMap<OperationId, DelayedDeleteRecords>,
}

impl Purgatory {
    /// A new name.
    pub(crate) fn next_id(&mut self) -> OperationId {
        self.next += 1;
        OperationId(self.next)
    }

    /// The earliest deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let produces = self.produces.values().map(|operation| operation.deadline);
        let fetches = self.fetches.values().map(|operation| operation.deadline);
        let deletes = self.deletes.values().map(|operation| operation.deadline);
        produces.chain(fetches).chain(deletes).min()
    }

    /// The parked fetches that read `partition`.
    pub(crate) fn fetches_of(&self, partition: TopicPartition) -> Vec<OperationId> {
        let reads = |fetch: &DelayedFetch| {
            fetch.request.partitions.iter().any(|read| read.partition == partition)
        };
        self.fetches.iter().filter(|(_, fetch)| reads(fetch)).map(|(&id, _)| id).collect()
    }
}

/// The names of operations whose deadline has passed.
pub(crate) fn expired<T>(
    operations: &BTreeMap<OperationId, T>,
    now: Instant,
    deadline: impl Fn(&T) -> Instant,
) -> Vec<OperationId> {
    let late = operations.iter().filter(|(_, operation)| deadline(operation) <= now);
    late.map(|(&id, _)| id).collect()
}
