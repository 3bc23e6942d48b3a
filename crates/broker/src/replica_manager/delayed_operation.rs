//! Requests that wait for replicas or data.
//!
//! Kafka counterpart: `DelayedOperationPurgatory`, `DelayedProduce`, `DelayedFetch`,
//! `DelayedDeleteRecords`. Invariant: every operation here has a deadline at which it is answered
//! whatever has become of it.

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_transaction_coordinator::AppendId;
use eosim_types::{ErrorCode, Few, Instant, ProducerId, SortedMap, TopicPartition};

use super::append::AppendResult;

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

/// What has become of one partition of an append (`ProducePartitionStatus`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ProducePartitionStatus {
    /// The partition.
    pub(crate) partition: TopicPartition,
    /// The outcome of the append at the leader.
    pub(crate) appended: AppendResult,
    /// How the wait for replicas has ended.
    pub(crate) decided: Option<ErrorCode>,
}

impl ProducePartitionStatus {
    /// Nothing is decided yet.
    pub(crate) fn new(partition: TopicPartition, appended: AppendResult) -> Self {
        Self { partition, appended, decided: None }
    }

    /// The outcome as it is answered.
    pub(crate) fn error(&self) -> ErrorCode {
        let appended = self.appended.map_or_else(|refused| refused.error, |_| ErrorCode::None);
        self.decided.unwrap_or(appended)
    }
}

/// An append that waits for the high watermark (`DelayedProduce`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DelayedProduce {
    /// Who waits.
    pub(crate) appender: Appender,
    /// When it is given up.
    pub(crate) deadline: Instant,
    /// Partitions that are not decided yet: each has a watcher.
    pub(crate) undecided: u32,
    /// The partitions, in the order of the request.
    pub(crate) statuses: Few<ProducePartitionStatus>,
}

impl DelayedProduce {
    /// `partition` is decided.
    pub(crate) fn decide(&mut self, partition: TopicPartition, error: ErrorCode) {
        self.undecided -= 1;
        for status in &mut self.statuses {
            if status.partition == partition {
                status.decided = Some(error);
            }
        }
    }
}

/// A fetch that waits for data in its session (`DelayedFetch`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DelayedFetch {
    /// By which name to answer.
    pub(crate) token: RequestToken,
    /// The answer has every partition.
    pub(crate) is_full: bool,
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

/// All parked operations of a broker but fetches, which wait in their sessions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Purgatory {
    next: u64,
    pub(crate) produces: Parked<DelayedProduce>,
    pub(crate) deletes: Parked<DelayedDeleteRecords>,
}

/// Parked operations of one kind, oldest first.
pub(crate) type Parked<T> = SortedMap<OperationId, T>;

impl Purgatory {
    /// A new name.
    pub(crate) fn next_id(&mut self) -> OperationId {
        self.next += 1;
        OperationId(self.next)
    }

    /// The earliest deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let produces = self.produces.values().map(|operation| operation.deadline);
        let deletes = self.deletes.values().map(|operation| operation.deadline);
        produces.chain(deletes).min()
    }
}

/// The names of operations whose deadline has passed.
pub(crate) fn expired<T>(
    operations: &Parked<T>,
    now: Instant,
    deadline: impl Fn(&T) -> Instant,
) -> Vec<OperationId> {
    let late = operations.iter().filter(|(_, operation)| deadline(operation) <= now);
    late.map(|(id, _)| id).collect()
}
