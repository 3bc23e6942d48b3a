//! Requests that wait for replicas or data.
//!
//! Kafka counterpart: `DelayedOperationPurgatory`, `DelayedProduce`, `DelayedFetch`,
//! `DelayedDeleteRecords`. Invariant: every operation here has a deadline at which it is answered
//! whatever has become of it.

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
    /// Partitions that are not decided yet: each has a watcher.
    pub(crate) undecided: u32,
    /// The answers, in the order of the request; those of undecided partitions may change still.
    pub(crate) responses: Vec<ProducePartitionResponse>,
}

impl DelayedProduce {
    /// `partition` is decided.
    pub(crate) fn decide(&mut self, partition: TopicPartition, error: ErrorCode) {
        self.undecided -= 1;
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

impl DelayedFetch {
    /// Does it read `partition`?
    pub(crate) fn reads(&self, partition: TopicPartition) -> bool {
        self.request.partitions.iter().any(|read| read.partition == partition)
    }
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
    pub(crate) produces: Parked<DelayedProduce>,
    pub(crate) fetches: Parked<DelayedFetch>,
    pub(crate) deletes: Parked<DelayedDeleteRecords>,
}

/// Parked operations of one kind, oldest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Parked<T>(Vec<(OperationId, T)>);

impl<T> Default for Parked<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Parked<T> {
    /// Parks an operation under a new name.
    pub(crate) fn insert(&mut self, id: OperationId, operation: T) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < id), "names are given in order");
        self.0.push((id, operation));
    }

    /// Is nothing parked?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every operation, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (OperationId, &T)> {
        self.0.iter().map(|(id, operation)| (*id, operation))
    }

    /// The operation that stands at `place`, counted from the oldest.
    pub(crate) fn at(&self, place: usize) -> Option<(OperationId, &T)> {
        self.0.get(place).map(|(id, operation)| (*id, operation))
    }

    fn place(&self, id: OperationId) -> Option<usize> {
        self.0.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    /// The operation called `id`, to be changed.
    pub(crate) fn get_mut(&mut self, id: OperationId) -> Option<&mut T> {
        self.place(id).map(|place| &mut self.0[place].1)
    }

    /// Takes the operation called `id` out.
    pub(crate) fn remove(&mut self, id: OperationId) -> Option<T> {
        self.place(id).map(|place| self.0.remove(place).1)
    }
}

impl Purgatory {
    /// A new name.
    pub(crate) fn next_id(&mut self) -> OperationId {
        self.next += 1;
        OperationId(self.next)
    }

    /// The earliest deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let produces = self.produces.iter().map(|(_, operation)| operation.deadline);
        let fetches = self.fetches.iter().map(|(_, operation)| operation.deadline);
        let deletes = self.deletes.iter().map(|(_, operation)| operation.deadline);
        produces.chain(fetches).chain(deletes).min()
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
