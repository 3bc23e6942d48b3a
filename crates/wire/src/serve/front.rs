//! What served brokers answer of themselves: versions, metadata, topics, settings.

use eosim_actor::Operation;
use eosim_runner::served::Served;
use eosim_types::config::TopicConfig;
use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::{BrokerId, Duration, ErrorCode, Topic, TopicPartition};
use kafka_protocol::messages as wire;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::versions;
use crate::{Dictionary, Malformed, codec};
use bytes::Bytes;

/// A topic that nobody has laid out has so many partitions (`num.partitions`).
const PARTITIONS: u32 = 1;
/// `log.retention.bytes`: logs lie in memory.
const RETENTION_BYTES: i64 = 8 << 20;
/// `log.segment.bytes`: retention takes whole segments.
const SEGMENT_BYTES: i32 = 1 << 20;
/// The most partitions of a topic.
const PARTITIONS_MAX: i32 = 200;
/// The most topics.
const TOPICS_MAX: usize = 1_000;
/// How long brokers may take to learn of a topic before its creation is answered.
const SPREAD: Duration = Duration::from_millis(20);
/// `metadata.version` of Kafka 4.4.
const METADATA_VERSION: i16 = 33;
/// "Not asked for", in place of a set of operations.
const NO_OPERATIONS: i32 = i32::MIN;

/// The broker that answers, and what it needs for that.
pub(crate) struct Front<'a> {
    pub(crate) broker: BrokerId,
    pub(crate) served: &'a mut Served,
    pub(crate) names: &'a mut Dictionary,
    pub(crate) cluster_id: &'a str,
    /// How many topics were ever created, for their ids.
    pub(crate) topics_created: &'a mut u64,
}

impl Front<'_> {
    /// Answers a request that is not the model's; `None` if it is.
    pub(crate) fn answer(
        &mut self,
        key: ApiKey,
        version: i16,
        body: Bytes,
    ) -> Option<Result<Bytes, Malformed>> {
        Some(match key {
            ApiKey::Metadata => codec::decode_request(key, version, body)
                .and_then(|request| codec::encode(&self.metadata(&request, version)?, version)),
            ApiKey::CreateTopics => codec::decode_request(key, version, body)
                .and_then(|request| codec::encode(&self.create_topics(request)?, version)),
            ApiKey::DeleteTopics => codec::decode_request(key, version, body)
                .and_then(|request| codec::encode(&self.delete_topics(request, version)?, version)),
            ApiKey::DescribeCluster => codec::decode_request(key, version, body).and_then(
                |request: wire::DescribeClusterRequest| {
                    codec::encode(&self.describe_cluster(request.endpoint_type), version)
                },
            ),
            ApiKey::DescribeConfigs => codec::decode_request(key, version, body)
                .and_then(|request| codec::encode(&describe_configs(request), version)),
            _ => return None,
        })
    }

    /// The answer to ApiVersions; one of a version that is not spoken is answered, too.
    pub(crate) fn api_versions(&self, version: i16) -> Result<Bytes, Malformed> {
        use wire::api_versions_response as schema;
        let kafka = self.served.plan().kafka;
        let known = versions::is_spoken(kafka, ApiKey::ApiVersions, version);
        let (version, error) =
            if known { (version, ErrorCode::None) } else { (0, ErrorCode::UnsupportedVersion) };
        let spoken = versions::spoken(kafka).map(|(key, min, max)| {
            schema::ApiVersion::default()
                .with_api_key(key as i16)
                .with_min_version(min)
                .with_max_version(max)
        });
        let wire = wire::ApiVersionsResponse::default()
            .with_error_code(error.code())
            .with_api_keys(spoken.collect());
        if version < 3 {
            return codec::encode(&wire, version);
        }
        let level = self.served.newest_image().transaction_version.level();
        let features = [
            ("metadata.version", 1, METADATA_VERSION, METADATA_VERSION),
            ("group.version", 0, 1, 1),
            ("transaction.version", 0, 2, level),
        ];
        let supported = features.map(|(name, min, max, _)| {
            // A client before version 4 takes no 0 for the lowest level.
            schema::SupportedFeatureKey::default()
                .with_name(StrBytes::from_static_str(name))
                .with_min_version(if version >= 4 { min } else { min.max(1) })
                .with_max_version(max)
        });
        let finalized = features.iter().filter(|(.., level)| *level > 0);
        let finalized = finalized.map(|(name, _, _, level)| {
            schema::FinalizedFeatureKey::default()
                .with_name(StrBytes::from_static_str(name))
                .with_max_version_level(*level)
                .with_min_version_level(*level)
        });
        let epoch = i64::try_from(self.served.newest_image().version).unwrap_or(i64::MAX);
        codec::encode(
            &wire
                .with_supported_features(supported.to_vec())
                .with_finalized_features(finalized.collect())
                .with_finalized_features_epoch(epoch),
            version,
        )
    }

    fn image(&self) -> std::sync::Arc<MetadataImage> {
        self.served.image(self.broker).unwrap_or_default()
    }

    fn metadata(
        &mut self,
        request: &wire::MetadataRequest,
        version: i16,
    ) -> Result<wire::MetadataResponse, Malformed> {
        let image = self.image();
        let all = match &request.topics {
            None => true,
            Some(topics) => version == 0 && topics.is_empty(),
        };
        let mut topics = Vec::new();
        if all {
            let mut known: Vec<Topic> = image.partitions.keys().map(|tp| tp.topic).collect();
            known.dedup();
            topics.extend(known.into_iter().map(|topic| self.topic(&image, topic, version)));
        } else {
            for asked in request.topics.iter().flatten() {
                let name = asked.name.clone().unwrap_or_default();
                let topic = self.names.topic_of(&name, asked.topic_id)?;
                let auto = request.allow_auto_topic_creation || version < 4;
                if image.partition_count(topic) == 0 && auto && !self.names.is_unknown(topic) {
                    // Whoever asks again will be told of it.
                    let unsaid = ErrorCode::None;
                    if is_legal(&name.0) {
                        self.create(topic, PARTITIONS, 1, &settings(&[]), unsaid)?;
                    }
                }
                topics.push(self.topic(&image, topic, version));
            }
        }
        let alive = image.brokers.keys().filter(|&&broker| image.is_alive(broker));
        let brokers = alive.clone().map(|&broker| {
            let (id, host, port) = self.names.endpoint(Some(broker));
            wire::metadata_response::MetadataResponseBroker::default()
                .with_node_id(id.into())
                .with_host(host)
                .with_port(port)
        });
        let controller = alive.clone().next().map_or(-1, |broker| broker.0);
        let cluster = StrBytes::from_string(self.cluster_id.to_string());
        Ok(wire::MetadataResponse::default()
            .with_brokers(brokers.collect())
            .with_cluster_id((version >= 2).then_some(cluster))
            .with_controller_id(if version >= 1 { controller } else { -1 }.into())
            .with_topics(topics)
            .with_cluster_authorized_operations(NO_OPERATIONS))
    }

    fn topic(
        &self,
        image: &MetadataImage,
        topic: Topic,
        version: i16,
    ) -> wire::metadata_response::MetadataResponseTopic {
        let unknown = self.names.is_unknown(topic);
        let partitions = (0..image.partition_count(topic)).filter_map(|number| {
            let tp = TopicPartition::new(topic, number);
            image.partitions.get(&tp).map(|state| partition(tp, state, image, version))
        });
        let partitions: Vec<_> = partitions.collect();
        let error = match (partitions.is_empty(), unknown) {
            (false, _) => ErrorCode::None,
            (true, true) => ErrorCode::UnknownTopicId,
            (true, false) => ErrorCode::UnknownTopicOrPartition,
        };
        let name = self.names.topic_name(topic);
        let wire = wire::metadata_response::MetadataResponseTopic::default()
            .with_error_code(error.code())
            .with_name(if unknown && version >= 12 { None } else { Some(name) })
            .with_is_internal(topic.is_internal() && version >= 1)
            .with_partitions(partitions)
            .with_topic_authorized_operations(NO_OPERATIONS);
        if version >= 10 { wire.with_topic_id(self.names.topic_id(topic)) } else { wire }
    }

    /// Lays out a topic; brokers are given the time to learn of it.
    fn create(
        &mut self,
        topic: Topic,
        partitions: u32,
        replicas: u32,
        config: &TopicConfig,
        found: ErrorCode,
    ) -> Result<ErrorCode, Malformed> {
        let image = self.served.newest_image();
        if image.partition_count(topic) > 0 {
            return Ok(if found.is_none() { ErrorCode::TopicAlreadyExists } else { found });
        }
        let topics = image.partitions.keys().filter(|tp| tp.partition == 0).count();
        if topics >= TOPICS_MAX {
            return Ok(ErrorCode::PolicyViolation);
        }
        self.give_id(topic);
        self.served.know(&self.names.names);
        self.served.create(topic, partitions, replicas, config);
        self.served.settle(SPREAD);
        Ok(ErrorCode::None)
    }

    /// Gives a topic an id that no topic had before.
    pub(crate) fn give_id(&mut self, topic: Topic) {
        *self.topics_created += 1;
        self.names.give_topic_id(topic, *self.topics_created);
    }

    fn create_topics(
        &mut self,
        request: wire::CreateTopicsRequest,
    ) -> Result<wire::CreateTopicsResponse, Malformed> {
        let brokers = i16::try_from(self.served.brokers().count()).unwrap_or(i16::MAX);
        let mut results = Vec::new();
        for asked in request.topics {
            let (partitions, replicas, error) = layout(&asked, brokers);
            let result = wire::create_topics_response::CreatableTopicResult::default()
                .with_name(asked.name.clone());
            let mut error = error;
            let mut id = Uuid::nil();
            if error.is_none() {
                let topic = self.names.topic(&asked.name.0)?;
                let there = self.served.newest_image().partition_count(topic) > 0;
                error = match (there, request.validate_only) {
                    (true, _) => ErrorCode::TopicAlreadyExists,
                    (false, true) => ErrorCode::None,
                    (false, false) => {
                        let config = settings(&asked.configs);
                        self.create(topic, partitions, replicas, &config, error)?
                    }
                };
                id = self.names.topic_id(topic);
            }
            let (partitions, replicas) = match error {
                ErrorCode::None => (as_i32(partitions), i16::try_from(replicas).unwrap_or(1)),
                _ => (-1, -1),
            };
            results.push(
                result
                    .with_error_code(error.code())
                    .with_topic_id(if error.is_none() { id } else { Uuid::nil() })
                    .with_num_partitions(partitions)
                    .with_replication_factor(replicas)
                    .with_configs(Some(Vec::new())),
            );
        }
        Ok(wire::CreateTopicsResponse::default().with_topics(results))
    }

    fn delete_topics(
        &mut self,
        request: wire::DeleteTopicsRequest,
        version: i16,
    ) -> Result<wire::DeleteTopicsResponse, Malformed> {
        let by_name = request.topic_names.into_iter().map(|name| (name, Uuid::nil()));
        let by_state = request.topics.into_iter();
        let by_state = by_state.map(|state| (state.name.unwrap_or_default(), state.topic_id));
        let mut responses = Vec::new();
        for (name, id) in by_name.chain(by_state) {
            let topic = self.names.topic_of(&name, id)?;
            let there = self.served.newest_image().partition_count(topic) > 0;
            let error = match (there, self.names.is_unknown(topic)) {
                (true, _) if topic.is_internal() => ErrorCode::TopicAuthorizationFailed,
                (true, _) => ErrorCode::None,
                (false, true) => ErrorCode::UnknownTopicId,
                (false, false) => ErrorCode::UnknownTopicOrPartition,
            };
            let result = wire::delete_topics_response::DeletableTopicResult::default()
                .with_name(Some(self.names.topic_name(topic)))
                .with_error_code(error.code());
            let id = self.names.topic_id(topic);
            responses.push(if version >= 6 { result.with_topic_id(id) } else { result });
            if error.is_none() {
                self.served.operate(Operation::DeleteTopic { topic: topic.0 });
                self.served.settle(SPREAD);
                self.names.retire(topic);
            }
        }
        Ok(wire::DeleteTopicsResponse::default().with_responses(responses))
    }

    fn describe_cluster(&self, endpoint_type: i8) -> wire::DescribeClusterResponse {
        use wire::describe_cluster_response as schema;
        let image = self.image();
        let brokers = image.brokers.keys().map(|&broker| {
            let (id, host, port) = self.names.endpoint(Some(broker));
            schema::DescribeClusterBroker::default()
                .with_broker_id(id.into())
                .with_host(host)
                .with_port(port)
        });
        let controller = image.brokers.keys().next().map_or(-1, |broker| broker.0);
        wire::DescribeClusterResponse::default()
            .with_endpoint_type(endpoint_type)
            .with_cluster_id(StrBytes::from_string(self.cluster_id.to_string()))
            .with_controller_id(controller.into())
            .with_brokers(brokers.collect())
            .with_cluster_authorized_operations(NO_OPERATIONS)
    }
}

fn as_i32(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// A name that Kafka takes for a topic.
fn is_legal(name: &str) -> bool {
    let fits = (1..=249).contains(&name.len()) && name != "." && name != "..";
    fits && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Partitions and replicas that are asked for, and what is wrong with that.
fn layout(asked: &CreatableTopic, brokers: i16) -> (u32, u32, ErrorCode) {
    let given = i32::try_from(asked.assignments.len()).unwrap_or(i32::MAX);
    let (partitions, replicas) = match asked.assignments.first() {
        Some(first) => (given, i16::try_from(first.broker_ids.len()).unwrap_or(i16::MAX)),
        None => (asked.num_partitions, asked.replication_factor),
    };
    let partitions = if partitions == -1 { as_i32(PARTITIONS) } else { partitions };
    let replicas = if replicas == -1 { 1 } else { replicas };
    let error = if !is_legal(&asked.name.0) {
        ErrorCode::InvalidTopicException
    } else if !(1..=PARTITIONS_MAX).contains(&partitions) {
        ErrorCode::InvalidPartitions
    } else if !(1..=brokers).contains(&replicas) {
        ErrorCode::InvalidReplicationFactor
    } else {
        ErrorCode::None
    };
    (u32::try_from(partitions).unwrap_or(1), u32::try_from(replicas).unwrap_or(1), error)
}

/// The settings that a topic is created with: those that are asked for and known here, and for the
/// rest Kafka's, but for retention, which keeps memory bounded.
fn settings(asked: &[CreatableTopicConfig]) -> TopicConfig {
    let mut config = TopicConfig {
        retention_bytes: RETENTION_BYTES,
        segment_bytes: SEGMENT_BYTES,
        ..TopicConfig::default()
    };
    for CreatableTopicConfig { name, value, .. } in asked {
        let Some(value) = value else { continue };
        let number = value.parse::<i64>().ok();
        let small = number.and_then(|number| i32::try_from(number).ok());
        match &**name {
            "retention.bytes" => config.retention_bytes = number.unwrap_or(RETENTION_BYTES),
            "retention.ms" => config.retention_ms = number.unwrap_or(config.retention_ms),
            "segment.bytes" => config.segment_bytes = small.unwrap_or(SEGMENT_BYTES),
            "max.message.bytes" => config.max_message_bytes = small.unwrap_or(1 << 20),
            "min.insync.replicas" => config.min_insync_replicas = small.unwrap_or(1),
            "unclean.leader.election.enable" => {
                config.unclean_leader_election_enable = &**value == "true";
            }
            "cleanup.policy" => {
                config.cleanup_compact = value.contains("compact");
                config.cleanup_delete = value.contains("delete");
            }
            _ => {}
        }
    }
    config
}

fn partition(
    tp: TopicPartition,
    state: &PartitionMetadata,
    image: &MetadataImage,
    version: i16,
) -> wire::metadata_response::MetadataResponsePartition {
    let ids = |brokers: &[BrokerId]| brokers.iter().map(|broker| broker.0.into()).collect();
    let leader = state.leader.filter(|&leader| image.is_alive(leader));
    let error = if leader.is_some() { ErrorCode::None } else { ErrorCode::LeaderNotAvailable };
    let offline: Vec<BrokerId> =
        state.replicas.iter().copied().filter(|&broker| !image.is_alive(broker)).collect();
    let wire = wire::metadata_response::MetadataResponsePartition::default()
        .with_error_code(error.code())
        .with_partition_index(tp.partition)
        .with_leader_id(leader.map_or(-1, |leader| leader.0).into())
        .with_replica_nodes(ids(&state.replicas))
        .with_isr_nodes(ids(&state.isr));
    let wire = if version >= 5 { wire.with_offline_replicas(ids(&offline)) } else { wire };
    if version >= 7 { wire.with_leader_epoch(state.leader_epoch.0) } else { wire }
}

/// Settings of topics and brokers, those by default.
fn describe_configs(request: wire::DescribeConfigsRequest) -> wire::DescribeConfigsResponse {
    use wire::describe_configs_response as schema;
    /// The kinds of resource that have settings here, and where the values come from.
    const TOPIC: i8 = 2;
    const BROKER: i8 = 4;
    const DEFAULT_CONFIG: i8 = 5;
    let config = TopicConfig::default();
    let known = [
        ("cleanup.policy", "delete".to_string()),
        ("min.insync.replicas", config.min_insync_replicas.to_string()),
        ("unclean.leader.election.enable", config.unclean_leader_election_enable.to_string()),
    ];
    let results = request.resources.into_iter().map(|resource| {
        let asked = |name: &str| {
            let keys = resource.configuration_keys.as_ref();
            keys.is_none_or(|keys| keys.iter().any(|key| &**key == name))
        };
        let has_settings = matches!(resource.resource_type, TOPIC | BROKER);
        let configs = known.iter().filter(|(name, _)| has_settings && asked(name));
        let configs = configs.map(|(name, value)| {
            schema::DescribeConfigsResourceResult::default()
                .with_name(StrBytes::from_static_str(name))
                .with_value(Some(StrBytes::from_string(value.clone())))
                .with_config_source(DEFAULT_CONFIG)
        });
        let configs = configs.collect();
        schema::DescribeConfigsResult::default()
            .with_resource_type(resource.resource_type)
            .with_resource_name(resource.resource_name.clone())
            .with_configs(configs)
    });
    wire::DescribeConfigsResponse::default().with_results(results.collect())
}
