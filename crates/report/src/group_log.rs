//! Records of groups and members in `__consumer_offsets`, as `kafka-dump-log.sh
//! --offsets-decoder` prints them.
//!
//! Counterpart: `CoordinatorRecordMessageFormatter` over the schemas of the group coordinator.
//! Member ids are numbers here, and the bytes of classic protocols are shown as topics.

use eosim_types::group_log::{
    ClassicMemberMetadata, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue, GroupLogRecord,
    GroupMetadataValue,
};
use eosim_types::{GroupId, Names, Topic, TopicPartition};

use crate::json::{Object, list, string};
use crate::transaction_log::{by_topic, bytes, coordinator_record, offset_commit_record};

/// Sizes of key and value, and the contents.
pub(crate) fn group_log_record(record: &GroupLogRecord, names: &Names) -> ((i64, i64), String) {
    use GroupLogRecord as Record;
    let (kind, group, member, value) = match record {
        Record::OffsetCommit(record) => return offset_commit_record(record, names),
        Record::GroupMetadata { group, value } => {
            (2, *group, None, value.as_ref().map(|value| (4, classic_group(value, names))))
        }
        Record::ConsumerGroupMetadata { group, value } => {
            (3, *group, None, value.as_ref().map(|value| (0, consumer_group(value, names))))
        }
        Record::ConsumerGroupMemberMetadata { group, member, value } => {
            (5, *group, Some(*member), value.as_ref().map(|value| (0, wishes(value, names))))
        }
        Record::ConsumerGroupTargetAssignmentMetadata { group, assignment_epoch } => {
            let value = assignment_epoch.map(|epoch| Object::new().raw("assignmentEpoch", epoch));
            (6, *group, None, value.map(|value| (0, value.end())))
        }
        Record::ConsumerGroupTargetAssignmentMember { group, member, partitions } => {
            let value = partitions.as_ref().map(|owned| {
                (0, Object::new().raw("topicPartitions", by_topics(owned, names)).end())
            });
            (7, *group, Some(*member), value)
        }
        Record::ConsumerGroupCurrentMemberAssignment { group, member, value } => {
            (8, *group, Some(*member), value.as_ref().map(|value| (0, current(value, names))))
        }
    };
    shown(kind, (group, member), value, names)
}

fn shown(
    kind: u8,
    (group, member): (GroupId, Option<u32>),
    value: Option<(i16, String)>,
    names: &Names,
) -> ((i64, i64), String) {
    let group = names.group(group);
    let field = if kind == 2 { "group" } else { "groupId" };
    let mut key = Object::new().string(field, group);
    if let Some(member) = member {
        key = key.string("memberId", &member.to_string());
    }
    let sizes = (bytes(4 + group.len()), value.as_ref().map_or(-1, |_| 100));
    (sizes, coordinator_record(kind, &key.end(), value))
}

fn classic_group(value: &GroupMetadataValue, names: &Names) -> String {
    let protocol_type = if value.is_consumer_protocol { "consumer" } else { "" };
    let leader = value.leader.map_or_else(|| "null".to_string(), |id| string(&id.to_string()));
    let protocol = value.protocol.map_or_else(|| "null".to_string(), |p| string(p.name()));
    Object::new()
        .string("protocolType", protocol_type)
        .raw("generation", value.generation)
        .raw("protocol", protocol)
        .raw("leader", leader)
        .raw("currentStateTimestamp", value.current_state_timestamp_ms)
        .raw("members", list(value.members.iter().map(|member| classic_member(member, names))))
        .end()
}

fn classic_member(member: &ClassicMemberMetadata, names: &Names) -> String {
    Object::new()
        .string("memberId", &member.member.to_string())
        .raw("groupInstanceId", optional(member.instance))
        .raw("rebalanceTimeout", member.rebalance_timeout.as_millis())
        .raw("sessionTimeout", member.session_timeout.as_millis())
        .raw("subscription", topics(&member.subscription, names))
        .raw("assignment", by_topics(&member.assignment, names))
        .end()
}

fn consumer_group(value: &ConsumerGroupMetadataValue, names: &Names) -> String {
    let counts = value.topics.iter().map(|(topic, partitions)| {
        Object::new().string("topic", names.topic(*topic)).raw("partitions", partitions).end()
    });
    Object::new().raw("epoch", value.epoch).raw("topics", list(counts)).end()
}

fn wishes(value: &ConsumerGroupMemberMetadataValue, names: &Names) -> String {
    let assignor = value.server_assignor.map_or_else(|| "null".to_string(), |a| string(a.name()));
    Object::new()
        .raw("instanceId", optional(value.instance))
        .raw("subscribedTopicNames", topics(&value.subscribed_topics, names))
        .raw("rebalanceTimeoutMs", value.rebalance_timeout.as_millis())
        .raw("serverAssignor", assignor)
        .end()
}

fn current(value: &ConsumerGroupCurrentMemberAssignmentValue, names: &Names) -> String {
    Object::new()
        .raw("memberEpoch", value.member_epoch)
        .raw("previousMemberEpoch", value.previous_member_epoch)
        .raw("state", value.state.id())
        .raw("assignedPartitions", with_epochs(&value.assigned_partitions, names))
        .raw(
            "partitionsPendingRevocation",
            with_epochs(&value.partitions_pending_revocation, names),
        )
        .end()
}

fn optional(instance: Option<u32>) -> String {
    instance.map_or_else(|| "null".to_string(), |id| string(&id.to_string()))
}

fn topics(topics: &[Topic], names: &Names) -> String {
    list(topics.iter().map(|topic| string(names.topic(*topic))))
}

fn by_topics(partitions: &[TopicPartition], names: &Names) -> String {
    list(by_topic(partitions).into_iter().map(|of_topic| {
        let numbers = list(of_topic.iter().map(|tp| tp.partition.to_string()));
        Object::new()
            .string("topic", names.topic(of_topic[0].topic))
            .raw("partitions", numbers)
            .end()
    }))
}

fn with_epochs(partitions: &[(TopicPartition, i32)], names: &Names) -> String {
    list(partitions.chunk_by(|(a, _), (b, _)| a.topic == b.topic).map(|of_topic| {
        let numbers = list(of_topic.iter().map(|(tp, _)| tp.partition.to_string()));
        let epochs = list(of_topic.iter().map(|(_, epoch)| epoch.to_string()));
        let topic = names.topic(of_topic[0].0.topic);
        let entry = Object::new().string("topic", topic).raw("partitions", numbers);
        entry.raw("assignmentEpochs", epochs).end()
    }))
}
