//! OffsetCommit and TxnOffsetCommit.
//!
//! Counterpart: `OffsetMetadataManager#commitOffset`, `#commitTransactionalOffset`,
//! `#validateOffsetCommit`, `#validateTransactionalOffsetCommit`.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::message::{
    CommittableOffset, GroupMember, OffsetCommitRequest, PerPartition, TxnOffsetCommitRequest,
};
use eosim_types::record::{OffsetCommitRecord, Payload};
use eosim_types::{Defect, ErrorCode, GroupId, ProducerEpoch, ProducerId, rule};

use super::{GroupCoordinator, group_batch};
use crate::action::{CommitReply, Cx, PreparedWrite, ReplyTo, Waiting};
use crate::shard::Group;

/// What a commit is checked for.
struct Commit<'a> {
    group: GroupId,
    member: GroupMember,
    version: i16,
    producer: Option<(ProducerId, ProducerEpoch)>,
    offsets: &'a [CommittableOffset],
}

impl GroupCoordinator {
    /// What must be answered before a TxnOffsetCommit is verified: unknown partitions, each for
    /// itself, and an empty group id (G-OFF, steps 2 and 3). The rest is what goes on.
    #[must_use]
    pub fn validate_txn_offset_commit(
        cx: &Cx<'_>,
        request: &TxnOffsetCommitRequest,
    ) -> PerPartition<ErrorCode> {
        validate(cx, request.group, &request.offsets)
    }

    /// TxnOffsetCommit after its verification, which ended with `verified`. `outcomes` holds the
    /// partitions refused already. `None` if it is answered.
    pub fn prepare_txn_offset_commit(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &TxnOffsetCommitRequest,
        outcomes: PerPartition<ErrorCode>,
        verified: Result<(), ErrorCode>,
    ) -> Option<PreparedWrite> {
        let commit = Commit {
            group: request.group,
            member: request.member,
            version: request.version,
            producer: Some((request.producer_id, request.producer_epoch)),
            offsets: &request.offsets,
        };
        self.prepare_commit(cx, to, &commit, outcomes, verified)
    }

    /// OffsetCommit. `None` if it is answered.
    pub fn prepare_offset_commit(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &OffsetCommitRequest,
    ) -> Option<PreparedWrite> {
        let outcomes = validate(cx, request.group, &request.offsets);
        let commit = Commit {
            group: request.group,
            member: request.member,
            version: request.version,
            producer: None,
            offsets: &request.offsets,
        };
        self.prepare_commit(cx, to, &commit, outcomes, Ok(()))
    }

    fn prepare_commit(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        commit: &Commit<'_>,
        outcomes: PerPartition<ErrorCode>,
        verified: Result<(), ErrorCode>,
    ) -> Option<PreparedWrite> {
        let is_transactional = commit.producer.is_some();
        let reply = CommitReply { is_transactional, version: commit.version, partitions: outcomes };
        let checked = verified.and_then(|()| self.check_group(cx, commit));
        let reply = match checked {
            Ok(()) => reply,
            Err(error) => reply.failing(error),
        };
        let records = records(cx, commit, &reply.partitions);
        if records.is_empty() {
            cx.reply(to, reply.into_response());
            return None;
        }
        let partition = Self::partition_of(cx.names, cx.metadata, commit.group);
        let payload = Payload::OffsetCommits(Arc::from(records));
        let batch = group_batch(cx, payload, commit.producer);
        Some(PreparedWrite { partition, batch, then: vec![Waiting::Commit { to, reply }] })
    }

    /// Steps 5 and 6 of G-OFF.
    fn check_group(&mut self, cx: &mut Cx<'_>, commit: &Commit<'_>) -> Result<(), ErrorCode> {
        let (_, shard) = self.shard_of(cx, commit.group)?;
        let (member, version) = (commit.member, commit.version);
        let is_transactional = commit.producer.is_some();
        if is_transactional && cx.env.on(Defect::GroupTxnOffsetSkipGenerationCheck) {
            return Ok(());
        }
        match shard.group(commit.group) {
            Group::Absent => {
                rule!(cx.env, "G-OFF-1");
                check_absent(member, version, is_transactional)
            }
            Group::Classic(group) => {
                group.validate_offset_commit(&mut cx.env, member, is_transactional)?;
                rule!(cx.env, "G-OFF-4");
                if !is_transactional {
                    self.refresh_session(cx, commit.group, member);
                }
                Ok(())
            }
            Group::Consumer(group) => {
                let kind = (is_transactional, version);
                let error = group.validate_offset_commit(&mut cx.env, member, kind, commit.offsets);
                error.map_err(|error| match error {
                    ErrorCode::StaleMemberEpoch if is_transactional && version < 6 => {
                        ErrorCode::IllegalGeneration
                    }
                    other => other,
                })
            }
        }
    }
}

/// G-OFF-1: whoever is not a member may use a group that does not exist yet.
fn check_absent(
    member: GroupMember,
    version: i16,
    is_transactional: bool,
) -> Result<(), ErrorCode> {
    let knows_group_id_not_found = version >= if is_transactional { 6 } else { 9 };
    match member.generation_or_epoch {
        ..0 => Ok(()),
        0.. if knows_group_id_not_found => Err(ErrorCode::GroupIdNotFound),
        0.. => Err(ErrorCode::IllegalGeneration),
    }
}

fn validate(cx: &Cx<'_>, group: GroupId, offsets: &[CommittableOffset]) -> PerPartition<ErrorCode> {
    let outcome = |offset: &CommittableOffset| {
        if !cx.metadata.partitions.contains_key(&offset.partition) {
            ErrorCode::UnknownTopicOrPartition
        } else if group == GroupId::EMPTY {
            ErrorCode::InvalidGroupId
        } else {
            ErrorCode::None
        }
    };
    offsets.iter().map(|offset| (offset.partition, outcome(offset))).collect()
}

fn records(
    cx: &Cx<'_>,
    commit: &Commit<'_>,
    outcomes: &PerPartition<ErrorCode>,
) -> Vec<OffsetCommitRecord> {
    let accepted =
        commit.offsets.iter().zip(outcomes).filter(|(_, (_, outcome))| outcome.is_none());
    let commit_timestamp_ms = cx.env.clock_ms();
    let record = |offset: &CommittableOffset| OffsetCommitRecord {
        group: commit.group,
        partition: offset.partition,
        offset: Some(offset.offset),
        leader_epoch: offset.leader_epoch,
        commit_timestamp_ms,
    };
    accepted.map(|(offset, _)| record(offset)).collect()
}
