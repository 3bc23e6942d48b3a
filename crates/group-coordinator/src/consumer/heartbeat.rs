//! A heartbeat of a member that joins or stays.
//!
//! Counterpart: `GroupMetadataManager#consumerGroupHeartbeat`.

use alloc::vec::Vec;

use eosim_types::group_log::ConsumerGroupMemberMetadataValue;
use eosim_types::message::ConsumerGroupHeartbeatRequest;
use eosim_types::metadata::MetadataImage;
use eosim_types::{Duration, ErrorCode, Topic, TopicPartition};

use super::{ConsumerGroup, ConsumerGroupMember, Transition};

/// Joins carry everything (`throwIfConsumerGroupHeartbeatRequestIsInvalid`).
///
/// # Errors
///
/// INVALID_REQUEST.
pub(crate) fn validate(request: &ConsumerGroupHeartbeatRequest) -> Result<(), ErrorCode> {
    let says_all = request.rebalance_timeout.is_some()
        && request.subscribed_topics.is_some()
        && request.topic_partitions.as_ref().is_some_and(Vec::is_empty);
    let joins = request.member_epoch == ConsumerGroupHeartbeatRequest::JOIN_EPOCH;
    let leaves_for_a_while =
        request.member_epoch == ConsumerGroupHeartbeatRequest::LEAVE_STATIC_EPOCH;
    let is_valid = match request.member_epoch {
        ..-2 => false,
        _ if joins => says_all,
        _ => !leaves_for_a_while || request.instance.is_some(),
    };
    if is_valid { Ok(()) } else { Err(ErrorCode::InvalidRequest) }
}

impl Transition {
    /// Takes the member in, makes a new target if need be, moves the member towards it. What the
    /// member may own is returned if it must be told. Kafka tells it with the heartbeat that
    /// changes it; `repeats` tells it every time, as that heartbeat may be one that the member gave
    /// up long ago.
    ///
    /// # Errors
    ///
    /// UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID.
    pub(crate) fn heartbeat(
        &mut self,
        metadata: &MetadataImage,
        request: &ConsumerGroupHeartbeatRequest,
        repeats: bool,
    ) -> Result<Option<Vec<TopicPartition>>, ErrorCode> {
        let member_id = request.member;
        self.subscribe_member(request)?;
        let before = self.group.members.get(&member_id).map(ConsumerGroupMember::assigned);
        let subscription_changed = self.update_member(request);
        if subscription_changed || self.group.has_metadata_changed(metadata) {
            self.bump_group_epoch(metadata);
        }
        if self.group.metadata.epoch > self.group.assignment_epoch {
            self.update_target_assignment();
        }
        let owned = request.topic_partitions.as_deref();
        let current = self.group.reconciled(member_id, owned);
        if current != self.group.members[&member_id].current {
            self.set_current(member_id, Some(current));
        }
        let assigned = self.group.members[&member_id].assigned();
        let must_be_told = repeats
            || request.member_epoch == ConsumerGroupHeartbeatRequest::JOIN_EPOCH
            || is_full_request(request)
            || before.as_ref() != Some(&assigned);
        Ok(must_be_told.then_some(assigned))
    }

    fn subscribe_member(
        &mut self,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(), ErrorCode> {
        let joins = request.member_epoch == ConsumerGroupHeartbeatRequest::JOIN_EPOCH;
        let existing = request.instance.and_then(|instance| self.group.static_member(instance));
        match (request.instance, existing) {
            (Some(_), Some(existing)) if joins => {
                return self.take_over_static_member(existing, request);
            }
            (Some(_), None) if !joins => return Err(ErrorCode::UnknownMemberId),
            (Some(_), Some(existing)) if existing != request.member => {
                return Err(ErrorCode::FencedInstanceId);
            }
            _ => {}
        }
        match self.group.members.get(&request.member) {
            Some(member) => validate_member_epoch(member, request),
            None if joins => Ok(()),
            None => Err(ErrorCode::UnknownMemberId),
        }
    }

    /// A new process has the instance id of a member that is away.
    fn take_over_static_member(
        &mut self,
        existing: u32,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(), ErrorCode> {
        let ConsumerGroupMember { metadata, mut current } = self.group.members[&existing].clone();
        if current.member_epoch != ConsumerGroupHeartbeatRequest::LEAVE_STATIC_EPOCH {
            return Err(ErrorCode::UnreleasedInstanceId);
        }
        let target = self.group.target.get(&existing).cloned();
        current.member_epoch = ConsumerGroupHeartbeatRequest::JOIN_EPOCH;
        current.previous_member_epoch = current.member_epoch;
        self.remove_member(existing);
        self.set_member_metadata(request.member, Some(metadata));
        self.set_target(request.member, target);
        self.set_current(request.member, Some(current));
        Ok(())
    }

    /// Writes what the member wants now; true if its topics or its assignor are new.
    fn update_member(&mut self, request: &ConsumerGroupHeartbeatRequest) -> bool {
        let known = self.group.members.get(&request.member).map(|member| &member.metadata);
        let wanted = wanted_by(request, known);
        if known == Some(&wanted) {
            return false;
        }
        let subscription =
            |m: &ConsumerGroupMemberMetadataValue| (m.subscribed_topics.clone(), m.server_assignor);
        let is_new = known.map(subscription) != Some(subscription(&wanted));
        self.set_member_metadata(request.member, Some(wanted));
        is_new
    }
}

impl ConsumerGroup {
    /// The number of partitions of a topic is not what the target was made for.
    fn has_metadata_changed(&self, metadata: &MetadataImage) -> bool {
        let mut topics: Vec<Topic> = self.subscriptions().into_values().flatten().collect();
        topics.sort_unstable();
        topics.dedup();
        let counted = topics.into_iter().map(|topic| (topic, metadata.partition_count(topic)));
        !counted.filter(|(_, partitions)| *partitions > 0).eq(self.metadata.topics.iter().copied())
    }
}

fn wanted_by(
    request: &ConsumerGroupHeartbeatRequest,
    known: Option<&ConsumerGroupMemberMetadataValue>,
) -> ConsumerGroupMemberMetadataValue {
    let topics = request.subscribed_topics.clone();
    ConsumerGroupMemberMetadataValue {
        instance: request.instance.or(known.and_then(|k| k.instance)),
        subscribed_topics: topics
            .or_else(|| known.map(|k| k.subscribed_topics.clone()))
            .unwrap_or_default(),
        rebalance_timeout: request
            .rebalance_timeout
            .or(known.map(|k| k.rebalance_timeout))
            .unwrap_or(Duration::ZERO),
        server_assignor: request.server_assignor.or(known.and_then(|k| k.server_assignor)),
    }
}

fn is_full_request(request: &ConsumerGroupHeartbeatRequest) -> bool {
    request.rebalance_timeout.is_some()
        && request.subscribed_topics.is_some()
        && request.topic_partitions.is_some()
}

/// The answer with the newer epoch may have been lost: the member may come with the epoch before,
/// if it owns no more than it has now.
fn validate_member_epoch(
    member: &ConsumerGroupMember,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), ErrorCode> {
    let (received, current) = (request.member_epoch, &member.current);
    let owned = request.topic_partitions.as_deref();
    let assigned = member.assigned();
    let owns_no_more = || owned.is_some_and(|owned| owned.iter().all(|tp| assigned.contains(tp)));
    let is_previous = received < current.member_epoch
        && received == current.previous_member_epoch
        && owns_no_more();
    if received == current.member_epoch || is_previous {
        Ok(())
    } else {
        Err(ErrorCode::FencedMemberEpoch)
    }
}
