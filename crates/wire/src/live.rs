//! A real broker, asked what recordings ask (`eosim conform --bootstrap`).

use std::io;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{self, SystemTime};

use eosim_runner::conform::{self, Case, Live, Outcome, Process, Target};
use eosim_types::message::{Request, Response};
use eosim_types::version::TransactionVersion;
use eosim_types::{Duration, Instant, Names, TransactionalId};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, DescribeTransactionsRequest,
    DescribeTransactionsResponse, FindCoordinatorRequest, FindCoordinatorResponse,
    ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use serde_json::Value;

use crate::connection::{Connection, invalid};
use crate::{Dictionary, codec};

/// How long an answer may take.
const PATIENCE: time::Duration = time::Duration::from_secs(40);
/// How long a connection attempt may take.
const CONNECT: time::Duration = time::Duration::from_secs(5);
/// How often the broker is looked at while it is waited for.
const LOOK_EVERY: time::Duration = time::Duration::from_millis(5);
/// How long a started broker may take until it serves.
const START: time::Duration = time::Duration::from_secs(120);
/// How long a transaction may take to be completed.
const COMPLETION: time::Duration = time::Duration::from_secs(20);

const API_VERSIONS: i16 = 3;
const METADATA: i16 = 12;
const CREATE_TOPICS: i16 = 7;
const DELETE_TOPICS: i16 = 6;
const FIND_COORDINATOR: i16 = 4;
const LIST_OFFSETS: i16 = 5;
const TRANSACTION_STATE: &str = "__transaction_state";
const CONSUMER_OFFSETS: &str = "__consumer_offsets";

/// A broker at an address.
pub struct LiveBroker {
    address: String,
    restart_command: Option<String>,
    connection: Option<Connection>,
    names: Dictionary,
    /// What sets the names of this run apart.
    run: String,
    cases: u64,
    began: time::Instant,
    /// Something was asked that leaves a transaction to be completed.
    unsettled: bool,
}

impl LiveBroker {
    /// Connects to `address` (`HOST:PORT`). `restart_command` takes the broker down and starts it
    /// again; it is given `kill` or `stop`.
    ///
    /// # Errors
    ///
    /// If nobody answers there.
    pub fn connect(address: &str, restart_command: Option<String>) -> io::Result<Self> {
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let run = began.map_or(0, |since| since.as_millis());
        let mut broker = Self {
            address: address.to_string(),
            restart_command,
            connection: Some(Connection::open(address, CONNECT)?),
            names: Dictionary::default(),
            run: format!("eosim-{run:x}"),
            cases: 0,
            began: time::Instant::now(),
            unsettled: false,
        };
        broker.features()?;
        Ok(broker)
    }

    /// The finalized level of `transaction.version`.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub fn features(&mut self) -> io::Result<TransactionVersion> {
        let name = StrBytes::from_static_str("eosim");
        let request = ApiVersionsRequest::default()
            .with_client_software_name(name.clone())
            .with_client_software_version(name);
        let answer: ApiVersionsResponse = self.call(ApiKey::ApiVersions, API_VERSIONS, &request)?;
        let mut levels = answer.finalized_features.iter();
        let level = levels.find(|feature| &*feature.name == "transaction.version");
        let level = level.map_or(0, |feature| feature.max_version_level);
        Ok(TransactionVersion::from_level(i8::try_from(level).unwrap_or(i8::MAX)))
    }

    /// Asks what `case` asks. Topics and ids are this case's alone.
    ///
    /// # Errors
    ///
    /// What the case needs that cannot be had here.
    pub fn ask_case(&mut self, case: &Case) -> Result<(Vec<Value>, Outcome), String> {
        let wanted = case.recorded_on.transaction_version;
        let here = self.features().map_err(|error| error.to_string())?;
        if wanted != here {
            let (wanted, here) = (wanted.level(), here.level());
            return Err(format!("transaction.version {wanted}; the broker has {here}"));
        }
        self.cases += 1;
        self.names = Dictionary::default();
        self.names.prefix = format!("{}-{}-", self.run, self.cases);
        self.begin(case).map_err(|error| format!("topics of its own: {error}"))?;
        let asked = conform::ask(case, self);
        // Of a broker that is gone the next case will tell.
        drop(self.delete_topics(case));
        asked
    }

    fn begin(&mut self, case: &Case) -> io::Result<()> {
        let topics = case.topics.iter().map(|(name, layout)| {
            CreatableTopic::default()
                .with_name(self.topic_name(name))
                .with_num_partitions(layout.partition_count())
                .with_replication_factor(1)
        });
        let request =
            CreateTopicsRequest::default().with_topics(topics.collect()).with_timeout_ms(30_000);
        let _: CreateTopicsResponse = self.call(ApiKey::CreateTopics, CREATE_TOPICS, &request)?;
        let names: Vec<TopicName> = case.topics.keys().map(|name| self.topic_name(name)).collect();
        self.await_topics(&names)?;
        self.await_leaders(case)?;
        self.await_coordinators()?;
        let state = TopicName(StrBytes::from_static_str(TRANSACTION_STATE));
        let epoch = self.describe(&[state])?.first().and_then(|topic| {
            topic.partitions.iter().map(|partition| partition.leader_epoch).max()
        });
        self.names.coordinator_epoch_shift = epoch.unwrap_or(0) - conform::coordinator_epoch(case);
        Ok(())
    }

    fn topic_name(&self, name: &str) -> TopicName {
        TopicName(StrBytes::from_string(format!("{}{name}", self.names.prefix)))
    }

    fn delete_topics(&mut self, case: &Case) -> io::Result<()> {
        let topics = case.topics.keys();
        let topics = topics
            .map(|name| DeleteTopicState::default().with_name(Some(self.topic_name(name))))
            .collect();
        let request = DeleteTopicsRequest::default().with_topics(topics).with_timeout_ms(30_000);
        let _: DeleteTopicsResponse = self.call(ApiKey::DeleteTopics, DELETE_TOPICS, &request)?;
        Ok(())
    }

    fn describe(&mut self, names: &[TopicName]) -> io::Result<Vec<MetadataResponseTopic>> {
        let topics = names
            .iter()
            .map(|name| MetadataRequestTopic::default().with_name(Some(name.clone())))
            .collect();
        let request = MetadataRequest::default()
            .with_topics(Some(topics))
            .with_allow_auto_topic_creation(false);
        let answer: MetadataResponse = self.call(ApiKey::Metadata, METADATA, &request)?;
        Ok(answer.topics)
    }

    /// Waits until every partition of these topics has a leader.
    fn await_topics(&mut self, names: &[TopicName]) -> io::Result<()> {
        self.wait_for("leaders", |broker| {
            let topics = broker.describe(names)?;
            Ok(topics.iter().all(|topic| {
                let led = topic.partitions.iter().all(|partition| partition.leader_id.0 >= 0);
                topic.error_code == 0 && !topic.partitions.is_empty() && led
            }))
        })
    }

    /// Waits until the leaders know that they lead: they learn it behind the metadata.
    fn await_leaders(&mut self, case: &Case) -> io::Result<()> {
        let topics = case.topics.iter().map(|(name, layout)| {
            let partitions = (0..layout.partition_count()).map(|partition| {
                ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(-1)
            });
            ListOffsetsTopic::default()
                .with_name(self.topic_name(name))
                .with_partitions(partitions.collect())
        });
        let request = ListOffsetsRequest::default()
            .with_replica_id((-1).into())
            .with_topics(topics.collect());
        self.wait_for("leaders that lead", |broker| {
            let answer: ListOffsetsResponse =
                broker.call(ApiKey::ListOffsets, LIST_OFFSETS, &request)?;
            let mut partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
            Ok(partitions.all(|partition| partition.error_code == 0))
        })
    }

    /// Waits until coordinators of transactions and groups are found and have loaded.
    fn await_coordinators(&mut self) -> io::Result<()> {
        for (key_type, topic) in [(1, TRANSACTION_STATE), (0, CONSUMER_OFFSETS)] {
            let key = StrBytes::from_string(format!("{}-probe", self.run));
            let request = FindCoordinatorRequest::default()
                .with_key_type(key_type)
                .with_coordinator_keys(vec![key]);
            self.wait_for("coordinators", |broker| {
                let answer: FindCoordinatorResponse =
                    broker.call(ApiKey::FindCoordinator, FIND_COORDINATOR, &request)?;
                Ok(answer.coordinators.iter().all(|found| found.error_code == 0))
            })?;
            self.await_topics(&[TopicName(StrBytes::from_static_str(topic))])?;
        }
        // An id that nobody uses is not found, once its coordinator has loaded.
        let ids = (0..16).map(|n| StrBytes::from_string(format!("{}-probe-{n}", self.run)).into());
        let request = DescribeTransactionsRequest::default().with_transactional_ids(ids.collect());
        let not_found = eosim_types::ErrorCode::TransactionalIdNotFound.code();
        self.wait_for("transaction coordinators", |broker| {
            let answer: DescribeTransactionsResponse =
                broker.call(ApiKey::DescribeTransactions, 0, &request)?;
            Ok(answer.transaction_states.iter().all(|found| found.error_code == not_found))
        })
    }

    fn wait_for(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&mut Self) -> io::Result<bool>,
    ) -> io::Result<()> {
        let until = time::Instant::now() + START;
        loop {
            let last = reached(self);
            if matches!(last, Ok(true)) {
                return Ok(());
            }
            if time::Instant::now() > until {
                let no = io::Error::other(format!("no {what} after {} s", START.as_secs()));
                return Err(last.err().unwrap_or(no));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn connection(&mut self) -> io::Result<&mut Connection> {
        if self.connection.is_none() {
            self.connection = Some(Connection::open(&self.address, PATIENCE)?);
        }
        Ok(self.connection.as_mut().expect("it was opened"))
    }

    fn call<T: Decodable>(
        &mut self,
        key: ApiKey,
        version: i16,
        request: &impl Encodable,
    ) -> io::Result<T> {
        let answer = self.connection()?.call(key, version, request);
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    fn exchange(&mut self, request: &Request) -> io::Result<Option<Response>> {
        let key = codec::key_of(request);
        let key = key.ok_or_else(|| io::Error::other("a request that does not travel"))?;
        let version = version(request);
        let body = codec::write_request(request, version, &self.names).map_err(invalid)?;
        let connection = self.connection()?;
        connection.send(key, version, &body)?;
        if matches!(request, Request::Produce(produce) if produce.acks == 0) {
            return Ok(None);
        }
        let body = connection.receive(key, version)?;
        let response = codec::read_response(key, version, body, &mut self.names);
        response.map(Some).map_err(invalid)
    }
}

/// The version of a request; where the model knows none, the one of the recordings.
fn version(request: &Request) -> i16 {
    match request {
        Request::Produce(r) => r.version,
        Request::Fetch(r) => r.version,
        Request::ListOffsets(r) => r.version,
        Request::InitProducerId(r) => r.version,
        Request::AddPartitionsToTxn(r) => r.version,
        Request::AddOffsetsToTxn(r) => r.version,
        Request::TxnOffsetCommit(r) => r.version,
        Request::EndTxn(r) => r.version,
        Request::WriteTxnMarkers(r) => r.version,
        Request::OffsetCommit(r) => r.version,
        Request::OffsetFetch(r) => r.version,
        Request::JoinGroup(r) => r.version,
        Request::FindCoordinator(_) => FIND_COORDINATOR,
        Request::DeleteRecords(_) => 2,
        Request::OffsetForLeaderEpoch(_) => 4,
        _ => 0,
    }
}

impl Live for LiveBroker {
    fn now(&self) -> Instant {
        let micros = self.began.elapsed().as_micros();
        Instant::START + Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn sleep(&mut self, time: Duration) {
        thread::sleep(time::Duration::from_millis(time.as_millis()));
    }

    fn ask(&mut self, _: Target, request: &Request, names: &mut Names) -> Option<Response> {
        self.unsettled |= matches!(request, Request::EndTxn(_) | Request::InitProducerId(_));
        std::mem::swap(&mut self.names.names, names);
        let answer = self.exchange(request);
        std::mem::swap(&mut self.names.names, names);
        if answer.is_err() {
            self.connection = None;
        }
        answer.ok().flatten()
    }

    fn settle(&mut self, ids: &[TransactionalId], names: &mut Names) {
        if !std::mem::take(&mut self.unsettled) || ids.is_empty() {
            return;
        }
        std::mem::swap(&mut self.names.names, names);
        let texts = ids.iter().map(|&id| self.names.id_name(id)).collect();
        std::mem::swap(&mut self.names.names, names);
        let request = DescribeTransactionsRequest::default().with_transactional_ids(texts);
        let until = time::Instant::now() + COMPLETION;
        while time::Instant::now() < until {
            let answer: io::Result<DescribeTransactionsResponse> =
                self.call(ApiKey::DescribeTransactions, 0, &request);
            let Ok(answer) = answer else { return };
            let mut states = answer.transaction_states.iter();
            if !states.any(|state| state.transaction_state.starts_with("Prepare")) {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn restart(&mut self, how: Process) -> Result<(), String> {
        let command = self.restart_command.clone();
        let command = command.ok_or("a restart of the broker (--restart-cmd)")?;
        let how = match how {
            Process::Kill => "kill",
            _ => "stop",
        };
        self.connection = None;
        let status = Command::new("sh")
            .args(["-c", &format!("{command} {how}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        let status = status.map_err(|error| format!("{command}: {error}"))?;
        if !status.success() {
            return Err(format!("{command} {how}: {status}"));
        }
        self.await_coordinators().map_err(|error| error.to_string())
    }
}
