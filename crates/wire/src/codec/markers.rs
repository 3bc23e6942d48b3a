//! WriteTxnMarkers. `kafka-protocol` ends with version 1; version 2 (KIP-1228) adds the transaction
//! version behind the coordinator epoch of each marker, and is written here.

use anyhow::Result as WireResult;
use bytes::{Buf, Bytes, BytesMut};
use eosim_types::message::{
    PerPartition, WritableTxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use eosim_types::record::TransactionResult;
use eosim_types::version::TransactionVersion;
use eosim_types::{CoordinatorEpoch, ErrorCode, Few, ProducerEpoch, ProducerId, TopicPartition};
use kafka_protocol::messages as wire;
use kafka_protocol::messages::write_txn_markers_request as schema;
use kafka_protocol::protocol::buf::{ByteBuf, ByteBufMut};
use kafka_protocol::protocol::{Decodable, Encodable};

use super::{Api, by_topic, error};
use crate::{Dictionary, Malformed};

/// The version of which `kafka-protocol` knows the schema.
const KNOWN: i16 = 1;

/// A request with what version 2 says beside.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Markers(Vec<(schema::WritableTxnMarker, i8)>);

impl Encodable for Markers {
    fn encode<B: ByteBufMut>(&self, buf: &mut B, version: i16) -> WireResult<()> {
        if version <= KNOWN {
            let markers = self.0.iter().map(|(marker, _)| marker.clone()).collect();
            return wire::WriteTxnMarkersRequest::default()
                .with_markers(markers)
                .encode(buf, version);
        }
        put_unsigned_varint(buf, self.0.len() + 1);
        for (marker, transaction_version) in &self.0 {
            let mut bytes = BytesMut::new();
            marker.encode(&mut bytes, KNOWN)?;
            // The last byte says that no tagged field follows.
            buf.put_slice(&bytes[..bytes.len() - 1]);
            buf.put_i8(*transaction_version);
            buf.put_u8(0);
        }
        buf.put_u8(0);
        Ok(())
    }

    fn compute_size(&self, version: i16) -> WireResult<usize> {
        let mut bytes = BytesMut::new();
        self.encode(&mut bytes, version)?;
        Ok(bytes.len())
    }
}

impl Decodable for Markers {
    fn decode<B: ByteBuf>(buf: &mut B, version: i16) -> WireResult<Self> {
        if version <= KNOWN {
            let wire = wire::WriteTxnMarkersRequest::decode(buf, version)?;
            return Ok(Self(wire.markers.into_iter().map(|marker| (marker, 0)).collect()));
        }
        let mut markers = Vec::new();
        for _ in 0..array_length(buf)? {
            let marker = schema::WritableTxnMarker::default()
                .with_producer_id(get(buf, 8)?.get_i64().into())
                .with_producer_epoch(get(buf, 2)?.get_i16())
                .with_transaction_result(get(buf, 1)?.get_i8() != 0);
            let mut topics = Vec::new();
            for _ in 0..array_length(buf)? {
                topics.push(schema::WritableTxnMarkerTopic::decode(buf, KNOWN)?);
            }
            let marker = marker.with_topics(topics).with_coordinator_epoch(get(buf, 4)?.get_i32());
            markers.push((marker, get(buf, 1)?.get_i8()));
            skip_tagged_fields(buf)?;
        }
        skip_tagged_fields(buf)?;
        Ok(Self(markers))
    }
}

fn put_unsigned_varint<B: ByteBufMut>(buf: &mut B, mut value: usize) {
    while value >= 0x80 {
        buf.put_u8(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    buf.put_u8(u8::try_from(value & 0x7f).unwrap_or(0));
}

fn get<B: ByteBuf>(buf: &mut B, size: usize) -> WireResult<Bytes> {
    Ok(buf.try_get_bytes(size)?)
}

fn unsigned_varint<B: ByteBuf>(buf: &mut B) -> WireResult<u32> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = get(buf, 1)?.get_u8();
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(u32::try_from(value)?);
        }
    }
    anyhow::bail!("a number without end")
}

fn array_length<B: ByteBuf>(buf: &mut B) -> WireResult<u32> {
    Ok(unsigned_varint(buf)?.saturating_sub(1))
}

fn skip_tagged_fields<B: ByteBuf>(buf: &mut B) -> WireResult<()> {
    for _ in 0..unsigned_varint(buf)? {
        unsigned_varint(buf)?;
        let size = unsigned_varint(buf)?;
        get(buf, size as usize)?;
    }
    Ok(())
}

pub(super) struct WriteTxnMarkers;

/// The answer of version 2 is that of version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Results(wire::WriteTxnMarkersResponse);

impl Encodable for Results {
    fn encode<B: ByteBufMut>(&self, buf: &mut B, version: i16) -> WireResult<()> {
        self.0.encode(buf, version.min(KNOWN))
    }

    fn compute_size(&self, version: i16) -> WireResult<usize> {
        self.0.compute_size(version.min(KNOWN))
    }
}

impl Decodable for Results {
    fn decode<B: ByteBuf>(buf: &mut B, version: i16) -> WireResult<Self> {
        wire::WriteTxnMarkersResponse::decode(buf, version.min(KNOWN)).map(Self)
    }
}

impl Api for WriteTxnMarkers {
    type Request = WriteTxnMarkersRequest;
    type Response = WriteTxnMarkersResponse;
    type WireRequest = Markers;
    type WireResponse = Results;

    fn read(
        wire: Markers,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<WriteTxnMarkersRequest>, Malformed> {
        let mut markers = Few::new();
        for (marker, transaction_version) in wire.0 {
            let mut partitions = Few::new();
            for topic in marker.topics {
                let id = names.topic(&topic.name.0)?;
                let each = topic.partition_indexes.iter();
                partitions.extend(each.map(|&p| TopicPartition::new(id, p)));
            }
            markers.push(WritableTxnMarker {
                producer_id: ProducerId(marker.producer_id.0),
                producer_epoch: ProducerEpoch(marker.producer_epoch),
                transaction_result: TransactionResult::from_committed(marker.transaction_result),
                partitions,
                coordinator_epoch: CoordinatorEpoch(marker.coordinator_epoch),
                transaction_version: TransactionVersion::from_level(transaction_version),
            });
        }
        Ok(vec![WriteTxnMarkersRequest { version, markers }])
    }

    fn write(request: &WriteTxnMarkersRequest, _: i16, names: &Dictionary) -> Markers {
        let topic = |(topic, partitions): (_, Vec<(i32, ())>)| {
            schema::WritableTxnMarkerTopic::default()
                .with_name(names.topic_name(topic))
                .with_partition_indexes(partitions.into_iter().map(|(p, ())| p).collect())
        };
        let one = |m: &WritableTxnMarker| {
            let topics = by_topic(m.partitions.iter().map(|&tp| (tp, ())));
            let marker = schema::WritableTxnMarker::default()
                .with_producer_id(m.producer_id.0.into())
                .with_producer_epoch(m.producer_epoch.0)
                .with_transaction_result(m.transaction_result == TransactionResult::Commit)
                .with_topics(topics.into_iter().map(topic).collect())
                .with_coordinator_epoch(m.coordinator_epoch.0 + names.coordinator_epoch_shift);
            (marker, i8::try_from(m.transaction_version.level()).unwrap_or(i8::MAX))
        };
        Markers(request.markers.iter().map(one).collect())
    }

    fn answer(
        _: &[&WriteTxnMarkersRequest],
        responses: &[&WriteTxnMarkersResponse],
        _: i16,
        names: &Dictionary,
    ) -> Results {
        use wire::write_txn_markers_response as schema;
        let partition = |(partition, code): (i32, ErrorCode)| {
            schema::WritableTxnMarkerPartitionResult::default()
                .with_partition_index(partition)
                .with_error_code(code.code())
        };
        let topic = |(topic, partitions): (_, Vec<(i32, ErrorCode)>)| {
            schema::WritableTxnMarkerTopicResult::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(partition).collect())
        };
        let one = |(id, partitions): &(ProducerId, PerPartition<ErrorCode>)| {
            let topics = by_topic(partitions.iter().copied());
            schema::WritableTxnMarkerResult::default()
                .with_producer_id(id.0.into())
                .with_topics(topics.into_iter().map(topic).collect())
        };
        let markers = responses.iter().flat_map(|r| r.results.iter().map(one)).collect();
        Results(wire::WriteTxnMarkersResponse::default().with_markers(markers))
    }

    fn read_answer(
        wire: Results,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<WriteTxnMarkersResponse, Malformed> {
        let mut results = Few::new();
        for marker in wire.0.markers {
            let mut partitions = Few::new();
            for topic in marker.topics {
                let id = names.topic(&topic.name.0)?;
                partitions.extend(
                    topic
                        .partitions
                        .iter()
                        .map(|p| (TopicPartition::new(id, p.partition_index), error(p.error_code))),
                );
            }
            results.push((ProducerId(marker.producer_id.0), partitions));
        }
        Ok(WriteTxnMarkersResponse { results })
    }
}
