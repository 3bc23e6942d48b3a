//! Buffered batches per partition: when they are ready, which are drained, when they expire
//! (`RecordAccumulator`, P-ACC).
//!
//! Invariants: a partition's deque is ordered by base sequence, batches without one last; at most
//! one batch per partition leaves in one drain.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use eosim_actor::{Cx, Site, Stream};
use eosim_types::config::ProducerConfig;
use eosim_types::record::Record;
use eosim_types::{
    BrokerId, Defect, Duration, Env, Few, Instant, Sequence, SortedMap, TopicPartition, rule,
};

use super::CallId;
use super::producer_batch::{BatchId, Batches, batch_upper_bound};
use super::transaction_manager::TransactionManager;
use crate::backoff::ExponentialBackoff;
use crate::metadata::Metadata;

/// Hundredths of the factor 0.80 … 1.19; 0 is the shortest wait.
const JITTER: Site = Site::new("producer.retry_backoff_jitter", Stream::Actor);

/// What makes every batch sendable at once (P-ACC-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Urgency {
    /// A flush is in progress, or the producer is closing.
    pub(crate) flushing: bool,
    /// The transaction is completing.
    pub(crate) completing: bool,
}

/// What [`RecordAccumulator::ready`] found.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ReadyCheck {
    /// Leaders with something to send.
    pub(crate) nodes: Few<BrokerId>,
    /// When the next batch becomes ready by lapse of time.
    pub(crate) next_check: Option<Instant>,
    /// Some batch's partition has no known leader.
    pub(crate) unknown_leader: bool,
}

/// Where a record went (`RecordAppendResult`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Appended {
    pub(crate) batch: BatchId,
    /// The record's place in the batch.
    pub(crate) place: usize,
    /// It opened or filled a batch, so the sender has something to look at (P-SND-13).
    pub(crate) wakes: bool,
}

/// The buffered batches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct RecordAccumulator {
    batch_size: i32,
    buffer_memory: i64,
    /// Calls of `send()` that wait for memory.
    pub(crate) waiters: u32,
    max_request_size: i32,
    linger: Duration,
    delivery_timeout: Duration,
    retry_backoff: ExponentialBackoff,
    deques: SortedMap<TopicPartition, VecDeque<BatchId>>,
    pub(crate) batches: Batches,
    incomplete: u32,
    muted: BTreeSet<TopicPartition>,
    /// The place, among the partitions of each node, at which the last drain looked last (P-ACC-3).
    drain_index: BTreeMap<BrokerId, u32>,
}

impl RecordAccumulator {
    pub(crate) fn new(config: &ProducerConfig) -> Self {
        Self {
            batch_size: config.batch_size.max(1),
            buffer_memory: config.buffer_memory,
            waiters: 0,
            max_request_size: config.max_request_size,
            linger: config.linger,
            delivery_timeout: config.delivery_timeout,
            retry_backoff: ExponentialBackoff {
                initial: config.retry_backoff,
                max: config.retry_backoff_max,
            },
            deques: SortedMap::default(),
            batches: Batches::default(),
            incomplete: 0,
            muted: BTreeSet::new(),
            drain_index: BTreeMap::new(),
        }
    }

    /// Is there room for `record` in the tail batch, or memory for a new one?
    pub(crate) fn has_room(&self, partition: TopicPartition, record: Record) -> bool {
        let tail = self.deques.get(partition).and_then(VecDeque::back);
        let needed = self.batch_size.max(batch_upper_bound(record));
        tail.is_some_and(|&tail| self.batches[tail].has_room(record))
            || self.batches.allocated() + i64::from(needed) <= self.buffer_memory
    }

    /// Appends `record` to the tail batch of `partition`, or to a new one.
    pub(crate) fn append(
        &mut self,
        partition: TopicPartition,
        record: Record,
        call: CallId,
        env: &Env<'_>,
    ) -> Appended {
        let deque = self.deques.get_or_default(partition);
        let timestamp = env.clock_ms();
        if let Some(&tail) = deque.back()
            && self.batches[tail].try_append(record, call, self.batch_size, timestamp)
        {
            let place = self.batches[tail].records.len() - 1;
            let wakes = deque.len() > 1 || self.batches[tail].is_full();
            return Appended { batch: tail, place, wakes };
        }
        let id = self.batches.create(partition, env.now, call);
        let batch = &mut self.batches[id];
        batch.queued = true;
        batch.try_append(record, call, self.batch_size, timestamp);
        self.batches.allocate(id);
        deque.push_back(id);
        self.incomplete += 1;
        Appended { batch: id, place: 0, wakes: true }
    }

    /// Is any batch not completed?
    pub(crate) const fn has_incomplete(&self) -> bool {
        self.incomplete > 0
    }

    /// Is any batch still in a deque?
    pub(crate) fn has_undrained(&self) -> bool {
        self.deques.values().any(|deque| !deque.is_empty())
    }

    /// A batch completed.
    pub(crate) fn completed_one(&mut self) {
        self.incomplete -= 1;
    }

    /// P-ACC-1.
    pub(crate) fn ready(
        &mut self,
        metadata: &Metadata,
        urgency: Urgency,
        env: &mut Env<'_>,
    ) -> ReadyCheck {
        let mut check = ReadyCheck::default();
        for (partition, deque) in self.deques.iter() {
            let Some(&head) = deque.front() else { continue };
            let Some((leader, leader_epoch)) = metadata.leader(partition) else {
                check.unknown_leader = true;
                continue;
            };
            rule!(env, "P-ACC-1");
            let batch = &mut self.batches[head];
            batch.maybe_update_leader_epoch(leader_epoch);
            if self.muted.contains(&partition) || check.nodes.contains(&leader) {
                continue;
            }
            let backing_off = batch.is_backing_off(env.now);
            let wait = if backing_off { batch.backoff } else { self.linger };
            let until = batch.last_attempt + wait;
            let full = deque.len() > 1 || batch.is_full();
            let exhausted = self.waiters > 0;
            let sendable =
                full || exhausted || env.now >= until || urgency.flushing || urgency.completing;
            if sendable && !backing_off {
                check.nodes.push(leader);
            } else {
                check.next_check = Some(check.next_check.map_or(until, |at| at.min(until)));
            }
        }
        check
    }

    /// P-ACC-3: takes the heads of `node`'s partitions in one walk.
    pub(crate) fn drain_node(
        &mut self,
        node: BrokerId,
        metadata: &Metadata,
        mut manager: Option<&mut TransactionManager>,
        env: &mut Env<'_>,
    ) -> Vec<BatchId> {
        rule!(env, "P-ACC-3");
        let mut taken = Vec::new();
        let (mut size, mut last) = (0, None);
        for (place, partition) in self.walk(node, metadata) {
            last = Some(place);
            let deque = self.deques.get(partition);
            let Some(&head) = deque.and_then(VecDeque::front) else { continue };
            if self.muted.contains(&partition) || self.batches[head].is_backing_off(env.now) {
                continue;
            }
            if size + self.batches[head].size > self.max_request_size && !taken.is_empty() {
                break;
            }
            if let Some(manager) = manager.as_deref_mut() {
                if manager.should_stop_drain(head, &self.batches, env) {
                    break;
                }
                if !self.batches[head].has_sequence() || env.on(Defect::ClientNewSequenceOnRetry) {
                    manager.assign_sequence(head, &mut self.batches, env);
                }
            }
            self.deques.get_mut(partition).expect("walked").pop_front();
            self.batches[head].close_for_drain();
            size += self.batches[head].size;
            taken.push(head);
        }
        if let Some(place) = last {
            self.drain_index.insert(node, place);
        }
        taken
    }

    /// The partitions that `node` leads with their places, once round, from the place at which the
    /// last walk ended; after a walk that stopped, that of the partition that stopped it.
    fn walk<'a>(
        &self,
        node: BrokerId,
        metadata: &'a Metadata,
    ) -> impl Iterator<Item = (u32, TopicPartition)> + use<'a> {
        let partitions = (0..).zip(metadata.partitions_for_node(node));
        let last = self.drain_index.get(&node).map_or(0, |&last| last as usize);
        let start = last.checked_rem(partitions.clone().count()).unwrap_or(0);
        partitions.clone().skip(start).chain(partitions.take(start))
    }

    /// P-ACC-7: puts a batch back for another attempt, unless its partition is not `tracked`. Its
    /// wait is drawn once, where the real client draws anew at every look at the batch (P-CFG-9).
    pub(crate) fn reenqueue(
        &mut self,
        id: BatchId,
        has_manager: bool,
        tracked: bool,
        cx: &mut Cx<'_>,
    ) {
        rule!(cx.env, "P-ACC-7");
        rule!(cx.env, "P-CFG-9");
        let now = cx.now();
        let backoff = self.retry_backoff.backoff(self.batches[id].attempts, JITTER, cx);
        let batch = &mut self.batches[id];
        batch.attempts += 1;
        batch.last_attempt = now;
        batch.retry = true;
        batch.backoff = backoff;
        if !has_manager {
            self.push_front(id);
        } else if tracked {
            self.insert_in_sequence_order(id, &cx.env);
        }
    }

    fn push_front(&mut self, id: BatchId) {
        self.batches[id].queued = true;
        let partition = self.batches[id].partition;
        self.deques.get_or_default(partition).push_front(id);
    }

    /// In front of the first batch that has no sequence or one that is not lower. Only heads are drained, so
    /// what stands behind a retry waits for it (P-ACC-6).
    fn insert_in_sequence_order(&mut self, id: BatchId, env: &Env<'_>) {
        let batches = &mut self.batches;
        assert!(batches[id].has_sequence(), "a batch without a sequence was sent");
        batches[id].queued = true;
        let sequence = batches[id].base_sequence;
        let plain = env.on(Defect::UpstreamProducerWrapRetryReorders);
        let comes_after = |other: Sequence| {
            if plain { other >= sequence } else { !other.precedes(sequence) }
        };
        let deque = self.deques.get_or_default(batches[id].partition);
        let place = deque.iter().position(|&other| {
            !batches[other].has_sequence() || comes_after(batches[other].base_sequence)
        });
        deque.insert(place.unwrap_or(deque.len()), id);
    }

    /// P-ACC-8: replaces a batch that is too large by its parts.
    pub(crate) fn split_and_reenqueue(
        &mut self,
        id: BatchId,
        mut manager: Option<&mut TransactionManager>,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-ACC-8");
        let big = &self.batches[id];
        let target = if big.is_split { self.halved(id) } else { self.batch_size };
        let mut sequence = big.base_sequence.0;
        let parts = big.split(target);
        self.batches[id].final_state = Some(super::producer_batch::FinalState::Succeeded);
        self.incomplete -= 1;
        let mut children = Vec::new();
        for mut part in parts {
            part.last_attempt = env.now;
            let count = part.record_count();
            if manager.is_some() {
                part.base_sequence = eosim_types::Sequence(sequence);
                sequence = sequence.wrapping_add(count);
            }
            children.push(self.batches.insert(part));
            self.incomplete += 1;
        }
        for child in children.into_iter().rev() {
            match manager.as_deref_mut() {
                Some(manager) => {
                    manager.add_in_flight_batch(child, &mut self.batches);
                    self.insert_in_sequence_order(child, env);
                }
                None => self.push_front(child),
            }
        }
        self.batches.release_if_unused(id);
    }

    /// The target for a batch that is a part already.
    fn halved(&self, id: BatchId) -> i32 {
        let batch = &self.batches[id];
        let alone = |&record: &Record| {
            eosim_types::record::BATCH_OVERHEAD + eosim_types::record::record_size(0, record)
        };
        let largest = batch.records.iter().map(alone).max().unwrap_or(0);
        largest.max(batch.size / 2)
    }

    /// P-ACC-10: takes expired batches out of the deques, heads first.
    pub(crate) fn expired_batches(&mut self, env: &mut Env<'_>, expired: &mut Vec<BatchId>) {
        for deque in self.deques.values_mut() {
            while let Some(&head) = deque.front() {
                if !self.batches[head].has_reached_delivery_timeout(self.delivery_timeout, env.now)
                {
                    break;
                }
                rule!(env, "P-ACC-10");
                deque.pop_front();
                self.batches[head].queued = false;
                expired.push(head);
            }
        }
    }

    /// When the oldest head of a deque expires.
    pub(crate) fn next_expiry(&self) -> Instant {
        let heads = self.deques.values().filter_map(|deque| deque.front());
        heads.map(|&id| self.expiry(id)).min().unwrap_or(Instant::FAR)
    }

    /// When `id` expires.
    pub(crate) fn expiry(&self, id: BatchId) -> Instant {
        self.batches[id].created + self.delivery_timeout
    }

    pub(crate) const fn delivery_timeout(&self) -> Duration {
        self.delivery_timeout
    }

    /// P-ACC-11, P-ACC-12: the batches to abort: those without a sequence, or all.
    pub(crate) fn take_abortable(&mut self, all: bool) -> Vec<BatchId> {
        let batches = &self.batches;
        let wanted = |id: &BatchId| all || !batches[*id].has_sequence();
        let ids: Vec<_> = batches.incomplete().filter(wanted).collect();
        for deque in self.deques.values_mut() {
            deque.retain(|id| !ids.contains(id));
        }
        for &id in &ids {
            self.batches[id].queued = false;
        }
        ids
    }

    /// P-ACC-9.
    pub(crate) fn mute(&mut self, partition: TopicPartition) {
        self.muted.insert(partition);
    }

    /// P-ACC-9.
    pub(crate) fn unmute(&mut self, partition: TopicPartition) {
        self.muted.remove(&partition);
    }

    /// Are all batches that were open before the call `until` complete? Those of records whose
    /// `send()` threw are among them.
    pub(crate) fn is_flushed(&self, until: CallId) -> bool {
        self.batches.incomplete().all(|id| self.batches[id].opened_by > until)
    }
}
