//! What the coordinator hears and says: the surroundings lent to each call, and the actions that
//! the broker carries out.
//!
//! Kafka counterpart: the calls of `TransactionCoordinator` into `ReplicaManager`, `Scheduler`,
//! `NodeToControllerChannelManager` and the marker sender's network client. Actions come in the
//! order in which they were decided.

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::config::BrokerConfig;
use eosim_types::message::{Response, WriteTxnMarkersRequest};
use eosim_types::metadata::MetadataImage;
use eosim_types::record::TransactionLogRecord;
use eosim_types::{BrokerId, CoordinatorEpoch, Duration, Env, Instant, Names};

/// The broker's name for a request that waits for its answer; opaque here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplyTo(pub u64);

/// The coordinator's name for an append under way; opaque to the broker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AppendId(pub u64);

/// A timer of the coordinator. Setting one again replaces its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CoordinatorTimer {
    /// The task `transaction-abort` (C-TMO-1).
    AbortTimedOutTransactions,
    /// The task `transactionalId-expiration` (C-EXP-1).
    RemoveExpiredTransactionalIds,
    /// The next round of the marker sender (C-MRK-6).
    MarkerSender,
}

impl CoordinatorTimer {
    /// Every timer.
    pub const ALL: [Self; 3] =
        [Self::AbortTimedOutTransactions, Self::RemoveExpiredTransactionalIds, Self::MarkerSender];
}

/// What the broker is to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Answer a request.
    Reply {
        /// Which request.
        to: ReplyTo,
        /// The answer.
        response: Response,
    },
    /// Append one batch to the partition of `__transaction_state` as its leader, with acks = -1,
    /// and report to [`on_append_result`](crate::TransactionCoordinator::on_append_result).
    Append {
        /// By which name to report.
        id: AppendId,
        /// Partition of `__transaction_state`.
        partition: i32,
        /// The leader epoch under which the append was decided; under another one it fails with
        /// `NOT_LEADER_OR_FOLLOWER`.
        coordinator_epoch: CoordinatorEpoch,
        /// The records of the batch.
        records: Arc<[TransactionLogRecord]>,
        /// How long to wait for the high watermark before `REQUEST_TIMED_OUT` (C-APP-3).
        timeout: Duration,
    },
    /// Read the partition from its log start to its log end (C-LOAD-3) and report, in a later step,
    /// to [`on_loaded`](crate::TransactionCoordinator::on_loaded).
    Load {
        /// Partition of `__transaction_state`.
        partition: i32,
        /// To be handed back.
        coordinator_epoch: CoordinatorEpoch,
    },
    /// Send markers and report to
    /// [`on_marker_response`](crate::TransactionCoordinator::on_marker_response). At most one
    /// request per broker is open (C-MRK-7).
    SendMarkers {
        /// The leader of the partitions.
        broker: BrokerId,
        /// The markers.
        request: WriteTxnMarkersRequest,
        /// To be handed back.
        correlation: u32,
    },
    /// Ask the controller for a block of producer ids and report to
    /// [`on_producer_ids`](crate::TransactionCoordinator::on_producer_ids) (C-PID-2, C-PID-6).
    AllocateProducerIds,
    /// Set a timer, or set it anew.
    SetTimer {
        /// Which.
        timer: CoordinatorTimer,
        /// When.
        at: Instant,
    },
}

/// What every call may know, and where its actions go.
#[derive(Debug)]
pub struct Ctx<'a> {
    /// Time, switches and rule marks.
    pub env: Env<'a>,
    /// The broker's own view of the cluster, which may be stale.
    pub metadata: &'a MetadataImage,
    /// The strings that Kafka hashes.
    pub names: &'a Names,
    /// The broker's settings.
    pub config: &'a BrokerConfig,
    /// Where actions go, in order.
    pub actions: &'a mut Vec<Action>,
}

impl Ctx<'_> {
    /// Answers a request.
    pub(crate) fn reply(&mut self, to: ReplyTo, response: impl Into<Response>) {
        self.actions.push(Action::Reply { to, response: response.into() });
    }

    /// Sets a timer.
    pub(crate) fn set_timer(&mut self, timer: CoordinatorTimer, at: Instant) {
        self.actions.push(Action::SetTimer { timer, at });
    }
}
