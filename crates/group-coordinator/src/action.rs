//! What the coordinator wants done, what it wants written, and what waits for it to be committed.
//!
//! Counterpart: `CoordinatorResult` and the deferred events of `CoordinatorRuntime`.

use alloc::vec::Vec;

use eosim_types::assignor::Assignment;
use eosim_types::config::BrokerConfig;
use eosim_types::message::{OffsetCommitResponse, PerPartition, Response, TxnOffsetCommitResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::record::RecordBatch;
use eosim_types::{Env, ErrorCode, GroupId, Instant, LeaderEpoch, Names};

use crate::error_mapping::txn_offset_commit_error;

/// Whom to answer; the broker's own name for a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplyTo(pub u64);

/// What the coordinator wants done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Answer a request.
    Reply {
        /// Whom.
        to: ReplyTo,
        /// With what.
        response: Response,
    },
    /// Read the whole log of a partition and call [`crate::GroupCoordinator::on_loaded`].
    Load {
        /// Partition of `__consumer_offsets`.
        partition: i32,
        /// Under which leader epoch.
        leader_epoch: LeaderEpoch,
    },
    /// Call [`crate::GroupCoordinator::on_timer`] at that time or earlier.
    SetTimer {
        /// When.
        at: Instant,
    },
}

/// Surroundings lent to the coordinator for one call.
pub struct Cx<'a> {
    /// Time, switches and rule marks.
    pub env: Env<'a>,
    /// The broker's image of the cluster.
    pub metadata: &'a MetadataImage,
    /// The strings behind groups.
    pub names: &'a Names,
    /// The broker's settings.
    pub config: &'a BrokerConfig,
    /// What is to be done.
    pub actions: &'a mut Vec<Action>,
}

impl Cx<'_> {
    pub(crate) fn reply(&mut self, to: ReplyTo, response: impl Into<Response>) {
        self.actions.push(Action::Reply { to, response: response.into() });
    }
}

/// Something that was found good: the broker appends `batch` to the offsets partition at once and
/// calls [`crate::GroupCoordinator::finish_write`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreparedWrite {
    /// Partition of `__consumer_offsets`.
    pub partition: i32,
    /// What to append, with acks=1 (L-TOC-3).
    pub batch: RecordBatch,
    pub(crate) then: Vec<Waiting>,
}

/// What happens once the high watermark has passed an offset.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Waiting {
    /// A commit is answered.
    Commit { to: ReplyTo, reply: CommitReply },
    /// Another request is answered.
    Reply { to: ReplyTo, response: Response },
    /// The members of a classic group learn of their assignment.
    ClassicSync { group: GroupId, generation: i32, assignments: Assignment },
}

/// The answer to a commit, as far as it is known before the batch is committed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CommitReply {
    pub(crate) is_transactional: bool,
    pub(crate) version: i16,
    pub(crate) partitions: PerPartition<ErrorCode>,
}

impl CommitReply {
    /// `error` for every partition that had none.
    pub(crate) fn failing(mut self, error: ErrorCode) -> Self {
        let mapped = txn_offset_commit_error(error, self.version);
        for (_, outcome) in self.partitions.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            *outcome = mapped;
        }
        self
    }

    pub(crate) fn into_response(self) -> Response {
        let partitions = self.partitions;
        if self.is_transactional {
            TxnOffsetCommitResponse { partitions }.into()
        } else {
            OffsetCommitResponse { partitions }.into()
        }
    }
}
