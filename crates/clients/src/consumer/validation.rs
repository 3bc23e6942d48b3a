//! Whether the log of a new leader holds what was read of the old one's (`OffsetFetcher`,
//! `OffsetsForLeaderEpochClient`; K-POS-6).
//!
//! Invariant: an answer counts only at the position for which it was asked.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{
    ApiKey, EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderPartition, Response,
};
use eosim_types::{BrokerId, ErrorCode, Instant, LeaderEpoch, TopicPartition, rule};

use super::assigned::FetchPosition;
use super::{Consumer, ConsumerOutcome, InFlight};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::{Answer, ClientOut};

/// The first version of OffsetForLeaderEpoch that a consumer can use.
const FIRST_USABLE_VERSION: i16 = 3;

/// The partitions that one leader is asked about.
type Asked = Vec<(TopicPartition, FetchPosition)>;

impl Consumer {
    /// Positions follow their leaders, and those that a new leader may not have are validated
    /// (`validatePositionsIfNeeded`).
    ///
    /// # Errors
    ///
    /// What the last answers lead to.
    pub(super) fn validate_positions_if_needed(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<(), Exception> {
        if let Some(thrown) = self.validation_error.take() {
            return Err(thrown);
        }
        self.validate_positions_on_metadata_change();
        let due = |at: Instant| at <= cx.now();
        if self.assigned.iter().any(|assigned| assigned.validation.is_some_and(due)) {
            self.validate_positions(cx, out);
        }
        Ok(())
    }

    fn validate_positions_on_metadata_change(&mut self) {
        if core::mem::replace(&mut self.followed_updates, self.metadata.updates())
            == self.metadata.updates()
        {
            return;
        }
        for assigned in &mut self.assigned {
            match self.metadata.leader(assigned.partition) {
                Some(leader) => assigned.maybe_validate_position(leader),
                // `LEADER_NOT_AVAILABLE`: the old one is asked until there is a new one.
                None => self.metadata.request_update(),
            }
        }
    }

    /// One request to each leader (`validatePositionsAsync`).
    fn validate_positions(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let is_usable =
            self.api_versions.latest(ApiKey::OffsetForLeaderEpoch) >= FIRST_USABLE_VERSION;
        let (now, patience) = (cx.now(), cx.now() + self.config.request_timeout);
        let mut by_node: BTreeMap<BrokerId, Asked> = BTreeMap::new();
        for assigned in &mut self.assigned {
            let Some(position) = assigned.position else { continue };
            if assigned.validation.is_none_or(|at| at > now) {
                continue;
            }
            match position.current_leader {
                _ if !is_usable => assigned.validation = None,
                None => self.metadata.request_update(),
                Some((node, _)) if self.client.backing_off(node, now).is_none() => {
                    assigned.validation = Some(patience);
                    by_node.entry(node).or_default().push((assigned.partition, position));
                }
                Some(_) => {}
            }
        }
        for (node, asked) in by_node {
            rule!(cx.env, "K-POS-6");
            let partitions = asked.iter().map(|&(partition, position)| OffsetForLeaderPartition {
                partition,
                current_leader_epoch: position.current_leader.map_or(LeaderEpoch::NONE, |l| l.1),
                leader_epoch: position.offset_epoch,
            });
            let request = OffsetForLeaderEpochRequest { partitions: partitions.collect() };
            let in_flight = InFlight::OffsetForLeaderEpoch(asked);
            self.client.send(node, request.into(), in_flight, now, out);
        }
    }

    pub(super) fn offset_for_leader_epoch_answered(
        &mut self,
        asked: &[(TopicPartition, FetchPosition)],
        answer: &Answer,
        cx: &mut Cx<'_>,
    ) {
        use ErrorCode as E;
        let response = match answer {
            Answer::Response(Response::OffsetForLeaderEpoch(response)) => Some(response),
            _ => None,
        };
        let ends = response.map_or(&[][..], |response| &response.partitions);
        let is_forbidden = ends.iter().any(|end| end.error == E::TopicAuthorizationFailed);
        if is_forbidden {
            self.validation_error = Some(Exception::of(E::TopicAuthorizationFailed));
        }
        for &(partition, position) in asked {
            let end = ends.iter().find(|end| end.partition == partition);
            match end.filter(|end| end.error.is_none() && !is_forbidden) {
                Some(&end) => self.maybe_complete_validation(position, end, cx),
                None => self.validate_later(partition, cx),
            }
        }
    }

    /// Whatever the error was.
    fn validate_later(&mut self, partition: TopicPartition, cx: &Cx<'_>) {
        let retry_at = cx.now() + self.config.retry_backoff;
        self.metadata.request_update();
        if let Some(assigned) = self.assigned_mut(partition)
            && assigned.validation.is_some()
        {
            assigned.validation = Some(retry_at);
        }
    }

    /// `maybeCompleteValidation`: a log that ends before the position, in the epoch of what was
    /// read last, was truncated.
    fn maybe_complete_validation(
        &mut self,
        asked: FetchPosition,
        end: EpochEndOffset,
        cx: &mut Cx<'_>,
    ) {
        let reset = self.reset_timestamp(cx);
        let Some(assigned) = self.assigned_mut(end.partition) else { return };
        if assigned.validation.is_none() || assigned.position != Some(asked) {
            return;
        }
        rule!(cx.env, "K-POS-6");
        let is_unknown = end.end_offset < 0 || end.leader_epoch == LeaderEpoch::NONE;
        match reset {
            _ if !is_unknown && end.end_offset >= asked.offset => assigned.validation = None,
            None => {
                self.validation_error = Some(Exception::new(ExceptionClass::LogTruncation));
            }
            Some(to) if is_unknown => assigned.await_reset(to),
            Some(_) => {
                let (partition, offset) = (end.partition, end.end_offset);
                let offset_epoch = end.leader_epoch;
                assigned.seek_validated(FetchPosition { offset, offset_epoch, ..asked });
                self.outcomes.push_back(ConsumerOutcome::PositionSet { partition, offset });
            }
        }
    }
}
