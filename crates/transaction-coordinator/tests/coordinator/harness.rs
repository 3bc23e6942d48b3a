//! A coordinator with everything around it: a log that answers at once, with an error, or when
//! told; markers that are answered or kept; a controller that gives blocks of producer ids.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use eosim_transaction_coordinator::{
    Action, AppendId, CoordinatorTimer, Ctx, ReplyTo, TransactionCoordinator,
};
use eosim_types::config::BrokerConfig;
use eosim_types::message::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction, AllocateProducerIdsResponse,
    DescribeTransactionsRequest, EndTxnRequest, InitProducerIdRequest, Request, Response,
    WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use eosim_types::metadata::{BrokerMetadata, MetadataImage, PartitionMetadata};
use eosim_types::observation::TransactionDump;
use eosim_types::record::{TransactionLogRecord, TransactionLogValue, TransactionState};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{
    BrokerId, CoordinatorEpoch, Defect, DefectSet, Duration, Env, ErrorCode, Instant, LeaderEpoch,
    Marks, Names, ProducerEpoch, ProducerId, Topic, TopicPartition, TransactionalId,
};

/// The transactional id that all tests use.
pub(crate) const KNOWN: TransactionalId = TransactionalId(1);
/// topic1, partitions 0 (led by broker 1) and 1 (led by broker 2).
pub(crate) const TOPIC1_0: TopicPartition = TopicPartition::new(Topic(2), 0);
/// See [`TOPIC1_0`].
pub(crate) const TOPIC1_1: TopicPartition = TopicPartition::new(Topic(2), 1);
/// topic2-0, led by broker 1.
pub(crate) const TOPIC2_0: TopicPartition = TopicPartition::new(Topic(3), 0);
/// Broker 1, which holds the coordinator.
pub(crate) const B1: BrokerId = BrokerId(1);
/// Another broker.
pub(crate) const B2: BrokerId = BrokerId(2);

/// An append that waits for its answer.
pub(crate) struct HeldAppend {
    pub(crate) id: AppendId,
    pub(crate) records: Arc<[TransactionLogRecord]>,
    pub(crate) timeout: Duration,
}

pub(crate) struct World {
    pub(crate) coordinator: TransactionCoordinator,
    pub(crate) metadata: MetadataImage,
    pub(crate) names: Names,
    pub(crate) config: BrokerConfig,
    pub(crate) marks: Marks,
    pub(crate) defects: DefectSet,
    pub(crate) kafka: KafkaVersion,
    pub(crate) now: Instant,
    /// Everything that was appended with success, with its partition.
    pub(crate) log: Vec<(i32, TransactionLogRecord)>,
    /// What the log answers to the next appends; afterwards NONE.
    pub(crate) append_errors: VecDeque<ErrorCode>,
    pub(crate) hold_appends: bool,
    pub(crate) held_appends: VecDeque<HeldAppend>,
    /// Markers are kept in `markers` and not answered.
    pub(crate) hold_markers: bool,
    pub(crate) markers: VecDeque<(BrokerId, u32, WriteTxnMarkersRequest)>,
    /// Every marker sent, as text.
    pub(crate) marker_log: Vec<String>,
    /// The controller answers.
    pub(crate) gives_ids: bool,
    pub(crate) next_id: i64,
    pub(crate) asked_for_ids: u32,
    pub(crate) timers: BTreeMap<CoordinatorTimer, Instant>,
    pub(crate) loads: Vec<(i32, CoordinatorEpoch)>,
    pub(crate) replies: BTreeMap<u64, Response>,
    next_token: u64,
    shown: usize,
}

fn partition(leader: BrokerId) -> PartitionMetadata {
    PartitionMetadata {
        replicas: vec![leader],
        isr: vec![leader],
        elr: vec![],
        leader: Some(leader),
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    }
}

fn cluster() -> MetadataImage {
    let mut image = MetadataImage::default();
    for broker in [B1, B2] {
        let registration =
            BrokerMetadata { broker_epoch: 0, fenced: false, in_controlled_shutdown: false };
        image.brokers.insert(broker, registration);
    }
    for index in 0..50 {
        for topic in [Topic::TRANSACTION_STATE, Topic::CONSUMER_OFFSETS] {
            image.partitions.insert(TopicPartition::new(topic, index), partition(B1));
        }
    }
    for (tp, leader) in [(TOPIC1_0, B1), (TOPIC1_1, B2), (TOPIC2_0, B1)] {
        image.partitions.insert(tp, partition(leader));
    }
    image.transaction_version = TransactionVersion::Tv2;
    image
}

impl World {
    /// Started, nothing loaded, Kafka 4.5 as released, no producer ids at hand.
    pub(crate) fn cold() -> Self {
        let mut names = Names::default();
        assert_eq!(names.add_transactional_id("known"), KNOWN);
        assert_eq!(names.add_topic("topic1"), TOPIC1_0.topic);
        assert_eq!(names.add_topic("topic2"), TOPIC2_0.topic);
        let mut world = Self {
            coordinator: TransactionCoordinator::new(B1),
            metadata: cluster(),
            names,
            config: BrokerConfig::default(),
            marks: Marks::new(),
            defects: DefectSet::as_released(),
            kafka: KafkaVersion::V4_5,
            now: Instant(1_000_000),
            log: Vec::new(),
            append_errors: VecDeque::new(),
            hold_appends: false,
            held_appends: VecDeque::new(),
            hold_markers: false,
            markers: VecDeque::new(),
            marker_log: Vec::new(),
            gives_ids: true,
            next_id: 11,
            asked_for_ids: 0,
            timers: BTreeMap::new(),
            loads: Vec::new(),
            replies: BTreeMap::new(),
            next_token: 0,
            shown: 0,
        };
        world.call(TransactionCoordinator::start);
        world
    }

    /// Owns the partition of [`KNOWN`], which is empty, and has ids from 11 on at hand.
    pub(crate) fn new() -> Self {
        let mut world = Self::cold();
        assert_eq!(world.init_idempotent(), "COORDINATOR_LOAD_IN_PROGRESS (-1,-1)");
        world.load(0, &[]);
        world
    }

    /// [`Self::new`] with [`KNOWN`] as it is given, loaded from a record.
    pub(crate) fn with(given: Given) -> Self {
        Self::with_server(given, TransactionVersion::Tv2)
    }

    /// [`Self::with`] at a server of another transaction version.
    pub(crate) fn with_server(given: Given, server: TransactionVersion) -> Self {
        let mut world = Self::new();
        world.metadata.transaction_version = server;
        world.load(1, &[given.record()]);
        world
    }

    /// The partition of [`KNOWN`].
    pub(crate) fn partition(&self) -> i32 {
        self.names.transaction_partition(KNOWN, 50)
    }

    /// Runs one input and answers all that follows from it.
    pub(crate) fn call(&mut self, input: impl FnOnce(&mut TransactionCoordinator, &mut Ctx<'_>)) {
        let mut actions = Vec::new();
        self.call_into(&mut actions, input);
        let mut queue = VecDeque::from(actions);
        while let Some(action) = queue.pop_front() {
            let mut actions = Vec::new();
            self.perform(action, &mut actions);
            queue.extend(actions);
        }
    }

    fn call_into(
        &mut self,
        actions: &mut Vec<Action>,
        input: impl FnOnce(&mut TransactionCoordinator, &mut Ctx<'_>),
    ) {
        let mut cx = Ctx {
            env: Env {
                now: self.now,
                clock_skew_ms: 0,
                kafka: self.kafka,
                backports: eosim_types::CapabilitySet::NONE,
                defects: self.defects,
                marks: &mut self.marks,
            },
            metadata: &self.metadata,
            names: &self.names,
            config: &self.config,
            actions,
        };
        input(&mut self.coordinator, &mut cx);
    }

    fn perform(&mut self, action: Action, actions: &mut Vec<Action>) {
        match action {
            Action::Reply { to, response } => {
                assert!(self.replies.insert(to.0, response).is_none(), "answered twice");
            }
            Action::Append { id, partition, records, timeout, .. } => {
                if self.hold_appends {
                    return self.held_appends.push_back(HeldAppend { id, records, timeout });
                }
                let error = self.append_errors.pop_front().unwrap_or_default();
                if error.is_none() {
                    self.log.extend(records.iter().cloned().map(|record| (partition, record)));
                }
                self.call_into(actions, |c, cx| c.on_append_result(cx, id, error));
            }
            Action::Load { partition, coordinator_epoch } => {
                self.loads.push((partition, coordinator_epoch));
            }
            Action::SendMarkers { broker, request, correlation } => {
                self.note_markers(broker, &request);
                if self.hold_markers {
                    return self.markers.push_back((broker, correlation, request));
                }
                let response = response_to(&request, ErrorCode::None);
                self.call_into(actions, |c, cx| {
                    c.on_marker_response(cx, broker, correlation, Some(&response));
                });
            }
            Action::AllocateProducerIds => {
                self.asked_for_ids += 1;
                if self.gives_ids {
                    let response = self.next_block();
                    self.call_into(actions, |c, cx| c.on_producer_ids(cx, Some(&response)));
                }
            }
            Action::SetTimer { timer, at } => {
                self.timers.insert(timer, at);
            }
        }
    }

    fn next_block(&mut self) -> AllocateProducerIdsResponse {
        let producer_id_start = ProducerId(self.next_id);
        self.next_id += 1000;
        AllocateProducerIdsResponse {
            error: ErrorCode::None,
            producer_id_start,
            producer_id_len: 1000,
        }
    }

    fn note_markers(&mut self, broker: BrokerId, request: &WriteTxnMarkersRequest) {
        for marker in &request.markers {
            let names: Vec<_> =
                marker.partitions.iter().map(|&tp| self.names.partition(tp)).collect();
            self.marker_log.push(format!(
                "b{broker} {}({},{}) coordinator epoch {} tv{} {}",
                marker.transaction_result.name(),
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                marker.transaction_version.level(),
                names.join(" "),
            ));
        }
    }

    /// The log answers the oldest held append.
    pub(crate) fn finish_append(&mut self, error: ErrorCode) {
        let held = self.held_appends.pop_front().expect("an append is held");
        if error.is_none() {
            let partition = self.partition();
            self.log.extend(held.records.iter().cloned().map(|record| (partition, record)));
        }
        self.call(|c, cx| c.on_append_result(cx, held.id, error));
    }

    /// The oldest held markers are answered, all partitions alike.
    pub(crate) fn finish_markers(&mut self, error: ErrorCode) {
        let (broker, correlation, request) = self.markers.pop_front().expect("markers are held");
        let response = response_to(&request, error);
        self.call(|c, cx| c.on_marker_response(cx, broker, correlation, Some(&response)));
    }

    /// The connection of the oldest held markers breaks.
    pub(crate) fn lose_markers(&mut self) {
        let (broker, correlation, _) = self.markers.pop_front().expect("markers are held");
        self.call(|c, cx| c.on_marker_response(cx, broker, correlation, None));
    }

    /// Elects the coordinator of [`KNOWN`] and loads `records`, all below the high watermark.
    pub(crate) fn load(&mut self, epoch: i32, records: &[TransactionLogRecord]) {
        self.elect(epoch);
        self.finish_load(epoch, records, 0, 0);
    }

    pub(crate) fn elect(&mut self, epoch: i32) {
        let partition = self.partition();
        self.call(|c, cx| c.on_elected(cx, partition, CoordinatorEpoch(epoch)));
    }

    pub(crate) fn finish_load(
        &mut self,
        epoch: i32,
        records: &[TransactionLogRecord],
        end: i64,
        high_watermark: i64,
    ) {
        let partition = self.partition();
        let epoch = CoordinatorEpoch(epoch);
        self.call(|c, cx| c.on_loaded(cx, partition, epoch, records, end, high_watermark));
    }

    pub(crate) fn resign(&mut self, epoch: Option<i32>) {
        let partition = self.partition();
        self.call(|c, cx| c.on_resigned(cx, partition, epoch.map(CoordinatorEpoch)));
    }

    /// The clock moves to the timer, and it fires.
    pub(crate) fn fire(&mut self, timer: CoordinatorTimer) {
        let at = self.timers.remove(&timer).expect("the timer is set");
        self.now = self.now.max(at);
        self.call(|c, cx| c.on_timer(cx, timer));
    }

    /// Sends a request; the answer, if it has come.
    pub(crate) fn request(&mut self, request: impl Into<Request>) -> Option<Response> {
        let token = self.send(request);
        self.replies.get(&token).cloned()
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, request: impl Into<Request>) -> u64 {
        let token = self.next_token;
        self.next_token += 1;
        self.call(|c, cx| c.handle_request(cx, ReplyTo(token), request.into()));
        token
    }

    /// The answer to `token` as text; `-` if it has not come.
    pub(crate) fn answer(&self, token: u64) -> String {
        self.replies.get(&token).map_or_else(|| "-".into(), |response| self.show(response))
    }

    fn show(&self, response: &Response) -> String {
        match response {
            Response::InitProducerId(r) => {
                format!("{} ({},{})", r.error, r.producer_id, r.producer_epoch)
            }
            Response::EndTxn(r) if r.producer_id == ProducerId::NONE => r.error.to_string(),
            Response::EndTxn(r) => format!("{} ({},{})", r.error, r.producer_id, r.producer_epoch),
            Response::AddOffsetsToTxn(r) => r.error.to_string(),
            Response::AddPartitionsToTxn(r) => {
                let errors = r.results.iter().flat_map(|(_, partitions)| partitions);
                let errors: Vec<_> = errors.map(|(_, error)| error.name()).collect();
                errors.join(" ")
            }
            other => format!("{other:?}"),
        }
    }

    pub(crate) fn init_idempotent(&mut self) -> String {
        let request = InitProducerIdRequest { transactional_id: None, ..init_request(None) };
        let token = self.send(request);
        self.answer(token)
    }

    /// InitProducerId of [`KNOWN`].
    pub(crate) fn init(&mut self, expected: Option<(i64, i16)>) -> String {
        let token = self.send(init_request(expected));
        self.answer(token)
    }

    /// EndTxn of [`KNOWN`]: request version 4 for `tv` 0, 5 for 2.
    pub(crate) fn end(&mut self, tv: i16, committed: bool, id: i64, epoch: i16) -> String {
        let token = self.send(end_request(tv, committed, id, epoch));
        self.answer(token)
    }

    /// AddPartitionsToTxn of [`KNOWN`]: request version 3 for `tv` 0, 5 for 2.
    pub(crate) fn add(
        &mut self,
        tv: i16,
        id: i64,
        epoch: i16,
        partitions: &[TopicPartition],
    ) -> String {
        let token = self.send(add_request(tv, id, epoch, partitions));
        self.answer(token)
    }

    /// AddPartitionsToTxn of [`KNOWN`] that only looks.
    pub(crate) fn verify(&mut self, id: i64, epoch: i16, partitions: &[TopicPartition]) -> String {
        let mut request = add_request(2, id, epoch, partitions);
        request.transactions[0].verify_only = true;
        let token = self.send(request);
        self.answer(token)
    }

    /// The error of DescribeTransactions, or what memory holds: `State(id,epoch)`.
    pub(crate) fn describe(&mut self) -> String {
        let request = DescribeTransactionsRequest { transactional_id: KNOWN };
        let Some(Response::DescribeTransactions(response)) = self.request(request) else {
            panic!("Describe is answered at once")
        };
        response.transaction.map_or_else(
            || response.error.to_string(),
            |t| format!("{}({},{})", t.state.name(), t.producer_id, t.producer_epoch),
        )
    }

    /// [`KNOWN`] as memory holds it.
    pub(crate) fn known(&self) -> TransactionDump {
        let dump = self.coordinator.dump();
        dump.into_iter().find(|t| t.transactional_id == KNOWN).expect("the id is cached")
    }

    /// What was appended since the last look, a line each.
    pub(crate) fn new_records(&mut self) -> Vec<String> {
        let new = self.log[self.shown..].iter();
        let lines = new.map(|(_, record)| self.line(record)).collect();
        self.shown = self.log.len();
        lines
    }

    /// `State(id,epoch,last)`, then what differs from the usual.
    fn line(&self, record: &TransactionLogRecord) -> String {
        let Some(value) = &record.value else { return "tombstone".into() };
        let mut line = format!(
            "{}({},{},{})",
            value.transaction_status.name(),
            value.producer_id,
            value.producer_epoch,
            value.last_producer_epoch
        );
        match &value.transaction_partitions {
            None => line += " null",
            Some(partitions) => {
                let names: Vec<_> = partitions.iter().map(|&tp| self.names.partition(tp)).collect();
                line += &format!(" [{}]", names.join(" "));
            }
        }
        if value.previous_producer_id != value.producer_id {
            line += &format!(" prev {}", value.previous_producer_id);
        }
        if value.next_producer_id != ProducerId::NONE {
            line += &format!(" next {}", value.next_producer_id);
        }
        line + &format!(" ctv {}", value.client_transaction_version)
    }

    pub(crate) fn hit(&self, rule: &str) -> bool {
        self.marks.counts().any(|(id, count)| id == rule && count > 0)
    }

    pub(crate) fn without(mut self, defect: Defect) -> Self {
        self.defects = DefectSet::as_released()
            .iter()
            .filter(|&on| on != defect)
            .fold(DefectSet::NONE, DefectSet::with);
        self
    }
}

/// The answer to markers, the same for all partitions.
pub(crate) fn response_to(
    request: &WriteTxnMarkersRequest,
    error: ErrorCode,
) -> WriteTxnMarkersResponse {
    let results = request.markers.iter().map(|marker| {
        (marker.producer_id, marker.partitions.iter().map(|&tp| (tp, error)).collect())
    });
    WriteTxnMarkersResponse { results: results.collect() }
}

pub(crate) fn init_request(expected: Option<(i64, i16)>) -> InitProducerIdRequest {
    let (id, epoch) = expected.unwrap_or((-1, -1));
    InitProducerIdRequest {
        version: 5,
        transactional_id: Some(KNOWN),
        transaction_timeout_ms: 60_000,
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(epoch),
        enable_2pc: false,
        keep_prepared_txn: false,
    }
}

pub(crate) fn end_request(tv: i16, committed: bool, id: i64, epoch: i16) -> EndTxnRequest {
    EndTxnRequest {
        version: if tv == 2 { 5 } else { 4 },
        transactional_id: KNOWN,
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(epoch),
        committed,
    }
}

pub(crate) fn add_request(
    tv: i16,
    id: i64,
    epoch: i16,
    partitions: &[TopicPartition],
) -> AddPartitionsToTxnRequest {
    let transaction = AddPartitionsToTxnTransaction {
        transactional_id: KNOWN,
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(epoch),
        verify_only: false,
        partitions: partitions.iter().copied().collect(),
    };
    AddPartitionsToTxnRequest {
        version: if tv == 2 { 5 } else { 3 },
        transactions: [transaction].into(),
    }
}

/// What the log holds of [`KNOWN`] before a test begins.
#[derive(Clone)]
pub(crate) struct Given(TransactionLogValue);

/// `state(id,epoch)` with topic1-0 if the state has partitions.
pub(crate) fn given(state: TransactionState, id: i64, epoch: i16) -> Given {
    use TransactionState::{CompleteAbort, CompleteCommit, Empty};
    let partitions = match state {
        Empty => None,
        CompleteCommit | CompleteAbort => Some(vec![]),
        _ => Some(vec![TOPIC1_0]),
    };
    Given(TransactionLogValue {
        version: 1,
        producer_id: ProducerId(id),
        previous_producer_id: ProducerId(id),
        next_producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch(epoch),
        last_producer_epoch: ProducerEpoch::NONE,
        transaction_timeout_ms: 60_000,
        transaction_status: state,
        transaction_partitions: partitions,
        last_update_timestamp_ms: 0,
        start_timestamp_ms: if state == Empty { -1 } else { 0 },
        client_transaction_version: 2,
    })
}

impl Given {
    pub(crate) fn last(mut self, epoch: i16) -> Self {
        self.0.last_producer_epoch = ProducerEpoch(epoch);
        self
    }
    pub(crate) fn prev(mut self, id: i64) -> Self {
        self.0.previous_producer_id = ProducerId(id);
        self
    }
    pub(crate) fn next(mut self, id: i64) -> Self {
        self.0.next_producer_id = ProducerId(id);
        self
    }
    pub(crate) fn tv(mut self, version: i16) -> Self {
        self.0.client_transaction_version = version;
        self
    }
    pub(crate) fn timeout(mut self, ms: i32) -> Self {
        self.0.transaction_timeout_ms = ms;
        self
    }
    pub(crate) fn parts(mut self, partitions: &[TopicPartition]) -> Self {
        self.0.transaction_partitions = Some(partitions.to_vec());
        self
    }
    pub(crate) fn record(self) -> TransactionLogRecord {
        TransactionLogRecord { transactional_id: KNOWN, value: Some(self.0) }
    }
}

/// Commit.
pub(crate) const COMMIT: bool = true;
/// Abort.
pub(crate) const ABORT: bool = false;
