//! Committed offsets of the consumer's group (`ConsumerCoordinator`, `CommitRequestManager`;
//! K-COM).
//!
//! Invariants: one question for committed offsets and one commit count at a time; an exception is
//! thrown once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::config::GroupProtocol;
use eosim_types::message::{
    ApiKey, CommittableOffset, CoordinatorKey, FindCoordinatorRequest, GroupMember,
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, Response,
};
use eosim_types::{BrokerId, ErrorCode, Instant, LeaderEpoch, TopicPartition, rule};

use super::{Consumer, ConsumerOutcome, InFlight};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::{Answer, ClientOut, coordinator_node};

/// Where a `commitSync()` stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Commit {
    /// It has to be sent, or sent again.
    #[default]
    Due,
    /// It waits for the answer to the request of this number.
    OnTheWire(u32),
    /// It is over.
    Ended(Result<(), Exception>),
}

/// What a group has committed in some partitions, with the leader epoch of what was read before
/// it; `None` is nothing.
type Committed = BTreeMap<TopicPartition, Option<(i64, LeaderEpoch)>>;

/// A question for committed offsets (`PendingCommittedOffsetRequest`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    partitions: Vec<TopicPartition>,
    /// The number of the request.
    number: u32,
    answer: Option<Result<Committed, Exception>>,
}

/// What is done about an error.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Reaction {
    Retry,
    Lookup,
    Throw(Exception),
}

/// The group's coordinator and what it was asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct CommittedOffsets {
    coordinator: Option<BrokerId>,
    is_finding: bool,
    /// Why no coordinator will be found, to be thrown.
    coordinator_error: Option<Exception>,
    retry_at: Instant,
    requests: u32,
    /// The question that counts. It outlives the call that asked it (K-POS-7), and ends when
    /// others are asked for.
    asked: Option<Asked>,
    commit: Commit,
}

impl CommittedOffsets {
    /// A call begins; a commit of an earlier one is no business of it.
    pub(super) fn begin_call(&mut self) {
        self.commit = Commit::Due;
    }

    /// The answer to the question for `partitions`, if it was asked and answered. Another question
    /// ends here.
    fn take_answer(
        &mut self,
        partitions: &[TopicPartition],
    ) -> Option<Result<Committed, Exception>> {
        let same = self.asked.take_if(|asked| asked.partitions != partitions).is_none();
        let answered = self.asked.take_if(|asked| same && asked.answer.is_some());
        answered.and_then(|asked| asked.answer)
    }

    /// Where the commit stands; one that ended is forgotten.
    pub(super) fn take_commit(&mut self) -> Commit {
        if let Commit::OnTheWire(number) = self.commit {
            return Commit::OnTheWire(number);
        }
        core::mem::take(&mut self.commit)
    }

    /// The coordinator, as far as it is known.
    pub(super) const fn coordinator(&self) -> Option<BrokerId> {
        self.coordinator
    }

    /// `markCoordinatorUnknown`.
    pub(super) const fn forget_coordinator(&mut self) {
        self.coordinator = None;
    }

    /// The group gave or took partitions: what was asked before may be old when it is needed.
    pub(super) fn assignment_changed(&mut self) {
        self.asked = None;
    }

    /// When something is tried again.
    pub(super) const fn retry_at(&self) -> Instant {
        self.retry_at
    }

    const fn next_number(&mut self) -> u32 {
        self.requests += 1;
        self.requests
    }
}

impl Consumer {
    /// The coordinator, or `None` after arranging for a look-up; throws what the last one led to.
    pub(super) fn group_coordinator(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<Option<BrokerId>, Exception> {
        let now = cx.now();
        if let Some(error) = self.offsets.coordinator_error.take() {
            return Err(error);
        }
        let known = self.offsets.coordinator;
        if known.is_some_and(|node| self.client.backing_off(node, now).is_some()) {
            self.offsets.coordinator = None;
        } else if known.is_some() {
            return Ok(known);
        }
        if !self.offsets.is_finding
            && self.offsets.retry_at <= now
            && let Some(node) = self.client.least_loaded_node(now)
            && let Some(group) = self.config.group
        {
            let request = FindCoordinatorRequest { key: CoordinatorKey::Group(group) };
            self.client.send(node, request.into(), InFlight::FindCoordinator, now, out);
            self.offsets.is_finding = true;
        }
        Ok(None)
    }

    /// What is committed in `partitions` (`fetchCommittedOffsets`); `None` until it is known.
    pub(super) fn committed_offsets(
        &mut self,
        partitions: &[TopicPartition],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<Option<Committed>, Exception> {
        if let Some(answer) = self.offsets.take_answer(partitions) {
            return answer.map(Some);
        }
        if self.offsets.asked.is_some() || self.offsets.retry_at > cx.now() {
            return Ok(None);
        }
        let Some(node) = self.group_coordinator(cx, out)? else { return Ok(None) };
        rule!(cx.env, "K-COM-1");
        let request = OffsetFetchRequest {
            version: self.group_version(ApiKey::OffsetFetch),
            group: self.config.group.expect("it has a coordinator"),
            member: self.member_info(),
            partitions: Some(partitions.to_vec()),
            require_stable: true,
        };
        let number = self.offsets.next_number();
        self.client.send(node, request.into(), InFlight::OffsetFetch(number), cx.now(), out);
        let partitions = partitions.to_vec();
        self.offsets.asked = Some(Asked { partitions, number, answer: None });
        Ok(None)
    }

    /// The number of the request; `None` if it cannot be sent now.
    pub(super) fn send_offset_commit(
        &mut self,
        offsets: &[CommittableOffset],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<Option<u32>, Exception> {
        if self.offsets.retry_at > cx.now() {
            return Ok(None);
        }
        let Some(node) = self.group_coordinator(cx, out)? else { return Ok(None) };
        let member = self.committer()?;
        let request = OffsetCommitRequest {
            version: self.group_version(ApiKey::OffsetCommit),
            group: self.config.group.expect("it has a coordinator"),
            member,
            offsets: offsets.to_vec(),
        };
        let number = self.offsets.next_number();
        self.client.send(node, request.into(), InFlight::OffsetCommit(number), cx.now(), out);
        Ok(Some(number))
    }

    /// P-SND-12: version 10 is for the new protocol.
    fn group_version(&self, api: ApiKey) -> i16 {
        let newest = self.api_versions.latest(api);
        match self.config.group_protocol {
            GroupProtocol::Classic => newest.min(9),
            GroupProtocol::Consumer => newest,
        }
    }

    pub(super) fn found_coordinator(&mut self, answer: &Answer, cx: &Cx<'_>) {
        self.offsets.is_finding = false;
        let Answer::Response(Response::FindCoordinator(response)) = answer else {
            return self.retry_offsets_later(cx);
        };
        match response.node.filter(|_| response.error.is_none()) {
            Some(node) => self.offsets.coordinator = Some(coordinator_node(node)),
            None if response.error.is_retriable() => self.retry_offsets_later(cx),
            None => self.offsets.coordinator_error = Some(Exception::of(response.error)),
        }
    }

    fn retry_offsets_later(&mut self, cx: &Cx<'_>) {
        self.offsets.retry_at = cx.now() + self.config.retry_backoff;
    }

    /// K-COM-2: any partition that is not stable makes the whole answer one to be asked again. An
    /// answer to a question that nobody has any more tells of the coordinator alone.
    pub(super) fn fetched_committed(&mut self, number: u32, answer: &Answer, cx: &mut Cx<'_>) {
        let reaction = match answer {
            Answer::Response(Response::OffsetFetch(response)) => {
                rule!(cx.env, "K-COM-2");
                match self.offset_fetch_reaction(response) {
                    None => Ok(committed_of(response)),
                    Some(reaction) => Err(reaction),
                }
            }
            _ => Err(Reaction::Lookup),
        };
        let counts = |asked: &&mut Asked| asked.number == number;
        let asked = self.offsets.asked.as_mut().filter(counts);
        match (reaction, asked) {
            (Ok(committed), Some(asked)) => asked.answer = Some(Ok(committed)),
            (Err(Reaction::Throw(exception)), Some(asked)) => {
                rule!(cx.env, "K-COM-4");
                asked.answer = Some(Err(exception));
            }
            (Err(reaction), asked) => {
                rule!(cx.env, "K-COM-4");
                if asked.is_some() {
                    self.offsets.asked = None;
                    self.retry_offsets_later(cx);
                }
                self.forget_coordinator_if(&reaction);
            }
            (Ok(_), None) => {}
        }
    }

    fn forget_coordinator_if(&mut self, reaction: &Reaction) {
        if *reaction == Reaction::Lookup {
            self.offsets.coordinator = None;
        }
    }

    /// What the answer asks for, if it is no answer.
    fn offset_fetch_reaction(&self, response: &OffsetFetchResponse) -> Option<Reaction> {
        if !response.error.is_none() {
            return Some(self.group_error(response.error));
        }
        let errors = response.partitions.iter().map(|(_, result)| result.error);
        let reactions: Vec<_> =
            errors.filter(|error| !error.is_none()).map(|e| self.partition_error(e)).collect();
        let throws = |reaction: &&Reaction| matches!(reaction, Reaction::Throw(_));
        reactions.iter().find(throws).or_else(|| reactions.first()).cloned()
    }

    /// K-COM-4, of the group.
    fn group_error(&self, error: ErrorCode) -> Reaction {
        use ErrorCode as E;
        let own: &[ErrorCode] = match self.config.group_protocol {
            GroupProtocol::Classic => &[E::GroupAuthorizationFailed],
            GroupProtocol::Consumer => {
                &[E::GroupAuthorizationFailed, E::UnknownMemberId, E::StaleMemberEpoch]
            }
        };
        match error {
            E::CoordinatorNotAvailable | E::NotCoordinator => Reaction::Lookup,
            // It was asked with an older epoch, and has a newer one.
            E::StaleMemberEpoch if self.member_info() != GroupMember::NONE => Reaction::Retry,
            error if error.is_retriable() => Reaction::Retry,
            error => Reaction::Throw(own_or_generic(error, own)),
        }
    }

    /// K-COM-4, of one partition.
    fn partition_error(&self, error: ErrorCode) -> Reaction {
        use ErrorCode as E;
        match error {
            E::UnstableOffsetCommit => Reaction::Retry,
            E::UnknownTopicOrPartition if self.config.group_protocol == GroupProtocol::Consumer => {
                Reaction::Retry
            }
            error => Reaction::Throw(own_or_generic(error, &[E::TopicAuthorizationFailed])),
        }
    }

    /// Goes on with a `commitSync()`.
    ///
    /// # Errors
    ///
    /// What no answer is needed for.
    pub(super) fn commit_sync(
        &mut self,
        offsets: &[CommittableOffset],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<(), Exception> {
        if let Some(number) = self.send_offset_commit(offsets, cx, out)? {
            self.offsets.commit = Commit::OnTheWire(number);
        }
        Ok(())
    }

    /// K-COM-5.
    pub(super) fn committed(&mut self, number: u32, answer: &Answer, cx: &mut Cx<'_>) {
        rule!(cx.env, "K-COM-5");
        let reaction = match answer {
            Answer::Response(Response::OffsetCommit(response)) => {
                commit_reaction(response, self.config.group_protocol)
            }
            _ => Some(Reaction::Lookup),
        };
        if let Some(reaction) = &reaction {
            self.forget_coordinator_if(reaction);
        }
        let is_repeated = matches!(reaction, Some(Reaction::Retry | Reaction::Lookup));
        let next = match reaction {
            None => Commit::Ended(Ok(())),
            Some(Reaction::Throw(exception)) => Commit::Ended(Err(exception)),
            Some(Reaction::Retry | Reaction::Lookup) => Commit::Due,
        };
        if self.auto_commit.on_the_wire.take_if(|auto| *auto == number).is_some() && is_repeated {
            self.auto_commit.next = cx.now() + self.config.retry_backoff;
        }
        let Some(awaited) = self.awaited_commit(number) else { return };
        *awaited = next;
        if is_repeated {
            self.retry_offsets_later(cx);
        }
    }

    /// The commit that waits for the answer to the request of this number.
    fn awaited_commit(&mut self, number: u32) -> Option<&mut Commit> {
        let before_rebalance = self.auto_commit.before_rebalance.as_mut().map(|(commit, _)| commit);
        let mut all = before_rebalance.into_iter().chain([&mut self.offsets.commit]);
        all.find(|commit| **commit == Commit::OnTheWire(number))
    }

    /// Positions from committed offsets (K-COM-3); `false` while they are not known.
    pub(super) fn init_with_committed_offsets(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<bool, Exception> {
        let asked = self.assigned.iter().filter(|a| a.is_initializing() && !a.has_no_committed);
        let mut asked: Vec<_> = asked.map(|a| a.partition).collect();
        if asked.is_empty() {
            return Ok(true);
        }
        asked.sort_unstable();
        let Some(committed) = self.committed_offsets(&asked, cx, out)? else { return Ok(false) };
        for (partition, offset) in committed {
            let Some(assigned) = self.assigned_mut(partition) else { continue };
            match offset {
                Some((offset, leader_epoch)) => {
                    rule!(cx.env, "K-COM-3");
                    self.metadata.update_last_seen_epoch_if_newer(partition, leader_epoch);
                    self.seek_unvalidated(partition, offset, leader_epoch);
                    self.outcomes.push_back(ConsumerOutcome::PositionSet { partition, offset });
                }
                None => assigned.has_no_committed = true,
            }
        }
        Ok(true)
    }
}

fn committed_of(response: &OffsetFetchResponse) -> Committed {
    let each = response.partitions.iter();
    let each = each.map(|(tp, result)| (*tp, (result.offset, result.leader_epoch)));
    each.map(|(tp, committed)| (tp, Some(committed).filter(|(offset, _)| *offset >= 0))).collect()
}

/// What the answer to a commit asks for; `None` is success. Topics that must not be written come
/// last, all others as they stand.
fn commit_reaction(response: &OffsetCommitResponse, protocol: GroupProtocol) -> Option<Reaction> {
    let errors = || response.partitions.iter().map(|(_, error)| *error).filter(|e| !e.is_none());
    let forbidden = |error: &ErrorCode| *error == ErrorCode::TopicAuthorizationFailed;
    let first = errors().find(|error| !forbidden(error)).or_else(|| errors().find(forbidden))?;
    Some(commit_error(first, protocol))
}

/// The error's own exception if it is one of `own`, else a generic one.
fn own_or_generic(error: ErrorCode, own: &[ErrorCode]) -> Exception {
    if own.contains(&error) { Exception::of(error) } else { Exception::new(ExceptionClass::Kafka) }
}

/// K-COM-5: the table of `commitSync()`.
fn commit_error(error: ErrorCode, protocol: GroupProtocol) -> Reaction {
    use ErrorCode as E;
    let classic = protocol == GroupProtocol::Classic;
    let failed = || Exception::new(ExceptionClass::CommitFailed);
    Reaction::Throw(match error {
        E::CoordinatorNotAvailable | E::NotCoordinator | E::RequestTimedOut => {
            return Reaction::Lookup;
        }
        E::CoordinatorLoadInProgress | E::UnknownTopicOrPartition => return Reaction::Retry,
        E::UnknownMemberId => failed(),
        E::IllegalGeneration if classic => failed(),
        E::StaleMemberEpoch if !classic => failed(),
        E::RebalanceInProgress | E::FencedInstanceId if classic => Exception::of(error),
        E::GroupAuthorizationFailed
        | E::TopicAuthorizationFailed
        | E::OffsetMetadataTooLarge
        | E::InvalidCommitOffsetSize => Exception::of(error),
        _ => Exception::new(ExceptionClass::Kafka),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn thrown(error: ErrorCode, protocol: GroupProtocol) -> String {
        match commit_error(error, protocol) {
            Reaction::Throw(exception) => exception.class.name(),
            Reaction::Retry => "retry".into(),
            Reaction::Lookup => "lookup".into(),
        }
    }

    #[test]
    fn commit_sync_throws_by_protocol_k_com_5() {
        use ErrorCode as E;
        for (error, classic, consumer) in [
            (E::IllegalGeneration, "CommitFailedException", "KafkaException"),
            (E::UnknownMemberId, "CommitFailedException", "CommitFailedException"),
            (E::StaleMemberEpoch, "KafkaException", "CommitFailedException"),
            (E::RebalanceInProgress, "RebalanceInProgressException", "KafkaException"),
            (E::FencedInstanceId, "FencedInstanceIdException", "KafkaException"),
            (E::UnstableOffsetCommit, "KafkaException", "KafkaException"),
            (E::RequestTimedOut, "lookup", "lookup"),
            (E::UnknownTopicOrPartition, "retry", "retry"),
        ] {
            let seen = [GroupProtocol::Classic, GroupProtocol::Consumer].map(|p| thrown(error, p));
            assert_eq!(seen, [classic, consumer], "{error}");
        }
    }
}
