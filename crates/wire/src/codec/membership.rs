//! Groups and their members.
//!
//! What members of classic groups tell each other is theirs alone. Of subscriptions the model
//! keeps the topics; the bytes are kept in the dictionary. Assignments are read and written anew.

use bytes::{Bytes, BytesMut};
use eosim_types::Duration;
use eosim_types::assignor::Assignor;
use eosim_types::message::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, GroupMember, HeartbeatRequest,
    HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember,
    LeaveGroupRequest, LeaveGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use eosim_types::{ErrorCode, GroupId, Topic, TopicPartition};
use kafka_protocol::messages as wire;
use kafka_protocol::messages::ConsumerProtocolSubscription;
use kafka_protocol::messages::{ConsumerProtocolAssignment, consumer_protocol_assignment};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use super::{Api, by_topic, error, string};
use crate::guarded::Guarded;
use crate::{Dictionary, Malformed};

/// The protocol type of consumers, the only one that the model has.
const CONSUMER: &str = "consumer";
const RANGE: &str = "range";
/// From these versions on static members say so (KIP-345).
const JOIN_INSTANCE: i16 = 5;
const INSTANCE: i16 = 3;
/// From this version on several members may leave at once.
const LEAVE_SEVERAL: i16 = 3;
/// Versions of what members tell each other that are written here.
const SUBSCRIPTION: i16 = 1;
const ASSIGNMENT: i16 = 1;

fn millis(ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

fn in_millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

/// The version that stands before what members tell each other, and the rest.
fn versioned(bytes: &Bytes) -> Result<(i16, Guarded), Malformed> {
    let version = bytes.get(..2).ok_or_else(|| Malformed::new("no version of the metadata"))?;
    let version = i16::from_be_bytes([version[0], version[1]]);
    Ok((version.clamp(0, 3), Guarded::new(bytes.slice(2..), false)))
}

fn subscription(bytes: &Bytes, names: &mut Dictionary) -> Result<Vec<Topic>, Malformed> {
    let (version, mut rest) = versioned(bytes)?;
    let read = ConsumerProtocolSubscription::decode(&mut rest, version).map_err(Malformed::new)?;
    let topics: Result<Vec<_>, _> = read.topics.iter().map(|topic| names.topic(topic)).collect();
    let mut topics = topics?;
    topics.sort_unstable();
    topics.dedup();
    Ok(topics)
}

fn subscription_bytes(topics: &[Topic], names: &Dictionary) -> Bytes {
    let topics = topics.iter().map(|&topic| names.topic_name(topic).0).collect();
    let wire = ConsumerProtocolSubscription::default().with_topics(topics);
    with_version(&wire, SUBSCRIPTION)
}

fn with_version(wire: &impl Encodable, version: i16) -> Bytes {
    let mut bytes = BytesMut::from(version.to_be_bytes().as_slice());
    wire.encode(&mut bytes, version).expect("a version of its own");
    bytes.freeze()
}

fn assignment(bytes: &Bytes, names: &mut Dictionary) -> Result<Vec<TopicPartition>, Malformed> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let (version, mut rest) = versioned(bytes)?;
    let read = ConsumerProtocolAssignment::decode(&mut rest, version).map_err(Malformed::new)?;
    let mut partitions = Vec::new();
    for topic in read.assigned_partitions {
        let id = names.topic(&topic.topic.0)?;
        partitions.extend(topic.partitions.iter().map(|&p| TopicPartition::new(id, p)));
    }
    partitions.sort_unstable();
    Ok(partitions)
}

fn assignment_bytes(partitions: &[TopicPartition], names: &Dictionary) -> Bytes {
    let topics = by_topic(partitions.iter().map(|&tp| (tp, ()))).into_iter();
    let topics = topics.map(|(topic, partitions)| {
        consumer_protocol_assignment::TopicPartition::default()
            .with_topic(names.topic_name(topic))
            .with_partitions(partitions.into_iter().map(|(p, ())| p).collect())
    });
    let wire = ConsumerProtocolAssignment::default().with_assigned_partitions(topics.collect());
    with_version(&wire, ASSIGNMENT)
}

/// The assignors of a group that the model can tell apart: `range`, and one other.
fn assignor(group: GroupId, name: &str, only: bool, names: &mut Dictionary) -> Option<Assignor> {
    if name == RANGE {
        return Some(Assignor::Range);
    }
    let other = names.assignors.entry(group).or_insert_with(|| name.to_string());
    if only && other != name {
        *other = name.to_string();
    }
    (other == name).then_some(Assignor::Uniform)
}

fn assignor_name(group: GroupId, assignor: Assignor, names: &Dictionary) -> StrBytes {
    match assignor {
        Assignor::Range => string(RANGE),
        Assignor::Uniform => string(names.assignors.get(&group).map_or("uniform", String::as_str)),
    }
}

pub(super) struct JoinGroup;

impl Api for JoinGroup {
    type Request = JoinGroupRequest;
    type Response = JoinGroupResponse;
    type WireRequest = wire::JoinGroupRequest;
    type WireResponse = wire::JoinGroupResponse;

    fn read(
        wire: wire::JoinGroupRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<JoinGroupRequest>, Malformed> {
        if &*wire.protocol_type != CONSUMER {
            return Err(Malformed::new(format!("a group of type {}", &*wire.protocol_type)));
        }
        let group = names.group(&wire.group_id.0)?;
        let member = names.member(&wire.member_id);
        let instance = names.instance(wire.group_instance_id.as_ref());
        let has_range = wire.protocols.iter().any(|protocol| &*protocol.name == RANGE);
        let mut protocols = Vec::new();
        let mut topics = Vec::new();
        for protocol in &wire.protocols {
            let known = assignor(group, &protocol.name, !has_range, names);
            let Some(known) = known.filter(|known| !protocols.contains(known)) else { continue };
            topics = subscription(&protocol.metadata, names)?;
            protocols.push(known);
            let who = (group, member, instance);
            names.subscriptions.insert((who, known), protocol.metadata.clone());
        }
        let rebalance =
            if version >= 1 { wire.rebalance_timeout_ms } else { wire.session_timeout_ms };
        Ok(vec![JoinGroupRequest {
            version,
            group,
            session_timeout: millis(wire.session_timeout_ms),
            rebalance_timeout: millis(rebalance),
            member,
            instance,
            protocols,
            subscription: topics,
        }])
    }

    fn write(
        request: &JoinGroupRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::JoinGroupRequest {
        let metadata = subscription_bytes(&request.subscription, names);
        let protocols = request.protocols.iter().map(|&assignor| {
            wire::join_group_request::JoinGroupRequestProtocol::default()
                .with_name(assignor_name(request.group, assignor, names))
                .with_metadata(metadata.clone())
        });
        let instance = names.instance_name(request.instance).filter(|_| version >= JOIN_INSTANCE);
        wire::JoinGroupRequest::default()
            .with_group_id(names.group_name(request.group))
            .with_session_timeout_ms(in_millis(request.session_timeout))
            .with_rebalance_timeout_ms(in_millis(request.rebalance_timeout))
            .with_member_id(names.member_name(request.member))
            .with_group_instance_id(instance)
            .with_protocol_type(string(CONSUMER))
            .with_protocols(protocols.collect())
    }

    fn answer(
        requests: &[&JoinGroupRequest],
        responses: &[&JoinGroupResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::JoinGroupResponse {
        let wire = wire::JoinGroupResponse::default();
        let (Some(asked), Some(r)) = (requests.first(), responses.first()) else { return wire };
        let chosen = r.protocol.unwrap_or(Assignor::Range);
        let member = |m: &JoinGroupResponseMember| {
            let told = |member, instance| {
                names.subscriptions.get(&((asked.group, member, instance), chosen))
            };
            let told = told(Some(m.member), m.instance).or_else(|| told(None, m.instance));
            let metadata = told.cloned();
            let metadata = metadata.unwrap_or_else(|| subscription_bytes(&m.subscription, names));
            let instance = names.instance_name(m.instance).filter(|_| version >= JOIN_INSTANCE);
            wire::join_group_response::JoinGroupResponseMember::default()
                .with_member_id(names.member_name(Some(m.member)))
                .with_group_instance_id(instance)
                .with_metadata(metadata)
        };
        let protocol = r.protocol.map(|chosen| assignor_name(asked.group, chosen, names));
        let protocol = if version >= 7 { protocol } else { Some(protocol.unwrap_or_default()) };
        wire.with_error_code(r.error.code())
            .with_generation_id(r.generation)
            .with_protocol_type(r.protocol.map(|_| string(CONSUMER)).filter(|_| version >= 7))
            .with_protocol_name(protocol)
            .with_leader(names.member_name(r.leader))
            .with_member_id(names.member_name(r.member))
            .with_members(r.members.iter().map(member).collect())
    }

    fn read_answer(
        wire: wire::JoinGroupResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<JoinGroupResponse, Malformed> {
        let mut members = Vec::new();
        for m in wire.members {
            members.push(JoinGroupResponseMember {
                member: names.member(&m.member_id).unwrap_or_default(),
                instance: names.instance(m.group_instance_id.as_ref()),
                subscription: subscription(&m.metadata, names)?,
            });
        }
        let protocol = wire.protocol_name.as_ref().filter(|name| !name.is_empty());
        Ok(JoinGroupResponse {
            error: error(wire.error_code),
            generation: wire.generation_id,
            protocol: protocol.map(|name| match &**name {
                RANGE => Assignor::Range,
                _ => Assignor::Uniform,
            }),
            leader: names.member(&wire.leader),
            member: names.member(&wire.member_id),
            members,
        })
    }
}

pub(super) struct SyncGroup;

impl Api for SyncGroup {
    type Request = SyncGroupRequest;
    type Response = SyncGroupResponse;
    type WireRequest = wire::SyncGroupRequest;
    type WireResponse = wire::SyncGroupResponse;

    fn read(
        wire: wire::SyncGroupRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<SyncGroupRequest>, Malformed> {
        let mut assignments = Vec::new();
        for given in &wire.assignments {
            let member = names.member(&given.member_id).unwrap_or_default();
            assignments.push((member, assignment(&given.assignment, names)?));
        }
        let member = GroupMember {
            generation_or_epoch: wire.generation_id,
            member: names.member(&wire.member_id),
            instance: names.instance(wire.group_instance_id.as_ref()),
        };
        Ok(vec![SyncGroupRequest { group: names.group(&wire.group_id.0)?, member, assignments }])
    }

    fn write(
        request: &SyncGroupRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::SyncGroupRequest {
        let given = request.assignments.iter().map(|(member, partitions)| {
            wire::sync_group_request::SyncGroupRequestAssignment::default()
                .with_member_id(names.member_name(Some(*member)))
                .with_assignment(assignment_bytes(partitions, names))
        });
        let instance = names.instance_name(request.member.instance);
        wire::SyncGroupRequest::default()
            .with_group_id(names.group_name(request.group))
            .with_generation_id(request.member.generation_or_epoch)
            .with_member_id(names.member_name(request.member.member))
            .with_group_instance_id(instance.filter(|_| version >= INSTANCE))
            .with_assignments(given.collect())
    }

    fn answer(
        _: &[&SyncGroupRequest],
        responses: &[&SyncGroupResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::SyncGroupResponse {
        let wire = wire::SyncGroupResponse::default();
        let Some(r) = responses.first() else { return wire };
        let bytes = match r.error {
            ErrorCode::None => assignment_bytes(&r.assignment, names),
            _ => Bytes::new(),
        };
        wire.with_error_code(r.error.code())
            .with_protocol_type((version >= 5).then(|| string(CONSUMER)))
            .with_assignment(bytes)
    }

    fn read_answer(
        wire: wire::SyncGroupResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<SyncGroupResponse, Malformed> {
        let assignment = assignment(&wire.assignment, names)?;
        Ok(SyncGroupResponse { error: error(wire.error_code), assignment })
    }
}

pub(super) struct Heartbeat;

impl Api for Heartbeat {
    type Request = HeartbeatRequest;
    type Response = HeartbeatResponse;
    type WireRequest = wire::HeartbeatRequest;
    type WireResponse = wire::HeartbeatResponse;

    fn read(
        wire: wire::HeartbeatRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<HeartbeatRequest>, Malformed> {
        let member = GroupMember {
            generation_or_epoch: wire.generation_id,
            member: names.member(&wire.member_id),
            instance: names.instance(wire.group_instance_id.as_ref()),
        };
        Ok(vec![HeartbeatRequest { group: names.group(&wire.group_id.0)?, member }])
    }

    fn write(
        request: &HeartbeatRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::HeartbeatRequest {
        let instance = names.instance_name(request.member.instance);
        wire::HeartbeatRequest::default()
            .with_group_id(names.group_name(request.group))
            .with_generation_id(request.member.generation_or_epoch)
            .with_member_id(names.member_name(request.member.member))
            .with_group_instance_id(instance.filter(|_| version >= INSTANCE))
    }

    fn answer(
        _: &[&HeartbeatRequest],
        responses: &[&HeartbeatResponse],
        _: i16,
        _: &Dictionary,
    ) -> wire::HeartbeatResponse {
        let code = responses.first().map_or(0, |r| r.error.code());
        wire::HeartbeatResponse::default().with_error_code(code)
    }

    fn read_answer(
        wire: wire::HeartbeatResponse,
        _: i16,
        _: &mut Dictionary,
    ) -> Result<HeartbeatResponse, Malformed> {
        Ok(HeartbeatResponse { error: error(wire.error_code) })
    }
}

pub(super) struct LeaveGroup;

impl Api for LeaveGroup {
    type Request = LeaveGroupRequest;
    type Response = LeaveGroupResponse;
    type WireRequest = wire::LeaveGroupRequest;
    type WireResponse = wire::LeaveGroupResponse;

    fn read(
        wire: wire::LeaveGroupRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<LeaveGroupRequest>, Malformed> {
        let group = names.group(&wire.group_id.0)?;
        let members = if version < LEAVE_SEVERAL {
            vec![(names.member(&wire.member_id), None)]
        } else {
            let one = |m: &wire::leave_group_request::MemberIdentity| {
                (names.member(&m.member_id), names.instance(m.group_instance_id.as_ref()))
            };
            wire.members.iter().map(one).collect()
        };
        Ok(vec![LeaveGroupRequest { group, members }])
    }

    fn write(
        request: &LeaveGroupRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::LeaveGroupRequest {
        let wire =
            wire::LeaveGroupRequest::default().with_group_id(names.group_name(request.group));
        if version < LEAVE_SEVERAL {
            let member = request.members.first().and_then(|(member, _)| *member);
            return wire.with_member_id(names.member_name(member));
        }
        let members = request.members.iter().map(|&(member, instance)| {
            wire::leave_group_request::MemberIdentity::default()
                .with_member_id(names.member_name(member))
                .with_group_instance_id(names.instance_name(instance))
        });
        wire.with_members(members.collect())
    }

    fn answer(
        requests: &[&LeaveGroupRequest],
        responses: &[&LeaveGroupResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::LeaveGroupResponse {
        let wire = wire::LeaveGroupResponse::default();
        let (Some(asked), Some(r)) = (requests.first(), responses.first()) else { return wire };
        if version < LEAVE_SEVERAL {
            let first = r.members.first().copied().filter(|_| r.error.is_none());
            return wire.with_error_code(first.unwrap_or(r.error).code());
        }
        let members = asked.members.iter().zip(&r.members).map(|(&(member, instance), code)| {
            wire::leave_group_response::MemberResponse::default()
                .with_member_id(names.member_name(member))
                .with_group_instance_id(names.instance_name(instance))
                .with_error_code(code.code())
        });
        wire.with_error_code(r.error.code()).with_members(members.collect())
    }

    fn read_answer(
        wire: wire::LeaveGroupResponse,
        version: i16,
        _: &mut Dictionary,
    ) -> Result<LeaveGroupResponse, Malformed> {
        let code = error(wire.error_code);
        if version < LEAVE_SEVERAL {
            return Ok(LeaveGroupResponse { error: ErrorCode::None, members: vec![code] });
        }
        let members = wire.members.iter().map(|m| error(m.error_code)).collect();
        Ok(LeaveGroupResponse { error: code, members })
    }
}

pub(super) struct ConsumerGroupHeartbeat;

impl Api for ConsumerGroupHeartbeat {
    type Request = ConsumerGroupHeartbeatRequest;
    type Response = ConsumerGroupHeartbeatResponse;
    type WireRequest = wire::ConsumerGroupHeartbeatRequest;
    type WireResponse = wire::ConsumerGroupHeartbeatResponse;

    fn read(
        wire: wire::ConsumerGroupHeartbeatRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<ConsumerGroupHeartbeatRequest>, Malformed> {
        let member = names.member(&wire.member_id);
        let member = member.ok_or_else(|| Malformed::new("a member without an id"))?;
        let mut subscribed = None;
        if let Some(topics) = &wire.subscribed_topic_names {
            let topics: Result<Vec<_>, _> = topics.iter().map(|t| names.topic(&t.0)).collect();
            let mut topics = topics?;
            topics.sort_unstable();
            topics.dedup();
            subscribed = Some(topics);
        }
        let mut owned = None;
        for topic in wire.topic_partitions.iter().flatten() {
            let id = names.topic_of(&wire::TopicName::default(), topic.topic_id)?;
            let owned = owned.get_or_insert_with(Vec::new);
            owned.extend(topic.partitions.iter().map(|&p| TopicPartition::new(id, p)));
        }
        let rebalance = wire.rebalance_timeout_ms;
        Ok(vec![ConsumerGroupHeartbeatRequest {
            group: names.group(&wire.group_id.0)?,
            member,
            member_epoch: wire.member_epoch,
            instance: names.instance(wire.instance_id.as_ref()),
            rebalance_timeout: (rebalance >= 0).then(|| millis(rebalance)),
            subscribed_topics: subscribed,
            server_assignor: wire.server_assignor.as_ref().map(|name| match &**name {
                RANGE => Assignor::Range,
                _ => Assignor::Uniform,
            }),
            topic_partitions: owned.or_else(|| wire.topic_partitions.map(|_| Vec::new())),
        }])
    }

    fn write(
        request: &ConsumerGroupHeartbeatRequest,
        _: i16,
        names: &Dictionary,
    ) -> wire::ConsumerGroupHeartbeatRequest {
        let topics = |partitions: &Vec<TopicPartition>| {
            let topics = by_topic(partitions.iter().map(|&tp| (tp, ()))).into_iter();
            let one = |(topic, partitions): (_, Vec<(i32, ())>)| {
                wire::consumer_group_heartbeat_request::TopicPartitions::default()
                    .with_topic_id(names.topic_id(topic))
                    .with_partitions(partitions.into_iter().map(|(p, ())| p).collect())
            };
            topics.map(one).collect()
        };
        let named = |topics: &Vec<Topic>| topics.iter().map(|&t| names.topic_name(t)).collect();
        wire::ConsumerGroupHeartbeatRequest::default()
            .with_group_id(names.group_name(request.group))
            .with_member_id(names.member_name(Some(request.member)))
            .with_member_epoch(request.member_epoch)
            .with_instance_id(names.instance_name(request.instance))
            .with_rebalance_timeout_ms(request.rebalance_timeout.map_or(-1, in_millis))
            .with_subscribed_topic_names(request.subscribed_topics.as_ref().map(named))
            .with_server_assignor(request.server_assignor.map(|a| string(a.name())))
            .with_topic_partitions(request.topic_partitions.as_ref().map(topics))
    }

    fn answer(
        requests: &[&ConsumerGroupHeartbeatRequest],
        responses: &[&ConsumerGroupHeartbeatResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::ConsumerGroupHeartbeatResponse {
        use wire::consumer_group_heartbeat_response as schema;
        let wire = wire::ConsumerGroupHeartbeatResponse::default();
        let (Some(asked), Some(r)) = (requests.first(), responses.first()) else { return wire };
        let assignment = |partitions: &Vec<TopicPartition>| {
            let topics = by_topic(partitions.iter().map(|&tp| (tp, ()))).into_iter();
            let one = |(topic, partitions): (_, Vec<(i32, ())>)| {
                schema::TopicPartitions::default()
                    .with_topic_id(names.topic_id(topic))
                    .with_partitions(partitions.into_iter().map(|(p, ())| p).collect())
            };
            schema::Assignment::default().with_topic_partitions(topics.map(one).collect())
        };
        wire.with_error_code(r.error.code())
            .with_member_id(Some(names.member_name(Some(asked.member))))
            .with_member_epoch(r.member_epoch)
            .with_heartbeat_interval_ms(in_millis(r.heartbeat_interval))
            .with_assignment(r.assignment.as_ref().map(assignment))
    }

    fn read_answer(
        wire: wire::ConsumerGroupHeartbeatResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<ConsumerGroupHeartbeatResponse, Malformed> {
        let mut assignment = None;
        if let Some(told) = wire.assignment {
            let mut partitions = Vec::new();
            for topic in told.topic_partitions {
                let id = names.topic_of(&wire::TopicName::default(), topic.topic_id)?;
                partitions.extend(topic.partitions.iter().map(|&p| TopicPartition::new(id, p)));
            }
            assignment = Some(partitions);
        }
        Ok(ConsumerGroupHeartbeatResponse {
            error: error(wire.error_code),
            member_epoch: wire.member_epoch,
            heartbeat_interval: millis(wire.heartbeat_interval_ms),
            assignment,
        })
    }
}
