//! A client that does what it is told, right or wrong.

use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use eosim_wire::codec::{read_response_header, request_frame};
use eosim_wire::{FRAME_MAX, Frame, read_frame, write_frame};
use kafka_protocol::messages::{
    ApiKey, CreateTopicsRequest, CreateTopicsResponse, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, EndTxnRequest, EndTxnResponse, GroupId,
    InitProducerIdRequest, InitProducerIdResponse, MetadataRequest, MetadataResponse,
    OffsetCommitRequest, OffsetCommitResponse, ProduceRequest, ProduceResponse, TopicName,
    TransactionalId, TxnOffsetCommitRequest, TxnOffsetCommitResponse, create_topics_request,
    delete_records_request, delete_topics_request, offset_commit_request, produce_request,
    txn_offset_commit_request,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use kafka_protocol::records::{
    Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};

use crate::cluster::Cluster;

/// What a record says that it was made from.
pub(crate) type Made = Option<&'static str>;

impl Cluster {
    pub(crate) fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("somebody listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        Client { stream, correlation_id: 0 }
    }

    pub(crate) fn faults(&self, rules: &str) {
        self.post("/faults", rules);
    }

    pub(crate) fn transforms(&self, said: &str) {
        self.post("/transforms", said);
    }

    /// The broker dies, and is started again.
    pub(crate) fn crash(&self, broker: u32, for_ms: u32) {
        self.post("/crash", &format!(r#"{{"broker": {broker}, "for_ms": {for_ms}}}"#));
    }

    fn post(&self, path: &str, body: &str) {
        let length = body.len();
        let answer =
            self.http(&format!("POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// A transactional producer, as far as its identity goes.
pub(crate) struct Producer {
    transactional_id: StrBytes,
    id: i64,
    epoch: i16,
}

impl Producer {
    /// A batch of one record for `partition`.
    pub(crate) fn batch(
        &self,
        partition: &str,
        sequence: i32,
        value: &str,
        made: Made,
    ) -> ProduceRequest {
        let header = |input: &str| {
            let input = Bytes::copy_from_slice(input.as_bytes());
            (StrBytes::from_static_str(eosim_wire::INPUT), Some(input))
        };
        let record = Record {
            transactional: true,
            control: false,
            delete_horizon: false,
            partition_leader_epoch: -1,
            producer_id: self.id,
            producer_epoch: self.epoch,
            timestamp_type: TimestampType::Creation,
            offset: 0,
            sequence,
            // Who sends anew has another time.
            timestamp: 1_700_000_000_000 + i64::from(sequence),
            key: None,
            value: Some(Bytes::copy_from_slice(value.as_bytes())),
            headers: made.into_iter().map(header).collect(),
        };
        let mut bytes = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: Compression::None };
        RecordBatchEncoder::encode(&mut bytes, [&record], &options).expect("a batch");
        let (topic, number) = split(partition);
        let data = produce_request::PartitionProduceData::default()
            .with_index(number)
            .with_records(Some(bytes.freeze()));
        let topic = produce_request::TopicProduceData::default()
            .with_name(topic)
            .with_partition_data(vec![data]);
        ProduceRequest::default()
            .with_transactional_id(Some(TransactionalId(self.transactional_id.clone())))
            .with_acks(-1)
            .with_timeout_ms(30_000)
            .with_topic_data(vec![topic])
    }
}

fn split(partition: &str) -> (TopicName, i32) {
    let (topic, number) = partition.rsplit_once('-').expect("topic-partition");
    (TopicName(StrBytes::from_string(topic.to_string())), number.parse().expect("a number"))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_string())
}

const PRODUCE: i16 = 12;

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    correlation_id: i32,
}

impl Client {
    fn ask(&mut self, key: ApiKey, version: i16, request: &impl Encodable) {
        let mut body = BytesMut::new();
        request.encode(&mut body, version).expect("it can be said");
        self.correlation_id += 1;
        let frame = request_frame(key, version, self.correlation_id, "wrong", &body);
        write_frame(&mut self.stream, &frame.expect("it can be said")).expect("it is taken");
    }

    fn call<T: Decodable>(&mut self, key: ApiKey, version: i16, request: &impl Encodable) -> T {
        self.ask(key, version, request);
        let Ok(Frame::Bytes(bytes)) = read_frame(&mut self.stream, FRAME_MAX) else {
            panic!("no answer to {key:?}");
        };
        let mut bytes = Bytes::from(bytes);
        read_response_header(key, version, &mut bytes).expect("a header");
        T::decode(&mut bytes, version).expect("an answer")
    }

    /// A new life of a transactional id.
    pub(crate) fn init(&mut self, transactional_id: &str) -> Producer {
        let transactional_id = text(transactional_id);
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(TransactionalId(transactional_id.clone())))
            .with_transaction_timeout_ms(60_000)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        loop {
            let answer: InitProducerIdResponse = self.call(ApiKey::InitProducerId, 5, &request);
            let (id, epoch) = (answer.producer_id.0, answer.producer_epoch);
            match answer.error_code {
                0 => return Producer { transactional_id, id, epoch },
                14..=16 | 51 => thread::sleep(Duration::from_millis(20)),
                error => panic!("InitProducerId: error {error}"),
            }
        }
    }

    /// Sends a batch; the error of the answer.
    pub(crate) fn produce(&mut self, request: &ProduceRequest) -> i16 {
        self.try_produce(request).expect("an answer to Produce")
    }

    /// The same, or nothing if the connection breaks.
    pub(crate) fn try_produce(&mut self, request: &ProduceRequest) -> Option<i16> {
        let mut body = BytesMut::new();
        request.encode(&mut body, PRODUCE).ok()?;
        self.correlation_id += 1;
        let id = self.correlation_id;
        let frame = request_frame(ApiKey::Produce, PRODUCE, id, "wrong", &body).ok()?;
        write_frame(&mut self.stream, &frame).ok()?;
        let Ok(Frame::Bytes(bytes)) = read_frame(&mut self.stream, FRAME_MAX) else { return None };
        let mut bytes = Bytes::from(bytes);
        read_response_header(ApiKey::Produce, PRODUCE, &mut bytes).ok()?;
        let answer = ProduceResponse::decode(&mut bytes, PRODUCE).ok()?;
        Some(answer.responses[0].partition_responses[0].error_code)
    }

    /// Asks for all topics, with `more` behind the request; nothing if the connection breaks.
    pub(crate) fn try_topics(&mut self, more: &[u8]) -> Option<Vec<String>> {
        const VERSION: i16 = 13;
        let mut body = BytesMut::new();
        MetadataRequest::default().with_topics(None).encode(&mut body, VERSION).ok()?;
        body.extend_from_slice(more);
        self.correlation_id += 1;
        let frame = request_frame(ApiKey::Metadata, VERSION, self.correlation_id, "all", &body);
        write_frame(&mut self.stream, &frame.ok()?).ok()?;
        let Ok(Frame::Bytes(bytes)) = read_frame(&mut self.stream, FRAME_MAX) else { return None };
        let mut bytes = Bytes::from(bytes);
        read_response_header(ApiKey::Metadata, VERSION, &mut bytes).ok()?;
        let answer = MetadataResponse::decode(&mut bytes, VERSION).ok()?;
        Some(
            answer
                .topics
                .into_iter()
                .map(|topic| topic.name.unwrap_or_default().to_string())
                .collect(),
        )
    }

    /// Sends a batch and does not wait for the answer.
    pub(crate) fn send(&mut self, request: &ProduceRequest) {
        self.ask(ApiKey::Produce, PRODUCE, request);
    }

    /// Sends a batch, and never learns that it was appended: the connection breaks.
    pub(crate) fn send_in_vain(mut self, cluster: &Cluster, request: &ProduceRequest) {
        cluster.faults(r#"[{"when": {"answered": "Produce"}, "do": "drop"}]"#);
        self.send(request);
        let answer = read_frame(&mut self.stream, FRAME_MAX);
        assert!(!matches!(answer, Ok(Frame::Bytes(_))), "there is no answer");
    }

    /// Ends the transaction, and takes over the epoch of the next.
    pub(crate) fn end(&mut self, producer: &mut Producer, commit: bool) {
        let request = EndTxnRequest::default()
            .with_transactional_id(TransactionalId(producer.transactional_id.clone()))
            .with_producer_id(producer.id.into())
            .with_producer_epoch(producer.epoch)
            .with_committed(commit);
        loop {
            let answer: EndTxnResponse = self.call(ApiKey::EndTxn, 5, &request);
            match answer.error_code {
                0 => {
                    (producer.id, producer.epoch) = (answer.producer_id.0, answer.producer_epoch);
                    return;
                }
                14..=16 | 51 => thread::sleep(Duration::from_millis(20)),
                error => panic!("EndTxn: error {error}"),
            }
        }
    }

    /// Commits an offset of a group as a consumer without transactions does.
    pub(crate) fn commit_offset(&mut self, group: &str, partition: &str, offset: i64) {
        use offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
        let (topic, number) = split(partition);
        let one = OffsetCommitRequestPartition::default()
            .with_partition_index(number)
            .with_committed_offset(offset);
        let topic = OffsetCommitRequestTopic::default().with_name(topic).with_partitions(vec![one]);
        let request = OffsetCommitRequest::default()
            .with_group_id(GroupId(text(group)))
            .with_generation_id_or_member_epoch(-1)
            .with_topics(vec![topic]);
        let answer: OffsetCommitResponse = self.call(ApiKey::OffsetCommit, 8, &request);
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
    }

    /// Commits an offset of a group in the transaction.
    pub(crate) fn send_offset(&mut self, p: &Producer, group: &str, partition: &str, offset: i64) {
        use txn_offset_commit_request as schema;
        let (topic, number) = split(partition);
        let one = schema::TxnOffsetCommitRequestPartition::default()
            .with_partition_index(number)
            .with_committed_offset(offset);
        let topic = schema::TxnOffsetCommitRequestTopic::default()
            .with_name(topic)
            .with_partitions(vec![one]);
        let request = TxnOffsetCommitRequest::default()
            .with_transactional_id(TransactionalId(p.transactional_id.clone()))
            .with_group_id(GroupId(text(group)))
            .with_producer_id(p.id.into())
            .with_producer_epoch(p.epoch)
            .with_topics(vec![topic]);
        let answer: TxnOffsetCommitResponse = self.call(ApiKey::TxnOffsetCommit, 5, &request);
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
    }

    pub(crate) fn create_topic(&mut self, name: &str) {
        let topic = create_topics_request::CreatableTopic::default()
            .with_name(TopicName(text(name)))
            .with_num_partitions(1)
            .with_replication_factor(1);
        let request =
            CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
        let answer: CreateTopicsResponse = self.call(ApiKey::CreateTopics, 5, &request);
        assert_eq!(answer.topics[0].error_code, 0);
        thread::sleep(Duration::from_millis(200));
    }

    pub(crate) fn delete_topic(&mut self, name: &str) {
        let topic = delete_topics_request::DeleteTopicState::default()
            .with_name(Some(TopicName(text(name))));
        let request =
            DeleteTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
        let answer: DeleteTopicsResponse = self.call(ApiKey::DeleteTopics, 6, &request);
        assert_eq!(answer.responses[0].error_code, 0);
    }

    pub(crate) fn delete_records(&mut self, partition: &str, offset: i64) {
        use delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
        let (topic, number) = split(partition);
        let one =
            DeleteRecordsPartition::default().with_partition_index(number).with_offset(offset);
        let topic = DeleteRecordsTopic::default().with_name(topic).with_partitions(vec![one]);
        let request =
            DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
        let answer: DeleteRecordsResponse = self.call(ApiKey::DeleteRecords, 2, &request);
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
    }
}
