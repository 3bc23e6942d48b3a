//! Consume–transform–produce done right, and done wrong: what goes over the wire, told as a story.
//!
//! A cluster that answers at once: one input partition with three records, a classic group.

mod harness;

use std::collections::VecDeque;
use std::sync::Arc;

use eosim_actor::{Actor, Correlation, CrashKind, Cx, Effect, Event, Out, Quiet};
use eosim_clients::{Mistake, Span, TransformerApplication, TransformerSpec};
use eosim_types::assignor::Assignor;
use eosim_types::config::{AutoOffsetReset, ConsumerConfig, ProducerConfig};
use eosim_types::message::{
    ApiVersionsResponse, EndTxnResponse, FetchPartitionResponse, FetchResponse,
    FindCoordinatorResponse, HeartbeatResponse, InitProducerIdResponse, IsolationLevel,
    JoinGroupResponse, ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsResponse,
    Message, MetadataResponse, OffsetFetchResponse, OffsetFetchResult, ProducePartitionResponse,
    ProduceResponse, Request, Response, SyncGroupResponse, TxnOffsetCommitResponse,
};
use eosim_types::metadata::MetadataImage;
use eosim_types::observation::Observed;
use eosim_types::record::{Payload, Record, RecordBatch};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{
    ActorId, BrokerId, Duration, ErrorCode, GroupId, Instant, LeaderEpoch, Marks, ProducerEpoch,
    ProducerId, Sequence, Topic, TopicPartition, TransactionalId, Value,
};
use harness::{image, t};

const INPUT: i64 = 3;

struct Stage {
    app: TransformerApplication,
    now: Instant,
    alarm: Option<Instant>,
    marks: Marks,
    arrivals: VecDeque<(Correlation, Response)>,
    /// A Fetch at the end of the input, and until when it waits for more.
    waiting_fetch: Option<(Correlation, Instant)>,
    /// What was asked, Fetch, look-ups and good heartbeats apart.
    story: Vec<String>,
    /// What the group committed; moves with EndTxn.
    committed: i64,
    pending: i64,
    generation: i32,
    /// Errors of the next Heartbeat and TxnOffsetCommit.
    heartbeat: ErrorCode,
    offset_commit: ErrorCode,
    /// EndTxn is not answered.
    holds_end: bool,
}

impl Stage {
    fn new(mistake: Option<Mistake>, polls: u32) -> Self {
        let one = Span { min: 1, max: 1 };
        let spec = TransformerSpec {
            consumer: ConsumerConfig {
                group: Some(GroupId(1)),
                isolation_level: IsolationLevel::ReadCommitted,
                auto_offset_reset: AutoOffsetReset::Earliest,
                ..ConsumerConfig::default()
            },
            producer: ProducerConfig { linger: Duration::ZERO, ..ProducerConfig::default() },
            transactional_id: TransactionalId(1),
            input: t(0).topic,
            output: Topic(3),
            start_at: Instant::START,
            polls: Span { min: polls, max: polls },
            results: one,
            record_pause: Span::default(),
            abort_per_mille: 0,
            leave_per_mille: 0,
            value_bytes: 1,
            restart_pause: Duration::from_millis(1_000),
            gives_up_when_fenced: false,
            mistake,
        };
        Self {
            app: TransformerApplication::new(ActorId(9), &spec, &[BrokerId(1)]),
            now: Instant::START,
            alarm: None,
            marks: Marks::new(),
            arrivals: VecDeque::new(),
            waiting_fetch: None,
            story: Vec::new(),
            committed: -1,
            pending: -1,
            generation: 0,
            heartbeat: ErrorCode::None,
            offset_commit: ErrorCode::None,
            holds_end: false,
        }
    }

    /// The process dies, and with it what was on its way.
    fn die(&mut self) {
        self.app.crash(CrashKind::Process);
        self.arrivals.clear();
        self.waiting_fetch = None;
        self.alarm = None;
    }

    /// Begins the process and lets `ms` pass.
    fn start(&mut self, ms: u64) {
        self.step(Event::Started);
        self.pass(ms);
    }

    fn pass(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        loop {
            if let Some((correlation, response)) = self.arrivals.pop_front() {
                self.now += Duration::from_millis(1);
                let message = Message::Response(response);
                self.step(Event::Response { correlation, message });
            } else if let Some((correlation, at)) = self.waiting_fetch.filter(|w| w.1 <= end)
                && self.alarm.is_none_or(|alarm| at <= alarm)
            {
                self.now = self.now.max(at);
                self.waiting_fetch = None;
                self.arrivals.push_back((correlation, fetched(INPUT).into()));
            } else if let Some(at) = self.alarm.filter(|at| *at <= end) {
                self.alarm = None;
                self.now = self.now.max(at);
                self.step(Event::Timer(eosim_actor::TimerKey(0)));
            } else {
                self.now = self.now.max(end);
                return;
            }
        }
    }

    fn step(&mut self, event: Event<Message>) {
        let mut out: Out<Message, Observed> = Out::new();
        let env = harness::env(self.now, &mut self.marks);
        let mut cx = Cx { id: ActorId(9), env, choices: &mut Quiet };
        self.app.step(&mut cx, event, &mut out);
        for effect in out.drain() {
            match effect {
                Effect::Send { correlation, message: Message::Request(request), .. } => {
                    let waits = matches!(&request, Request::Fetch(fetch)
                        if fetch.partitions[0].fetch_offset >= INPUT);
                    if waits {
                        let until = self.now + Duration::from_millis(500);
                        self.waiting_fetch = Some((correlation, until));
                    } else if let Some(response) = self.answer(&request) {
                        self.arrivals.push_back((correlation, response));
                    }
                }
                Effect::SetTimer { at, .. } => self.alarm = Some(at),
                Effect::CancelTimer { .. } => self.alarm = None,
                _ => {}
            }
        }
    }

    fn tell(&mut self, what: impl Into<String>) {
        self.story.push(what.into());
    }

    fn answer(&mut self, request: &Request) -> Option<Response> {
        let error = ErrorCode::None;
        Some(match request {
            Request::ApiVersions(_) => ApiVersionsResponse {
                kafka: KafkaVersion::V4_5,
                finalized_features_epoch: 1,
                transaction_version: TransactionVersion::Tv2,
            }
            .into(),
            Request::Metadata(_) => MetadataResponse { image: cluster() }.into(),
            Request::FindCoordinator(_) => {
                FindCoordinatorResponse { error, node: Some(BrokerId(1)) }.into()
            }
            Request::ListOffsets(request) => {
                let one = |asked: &ListOffsetsPartition| {
                    let (partition, timestamp, offset) = (asked.partition, -1, 0);
                    ListOffsetsPartitionResponse { partition, error, timestamp, offset }
                };
                ListOffsetsResponse { partitions: request.partitions.iter().map(one).collect() }
                    .into()
            }
            Request::Fetch(request) => fetched(request.partitions[0].fetch_offset).into(),
            Request::Produce(request) => {
                let count: i32 = request.partitions.iter().map(|(_, b)| b.record_count()).sum();
                self.tell(format!("Produce {count}"));
                ProduceResponse { partitions: vec![produced(request.partitions[0].0)] }.into()
            }
            Request::InitProducerId(_) => {
                self.tell("InitProducerId");
                let (producer_id, producer_epoch) = (ProducerId(5), ProducerEpoch(0));
                InitProducerIdResponse {
                    error,
                    producer_id,
                    producer_epoch,
                    ongoing_txn_producer_id: ProducerId::NONE,
                    ongoing_txn_producer_epoch: ProducerEpoch::NONE,
                }
                .into()
            }
            Request::TxnOffsetCommit(request) => {
                let (offset, member) = (request.offsets[0].offset, request.member);
                let generation = member.generation_or_epoch;
                self.tell(format!("TxnOffsetCommit {offset} in generation {generation}"));
                self.pending = offset;
                let error = core::mem::replace(&mut self.offset_commit, ErrorCode::None);
                TxnOffsetCommitResponse { partitions: [(t(0), error)].into_iter().collect() }.into()
            }
            Request::EndTxn(request) => {
                self.tell(if request.committed { "EndTxn commit" } else { "EndTxn abort" });
                if request.committed && self.pending >= 0 {
                    self.committed = self.pending;
                }
                self.pending = -1;
                if self.holds_end {
                    return None;
                }
                let producer_epoch = request.producer_epoch.next().expect("a next one");
                EndTxnResponse { error, producer_id: request.producer_id, producer_epoch }.into()
            }
            request => return self.answer_member(request),
        })
    }

    fn answer_member(&mut self, request: &Request) -> Option<Response> {
        let error = ErrorCode::None;
        Some(match request {
            Request::OffsetFetch(_) => {
                self.tell(format!("OffsetFetch: {}", self.committed));
                let (offset, leader_epoch) = (self.committed, LeaderEpoch::NONE);
                let result = OffsetFetchResult { error, offset, leader_epoch };
                OffsetFetchResponse { error, partitions: [(t(0), result)].into_iter().collect() }
                    .into()
            }
            Request::JoinGroup(_) => {
                self.generation += 1;
                self.tell(format!("JoinGroup: {}", self.generation));
                let members = Vec::new();
                JoinGroupResponse {
                    error,
                    generation: self.generation,
                    protocol: Some(Assignor::Range),
                    leader: Some(8),
                    member: Some(7),
                    members,
                }
                .into()
            }
            Request::SyncGroup(_) => SyncGroupResponse { error, assignment: vec![t(0)] }.into(),
            Request::Heartbeat(_) => {
                let error = core::mem::replace(&mut self.heartbeat, ErrorCode::None);
                HeartbeatResponse { error }.into()
            }
            Request::LeaveGroup(_) => {
                self.tell("LeaveGroup");
                return None;
            }
            other => panic!("{other:?}"),
        })
    }

    /// What was told since the last time.
    fn story(&mut self) -> Vec<String> {
        core::mem::take(&mut self.story)
    }
}

fn cluster() -> Arc<MetadataImage> {
    let mut image = MetadataImage::clone(&image(1, 1, TransactionVersion::Tv2));
    let like = image.partitions[&t(0)].clone();
    image.partitions.insert(TopicPartition::new(Topic(3), 0), like);
    Arc::new(image)
}

fn produced(partition: TopicPartition) -> ProducePartitionResponse {
    ProducePartitionResponse {
        partition,
        error: ErrorCode::None,
        base_offset: 0,
        log_append_time: -1,
        log_start_offset: 0,
        record_errors: Vec::new(),
        current_leader: None,
    }
}

/// The rest of the input from `offset` on.
fn fetched(offset: i64) -> FetchResponse {
    let record = |n: i64| Record { value: Value(n.unsigned_abs()), key: None, value_bytes: 1 };
    let records: Vec<_> = (offset..INPUT).map(record).collect();
    let batch = (offset < INPUT).then(|| RecordBatch {
        base_offset: offset,
        last_offset_delta: i32::try_from(INPUT - offset - 1).expect("short"),
        partition_leader_epoch: LeaderEpoch(0),
        is_transactional: false,
        max_timestamp: 0,
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        base_sequence: Sequence::NONE,
        payload: Payload::Records(Arc::from(records)),
    });
    let answer = FetchPartitionResponse {
        partition: t(0),
        error: ErrorCode::None,
        high_watermark: INPUT,
        last_stable_offset: INPUT,
        log_start_offset: 0,
        aborted_transactions: Vec::new(),
        diverging_epoch: None,
        batches: batch.into_iter().collect(),
    };
    FetchResponse { partitions: vec![answer], ..FetchResponse::default() }
}

const FIRST: [&str; 3] = ["InitProducerId", "JoinGroup: 1", "OffsetFetch: -1"];

fn after_first(rest: &[&'static str]) -> Vec<&'static str> {
    [&FIRST[..], rest].concat()
}

#[test]
fn results_and_offsets_go_into_one_transaction() {
    let mut stage = Stage::new(None, 1);
    stage.start(1_000);
    let told = ["Produce 3", "TxnOffsetCommit 3 in generation 1", "EndTxn commit"];
    let mut story = stage.story();
    story[3..].sort_unstable_by_key(|line| line.starts_with("EndTxn"));
    assert_eq!(story[..3], FIRST);
    assert!(told.iter().all(|line| story.iter().any(|known| known == line)), "{story:?}");
    assert_eq!(story.len(), 6);
    assert!(stage.app.has_transformed(t(0), INPUT));
}

#[test]
fn a_commit_of_offsets_that_was_refused_is_aborted_and_the_input_read_again_k_ctp_4() {
    for error in [ErrorCode::IllegalGeneration, ErrorCode::UnknownMemberId] {
        let mut stage = Stage::new(None, 1);
        stage.offset_commit = error;
        stage.start(2_000);
        let story = stage.story();
        let tail = ["EndTxn abort", "OffsetFetch: -1", "EndTxn commit"];
        let told: Vec<_> = story[3..]
            .iter()
            .filter(|line| !line.starts_with("Produce") && !line.starts_with("TxnOffsetCommit"))
            .collect();
        assert_eq!(told, tail, "{error}");
        assert_eq!(stage.committed, INPUT, "{error}");
    }
}

#[test]
fn an_abort_is_followed_by_a_rewind_k_ctp_5() {
    for (mistake, committed) in [(None, INPUT), (Some(Mistake::NoRewind), -1)] {
        let mut stage = Stage::new(mistake, 1);
        stage.offset_commit = ErrorCode::IllegalGeneration;
        stage.start(10_000);
        assert_eq!(stage.committed, committed, "{mistake:?}: {:?}", stage.story);
    }
}

/// A transaction that lasts for many polls meets a rebalance.
fn rebalanced(mistake: Option<Mistake>) -> Vec<String> {
    let mut stage = Stage::new(mistake, 9);
    stage.start(2_000);
    stage.heartbeat = ErrorCode::RebalanceInProgress;
    stage.pass(9_000);
    let story = stage.story();
    story[3..].iter().filter(|line| !line.starts_with("Produce")).cloned().collect()
}

#[test]
fn what_is_open_is_aborted_before_its_partitions_go_k_ctp_3() {
    let story = rebalanced(None);
    let expected = ["EndTxn abort", "JoinGroup: 2", "OffsetFetch: -1"];
    assert_eq!(story[..3], expected, "{story:?}");
    assert!(
        story.contains(&"TxnOffsetCommit 3 in generation 2".to_string()),
        "done anew: {story:?}"
    );
}

#[test]
fn metadata_taken_late_name_the_new_generation_for_old_records_k_ctp_3() {
    let story = rebalanced(Some(Mistake::GroupMetadataLate));
    assert_eq!(story[0], "JoinGroup: 2", "{story:?}");
    assert!(!story.contains(&"EndTxn abort".to_string()));
    assert!(story.contains(&"TxnOffsetCommit 3 in generation 2".to_string()), "{story:?}");
}

#[test]
fn a_commit_that_timed_out_is_asked_for_again_and_not_done_anew_p_api_4() {
    let mut stage = Stage::new(None, 1);
    stage.holds_end = true;
    stage.start(20_000);
    let begun = stage.story();
    assert_eq!(begun.last().map(String::as_str), Some("EndTxn commit"));
    stage.pass(70_000);
    stage.holds_end = false;
    stage.pass(70_000);
    let story = stage.story();
    assert!(!story.is_empty() && story.iter().all(|line| line == "EndTxn commit"), "{story:?}");
    assert!(stage.app.has_transformed(t(0), INPUT));
}

#[test]
fn a_process_that_died_goes_on_from_committed_offsets() {
    let mut stage = Stage::new(None, 1);
    stage.start(1_000);
    stage.story();
    stage.die();
    stage.start(1_000);
    assert_eq!(stage.story(), ["InitProducerId", "JoinGroup: 2", "OffsetFetch: 3"]);
    assert!(stage.app.has_transformed(t(0), INPUT));
}

#[test]
fn a_process_that_died_in_a_transaction_does_it_again() {
    let mut stage = Stage::new(None, 9);
    stage.start(1_000);
    assert_eq!(stage.story(), after_first(&["Produce 3"]));
    stage.die();
    stage.start(1_000);
    let told = ["InitProducerId", "JoinGroup: 2", "OffsetFetch: -1", "Produce 3"];
    assert_eq!(stage.story(), told);
}
