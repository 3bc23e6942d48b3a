//! The consumer with assigned partitions (`KafkaConsumer`, `SubscriptionState`).
//!
//! Invariants: a response is used only at the position for which it was asked (K-POS-1); a
//! partition with a remainder is not fetched (K-FILT-9).

mod completed_fetch;
mod fetcher;
mod offset_fetcher;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use eosim_actor::{Correlation, Cx};
use eosim_types::config::ConsumerConfig;
use eosim_types::message::{IsolationLevel, MetadataRequest, Response};
use eosim_types::{BrokerId, Instant, TopicPartition, Value, rule};

use crate::metadata::Metadata;
use crate::network_client::{Answer, ClientOut, Completed, NetworkClient};
use completed_fetch::CompletedFetch;

/// What the consumer remembers of a request on the wire.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum InFlight {
    Metadata,
    /// The partitions fetched, each with its fetch offset.
    Fetch(Vec<(TopicPartition, i64)>),
    /// A position is looked up.
    Reset(TopicPartition),
    /// The application asked for the end.
    EndOffset(TopicPartition),
}

/// One assigned partition (`TopicPartitionState`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Assigned {
    partition: TopicPartition,
    /// `None` while it has to be reset.
    position: Option<i64>,
    /// The request for a position is on the wire.
    resetting: bool,
    /// A Fetch for it is on the wire.
    fetching: bool,
    /// A request for the end offset is owed.
    end_offset_wanted: bool,
    /// Nothing is asked of its leader before that.
    retry_at: Instant,
    high_watermark: i64,
    last_stable_offset: i64,
}

/// What one partition gave to one `poll()`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PolledPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// The position before.
    pub from: i64,
    /// The position after.
    pub to: i64,
    /// Offset and value of each record.
    pub records: Vec<(i64, Value)>,
    /// High watermark or last stable offset of the answer, by isolation level.
    pub bound: i64,
}

/// What the consumer tells the application besides records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConsumerOutcome {
    /// A position was set by the reset policy.
    PositionSet {
        /// The partition.
        partition: TopicPartition,
        /// The new position.
        offset: i64,
    },
    /// The end that was asked for.
    EndOffset {
        /// The partition.
        partition: TopicPartition,
        /// High watermark or last stable offset, by isolation level.
        offset: i64,
    },
}

/// The consumer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Consumer {
    config: ConsumerConfig,
    client: NetworkClient<InFlight>,
    metadata: Metadata,
    assigned: Vec<Assigned>,
    completed_fetches: VecDeque<CompletedFetch>,
    outcomes: VecDeque<ConsumerOutcome>,
    completed: Vec<Completed<InFlight>>,
}

impl Consumer {
    /// A consumer of `partitions`, each to be read from its start.
    #[must_use]
    pub fn new(
        config: &ConsumerConfig,
        partitions: &[TopicPartition],
        brokers: &[BrokerId],
    ) -> Self {
        let assigned = |&partition: &TopicPartition| Assigned {
            partition,
            position: None,
            resetting: false,
            fetching: false,
            end_offset_wanted: false,
            retry_at: Instant::START,
            high_watermark: -1,
            last_stable_offset: -1,
        };
        Self {
            config: config.clone(),
            client: NetworkClient::new(brokers, config.request_timeout, config.retry_backoff),
            metadata: Metadata::new(config.retry_backoff),
            assigned: partitions.iter().map(assigned).collect(),
            completed_fetches: VecDeque::new(),
            outcomes: VecDeque::new(),
            completed: Vec::new(),
        }
    }

    /// The network brought an answer, or `None` for a broken connection.
    pub fn arrived(&mut self, correlation: Correlation, response: Option<Response>) {
        self.client.arrived(correlation, response);
    }

    /// Takes in what the network brought and sends what is due.
    pub fn advance(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        loop {
            let mut completed = core::mem::take(&mut self.completed);
            self.client.poll(cx.now(), &mut completed, out);
            for one in completed.drain(..) {
                self.complete(one, cx);
            }
            self.completed = completed;
            if !self.client.has_arrivals() {
                break;
            }
        }
        self.send_list_offsets(cx, out);
        self.send_fetches(cx, out);
        self.send_metadata_request(cx, out);
    }

    /// When the consumer goes on by itself.
    #[must_use]
    pub fn next_wake(&self, now: Instant) -> Instant {
        let waits = self.assigned.iter().map(|assigned| assigned.retry_at);
        let waits = waits.chain([self.client.next_timeout(), self.client.next_usable(now)]);
        let waits = waits.chain(self.metadata.next_update());
        waits.filter(|at| *at > now).min().unwrap_or(Instant::FAR)
    }

    /// The oldest outcome not taken yet.
    pub fn pop_outcome(&mut self) -> Option<ConsumerOutcome> {
        self.outcomes.pop_front()
    }

    /// Asks for the end of every assigned partition (`endOffsets`).
    pub fn request_end_offsets(&mut self) {
        for assigned in &mut self.assigned {
            assigned.end_offset_wanted = true;
        }
    }

    /// The position in `partition`; `None` if it has none yet or is not assigned.
    #[must_use]
    pub fn position(&self, partition: TopicPartition) -> Option<i64> {
        self.assigned.iter().find(|a| a.partition == partition)?.position
    }

    /// The bound that the last answer told, by isolation level, less the position (K-OFF-3).
    #[must_use]
    pub fn current_lag(&self, partition: TopicPartition) -> Option<i64> {
        let assigned = self.assigned.iter().find(|a| a.partition == partition)?;
        let bound = match self.config.isolation_level {
            IsolationLevel::ReadUncommitted => assigned.high_watermark,
            IsolationLevel::ReadCommitted => assigned.last_stable_offset,
        };
        (bound >= 0).then_some(bound - assigned.position?)
    }

    /// Moves the position of `partition` (`seek`); what is buffered for it becomes stale.
    pub fn seek(&mut self, partition: TopicPartition, offset: i64) {
        if let Some(assigned) = self.assigned_mut(partition) {
            assigned.position = Some(offset);
        }
        self.completed_fetches.retain(|fetch| fetch.partition != partition);
    }

    fn assigned_mut(&mut self, partition: TopicPartition) -> Option<&mut Assigned> {
        self.assigned.iter_mut().find(|assigned| assigned.partition == partition)
    }

    fn complete(&mut self, completed: Completed<InFlight>, cx: &mut Cx<'_>) {
        if !matches!(completed.answer, Answer::Response(_)) {
            self.metadata.request_update();
        }
        match (completed.request, completed.answer) {
            (InFlight::Metadata, Answer::Response(Response::Metadata(response))) => {
                self.metadata.update(response.image, cx.now());
            }
            (InFlight::Metadata, _) => self.metadata.failed(cx.now()),
            (InFlight::Fetch(fetched), answer) => self.fetched(&fetched, answer, cx),
            (InFlight::Reset(partition), answer) => self.offset_found(partition, &answer, cx),
            (InFlight::EndOffset(partition), answer) => self.end_found(partition, &answer, cx),
        }
    }

    /// What the partition's leader was asked for failed: later again (K-POS-5).
    fn retry_later(&mut self, partition: TopicPartition, cx: &Cx<'_>) {
        let retry_at = cx.now() + self.config.retry_backoff;
        if let Some(assigned) = self.assigned_mut(partition) {
            assigned.retry_at = retry_at;
        }
    }

    fn send_metadata_request(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if self.metadata.next_update().is_some_and(|due| due <= cx.now())
            && let Some(node) = self.client.least_loaded_node(cx.now())
        {
            self.client.send(node, MetadataRequest {}.into(), InFlight::Metadata, cx.now(), out);
            self.metadata.sent();
        }
    }

    /// `poll()`: moves the positions over what is buffered, up to `max.poll.records` records.
    pub fn poll(&mut self, cx: &mut Cx<'_>, polled: &mut Vec<PolledPartition>) {
        let mut room = self.config.max_poll_records as usize;
        while room > 0
            && let Some(mut fetch) = self.completed_fetches.pop_front()
        {
            let position = self.position(fetch.partition);
            if position != Some(fetch.next_fetch_offset()) {
                rule!(cx.env, "K-POS-1");
                continue;
            }
            let mut records = Vec::new();
            fetch.fetch_records(room, self.config.isolation_level, &mut records, &mut cx.env);
            room -= records.len();
            self.take(&fetch, records, polled, cx);
            if !fetch.is_consumed() {
                rule!(cx.env, "K-FILT-9");
                self.completed_fetches.push_front(fetch);
            }
        }
    }

    /// K-POS-2.
    fn take(
        &mut self,
        fetch: &CompletedFetch,
        records: Vec<(i64, Value)>,
        polled: &mut Vec<PolledPartition>,
        cx: &mut Cx<'_>,
    ) {
        let (partition, to) = (fetch.partition, fetch.next_fetch_offset());
        let Some(assigned) = self.assigned_mut(partition) else { return };
        let Some(from) = assigned.position.replace(to) else { return };
        if from != to {
            rule!(cx.env, "K-POS-2");
            polled.push(PolledPartition { partition, from, to, records, bound: fetch.bound });
        }
    }
}
