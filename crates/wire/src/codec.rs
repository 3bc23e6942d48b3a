//! Requests and answers in bytes, both ways, as far as the model has a rule for them.
//!
//! Each API is one type that implements `Api`; the table below names them all. A request that
//! asks for several things of which the model takes one at a time becomes several of the model's.

mod by_id;
mod data;
mod group;
mod markers;
mod membership;
mod transaction;

use bytes::{Buf, Bytes, BytesMut};
use eosim_types::message::{Request, Response};
use eosim_types::{ErrorCode, Topic, TopicPartition};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use by_id::Way;

use crate::guarded::Guarded;
use crate::{Dictionary, Malformed};

/// The version of the header before requests of flexible versions.
const FLEXIBLE_HEADER: i16 = 2;

/// One API: the model's words and the wire's.
trait Api {
    /// The model's request.
    type Request: Into<Request>;
    /// The model's answer.
    type Response: Into<Response>;
    /// The request as it travels.
    type WireRequest: Encodable + Decodable;
    /// The answer as it travels.
    type WireResponse: Encodable + Decodable;

    /// What a client asks.
    fn read(
        wire: Self::WireRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<Self::Request>, Malformed>;

    /// The request as a client sends it.
    fn write(request: &Self::Request, version: i16, names: &Dictionary) -> Self::WireRequest;

    /// The answer to `requests` as a broker sends it.
    fn answer(
        requests: &[&Self::Request],
        responses: &[&Self::Response],
        version: i16,
        names: &Dictionary,
    ) -> Self::WireResponse;

    /// What a broker answers to one request.
    fn read_answer(
        wire: Self::WireResponse,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Self::Response, Malformed>;
}

macro_rules! apis {
    ($($api:ident($codec:ty)),+ $(,)?) => {
        /// The API that the model calls differently from the wire's list, if it knows it.
        #[must_use]
        pub fn key_of(request: &Request) -> Option<ApiKey> {
            match request {
                $(Request::$api(_) => Some(ApiKey::$api),)+
                _ => None,
            }
        }

        /// Does the model answer requests of this API?
        #[must_use]
        pub fn is_answered(key: ApiKey) -> bool {
            matches!(key, $(ApiKey::$api)|+)
        }

        /// What the body of a request asks.
        ///
        /// # Errors
        ///
        /// If the bytes are no such request, or the API is not one of the model's.
        pub fn read_request(
            key: ApiKey,
            version: i16,
            body: Bytes,
            names: &mut Dictionary,
        ) -> Result<Vec<Request>, Malformed> {
            match key {
                $(ApiKey::$api => {
                    let body = by_id::to_names((key, version, Way::Request), body, names)?;
                    let wire = decode_request(key, by_id::known(key, version), body)?;
                    let requests = <$codec>::read(wire, version, names)?;
                    Ok(requests.into_iter().map(Request::from).collect())
                })+
                other => Err(Malformed::new(format!("{other:?} is not answered"))),
            }
        }

        /// The body of a request.
        ///
        /// # Errors
        ///
        /// If that version cannot say it.
        pub fn write_request(
            request: &Request,
            version: i16,
            names: &Dictionary,
        ) -> Result<Bytes, Malformed> {
            match request {
                $(Request::$api(request) => {
                    let wire = <$codec>::write(request, version, names);
                    let body = encode(&wire, by_id::known(ApiKey::$api, version))?;
                    by_id::to_ids((ApiKey::$api, version, Way::Request), body, names)
                })+
                other => Err(Malformed::new(format!("{} does not travel", other.api().name()))),
            }
        }

        /// The body of the answer to `requests`, which came as one.
        ///
        /// # Errors
        ///
        /// If answers and requests do not fit, or that version cannot say it.
        pub fn write_response(
            requests: &[Request],
            responses: &[Response],
            version: i16,
            names: &Dictionary,
        ) -> Result<Bytes, Malformed> {
            match requests.first() {
                $(Some(Request::$api(_)) => {
                    let requests: Vec<_> = requests.iter().filter_map(|request| match request {
                        Request::$api(request) => Some(request),
                        _ => None,
                    }).collect();
                    let responses: Vec<_> = responses.iter().filter_map(|response| match response {
                        Response::$api(response) => Some(response),
                        _ => None,
                    }).collect();
                    if requests.len() != responses.len() {
                        return Err(Malformed::new("an answer of another kind"));
                    }
                    let wire = <$codec>::answer(&requests, &responses, version, names);
                    let body = encode(&wire, by_id::known(ApiKey::$api, version))?;
                    by_id::to_ids((ApiKey::$api, version, Way::Answer), body, names)
                })+
                _ => Err(Malformed::new("no answer that travels")),
            }
        }

        /// What the body of an answer of this API says.
        ///
        /// # Errors
        ///
        /// If the bytes are no such answer.
        pub fn read_response(
            key: ApiKey,
            version: i16,
            body: Bytes,
            names: &mut Dictionary,
        ) -> Result<Response, Malformed> {
            match key {
                $(ApiKey::$api => {
                    let body = by_id::to_names((key, version, Way::Answer), body, names)?;
                    let wire = decode(key, by_id::known(key, version), body)?;
                    Ok(<$codec>::read_answer(wire, version, names)?.into())
                })+
                other => Err(Malformed::new(format!("{other:?} is not read"))),
            }
        }
    };
}

apis! {
    Produce(data::Produce),
    Fetch(data::Fetch),
    ListOffsets(data::ListOffsets),
    OffsetForLeaderEpoch(data::OffsetForLeaderEpoch),
    DescribeProducers(data::DescribeProducers),
    DeleteRecords(data::DeleteRecords),
    FindCoordinator(transaction::FindCoordinator),
    InitProducerId(transaction::InitProducerId),
    AddPartitionsToTxn(transaction::AddPartitionsToTxn),
    AddOffsetsToTxn(transaction::AddOffsetsToTxn),
    EndTxn(transaction::EndTxn),
    WriteTxnMarkers(markers::WriteTxnMarkers),
    DescribeTransactions(transaction::DescribeTransactions),
    ListTransactions(transaction::ListTransactions),
    TxnOffsetCommit(group::TxnOffsetCommit),
    OffsetCommit(group::OffsetCommit),
    OffsetFetch(group::OffsetFetch),
    OffsetDelete(group::OffsetDelete),
    DeleteGroups(group::DeleteGroups),
    JoinGroup(membership::JoinGroup),
    SyncGroup(membership::SyncGroup),
    Heartbeat(membership::Heartbeat),
    LeaveGroup(membership::LeaveGroup),
    ConsumerGroupHeartbeat(membership::ConsumerGroupHeartbeat),
}

/// What all of `body` says; nothing may follow.
pub(crate) fn decode<T: Decodable>(key: ApiKey, version: i16, body: Bytes) -> Result<T, Malformed> {
    match decode_some(key, version, body)? {
        (decoded, 0) => Ok(decoded),
        (_, more) => Err(Malformed::new(format!("{more} bytes behind the end"))),
    }
}

/// What `body` asks. Brokers do not look at what follows (`AbstractRequest.parseRequest`), and there
/// are clients that send more: librdkafka does where it asks for the metadata of all topics.
pub(crate) fn decode_request<T: Decodable>(
    key: ApiKey,
    version: i16,
    body: Bytes,
) -> Result<T, Malformed> {
    decode_some(key, version, body).map(|(decoded, _)| decoded)
}

/// What is at the beginning of `body`, and how many bytes are behind that.
fn decode_some<T: Decodable>(
    key: ApiKey,
    version: i16,
    body: Bytes,
) -> Result<(T, usize), Malformed> {
    let flexible = key.request_header_version(version) >= FLEXIBLE_HEADER;
    let mut body = Guarded::new(body, flexible);
    let decoded = T::decode(&mut body, version).map_err(Malformed::new)?;
    Ok((decoded, body.remaining()))
}

pub(crate) fn encode<T: Encodable>(wire: &T, version: i16) -> Result<Bytes, Malformed> {
    let mut bytes = BytesMut::new();
    wire.encode(&mut bytes, version).map_err(Malformed::new)?;
    Ok(bytes.freeze())
}

/// The header of a request, taken off `frame`; the API must be one that exists.
///
/// # Errors
///
/// If there is none.
pub fn read_request_header(frame: &mut Bytes) -> Result<(ApiKey, RequestHeader), Malformed> {
    if frame.len() < 8 {
        return Err(Malformed::new(format!("{} bytes, too few for a header", frame.len())));
    }
    let key = i16::from_be_bytes([frame[0], frame[1]]);
    let version = i16::from_be_bytes([frame[2], frame[3]]);
    let known = ApiKey::try_from(key).map_err(|()| Malformed::new(format!("API {key}")))?;
    let header_version = known.request_header_version(version);
    let header = RequestHeader::decode(frame, header_version).map_err(Malformed::new)?;
    Ok((known, header))
}

/// A whole request without the length before it.
///
/// # Errors
///
/// If that version of the API cannot be written.
pub fn request_frame(
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    client: &str,
    body: &[u8],
) -> Result<Bytes, Malformed> {
    let header = RequestHeader::default()
        .with_request_api_key(key as i16)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(StrBytes::from_string(client.to_string())));
    let mut frame = BytesMut::new();
    let header_version = key.request_header_version(version);
    header.encode(&mut frame, header_version).map_err(Malformed::new)?;
    frame.extend_from_slice(body);
    Ok(frame.freeze())
}

/// A whole answer without the length before it.
///
/// # Errors
///
/// If that version of the API cannot be written.
pub fn response_frame(
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    body: &[u8],
) -> Result<Bytes, Malformed> {
    let header = ResponseHeader::default().with_correlation_id(correlation_id);
    let mut frame = BytesMut::new();
    let header_version = key.response_header_version(version);
    header.encode(&mut frame, header_version).map_err(Malformed::new)?;
    frame.extend_from_slice(body);
    Ok(frame.freeze())
}

/// The correlation id of an answer, taken off `frame` with the rest of the header.
///
/// # Errors
///
/// If there is none.
pub fn read_response_header(
    key: ApiKey,
    version: i16,
    frame: &mut Bytes,
) -> Result<i32, Malformed> {
    let header_version = key.response_header_version(version);
    let header = ResponseHeader::decode(frame, header_version).map_err(Malformed::new)?;
    Ok(header.correlation_id)
}

/// The error of this number; one that nobody knows is an unknown one.
fn error(code: i16) -> ErrorCode {
    ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError)
}

/// Sorts by topic, in the order in which they first appear.
fn by_topic<T>(
    items: impl IntoIterator<Item = (TopicPartition, T)>,
) -> Vec<(Topic, Vec<(i32, T)>)> {
    let mut topics: Vec<(Topic, Vec<(i32, T)>)> = Vec::new();
    for (tp, item) in items {
        let known = topics.iter().position(|(topic, _)| *topic == tp.topic);
        let at = known.unwrap_or_else(|| {
            topics.push((tp.topic, Vec::new()));
            topics.len() - 1
        });
        topics[at].1.push((tp.partition, item));
    }
    topics
}

fn string(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_string())
}
