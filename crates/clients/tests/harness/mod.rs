//! A producer in front of brokers that answer by script, in virtual time.
//!
//! Broker 1 leads every partition of topic `t`, broker 2 coordinates. Metadata and look-ups are
//! answered at once; whatever else goes out waits on the wire until a test answers it.
#![allow(dead_code, reason = "each test file uses its part of the harness")]

pub(crate) mod reader;

use std::collections::BTreeMap;
use std::sync::Arc;

use eosim_actor::{Correlation, Cx, Effect, Out, Scripted};
use eosim_clients::Exception;
use eosim_clients::producer::{
    Call, CallId, Outcome, Producer, ProducerIdAndEpoch, RecordOutcome, State,
    TransactionManagerDescription,
};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{
    AddPartitionsToTxnResponse, ApiVersionsResponse, CommittableOffset, EndTxnResponse,
    FindCoordinatorResponse, GroupMember, InitProducerIdResponse, Message, MetadataResponse,
    ProducePartitionResponse, ProduceResponse, Request, Response,
};
use eosim_types::metadata::{BrokerMetadata, MetadataImage, PartitionMetadata};
use eosim_types::observation::Observed;
use eosim_types::record::{Record, RecordBatch};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{
    ActorId, BrokerId, DefectSet, Duration, Env, ErrorCode, GroupId, Instant, LeaderEpoch, Marks,
    ProducerEpoch, ProducerId, Topic, TopicPartition, TransactionalId, Value,
};

/// Partition `n` of the topic.
pub(crate) fn t(n: i32) -> TopicPartition {
    TopicPartition::new(Topic(2), n)
}

/// The cluster's metadata: `partitions` partitions, all led by broker 1 in `leader_epoch`.
pub(crate) fn image(version: u64, partitions: i32, tv: TransactionVersion) -> Arc<MetadataImage> {
    let broker = BrokerMetadata { broker_epoch: 1, fenced: false, in_controlled_shutdown: false };
    let partition = PartitionMetadata {
        replicas: vec![BrokerId(1)],
        isr: vec![BrokerId(1)],
        elr: vec![],
        leader: Some(BrokerId(1)),
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    };
    Arc::new(MetadataImage {
        version,
        brokers: [(BrokerId(1), broker.clone()), (BrokerId(2), broker)].into(),
        partitions: (0..partitions).map(|n| (t(n), partition.clone())).collect(),
        transaction_version: tv,
    })
}

/// What a broker that knows `image` says of its features.
pub(crate) fn api_versions(image: &MetadataImage) -> ApiVersionsResponse {
    ApiVersionsResponse {
        kafka: KafkaVersion::V4_5,
        finalized_features_epoch: i64::try_from(image.version).unwrap(),
        transaction_version: image.transaction_version,
    }
}

/// The surroundings of a client at `now`: the newest release, no defect.
pub(crate) fn env(now: Instant, marks: &mut Marks) -> Env<'_> {
    let (kafka, defects) = (KafkaVersion::default(), DefectSet::NONE);
    Env {
        now,
        clock_skew_ms: 0,
        kafka,
        backports: eosim_types::CapabilitySet::NONE,
        defects,
        marks,
    }
}

/// A request that went out.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) to: ActorId,
    pub(crate) correlation: Correlation,
    pub(crate) request: Request,
}

/// The producer, its clock and the wire.
pub(crate) struct Harness {
    pub(crate) producer: Producer,
    pub(crate) now: Instant,
    pub(crate) defects: DefectSet,
    pub(crate) image: Arc<MetadataImage>,
    pub(crate) marks: Marks,
    /// ApiVersions is answered, as a broker of 4.5 does.
    pub(crate) answers_api_versions: bool,
    /// Unanswered requests in the order in which they went out.
    pub(crate) wire: Vec<Sent>,
    /// Everything that ever went out, metadata apart, as short text.
    pub(crate) log: Vec<String>,
    /// Every batch that ever went out, in order.
    pub(crate) produced: Vec<(TopicPartition, RecordBatch)>,
    pub(crate) returned: BTreeMap<CallId, Result<(), Exception>>,
    pub(crate) records: BTreeMap<CallId, RecordOutcome>,
    /// A record's future that completed twice.
    pub(crate) completed_twice: Vec<CallId>,
    pub(crate) next_offset: i64,
    /// The state before and after each turn and call that changed it.
    pub(crate) transitions: Vec<(State, State)>,
    pub(crate) choices: Scripted,
    values: u64,
}

/// Short waits, no linger, constant backoff of 100 ms.
pub(crate) fn config() -> ProducerConfig {
    ProducerConfig {
        linger: Duration::ZERO,
        retry_backoff_max: Duration::from_millis(100),
        delivery_timeout: Duration::from_millis(1_500),
        request_timeout: Duration::from_millis(1_000),
        reconnect_backoff: Duration::from_millis(10),
        ..ProducerConfig::default()
    }
}

impl Harness {
    pub(crate) fn new(config: &ProducerConfig, transactional_id: Option<u16>) -> Self {
        Self::with_image(config, transactional_id, image(1, 4, config.transaction_version))
    }

    pub(crate) fn with_image(
        config: &ProducerConfig,
        transactional_id: Option<u16>,
        image: Arc<MetadataImage>,
    ) -> Self {
        let id = transactional_id.map(TransactionalId);
        let brokers = [BrokerId(1), BrokerId(2)];
        let mut harness = Self {
            producer: Producer::new(config, id, &brokers),
            now: Instant::START,
            defects: DefectSet::NONE,
            image,
            marks: Marks::new(),
            answers_api_versions: true,
            wire: vec![],
            log: vec![],
            produced: vec![],
            returned: BTreeMap::new(),
            records: BTreeMap::new(),
            completed_twice: vec![],
            next_offset: 0,
            transitions: vec![],
            choices: Scripted::default(),
            values: 0,
        };
        harness.run();
        harness
    }

    /// An idempotent producer that has id 13131 at `producer_epoch`.
    pub(crate) fn idempotent(config: &ProducerConfig, producer_epoch: i16) -> Self {
        let mut harness = Self::new(config, None);
        harness.answer_init(0, ErrorCode::None, 13131, producer_epoch);
        harness
    }

    /// A transactional producer after `initTransactions()`, with id 13131 at epoch 1.
    pub(crate) fn transactional(config: &ProducerConfig) -> Self {
        let mut harness = Self::new(config, Some(1));
        let init = harness.call(Call::InitTransactions);
        harness.sleep(100);
        harness.answer_init(0, ErrorCode::None, 13131, 1);
        assert_eq!(harness.returned[&init], Ok(()));
        harness
    }

    fn with_cx<T>(
        &mut self,
        f: impl FnOnce(&mut Producer, &mut Cx<'_>, &mut Out<Message, Observed>) -> T,
    ) -> T {
        let mut out = Out::new();
        let env = Env {
            now: self.now,
            clock_skew_ms: 0,
            kafka: KafkaVersion::default(),
            backports: eosim_types::CapabilitySet::NONE,
            defects: self.defects,
            marks: &mut self.marks,
        };
        let mut cx = Cx { id: ActorId(9), env, choices: &mut self.choices };
        let before = self.producer.state();
        let result = f(&mut self.producer, &mut cx, &mut out);
        let change = before.zip(self.producer.state()).filter(|(before, after)| before != after);
        self.transitions.extend(change);
        for effect in out.drain() {
            match effect {
                Effect::Send { to, correlation, message: Message::Request(request), .. } => {
                    self.wire.push(Sent { to, correlation, request });
                }
                Effect::Close { to, .. } => self.wire.retain(|sent| sent.to != to),
                other => panic!("{other:?}"),
            }
        }
        result
    }

    /// Runs until the producer waits; answers Metadata and FindCoordinator on the way.
    pub(crate) fn run(&mut self) {
        let mut logged = self.wire.len();
        loop {
            let progress = self.with_cx(Producer::turn);
            for sent in &self.wire[logged.min(self.wire.len())..] {
                if let Request::Produce(request) = &sent.request {
                    self.produced.extend(request.partitions.iter().cloned());
                }
                if !matches!(sent.request, Request::ApiVersions(_) | Request::Metadata(_)) {
                    self.log.push(describe(&sent.request));
                }
            }
            self.answer_automatically();
            logged = self.wire.len();
            while let Some(outcome) = self.producer.pop_outcome() {
                self.learn(outcome);
            }
            if !progress {
                break;
            }
        }
    }

    /// Lets the sender take one step, after which the application hears what is new.
    pub(crate) fn turn_once(&mut self) {
        self.with_cx(Producer::turn);
        while let Some(outcome) = self.producer.pop_outcome() {
            self.learn(outcome);
        }
    }

    fn answer_automatically(&mut self) {
        let image = self.image.clone();
        for sent in std::mem::take(&mut self.wire) {
            let response: Response = match sent.request {
                Request::ApiVersions(_) if !self.answers_api_versions => continue,
                Request::ApiVersions(_) => api_versions(&image).into(),
                Request::Metadata(_) => MetadataResponse { image: image.clone() }.into(),
                Request::FindCoordinator(_) => {
                    FindCoordinatorResponse { error: ErrorCode::None, node: Some(BrokerId(2)) }
                        .into()
                }
                _ => {
                    self.wire.push(sent);
                    continue;
                }
            };
            self.producer.arrived(sent.correlation, Some(response));
        }
    }

    fn learn(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Returned { call, result } => {
                assert!(self.returned.insert(call, result).is_none(), "{call:?} returned twice");
            }
            Outcome::Record(record) => {
                let call = record.call;
                if self.records.insert(call, record).is_some() {
                    self.completed_twice.push(call);
                }
            }
            Outcome::RawProduced { .. } => {}
        }
    }

    /// Makes a call and runs.
    pub(crate) fn call(&mut self, call: Call) -> CallId {
        let id = self.call_only(call);
        self.run();
        id
    }

    /// Makes a call; the sender does not run.
    pub(crate) fn call_only(&mut self, call: Call) -> CallId {
        self.with_cx(|producer, cx, _| producer.call(call, cx))
    }

    /// `send()` of one small record, and run.
    pub(crate) fn send(&mut self, partition: i32) -> CallId {
        let id = self.send_only(partition);
        self.run();
        id
    }

    /// `send()` of one small record; the sender does not run.
    pub(crate) fn send_only(&mut self, partition: i32) -> CallId {
        self.values += 1;
        let record = Record { value: Value(self.values), key: None, value_bytes: 8 };
        self.call_only(Call::Send { partition: t(partition), record })
    }

    /// Lets `millis` pass, with a run at every instant at which the producer goes on.
    pub(crate) fn sleep(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        loop {
            self.run();
            let wake = self.producer.next_wake().max(self.now);
            if wake >= until {
                break;
            }
            self.now = wake;
        }
        self.now = until;
        self.run();
    }

    /// The sender's thread goes first, if chance says so.
    pub(crate) fn let_sender_in(&mut self) {
        self.with_cx(Producer::let_sender_in);
    }

    /// `sendOffsetsToTransaction()` of an offset of partition 0; the sender does not run.
    pub(crate) fn send_offsets_only(&mut self) -> CallId {
        let (partition, offset, leader_epoch) = (t(0), 1, LeaderEpoch::NONE);
        self.call_only(Call::SendOffsetsToTransaction {
            group: GroupId(1),
            member: GroupMember::NONE,
            offsets: vec![CommittableOffset { partition, offset, leader_epoch }],
        })
    }

    /// Takes TxnOffsetCommit off the wire.
    pub(crate) fn take_txn_offset_commit(&mut self) -> Sent {
        self.take(0, |request| matches!(request, Request::TxnOffsetCommit(_)))
    }

    fn take(&mut self, index: usize, wanted: impl Fn(&Request) -> bool) -> Sent {
        let places: Vec<_> = self.wire.iter().enumerate().collect();
        let found = places.iter().filter(|(_, sent)| wanted(&sent.request)).nth(index);
        let Some((place, _)) = found else { panic!("not on the wire: {:?}", self.wire) };
        self.wire.remove(*place)
    }

    /// Hands an answer over without letting the producer run.
    pub(crate) fn hand(&mut self, sent: &Sent, response: impl Into<Response>) {
        self.producer.arrived(sent.correlation, Some(response.into()));
    }

    /// Takes the `index`-th Produce off the wire.
    pub(crate) fn take_produce(&mut self, index: usize) -> Sent {
        self.take(index, |request| matches!(request, Request::Produce(_)))
    }

    /// Answers the `index`-th Produce on the wire: `error` for every partition of it.
    pub(crate) fn answer_produce(&mut self, index: usize, error: ErrorCode) {
        self.answer_produce_with(index, error, if error.is_none() { 0 } else { -1 });
    }

    /// The same with a log start offset.
    pub(crate) fn answer_produce_with(
        &mut self,
        index: usize,
        error: ErrorCode,
        log_start_offset: i64,
    ) {
        let sent = self.take_produce(index);
        let Request::Produce(request) = &sent.request else { unreachable!() };
        let mut partitions = vec![];
        for (partition, batch) in &request.partitions {
            let base_offset = if error.is_none() { self.next_offset } else { -1 };
            if error.is_none() {
                self.next_offset += i64::from(batch.record_count());
            }
            partitions.push(ProducePartitionResponse {
                partition: *partition,
                error,
                base_offset,
                log_append_time: -1,
                log_start_offset,
                record_errors: Vec::new(),
                current_leader: None,
            });
        }
        self.hand(&sent, ProduceResponse { partitions });
        self.run();
    }

    /// Answers the `index`-th InitProducerId on the wire.
    pub(crate) fn answer_init(
        &mut self,
        index: usize,
        error: ErrorCode,
        id: i64,
        producer_epoch: i16,
    ) {
        let sent = self.take(index, |request| matches!(request, Request::InitProducerId(_)));
        let (producer_id, producer_epoch) = (ProducerId(id), ProducerEpoch(producer_epoch));
        self.hand(&sent, InitProducerIdResponse::new(error, producer_id, producer_epoch));
        self.run();
    }

    /// Answers EndTxn as a coordinator of its version does: version 5 with the next epoch.
    pub(crate) fn answer_end_txn(&mut self, error: ErrorCode) {
        let sent = self.take(0, |request| matches!(request, Request::EndTxn(_)));
        let Request::EndTxn(request) = &sent.request else { unreachable!() };
        let bumps = request.version >= 5 && error.is_none();
        let (id, producer_epoch) = if bumps {
            (request.producer_id, request.producer_epoch.next().expect("a next epoch"))
        } else {
            (ProducerId::NONE, ProducerEpoch::NONE)
        };
        self.hand(&sent, EndTxnResponse { error, producer_id: id, producer_epoch });
        self.run();
    }

    /// Answers AddPartitionsToTxn with one error per partition.
    pub(crate) fn answer_add_partitions(&mut self, errors: &[ErrorCode]) {
        let sent = self.take(0, |request| matches!(request, Request::AddPartitionsToTxn(_)));
        let Request::AddPartitionsToTxn(request) = &sent.request else { unreachable!() };
        let partitions = request.transactions[0].partitions.iter().copied();
        let results = partitions.zip(errors.iter().copied()).collect();
        let results = [(TransactionalId(1), results)].into();
        self.hand(&sent, AddPartitionsToTxnResponse { error: ErrorCode::None, results });
        self.run();
    }

    /// Breaks the connection to broker `id`.
    pub(crate) fn disconnect(&mut self, id: u16) {
        let broken: Vec<_> = self.wire.extract_if(.., |sent| sent.to == ActorId(id)).collect();
        for sent in broken {
            self.producer.arrived(sent.correlation, None);
        }
        self.run();
    }

    /// What is on the wire, in short.
    pub(crate) fn on_wire(&self) -> Vec<String> {
        self.wire.iter().map(|sent| describe(&sent.request)).collect()
    }

    pub(crate) fn manager(&self) -> TransactionManagerDescription {
        self.producer.describe().expect("an idempotent producer")
    }

    /// Next sequence, last acknowledged sequence and offset, batches in flight, of partition `n`.
    pub(crate) fn numbering(&self, n: i32) -> (i32, i32, i64, usize) {
        let manager = self.manager();
        let found = manager.partitions.iter().find(|(partition, _)| *partition == t(n));
        let (_, entry) = found.expect("the partition has an entry");
        (entry.next_sequence, entry.last_acked_sequence, entry.last_acked_offset, entry.in_flight)
    }

    pub(crate) fn epoch(&self) -> i16 {
        self.producer.producer_id_and_epoch().producer_epoch.0
    }

    pub(crate) fn id_and_epoch(&self) -> (i64, i16) {
        let ProducerIdAndEpoch { producer_id, producer_epoch } =
            self.producer.producer_id_and_epoch();
        (producer_id.0, producer_epoch.0)
    }

    pub(crate) fn state(&self) -> &'static str {
        self.producer.state().expect("an idempotent producer").name()
    }

    /// The error of a call that threw.
    pub(crate) fn thrown(&self, call: CallId) -> Exception {
        self.returned[&call].clone().expect_err("the call threw")
    }

    /// The error of a record's future, `None` for success.
    pub(crate) fn failure(&self, call: CallId) -> Option<ErrorCode> {
        self.records[&call].result.as_ref().err().map(Exception::error_code)
    }

    /// Is the record's future complete?
    pub(crate) fn is_complete(&self, call: CallId) -> bool {
        self.records.contains_key(&call)
    }
}

/// A request in short: `t-0 e1 s0+2` is a batch of two records with base sequence 0 at epoch 1.
pub(crate) fn describe(request: &Request) -> String {
    match request {
        Request::Produce(request) => {
            let batches = request.partitions.iter().map(|(tp, batch)| {
                let count = batch.record_count();
                let (epoch, sequence) = (batch.producer_epoch, batch.base_sequence);
                format!("t-{} e{epoch} s{sequence}+{count}", tp.partition)
            });
            batches.collect::<Vec<_>>().join(", ")
        }
        Request::FindCoordinator(_) => "FindCoordinator".into(),
        Request::InitProducerId(r) => {
            format!("InitProducerId({}, {})", r.producer_id, r.producer_epoch)
        }
        Request::EndTxn(r) => {
            let what = if r.committed { "commit" } else { "abort" };
            format!("EndTxn v{} {what} e{}", r.version, r.producer_epoch)
        }
        Request::AddPartitionsToTxn(r) => {
            let partitions = r.transactions[0].partitions.iter();
            let names: Vec<_> = partitions.map(|tp| format!("t-{}", tp.partition)).collect();
            format!("AddPartitionsToTxn {}", names.join(" "))
        }
        other => other.api().name().into(),
    }
}
