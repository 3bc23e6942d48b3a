//! Producers and consumers.

use eosim_scenario::plan::{self, OperatorStep, Step, Workload, split_partition};
use eosim_scenario::{Plan, Probability, Spread};
use eosim_sim::cluster::{
    AbortTransactionSpec, AdminSpec, AdminStep, ClientSpec, CommitMode, ConsumerSpec,
    GroupConsumerSpec, MarkedProducer, Mistake, ProducerSpec, ProducerWorkload, RandomWorkload,
    ScriptStep, Span, TransformerSpec, TwoPhaseWorkload,
};
use eosim_types::config::{ConsumerConfig, ProducerConfig};
use eosim_types::{
    Capability, CoordinatorEpoch, Duration, Instant, Names, ProducerEpoch, ProducerId, Sequence,
    TopicPartition,
};

use super::topology::broker_id;

/// The clients of `plan`: producers, consumers, those in groups, transformers, the operator.
pub(super) fn specs(plan: &Plan, names: &mut Names) -> Vec<ClientSpec> {
    let mut specs = Vec::new();
    for producer in &plan.producers {
        for instance in producer.instances() {
            let id = instance.transactional_id;
            specs.push(ClientSpec::Producer(ProducerSpec {
                config: producer_config(plan, producer),
                transactional_id: id.map(|id| names.add_transactional_id(&id)),
                start_at: at_ms(producer.start_ms),
                workload: workload(&instance.name, &producer.workload, names),
            }));
        }
    }
    specs.extend(plan.consumers.iter().map(|c| ClientSpec::Consumer(consumer(c, names))));
    for member in plan.group_consumers.iter().flat_map(plan::GroupConsumer::instances) {
        let number = u32::try_from(specs.len()).expect("few clients");
        specs.push(ClientSpec::GroupConsumer(group_consumer(&member, number, names)));
    }
    for transformer in &plan.transformers {
        let members = transformer.instances();
        specs.extend(members.map(|m| ClientSpec::Transformer(self::transformer(&m, names))));
    }
    if !plan.operator.is_empty() {
        let steps = plan.operator.iter().map(|step| operator_step(step, names)).collect();
        specs.push(ClientSpec::Admin(AdminSpec { steps }));
    }
    specs
}

/// A release that takes nothing but sequence 0 in a new log would refuse the first batch of a
/// `first_sequence` for good, and take a late copy of it as soon as others have written (L-SEQ-4).
fn producer_config(plan: &Plan, producer: &plan::Producer) -> ProducerConfig {
    let mut config = producer.config();
    let mut versions = plan.cluster.versions(plan.kafka);
    if versions.any(|(_, kafka)| kafka.has(Capability::FirstSequenceIsZero)) {
        config.first_sequence = Sequence::ZERO;
    }
    config
}

fn operator_step(step: &OperatorStep, names: &mut Names) -> AdminStep {
    match step {
        OperatorStep::WaitUntilMs(ms) => AdminStep::PauseUntil(at_ms(*ms)),
        OperatorStep::ElectLeader(step) => AdminStep::ElectLeader {
            partition: partition(&step.partition, names),
            unclean: step.unclean,
        },
        OperatorStep::Reassign(step) => AdminStep::Reassign {
            partition: partition(&step.partition, names),
            replicas: step.replicas.iter().copied().map(broker_id).collect(),
        },
        OperatorStep::DeleteRecords(step) => AdminStep::DeleteRecords {
            partition: partition(&step.partition, names),
            offset: step.before.map_or(-1, number),
        },
        OperatorStep::UpdateFeatures(step) => AdminStep::UpdateFeatures {
            transaction_version: plan::version_of(step.transaction_version),
        },
        OperatorStep::AbortTransaction(step) => AdminStep::AbortTransaction {
            partition: partition(&step.partition, names),
            spec: aborted(step),
        },
        OperatorStep::AbortHanging(step) => AdminStep::AbortTransaction {
            partition: partition(&step.partition, names),
            spec: AbortTransactionSpec::Hanging {
                max_transaction_timeout: Duration::from_millis(step.max_transaction_timeout_ms),
            },
        },
    }
}

fn aborted(step: &plan::AbortTransaction) -> AbortTransactionSpec {
    match (step.start_offset, step.producer) {
        (Some(offset), _) => AbortTransactionSpec::StartOffset(number(offset)),
        (None, producer) => {
            let producer = producer.expect("a checked step names a transaction");
            AbortTransactionSpec::Producer(MarkedProducer {
                producer_id: ProducerId(number(producer.id)),
                producer_epoch: ProducerEpoch(number(producer.epoch)),
                coordinator_epoch: CoordinatorEpoch(number(producer.coordinator_epoch)),
            })
        }
    }
}

/// A number that the schema keeps small.
fn number<T: TryFrom<u64>>(checked: u64) -> T {
    T::try_from(checked).ok().expect("a checked number is small")
}

fn consumer(consumer: &plan::Consumer, names: &mut Names) -> ConsumerSpec {
    ConsumerSpec {
        config: consumer.config(),
        partitions: partitions(&consumer.partitions, names),
        start_at: at_ms(consumer.start_ms),
        poll_interval: Duration::from_millis(consumer.poll_interval_ms),
        end_offsets_at: consumer.end_offsets_at_ms.iter().copied().map(at_ms).collect(),
    }
}

/// `number` is unlike that of every other client.
fn group_consumer(
    member: &plan::GroupConsumerInstance<'_>,
    number: u32,
    names: &mut Names,
) -> GroupConsumerSpec {
    let spec = member.spec;
    GroupConsumerSpec {
        config: ConsumerConfig {
            group: Some(names.add_group(&spec.group)),
            group_instance: spec.is_static.then_some(number),
            ..spec.config()
        },
        topic: names.add_topic(&spec.topic),
        start_at: at_ms(member.start_ms),
        commit: match spec.commit {
            plan::CommitMode::Auto => CommitMode::Auto,
            plan::CommitMode::Sync => CommitMode::Sync,
            plan::CommitMode::Async => CommitMode::Async,
        },
        record_pause: span_ms(spec.pause_between_records_ms),
        leave_per_mille: per_mille(spec.leave),
        restart_pause: Duration::from_millis(spec.restart_pause_ms),
    }
}

fn transformer(member: &plan::TransformerInstance<'_>, names: &mut Names) -> TransformerSpec {
    let spec = member.spec;
    TransformerSpec {
        consumer: ConsumerConfig {
            group: Some(names.add_group(&spec.group)),
            ..spec.consumer_config()
        },
        producer: spec.producer_config(),
        transactional_id: names.add_transactional_id(&member.transactional_id),
        input: names.add_topic(&spec.input),
        output: names.add_topic(&spec.output),
        start_at: at_ms(member.start_ms),
        polls: span(spec.polls_per_transaction),
        results: span(spec.results_per_record),
        record_pause: span_ms(spec.pause_between_records_ms),
        abort_per_mille: per_mille(spec.abort),
        leave_per_mille: per_mille(spec.leave),
        value_bytes: 10,
        restart_pause: Duration::from_millis(spec.restart_pause_ms),
        gives_up_when_fenced: false,
        mistake: spec.mistake.map(mistake),
    }
}

const fn mistake(mistake: plan::Mistake) -> Mistake {
    match mistake {
        plan::Mistake::OffsetsOutsideTransaction => Mistake::OffsetsOutsideTransaction,
        plan::Mistake::NoRewind => Mistake::NoRewind,
        plan::Mistake::TimeoutIsFailure => Mistake::TimeoutIsFailure,
        plan::Mistake::GroupMetadataLate => Mistake::GroupMetadataLate,
        plan::Mistake::GroupMetadataMissing => Mistake::GroupMetadataMissing,
    }
}

fn workload(producer: &str, workload: &Workload, names: &mut Names) -> ProducerWorkload {
    match workload {
        Workload::Random(random) => ProducerWorkload::Random(random_workload(random, names)),
        Workload::TwoPhase(two_phase) => ProducerWorkload::TwoPhase(TwoPhaseWorkload {
            batches: random_workload(&two_phase.batches, names),
            input: TopicPartition::new(names.add_topic(&format!("{producer}.batch")), 0),
            pause_before_commit: span_ms(two_phase.pause_before_commit_ms),
        }),
        Workload::Script(steps) => {
            ProducerWorkload::Script(steps.iter().map(|s| step(s, names)).collect())
        }
    }
}

fn random_workload(random: &plan::RandomWorkload, names: &mut Names) -> RandomWorkload {
    RandomWorkload {
        partitions: partitions(&random.partitions, names),
        transactions: random.transactions,
        records: span(random.records_per_transaction),
        abort_per_mille: per_mille(random.abort),
        flush_per_mille: per_mille(random.flush),
        pause: span_ms(random.pause_between_transactions_ms),
        record_pause: span_ms(random.pause_between_records_ms),
        value_bytes: random.value_bytes,
        restart_pause: Duration::from_millis(random.restart_pause_ms),
    }
}

fn step(step: &Step, names: &mut Names) -> ScriptStep {
    match step {
        Step::Init => ScriptStep::InitTransactions,
        Step::Begin => ScriptStep::BeginTransaction,
        Step::Send(send) => ScriptStep::Send {
            partition: partition(&send.partition, names),
            value: names.add_value(&send.value),
            value_bytes: send.value_bytes.unwrap_or_else(|| length(&send.value)),
        },
        Step::Flush => ScriptStep::Flush,
        Step::Commit => ScriptStep::CommitTransaction,
        Step::Abort => ScriptStep::AbortTransaction,
        Step::Close => ScriptStep::Close,
        Step::WaitMs(ms) => ScriptStep::Pause(Duration::from_millis(*ms)),
        Step::WaitUntilMs(ms) => ScriptStep::PauseUntil(at_ms(*ms)),
        Step::RawProduce(raw) => ScriptStep::RawProduce {
            partition: partition(&raw.partition, names),
            base_sequence: Sequence(raw.base_sequence),
            epoch_delta: raw.epoch_delta,
            is_transactional: raw.transactional,
            values: raw.values.iter().map(|value| names.add_value(value)).collect(),
            value_bytes: raw.values.first().map_or(0, |value| length(value)),
        },
    }
}

fn length(text: &str) -> u32 {
    u32::try_from(text.len()).expect("a checked value is short")
}

fn partitions(list: &[String], names: &mut Names) -> Vec<TopicPartition> {
    list.iter().map(|text| partition(text, names)).collect()
}

fn partition(text: &str, names: &mut Names) -> TopicPartition {
    let (topic, number) = split_partition(text).expect("a checked scenario names partitions");
    let number = i32::try_from(number).expect("a checked partition number is small");
    TopicPartition::new(names.add_topic(topic), number)
}

fn at_ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn span(spread: Spread) -> Span<u32> {
    let small = |n: u64| u32::try_from(n).expect("a checked number of records is small");
    Span { min: small(spread.min), max: small(spread.max) }
}

fn span_ms(spread: Spread) -> Span<Duration> {
    Span { min: Duration::from_millis(spread.min), max: Duration::from_millis(spread.max) }
}

/// The nearest whole number of thousandths.
fn per_mille(probability: Probability) -> u32 {
    let scaled = u64::from(probability.numerator) * 2000 / u64::from(probability.denominator);
    u32::try_from(scaled.div_ceil(2)).expect("at most 1000")
}
