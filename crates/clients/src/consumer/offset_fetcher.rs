//! Look-ups of starts and ends (`OffsetFetcher`, K-OFF).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{
    ApiKey, IsolationLevel, ListOffsetsAsker, ListOffsetsPartition, ListOffsetsRequest,
    ListOffsetsTimestamp, Response,
};
use eosim_types::{BrokerId, Defect, ErrorCode, Few, LeaderEpoch, TopicPartition, rule};

use super::assigned::Assigned;
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
    Call {
        /// Which request.
        number: u32,
        /// Is it the end that is asked for?
        is_end: bool,
    },
    /// `currentLag()`.
    Lag,
}

impl Consumer {
    /// Asks where each partition that is reset begins (`resetPositionsIfNeeded`).
    pub(super) fn reset_positions_if_needed(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let due = |assigned: &&Assigned| !assigned.resetting && assigned.retry_at <= cx.now();
        let searched = self.assigned.iter().filter(due);
        let searched = searched.filter_map(|assigned| Some((assigned.partition, assigned.reset?)));
        let searched: Vec<_> = searched.collect();
        if searched.is_empty() {
            return;
        }
        rule!(cx.env, "K-POS-7");
        for partition in self.send_lists(&searched, ListedFor::Reset, cx, out) {
            if let Some(assigned) = self.assigned_mut(partition) {
                assigned.resetting = true;
            }
        }
    }

    /// Asks for ends that are owed.
    pub(super) fn send_end_offset_requests(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let due = |a: &&Assigned| a.end_offset_wanted && a.retry_at <= cx.now();
        let searched = self.assigned.iter().filter(due);
        let searched = searched.map(|a| (a.partition, ListOffsetsTimestamp::Latest));
        let searched: Vec<_> = searched.collect();
        for partition in self.send_lists(&searched, ListedFor::EndOffset, cx, out) {
            if let Some(assigned) = self.assigned_mut(partition) {
                assigned.end_offset_wanted = false;
            }
        }
    }

    /// One request to each leader that is known and may be asked now (`groupListOffsetRequests`);
    /// which partitions were asked for.
    pub(super) fn send_lists(
        &mut self,
        searched: &[(TopicPartition, ListOffsetsTimestamp)],
        purpose: ListedFor,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Vec<TopicPartition> {
        let mut by_node: BTreeMap<BrokerId, Few<ListOffsetsPartition>> = BTreeMap::new();
        for &(partition, timestamp) in searched {
            match self.metadata.leader(partition) {
                None => self.metadata.request_update(),
                Some((node, current_leader_epoch))
                    if self.client.backing_off(node, cx.now()).is_none() =>
                {
                    let asked = ListOffsetsPartition { partition, current_leader_epoch, timestamp };
                    by_node.entry(node).or_default().push(asked);
                }
                Some(_) => {}
            }
        }
        let mut sent = Vec::new();
        for (node, partitions) in by_node {
            rule!(cx.env, "K-OFF-1");
            let asked: Vec<_> = partitions.iter().map(|asked| asked.partition).collect();
            sent.extend_from_slice(&asked);
            let request = ListOffsetsRequest {
                version: self.api_versions.latest(ApiKey::ListOffsets),
                asker: ListOffsetsAsker::Consumer(self.config.isolation_level),
                partitions,
            };
            let in_flight = InFlight::ListOffsets(asked, purpose);
            self.client.send(node, request.into(), in_flight, cx.now(), out);
        }
        sent
    }

    /// K-OFF-1: every error but one is retried, that partition alone; a topic that must not be
    /// read ends the whole request.
    pub(super) fn offsets_listed(
        &mut self,
        asked: &[TopicPartition],
        purpose: ListedFor,
        answer: &Answer,
        cx: &mut Cx<'_>,
    ) {
        let listed = match answer {
            Answer::Response(Response::ListOffsets(response)) => &response.partitions[..],
            _ => &[],
        };
        let forbidden = ErrorCode::TopicAuthorizationFailed;
        let is_forbidden = listed.iter().any(|listed| listed.error == forbidden);
        let thrown = is_forbidden.then(|| Exception::of(forbidden));
        for &partition in asked {
            let found = listed.iter().find(|listed| listed.partition == partition);
            let found = found.filter(|found| found.error.is_none() && !is_forbidden);
            let offset = found.map(|found| found.offset);
            if offset.is_none() {
                self.metadata.request_update();
            }
            self.offset_listed(partition, purpose, offset, thrown.as_ref(), cx);
        }
        match purpose {
            ListedFor::Reset => self.list_error = thrown.or(self.list_error.take()),
            ListedFor::Lag => {
                self.list_error = thrown.or(self.list_error.take());
                self.is_asking_for_lag = false;
            }
            ListedFor::EndOffset | ListedFor::Call { .. } => {}
        }
    }

    fn offset_listed(
        &mut self,
        partition: TopicPartition,
        purpose: ListedFor,
        offset: Option<i64>,
        thrown: Option<&Exception>,
        cx: &mut Cx<'_>,
    ) {
        match purpose {
            ListedFor::Reset => return self.position_listed(partition, offset, cx),
            ListedFor::EndOffset => self.end_listed(partition, offset, cx),
            ListedFor::Call { number, .. } if self.listing.on_the_wire == Some(number) => {
                self.listing.on_the_wire = None;
                self.listing.listed = offset.map(Ok).or_else(|| thrown.cloned().map(Err));
                self.listing.retry_at = cx.now() + self.config.retry_backoff;
            }
            ListedFor::Call { .. } | ListedFor::Lag => {}
        }
        let is_bound = !matches!(purpose, ListedFor::Call { is_end: false, .. })
            || cx.env.on(Defect::UpstreamConsumerEndOffsetOverwritten);
        if let Some(offset) = offset.filter(|_| is_bound) {
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
            self.seek_unvalidated(partition, offset, LeaderEpoch::NONE);
            self.outcomes.push_back(ConsumerOutcome::PositionSet { partition, offset });
        }
    }

    fn end_listed(&mut self, partition: TopicPartition, offset: Option<i64>, cx: &Cx<'_>) {
        if let Some(offset) = offset {
            self.outcomes.push_back(ConsumerOutcome::EndOffset { partition, offset });
            if let Some(assigned) = self.assigned_mut(partition) {
                assigned.end_offset_awaited = false;
            }
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
