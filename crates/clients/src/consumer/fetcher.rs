//! The fetch loop (`Fetcher`, `FetchCollector`).

use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{
    ApiKey, FetchMetadata, FetchPartition, FetchPartitionResponse, FetchRequest, IsolationLevel,
    Response,
};
use eosim_types::{BrokerId, ErrorCode, Few, LeaderEpoch, TopicPartition, rule};

use super::assigned::FetchPosition;
use super::completed_fetch::{Buffered, CompletedFetch};
use super::{Consumer, InFlight};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::{Answer, ClientOut};

impl Consumer {
    /// One Fetch to each leader that has none in flight, for the partitions that have a position
    /// and nothing buffered.
    pub(super) fn send_fetches(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        for (node, partitions) in self.prepare_fetch_requests(cx) {
            rule!(cx.env, "K-ISO-1");
            let mut fetched: Vec<_> =
                partitions.iter().map(|read| (read.partition, read.fetch_offset)).collect();
            fetched.sort_unstable();
            let max_wait = self.config.fetch_max_wait.as_millis();
            let request = FetchRequest {
                version: self.api_versions.latest(ApiKey::Fetch),
                replica: None,
                isolation_level: self.config.isolation_level,
                max_wait_ms: i32::try_from(max_wait).unwrap_or(i32::MAX),
                min_bytes: self.config.fetch_min_bytes,
                partition_max_bytes: self.config.max_partition_fetch_bytes,
                metadata: FetchMetadata::LEGACY,
                forgotten: [].into(),
                partitions,
            };
            self.fetching.insert(node);
            let in_flight = InFlight::Fetch(node, fetched);
            self.client.send(node, request.into(), in_flight, cx.now(), out);
        }
    }

    /// What to ask of whom (`prepareFetchRequests`).
    fn prepare_fetch_requests(&mut self, cx: &Cx<'_>) -> Few<(BrokerId, Vec<FetchPartition>)> {
        let mut requests: Few<(BrokerId, Vec<FetchPartition>)> = Few::new();
        for index in 0..self.assigned.len() {
            let Some(position) = self.fetchable_from(index, cx) else { continue };
            let partition = self.assigned[index].partition;
            let Some((node, leader_epoch)) = position.current_leader else {
                self.metadata.request_update();
                continue;
            };
            if !self.is_idle(node, cx) {
                continue;
            }
            self.assigned[index].fetching = true;
            let place = requests.iter().position(|(known, _)| *known == node);
            let place = place.unwrap_or_else(|| {
                requests.push((node, Vec::new()));
                requests.len() - 1
            });
            requests[place].1.push(FetchPartition {
                partition,
                fetch_offset: position.offset,
                current_leader_epoch: leader_epoch,
                last_fetched_epoch: LeaderEpoch::NONE,
                log_start_offset: -1,
            });
        }
        requests
    }

    /// Has the node no Fetch on the wire, and is its connection usable?
    fn is_idle(&self, node: BrokerId, cx: &Cx<'_>) -> bool {
        !self.fetching.contains(&node) && self.client.backing_off(node, cx.now()).is_none()
    }

    /// The position of the assigned partition at `index`, if it can be fetched now.
    fn fetchable_from(&self, index: usize, cx: &Cx<'_>) -> Option<FetchPosition> {
        let assigned = &self.assigned[index];
        if assigned.fetching || assigned.retry_at > cx.now() {
            return None;
        }
        let position = assigned.fetchable_position()?;
        let buffered = self.completed_fetches.iter().any(|f| f.partition() == assigned.partition);
        (!buffered).then_some(position)
    }

    pub(super) fn fetched(
        &mut self,
        fetched: &[(TopicPartition, i64)],
        answer: Answer,
        cx: &mut Cx<'_>,
    ) {
        for &(partition, _) in fetched {
            if let Some(assigned) = self.assigned_mut(partition) {
                assigned.fetching = false;
            }
        }
        use ErrorCode as E;
        let Answer::Response(Response::Fetch(response)) = answer else {
            for &(partition, _) in fetched {
                self.retry_later(partition, cx);
            }
            return;
        };
        for answer in response.partitions {
            let asked = fetched.binary_search_by_key(&answer.partition, |asked| asked.0);
            let offset = asked.ok().map(|place| fetched[place]);
            let current = self.valid_position(answer.partition);
            match (offset, current) {
                (Some((_, offset)), Some(current))
                    if current == offset
                        || !matches!(answer.error, E::None | E::OffsetOutOfRange) =>
                {
                    self.fetched_partition(offset, answer, cx);
                }
                _ => rule!(cx.env, "K-POS-1"),
            }
        }
    }

    fn fetched_partition(
        &mut self,
        fetch_offset: i64,
        answer: FetchPartitionResponse,
        cx: &mut Cx<'_>,
    ) {
        if !answer.error.is_none() {
            return self.fetch_failed(answer.partition, fetch_offset, answer.error, cx);
        }
        rule!(cx.env, "K-POS-4");
        let bound = match self.config.isolation_level {
            IsolationLevel::ReadUncommitted => answer.high_watermark,
            IsolationLevel::ReadCommitted => answer.last_stable_offset,
        };
        if let Some(assigned) = self.assigned_mut(answer.partition) {
            if answer.high_watermark >= 0 {
                assigned.high_watermark = answer.high_watermark;
            }
            if answer.last_stable_offset >= 0 {
                assigned.last_stable_offset = answer.last_stable_offset;
            }
        }
        if !answer.batches.is_empty() {
            self.completed_fetches.push_back(Buffered::Fetch(CompletedFetch::new(
                answer.partition,
                fetch_offset,
                bound,
                answer.batches,
                answer.aborted_transactions,
            )));
        }
    }

    /// K-POS-5.
    fn fetch_failed(
        &mut self,
        partition: TopicPartition,
        fetch_offset: i64,
        error: ErrorCode,
        cx: &mut Cx<'_>,
    ) {
        use ErrorCode as E;
        rule!(cx.env, "K-POS-5");
        let throws = match error {
            E::OffsetOutOfRange => match self.reset_timestamp(cx) {
                Some(to) => {
                    rule!(cx.env, "K-OFF-4");
                    if let Some(assigned) = self.assigned_mut(partition) {
                        assigned.await_reset(to);
                    }
                    return;
                }
                None => Exception::of(error),
            },
            E::NotLeaderOrFollower
            | E::ReplicaNotAvailable
            | E::KafkaStorageError
            | E::FencedLeaderEpoch
            | E::OffsetNotAvailable
            | E::UnknownTopicOrPartition
            | E::UnknownTopicId
            | E::InconsistentTopicId => {
                self.metadata.request_update();
                return self.retry_later(partition, cx);
            }
            E::UnknownLeaderEpoch | E::UnknownServerError => {
                return self.retry_later(partition, cx);
            }
            E::TopicAuthorizationFailed => Exception::of(error),
            E::CorruptMessage => Exception::new(ExceptionClass::Kafka),
            _ => Exception::illegal_state(),
        };
        let failed = Buffered::Failed { partition, fetch_offset, exception: throws };
        self.completed_fetches.push_back(failed);
    }
}
