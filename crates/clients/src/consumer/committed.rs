//! Committed offsets of a consumer that is no member of its group (`ConsumerCoordinator`,
//! `CommitRequestManager`; K-COM).
//!
//! Invariants: one OffsetFetch and one OffsetCommit at a time; an exception is thrown once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::config::GroupProtocol;
use eosim_types::message::{
    ApiKey, CommittableOffset, CoordinatorKey, FindCoordinatorRequest, GroupMember,
    OffsetCommitRequest, OffsetFetchRequest, OffsetFetchResponse, Response,
};
use eosim_types::{BrokerId, ErrorCode, Instant, TopicPartition, rule};

use super::{Consumer, InFlight};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::{Answer, ClientOut};

/// Where a `commitSync()` stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Commit {
    /// It has to be sent, or sent again.
    #[default]
    Due,
    /// It waits for its answer.
    OnTheWire,
    /// It is over.
    Ended(Result<(), Exception>),
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
    retry_at: Instant,
    is_fetching: bool,
    /// Answers nobody has used, and what has to be thrown.
    fetched: BTreeMap<TopicPartition, Option<i64>>,
    error: Option<Exception>,
    commit: Commit,
}

impl CommittedOffsets {
    /// A call begins; what an earlier one was told is old.
    pub(super) fn begin_call(&mut self) {
        if self.commit != Commit::OnTheWire {
            self.commit = Commit::Due;
        }
    }

    /// What was committed in `partition`, or what the question led to.
    pub(super) fn take_fetched(
        &mut self,
        partition: TopicPartition,
    ) -> Option<Result<Option<i64>, Exception>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        self.fetched.remove(&partition).map(Ok)
    }

    /// Where the commit stands; one that ended is forgotten.
    pub(super) fn take_commit(&mut self) -> Commit {
        if self.commit == Commit::OnTheWire {
            return Commit::OnTheWire;
        }
        core::mem::take(&mut self.commit)
    }

    /// When something is tried again.
    pub(super) const fn retry_at(&self) -> Instant {
        self.retry_at
    }
}

impl Consumer {
    /// The coordinator, or `None` after arranging for a look-up.
    fn group_coordinator(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> Option<BrokerId> {
        let now = cx.now();
        let known = self.offsets.coordinator;
        if known.is_some_and(|node| self.client.backing_off(node, now).is_some()) {
            self.offsets.coordinator = None;
        } else if known.is_some() {
            return known;
        }
        if !self.offsets.is_finding
            && self.offsets.retry_at <= now
            && let Some(node) = self.client.least_loaded_node(now)
        {
            let key = CoordinatorKey::Group(self.config.group?);
            let request = FindCoordinatorRequest { key };
            self.client.send(node, request.into(), InFlight::FindCoordinator, now, out);
            self.offsets.is_finding = true;
        }
        None
    }

    /// Asks for the committed offsets of `partitions`, unless something is asked already.
    pub(super) fn send_offset_fetch(
        &mut self,
        partitions: &[TopicPartition],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        if self.offsets.is_fetching || self.offsets.retry_at > cx.now() {
            return;
        }
        let Some(node) = self.group_coordinator(cx, out) else { return };
        rule!(cx.env, "K-COM-1");
        let request = OffsetFetchRequest {
            version: self.group_version(ApiKey::OffsetFetch),
            group: self.config.group.expect("it has a coordinator"),
            partitions: Some(partitions.to_vec()),
            require_stable: true,
        };
        self.client.send(node, request.into(), InFlight::OffsetFetch, cx.now(), out);
        self.offsets.is_fetching = true;
    }

    pub(super) fn send_offset_commit(
        &mut self,
        offsets: &[CommittableOffset],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        if self.offsets.retry_at > cx.now() {
            return;
        }
        let Some(node) = self.group_coordinator(cx, out) else { return };
        let request = OffsetCommitRequest {
            version: self.group_version(ApiKey::OffsetCommit),
            group: self.config.group.expect("it has a coordinator"),
            member: GroupMember::NONE,
            offsets: offsets.to_vec(),
        };
        self.client.send(node, request.into(), InFlight::OffsetCommit, cx.now(), out);
        self.offsets.commit = Commit::OnTheWire;
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
            Some(node) => self.offsets.coordinator = Some(node),
            None if response.error.is_retriable() => self.retry_offsets_later(cx),
            None => {
                let thrown = own_or_generic(response.error, &[ErrorCode::GroupAuthorizationFailed]);
                self.offsets.error = Some(thrown);
            }
        }
    }

    fn retry_offsets_later(&mut self, cx: &Cx<'_>) {
        self.offsets.retry_at = cx.now() + self.config.retry_backoff;
    }

    /// K-COM-2: any partition that is not stable makes the whole answer one to be asked again.
    pub(super) fn fetched_committed(&mut self, answer: &Answer, cx: &mut Cx<'_>) {
        self.offsets.is_fetching = false;
        let Answer::Response(Response::OffsetFetch(response)) = answer else {
            self.offsets.coordinator = None;
            return self.retry_offsets_later(cx);
        };
        rule!(cx.env, "K-COM-2");
        match self.offset_fetch_reaction(response) {
            None => {
                let each = response.partitions.iter().map(|(tp, result)| (*tp, result.offset));
                let known = each.map(|(tp, offset)| (tp, Some(offset).filter(|o| *o >= 0)));
                self.offsets.fetched.extend(known);
            }
            Some(reaction) => {
                rule!(cx.env, "K-COM-4");
                self.react_to_offsets(reaction, cx);
            }
        }
    }

    fn react_to_offsets(&mut self, reaction: Reaction, cx: &Cx<'_>) {
        match reaction {
            Reaction::Throw(exception) => return self.offsets.error = Some(exception),
            Reaction::Lookup => self.offsets.coordinator = None,
            Reaction::Retry => {}
        }
        self.retry_offsets_later(cx);
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

    /// K-COM-5.
    pub(super) fn committed(&mut self, answer: &Answer, cx: &mut Cx<'_>) {
        rule!(cx.env, "K-COM-5");
        let Answer::Response(Response::OffsetCommit(response)) = answer else {
            self.offsets.coordinator = None;
            self.offsets.commit = Commit::Due;
            return self.retry_offsets_later(cx);
        };
        let mut errors = response.partitions.iter().map(|(_, error)| *error);
        let Some(error) = errors.find(|error| !error.is_none()) else {
            self.offsets.commit = Commit::Ended(Ok(()));
            return;
        };
        match commit_error(error, self.config.group_protocol) {
            Reaction::Throw(exception) => self.offsets.commit = Commit::Ended(Err(exception)),
            reaction => {
                self.offsets.commit = Commit::Due;
                self.react_to_offsets(reaction, cx);
            }
        }
    }

    /// Positions from committed offsets, as far as they are known (K-COM-3); what was asked in
    /// vain is thrown.
    pub(super) fn init_with_committed_offsets(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<(), Exception> {
        if let Some(error) = self.offsets.error.take() {
            return Err(error);
        }
        for assigned in self.assigned.iter_mut().filter(|a| a.is_initializing()) {
            match self.offsets.fetched.remove(&assigned.partition) {
                None => {}
                Some(Some(offset)) => {
                    rule!(cx.env, "K-COM-3");
                    assigned.position = Some(offset);
                }
                Some(None) => assigned.has_no_committed = true,
            }
        }
        let asked = self.assigned.iter().filter(|a| a.is_initializing() && !a.has_no_committed);
        let asked: Vec<_> = asked.map(|a| a.partition).collect();
        if !asked.is_empty() {
            self.send_offset_fetch(&asked, cx, out);
        }
        Ok(())
    }
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
