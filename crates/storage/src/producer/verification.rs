//! Transactions that a partition waits to have verified by the coordinator.
//!
//! Kafka's counterparts: `VerificationGuard` and `VerificationStateEntry`. They live in memory
//! only: never persisted, never replicated, untouched by truncation (L-TRC-3).

use eosim_types::{Env, ProducerEpoch, Sequence, rule};

/// A token that ties an append to the verification that was begun for it (L-GRD-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VerificationGuard(u64);

impl VerificationGuard {
    /// "No guard": never matches anything, not even itself (L-GRD-1).
    pub const SENTINEL: Self = Self(0);

    /// The `number`-th guard of a process, counted from 1.
    #[must_use]
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Does a request that brings `self` match the stored guard `stored` (L-GRD-4)?
    #[must_use]
    pub fn verify(self, stored: Self) -> bool {
        self != Self::SENTINEL && self == stored
    }
}

/// What a partition remembers of one producer's pending verification (L-GRD-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VerificationStateEntry {
    /// When it was created, ms; later use does not refresh it (L-EXP-3).
    pub timestamp: i64,
    /// The token.
    pub verification_guard: VerificationGuard,
    /// The lowest sequence that waits (L-GRD-7).
    pub lowest_sequence: Sequence,
    /// The epoch of the batches that wait.
    pub producer_epoch: ProducerEpoch,
    /// Was it created for a client that bumps its epoch? Fixed at creation (L-GRD-2).
    pub supports_epoch_bump: bool,
}

impl VerificationStateEntry {
    /// Another batch begins to wait (L-GRD-2, `maybeUpdateLowestSequenceAndEpoch`).
    pub fn maybe_update_lowest_sequence_and_epoch(
        &mut self,
        env: &mut Env<'_>,
        incoming_sequence: Sequence,
        incoming_producer_epoch: ProducerEpoch,
    ) {
        rule!(env, "L-GRD-2");
        rule!(env, "L-GRD-7");
        let lower = incoming_producer_epoch == self.producer_epoch
            && incoming_sequence < self.lowest_sequence;
        if lower || incoming_producer_epoch > self.producer_epoch {
            self.producer_epoch = incoming_producer_epoch;
            self.lowest_sequence = incoming_sequence;
        }
    }
}
