//! Versions that name topics by id in the place of their names, and are otherwise the ones before
//! (KIP-848): the schemas of `kafka-protocol` end there, so that bytes are turned into those.
//!
//! Kafka's counterparts: `OffsetCommitRequest.json` 10, `OffsetFetchRequest.json` 10,
//! `TxnOffsetCommitRequest.json` 6. `ListOffsetsRequest.json` 11 differs from 10 in nothing but the
//! times that may be asked for.

use bytes::{Buf, BufMut, Bytes};
use eosim_types::ErrorCode;
use kafka_protocol::messages::{ApiKey, TopicName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use crate::{Dictionary, Malformed};

/// The parts of a message of a flexible version.
enum Part {
    /// So many bytes.
    Plain(usize),
    /// A string, or none.
    Text,
    /// The topic, by id or name.
    Topic,
    /// What came of a partition of it.
    Code,
    /// As many of these as are announced.
    Many(&'static [Part]),
    /// Tagged fields, which end everything.
    Tags,
}

use Part::{Code, Many, Plain, Tags, Text, Topic};

const COMMIT_REQUEST: &[Part] = &[Text, Plain(4), Text, Text, Many(COMMITTED), Tags];
const TXN_COMMIT_REQUEST: &[Part] =
    &[Text, Text, Plain(8), Plain(2), Plain(4), Text, Text, Many(COMMITTED), Tags];
const COMMITTED: &[Part] = &[Topic, Many(&[Plain(4), Plain(8), Plain(4), Text, Tags]), Tags];
const COMMIT_RESPONSE: &[Part] =
    &[Plain(4), Many(&[Topic, Many(&[Plain(4), Code, Tags]), Tags]), Tags];
const FETCH_REQUEST: &[Part] =
    &[Many(&[Text, Text, Plain(4), Many(&[Topic, Many(&[Plain(4)]), Tags]), Tags]), Plain(1), Tags];
const FETCH_RESPONSE: &[Part] =
    &[Plain(4), Many(&[Text, Many(&[Topic, Many(FETCHED), Tags]), Plain(2), Tags]), Tags];
const FETCHED: &[Part] = &[Plain(4), Plain(8), Plain(4), Text, Code, Tags];

/// The version under which the schemas know what this one says.
pub(super) fn known(key: ApiKey, version: i16) -> i16 {
    match (key, version) {
        (ApiKey::ListOffsets, 11) | (ApiKey::OffsetCommit | ApiKey::OffsetFetch, 10) => version - 1,
        (ApiKey::TxnOffsetCommit, 6) => 5,
        _ => version,
    }
}

/// What request and answer consist of, if this version names topics by id.
fn parts(key: ApiKey, version: i16) -> Option<[&'static [Part]; 2]> {
    match (key, version) {
        (ApiKey::OffsetCommit, 10) => Some([COMMIT_REQUEST, COMMIT_RESPONSE]),
        (ApiKey::OffsetFetch, 10) => Some([FETCH_REQUEST, FETCH_RESPONSE]),
        (ApiKey::TxnOffsetCommit, 6) => Some([TXN_COMMIT_REQUEST, COMMIT_RESPONSE]),
        _ => None,
    }
}

/// Request or answer.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Request = 0,
    Answer = 1,
}

/// The body with names of topics, as the version before has it.
pub(super) fn to_names(
    (key, version, way): (ApiKey, i16, Way),
    body: Bytes,
    names: &mut Dictionary,
) -> Result<Bytes, Malformed> {
    let Some(parts) = parts(key, version) else { return Ok(body) };
    let mut put = |from: &mut &[u8], to: &mut Vec<u8>| {
        let id = Uuid::from_slice(take(from, 16)?).map_err(Malformed::new)?;
        let topic = names.topic_of(&TopicName(StrBytes::new()), id)?;
        let name = names.topic_name(topic);
        put_varint(to, name.len() as u64 + 1);
        to.put_slice(name.as_bytes());
        Ok(false)
    };
    turned(parts[way as usize], &body, &mut put)
}

/// The body with ids of topics in the place of names.
pub(super) fn to_ids(
    (key, version, way): (ApiKey, i16, Way),
    body: Bytes,
    names: &Dictionary,
) -> Result<Bytes, Malformed> {
    let Some(parts) = parts(key, version) else { return Ok(body) };
    let mut put = |from: &mut &[u8], to: &mut Vec<u8>| {
        let length = varint(from)?.saturating_sub(1);
        let name = take(from, usize::try_from(length).map_err(Malformed::new)?)?;
        let topic = names.named(&String::from_utf8_lossy(name));
        to.put_slice(topic.map(|topic| names.topic_id(topic)).unwrap_or_default().as_bytes());
        Ok(topic.is_none_or(|topic| names.is_unknown(topic)))
    };
    turned(parts[way as usize], &body, &mut put)
}

/// Writes the topic anew; says whether it is one that nobody knows.
type Put<'a> = dyn FnMut(&mut &[u8], &mut Vec<u8>) -> Result<bool, Malformed> + 'a;

fn turned(parts: &[Part], body: &Bytes, put: &mut Put<'_>) -> Result<Bytes, Malformed> {
    let (mut from, mut to) = (body.as_ref(), Vec::with_capacity(body.len()));
    turn(parts, &mut from, &mut to, put, &mut false)?;
    to.put_slice(from);
    Ok(to.into())
}

fn turn(
    parts: &[Part],
    from: &mut &[u8],
    to: &mut Vec<u8>,
    put: &mut Put<'_>,
    is_unknown: &mut bool,
) -> Result<(), Malformed> {
    for part in parts {
        match part {
            Plain(count) => to.put_slice(take(from, *count)?),
            Topic => *is_unknown = put(from, to)?,
            Code => {
                let code = take(from, 2)?.get_i16();
                to.put_i16(code_of(code, *is_unknown));
            }
            Text => {
                let length = varint(from)?;
                put_varint(to, length);
                let length = usize::try_from(length.saturating_sub(1)).map_err(Malformed::new)?;
                to.put_slice(take(from, length)?);
            }
            Many(parts) => {
                let count = varint(from)?;
                put_varint(to, count);
                for _ in 1..count {
                    turn(parts, from, to, put, is_unknown)?;
                }
            }
            Tags => tags(from, to)?,
        }
    }
    Ok(())
}

fn tags(from: &mut &[u8], to: &mut Vec<u8>) -> Result<(), Malformed> {
    let count = varint(from)?;
    put_varint(to, count);
    for _ in 0..count {
        let (tag, length) = (varint(from)?, varint(from)?);
        put_varint(to, tag);
        put_varint(to, length);
        to.put_slice(take(from, usize::try_from(length).map_err(Malformed::new)?)?);
    }
    Ok(())
}

/// A topic that only has an id is unknown by that (KIP-516).
fn code_of(code: i16, is_unknown: bool) -> i16 {
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    if is_unknown && code == unknown { ErrorCode::UnknownTopicId.code() } else { code }
}

fn take<'a>(from: &mut &'a [u8], count: usize) -> Result<&'a [u8], Malformed> {
    let cut_off = || Malformed::new("a message that is cut off");
    let (taken, rest) = from.split_at_checked(count).ok_or_else(cut_off)?;
    *from = rest;
    Ok(taken)
}

fn varint(from: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let byte = take(from, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed::new("a number without end"))
}

fn put_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.put_u8(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    to.put_u8(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One group, one partition of a topic with this id.
    fn fetch(id: Uuid) -> Bytes {
        let head = [&[2, 2, b'g', 0, 0, 0, 0, 0, 2][..], id.as_bytes()].concat();
        [head, vec![2, 0, 0, 0, 3, 0, 0, 1, 0]].concat().into()
    }

    #[test]
    fn ids_become_names_and_names_ids() {
        let mut names = Dictionary::default();
        let topic = names.topic("orders").expect("a name");
        names.give_topic_id(topic, 5);
        let bytes = fetch(names.topic_id(topic));
        let what = (ApiKey::OffsetFetch, 10, Way::Request);
        let named = to_names(what, bytes.clone(), &mut names).expect("a request");
        assert!(named.windows(7).any(|window| window == b"\x07orders"));
        assert_eq!(to_ids(what, named, &names), Ok(bytes.clone()));
        for at in 0..bytes.len() {
            drop(to_names(what, bytes.slice(..at), &mut names));
        }
    }

    #[test]
    fn an_id_that_nobody_gave_is_unknown_as_an_id() {
        let mut names = Dictionary::default();
        let id = Uuid::from_u128(7);
        let asked = to_names((ApiKey::OffsetFetch, 10, Way::Request), fetch(id), &mut names);
        assert!(asked.is_ok_and(|asked| asked.windows(2).any(|window| window == b"?0")));
        let name = names.topic_of(&TopicName::default(), id).map(|topic| names.topic_name(topic));
        let name = name.expect("a name that it has here");
        let length = u8::try_from(name.len() + 1).expect("short");
        let head = [&[0, 0, 0, 0, 2, length][..], name.as_bytes()].concat();
        let answer = [head, vec![2, 0, 0, 0, 3, 0, 3, 0, 0, 0]].concat();
        let told = to_ids((ApiKey::OffsetCommit, 10, Way::Answer), answer.into(), &names);
        let told = told.expect("an answer");
        assert_eq!(told[5..21], *id.as_bytes());
        assert_eq!(told[26..28], ErrorCode::UnknownTopicId.code().to_be_bytes());
    }
}
