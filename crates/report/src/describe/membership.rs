//! Requests and responses about groups and their members.

use eosim_types::message::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, GroupMember, JoinGroupRequest,
    JoinGroupResponse, Request, Response,
};
use eosim_types::{GroupId, Topic};

use super::{Words, joined};

impl Words<'_> {
    pub(super) fn membership_request(self, request: &Request) -> String {
        match request {
            Request::JoinGroup(r) => self.join(r),
            Request::SyncGroup(r) => {
                let assignments = r.assignments.iter();
                let assignments = assignments
                    .map(|(member, owned)| format!(" {member}: [{}]", self.partitions(owned)));
                let assignments = assignments.collect::<String>();
                format!("{} {}{assignments}", self.group(r.group), member(r.member))
            }
            Request::Heartbeat(r) => format!("{} {}", self.group(r.group), member(r.member)),
            Request::LeaveGroup(r) => {
                let members = r.members.iter().map(|(id, instance)| {
                    format!("member {}{}", optional(*id), static_instance(*instance))
                });
                format!("{} {}", self.group(r.group), joined(members))
            }
            Request::ConsumerGroupHeartbeat(r) => self.consumer_heartbeat(r),
            Request::OffsetDelete(r) => {
                format!("{} {}", self.group(r.group), self.partitions(&r.partitions))
            }
            Request::DeleteGroups(r) => self.group(r.group),
            _ => self.cluster_request(request),
        }
    }

    pub(super) fn membership_response(self, response: &Response) -> String {
        match response {
            Response::JoinGroup(r) => joined_group(r),
            Response::SyncGroup(r) => {
                format!("{} [{}]", r.error.name(), self.partitions(&r.assignment))
            }
            Response::Heartbeat(r) => r.error.name().to_string(),
            Response::LeaveGroup(r) => {
                let members = joined(r.members.iter().map(|error| error.name().to_string()));
                format!("{} {members}", r.error.name())
            }
            Response::ConsumerGroupHeartbeat(r) => self.consumer_heartbeat_answer(r),
            Response::OffsetDelete(r) => {
                format!("{} {}", r.error.name(), self.errors(&r.partitions))
            }
            Response::DeleteGroups(r) => r.error.name().to_string(),
            _ => self.cluster_response(response),
        }
    }

    fn join(self, request: &JoinGroupRequest) -> String {
        let (id, instance) = (optional(request.member), static_instance(request.instance));
        let protocols = joined(request.protocols.iter().map(|p| p.name().to_string()));
        let topics = self.topics(&request.subscription);
        let group = self.group(request.group);
        format!("v{} {group} member {id}{instance} [{topics}] by {protocols}", request.version)
    }

    fn consumer_heartbeat(self, request: &ConsumerGroupHeartbeatRequest) -> String {
        let ConsumerGroupHeartbeatRequest { member, member_epoch, .. } = request;
        let mut text = format!("{} member {member}", self.group(request.group));
        text += &static_instance(request.instance);
        text += &format!(" epoch {member_epoch}");
        if let Some(topics) = &request.subscribed_topics {
            text += &format!(" wants [{}]", self.topics(topics));
        }
        if let Some(owned) = &request.topic_partitions {
            text += &format!(" owns [{}]", self.partitions(owned));
        }
        text
    }

    fn consumer_heartbeat_answer(self, response: &ConsumerGroupHeartbeatResponse) -> String {
        let assignment = response.assignment.as_ref();
        let assignment = assignment.map(|owned| format!(" owns [{}]", self.partitions(owned)));
        let epoch = response.member_epoch;
        format!("{} epoch {epoch}{}", response.error.name(), assignment.unwrap_or_default())
    }

    fn group(self, group: GroupId) -> String {
        format!("\"{}\"", self.names.group(group))
    }

    fn topics(self, topics: &[Topic]) -> String {
        joined(topics.iter().map(|topic| self.names.topic(*topic).to_string()))
    }
}

fn joined_group(response: &JoinGroupResponse) -> String {
    let JoinGroupResponse { error, generation, .. } = response;
    let (id, leader) = (optional(response.member), optional(response.leader));
    let members = joined(response.members.iter().map(|member| member.member.to_string()));
    format!("{} member {id} generation {generation} leader {leader} of [{members}]", error.name())
}

fn member(member: GroupMember) -> String {
    let (id, instance) = (optional(member.member), static_instance(member.instance));
    format!("member {id}{instance} generation {}", member.generation_or_epoch)
}

fn optional(id: Option<u32>) -> String {
    id.map_or_else(|| "none".to_string(), |id| id.to_string())
}

fn static_instance(instance: Option<u32>) -> String {
    instance.map(|instance| format!(" instance {instance}")).unwrap_or_default()
}
