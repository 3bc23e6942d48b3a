//! Applications as actors: what they call, and what they tell the checker.

mod harness;

use std::collections::VecDeque;

use eosim_actor::{Actor, Correlation, CrashKind, Cx, Effect, Event, Out, Quiet, TimerKey};
use eosim_clients::{
    Client, ClientSpec, ProducerSpec, ProducerWorkload, RandomWorkload, ScriptStep, Span,
    TwoPhaseWorkload,
};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{
    EndTxnResponse, FindCoordinatorResponse, InitProducerIdResponse, Message, MetadataResponse,
    ProducePartitionResponse, ProduceResponse, Request, Response,
};
use eosim_types::observation::{EndOutcome, Observed, SendOutcome, TransactionRef};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    ActorId, BrokerId, Duration, ErrorCode as E, Instant, Marks, ProducerEpoch, ProducerId,
    Sequence, TransactionalId, Value,
};
use harness::{api_versions, describe, image, t};

/// An application and a broker that says yes to everything, except where told.
struct World {
    client: Client,
    now: Instant,
    timer: Option<Instant>,
    marks: Marks,
    wire: VecDeque<(Correlation, Request)>,
    log: Vec<String>,
    observed: Vec<Observed>,
    produce_error: E,
    init_error: E,
    next_epoch: i16,
    next_offset: i64,
}

impl World {
    fn new(spec: ProducerSpec) -> Self {
        let spec = ClientSpec::Producer(spec);
        let mut world = Self {
            client: Client::new(ActorId(9), &spec, &[BrokerId(1), BrokerId(2)]),
            now: Instant::START,
            timer: None,
            marks: Marks::new(),
            wire: VecDeque::new(),
            log: vec![],
            observed: vec![],
            produce_error: E::None,
            init_error: E::None,
            next_epoch: 0,
            next_offset: 0,
        };
        world.step(Event::Started);
        world
    }

    fn step(&mut self, event: Event<Message>) {
        let mut out = Out::new();
        let env = harness::env(self.now, &mut self.marks);
        self.client.step(&mut Cx { id: ActorId(9), env, choices: &mut Quiet }, event, &mut out);
        for effect in out.drain() {
            match effect {
                Effect::Send { correlation, message: Message::Request(request), .. } => {
                    if !matches!(request, Request::ApiVersions(_) | Request::Metadata(_)) {
                        self.log.push(describe(&request));
                    }
                    self.wire.push_back((correlation, request));
                }
                Effect::SetTimer { at, .. } => self.timer = Some(at),
                Effect::CancelTimer { .. } => self.timer = None,
                Effect::Observe(observed) => self.observed.push(observed),
                Effect::Close { .. } => self.wire.clear(),
                other => panic!("{other:?}"),
            }
        }
    }

    fn answer(&mut self, request: &Request) -> Response {
        let (none, tv) = (E::None, TransactionVersion::Tv2);
        match request {
            Request::ApiVersions(_) => api_versions(&image(1, 2, tv)).into(),
            Request::Metadata(_) => MetadataResponse { image: image(1, 2, tv) }.into(),
            Request::FindCoordinator(_) => {
                FindCoordinatorResponse { error: none, node: Some(BrokerId(2)) }.into()
            }
            Request::InitProducerId(_) => {
                let error = self.init_error;
                let producer_epoch = ProducerEpoch(self.next_epoch);
                InitProducerIdResponse::new(error, ProducerId(0), producer_epoch).into()
            }
            Request::EndTxn(r) => EndTxnResponse {
                error: none,
                producer_id: r.producer_id,
                producer_epoch: r.producer_epoch.next().expect("a next epoch"),
            }
            .into(),
            Request::Produce(r) => {
                let answers = r.partitions.iter().map(|(partition, batch)| {
                    let base_offset = self.next_offset;
                    self.next_offset += i64::from(batch.record_count());
                    ProducePartitionResponse {
                        partition: *partition,
                        error: self.produce_error,
                        base_offset,
                        log_append_time: -1,
                        log_start_offset: -1,
                        record_errors: Vec::new(),
                        current_leader: None,
                    }
                });
                ProduceResponse { partitions: answers.collect() }.into()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Runs until `until`, or until nothing is left to do.
    fn run(&mut self, until: u64) {
        let until = Instant::START + Duration::from_millis(until);
        loop {
            if let Some((correlation, request)) = self.wire.pop_front() {
                let message = Message::Response(self.answer(&request));
                self.step(Event::Response { correlation, message });
            } else if let Some(at) = self.timer.filter(|at| *at <= until) {
                self.now = self.now.max(at);
                self.timer = None;
                self.step(Event::Timer(TimerKey(0)));
            } else {
                break;
            }
        }
        self.now = until;
    }

    fn count(&self, wanted: impl Fn(&Observed) -> bool) -> usize {
        self.observed.iter().filter(|observed| wanted(observed)).count()
    }
}

fn script(transactional_id: Option<u16>, steps: &[ScriptStep]) -> ProducerSpec {
    ProducerSpec {
        config: ProducerConfig::default(),
        transactional_id: transactional_id.map(TransactionalId),
        start_at: Instant::START,
        workload: ProducerWorkload::Script(steps.to_vec()),
    }
}

fn send(value: u64) -> ScriptStep {
    ScriptStep::Send { partition: t(0), value: Value(value), value_bytes: 2 }
}

#[test]
fn records_of_one_instant_share_a_batch_and_flush_ends_it() {
    let steps = [
        ScriptStep::InitTransactions,
        ScriptStep::BeginTransaction,
        send(1),
        ScriptStep::Flush,
        send(2),
        send(3),
        ScriptStep::CommitTransaction,
    ];
    let mut world = World::new(script(Some(1), &steps));
    world.run(1_000);
    assert_eq!(world.log[2..], ["t-0 e0 s0+1", "t-0 e0 s1+2", "EndTxn v5 commit e0"]);
    assert!(world.client.is_finished());
    let acknowledged = |offset| SendOutcome::Acknowledged { offset: Some(offset) };
    for (value, offset) in [(1, 0), (2, 1), (3, 2)] {
        let answered = Observed::SendAnswered {
            value: Value(value),
            partition: t(0),
            outcome: acknowledged(offset),
        };
        assert!(world.observed.contains(&answered));
    }
    assert!(matches!(
        world.observed.last(),
        Some(Observed::EndAnswered { commit: true, outcome: EndOutcome::Done, .. })
    ));
}

#[test]
fn a_zombie_is_refused_and_its_commit_never_sent_p_mod_4() {
    let wake = Instant::START + Duration::from_millis(5_000);
    let steps = [
        ScriptStep::InitTransactions,
        ScriptStep::BeginTransaction,
        send(1),
        ScriptStep::Flush,
        ScriptStep::PauseUntil(wake),
        send(2),
        ScriptStep::CommitTransaction,
    ];
    let mut world = World::new(script(Some(1), &steps));
    world.run(4_000);
    world.produce_error = E::InvalidProducerEpoch;
    world.run(9_000);
    let error = E::InvalidProducerEpoch;
    let refused = Observed::SendAnswered {
        value: Value(2),
        partition: t(0),
        outcome: SendOutcome::Refused { error },
    };
    assert!(world.observed.contains(&refused));
    assert!(matches!(
        world.observed.last(),
        Some(Observed::EndAnswered { outcome: EndOutcome::Refused { error: thrown }, .. })
            if *thrown == error
    ));
    assert!(!world.log.iter().any(|line| line.starts_with("EndTxn")));
}

#[test]
fn batches_by_hand_carry_the_sequences_of_the_script() {
    let by_hand = |sequence| ScriptStep::RawProduce {
        partition: t(0),
        base_sequence: Sequence(sequence),
        epoch_delta: 0,
        is_transactional: false,
        values: vec![Value(1), Value(2), Value(3)],
        value_bytes: 2,
    };
    let mut world = World::new(script(None, &[by_hand(0), by_hand(0), by_hand(5)]));
    world.run(1_000);
    assert_eq!(world.log[1..], ["t-0 e0 s0+3", "t-0 e0 s0+3", "t-0 e0 s5+3"]);
    assert_eq!(world.count(|o| matches!(o, Observed::SendAnswered { .. })), 9);
}

fn random(transactions: u32) -> ProducerSpec {
    ProducerSpec {
        workload: ProducerWorkload::Random(RandomWorkload {
            partitions: vec![t(0), t(1)],
            transactions,
            records: Span { min: 2, max: 4 },
            abort_per_mille: 100,
            flush_per_mille: 100,
            pause: Span { min: Duration::from_millis(10), max: Duration::from_millis(20) },
            record_pause: Span::default(),
            value_bytes: 8,
            restart_pause: Duration::from_millis(100),
        }),
        ..script(Some(1), &[])
    }
}

#[test]
fn a_random_workload_ends_and_closes_its_producer() {
    let mut world = World::new(random(5));
    world.run(60_000);
    assert!(world.client.is_finished());
    let done = |o: &Observed| {
        matches!(o, Observed::EndAnswered { commit: true, outcome: EndOutcome::Done, .. })
    };
    assert_eq!(world.count(done), 5);
    assert_eq!(world.observed.last(), Some(&Observed::ProducerClosed { session: 0 }));
    assert_eq!(world.client.waits_for(), None);
}

#[test]
fn an_abortable_error_is_aborted_and_the_next_transaction_works_p_app() {
    let mut world = World::new(random(2));
    world.produce_error = E::TransactionAbortable;
    world.run(160);
    world.produce_error = E::None;
    world.run(60_000);
    let aborted = |o: &Observed| {
        matches!(o, Observed::EndAnswered { commit: false, outcome: EndOutcome::Done, .. })
    };
    assert!(world.count(aborted) >= 1, "{:#?}", world.observed);
    assert!(world.client.is_finished());
}

#[test]
fn a_fenced_application_stays_closed_p_app() {
    let mut world = World::new(random(3));
    world.init_error = E::ProducerFenced;
    world.run(60_000);
    assert!(world.client.is_finished());
    assert_eq!(world.count(|o| matches!(o, Observed::ProducerOpened { .. })), 1);
    assert_eq!(world.count(|o| matches!(o, Observed::ProducerFailed { .. })), 1);
}

#[test]
fn a_crash_begins_a_new_session_and_values_never_repeat() {
    let mut world = World::new(random(4));
    world.run(130);
    world.client.crash(CrashKind::Process);
    (world.timer, world.wire) = (None, VecDeque::new());
    world.next_epoch = 7;
    world.step(Event::Started);
    world.run(60_000);
    assert!(world.observed.contains(&Observed::ProducerClosed { session: 0 }));
    assert!(world.observed.contains(&Observed::TransactionsInitialized { session: 1 }));
    let mut values: Vec<_> = world
        .observed
        .iter()
        .filter_map(|observed| match observed {
            Observed::SendCalled { value, .. } => Some(*value),
            _ => None,
        })
        .collect();
    let count = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), count);
    assert!(world.client.is_finished());
    world.client.reset();
    assert!(!world.client.is_finished());
}

/// Two batches of one record each, and a second between each decision and its commit.
fn two_phase() -> ProducerSpec {
    let second = Span { min: Duration::from_millis(1_000), max: Duration::from_millis(1_000) };
    let spec = random(2);
    let ProducerWorkload::Random(batches) = spec.workload else { panic!() };
    let batches = RandomWorkload {
        records: Span { min: 1, max: 1 },
        abort_per_mille: 0,
        flush_per_mille: 0,
        ..batches
    };
    ProducerSpec {
        config: ProducerConfig {
            transaction_two_phase_commit_enable: true,
            ..ProducerConfig::default()
        },
        workload: ProducerWorkload::TwoPhase(TwoPhaseWorkload {
            batches,
            input: t(9),
            pause_before_commit: second,
        }),
        ..spec
    }
}

impl World {
    /// The process dies after `millis` and begins again.
    fn crash_at(&mut self, millis: u64) {
        self.run(millis);
        self.client.crash(CrashKind::Process);
        (self.timer, self.wire, self.next_epoch) = (None, VecDeque::new(), 7);
        self.log.clear();
        self.step(Event::Started);
        self.run(60_000);
        assert!(self.client.is_finished(), "{:?}", self.client.waits_for());
    }

    fn inputs(&self) -> Vec<i64> {
        let input = |observed: &Observed| match observed {
            Observed::SendCalled { input, .. } => input.map(|(_, number)| number),
            _ => None,
        };
        self.observed.iter().filter_map(input).collect()
    }
}

#[test]
fn what_the_store_decided_is_committed_before_anything_else() {
    let mut world = World::new(two_phase());
    world.crash_at(900);
    assert_eq!(world.log[..2], ["FindCoordinator", "EndTxn v5 commit e0"], "no InitProducerId");
    let first = TransactionRef { producer: ActorId(9), session: 0, number: 0 };
    let done =
        Observed::EndAnswered { transaction: first, commit: true, outcome: EndOutcome::Done };
    assert!(world.observed.contains(&done));
    assert_eq!(world.inputs(), [0, 1], "each batch once");
}

#[test]
fn what_the_store_did_not_decide_is_done_again() {
    let mut world = World::new(two_phase());
    world.produce_error = E::NotLeaderOrFollower; // so that nothing is ever prepared
    world.run(500);
    assert_eq!(world.count(|o| matches!(o, Observed::Decided { .. })), 0);
    world.produce_error = E::None;
    world.crash_at(510);
    assert_eq!(world.log[..2], ["FindCoordinator", "InitProducerId(-1, -1)"]);
    assert_eq!(world.inputs(), [0, 0, 1]);
    assert_eq!(world.count(|o| matches!(o, Observed::Decided { .. })), 2);
}
