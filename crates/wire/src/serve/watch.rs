//! What the checker hears of clients elsewhere: what they send and what they are answered.
//!
//! Nobody tells what an application wants, so the history is that of the protocol: a batch that
//! arrives was sent, a batch that is answered without an error is acknowledged, an EndTxn is a
//! call of commit or abort, and what a fetch gives, less what a consumer drops (K-FILT), is read.
//! What is not understood stays unknown. Sent again, a batch is the same batch (L-DUP-1); so is one
//! that says the same under another sequence, in the same transaction, after the answer to the first
//! was lost: whoever does that has sent a record twice that was to be there once.
//!
//! Who transforms what is said from outside, and records say in a header what they were made from.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use eosim_actor::Correlation;
use eosim_runner::served::{PLAIN, Served};
use eosim_types::message::{
    EndTxnRequest, EndTxnResponse, FetchPartitionResponse, FetchRequest, FetchResponse,
    InitProducerIdRequest, InitProducerIdResponse, IsolationLevel, ProduceRequest, ProduceResponse,
    Request, Response, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};
use eosim_types::observation::{EndOutcome, Observed, SendOutcome, TransactionRef};
use eosim_types::record::{Payload, Record, RecordBatch, TransactionResult};
use eosim_types::{
    ActorId, ErrorCode, ProducerEpoch, ProducerId, Sequence, TopicPartition, TransactionalId, Value,
};

use super::session::ConnectionId;
use crate::Dictionary;

/// Producers and readers are numbered from here on, far above the network's numbers.
const FIRST_ACTOR: u16 = 1_000;
/// No more of them are told apart; what others do is not judged.
const ACTORS_MAX: u16 = 60_000;
/// How many batches of a producer and partition are known again; brokers know five (L-DUP-1).
const BATCHES_KNOWN: usize = 10;

/// One life of a producer, as its coordinator knows it.
#[derive(Clone, Debug)]
struct Producer {
    actor: ActorId,
    session: u32,
    /// The transaction that is open, as far as requests tell.
    open: Option<TransactionRef>,
    /// Its end was asked for.
    ending: bool,
    transactions: u32,
}

/// A batch that was sent.
#[derive(Clone, Debug)]
struct Sent {
    epoch: ProducerEpoch,
    sequence: Sequence,
    values: Vec<Value>,
    transaction: Option<TransactionRef>,
    acknowledged: bool,
    /// Its connection is gone, and with it the answer.
    in_doubt: bool,
}

/// Who reads over a connection, and up to where.
struct Reader {
    actor: ActorId,
    positions: BTreeMap<TopicPartition, i64>,
}

/// Follows clients by their requests.
#[derive(Default)]
pub(super) struct Watcher {
    actors: u16,
    producers: Vec<Producer>,
    /// Which life has a producer id, from an epoch on.
    lives: BTreeMap<(ProducerId, ProducerEpoch), usize>,
    /// Who has a transactional id, and how often it was taken up.
    holders: BTreeMap<TransactionalId, (ActorId, u32)>,
    batches: BTreeMap<(ProducerId, TopicPartition), VecDeque<Sent>>,
    readers: BTreeMap<ConnectionId, Reader>,
    /// What was asked, until it is answered.
    asked: BTreeMap<Correlation, (ConnectionId, Request)>,
}

impl Watcher {
    /// A request goes to the cluster. A batch that is sent again gets the numbers that its records
    /// had before.
    pub(super) fn sent(
        &mut self,
        connection: ConnectionId,
        correlation: Correlation,
        request: &mut Request,
        names: &mut Dictionary,
        served: &mut Served,
    ) {
        match request {
            Request::Produce(produce) => self.produce(produce, names, served),
            Request::EndTxn(end) => self.end(end, served),
            Request::TxnOffsetCommit(commit) => {
                if let Some(life) = self.life(commit.producer_id, commit.producer_epoch) {
                    self.transaction(life, served);
                }
            }
            Request::DeleteRecords(order) => {
                // Below 0 means up to the high watermark, whatever that is when it is carried out.
                let offset = if order.offset < 0 { i64::MAX } else { order.offset };
                served.deleted(order.partition, offset);
                return;
            }
            Request::Fetch(_) | Request::InitProducerId(_) => {}
            _ => return,
        }
        self.asked.insert(correlation, (connection, request.clone()));
    }

    /// A request was answered, and the client is told.
    pub(super) fn answered(
        &mut self,
        correlation: Correlation,
        response: &Response,
        served: &mut Served,
    ) {
        let Some((connection, request)) = self.asked.remove(&correlation) else { return };
        match (&request, response) {
            (Request::Produce(asked), Response::Produce(r)) => self.produced(asked, r, served),
            (Request::EndTxn(asked), Response::EndTxn(r)) => self.ended(asked, r, served),
            (Request::InitProducerId(asked), Response::InitProducerId(r)) => {
                self.initialized(asked, r, served);
            }
            (Request::TxnOffsetCommit(asked), Response::TxnOffsetCommit(r)) => {
                self.offsets_sent(asked, r, served);
            }
            (Request::Fetch(asked), Response::Fetch(r)) => {
                self.fetched(connection, asked, r, served);
            }
            _ => {}
        }
    }

    /// A request will not be answered.
    pub(super) fn lost(&mut self, correlation: Correlation) {
        if let Some((_, Request::Produce(produce))) = self.asked.remove(&correlation) {
            self.doubt(&produce);
        }
    }

    /// Nobody knows what became of what was sent.
    fn doubt(&mut self, produce: &ProduceRequest) {
        for (partition, batch) in &produce.partitions {
            if let Some(sent) = self.known(*partition, batch) {
                sent.in_doubt = true;
            }
        }
    }

    /// What is known of a batch whose records have their numbers.
    fn known(&mut self, partition: TopicPartition, batch: &RecordBatch) -> Option<&mut Sent> {
        let first = batch.records().first().map(|record| record.value);
        let known = self.batches.get_mut(&(batch.producer_id, partition))?;
        known.iter_mut().find(|sent| sent.values.first().copied() == first)
    }

    /// A connection is gone, with whoever read over it.
    pub(super) fn closed(&mut self, connection: ConnectionId) {
        self.readers.remove(&connection);
        let own = |(_, (owner, _)): &(&Correlation, &(ConnectionId, Request))| *owner == connection;
        let lost: Vec<Correlation> = self.asked.iter().filter(own).map(|(of, _)| *of).collect();
        lost.into_iter().for_each(|correlation| self.lost(correlation));
    }

    fn actor(&mut self) -> Option<ActorId> {
        self.actors += u16::from(self.actors < ACTORS_MAX);
        (self.actors < ACTORS_MAX).then(|| ActorId(FIRST_ACTOR + self.actors))
    }

    /// The life that has this id and epoch.
    fn life(&self, id: ProducerId, epoch: ProducerEpoch) -> Option<usize> {
        let first = (id, ProducerEpoch(0));
        self.lives.range(first..=(id, epoch.max(ProducerEpoch(0)))).next_back().map(|(_, &at)| at)
    }

    fn initialized(
        &mut self,
        asked: &InitProducerIdRequest,
        r: &InitProducerIdResponse,
        served: &mut Served,
    ) {
        if !r.error.is_none() {
            return;
        }
        let resumed = self.life(asked.producer_id, asked.producer_epoch);
        if let Some(life) = resumed.filter(|_| asked.producer_id != ProducerId::NONE) {
            // KIP-360: the same producer goes on with another epoch.
            self.producers[life].open = None;
            self.producers[life].ending = false;
            self.lives.insert((r.producer_id, r.producer_epoch), life);
            return;
        }
        let held = asked.transactional_id.and_then(|id| self.holders.get(&id).copied());
        let Some((actor, session)) = held.or_else(|| Some((self.actor()?, 0))) else { return };
        if let Some(id) = asked.transactional_id {
            self.holders.insert(id, (actor, session + 1));
        }
        let producer = Producer { actor, session, open: None, ending: false, transactions: 0 };
        self.lives.insert((r.producer_id, r.producer_epoch), self.producers.len());
        self.producers.push(producer);
        let transactional_id = asked.transactional_id;
        served.observe(actor, Observed::ProducerOpened { session, transactional_id });
        if transactional_id.is_some() {
            served.observe(actor, Observed::TransactionsInitialized { session });
        }
    }

    /// The transaction of a life, begun if there is none.
    fn transaction(&mut self, life: usize, served: &mut Served) -> TransactionRef {
        let producer = &mut self.producers[life];
        if let Some(open) = producer.open {
            return open;
        }
        producer.transactions += 1;
        producer.ending = false;
        let transaction = TransactionRef {
            producer: producer.actor,
            session: producer.session,
            number: producer.transactions,
        };
        producer.open = Some(transaction);
        served.observe(producer.actor, Observed::TransactionBegun { transaction });
        transaction
    }

    fn produce(
        &mut self,
        request: &mut ProduceRequest,
        names: &mut Dictionary,
        served: &mut Served,
    ) {
        let promises = request.acks == -1;
        for (partition, batch) in &mut request.partitions {
            let life = self.life(batch.producer_id, batch.producer_epoch).filter(|_| promises);
            let open = life.filter(|_| batch.is_transactional);
            let open = open.map(|life| self.transaction(life, served));
            if life.is_some() && self.is_sent_again(*partition, batch, open, names) {
                continue;
            }
            let (actor, session) = life.map_or((PLAIN, 0), |life| {
                (self.producers[life].actor, self.producers[life].session)
            });
            let values: Vec<Value> = batch.records().iter().map(|record| record.value).collect();
            let inputs = inputs(*partition, &values, names, served);
            for (at, &value) in values.iter().enumerate() {
                let (partition, transaction) = (*partition, open);
                let input = inputs.get(at).copied().flatten();
                let what = Observed::SendCalled { value, partition, session, transaction, input };
                served.observe(actor, what);
            }
            if life.is_some() {
                self.remember(*partition, batch, open, values);
            }
        }
    }

    fn remember(
        &mut self,
        partition: TopicPartition,
        batch: &RecordBatch,
        transaction: Option<TransactionRef>,
        values: Vec<Value>,
    ) {
        let known = self.batches.entry((batch.producer_id, partition)).or_default();
        let (epoch, sequence) = (batch.producer_epoch, batch.base_sequence);
        let (acknowledged, in_doubt) = (false, false);
        known.push_back(Sent { epoch, sequence, values, transaction, acknowledged, in_doubt });
        if known.len() > BATCHES_KNOWN {
            known.pop_front();
        }
    }

    /// Is it a batch that was sent before, byte for byte, or what it says was sent in vain for all
    /// that its sender knows? Then its records are those.
    fn is_sent_again(
        &mut self,
        partition: TopicPartition,
        batch: &mut RecordBatch,
        transaction: Option<TransactionRef>,
        names: &mut Dictionary,
    ) -> bool {
        let first = batch.records().first().map(|record| record.value);
        let Some(first) = first else { return false };
        let Some(known) = self.batches.get_mut(&(batch.producer_id, partition)) else {
            return false;
        };
        let count = batch.records().len();
        let epoch = batch.producer_epoch;
        let mut alike =
            known.iter_mut().filter(|sent| (sent.epoch, sent.values.len()) == (epoch, count));
        let before = |sent: &Sent| sent.values.first().copied().unwrap_or(first);
        let is_same = |sent: &&mut Sent| {
            sent.sequence == batch.base_sequence && names.says_the_same(first, before(sent))
        };
        let repeats = |sent: &&mut Sent| {
            let doubted = sent.in_doubt && !sent.acknowledged && sent.transaction == transaction;
            doubted && names.repeats(first, before(sent))
        };
        let Some(sent) = alike.find(|sent| is_same(sent) || repeats(sent)) else { return false };
        sent.in_doubt = false;
        let records = batch.records().iter().zip(&sent.values);
        let records: Vec<Record> =
            records.map(|(record, &value)| Record { value, ..*record }).collect();
        names.forget(first);
        batch.payload = Payload::Records(records.into());
        true
    }

    fn produced(&mut self, asked: &ProduceRequest, r: &ProduceResponse, served: &mut Served) {
        for (partition, batch) in &asked.partitions {
            let answer = r.partitions.iter().find(|answer| answer.partition == *partition);
            let Some(answer) = answer else { continue };
            let offset = match answer.error {
                ErrorCode::None => Some(answer.base_offset).filter(|&offset| offset >= 0),
                ErrorCode::DuplicateSequenceNumber => None,
                _ => continue,
            };
            let Some(life) = self.life(batch.producer_id, batch.producer_epoch) else { continue };
            let actor = self.producers[life].actor;
            let sent = self.known(*partition, batch).filter(|sent| !sent.acknowledged);
            let Some(sent) = sent else { continue };
            sent.acknowledged = true;
            for (value, number) in sent.values.iter().zip(0..) {
                let offset = offset.map(|base| base + number);
                let outcome = SendOutcome::Acknowledged { offset };
                let (value, partition) = (*value, *partition);
                served.observe(actor, Observed::SendAnswered { value, partition, outcome });
            }
        }
    }

    fn end(&mut self, request: &EndTxnRequest, served: &mut Served) {
        let life = self.life(request.producer_id, request.producer_epoch);
        let Some(producer) = life.map(|life| &mut self.producers[life]) else { return };
        let Some(transaction) = producer.open.filter(|_| !producer.ending) else { return };
        producer.ending = true;
        let commit = request.committed;
        served.observe(producer.actor, Observed::EndCalled { transaction, commit });
    }

    fn ended(&mut self, asked: &EndTxnRequest, r: &EndTxnResponse, served: &mut Served) {
        let Some(life) = self.life(asked.producer_id, asked.producer_epoch) else { return };
        // The epochs of a life are known by its first.
        let is_new = self.life(r.producer_id, r.producer_epoch) != Some(life);
        if r.error.is_none() && r.producer_id != ProducerId::NONE && is_new {
            self.lives.entry((r.producer_id, r.producer_epoch)).or_insert(life);
        }
        let producer = &mut self.producers[life];
        if r.error.is_retriable() {
            return;
        }
        let Some(transaction) = producer.open.take() else { return };
        producer.ending = false;
        let outcome = match r.error {
            ErrorCode::None => EndOutcome::Done,
            error => EndOutcome::Unknown { error },
        };
        let commit = asked.committed;
        served.observe(producer.actor, Observed::EndAnswered { transaction, commit, outcome });
    }

    fn offsets_sent(
        &mut self,
        asked: &TxnOffsetCommitRequest,
        r: &TxnOffsetCommitResponse,
        served: &mut Served,
    ) {
        let Some(life) = self.life(asked.producer_id, asked.producer_epoch) else { return };
        let Some(transaction) = self.producers[life].open else { return };
        if r.partitions.iter().all(|(_, error)| error.is_none()) {
            let offsets = asked.offsets.iter().map(|o| (o.partition, o.offset)).collect();
            let (group, error) = (asked.group, ErrorCode::None);
            let what = Observed::OffsetsSent { transaction, group, offsets, error };
            served.observe(self.producers[life].actor, what);
        }
    }

    fn fetched(
        &mut self,
        connection: ConnectionId,
        asked: &FetchRequest,
        r: &FetchResponse,
        served: &mut Served,
    ) {
        if !self.readers.contains_key(&connection) {
            let Some(actor) = self.actor() else { return };
            self.readers.insert(connection, Reader { actor, positions: BTreeMap::new() });
        }
        let reader = self.readers.get_mut(&connection).expect("it is there");
        for answer in &r.partitions {
            let at = asked.partitions.iter().find(|p| p.partition == answer.partition);
            let Some(from) = at.map(|p| p.fetch_offset) else { continue };
            let Some(last) = answer.batches.last() else { continue };
            let partition = answer.partition;
            if partition.topic.is_internal() || !answer.error.is_none() {
                continue;
            }
            if reader.positions.get(&partition) != Some(&from) {
                served.observe(reader.actor, Observed::PositionSet { partition, offset: from });
            }
            let isolation_level = asked.isolation_level;
            let (to, bound) = match isolation_level {
                IsolationLevel::ReadUncommitted => (last.next_offset(), answer.high_watermark),
                IsolationLevel::ReadCommitted => (last.next_offset(), answer.last_stable_offset),
            };
            let records = taken(answer, isolation_level, from);
            reader.positions.insert(partition, to);
            let what = Observed::Polled { partition, isolation_level, from, to, records, bound };
            served.observe(reader.actor, what);
        }
    }
}

/// What each record says that it was made from, as far as somebody is said to make one of the other.
fn inputs(
    output: TopicPartition,
    values: &[Value],
    names: &mut Dictionary,
    served: &Served,
) -> Vec<Option<(TopicPartition, i64)>> {
    let Some(&first) = values.first().filter(|_| served.takes_results(output.topic)) else {
        return Vec::new();
    };
    let is_result = |input: &(TopicPartition, i64)| served.is_result(input.0.topic, output.topic);
    let said = names.inputs(first).into_iter();
    said.map(|input| input.filter(is_result)).collect()
}

/// What a consumer gives to its application (K-FILT): no markers, and read_committed nothing of
/// aborted transactions.
fn taken(
    answer: &FetchPartitionResponse,
    isolation_level: IsolationLevel,
    from: i64,
) -> Vec<(i64, Value)> {
    let mut aborted = answer.aborted_transactions.clone();
    aborted.sort_unstable_by_key(|aborted| -aborted.first_offset);
    let mut open: BTreeSet<ProducerId> = BTreeSet::new();
    let mut records = Vec::new();
    for batch in &answer.batches {
        if isolation_level == IsolationLevel::ReadCommitted {
            while let Some(next) = aborted.pop_if(|next| next.first_offset <= batch.last_offset()) {
                open.insert(next.producer_id);
            }
            if batch.marker().is_some_and(|marker| marker.result == TransactionResult::Abort) {
                open.remove(&batch.producer_id);
            }
            if batch.is_transactional && open.contains(&batch.producer_id) {
                continue;
            }
        }
        let numbered = (batch.base_offset..).zip(batch.records());
        let behind = numbered.filter(|(offset, _)| *offset >= from);
        records.extend(behind.map(|(offset, record)| (offset, record.value)));
    }
    records
}
