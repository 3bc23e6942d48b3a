//! The consumer, with partitions assigned by hand or by its group (`KafkaConsumer`,
//! `SubscriptionState`).
//!
//! Invariants: a response is used only at the position for which it was asked (K-POS-1); a
//! partition with a remainder is not fetched (K-FILT-9).

mod assigned;
mod auto_commit;
mod calls;
mod classic_member;
mod committed;
mod completed_fetch;
mod consumer_member;
mod fetcher;
mod membership;
mod offset_fetcher;
mod validation;

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use eosim_actor::{Correlation, Cx};
use eosim_types::config::{AutoOffsetReset, ConsumerConfig};
use eosim_types::message::{
    ApiKey, CommittableOffset, GroupMember, IsolationLevel, ListOffsetsTimestamp, MetadataRequest,
    Response,
};
use eosim_types::observation::Observed;
use eosim_types::{
    BrokerId, ErrorCode, Instant, LeaderEpoch, SortedMap, TopicPartition, Value, rule,
};

use crate::api_versions::ApiVersions;
use crate::backoff::ExponentialBackoff;
use crate::exception::{Exception, ExceptionClass};
use crate::metadata::Metadata;
use crate::network_client::{Answer, ClientOut, Completed, NetworkClient, SECOND_CLIENT};
use assigned::{Assigned, FetchPosition};
use auto_commit::AutoCommit;
pub use calls::{ConsumerCall, Returned};
use calls::{Listing, Waiting};
use committed::CommittedOffsets;
use completed_fetch::Buffered;
use membership::Membership;
pub use membership::RebalanceCallback;
use offset_fetcher::ListedFor;

/// What the consumer remembers of a request on the wire.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum InFlight {
    Metadata,
    /// From whom, and the partitions fetched, each with its fetch offset.
    Fetch(BrokerId, Vec<(TopicPartition, i64)>),
    ListOffsets(Vec<TopicPartition>, ListedFor),
    /// About which positions.
    OffsetForLeaderEpoch(Vec<(TopicPartition, FetchPosition)>),
    FindCoordinator,
    OffsetFetch(u32),
    OffsetCommit(u32),
    JoinGroup,
    /// In which generation, like the next one.
    SyncGroup(GroupMember),
    Heartbeat(GroupMember),
    LeaveGroup,
    /// With which member epoch.
    ConsumerGroupHeartbeat(i32),
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
    /// The leader epoch of the batch before it.
    pub leader_epoch: LeaderEpoch,
    /// Offset and value of each record.
    pub records: Vec<(i64, Value)>,
    /// High watermark or last stable offset of the answer, by isolation level.
    pub bound: i64,
}

impl PolledPartition {
    /// What an application that reads with `isolation_level` was given, as the checker is told.
    #[must_use]
    pub fn observed(self, isolation_level: IsolationLevel) -> Observed {
        let Self { partition, from, to, leader_epoch: _, records, bound } = self;
        Observed::Polled { partition, isolation_level, from, to, records, bound }
    }

    /// What commits it.
    #[must_use]
    pub const fn offset_behind(&self) -> CommittableOffset {
        let (partition, offset, leader_epoch) = (self.partition, self.to, self.leader_epoch);
        CommittableOffset { partition, offset, leader_epoch }
    }
}

/// What the consumer tells the application besides records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConsumerOutcome {
    /// A position was set, by a committed offset or by the reset policy.
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
    /// Where in that list each partition stands.
    places: SortedMap<TopicPartition, u32>,
    completed_fetches: VecDeque<Buffered>,
    /// Nodes with a Fetch on the wire.
    fetching: BTreeSet<BrokerId>,
    api_versions: ApiVersions,
    offsets: CommittedOffsets,
    auto_commit: AutoCommit,
    /// If it has subscribed, not been assigned by hand.
    membership: Option<Membership>,
    waiting: Option<Waiting>,
    listing: Listing,
    /// How many ListOffsets calls have sent.
    lists: u32,
    /// What the look-up of a position or of a lag has to throw.
    list_error: Option<Exception>,
    is_asking_for_lag: bool,
    /// Up to which image the positions have followed their leaders.
    followed_updates: u32,
    /// What the validation of positions has to throw.
    validation_error: Option<Exception>,
    outcomes: VecDeque<ConsumerOutcome>,
    completed: Vec<Completed<InFlight>>,
}

impl Consumer {
    /// A consumer of `partitions` (`assign()`).
    #[must_use]
    pub fn new(
        config: &ConsumerConfig,
        partitions: &[TopicPartition],
        brokers: &[BrokerId],
    ) -> Self {
        let reconnect_backoff = ExponentialBackoff {
            initial: config.reconnect_backoff,
            max: config.reconnect_backoff_max,
        };
        let mut consumer = Self {
            config: config.clone(),
            client: NetworkClient::new(brokers, config.request_timeout, reconnect_backoff),
            metadata: Metadata::new(config.retry_backoff, config.metadata_max_age),
            assigned: Vec::new(),
            places: SortedMap::default(),
            completed_fetches: VecDeque::new(),
            fetching: BTreeSet::new(),
            api_versions: ApiVersions::default(),
            offsets: CommittedOffsets::default(),
            auto_commit: AutoCommit::new(),
            membership: None,
            waiting: None,
            listing: Listing::default(),
            lists: 0,
            list_error: None,
            is_asking_for_lag: false,
            followed_updates: 0,
            validation_error: None,
            outcomes: VecDeque::new(),
            completed: Vec::new(),
        };
        consumer.assign(partitions);
        consumer
    }

    /// The same beside a producer in one process: connections and correlations are its own.
    #[must_use]
    pub fn beside_producer(mut self) -> Self {
        self.client = self.client.second_of_process();
        self
    }

    /// Was the request made by a consumer that is [`Self::beside_producer`]?
    #[must_use]
    pub const fn is_own(correlation: Correlation) -> bool {
        correlation.0 >= SECOND_CLIENT
    }

    /// The network brought an answer, or `None` for a broken connection.
    pub fn arrived(&mut self, correlation: Correlation, response: Option<Response>) {
        self.client.arrived(correlation, response);
    }

    /// `assign()`: what is assigned already keeps its position.
    pub fn assign(&mut self, partitions: &[TopicPartition]) {
        self.assigned.retain(|assigned| partitions.contains(&assigned.partition));
        self.places.clear();
        for (place, assigned) in (0..).zip(&self.assigned) {
            self.places.insert(assigned.partition, place);
        }
        for &partition in partitions {
            if self.places.get(partition).is_none() {
                let place = u32::try_from(self.assigned.len()).expect("not so many partitions");
                self.places.insert(partition, place);
                self.assigned.push(Assigned::new(partition));
            }
        }
    }

    /// A connection was made; `api_versions` is what the brokers speak.
    pub fn connected(&mut self, api_versions: ApiVersions) {
        self.api_versions = api_versions;
    }

    /// A node closed a connection on which nothing was unanswered.
    pub fn disconnected(&mut self, broker: BrokerId) {
        self.client.broken(broker);
        self.metadata.request_update();
    }

    /// The version of FindCoordinator in use.
    #[must_use]
    pub fn find_coordinator_version(&self) -> i16 {
        self.api_versions.latest(ApiKey::FindCoordinator)
    }

    /// Takes in what the network brought and sends what is due for one who reads for ever.
    pub fn advance(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        self.take_arrivals(cx, out);
        // One who reads for ever polls again, whatever was thrown.
        let _thrown = self.update_fetch_positions(cx, out);
        self.send_end_offset_requests(cx, out);
        self.send_fetches(cx, out);
        self.send_metadata_request(cx, out);
    }

    fn take_arrivals(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        loop {
            let mut completed = core::mem::take(&mut self.completed);
            self.client.poll(&mut completed, cx, out);
            for one in completed.drain(..) {
                self.complete(one, cx, out);
            }
            self.completed = completed;
            if !self.client.has_arrivals() {
                break;
            }
        }
    }

    /// `updateFetchPositions`: what may be truncated is validated; then committed offsets, the
    /// reset policy, and look-ups. `false` while committed offsets are awaited.
    fn update_fetch_positions(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<bool, Exception> {
        self.validate_positions_if_needed(cx, out)?;
        if self.assigned.iter().all(|assigned| assigned.valid_position().is_some()) {
            return Ok(true);
        }
        if self.config.group.is_some() && !self.init_with_committed_offsets(cx, out)? {
            return Ok(false);
        }
        self.reset_initializing_positions(cx)?;
        if let Some(error) = self.list_error.take() {
            return Err(error);
        }
        self.reset_positions_if_needed(cx, out);
        Ok(true)
    }

    /// K-OFF-4: the reset policy for partitions that nothing else gives a position.
    fn reset_initializing_positions(&mut self, cx: &mut Cx<'_>) -> Result<(), Exception> {
        let in_group = self.config.group.is_some();
        let reset = self.reset_timestamp(cx);
        let mut without = false;
        for assigned in &mut self.assigned {
            if !assigned.is_initializing() || (in_group && !assigned.has_no_committed) {
                continue;
            }
            rule!(cx.env, "K-OFF-4");
            assigned.has_no_committed = false;
            match reset {
                Some(to) => assigned.await_reset(to),
                None => without = true,
            }
        }
        if without { Err(Exception::new(ExceptionClass::NoOffsetForPartition)) } else { Ok(()) }
    }

    /// Where the policy resets to; `None` if it does not.
    fn reset_timestamp(&self, cx: &Cx<'_>) -> Option<ListOffsetsTimestamp> {
        match self.config.auto_offset_reset {
            AutoOffsetReset::Earliest => Some(ListOffsetsTimestamp::Earliest),
            AutoOffsetReset::Latest => Some(ListOffsetsTimestamp::Latest),
            AutoOffsetReset::ByDuration(age) => {
                let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
                Some(ListOffsetsTimestamp::At(cx.env.clock_ms().saturating_sub(age)))
            }
            AutoOffsetReset::None => None,
        }
    }

    /// When the consumer goes on by itself.
    #[must_use]
    pub fn next_wake(&self, now: Instant) -> Instant {
        let mut next = Instant::FAR;
        let mut wait_for = |at: Instant| {
            if at > now {
                next = next.min(at);
            }
        };
        for assigned in &self.assigned {
            wait_for(assigned.retry_at);
            assigned.validation.into_iter().for_each(&mut wait_for);
        }
        wait_for(self.client.next_timeout());
        wait_for(self.client.next_usable(now));
        wait_for(self.offsets.retry_at());
        wait_for(self.listing.retry_at);
        wait_for(self.next_membership_wake());
        let auto_commit = self.config.enable_auto_commit.then_some(self.auto_commit.next);
        let deadline = self.waiting.as_ref().map(Waiting::deadline);
        let perhaps = [self.metadata.next_update(), auto_commit, deadline];
        perhaps.into_iter().flatten().for_each(wait_for);
        next
    }

    /// The oldest outcome not taken yet.
    pub fn pop_outcome(&mut self) -> Option<ConsumerOutcome> {
        self.outcomes.pop_front()
    }

    /// Tells the checker of every outcome not taken yet.
    pub(crate) fn observe_outcomes(&mut self, out: &mut ClientOut) {
        let isolation_level = self.config.isolation_level;
        for outcome in self.outcomes.drain(..) {
            out.observe(match outcome {
                ConsumerOutcome::PositionSet { partition, offset } => {
                    Observed::PositionSet { partition, offset }
                }
                ConsumerOutcome::EndOffset { partition, offset } => {
                    Observed::EndOffset { partition, isolation_level, offset }
                }
            });
        }
    }

    /// Asks for the end of every assigned partition (`endOffsets`).
    pub fn request_end_offsets(&mut self) {
        for assigned in &mut self.assigned {
            (assigned.end_offset_wanted, assigned.end_offset_awaited) = (true, true);
        }
    }

    /// The call before has not returned yet: it blocks, so nobody asks again.
    #[must_use]
    pub fn awaits_end_offsets(&self) -> bool {
        self.assigned.iter().any(|assigned| assigned.end_offset_awaited)
    }

    /// The position in `partition`; `None` if it has none yet or is not assigned.
    #[must_use]
    pub fn position(&self, partition: TopicPartition) -> Option<i64> {
        Some(self.assigned(partition)?.position?.offset)
    }

    /// The same, unless it has to be validated.
    fn valid_position(&self, partition: TopicPartition) -> Option<i64> {
        Some(self.assigned(partition)?.valid_position()?.offset)
    }

    /// What is assigned, each with its position, if it has one.
    pub fn positions(&self) -> impl Iterator<Item = (TopicPartition, Option<i64>)> {
        self.assigned.iter().map(|one| (one.partition, one.position.map(|at| at.offset)))
    }

    /// `seek()` to what somebody else has read, in an epoch if it is known.
    fn seek_unvalidated(
        &mut self,
        partition: TopicPartition,
        offset: i64,
        offset_epoch: LeaderEpoch,
    ) {
        let current_leader = self.metadata.leader(partition);
        if let Some(assigned) = self.assigned_mut(partition) {
            assigned.seek_unvalidated(FetchPosition { offset, offset_epoch, current_leader });
        }
    }

    /// The bound that the last answer told, by isolation level, less the position (K-OFF-3).
    #[must_use]
    pub fn current_lag(&self, partition: TopicPartition) -> Option<i64> {
        Some(self.bound(partition)? - self.position(partition)?)
    }

    /// The high watermark or last stable offset, by isolation level, that the brokers told last.
    fn bound(&self, partition: TopicPartition) -> Option<i64> {
        let assigned = self.assigned(partition)?;
        let bound = match self.config.isolation_level {
            IsolationLevel::ReadUncommitted => assigned.high_watermark,
            IsolationLevel::ReadCommitted => assigned.last_stable_offset,
        };
        Some(bound).filter(|bound| *bound >= 0)
    }

    fn assigned(&self, partition: TopicPartition) -> Option<&Assigned> {
        let place = *self.places.get(partition)?;
        Some(&self.assigned[place as usize])
    }

    fn assigned_mut(&mut self, partition: TopicPartition) -> Option<&mut Assigned> {
        let place = *self.places.get(partition)?;
        Some(&mut self.assigned[place as usize])
    }

    fn complete(&mut self, completed: Completed<InFlight>, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if !matches!(completed.answer, Answer::Response(_)) {
            self.metadata.request_update();
        }
        match (completed.request, completed.answer) {
            (InFlight::Metadata, Answer::Response(Response::Metadata(response))) => {
                self.metadata.update(response.image, cx.now());
            }
            (InFlight::Metadata, _) => self.metadata.failed(cx.now()),
            (InFlight::Fetch(node, fetched), answer) => {
                self.fetching.remove(&node);
                self.fetched(&fetched, answer, cx);
            }
            (InFlight::ListOffsets(asked, purpose), answer) => {
                self.offsets_listed(&asked, purpose, &answer, cx);
            }
            (InFlight::OffsetForLeaderEpoch(asked), answer) => {
                self.offset_for_leader_epoch_answered(&asked, &answer, cx);
            }
            (InFlight::FindCoordinator, answer) => self.found_coordinator(&answer, cx),
            (InFlight::OffsetFetch(number), answer) => {
                self.fetched_committed(number, &answer, cx);
            }
            (InFlight::OffsetCommit(number), answer) => self.committed(number, &answer, cx),
            (InFlight::JoinGroup, answer) => self.joined_group(answer, cx, out),
            (InFlight::SyncGroup(sent), answer) => self.synced_group(sent, answer, cx),
            (InFlight::Heartbeat(sent), answer) => self.heartbeat_answered(sent, &answer, cx),
            (InFlight::LeaveGroup, _) => {}
            (InFlight::ConsumerGroupHeartbeat(sent), answer) => {
                self.consumer_heartbeat_answered(sent, answer, cx);
            }
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

    /// K-POS-1; an error counts wherever the position is, unless it is about the position.
    fn is_current(&self, buffered: &Buffered) -> bool {
        let assigned = self.assigned(buffered.partition());
        let position = assigned.and_then(Assigned::fetchable_position);
        let position = position.map(|position| position.offset);
        match buffered {
            Buffered::Failed { exception, .. } if !exception.is(ErrorCode::OffsetOutOfRange) => {
                position.is_some()
            }
            _ => position == Some(buffered.next_fetch_offset()),
        }
    }

    /// Moves the positions over what is buffered, up to `max.poll.records` records
    /// (`FetchCollector#collectFetch`).
    ///
    /// # Errors
    ///
    /// What a failed Fetch or a corrupt batch throws, unless something precedes it in the same
    /// poll (K-POS-5, K-FILT-1).
    pub fn poll(
        &mut self,
        cx: &mut Cx<'_>,
        polled: &mut Vec<PolledPartition>,
    ) -> Result<(), Exception> {
        let mut room = self.config.max_poll_records as usize;
        while room > 0
            && let Some(buffered) = self.completed_fetches.pop_front()
        {
            if !self.is_current(&buffered) {
                rule!(cx.env, "K-POS-1");
                continue;
            }
            let mut fetch = match buffered {
                Buffered::Failed { exception, .. } if polled.is_empty() => return Err(exception),
                Buffered::Failed { ref exception, .. } => {
                    let exception = exception.clone();
                    self.completed_fetches.push_front(buffered);
                    if exception.class == ExceptionClass::IllegalState {
                        return Err(exception); // K-POS-5: no KafkaException, so nothing holds it
                    }
                    break;
                }
                Buffered::Fetch(fetch) => fetch,
            };
            let mut records = Vec::new();
            let level = self.config.isolation_level;
            let read = fetch.fetch_records(room, level, &mut records, &mut cx.env);
            room -= records.len();
            self.take(&fetch, records, polled, cx);
            if !fetch.is_consumed() {
                rule!(cx.env, "K-FILT-9");
                self.completed_fetches.push_front(Buffered::Fetch(fetch));
            }
            if let Err(thrown) = read {
                return if polled.is_empty() { Err(thrown) } else { Ok(()) };
            }
        }
        Ok(())
    }

    /// K-POS-2; what an application has to commit is this position, not the last record's
    /// (K-POS-3).
    fn take(
        &mut self,
        fetch: &completed_fetch::CompletedFetch,
        records: Vec<(i64, Value)>,
        polled: &mut Vec<PolledPartition>,
        cx: &mut Cx<'_>,
    ) {
        let (partition, to) = (fetch.partition, fetch.next_fetch_offset());
        let Some(assigned) = self.assigned_mut(partition) else { return };
        let Some(position) = assigned.position.as_mut() else { return };
        let from = position.offset;
        if from != to {
            rule!(cx.env, "K-POS-2");
            let (leader_epoch, bound) = (fetch.last_epoch(), fetch.bound);
            (position.offset, position.offset_epoch) = (to, leader_epoch);
            polled.push(PolledPartition { partition, from, to, leader_epoch, records, bound });
        }
    }
}
