//! APIs of the partition leader.

use bytes::Bytes;
use eosim_types::message::{
    DeleteRecordsRequest, DeleteRecordsResponse, DescribeProducersRequest,
    DescribeProducersResponse, EpochEndOffset, FetchMetadata, FetchPartition,
    FetchPartitionResponse, FetchRequest, FetchResponse, IsolationLevel, ListOffsetsAsker,
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTimestamp, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition, ProducePartitionResponse, ProduceRequest, ProduceResponse,
    ProducerState,
};
use eosim_types::record::AbortedTxn;
use eosim_types::{
    BrokerId, CoordinatorEpoch, ErrorCode, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, Topic,
    TopicPartition,
};
use kafka_protocol::messages as wire;

use super::{Api, by_topic, error};
use crate::{Dictionary, Malformed, batch};

/// From these versions on topics stand by id (KIP-516).
const PRODUCE_TOPIC_ID: i16 = 13;
const FETCH_TOPIC_ID: i16 = 13;
/// The version from which on a leader that is not asked the right thing names the right leader.
const CURRENT_LEADER: i16 = 10;

/// A topic that only has an id is unknown by that (KIP-516).
fn code(error: ErrorCode, topic: Topic, by_id: bool, names: &Dictionary) -> i16 {
    let unknown = by_id && names.is_unknown(topic);
    if unknown && error == ErrorCode::UnknownTopicOrPartition {
        return ErrorCode::UnknownTopicId.code();
    }
    error.code()
}

pub(super) struct Produce;

impl Api for Produce {
    type Request = ProduceRequest;
    type Response = ProduceResponse;
    type WireRequest = wire::ProduceRequest;
    type WireResponse = wire::ProduceResponse;

    fn read(
        wire: wire::ProduceRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<ProduceRequest>, Malformed> {
        let transactional_id = wire.transactional_id.as_ref();
        let transactional_id =
            transactional_id.map(|id| names.transactional_id(&id.0)).transpose()?;
        let mut partitions = Vec::new();
        for topic in wire.topic_data {
            let id = names.topic_of(&topic.name, topic.topic_id)?;
            for data in topic.partition_data {
                let records = data.records.unwrap_or_default();
                let mut batches = batch::read_all(&records, names)?;
                let batch = batches.pop().filter(|_| batches.is_empty());
                let batch = batch.ok_or_else(|| Malformed::new("not one batch for a partition"))?;
                partitions.push((TopicPartition::new(id, data.index), batch));
            }
        }
        let (acks, timeout_ms) = (wire.acks, wire.timeout_ms);
        Ok(vec![ProduceRequest { version, transactional_id, acks, timeout_ms, partitions }])
    }

    fn write(request: &ProduceRequest, version: i16, names: &Dictionary) -> wire::ProduceRequest {
        let data = |(partition, batch): (i32, &_)| {
            let mut bytes = Vec::new();
            batch::write(batch, names, &mut bytes);
            wire::produce_request::PartitionProduceData::default()
                .with_index(partition)
                .with_records(Some(Bytes::from(bytes)))
        };
        let partitions = request.partitions.iter().map(|(tp, batch)| (*tp, batch));
        let topics = by_topic(partitions).into_iter().map(|(topic, partitions)| {
            let wire = wire::produce_request::TopicProduceData::default()
                .with_partition_data(partitions.into_iter().map(data).collect());
            if version >= PRODUCE_TOPIC_ID {
                return wire.with_topic_id(names.topic_id(topic));
            }
            wire.with_name(names.topic_name(topic))
        });
        wire::ProduceRequest::default()
            .with_transactional_id(request.transactional_id.map(|id| names.id_name(id)))
            .with_acks(request.acks)
            .with_timeout_ms(request.timeout_ms)
            .with_topic_data(topics.collect())
    }

    fn answer(
        _: &[&ProduceRequest],
        responses: &[&ProduceResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::ProduceResponse {
        let by_id = version >= PRODUCE_TOPIC_ID;
        let partition = |topic: Topic, p: &ProducePartitionResponse| {
            let places = p.record_errors.iter().map(|&at| {
                wire::produce_response::BatchIndexAndErrorMessage::default().with_batch_index(at)
            });
            let wire = wire::produce_response::PartitionProduceResponse::default()
                .with_index(p.partition.partition)
                .with_error_code(code(p.error, topic, by_id, names))
                .with_base_offset(p.base_offset)
                .with_log_append_time_ms(names.wall_ms(p.log_append_time))
                .with_log_start_offset(if version >= 5 { p.log_start_offset } else { -1 })
                .with_record_errors(if version >= 8 { places.collect() } else { Vec::new() });
            match p.current_leader.filter(|_| version >= CURRENT_LEADER) {
                Some((leader, epoch)) => wire.with_current_leader(
                    wire::produce_response::LeaderIdAndEpoch::default()
                        .with_leader_id(leader.0.into())
                        .with_leader_epoch(epoch.0),
                ),
                None => wire,
            }
        };
        let all = responses.iter().flat_map(|r| r.partitions.iter().map(|p| (p.partition, p)));
        let topics = by_topic(all).into_iter().map(|(topic, partitions)| {
            let wire = wire::produce_response::TopicProduceResponse::default()
                .with_partition_responses(
                    partitions.into_iter().map(|(_, p)| partition(topic, p)).collect(),
                );
            if by_id {
                return wire.with_topic_id(names.topic_id(topic));
            }
            wire.with_name(names.topic_name(topic))
        });
        let leaders = responses.iter().flat_map(|r| &r.partitions).filter_map(|p| p.current_leader);
        let nodes = leaders.map(|(leader, _)| {
            let (id, host, port) = names.endpoint(Some(leader));
            wire::produce_response::NodeEndpoint::default()
                .with_node_id(id.into())
                .with_host(host)
                .with_port(port)
        });
        let nodes = if version >= CURRENT_LEADER { nodes.collect() } else { Vec::new() };
        wire::ProduceResponse::default().with_responses(topics.collect()).with_node_endpoints(nodes)
    }

    fn read_answer(
        wire: wire::ProduceResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<ProduceResponse, Malformed> {
        let mut partitions = Vec::new();
        for topic in wire.responses {
            let id = names.topic_of(&topic.name, topic.topic_id)?;
            for p in topic.partition_responses {
                let leader = p.current_leader;
                let known = (leader.leader_id.0 >= 0)
                    .then_some((BrokerId(leader.leader_id.0), LeaderEpoch(leader.leader_epoch)));
                partitions.push(ProducePartitionResponse {
                    partition: TopicPartition::new(id, p.index),
                    error: error(p.error_code),
                    base_offset: p.base_offset,
                    log_append_time: names.virtual_ms(p.log_append_time_ms),
                    log_start_offset: p.log_start_offset,
                    record_errors: p.record_errors.iter().map(|e| e.batch_index).collect(),
                    current_leader: known,
                });
            }
        }
        Ok(ProduceResponse { partitions })
    }
}

pub(super) struct Fetch;

impl Api for Fetch {
    type Request = FetchRequest;
    type Response = FetchResponse;
    type WireRequest = wire::FetchRequest;
    type WireResponse = wire::FetchResponse;

    fn read(
        wire: wire::FetchRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<FetchRequest>, Malformed> {
        let mut partitions = Vec::new();
        let mut partition_max_bytes = 1;
        for topic in wire.topics {
            let id = names.topic_of(&topic.topic, topic.topic_id)?;
            for p in topic.partitions {
                partition_max_bytes = partition_max_bytes.max(p.partition_max_bytes);
                partitions.push(FetchPartition {
                    partition: TopicPartition::new(id, p.partition),
                    fetch_offset: p.fetch_offset,
                    current_leader_epoch: LeaderEpoch(p.current_leader_epoch),
                    last_fetched_epoch: LeaderEpoch(p.last_fetched_epoch),
                    log_start_offset: p.log_start_offset,
                });
            }
        }
        let mut forgotten = Vec::new();
        for topic in wire.forgotten_topics_data {
            let id = names.topic_of(&topic.topic, topic.topic_id)?;
            forgotten.extend(topic.partitions.iter().map(|&p| TopicPartition::new(id, p)));
        }
        let metadata = FetchMetadata { session_id: wire.session_id, epoch: wire.session_epoch };
        let metadata = if version >= 7 { metadata } else { FetchMetadata::LEGACY };
        Ok(vec![FetchRequest {
            version,
            replica: None,
            isolation_level: isolation(wire.isolation_level),
            max_wait_ms: wire.max_wait_ms,
            min_bytes: wire.min_bytes,
            partition_max_bytes,
            metadata,
            partitions,
            forgotten: forgotten.into(),
        }])
    }

    fn write(request: &FetchRequest, version: i16, names: &Dictionary) -> wire::FetchRequest {
        let one = |(partition, p): (i32, &FetchPartition)| {
            let wire = wire::fetch_request::FetchPartition::default()
                .with_partition(partition)
                .with_fetch_offset(p.fetch_offset)
                .with_log_start_offset(p.log_start_offset)
                .with_partition_max_bytes(request.partition_max_bytes);
            let wire = if version >= 12 {
                wire.with_last_fetched_epoch(p.last_fetched_epoch.0)
            } else {
                wire
            };
            if version >= 9 {
                return wire.with_current_leader_epoch(p.current_leader_epoch.0);
            }
            wire
        };
        let topics = by_topic(request.partitions.iter().map(|p| (p.partition, p)));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            let wire = wire::fetch_request::FetchTopic::default()
                .with_partitions(partitions.into_iter().map(one).collect());
            if version >= FETCH_TOPIC_ID {
                return wire.with_topic_id(names.topic_id(topic));
            }
            wire.with_topic(names.topic_name(topic))
        });
        let forgotten = by_topic(request.forgotten.iter().map(|&tp| (tp, ())));
        let forgotten = forgotten.into_iter().map(|(topic, partitions)| {
            let wire = wire::fetch_request::ForgottenTopic::default()
                .with_partitions(partitions.into_iter().map(|(p, ())| p).collect());
            if version >= FETCH_TOPIC_ID {
                return wire.with_topic_id(names.topic_id(topic));
            }
            wire.with_topic(names.topic_name(topic))
        });
        wire::FetchRequest::default()
            .with_max_wait_ms(request.max_wait_ms)
            .with_min_bytes(request.min_bytes)
            .with_max_bytes(i32::MAX)
            .with_isolation_level(i8::from(
                request.isolation_level == IsolationLevel::ReadCommitted,
            ))
            .with_session_id(request.metadata.session_id)
            .with_session_epoch(request.metadata.epoch)
            .with_topics(topics.collect())
            .with_forgotten_topics_data(forgotten.collect())
    }

    fn answer(
        _: &[&FetchRequest],
        responses: &[&FetchResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::FetchResponse {
        let by_id = version >= FETCH_TOPIC_ID;
        let all = responses.iter().flat_map(|r| r.partitions.iter().map(|p| (p.partition, p)));
        let topics = by_topic(all).into_iter().map(|(topic, partitions)| {
            let partitions = partitions.into_iter();
            let wire = wire::fetch_response::FetchableTopicResponse::default()
                .with_partitions(partitions.map(|(_, p)| fetched(p, version, names)).collect());
            if by_id {
                return wire.with_topic_id(names.topic_id(topic));
            }
            wire.with_topic(names.topic_name(topic))
        });
        let first = responses.first();
        wire::FetchResponse::default()
            .with_error_code(first.map_or(0, |r| r.error.code()))
            .with_session_id(first.map_or(0, |r| r.session_id))
            .with_responses(topics.collect())
    }

    fn read_answer(
        wire: wire::FetchResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<FetchResponse, Malformed> {
        let mut partitions = Vec::new();
        for topic in wire.responses {
            let id = names.topic_of(&topic.topic, topic.topic_id)?;
            for p in topic.partitions {
                let records = p.records.unwrap_or_default();
                let diverging = p.diverging_epoch;
                partitions.push(FetchPartitionResponse {
                    partition: TopicPartition::new(id, p.partition_index),
                    error: error(p.error_code),
                    high_watermark: p.high_watermark,
                    last_stable_offset: p.last_stable_offset,
                    log_start_offset: p.log_start_offset,
                    aborted_transactions: aborted(p.aborted_transactions.unwrap_or_default()),
                    diverging_epoch: (diverging.epoch >= 0)
                        .then_some((LeaderEpoch(diverging.epoch), diverging.end_offset)),
                    batches: batch::read_all(&records, names)?.into(),
                });
            }
        }
        Ok(FetchResponse { error: error(wire.error_code), session_id: wire.session_id, partitions })
    }
}

fn isolation(level: i8) -> IsolationLevel {
    match level {
        1 => IsolationLevel::ReadCommitted,
        _ => IsolationLevel::ReadUncommitted,
    }
}

/// Only the first offset travels (L-FET-3).
fn aborted(list: Vec<wire::fetch_response::AbortedTransaction>) -> Vec<AbortedTxn> {
    let one = |a: wire::fetch_response::AbortedTransaction| AbortedTxn {
        producer_id: ProducerId(a.producer_id.0),
        first_offset: a.first_offset,
        last_offset: -1,
        last_stable_offset: -1,
    };
    list.into_iter().map(one).collect()
}

fn fetched(
    p: &FetchPartitionResponse,
    version: i16,
    names: &Dictionary,
) -> wire::fetch_response::PartitionData {
    let mut bytes = Vec::new();
    p.batches.iter().for_each(|batch| batch::write(batch, names, &mut bytes));
    let aborted = p.aborted_transactions.iter().map(|a| {
        wire::fetch_response::AbortedTransaction::default()
            .with_producer_id(a.producer_id.0.into())
            .with_first_offset(a.first_offset)
    });
    let by_id = version >= FETCH_TOPIC_ID;
    let wire = wire::fetch_response::PartitionData::default()
        .with_partition_index(p.partition.partition)
        .with_error_code(code(p.error, p.partition.topic, by_id, names))
        .with_high_watermark(p.high_watermark)
        .with_last_stable_offset(p.last_stable_offset)
        .with_log_start_offset(if version >= 5 { p.log_start_offset } else { -1 })
        .with_aborted_transactions(Some(aborted.collect()))
        .with_preferred_read_replica((-1).into())
        .with_records(Some(bytes.into()));
    match p.diverging_epoch.filter(|_| version >= 12) {
        Some((epoch, end_offset)) => wire.with_diverging_epoch(
            wire::fetch_response::EpochEndOffset::default()
                .with_epoch(epoch.0)
                .with_end_offset(end_offset),
        ),
        None => wire,
    }
}

pub(super) struct ListOffsets;

impl Api for ListOffsets {
    type Request = ListOffsetsRequest;
    type Response = ListOffsetsResponse;
    type WireRequest = wire::ListOffsetsRequest;
    type WireResponse = wire::ListOffsetsResponse;

    fn read(
        wire: wire::ListOffsetsRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<ListOffsetsRequest>, Malformed> {
        let mut partitions = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            for p in topic.partitions {
                partitions.push(ListOffsetsPartition {
                    partition: TopicPartition::new(id, p.partition_index),
                    current_leader_epoch: LeaderEpoch(p.current_leader_epoch),
                    timestamp: match p.timestamp {
                        -1 => ListOffsetsTimestamp::Latest,
                        -2 => ListOffsetsTimestamp::Earliest,
                        at => ListOffsetsTimestamp::At(names.virtual_ms(at)),
                    },
                });
            }
        }
        let asker = match wire.replica_id.0 {
            -2 => ListOffsetsAsker::Debug,
            _ => ListOffsetsAsker::Consumer(isolation(wire.isolation_level)),
        };
        Ok(vec![ListOffsetsRequest { version, asker, partitions: partitions.into() }])
    }

    fn write(
        request: &ListOffsetsRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::ListOffsetsRequest {
        let one = |(partition, p): (i32, &ListOffsetsPartition)| {
            let timestamp = match p.timestamp {
                ListOffsetsTimestamp::Latest => -1,
                ListOffsetsTimestamp::Earliest => -2,
                ListOffsetsTimestamp::At(at) => names.wall_ms(at),
            };
            wire::list_offsets_request::ListOffsetsPartition::default()
                .with_partition_index(partition)
                .with_current_leader_epoch(if version >= 4 { p.current_leader_epoch.0 } else { -1 })
                .with_timestamp(timestamp)
        };
        let topics = by_topic(request.partitions.iter().map(|p| (p.partition, p)));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            wire::list_offsets_request::ListOffsetsTopic::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        let (replica, level) = match request.asker {
            ListOffsetsAsker::Debug => (-2, IsolationLevel::ReadUncommitted),
            ListOffsetsAsker::Consumer(level) => (-1, level),
        };
        let level = i8::from(level == IsolationLevel::ReadCommitted && version >= 2);
        wire::ListOffsetsRequest::default()
            .with_replica_id(replica.into())
            .with_isolation_level(level)
            .with_topics(topics.collect())
    }

    fn answer(
        _: &[&ListOffsetsRequest],
        responses: &[&ListOffsetsResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::ListOffsetsResponse {
        let one = |(partition, p): (i32, &ListOffsetsPartitionResponse)| {
            wire::list_offsets_response::ListOffsetsPartitionResponse::default()
                .with_partition_index(partition)
                .with_error_code(p.error.code())
                .with_timestamp(names.wall_ms(p.timestamp))
                .with_offset(p.offset)
        };
        let all = responses.iter().flat_map(|r| r.partitions.iter().map(|p| (p.partition, p)));
        let topics = by_topic(all).into_iter().map(|(topic, partitions)| {
            wire::list_offsets_response::ListOffsetsTopicResponse::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire::ListOffsetsResponse::default().with_topics(topics.collect())
    }

    fn read_answer(
        wire: wire::ListOffsetsResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<ListOffsetsResponse, Malformed> {
        let mut partitions = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            for p in topic.partitions {
                partitions.push(ListOffsetsPartitionResponse {
                    partition: TopicPartition::new(id, p.partition_index),
                    error: error(p.error_code),
                    timestamp: names.virtual_ms(p.timestamp),
                    offset: p.offset,
                });
            }
        }
        Ok(ListOffsetsResponse { partitions: partitions.into() })
    }
}

pub(super) struct OffsetForLeaderEpoch;

impl Api for OffsetForLeaderEpoch {
    type Request = OffsetForLeaderEpochRequest;
    type Response = OffsetForLeaderEpochResponse;
    type WireRequest = wire::OffsetForLeaderEpochRequest;
    type WireResponse = wire::OffsetForLeaderEpochResponse;

    fn read(
        wire: wire::OffsetForLeaderEpochRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<OffsetForLeaderEpochRequest>, Malformed> {
        let mut partitions = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.topic.0)?;
            for p in topic.partitions {
                partitions.push(OffsetForLeaderPartition {
                    partition: TopicPartition::new(id, p.partition),
                    current_leader_epoch: LeaderEpoch(p.current_leader_epoch),
                    leader_epoch: LeaderEpoch(p.leader_epoch),
                });
            }
        }
        Ok(vec![OffsetForLeaderEpochRequest { partitions: partitions.into() }])
    }

    fn write(
        request: &OffsetForLeaderEpochRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::OffsetForLeaderEpochRequest {
        let one = |(partition, p): (i32, &OffsetForLeaderPartition)| {
            wire::offset_for_leader_epoch_request::OffsetForLeaderPartition::default()
                .with_partition(partition)
                .with_current_leader_epoch(p.current_leader_epoch.0)
                .with_leader_epoch(p.leader_epoch.0)
        };
        let topics = by_topic(request.partitions.iter().map(|p| (p.partition, p)));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            wire::offset_for_leader_epoch_request::OffsetForLeaderTopic::default()
                .with_topic(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        let wire = wire::OffsetForLeaderEpochRequest::default();
        let wire = if version >= 3 { wire.with_replica_id((-1).into()) } else { wire };
        wire.with_topics(topics.collect())
    }

    fn answer(
        _: &[&OffsetForLeaderEpochRequest],
        responses: &[&OffsetForLeaderEpochResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::OffsetForLeaderEpochResponse {
        let one = |(partition, p): (i32, &EpochEndOffset)| {
            wire::offset_for_leader_epoch_response::EpochEndOffset::default()
                .with_partition(partition)
                .with_error_code(p.error.code())
                .with_leader_epoch(p.leader_epoch.0)
                .with_end_offset(p.end_offset)
        };
        let all = responses.iter().flat_map(|r| r.partitions.iter().map(|p| (p.partition, p)));
        let topics = by_topic(all).into_iter().map(|(topic, partitions)| {
            wire::offset_for_leader_epoch_response::OffsetForLeaderTopicResult::default()
                .with_topic(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire::OffsetForLeaderEpochResponse::default().with_topics(topics.collect())
    }

    fn read_answer(
        wire: wire::OffsetForLeaderEpochResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<OffsetForLeaderEpochResponse, Malformed> {
        let mut partitions = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.topic.0)?;
            for p in topic.partitions {
                partitions.push(EpochEndOffset {
                    partition: TopicPartition::new(id, p.partition),
                    error: error(p.error_code),
                    leader_epoch: LeaderEpoch(p.leader_epoch),
                    end_offset: p.end_offset,
                });
            }
        }
        Ok(OffsetForLeaderEpochResponse { partitions: partitions.into() })
    }
}

pub(super) struct DescribeProducers;

impl Api for DescribeProducers {
    type Request = DescribeProducersRequest;
    type Response = DescribeProducersResponse;
    type WireRequest = wire::DescribeProducersRequest;
    type WireResponse = wire::DescribeProducersResponse;

    fn read(
        wire: wire::DescribeProducersRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<DescribeProducersRequest>, Malformed> {
        let mut requests = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            let each = topic.partition_indexes.into_iter();
            requests.extend(
                each.map(|p| DescribeProducersRequest { partition: TopicPartition::new(id, p) }),
            );
        }
        Ok(requests)
    }

    fn write(
        request: &DescribeProducersRequest,
        _: i16,
        names: &Dictionary,
    ) -> wire::DescribeProducersRequest {
        let topic = wire::describe_producers_request::TopicRequest::default()
            .with_name(names.topic_name(request.partition.topic))
            .with_partition_indexes(vec![request.partition.partition]);
        wire::DescribeProducersRequest::default().with_topics(vec![topic])
    }

    fn answer(
        _: &[&DescribeProducersRequest],
        responses: &[&DescribeProducersResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::DescribeProducersResponse {
        let producer = |p: &ProducerState| {
            wire::describe_producers_response::ProducerState::default()
                .with_producer_id(p.producer_id.0.into())
                .with_producer_epoch(i32::from(p.producer_epoch.0))
                .with_last_sequence(p.last_sequence.0)
                .with_last_timestamp(names.wall_ms(p.last_timestamp))
                .with_coordinator_epoch(p.coordinator_epoch.0)
                .with_current_txn_start_offset(p.current_txn_start_offset)
        };
        let one = |(partition, r): (i32, &&DescribeProducersResponse)| {
            wire::describe_producers_response::PartitionResponse::default()
                .with_partition_index(partition)
                .with_error_code(r.error.code())
                .with_active_producers(r.producers.iter().map(producer).collect())
        };
        let topics = by_topic(responses.iter().map(|r| (r.partition, r)));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            wire::describe_producers_response::TopicResponse::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire::DescribeProducersResponse::default().with_topics(topics.collect())
    }

    fn read_answer(
        wire: wire::DescribeProducersResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<DescribeProducersResponse, Malformed> {
        let shift = names.coordinator_epoch_shift;
        let producer = |p: &wire::describe_producers_response::ProducerState| ProducerState {
            producer_id: ProducerId(p.producer_id.0),
            producer_epoch: ProducerEpoch(i16::try_from(p.producer_epoch).unwrap_or(-1)),
            last_sequence: Sequence(p.last_sequence),
            last_timestamp: names.virtual_ms(p.last_timestamp),
            coordinator_epoch: CoordinatorEpoch(match p.coordinator_epoch {
                -1 => -1,
                epoch => epoch - shift,
            }),
            current_txn_start_offset: p.current_txn_start_offset,
        };
        let topic = wire.topics.first().ok_or_else(|| Malformed::new("no topic"))?;
        let p = topic.partitions.first().ok_or_else(|| Malformed::new("no partition"))?;
        Ok(DescribeProducersResponse {
            producers: p.active_producers.iter().map(producer).collect(),
            partition: TopicPartition::new(names.topic(&topic.name.0)?, p.partition_index),
            error: error(p.error_code),
        })
    }
}

pub(super) struct DeleteRecords;

impl Api for DeleteRecords {
    type Request = DeleteRecordsRequest;
    type Response = DeleteRecordsResponse;
    type WireRequest = wire::DeleteRecordsRequest;
    type WireResponse = wire::DeleteRecordsResponse;

    fn read(
        wire: wire::DeleteRecordsRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<DeleteRecordsRequest>, Malformed> {
        let mut requests = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            requests.extend(topic.partitions.iter().map(|p| DeleteRecordsRequest {
                partition: TopicPartition::new(id, p.partition_index),
                offset: p.offset,
                timeout_ms: wire.timeout_ms,
            }));
        }
        Ok(requests)
    }

    fn write(
        request: &DeleteRecordsRequest,
        _: i16,
        names: &Dictionary,
    ) -> wire::DeleteRecordsRequest {
        let partition = wire::delete_records_request::DeleteRecordsPartition::default()
            .with_partition_index(request.partition.partition)
            .with_offset(request.offset);
        let topic = wire::delete_records_request::DeleteRecordsTopic::default()
            .with_name(names.topic_name(request.partition.topic))
            .with_partitions(vec![partition]);
        wire::DeleteRecordsRequest::default()
            .with_topics(vec![topic])
            .with_timeout_ms(request.timeout_ms)
    }

    fn answer(
        _: &[&DeleteRecordsRequest],
        responses: &[&DeleteRecordsResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::DeleteRecordsResponse {
        let one = |(partition, r): (i32, &&DeleteRecordsResponse)| {
            wire::delete_records_response::DeleteRecordsPartitionResult::default()
                .with_partition_index(partition)
                .with_low_watermark(r.low_watermark)
                .with_error_code(r.error.code())
        };
        let topics = by_topic(responses.iter().map(|r| (r.partition, r)));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            wire::delete_records_response::DeleteRecordsTopicResult::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire::DeleteRecordsResponse::default().with_topics(topics.collect())
    }

    fn read_answer(
        wire: wire::DeleteRecordsResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<DeleteRecordsResponse, Malformed> {
        let topic = wire.topics.first().ok_or_else(|| Malformed::new("no topic"))?;
        let p = topic.partitions.first().ok_or_else(|| Malformed::new("no partition"))?;
        Ok(DeleteRecordsResponse {
            partition: TopicPartition::new(names.topic(&topic.name.0)?, p.partition_index),
            error: error(p.error_code),
            low_watermark: p.low_watermark,
        })
    }
}
