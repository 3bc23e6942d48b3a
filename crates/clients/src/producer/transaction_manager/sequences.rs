//! Sequence numbers: assignment, acknowledgement, failure, resolution, epoch bump (P-SEQ).

use eosim_types::machine::ProducerEvent;
use eosim_types::message::ProducePartitionResponse;
use eosim_types::{Defect, Env, ErrorCode, Sequence, TopicPartition, rule};

use super::requests::Initialization;
use super::{Caller, TransactionManager, TxnRequest};
use crate::exception::{Exception, ExceptionClass};
use crate::producer::producer_batch::{BatchId, Batches, ProducerIdAndEpoch};
use crate::producer::state::State;

impl TransactionManager {
    /// `isSendToPartitionAllowed`.
    fn is_send_to_partition_allowed(&self, partition: TopicPartition) -> bool {
        !self.has_fatal_error()
            && (!self.is_transactional() || self.partitions_in_transaction.contains(&partition))
    }

    /// Has the partition a numbered batch that is not complete?
    pub(crate) fn has_in_flight_batches(&self, partition: TopicPartition) -> bool {
        self.txn_partition_map.get(partition).is_some_and(|entry| !entry.in_flight().is_empty())
    }

    fn has_stale_producer_id_and_epoch(&self, partition: TopicPartition) -> bool {
        let entry = self.txn_partition_map.get(partition);
        entry.map_or(ProducerIdAndEpoch::NONE, |entry| entry.producer) != self.producer
    }

    /// P-ACC-4: must the drain of the node stop at `head`?
    pub(crate) fn should_stop_drain(
        &self,
        head: BatchId,
        batches: &Batches,
        env: &mut Env<'_>,
    ) -> bool {
        let batch = &batches[head];
        let partition = batch.partition;
        let stop = !self.is_send_to_partition_allowed(partition)
            || !self.producer.is_valid()
            || (!batch.has_sequence() && self.must_wait_to_number(partition))
            || (batch.has_sequence() && !self.is_first_in_flight(batch.base_sequence, partition));
        if stop {
            rule!(env, "P-ACC-4");
        }
        stop
    }

    /// The old epoch must finish first, or the last sequence is not known.
    fn must_wait_to_number(&self, partition: TopicPartition) -> bool {
        (self.has_in_flight_batches(partition) && self.has_stale_producer_id_and_epoch(partition))
            || self.partitions_with_unresolved_sequences.contains_key(&partition)
    }

    /// Does it stand first among the numbers in flight?
    fn is_first_in_flight(&self, base_sequence: Sequence, partition: TopicPartition) -> bool {
        let first =
            self.txn_partition_map.get(partition).and_then(|entry| entry.in_flight().first());
        first.is_none_or(|first| first.base_sequence == base_sequence)
    }

    /// P-ACC-5: gives `id` its numbers, at drain and nowhere else.
    pub(crate) fn assign_sequence(
        &mut self,
        id: BatchId,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-ACC-5");
        let partition = batches[id].partition;
        if batches[id].has_sequence() {
            // Only `client.batch.new_sequence_on_retry` numbers a batch twice.
            self.remove_in_flight_batch(id, batches);
        }
        let stale = self.has_stale_producer_id_and_epoch(partition);
        let (producer, is_transactional) = (self.producer, self.is_transactional());
        let entry = self.txn_partition_map.get_or_create(partition);
        if stale && entry.in_flight().is_empty() {
            entry.start_sequences_at_beginning(producer, batches);
        }
        let mut sequence = entry.next_sequence;
        if env.on(Defect::ClientNoSequenceWhileRetrying) && entry.is_retrying(batches) {
            sequence = Sequence::ZERO;
        }
        batches[id].set_producer_state(producer, sequence, is_transactional);
        // P-DM-2: 0 follows the largest number.
        entry.next_sequence = entry.next_sequence.advance(batches[id].record_count());
        entry.add_in_flight(id, batches);
    }

    /// Goes on with `next` in `partition`.
    pub(crate) fn set_next_sequence(&mut self, partition: TopicPartition, next: Sequence) {
        let entry = self.txn_partition_map.get_or_create(partition);
        entry.next_sequence = next;
        entry.last_acked_sequence = next.0 - 1;
    }

    /// Removes `id` from the in-flight set; makes the entry if it is missing (P-DM-4).
    pub(crate) fn remove_in_flight_batch(&mut self, id: BatchId, batches: &mut Batches) {
        let partition = batches[id].partition;
        self.txn_partition_map.get_or_create(partition).remove_in_flight(id, batches);
    }

    /// Adds a numbered part of a split batch (P-ACC-8).
    pub(crate) fn add_in_flight_batch(&mut self, id: BatchId, batches: &mut Batches) {
        let partition = batches[id].partition;
        self.txn_partition_map.get_or_create(partition).add_in_flight(id, batches);
    }

    /// P-SEQ-1; `false` if there is an offset to remember and the partition has no entry any more
    /// (P-REQ-11).
    pub(crate) fn handle_completed_batch(
        &mut self,
        id: BatchId,
        base_offset: i64,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) -> bool {
        env.takes(self.state, ProducerEvent::BatchDone);
        let partition = batches[id].partition;
        let forgotten = self.txn_partition_map.get(partition).is_none();
        if forgotten && self.is_transactional() {
            rule!(env, "P-REQ-11");
            let without_offset = base_offset < 0;
            if without_offset {
                self.remove_in_flight_batch(id, batches);
            }
            return without_offset;
        }
        rule!(env, "P-SEQ-1");
        let last_sequence = batches[id].last_sequence();
        let count = i64::from(batches[id].record_count());
        let entry = self.txn_partition_map.get_or_create(partition);
        entry.last_acked_sequence = entry.last_acked_sequence.max(last_sequence);
        if base_offset >= 0 {
            entry.last_acked_offset = entry.last_acked_offset.max(base_offset + count - 1);
        }
        entry.remove_in_flight(id, batches);
        true
    }

    /// P-SEQ-7. An error is the poisoning of P-ST-1; what would have followed is left out.
    pub(crate) fn handle_failed_batch(
        &mut self,
        id: BatchId,
        exception: &Exception,
        adjust_sequence_numbers: bool,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) -> Result<(), Exception> {
        env.takes(self.state, ProducerEvent::BatchFailed);
        let is_expired = exception.is(ErrorCode::RequestTimedOut);
        if !is_expired || !env.on(Defect::ClientExpiryDoesNotFailTransaction) {
            self.maybe_transition_to_error_state(exception, Caller::Sender, env)?;
        }
        self.remove_in_flight_batch(id, batches);
        if self.has_fatal_error() {
            return Ok(());
        }
        rule!(env, "P-SEQ-7");
        let batch = &batches[id];
        let (partition, base, count) = (batch.partition, batch.base_sequence, batch.record_count());
        let out_of_order = exception.is(ErrorCode::OutOfOrderSequenceNumber)
            || exception.is(ErrorCode::UnknownProducerId);
        if !self.is_transactional() {
            if out_of_order || adjust_sequence_numbers {
                self.bump_or_wait(id, batches, env);
            }
        } else if exception.is(ErrorCode::UnknownProducerId) {
            self.txn_partition_map.remove(partition, batches);
            self.partitions_with_unresolved_sequences.remove(&partition);
        } else if adjust_sequence_numbers
            && let Some(entry) = self.txn_partition_map.get_mut(partition)
        {
            entry.adjust_sequences_due_to_failed_batch(base, count, batches);
        }
        Ok(())
    }

    /// P-SEQ-5.
    pub(crate) fn mark_sequence_unresolved(
        &mut self,
        id: BatchId,
        batches: &Batches,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-SEQ-5");
        let next = batches[id].last_sequence().wrapping_add(1);
        let partition = batches[id].partition;
        let mark = self.partitions_with_unresolved_sequences.entry(partition).or_insert(next);
        *mark = (*mark).max(next);
    }

    /// P-SEQ-6.
    pub(crate) fn maybe_resolve_sequences(&mut self, env: &mut Env<'_>) {
        while let Some(partition) = self.next_drained_unresolved() {
            rule!(env, "P-SEQ-6");
            self.partitions_with_unresolved_sequences.remove(&partition);
            let resolved = self
                .txn_partition_map
                .get(partition)
                .is_none_or(|entry| entry.is_next_sequence(entry.next_sequence.0));
            if !resolved {
                self.give_up_sequence(partition);
            }
        }
    }

    fn next_drained_unresolved(&self) -> Option<TopicPartition> {
        let mut marked = self.partitions_with_unresolved_sequences.keys().copied();
        marked.find(|&partition| !self.has_in_flight_batches(partition))
    }

    fn give_up_sequence(&mut self, partition: TopicPartition) {
        if !self.is_transactional() {
            return self.request_idempotent_epoch_bump(partition);
        }
        let unacknowledged = Exception::new(ExceptionClass::Kafka);
        let _poisoned = if self.can_handle_abortable_error() {
            self.client_side_epoch_bump_required |= self.needs_epoch_bump_from_client();
            self.transition_to_abortable_error(unacknowledged, Caller::Sender)
        } else {
            self.transition_to_fatal_error(unacknowledged)
        };
    }

    fn request_idempotent_epoch_bump(&mut self, partition: TopicPartition) {
        self.client_side_epoch_bump_required = true;
        self.partitions_to_rewrite_sequences.insert(partition);
    }

    /// A batch failed. While the bump must wait, it waits as after an expiry (P-SEQ-6).
    fn bump_or_wait(&mut self, failed: BatchId, batches: &Batches, env: &mut Env<'_>) {
        if self.must_bump_wait(failed, batches, env) {
            self.mark_sequence_unresolved(failed, batches, env);
        } else {
            self.request_idempotent_epoch_bump(batches[failed].partition);
        }
    }

    /// The leader refused the number of `refused`, which will be sent again. A bump that must wait
    /// waits for the next refusal, or for what is in flight to expire.
    fn bump_unless_it_must_wait(&mut self, refused: BatchId, batches: &Batches, env: &Env<'_>) {
        if !self.must_bump_wait(refused, batches, env) {
            self.request_idempotent_epoch_bump(batches[refused].partition);
        }
    }

    /// P-SEQ-3 numbers all batches in flight anew. One that is in the log already would be written a
    /// second time, and one that a later batch has overtaken would be written behind that.
    fn must_bump_wait(&self, but: BatchId, batches: &Batches, env: &Env<'_>) -> bool {
        let Some(entry) = self.txn_partition_map.get(batches[but].partition) else { return false };
        let mut others = entry.in_flight().iter().map(|other| other.batch);
        let rewritten = others.any(|id| id != but && batches[id].may_be_written())
            && !env.on(Defect::UpstreamProducerBumpRenumbersWritten);
        let reordered =
            entry.has_overtaken() && !env.on(Defect::UpstreamProducerOvertakenRenumbered);
        rewritten || reordered
    }

    /// P-SEQ-8, for idempotent producers.
    pub(crate) fn bump_idempotent_epoch_and_reset_id_if_needed(
        &mut self,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) {
        if self.is_transactional() || self.has_fatal_error() {
            return;
        }
        if self.client_side_epoch_bump_required {
            self.bump_idempotent_producer_epoch(env);
        }
        if self.producer.is_valid() || env.on(Defect::UpstreamProducerResendWithoutId) {
            self.rewrite_sequences(batches, env);
        }
        if !self.producer.is_valid() && self.state != State::Initializing {
            let uninitialized = self.transition_to(State::Initializing, None, Caller::Sender);
            if uninitialized.is_ok() {
                self.enqueue(TxnRequest::InitProducerId(Initialization::PLAIN), None);
            }
        }
    }

    fn bump_idempotent_producer_epoch(&mut self, env: &mut Env<'_>) {
        rule!(env, "P-SEQ-8");
        self.client_side_epoch_bump_required = false;
        if !self.producer.is_valid() && !env.on(Defect::UpstreamProducerResendWithoutId) {
            return;
        }
        if let Some(next) = self.producer.producer_epoch.next() {
            self.producer.producer_epoch = next;
        } else {
            rule!(env, "P-SEQ-10");
            self.producer = ProducerIdAndEpoch::NONE;
            let _poisoned = self.transition_to(State::Uninitialized, None, Caller::Sender);
        }
    }

    /// P-SEQ-3, P-SEQ-9: the partitions that asked for the bump start anew, others finish first.
    fn rewrite_sequences(&mut self, batches: &mut Batches, env: &mut Env<'_>) {
        while let Some(partition) = self.partitions_to_rewrite_sequences.pop_first() {
            rule!(env, "P-SEQ-3");
            let producer = self.producer;
            let entry = self.txn_partition_map.get_or_create(partition);
            entry.start_sequences_at_beginning(producer, batches);
            self.partitions_with_unresolved_sequences.remove(&partition);
        }
    }

    /// P-SEQ-4: may the batch be sent again after this answer?
    pub(crate) fn can_retry(
        &mut self,
        response: &ProducePartitionResponse,
        id: BatchId,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) -> bool {
        rule!(env, "P-SEQ-4");
        match response.error {
            ErrorCode::UnknownProducerId => {
                self.can_retry_unknown_producer_id(response.log_start_offset, id, batches, env)
            }
            ErrorCode::OutOfOrderSequenceNumber => self.can_retry_out_of_order(id, batches, env),
            error => error.is_retriable(),
        }
    }

    fn can_retry_unknown_producer_id(
        &mut self,
        log_start_offset: i64,
        id: BatchId,
        batches: &mut Batches,
        env: &Env<'_>,
    ) -> bool {
        let partition = batches[id].partition;
        if log_start_offset == -1 || batches[id].reopened {
            return true;
        }
        if !self.is_transactional() {
            self.bump_unless_it_must_wait(id, batches, env);
            return true;
        }
        let producer = self.producer;
        let entry = self.txn_partition_map.get_or_create(partition);
        // Retention removed what the leader knew of this producer.
        let lost_by_retention = entry.last_acked_offset < log_start_offset;
        if lost_by_retention {
            entry.start_sequences_at_beginning(producer, batches);
        }
        lost_by_retention
    }

    fn can_retry_out_of_order(&mut self, id: BatchId, batches: &Batches, env: &Env<'_>) -> bool {
        let batch = &batches[id];
        let mark = self.partitions_with_unresolved_sequences.get(&batch.partition).copied();
        let is_next = self
            .txn_partition_map
            .get(batch.partition)
            .map_or(Sequence::ZERO == batch.base_sequence, |entry| {
                entry.is_next_sequence(batch.base_sequence.0)
            });
        if mark.is_none() && (batch.reopened || !is_next) {
            return true;
        }
        if self.is_transactional() {
            return false;
        }
        if mark.is_none_or(|unresolved| unresolved == batch.base_sequence.0) {
            self.bump_unless_it_must_wait(id, batches, env);
        }
        true
    }
}
