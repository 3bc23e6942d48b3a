//! The operator's commands as an actor, in front of brokers that answer by table.

mod harness;

use eosim_actor::{Actor, Cx, Effect, Event, Out, Quiet, TimerKey};
use eosim_clients::{
    AbortTransactionSpec, AdminSpec, AdminStep, Client, ClientSpec, MarkedProducer,
};
use eosim_types::message::{
    DescribeProducersResponse, DescribeTransactionsResponse, FindCoordinatorResponse,
    ListTransactionsResponse, Message, MetadataResponse, ProducerState, Request, Response,
    TransactionDescription, WriteTxnMarkersResponse,
};
use eosim_types::record::TransactionState;
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{
    ActorId, BrokerId, CoordinatorEpoch, DefectSet, Duration, Env, ErrorCode as E, Instant, Marks,
    ProducerEpoch, ProducerId, Sequence, TopicPartition, TransactionalId,
};
use harness::{image, t};

const NOW: u64 = 1_000_000;

/// What brokers hold. Broker 1 leads, broker 2 coordinates.
struct Cluster {
    producers: Vec<ProducerState>,
    /// The owner of every producer id that has one.
    listed: Vec<(TransactionalId, ProducerId)>,
    /// What the coordinator knows of the owner's transaction.
    described: Result<Vec<TopicPartition>, E>,
    /// How markers are answered, one after the other; then with NONE.
    marker_errors: Vec<E>,
}

fn open(id: i64, start_offset: i64, last_timestamp: i64) -> ProducerState {
    ProducerState {
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(3),
        last_sequence: Sequence(0),
        last_timestamp,
        coordinator_epoch: CoordinatorEpoch(-1),
        current_txn_start_offset: start_offset,
    }
}

impl Cluster {
    fn answer(&mut self, to: ActorId, request: &Request) -> Response {
        match request {
            Request::Metadata(_) => {
                MetadataResponse { image: image(1, 1, TransactionVersion::Tv1) }.into()
            }
            Request::DescribeProducers(r) => DescribeProducersResponse {
                partition: r.partition,
                error: E::None,
                producers: self.producers.clone(),
            }
            .into(),
            Request::ListTransactions(r) => {
                let known = self.listed.iter().filter(|_| to == ActorId(2));
                let asked = known.filter(|(_, producer)| r.producer_ids.contains(producer));
                let listed = asked.map(|&(id, producer)| (id, producer, TransactionState::Empty));
                ListTransactionsResponse { error: E::None, transactions: listed.collect() }.into()
            }
            Request::FindCoordinator(_) => {
                FindCoordinatorResponse { error: E::None, node: Some(BrokerId(2)) }.into()
            }
            Request::DescribeTransactions(r) => {
                let transaction =
                    self.described.clone().ok().map(|partitions| TransactionDescription {
                        transactional_id: r.transactional_id,
                        state: TransactionState::Ongoing,
                        producer_id: ProducerId(7),
                        producer_epoch: ProducerEpoch(3),
                        transaction_timeout_ms: 60_000,
                        transaction_start_time_ms: 0,
                        partitions,
                    });
                let error = self.described.clone().err().unwrap_or(E::None);
                DescribeTransactionsResponse { error, transaction }.into()
            }
            Request::WriteTxnMarkers(r) => {
                let marker = &r.markers[0];
                let scripted = !self.marker_errors.is_empty();
                let error = if scripted { self.marker_errors.remove(0) } else { E::None };
                if error.is_none() {
                    self.producers.retain(|p| p.producer_id != marker.producer_id);
                }
                let results = [(marker.producer_id, [(t(0), error)].into())].into();
                WriteTxnMarkersResponse { results }.into()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Plays one command; what the operator asked of whom, metadata apart.
    fn play(&mut self, spec: AbortTransactionSpec) -> Vec<String> {
        let steps = vec![AdminStep::AbortTransaction { partition: t(0), spec }];
        let spec = ClientSpec::Admin(AdminSpec { steps });
        let mut client = Client::new(ActorId(9), &spec, &[BrokerId(1), BrokerId(2)]);
        let (mut asked, mut marks) = (Vec::new(), Marks::new());
        let mut now = Instant::START + Duration::from_millis(NOW);
        let mut next = Some(Event::Started);
        while let Some(event) = next.take() {
            let mut out = Out::new();
            let env = Env {
                now,
                clock_skew_ms: 0,
                kafka: KafkaVersion::default(),
                backports: eosim_types::CapabilitySet::NONE,
                defects: DefectSet::NONE,
                marks: &mut marks,
            };
            client.step(&mut Cx { id: ActorId(9), env, choices: &mut Quiet }, event, &mut out);
            for effect in out.drain() {
                match effect {
                    Effect::Send {
                        to, correlation, message: Message::Request(request), ..
                    } => {
                        asked.extend(describe(to, &request));
                        let message = Message::Response(self.answer(to, &request));
                        next = Some(Event::Response { correlation, message });
                    }
                    Effect::SetTimer { at, .. } if next.is_none() => {
                        now = now.max(at);
                        next = Some(Event::Timer(TimerKey(0)));
                    }
                    _ => {}
                }
            }
        }
        assert!(client.is_finished(), "{:?}", client.waits_for());
        asked
    }
}

fn describe(to: ActorId, request: &Request) -> Option<String> {
    let what = match request {
        Request::Metadata(_) => return None,
        Request::WriteTxnMarkers(r) => {
            let m = &r.markers[0];
            let version = m.transaction_version.level();
            format!(
                "v{} {:?} {}/{} coordinator epoch {} tv {version}",
                r.version,
                m.transaction_result,
                m.producer_id,
                m.producer_epoch,
                m.coordinator_epoch
            )
        }
        other => other.api().name().to_string(),
    };
    Some(format!("{what} @{}", to.0))
}

fn cluster(producers: Vec<ProducerState>) -> Cluster {
    Cluster { producers, listed: vec![], described: Ok(vec![]), marker_errors: vec![] }
}

const MARKER: &str = "v2 Abort 7/3 coordinator epoch 0 tv 0 @1";

#[test]
fn abort_finds_the_transaction_that_starts_exactly_there_l_tool_1() {
    let both = || cluster(vec![open(6, 4, 0), open(7, 5, 0)]);
    let asked = both().play(AbortTransactionSpec::StartOffset(5));
    assert_eq!(asked, ["DescribeProducers @1", MARKER]);
    let asked = both().play(AbortTransactionSpec::StartOffset(6));
    assert_eq!(asked, ["DescribeProducers @1"], "nothing starts there");
}

#[test]
fn abort_sends_what_it_is_told_in_the_older_form_l_tool_1() {
    let producer = MarkedProducer {
        producer_id: ProducerId(9),
        producer_epoch: ProducerEpoch(1),
        coordinator_epoch: CoordinatorEpoch(2),
    };
    let asked = cluster(vec![]).play(AbortTransactionSpec::Producer(producer));
    assert_eq!(asked, ["v2 Abort 9/1 coordinator epoch 2 tv 0 @1"]);
}

#[test]
fn errors_of_the_leader_are_retried_and_fences_are_final_l_tool_1() {
    for (error, markers) in [
        (E::NotLeaderOrFollower, 2),
        (E::UnknownTopicOrPartition, 2),
        (E::InvalidProducerEpoch, 1),
        (E::TransactionCoordinatorFenced, 1),
        (E::None, 1),
    ] {
        let mut cluster = cluster(vec![open(7, 5, 0)]);
        cluster.marker_errors = vec![error];
        let asked = cluster.play(AbortTransactionSpec::StartOffset(5));
        assert_eq!(asked.iter().filter(|asked| *asked == MARKER).count(), markers, "{error:?}");
    }
}

#[test]
fn the_tool_talks_to_the_leader_and_asks_coordinators_l_tool_2() {
    let mut cluster = cluster(vec![open(7, 5, 0)]);
    cluster.listed = vec![(TransactionalId(1), ProducerId(7))];
    let asked = cluster.play(HANGING);
    assert_eq!(
        asked,
        [
            "DescribeProducers @1",
            "ListTransactions @1",
            "ListTransactions @2",
            "FindCoordinator @1",
            "DescribeTransactions @2",
            MARKER,
            "DescribeProducers @1",
        ]
    );
}

const HANGING: AbortTransactionSpec =
    AbortTransactionSpec::Hanging { max_transaction_timeout: Duration::from_millis(900_000) };

#[test]
fn hanging_is_what_no_coordinator_knows_of_l_tool_3() {
    let owner = || vec![(TransactionalId(1), ProducerId(7))];
    let old = i64::try_from(NOW).expect("small") - 900_001;
    let rows = [
        ("no id for the producer", vec![], Ok(vec![]), old, true),
        ("the id is unknown", owner(), Err(E::TransactionalIdNotFound), old, true),
        ("another partition's transaction", owner(), Ok(vec![t(1)]), old, true),
        ("the coordinator's own", owner(), Ok(vec![t(0)]), old, false),
        ("written to not so long ago", vec![], Ok(vec![]), old + 1, false),
    ];
    for (name, listed, described, last_timestamp, hangs) in rows {
        let mut cluster = cluster(vec![open(7, 5, last_timestamp)]);
        (cluster.listed, cluster.described) = (listed, described);
        assert_eq!(cluster.play(HANGING).contains(&MARKER.to_string()), hangs, "{name}");
    }
}

#[test]
fn everything_that_hangs_is_ended_one_after_the_other_l_tool_3() {
    let asked = cluster(vec![open(6, 4, 0), open(7, 5, 0)]).play(HANGING);
    let markers: Vec<_> = asked.iter().filter(|asked| asked.starts_with("v2")).collect();
    assert_eq!(markers, ["v2 Abort 6/3 coordinator epoch 0 tv 0 @1", MARKER]);
}
