//! What a cluster holds at the end of a case, asked as the recorder asked.

use std::collections::BTreeSet;

use eosim_types::message::{
    DescribeProducersRequest, DescribeTransactionsRequest, GroupMember, IsolationLevel,
    ListOffsetsAsker, ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTimestamp,
    OffsetFetchRequest,
};
use eosim_types::{BrokerId, Few, LeaderEpoch, TopicPartition};
use serde_json::{Map, Value, json};

use super::case::Case;
use super::fields::Unsupported;
use super::operation::{Target, fetch, parse_partition};
use super::player::Player;
use super::view::described;

impl Player<'_> {
    /// What the cluster holds of all that `case` asks for.
    pub(crate) fn end_state(&mut self, case: &Case) -> Result<Value, Unsupported> {
        let recorded = |key: &str| case.final_state[key].as_object().cloned().unwrap_or_default();
        let mut transactions = Map::new();
        for id in recorded("transactions").keys() {
            let transactional_id = self.names.add_transactional_id(id);
            let target = Target::Transaction(transactional_id);
            let answer = self.ask_once(target, DescribeTransactionsRequest { transactional_id });
            transactions.insert(id.clone(), answer);
        }
        let mut partitions = Map::new();
        for text in recorded("partitions").keys() {
            let partition = parse_partition(&mut self.names, text)?;
            partitions.insert(text.clone(), self.partition_state(partition));
        }
        let mut groups = Map::new();
        for (group, shape) in recorded("groups") {
            groups.insert(group.clone(), self.group_state(&group, &shape)?);
        }
        let mut state =
            json!({ "transactions": transactions, "partitions": partitions, "groups": groups });
        if self.several_brokers {
            state["coordinators"] = self.cluster_state()["coordinators"].take();
        }
        Ok(state)
    }

    fn partition_state(&mut self, partition: TopicPartition) -> Value {
        let leader = Target::Leader(partition);
        let from = self.offset(leader, partition, ListOffsetsTimestamp::Earliest);
        let committed = fetch(partition, from, IsolationLevel::ReadCommitted);
        let all = fetch(partition, from, IsolationLevel::ReadUncommitted);
        let mut state = self.ask(leader, committed);
        state["batches"] = self.ask(leader, all)["batches"].take();
        let request = DescribeProducersRequest { partition };
        state["producers"] = self.ask(leader, request)["producers"].take();
        if self.several_brokers {
            self.add_replicas(&mut state, partition);
        }
        state
    }

    /// Leader and in-sync replicas, and what each replica that answers holds.
    fn add_replicas(&mut self, state: &mut Value, partition: TopicPartition) {
        let view = self.asked.view();
        let known = view.partition(partition).map_or(Value::Null, described);
        let replicas = view.serving_replicas(partition);
        for (key, value) in known.as_object().into_iter().flatten() {
            state[key] = value.clone();
        }
        for broker in replicas {
            state["replicas"][broker.0.to_string()] = self.replica_state(broker, partition);
        }
    }

    fn replica_state(&mut self, broker: BrokerId, partition: TopicPartition) -> Value {
        let replica = Target::Broker(broker);
        let end = self.offset(replica, partition, ListOffsetsTimestamp::Latest);
        let from = self.offset(replica, partition, ListOffsetsTimestamp::Earliest);
        let request = fetch(partition, from, IsolationLevel::ReadUncommitted);
        let high_watermark = self.ask(replica, request)["high_watermark"].take();
        json!({ "end": end, "high_watermark": high_watermark })
    }

    fn offset(
        &mut self,
        target: Target,
        partition: TopicPartition,
        timestamp: ListOffsetsTimestamp,
    ) -> i64 {
        let asker = ListOffsetsAsker::Debug;
        let current_leader_epoch = LeaderEpoch::NONE;
        let asked = ListOffsetsPartition { partition, current_leader_epoch, timestamp };
        let request = ListOffsetsRequest { version: 5, asker, partitions: Few::One(asked) };
        self.ask(target, request)["offset"].as_i64().unwrap_or(0)
    }

    fn group_state(&mut self, group: &str, shape: &Value) -> Result<Value, Unsupported> {
        let texts: BTreeSet<String> =
            shape["offsets"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
        let partitions: Result<Vec<_>, _> =
            texts.iter().map(|text| parse_partition(&mut self.names, text)).collect();
        let group = self.names.add_group(group);
        let request = OffsetFetchRequest {
            version: 7,
            group,
            member: GroupMember::NONE,
            partitions: Some(partitions?),
            require_stable: false,
        };
        Ok(self.ask(Target::Group(group), request))
    }
}
