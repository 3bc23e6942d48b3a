//! Record batches in bytes (`DefaultRecordBatch`, magic 2).
//!
//! A broker keeps the bytes of a batch as they came, compressed or not; only base offset and leader
//! epoch, which the checksum does not cover, are written anew.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes};
use eosim_types::record::{
    BATCH_OVERHEAD, EndTransactionMarker, Payload, Record, RecordBatch, TransactionResult,
};
use eosim_types::{CoordinatorEpoch, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, Value};

use crate::{Dictionary, Malformed};

const OVERHEAD: usize = 61;
/// Where the checksum begins, and what it covers.
const CRC_AT: usize = 17;
const CHECKED_FROM: usize = 21;
/// Bytes before those that the length counts.
const LENGTH_END: usize = 12;
/// The most records that a batch may announce.
const RECORDS_MAX: u32 = 1 << 20;
const COMPRESSION: i16 = 7;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// What the checksum covers.
pub(crate) fn checked(bytes: &Bytes) -> &[u8] {
    bytes.get(CHECKED_FROM..).unwrap_or_default()
}

/// The batches in `bytes`; half of one at the end is left out.
pub(crate) fn read_all(
    bytes: &Bytes,
    names: &mut Dictionary,
) -> Result<Vec<RecordBatch>, Malformed> {
    let mut rest = bytes.clone();
    let mut batches = Vec::new();
    while rest.len() >= OVERHEAD {
        let length = (&rest[8..LENGTH_END]).get_i32();
        let size = usize::try_from(length).ok().map(|length| length + LENGTH_END);
        let size = size.filter(|&size| size >= OVERHEAD);
        let size = size.ok_or_else(|| Malformed::new(format!("a batch of {length} bytes")))?;
        if size > rest.len() {
            break;
        }
        batches.push(read(&rest.split_to(size), names)?);
    }
    Ok(batches)
}

/// The batch that `bytes` are.
pub(crate) fn read(bytes: &Bytes, names: &mut Dictionary) -> Result<RecordBatch, Malformed> {
    let mut header = bytes.as_ref();
    let base_offset = header.get_i64();
    header.advance(4);
    let partition_leader_epoch = LeaderEpoch(header.get_i32());
    let magic = header.get_i8();
    if magic != 2 {
        return Err(Malformed::new(format!("a batch of magic {magic}, not 2")));
    }
    let crc = header.get_u32();
    let attributes = header.get_i16();
    let last_offset_delta = header.get_i32();
    header.advance(8);
    let max_timestamp = names.virtual_ms(header.get_i64());
    let producer_id = ProducerId(header.get_i64());
    let producer_epoch = ProducerEpoch(header.get_i16());
    let base_sequence = Sequence(header.get_i32());
    let count = header.get_i32();
    let payload = if crc == crc32c::crc32c(&bytes[CHECKED_FROM..]) {
        payload(bytes, attributes, count, names)?
    } else {
        Payload::Corrupt
    };
    Ok(RecordBatch {
        base_offset,
        last_offset_delta,
        partition_leader_epoch,
        is_transactional: attributes & TRANSACTIONAL != 0,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        payload,
    })
}

fn payload(
    bytes: &Bytes,
    attributes: i16,
    count: i32,
    names: &mut Dictionary,
) -> Result<Payload, Malformed> {
    let mut body = &bytes[OVERHEAD..];
    if attributes & CONTROL != 0 {
        return if count == 0 { Ok(Payload::EmptyControl) } else { marker(&mut body, names) };
    }
    if names.batches.is_some() {
        return Ok(Payload::Records(kept(bytes, count, names)?));
    }
    if attributes & COMPRESSION != 0 {
        return Err(Malformed::new("a compressed batch, whose records cannot be read"));
    }
    let mut records = Vec::new();
    for _ in 0..count {
        let (_, value) = record(&mut body)?;
        let text = String::from_utf8_lossy(&value).into_owned();
        let value_bytes = u32::try_from(value.len()).map_err(Malformed::new)?;
        records.push(Record { value: names.names.add_value(&text), key: None, value_bytes });
    }
    Ok(Payload::Records(records.into()))
}

/// Keeps the bytes of a batch, and gives its records numbers.
fn kept(bytes: &Bytes, count: i32, names: &mut Dictionary) -> Result<Arc<[Record]>, Malformed> {
    let records = u32::try_from(count).ok().filter(|count| (1..=RECORDS_MAX).contains(count));
    let records = records.ok_or_else(|| Malformed::new(format!("{count} records in a batch")))?;
    let body = u32::try_from(bytes.len() - OVERHEAD).map_err(Malformed::new)?;
    let value_bytes = (body / records).saturating_sub(7);
    let first = names.values;
    names.values += u64::from(records);
    let numbered = |number: u32| Record {
        value: Value::numbered(0, first + u64::from(number)),
        key: None,
        value_bytes,
    };
    let kept = names.batches.as_mut().expect("a broker's dictionary");
    kept.insert(Value::numbered(0, first), bytes.clone());
    Ok((0..records).map(numbered).collect())
}

fn marker(body: &mut &[u8], names: &Dictionary) -> Result<Payload, Malformed> {
    let (key, value) = record(body)?;
    let (mut key, mut value) = (key.as_slice(), value.as_slice());
    if key.len() < 4 || value.len() < 6 {
        return Err(Malformed::new("a control record that is too short"));
    }
    key.advance(2);
    let result = TransactionResult::from_committed(key.get_i16() == 1);
    value.advance(2);
    let epoch = value.get_i32() - names.coordinator_epoch_shift;
    Ok(Payload::Control(EndTransactionMarker {
        result,
        coordinator_epoch: CoordinatorEpoch(epoch),
    }))
}

/// Key and value of the next record.
fn record(from: &mut &[u8]) -> Result<(Vec<u8>, Vec<u8>), Malformed> {
    let Said { key, value, .. } = said(from)?;
    Ok((key.to_vec(), value.to_vec()))
}

/// What an application says in a record.
#[derive(PartialEq, Eq)]
struct Said<'a> {
    key: &'a [u8],
    value: &'a [u8],
    /// Count, and names and values, as they stand there.
    headers: &'a [u8],
}

fn said<'a>(from: &mut &'a [u8]) -> Result<Said<'a>, Malformed> {
    let length = varint(from)?;
    let mut body = take(from, length)?;
    take(&mut body, 1)?;
    varint(&mut body)?;
    varint(&mut body)?;
    let key = counted(&mut body)?;
    let value = counted(&mut body)?;
    Ok(Said { key, value, headers: body })
}

/// Bytes behind their number, which is below 0 for none.
fn counted<'a>(from: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let length = varint(from)?;
    take(from, length.max(0))
}

/// What the records of a batch say; nothing of a compressed one.
fn all_said(bytes: &Bytes) -> Option<Vec<Said<'_>>> {
    let header = bytes.get(..OVERHEAD)?;
    let (mut attributes, mut count) = (&header[21..23], &header[57..OVERHEAD]);
    if attributes.get_i16() & COMPRESSION != 0 {
        return None;
    }
    let mut body = &bytes[OVERHEAD..];
    (0..count.get_i32()).map(|_| said(&mut body).ok()).collect()
}

/// Do two batches say the same, whenever and under whatever numbers they were sent?
pub(crate) fn say_the_same(one: &Bytes, other: &Bytes) -> bool {
    match (all_said(one), all_said(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.get(OVERHEAD..) == other.get(OVERHEAD..),
    }
}

/// What the header `name` says in each record of a batch; nothing in those of a compressed one.
pub(crate) fn headers(bytes: &Bytes, name: &str) -> Vec<Option<String>> {
    let of = |said: &Said<'_>| header(said.headers, name).ok().flatten();
    all_said(bytes).iter().flatten().map(of).collect()
}

fn header(mut from: &[u8], name: &str) -> Result<Option<String>, Malformed> {
    for _ in 0..varint(&mut from)? {
        let (key, value) = (counted(&mut from)?, counted(&mut from)?);
        if key == name.as_bytes() {
            return Ok(Some(String::from_utf8_lossy(value).into_owned()));
        }
    }
    Ok(None)
}

fn take<'a>(from: &mut &'a [u8], length: i64) -> Result<&'a [u8], Malformed> {
    let length = usize::try_from(length).map_err(Malformed::new)?;
    let (taken, rest) =
        from.split_at_checked(length).ok_or_else(|| Malformed::new("a record is cut off"))?;
    *from = rest;
    Ok(taken)
}

/// A zig-zag number.
fn varint(from: &mut &[u8]) -> Result<i64, Malformed> {
    let mut bits = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(from, 1)?[0];
        bits |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed());
        }
    }
    Err(Malformed::new("a number without end"))
}

fn put_varint(to: &mut Vec<u8>, value: i64) {
    let mut bits = (value << 1 ^ value >> 63).cast_unsigned();
    while bits >= 0x80 {
        to.push(bits.to_le_bytes()[0] | 0x80);
        bits >>= 7;
    }
    to.push(bits.to_le_bytes()[0]);
}

/// The bytes of `batch`.
pub(crate) fn write(batch: &RecordBatch, names: &Dictionary, to: &mut Vec<u8>) {
    let first = batch.records().first().map(|record| record.value);
    let kept = first.and_then(|first| names.batches.as_ref()?.get(&first));
    let Some(kept) = kept else { return make(batch, names, to) };
    let from = to.len();
    to.extend_from_slice(kept);
    to[from..from + 8].copy_from_slice(&batch.base_offset.to_be_bytes());
    to[from + 12..from + 16].copy_from_slice(&batch.partition_leader_epoch.0.to_be_bytes());
}

/// Writes a batch of which there are no bytes yet.
fn make(batch: &RecordBatch, names: &Dictionary, to: &mut Vec<u8>) {
    let records = records(batch, names);
    let from = to.len();
    let transactional = if batch.is_transactional { TRANSACTIONAL } else { 0 };
    let control = if batch.is_control() { CONTROL } else { 0 };
    to.put_i64(batch.base_offset);
    to.put_i32(0);
    to.put_i32(batch.partition_leader_epoch.0);
    to.put_i8(2);
    to.put_u32(0);
    to.put_i16(transactional | control);
    to.put_i32(batch.last_offset_delta);
    let timestamp = names.wall_ms(batch.max_timestamp);
    to.put_i64(timestamp);
    to.put_i64(timestamp);
    to.put_i64(batch.producer_id.0);
    to.put_i16(batch.producer_epoch.0);
    to.put_i32(batch.base_sequence.0);
    to.put_i32(i32::try_from(records.len()).unwrap_or(i32::MAX));
    debug_assert_eq!(to.len() - from, OVERHEAD);
    debug_assert_eq!(BATCH_OVERHEAD, 61);
    for (offset, (key, value)) in (0..).zip(records) {
        put_record(to, offset, key.as_deref(), &value);
    }
    let length = i32::try_from(to.len() - from - LENGTH_END).unwrap_or(i32::MAX);
    to[from + 8..from + LENGTH_END].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c::crc32c(&to[from + CHECKED_FROM..]);
    to[from + CRC_AT..from + CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
}

/// Keys and values of what a batch holds; what brokers write for themselves is described.
fn records(batch: &RecordBatch, names: &Dictionary) -> Vec<(Option<Vec<u8>>, Vec<u8>)> {
    let text = |text: String| (None, text.into_bytes());
    match &batch.payload {
        Payload::Records(records) => {
            records.iter().map(|record| text(names.names.value(record.value))).collect()
        }
        Payload::Control(marker) => {
            let kind = i16::from(marker.result == TransactionResult::Commit);
            let epoch = marker.coordinator_epoch.0 + names.coordinator_epoch_shift;
            let key = [[0; 2], kind.to_be_bytes()].concat();
            vec![(Some(key), [&[0; 2], epoch.to_be_bytes().as_slice()].concat())]
        }
        Payload::EmptyControl | Payload::Corrupt => Vec::new(),
        Payload::TransactionLog(records) => {
            records.iter().map(|record| text(format!("{record:?}"))).collect()
        }
        Payload::OffsetCommits(records) => {
            records.iter().map(|record| text(format!("{record:?}"))).collect()
        }
        Payload::GroupLog(records) => {
            records.iter().map(|record| text(format!("{record:?}"))).collect()
        }
    }
}

fn put_record(to: &mut Vec<u8>, offset: i64, key: Option<&[u8]>, value: &[u8]) {
    let mut body = vec![0];
    put_varint(&mut body, 0);
    put_varint(&mut body, offset);
    put_varint(&mut body, key.map_or(-1, length));
    body.extend(key.unwrap_or_default());
    put_varint(&mut body, length(value));
    body.extend(value);
    put_varint(&mut body, 0);
    put_varint(to, length(&body));
    to.extend(body);
}

fn length(bytes: &[u8]) -> i64 {
    i64::try_from(bytes.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(payload: Payload) -> RecordBatch {
        RecordBatch {
            base_offset: 7,
            last_offset_delta: 1,
            partition_leader_epoch: LeaderEpoch(3),
            is_transactional: true,
            max_timestamp: 1_700_000_000_000,
            producer_id: ProducerId(4000),
            producer_epoch: ProducerEpoch(2),
            base_sequence: Sequence(5),
            payload,
        }
    }

    fn records(names: &mut Dictionary) -> Payload {
        let mut record =
            |text: &str| Record { value: names.names.add_value(text), key: None, value_bytes: 2 };
        Payload::Records([record("ab"), record("cd")].into())
    }

    #[test]
    fn numbers_zig_and_zag() {
        for value in [0, -1, 1, 63, 64, -65, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(varint(&mut bytes.as_slice()), Ok(value));
        }
    }

    #[test]
    fn records_and_markers_come_back_and_a_flipped_bit_is_seen_k_filt_1() {
        let mut names = Dictionary::default();
        let marker = EndTransactionMarker {
            result: TransactionResult::Commit,
            coordinator_epoch: CoordinatorEpoch(9),
        };
        for payload in [records(&mut names), Payload::Control(marker)] {
            let batch = batch(payload);
            let mut bytes = Vec::new();
            write(&batch, &names, &mut bytes);
            assert_eq!(read_all(&bytes.clone().into(), &mut names), Ok(vec![batch]));
            *bytes.last_mut().expect("not empty") ^= 1;
            let read = read_all(&bytes.into(), &mut names).expect("a batch all the same");
            assert_eq!(read[0].payload, Payload::Corrupt);
        }
    }

    #[test]
    fn a_broker_keeps_the_bytes_but_for_offset_and_leader_epoch_l_lep_4() {
        let mut client = Dictionary::default();
        let mut sent = Vec::new();
        write(&batch(records(&mut client)), &client, &mut sent);
        // Compressed: nobody but the clients can read it.
        sent[CHECKED_FROM + 1] |= 2;
        let crc = crc32c::crc32c(&sent[CHECKED_FROM..]);
        sent[CRC_AT..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
        let mut broker = Dictionary::of_broker(Default::default());
        let mut taken = read(&sent.clone().into(), &mut broker).expect("a batch");
        assert_eq!(taken.record_count(), 2);
        (taken.base_offset, taken.partition_leader_epoch) = (77, LeaderEpoch(8));
        let mut given = Vec::new();
        write(&taken, &broker, &mut given);
        assert_eq!(given[16..], sent[16..]);
        assert_eq!(
            (&given[..8], &given[12..16]),
            (&77i64.to_be_bytes()[..], &8i32.to_be_bytes()[..])
        );
    }

    #[test]
    fn half_a_batch_is_left_out_and_nonsense_refused() {
        let mut names = Dictionary::default();
        let mut bytes = Vec::new();
        write(&batch(records(&mut names)), &names, &mut bytes);
        assert_eq!(read_all(&bytes[..bytes.len() - 1].to_vec().into(), &mut names), Ok(vec![]));
        assert!(read_all(&vec![255; 80].into(), &mut names).is_err());
        bytes[16] = 1;
        assert!(read_all(&bytes.into(), &mut names).is_err(), "an old format");
    }
}
