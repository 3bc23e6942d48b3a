//! What a producer knows of its numbering in one partition (`TxnPartitionEntry`).
//!
//! Invariant: the in-flight set is ordered by producer id, epoch and base sequence, and its
//! numbers are those of the batches.

use alloc::vec::Vec;

use eosim_types::Sequence;

use super::producer_batch::{BatchId, Batches, ProducerIdAndEpoch};

/// A batch that has a sequence and has not completed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct InFlightBatch {
    pub(crate) producer: ProducerIdAndEpoch,
    pub(crate) base_sequence: Sequence,
    pub(crate) batch: BatchId,
}

/// The numbering of one partition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TxnPartitionEntry {
    pub(crate) producer: ProducerIdAndEpoch,
    pub(crate) next_sequence: Sequence,
    /// -1 if none.
    pub(crate) last_acked_sequence: i32,
    /// -1 if none.
    pub(crate) last_acked_offset: i64,
    in_flight: Vec<InFlightBatch>,
    /// Where the numbering begins next time: at 0, except the first time if so configured.
    first_sequence: Sequence,
}

impl TxnPartitionEntry {
    /// An entry whose first batch gets `first_sequence`.
    pub(crate) fn new(first_sequence: Sequence) -> Self {
        Self {
            producer: ProducerIdAndEpoch::NONE,
            next_sequence: Sequence::ZERO,
            last_acked_sequence: -1,
            last_acked_offset: -1,
            in_flight: Vec::new(),
            first_sequence,
        }
    }

    /// The in-flight set in its order.
    pub(crate) fn in_flight(&self) -> &[InFlightBatch] {
        &self.in_flight
    }

    /// Adds a numbered batch.
    pub(crate) fn add_in_flight(&mut self, id: BatchId, batches: &mut Batches) {
        let batch = &mut batches[id];
        batch.tracked = true;
        let entry = InFlightBatch {
            producer: batch.producer,
            base_sequence: batch.base_sequence,
            batch: id,
        };
        let at = self.in_flight.partition_point(|known| *known < entry);
        self.in_flight.insert(at, entry);
    }

    /// Removes a batch, if it is there.
    pub(crate) fn remove_in_flight(&mut self, id: BatchId, batches: &mut Batches) {
        self.in_flight.retain(|known| known.batch != id);
        batches[id].tracked = false;
    }

    /// Is a batch in flight although a later one was acknowledged? The leader knew nothing of the
    /// producer then, and took that for the first (L-SEQ-4).
    pub(crate) fn has_overtaken(&self) -> bool {
        let last_acked = Sequence(self.last_acked_sequence);
        self.in_flight.iter().any(|known| known.base_sequence.precedes(last_acked))
    }

    /// Has a batch in flight been sent before?
    pub(crate) fn is_retrying(&self, batches: &Batches) -> bool {
        self.in_flight.iter().any(|known| batches[known.batch].retry)
    }

    /// Takes all in-flight batches out, for an entry that is being forgotten.
    pub(crate) fn forget_in_flight(&mut self, batches: &mut Batches) {
        for known in self.in_flight.drain(..) {
            batches[known.batch].tracked = false;
            batches.release_if_unused(known.batch);
        }
    }

    /// P-SEQ-2: does `sequence` follow directly on the last acknowledged one?
    pub(crate) const fn is_next_sequence(&self, sequence: i32) -> bool {
        sequence.wrapping_sub(self.last_acked_sequence) == 1
    }

    /// P-SEQ-3: renumbers the in-flight batches from 0 under `producer`
    /// (`startSequencesAtBeginning`).
    pub(crate) fn start_sequences_at_beginning(
        &mut self,
        producer: ProducerIdAndEpoch,
        batches: &mut Batches,
    ) {
        let mut sequence = core::mem::replace(&mut self.first_sequence, Sequence::ZERO);
        self.last_acked_sequence = sequence.0 - 1;
        for known in &mut self.in_flight {
            let batch = &mut batches[known.batch];
            batch.reset_producer_state(producer, sequence);
            known.producer = producer;
            known.base_sequence = sequence;
            sequence = sequence.advance(batch.record_count());
        }
        self.in_flight.sort_unstable();
        self.producer = producer;
        self.next_sequence = sequence;
    }

    /// P-SEQ-7: gives the numbers of a batch that is not in the log to the batches after it. A
    /// number that would become negative is an internal error of the real client, which it logs
    /// and survives; here nothing changes then.
    pub(crate) fn adjust_sequences_due_to_failed_batch(
        &mut self,
        failed_base: Sequence,
        record_count: i32,
        batches: &mut Batches,
    ) {
        let Some(next) = self.next_sequence.0.checked_sub(record_count).filter(|n| *n >= 0) else {
            return;
        };
        self.next_sequence = Sequence(next);
        for known in self.in_flight.iter_mut().filter(|k| k.base_sequence >= failed_base) {
            let shifted = known.base_sequence.0 - record_count;
            if shifted < 0 {
                return;
            }
            known.base_sequence = Sequence(shifted);
            batches[known.batch].reset_producer_state(known.producer, Sequence(shifted));
        }
        self.in_flight.sort_unstable();
    }
}
