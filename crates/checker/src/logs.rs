//! The dumped logs as facts: which replica has the say, where each record lies, and how its
//! transaction ended there.
//!
//! No Kafka counterpart. From brokers nothing but the dump is read. Where a dump cannot tell (no
//! leader, deleted head, compaction) the answer is "unknown".

use std::collections::BTreeMap;

use eosim_types::observation::{ClusterDump, ReplicaDump, SendOutcome};
use eosim_types::record::{RecordBatch, TransactionResult};
use eosim_types::{
    BrokerId, LeaderEpoch, ProducerEpoch, ProducerId, SortedMap, TopicPartition, Value,
};

use crate::facts::{Facts, Index, Send, partition_key};
use crate::replay::{Ended, Replay};
use crate::setup::CheckerSetup;
use crate::table::{Table, index};
use crate::words;

/// What became of a record, as the log of its partition says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// Not transactional: visible as soon as it is stable.
    Plain,
    /// No marker yet.
    Open,
    /// The marker at that offset committed it.
    Committed(i64),
    /// The marker at that offset aborted it.
    Aborted(i64),
}

impl Fate {
    /// Will a read_committed reader be given it?
    pub(crate) fn is_visible(self) -> bool {
        matches!(self, Self::Plain | Self::Committed(_))
    }

    fn of(ended: Ended) -> Self {
        match ended.result {
            TransactionResult::Commit => Self::Committed(ended.marker_offset),
            TransactionResult::Abort => Self::Aborted(ended.marker_offset),
        }
    }
}

/// One record of a leader's log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) partition: TopicPartition,
    pub(crate) offset: i64,
    pub(crate) value: Value,
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) fate: Fate,
    /// The newest send of its value.
    pub(crate) send: Option<Index>,
    /// Another place of the same value.
    pub(crate) next_of_value: Option<Index>,
}

/// One data batch of a transaction in a leader's log: where it lies and how it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransactionalBatch {
    pub(crate) partition: TopicPartition,
    pub(crate) base_offset: i64,
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) ended: Option<Ended>,
    /// Its records, in [`Logs::places`].
    places: (Index, Index),
    /// The batch before it in the same transaction.
    earlier: Option<Index>,
}

/// The log of one partition at the replica that has the say.
#[derive(Clone, Debug)]
pub(crate) struct LeaderLog {
    pub(crate) partition: TopicPartition,
    /// In [`ClusterDump::replicas`].
    pub(crate) replica: usize,
    /// When ([`When::order`](crate::facts::When)) a sender first learned that a record lies here: what was
    /// sent after that lies behind it.
    first_answer: u64,
    first: Index,
    end: Index,
}

/// A broker that leads a partition under one leader epoch.
type Leadership = (BrokerId, TopicPartition, LeaderEpoch);

/// How far a leader's log is committed and stable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) high_watermark: i64,
    pub(crate) last_stable_offset: i64,
}

/// A leader that has taken back what was committed or stable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retreat {
    pub(crate) leadership: Leadership,
    pub(crate) before: Bounds,
    pub(crate) now: Bounds,
}

/// Is a record in the logs?
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence<'a> {
    /// It is.
    At(&'a Place),
    /// It is not, and would have to be if it had ever been committed.
    Missing,
    /// The logs cannot tell.
    Unknown,
}

/// All logs of a dump; memory is kept from dump to dump.
#[derive(Default, Debug)]
pub(crate) struct Logs {
    pub(crate) leaders: Vec<LeaderLog>,
    pub(crate) places: Vec<Place>,
    /// Of user topics and of `__consumer_offsets`.
    pub(crate) batches: Vec<TransactionalBatch>,
    /// Leaders that hold less to be committed or stable than in the dump before.
    pub(crate) retreats: Vec<Retreat>,
    bounds: BTreeMap<Leadership, Bounds>,
    /// One for each replica of the dump.
    replays: Vec<Replay>,
    leader_at: Table,
    place_at: Table,
    /// In the log being read: the newest batch of each producer whose transaction has no marker yet.
    open: SortedMap<ProducerId, Index>,
}

impl Logs {
    /// Reads `dump` in place of what was read before; where records lie is noted only if their
    /// sends are given.
    pub(crate) fn read(&mut self, dump: &ClusterDump, sends: Option<&Facts>) {
        self.clear();
        while self.replays.len() < dump.replicas.len() {
            self.replays.push(Replay::default());
        }
        self.choose_leaders(dump);
        self.compare_bounds(dump);
        for (at, replica) in dump.replicas.iter().enumerate() {
            let leads = self.leader(replica.partition).is_some_and(|log| log.replica == at);
            self.read_replica(at, replica, sends.filter(|_| leads));
        }
    }

    /// Forgets the run.
    pub(crate) fn reset(&mut self) {
        self.clear();
        self.bounds.clear();
    }

    fn compare_bounds(&mut self, dump: &ClusterDump) {
        let seen = |replica: &&ReplicaDump| replica.is_leader && !replica.unseen.bounds;
        for replica in dump.replicas.iter().filter(seen) {
            let leadership = (replica.broker, replica.partition, replica.leader_epoch);
            let now = Bounds {
                high_watermark: replica.high_watermark,
                last_stable_offset: replica.last_stable_offset,
            };
            let before = self.bounds.insert(leadership, now).unwrap_or(now);
            if now.high_watermark < before.high_watermark
                || now.last_stable_offset < before.last_stable_offset
            {
                self.retreats.push(Retreat { leadership, before, now });
            }
        }
    }

    /// Forgets the dump.
    fn clear(&mut self) {
        self.retreats.clear();
        self.leaders.clear();
        self.places.clear();
        self.batches.clear();
        self.leader_at.clear();
        self.place_at.clear();
    }

    /// The replay of the replica at place `at` of the dump.
    pub(crate) fn replay(&self, at: usize) -> &Replay {
        &self.replays[at]
    }

    /// The log that has the say in `partition`.
    pub(crate) fn leader(&self, partition: TopicPartition) -> Option<&LeaderLog> {
        let at = self.leader_at.get(partition_key(partition))?;
        self.leaders.get(at as usize)
    }

    /// The records of `log`, by offset.
    pub(crate) fn places_of(&self, log: &LeaderLog) -> &[Place] {
        &self.places[log.first as usize..log.end as usize]
    }

    /// All places of the value whose newest send is `send`.
    pub(crate) fn copies(&self, send: &Send) -> impl Iterator<Item = &Place> {
        self.places_by_value(send.value)
    }

    /// All places of `value`.
    pub(crate) fn places_by_value(&self, value: Value) -> impl Iterator<Item = &Place> {
        let at = |index: Index| &self.places[index as usize];
        let first = self.place_at.get(value.0).map(at);
        core::iter::successors(first, move |place| place.next_of_value.map(at))
    }

    /// Why `send`, which was to be committed, never will be: in a word, and for people. `None` if it
    /// is, still may be, or cannot be told. To be asked only for values that were sent once.
    pub(crate) fn loss(
        &self,
        setup: &CheckerSetup,
        dump: &ClusterDump,
        send: &Send,
    ) -> Option<(&'static str, String)> {
        let fate = match self.presence(setup, dump, send) {
            Presence::Missing => return Some(("not in the log", "not in the log".to_string())),
            Presence::At(place) => place.fate,
            Presence::Unknown => return None,
        };
        match fate {
            Fate::Aborted(_) => Some(("ABORT marker", words::fate(fate))),
            Fate::Open if dump.healed => Some(("no marker", words::fate(fate))),
            _ => None,
        }
    }

    /// Where `send` lies in its partition. To be asked only for values that were sent once.
    pub(crate) fn presence(
        &self,
        setup: &CheckerSetup,
        dump: &ClusterDump,
        send: &Send,
    ) -> Presence<'_> {
        if let Some(place) = self.copies(send).find(|place| place.partition == send.partition) {
            return Presence::At(place);
        }
        let topic = send.partition.topic;
        let Some(log) = self.leader(send.partition) else {
            return Presence::Unknown;
        };
        if !setup.is_durable(topic) || setup.compacted.contains(&topic) {
            return Presence::Unknown;
        }
        if setup.may_lose_head(send.partition) {
            let log_start_offset = dump.replicas[log.replica].log_start_offset;
            let offset = match send.outcome {
                Some(SendOutcome::Acknowledged { offset }) => offset,
                _ => None,
            };
            let is_kept = log_start_offset == 0
                || send.called.order > log.first_answer
                || offset.is_some_and(|at| at >= log_start_offset);
            return if is_kept { Presence::Missing } else { Presence::Unknown };
        }
        Presence::Missing
    }

    /// In each partition the leader has the say, if no replica knows of a later leader.
    fn choose_leaders(&mut self, dump: &ClusterDump) {
        for (at, replica) in dump.replicas.iter().enumerate() {
            let key = partition_key(replica.partition);
            match self.leader_at.get(key) {
                Some(known) => {
                    let known = &mut self.leaders[known as usize];
                    let best = &dump.replicas[known.replica];
                    let rank = |of: &ReplicaDump| (of.leader_epoch, of.is_leader);
                    if rank(replica) > rank(best) {
                        known.replica = at;
                    }
                }
                None => {
                    self.leader_at.put(key, index(self.leaders.len()));
                    let partition = replica.partition;
                    self.leaders.push(LeaderLog {
                        partition,
                        replica: at,
                        first_answer: u64::MAX,
                        first: 0,
                        end: 0,
                    });
                }
            }
        }
        self.leaders.retain(|log| dump.replicas[log.replica].is_leader);
        self.leader_at.clear();
        for (at, log) in self.leaders.iter().enumerate() {
            self.leader_at.put(partition_key(log.partition), index(at));
        }
    }

    /// `sends` are given for a log that has the say.
    fn read_replica(&mut self, at: usize, replica: &ReplicaDump, sends: Option<&Facts>) {
        let mut replay = core::mem::take(&mut self.replays[at]);
        replay.begin();
        let first = index(self.places.len());
        self.open.clear();
        for batch in &replica.batches {
            let ended = replay.step(batch);
            if let Some(sends) = sends {
                self.read_batch(sends, replica.partition, batch);
                if let Some(ended) = ended {
                    self.end(ended);
                }
            }
        }
        self.replays[at] = replay;
        if let Some(log) = self.leader_at.get(partition_key(replica.partition))
            && let Some(facts) = sends
        {
            let end = index(self.places.len());
            let places = &self.places[first as usize..end as usize];
            let sends = places.iter().filter_map(|place| place.send);
            let first_answer = sends.filter_map(|at| first_answer(facts, at)).min();
            let log = &mut self.leaders[log as usize];
            (log.first, log.end) = (first, end);
            log.first_answer = first_answer.unwrap_or(u64::MAX);
        }
    }

    fn read_batch(&mut self, facts: &Facts, partition: TopicPartition, batch: &RecordBatch) {
        let is_open = batch.is_transactional && batch.has_producer_id();
        let first = index(self.places.len());
        for (offset, record) in (batch.base_offset..).zip(batch.records()) {
            let new = index(self.places.len());
            self.places.push(Place {
                partition,
                offset,
                value: record.value,
                producer_id: batch.producer_id,
                producer_epoch: batch.producer_epoch,
                fate: if is_open { Fate::Open } else { Fate::Plain },
                send: facts.send_of(record.value),
                next_of_value: self.place_at.put(record.value.0, new),
            });
        }
        if is_open && !batch.is_control() {
            let new = index(self.batches.len());
            self.batches.push(TransactionalBatch {
                partition,
                base_offset: batch.base_offset,
                producer_id: batch.producer_id,
                producer_epoch: batch.producer_epoch,
                ended: None,
                places: (first, index(self.places.len())),
                earlier: self.open.get(batch.producer_id).copied(),
            });
            self.open.insert(batch.producer_id, new);
        }
    }

    /// A marker ended the open transaction of a producer.
    fn end(&mut self, ended: Ended) {
        let mut newest = self.open.remove(ended.producer_id);
        while let Some(at) = newest {
            let batch = &mut self.batches[at as usize];
            batch.ended = Some(ended);
            let (first, end) = batch.places;
            for place in &mut self.places[first as usize..end as usize] {
                place.fate = Fate::of(ended);
            }
            newest = batch.earlier;
        }
    }
}

/// When the sender of a record learned that it is there, if its value tells which send that was.
fn first_answer(facts: &Facts, send: Index) -> Option<u64> {
    let fact = facts.send(send);
    let is_acknowledged = matches!(fact.outcome, Some(SendOutcome::Acknowledged { .. }));
    (is_acknowledged && facts.is_unique(send)).then_some(fact.answered.order)
}
