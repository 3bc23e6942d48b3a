//! The request Produce.
//!
//! Kafka counterpart: `KafkaApis#handleProduceRequest`, `ReplicaManager#handleProduceAppend`. The
//! order of the checks is the protocol (section L-PIPE): request level, producer uniformity,
//! verification, append.

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_storage::{AppendOrigin, VerificationGuard};
use eosim_types::message::{ProducePartitionResponse, ProduceRequest, ProduceResponse};
use eosim_types::record::RecordBatch;
use eosim_types::version::TransactionSupportedOperation;
use eosim_types::{Defect, Duration, ErrorCode, Few, Sequence, TopicPartition, rule};

use super::ReplicaManager;
use super::append::{AppendOptions, response_of};
use super::delayed_operation::{Appender, ProducePartitionStatus};
use super::verification::{PendingProduce, ProducePartition};
use crate::io::Io;

impl ReplicaManager {
    /// Takes a Produce request up to the verification stage.
    pub(crate) fn handle_produce(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: ProduceRequest,
    ) {
        if let Err(error) = check_request(io, &request) {
            return refuse_request(io, token, &request, error);
        }
        let partitions = request
            .partitions
            .into_iter()
            .map(|(tp, batch)| {
                let error = check_partition(io, tp, &batch).err();
                ProducePartition { tp, batch, set_aside: error.is_some(), error, guard: None }
            })
            .collect();
        let pending = PendingProduce {
            token,
            transactional_id: request.transactional_id,
            acks: request.acks,
            timeout: Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0)),
            operation: TransactionSupportedOperation::of_produce(request.version),
            partitions,
            first_attempt: io.now(),
            retry_at: None,
        };
        self.maybe_start_verification(io, pending);
    }

    /// The append stage: everything is decided about verification (L-VER-6).
    pub(crate) fn append_produce(&mut self, io: &mut Io<'_>, pending: PendingProduce) {
        rule!(io.env, "L-VER-6");
        let PendingProduce { token, acks, timeout, operation, partitions, .. } = pending;
        let mut statuses = Few::new();
        for ProducePartition { tp, batch, error, guard, .. } in partitions {
            let options = AppendOptions {
                origin: AppendOrigin::Client,
                acks,
                internal_topics_allowed: false,
                verification_guard: guard.unwrap_or(VerificationGuard::SENTINEL),
                transaction_version: None,
            };
            let result = match error {
                Some(error) => Err(map_verification_error(io, operation, error).into()),
                None => self.append_to_local_log(io, tp, batch, options),
            };
            statuses.push(ProducePartitionStatus::new(tp, result));
        }
        self.answer_produce(io, token, acks, timeout, statuses);
    }

    /// L-PIPE-6.
    fn answer_produce(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        acks: i16,
        timeout: Duration,
        statuses: Few<ProducePartitionStatus>,
    ) {
        rule!(io.env, "L-PIPE-6");
        match acks {
            -1 => self.await_replication(io, Appender::Produce(token), timeout, statuses),
            0 => io.out.finish(token),
            _ => {
                let partitions = statuses.iter().map(response_of).collect();
                io.respond(token, ProduceResponse { partitions });
            }
        }
    }
}

/// What fails the request as a whole (L-PIPE-1.1, L-PIPE-2).
fn check_request(io: &mut Io<'_>, request: &ProduceRequest) -> Result<(), ErrorCode> {
    let transactional = || request.partitions.iter().filter(|(_, batch)| batch.is_transactional);
    if transactional().next().is_none() {
        return Ok(());
    }
    rule!(io.env, "L-PIPE-1");
    if request.transactional_id.is_none() {
        return Err(ErrorCode::TransactionalIdAuthorizationFailed);
    }
    if request.acks != -1 && !io.env.on(Defect::UpstreamLeaderAcks1TransactionalAccepted) {
        return Err(ErrorCode::InvalidRequiredAcks);
    }
    let acks_legal = matches!(request.acks, -1..=1);
    if !acks_legal && !io.env.on(Defect::UpstreamLeaderRefusedProduceRegisters) {
        return Err(ErrorCode::InvalidRequiredAcks);
    }
    rule!(io.env, "L-PIPE-2");
    let producer = |batch: &RecordBatch| (batch.producer_id, batch.producer_epoch);
    let mut producers = transactional().map(|(_, batch)| producer(batch));
    let first = producers.next();
    let uniform = producers.all(|producer| Some(producer) == first);
    if uniform { Ok(()) } else { Err(ErrorCode::InvalidProducerIdMapping) }
}

/// What sets one partition aside before verification (L-PIPE-1.2).
fn check_partition(
    io: &mut Io<'_>,
    tp: TopicPartition,
    batch: &RecordBatch,
) -> Result<(), ErrorCode> {
    if !io.image.partitions.contains_key(&tp) {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    // As released, a batch is refused for its sequence only after it has joined its transaction.
    if batch.is_transactional && !io.env.on(Defect::UpstreamLeaderRefusedProduceRegisters) {
        rule!(io.env, "L-REC-3");
        if batch.has_producer_id() && batch.base_sequence < Sequence::ZERO {
            return Err(ErrorCode::InvalidRecord);
        }
    }
    Ok(())
}

fn refuse_request(
    io: &mut Io<'_>,
    token: RequestToken,
    request: &ProduceRequest,
    error: ErrorCode,
) {
    if request.acks == 0 {
        return io.out.finish(token);
    }
    let refused = |tp| response_of(&ProducePartitionStatus::new(tp, Err(error.into())));
    let partitions: Vec<ProducePartitionResponse> =
        request.partitions.iter().map(|&(tp, _)| refused(tp)).collect();
    io.respond(token, ProduceResponse { partitions });
}

/// L-MAP-2: old clients retry NOT_ENOUGH_REPLICAS without looking for another leader.
fn map_verification_error(
    io: &mut Io<'_>,
    operation: TransactionSupportedOperation,
    error: ErrorCode,
) -> ErrorCode {
    rule!(io.env, "L-MAP-2");
    match error {
        ErrorCode::NetworkException
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::NotCoordinator => ErrorCode::NotEnoughReplicas,
        ErrorCode::ConcurrentTransactions
            if operation != TransactionSupportedOperation::AddPartition =>
        {
            ErrorCode::NotEnoughReplicas
        }
        other => other,
    }
}
