//! Look-ups of starts and ends (`OffsetFetcher`, K-OFF).

use eosim_actor::Cx;
use eosim_types::message::{
    ApiKey, IsolationLevel, ListOffsetsAsker, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTimestamp, Response,
};
use eosim_types::{ErrorCode, TopicPartition, rule};

use super::{Consumer, ConsumerOutcome, InFlight};
use crate::exception::Exception;
use crate::network_client::{Answer, ClientOut};

/// What an offset is looked up for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ListedFor {
    /// The position.
    Reset,
    /// One who reads for ever and asks for the end besides.
    EndOffset,
    /// `endOffsets()` or `beginningOffsets()`, in the request of this number.
    Call(u32),
    /// `currentLag()`.
    Lag,
}

impl Consumer {
    /// Asks where each partition that is reset begins (`resetPositionsIfNeeded`).
    pub(super) fn reset_positions_if_needed(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        for index in 0..self.assigned.len() {
            let assigned = &self.assigned[index];
            if let Some(to) = assigned.reset.filter(|_| !assigned.resetting)
                && assigned.retry_at <= cx.now()
            {
                rule!(cx.env, "K-POS-7");
                let partition = assigned.partition;
                let sent = self.send_list(partition, to, ListedFor::Reset, cx, out);
                self.assigned[index].resetting = sent;
            }
        }
    }

    /// Asks for ends that are owed.
    pub(super) fn send_end_offset_requests(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        for index in 0..self.assigned.len() {
            let assigned = &self.assigned[index];
            if assigned.end_offset_wanted && assigned.retry_at <= cx.now() {
                let (partition, latest) = (assigned.partition, ListOffsetsTimestamp::Latest);
                let sent = self.send_list(partition, latest, ListedFor::EndOffset, cx, out);
                self.assigned[index].end_offset_wanted = !sent;
            }
        }
    }

    /// `false` if there is nobody to be asked now.
    pub(super) fn send_list(
        &mut self,
        partition: TopicPartition,
        timestamp: ListOffsetsTimestamp,
        purpose: ListedFor,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> bool {
        let Some((node, current_leader_epoch)) = self.metadata.leader(partition) else {
            self.metadata.request_update();
            return false;
        };
        if self.client.backing_off(node, cx.now()).is_some() {
            return false;
        }
        rule!(cx.env, "K-OFF-1");
        let request = ListOffsetsRequest {
            version: self.api_versions.latest(ApiKey::ListOffsets),
            asker: ListOffsetsAsker::Consumer(self.config.isolation_level),
            partition,
            current_leader_epoch,
            timestamp,
        };
        let in_flight = InFlight::ListOffsets(partition, purpose);
        self.client.send(node, request.into(), in_flight, cx.now(), out);
        true
    }

    pub(super) fn offset_listed(
        &mut self,
        partition: TopicPartition,
        purpose: ListedFor,
        answer: &Answer,
        cx: &mut Cx<'_>,
    ) {
        let offset = match answer {
            Answer::Response(Response::ListOffsets(ListOffsetsResponse {
                error, offset, ..
            })) if error.is_none() => Some(*offset),
            _ => None,
        };
        // K-OFF-1: every other error is retried.
        let forbidden = matches!(answer, Answer::Response(Response::ListOffsets(response))
            if response.error == ErrorCode::TopicAuthorizationFailed);
        let thrown = forbidden.then(|| Exception::of(ErrorCode::TopicAuthorizationFailed));
        if offset.is_none() {
            self.metadata.request_update();
        }
        match purpose {
            ListedFor::Reset => {
                self.list_error = thrown.or(self.list_error.take());
                self.position_listed(partition, offset, cx);
            }
            ListedFor::EndOffset => self.end_listed(partition, offset, cx),
            ListedFor::Call(number) if self.listing.on_the_wire == Some(number) => {
                self.listing.on_the_wire = None;
                self.listing.listed = offset.map(Ok).or_else(|| thrown.map(Err));
                self.listing.retry_at = cx.now() + self.config.retry_backoff;
            }
            ListedFor::Call(_) => {}
            ListedFor::Lag => {
                self.list_error = thrown.or(self.list_error.take());
                self.is_asking_for_lag = false;
            }
        }
        if let Some(offset) = offset.filter(|_| purpose != ListedFor::Reset) {
            rule!(cx.env, "K-OFF-2");
            self.remember_bound(partition, offset);
        }
    }

    /// A position was looked up; it counts only if it is still wanted (K-POS-7).
    fn position_listed(&mut self, partition: TopicPartition, offset: Option<i64>, cx: &mut Cx<'_>) {
        if offset.is_none() {
            self.retry_later(partition, cx);
        }
        let Some(assigned) = self.assigned_mut(partition) else { return };
        assigned.resetting = false;
        if let Some(offset) = offset.filter(|_| assigned.reset.is_some()) {
            rule!(cx.env, "K-OFF-4");
            assigned.set_position(offset);
            self.outcomes.push_back(ConsumerOutcome::PositionSet { partition, offset });
        }
    }

    fn end_listed(&mut self, partition: TopicPartition, offset: Option<i64>, cx: &Cx<'_>) {
        if let Some(offset) = offset {
            self.outcomes.push_back(ConsumerOutcome::EndOffset { partition, offset });
            return;
        }
        self.retry_later(partition, cx);
        if let Some(assigned) = self.assigned_mut(partition) {
            assigned.end_offset_wanted = true;
        }
    }

    /// K-OFF-2: the answer takes the place of the bound remembered from the last Fetch.
    fn remember_bound(&mut self, partition: TopicPartition, offset: i64) {
        let level = self.config.isolation_level;
        let Some(assigned) = self.assigned_mut(partition) else { return };
        match level {
            IsolationLevel::ReadCommitted => assigned.last_stable_offset = offset,
            IsolationLevel::ReadUncommitted => assigned.high_watermark = offset,
        }
    }
}
