//! Offsets of groups.

use eosim_types::message::{
    CommittableOffset, DeleteGroupsRequest, DeleteGroupsResponse, GroupMember, OffsetCommitRequest,
    OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse, OffsetFetchRequest,
    OffsetFetchResponse, OffsetFetchResult, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};
use eosim_types::{ErrorCode, Few, LeaderEpoch, ProducerEpoch, ProducerId, TopicPartition};
use kafka_protocol::messages as wire;
use kafka_protocol::protocol::StrBytes;

use super::{Api, by_topic, error};
use crate::{Dictionary, Malformed};

/// From this version on several groups may be asked for at once (KIP-709).
const FETCH_GROUPS: i16 = 8;
/// From this version on the member says who it is (KIP-848).
const FETCH_MEMBER: i16 = 9;
/// From these versions on a member says who it is (KIP-447), and that it is a static one.
const TXN_MEMBER: i16 = 3;
const COMMIT_INSTANCE: i16 = 7;
/// From this version on the leader epoch of the last record read travels.
const COMMIT_LEADER_EPOCH: i16 = 6;

fn member(
    generation_or_epoch: i32,
    id: &str,
    instance: Option<&StrBytes>,
    names: &mut Dictionary,
) -> GroupMember {
    let (member, instance) = (names.member(id), names.instance(instance));
    GroupMember { generation_or_epoch, member, instance }
}

pub(super) struct TxnOffsetCommit;

impl Api for TxnOffsetCommit {
    type Request = TxnOffsetCommitRequest;
    type Response = TxnOffsetCommitResponse;
    type WireRequest = wire::TxnOffsetCommitRequest;
    type WireResponse = wire::TxnOffsetCommitResponse;

    fn read(
        wire: wire::TxnOffsetCommitRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<TxnOffsetCommitRequest>, Malformed> {
        let mut offsets = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            offsets.extend(topic.partitions.iter().map(|p| CommittableOffset {
                partition: TopicPartition::new(id, p.partition_index),
                offset: p.committed_offset,
                leader_epoch: LeaderEpoch(p.committed_leader_epoch),
            }));
        }
        let instance = wire.group_instance_id.as_ref();
        Ok(vec![TxnOffsetCommitRequest {
            version,
            transactional_id: names.transactional_id(&wire.transactional_id.0)?,
            group: names.group(&wire.group_id.0)?,
            producer_id: ProducerId(wire.producer_id.0),
            producer_epoch: ProducerEpoch(wire.producer_epoch),
            member: member(wire.generation_id, &wire.member_id, instance, names),
            offsets,
        }])
    }

    fn write(
        request: &TxnOffsetCommitRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::TxnOffsetCommitRequest {
        use wire::txn_offset_commit_request as schema;
        let one = |(partition, o): (i32, &CommittableOffset)| {
            schema::TxnOffsetCommitRequestPartition::default()
                .with_partition_index(partition)
                .with_committed_offset(o.offset)
                .with_committed_leader_epoch(if version >= 2 { o.leader_epoch.0 } else { -1 })
                .with_committed_metadata(Some(StrBytes::new()))
        };
        let topics = by_topic(request.offsets.iter().map(|o| (o.partition, o)));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            schema::TxnOffsetCommitRequestTopic::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        let wire = wire::TxnOffsetCommitRequest::default()
            .with_transactional_id(names.id_name(request.transactional_id))
            .with_group_id(names.group_name(request.group))
            .with_producer_id(request.producer_id.0.into())
            .with_producer_epoch(request.producer_epoch.0)
            .with_topics(topics.collect());
        if version < TXN_MEMBER {
            return wire;
        }
        wire.with_generation_id(request.member.generation_or_epoch)
            .with_member_id(names.member_name(request.member.member))
            .with_group_instance_id(names.instance_name(request.member.instance))
    }

    fn answer(
        _: &[&TxnOffsetCommitRequest],
        responses: &[&TxnOffsetCommitResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::TxnOffsetCommitResponse {
        use wire::txn_offset_commit_response as schema;
        let one = |(partition, code): (i32, ErrorCode)| {
            schema::TxnOffsetCommitResponsePartition::default()
                .with_partition_index(partition)
                .with_error_code(code.code())
        };
        let all = responses.iter().flat_map(|r| r.partitions.iter().copied());
        let topics = by_topic(all).into_iter().map(|(topic, partitions)| {
            schema::TxnOffsetCommitResponseTopic::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire::TxnOffsetCommitResponse::default().with_topics(topics.collect())
    }

    fn read_answer(
        wire: wire::TxnOffsetCommitResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<TxnOffsetCommitResponse, Malformed> {
        let mut partitions = Few::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            let one = |p: &wire::txn_offset_commit_response::TxnOffsetCommitResponsePartition| {
                (TopicPartition::new(id, p.partition_index), error(p.error_code))
            };
            partitions.extend(topic.partitions.iter().map(one));
        }
        Ok(TxnOffsetCommitResponse { partitions })
    }
}

pub(super) struct OffsetCommit;

impl Api for OffsetCommit {
    type Request = OffsetCommitRequest;
    type Response = OffsetCommitResponse;
    type WireRequest = wire::OffsetCommitRequest;
    type WireResponse = wire::OffsetCommitResponse;

    fn read(
        wire: wire::OffsetCommitRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<OffsetCommitRequest>, Malformed> {
        let mut offsets = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            offsets.extend(topic.partitions.iter().map(|p| CommittableOffset {
                partition: TopicPartition::new(id, p.partition_index),
                offset: p.committed_offset,
                leader_epoch: LeaderEpoch(p.committed_leader_epoch),
            }));
        }
        let epoch = wire.generation_id_or_member_epoch;
        let group = names.group(&wire.group_id.0)?;
        let member = member(epoch, &wire.member_id, wire.group_instance_id.as_ref(), names);
        Ok(vec![OffsetCommitRequest { version, group, member, offsets }])
    }

    fn write(
        request: &OffsetCommitRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::OffsetCommitRequest {
        use wire::offset_commit_request as schema;
        let with_epoch = version >= COMMIT_LEADER_EPOCH;
        let one = |(partition, o): (i32, &CommittableOffset)| {
            schema::OffsetCommitRequestPartition::default()
                .with_partition_index(partition)
                .with_committed_offset(o.offset)
                .with_committed_leader_epoch(if with_epoch { o.leader_epoch.0 } else { -1 })
                .with_committed_metadata(Some(StrBytes::new()))
        };
        let topics = by_topic(request.offsets.iter().map(|o| (o.partition, o)));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            schema::OffsetCommitRequestTopic::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        let instance = names.instance_name(request.member.instance);
        wire::OffsetCommitRequest::default()
            .with_group_id(names.group_name(request.group))
            .with_generation_id_or_member_epoch(request.member.generation_or_epoch)
            .with_member_id(names.member_name(request.member.member))
            .with_group_instance_id(instance.filter(|_| version >= COMMIT_INSTANCE))
            .with_topics(topics.collect())
    }

    fn answer(
        _: &[&OffsetCommitRequest],
        responses: &[&OffsetCommitResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::OffsetCommitResponse {
        use wire::offset_commit_response as schema;
        let one = |(partition, code): (i32, ErrorCode)| {
            schema::OffsetCommitResponsePartition::default()
                .with_partition_index(partition)
                .with_error_code(code.code())
        };
        let all = responses.iter().flat_map(|r| r.partitions.iter().copied());
        let topics = by_topic(all).into_iter().map(|(topic, partitions)| {
            schema::OffsetCommitResponseTopic::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire::OffsetCommitResponse::default().with_topics(topics.collect())
    }

    fn read_answer(
        wire: wire::OffsetCommitResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<OffsetCommitResponse, Malformed> {
        let mut partitions = Few::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            let one = |p: &wire::offset_commit_response::OffsetCommitResponsePartition| {
                (TopicPartition::new(id, p.partition_index), error(p.error_code))
            };
            partitions.extend(topic.partitions.iter().map(one));
        }
        Ok(OffsetCommitResponse { partitions })
    }
}

pub(super) struct OffsetFetch;

impl OffsetFetch {
    fn partitions(
        topics: Option<Vec<(wire::TopicName, Vec<i32>)>>,
        names: &mut Dictionary,
    ) -> Result<Option<Vec<TopicPartition>>, Malformed> {
        let Some(topics) = topics else { return Ok(None) };
        let mut partitions = Vec::new();
        for (name, indexes) in topics {
            let id = names.topic(&name.0)?;
            partitions.extend(indexes.into_iter().map(|p| TopicPartition::new(id, p)));
        }
        Ok(Some(partitions))
    }
}

impl Api for OffsetFetch {
    type Request = OffsetFetchRequest;
    type Response = OffsetFetchResponse;
    type WireRequest = wire::OffsetFetchRequest;
    type WireResponse = wire::OffsetFetchResponse;

    fn read(
        wire: wire::OffsetFetchRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<OffsetFetchRequest>, Malformed> {
        let require_stable = wire.require_stable;
        if version < FETCH_GROUPS {
            let topics = wire
                .topics
                .map(|topics| topics.into_iter().map(|t| (t.name, t.partition_indexes)).collect());
            let group = names.group(&wire.group_id.0)?;
            let partitions = Self::partitions(topics, names)?;
            let member = GroupMember::NONE;
            return Ok(vec![OffsetFetchRequest {
                version,
                group,
                member,
                partitions,
                require_stable,
            }]);
        }
        let mut requests = Vec::new();
        for asked in wire.groups {
            let topics = asked
                .topics
                .map(|topics| topics.into_iter().map(|t| (t.name, t.partition_indexes)).collect());
            let id = asked.member_id.unwrap_or_default();
            let epoch = if version >= FETCH_MEMBER { asked.member_epoch } else { -1 };
            requests.push(OffsetFetchRequest {
                version,
                group: names.group(&asked.group_id.0)?,
                member: member(epoch, &id, None, names),
                partitions: Self::partitions(topics, names)?,
                require_stable,
            });
        }
        Ok(requests)
    }

    fn write(
        request: &OffsetFetchRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::OffsetFetchRequest {
        use wire::offset_fetch_request as schema;
        let topics = request.partitions.as_ref().map(|partitions| {
            by_topic(partitions.iter().map(|&tp| (tp, ())))
                .into_iter()
                .map(|(topic, list)| (topic, list.into_iter().map(|(p, ())| p).collect::<Vec<_>>()))
        });
        let wire = wire::OffsetFetchRequest::default()
            .with_require_stable(request.require_stable && version >= 7);
        if version < FETCH_GROUPS {
            let one = |(topic, partitions)| {
                schema::OffsetFetchRequestTopic::default()
                    .with_name(names.topic_name(topic))
                    .with_partition_indexes(partitions)
            };
            return wire
                .with_group_id(names.group_name(request.group))
                .with_topics(topics.map(|topics| topics.map(one).collect()));
        }
        let one = |(topic, partitions)| {
            schema::OffsetFetchRequestTopics::default()
                .with_name(names.topic_name(topic))
                .with_partition_indexes(partitions)
        };
        let group = schema::OffsetFetchRequestGroup::default()
            .with_group_id(names.group_name(request.group))
            .with_topics(topics.map(|topics| topics.map(one).collect()));
        let group = match request.member.member {
            Some(_) if version >= FETCH_MEMBER => group
                .with_member_id(Some(names.member_name(request.member.member)))
                .with_member_epoch(request.member.generation_or_epoch),
            _ => group,
        };
        wire.with_groups(vec![group])
    }

    fn answer(
        requests: &[&OffsetFetchRequest],
        responses: &[&OffsetFetchResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::OffsetFetchResponse {
        use wire::offset_fetch_response as schema;
        let old = |(partition, r): (i32, OffsetFetchResult)| {
            schema::OffsetFetchResponsePartition::default()
                .with_partition_index(partition)
                .with_committed_offset(r.offset)
                .with_committed_leader_epoch(if version >= 5 { r.leader_epoch.0 } else { -1 })
                .with_metadata(Some(StrBytes::new()))
                .with_error_code(r.error.code())
        };
        let new = |(partition, r): (i32, OffsetFetchResult)| {
            schema::OffsetFetchResponsePartitions::default()
                .with_partition_index(partition)
                .with_committed_offset(r.offset)
                .with_committed_leader_epoch(r.leader_epoch.0)
                .with_metadata(Some(StrBytes::new()))
                .with_error_code(r.error.code())
        };
        let wire = wire::OffsetFetchResponse::default();
        if version < FETCH_GROUPS {
            let Some(r) = responses.first() else { return wire };
            let topics = by_topic(r.partitions.iter().copied()).into_iter();
            let topics = topics.map(|(topic, partitions)| {
                schema::OffsetFetchResponseTopic::default()
                    .with_name(names.topic_name(topic))
                    .with_partitions(partitions.into_iter().map(old).collect())
            });
            let code = if version >= 2 { r.error.code() } else { 0 };
            return wire.with_error_code(code).with_topics(topics.collect());
        }
        let group = |(asked, r): (&&OffsetFetchRequest, &&OffsetFetchResponse)| {
            let topics = by_topic(r.partitions.iter().copied()).into_iter();
            let topics = topics.map(|(topic, partitions)| {
                schema::OffsetFetchResponseTopics::default()
                    .with_name(names.topic_name(topic))
                    .with_partitions(partitions.into_iter().map(new).collect())
            });
            schema::OffsetFetchResponseGroup::default()
                .with_group_id(names.group_name(asked.group))
                .with_topics(topics.collect())
                .with_error_code(r.error.code())
        };
        wire.with_groups(requests.iter().zip(responses).map(group).collect())
    }

    fn read_answer(
        wire: wire::OffsetFetchResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<OffsetFetchResponse, Malformed> {
        let mut partitions = Few::new();
        let result = |code, offset, leader_epoch| OffsetFetchResult {
            error: error(code),
            offset,
            leader_epoch: LeaderEpoch(leader_epoch),
        };
        let mut code = wire.error_code;
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            partitions.extend(topic.partitions.iter().map(|p| {
                let found = result(p.error_code, p.committed_offset, p.committed_leader_epoch);
                (TopicPartition::new(id, p.partition_index), found)
            }));
        }
        for group in wire.groups {
            code = group.error_code;
            for topic in group.topics {
                let id = names.topic(&topic.name.0)?;
                partitions.extend(topic.partitions.iter().map(|p| {
                    let found = result(p.error_code, p.committed_offset, p.committed_leader_epoch);
                    (TopicPartition::new(id, p.partition_index), found)
                }));
            }
        }
        Ok(OffsetFetchResponse { error: error(code), partitions })
    }
}

pub(super) struct OffsetDelete;

impl Api for OffsetDelete {
    type Request = OffsetDeleteRequest;
    type Response = OffsetDeleteResponse;
    type WireRequest = wire::OffsetDeleteRequest;
    type WireResponse = wire::OffsetDeleteResponse;

    fn read(
        wire: wire::OffsetDeleteRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<OffsetDeleteRequest>, Malformed> {
        let mut partitions = Vec::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            let each = topic.partitions.iter().map(|p| p.partition_index);
            partitions.extend(each.map(|p| TopicPartition::new(id, p)));
        }
        Ok(vec![OffsetDeleteRequest { group: names.group(&wire.group_id.0)?, partitions }])
    }

    fn write(
        request: &OffsetDeleteRequest,
        _: i16,
        names: &Dictionary,
    ) -> wire::OffsetDeleteRequest {
        use wire::offset_delete_request as schema;
        let one = |(p, ())| schema::OffsetDeleteRequestPartition::default().with_partition_index(p);
        let topics = by_topic(request.partitions.iter().map(|&tp| (tp, ())));
        let topics = topics.into_iter().map(|(topic, partitions)| {
            schema::OffsetDeleteRequestTopic::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire::OffsetDeleteRequest::default()
            .with_group_id(names.group_name(request.group))
            .with_topics(topics.collect())
    }

    fn answer(
        _: &[&OffsetDeleteRequest],
        responses: &[&OffsetDeleteResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::OffsetDeleteResponse {
        use wire::offset_delete_response as schema;
        let wire = wire::OffsetDeleteResponse::default();
        let Some(r) = responses.first() else { return wire };
        let one = |(partition, code): (i32, ErrorCode)| {
            schema::OffsetDeleteResponsePartition::default()
                .with_partition_index(partition)
                .with_error_code(code.code())
        };
        let topics = by_topic(r.partitions.iter().copied()).into_iter();
        let topics = topics.map(|(topic, partitions)| {
            schema::OffsetDeleteResponseTopic::default()
                .with_name(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(one).collect())
        });
        wire.with_error_code(r.error.code()).with_topics(topics.collect())
    }

    fn read_answer(
        wire: wire::OffsetDeleteResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<OffsetDeleteResponse, Malformed> {
        let mut partitions = Few::new();
        for topic in wire.topics {
            let id = names.topic(&topic.name.0)?;
            partitions.extend(
                topic
                    .partitions
                    .iter()
                    .map(|p| (TopicPartition::new(id, p.partition_index), error(p.error_code))),
            );
        }
        Ok(OffsetDeleteResponse { error: error(wire.error_code), partitions })
    }
}

pub(super) struct DeleteGroups;

impl Api for DeleteGroups {
    type Request = DeleteGroupsRequest;
    type Response = DeleteGroupsResponse;
    type WireRequest = wire::DeleteGroupsRequest;
    type WireResponse = wire::DeleteGroupsResponse;

    fn read(
        wire: wire::DeleteGroupsRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<DeleteGroupsRequest>, Malformed> {
        let one = |group: wire::GroupId| Ok(DeleteGroupsRequest { group: names.group(&group.0)? });
        wire.groups_names.into_iter().map(one).collect()
    }

    fn write(
        request: &DeleteGroupsRequest,
        _: i16,
        names: &Dictionary,
    ) -> wire::DeleteGroupsRequest {
        let groups = vec![names.group_name(request.group)];
        wire::DeleteGroupsRequest::default().with_groups_names(groups)
    }

    fn answer(
        requests: &[&DeleteGroupsRequest],
        responses: &[&DeleteGroupsResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::DeleteGroupsResponse {
        let one = |(asked, r): (&&DeleteGroupsRequest, &&DeleteGroupsResponse)| {
            wire::delete_groups_response::DeletableGroupResult::default()
                .with_group_id(names.group_name(asked.group))
                .with_error_code(r.error.code())
        };
        let results = requests.iter().zip(responses).map(one).collect();
        wire::DeleteGroupsResponse::default().with_results(results)
    }

    fn read_answer(
        wire: wire::DeleteGroupsResponse,
        _: i16,
        _: &mut Dictionary,
    ) -> Result<DeleteGroupsResponse, Malformed> {
        let first = wire.results.first().ok_or_else(|| Malformed::new("no group"))?;
        Ok(DeleteGroupsResponse { error: error(first.error_code) })
    }
}
