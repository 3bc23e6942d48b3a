//! Offsets that are committed with the transaction (`sendOffsetsToTransaction`,
//! `AddOffsetsToTxnHandler`, `TxnOffsetCommitHandler`; P-API-7, P-REQ-6, P-REQ-7).
//!
//! Invariants: a request keeps the offsets with which it was built; what is pending is counted
//! over all requests together.

use alloc::vec::Vec;

use eosim_types::machine::ProducerEvent;
use eosim_types::message::{
    AddOffsetsToTxnResponse, ApiKey, CommittableOffset, GroupMember, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
};
use eosim_types::{Env, GroupId, TransactionalId, rule};

use super::requests::CoordinatorType;
use super::{ResultId, TransactionManager, TxnRequest, TxnRequestHandler};
use crate::api_versions::ApiVersions;
use crate::exception::Exception;
use crate::metadata::in_hash_map_order;
use crate::producer::producer_batch::ProducerIdAndEpoch;
use crate::producer::request_errors::{Reaction, TxnApi, reaction};
use crate::producer::state::State;

/// The offsets of one call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct OffsetsToCommit {
    pub(crate) group: GroupId,
    pub(crate) member: GroupMember,
    pub(crate) offsets: Vec<CommittableOffset>,
}

/// A TxnOffsetCommit as it was built.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TxnOffsetCommit {
    pub(super) offsets: OffsetsToCommit,
    /// The latest version that can say it.
    version_cap: i16,
}

impl TxnOffsetCommit {
    /// P-REQ-7: 4 at most under version 1, 5 at most by name; `None` where the group metadata
    /// cannot be said.
    pub(super) fn message(
        &self,
        transactional_id: TransactionalId,
        producer: ProducerIdAndEpoch,
        api_versions: &ApiVersions,
    ) -> Option<TxnOffsetCommitRequest> {
        let version = api_versions.latest(ApiKey::TxnOffsetCommit).min(self.version_cap);
        let OffsetsToCommit { group, member, ref offsets } = self.offsets;
        (version >= 3 || member == GroupMember::NONE).then(|| TxnOffsetCommitRequest {
            version,
            transactional_id,
            group,
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            member,
            offsets: offsets.clone(),
        })
    }
}

impl TransactionManager {
    /// `sendOffsetsToTransaction()`; `by_topic_id` if the ids of all topics are known.
    pub(crate) fn send_offsets_to_transaction(
        &mut self,
        offsets: OffsetsToCommit,
        by_topic_id: bool,
        env: &mut Env<'_>,
    ) -> Result<ResultId, Exception> {
        env.takes(self.state, ProducerEvent::SendOffsets);
        self.ensure_transactional()?;
        self.throw_if_pending(env)?;
        self.maybe_fail_with_error()?;
        if self.state != State::InTransaction {
            return Err(Exception::illegal_state());
        }
        let result = self.results.create();
        if self.is_transaction_v2_enabled {
            self.transaction_started = true;
            self.enqueue_txn_offset_commit(offsets, if by_topic_id { 6 } else { 5 }, Some(result));
        } else {
            self.enqueue(TxnRequest::AddOffsetsToTxn(offsets), Some(result));
        }
        Ok(result)
    }

    fn enqueue_txn_offset_commit(
        &mut self,
        offsets: OffsetsToCommit,
        version_cap: i16,
        result: Option<ResultId>,
    ) {
        let partitions = offsets.offsets.iter().map(|offset| offset.partition);
        self.pending_txn_offset_commits.extend(partitions);
        let commit = TxnOffsetCommit { offsets, version_cap };
        self.enqueue(TxnRequest::TxnOffsetCommit(commit), result);
    }

    /// P-REQ-6.
    pub(super) fn added_offsets(
        &mut self,
        handler: TxnRequestHandler,
        response: AddOffsetsToTxnResponse,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-REQ-6");
        if !response.error.is_none() {
            return self.react(handler, TxnApi::AddOffsetsToTxn, response.error);
        }
        let TxnRequest::AddOffsetsToTxn(offsets) = handler.request else {
            panic!("answered as AddOffsetsToTxn: {:?}", handler.request);
        };
        self.enqueue_txn_offset_commit(offsets, 4, handler.result);
        self.transaction_started = true;
    }

    /// P-REQ-7: what is not accepted yet is sent again, with the whole request.
    pub(super) fn committed_txn_offsets(
        &mut self,
        handler: TxnRequestHandler,
        response: &TxnOffsetCommitResponse,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-REQ-7");
        let TxnRequest::TxnOffsetCommit(commit) = &handler.request else {
            panic!("answered as TxnOffsetCommit: {:?}", handler.request);
        };
        let group = CoordinatorType::Group(commit.offsets.group);
        let mut looked_up = false;
        for (partition, error) in in_hash_map_order(&response.partitions) {
            if error.is_none() {
                self.pending_txn_offset_commits.remove(&partition);
                continue;
            }
            match reaction(TxnApi::TxnOffsetCommit, error) {
                Reaction::Reenqueue => {}
                Reaction::LookupCoordinator if looked_up => {}
                Reaction::LookupCoordinator => {
                    self.lookup_coordinator(group);
                    looked_up = true;
                }
                _ => {
                    self.pending_txn_offset_commits.clear();
                    return self.react(handler, TxnApi::TxnOffsetCommit, error);
                }
            }
        }
        if self.pending_txn_offset_commits.is_empty() {
            self.complete_result(handler.result, Ok(()));
        } else {
            self.retry(handler);
        }
    }
}
