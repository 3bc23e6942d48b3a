//! The second half of a transition: its record is replicated, and it becomes the state.
//!
//! Kafka counterpart: `TransactionMetadata.completeTransitionTo`. Timestamps may go backwards.

use eosim_types::record::TransactionState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};
use eosim_types::{Capability, Env, ProducerEpoch, rule};

use crate::transaction_metadata::TransactionMetadata;
use crate::transaction_state::{Phase, is_complete, is_idle, is_prepare};
use crate::txn_transit_metadata::TxnTransitMetadata;

impl TransactionMetadata {
    /// The record of `transit` is replicated: makes it the state. Kafka:
    /// `completeTransitionTo`.
    ///
    /// # Panics
    /// If `transit` does not follow from the state; Kafka throws, and its client gets no answer.
    pub fn complete_transition(&mut self, env: &mut Env<'_>, transit: TxnTransitMetadata) {
        rule!(env, "C-SM-9");
        assert_eq!(
            self.pending_state,
            Some(transit.state),
            "the pending state changed while its transition was written"
        );
        assert!(
            self.is_valid_completion(env, &transit),
            "{transit:?} does not follow from {self:?}"
        );
        rule!(env, "C-SM-12");
        self.producer_id = transit.producer_id;
        self.previous_producer_id = transit.previous_producer_id;
        self.next_producer_id = transit.next_producer_id;
        self.producer_epoch = transit.producer_epoch;
        self.last_producer_epoch = transit.last_producer_epoch;
        self.transaction_timeout_ms = transit.transaction_timeout_ms;
        self.topic_partitions = transit.topic_partitions;
        self.transaction_start_timestamp = transit.transaction_start_timestamp;
        self.transaction_last_update_timestamp = transit.transaction_last_update_timestamp;
        self.client_transaction_version = transit.client_transaction_version;
        self.pending_state = None;
        self.state = transit.state;
        env.enters(Phase(self.state, None));
    }

    fn is_valid_completion(&self, env: &mut Env<'_>, transit: &TxnTransitMetadata) -> bool {
        rule!(env, "C-SM-11");
        let same_timeout = self.transaction_timeout_ms == transit.transaction_timeout_ms;
        match transit.state {
            Empty => {
                self.is_valid_producer_epoch_bump(transit)
                    && transit.topic_partitions.is_empty()
                    && transit.transaction_start_timestamp == -1
            }
            Ongoing => {
                let contains =
                    |partition| transit.topic_partitions.binary_search(partition).is_ok();
                self.is_valid_producer_epoch(env, transit)
                    && self.topic_partitions.iter().all(contains)
                    && same_timeout
            }
            PrepareCommit | PrepareAbort => {
                self.is_valid_producer_epoch(env, transit)
                    && self.topic_partitions == transit.topic_partitions
                    && same_timeout
                    && self.is_valid_start(env, transit)
            }
            CompleteCommit | CompleteAbort => {
                self.is_valid_producer_epoch(env, transit)
                    && same_timeout
                    && transit.transaction_start_timestamp != -1
            }
            PrepareEpochFence | Dead => false,
        }
    }

    /// C-SM-11, Empty: the first epoch, the same, the next one, or 0 of another id.
    fn is_valid_producer_epoch_bump(&self, transit: &TxnTransitMetadata) -> bool {
        self.producer_epoch == ProducerEpoch::NONE
            || transit.producer_epoch == self.producer_epoch
            || Some(transit.producer_epoch) == self.producer_epoch.next()
            || (transit.producer_epoch.0 == 0 && transit.producer_id != self.producer_id)
    }

    /// Kafka: `validProducerEpoch`.
    fn is_valid_producer_epoch(&self, env: &mut Env<'_>, transit: &TxnTransitMetadata) -> bool {
        rule!(env, "C-SM-10");
        let bumps = transit.client_transaction_version.supports_epoch_bump();
        if bumps && is_complete(transit.state) && transit.producer_epoch.0 == 0 {
            transit.last_producer_epoch == self.last_producer_epoch
                && transit.previous_producer_id == self.producer_id
        } else if bumps && is_prepare(transit.state) {
            transit.last_producer_epoch == self.producer_epoch
                && transit.producer_id == self.producer_id
        } else {
            transit.producer_epoch == self.producer_epoch && transit.producer_id == self.producer_id
        }
    }

    /// C-SM-11, Prepare…: the start stands, unless nothing was added.
    fn is_valid_start(&self, env: &Env<'_>, transit: &TxnTransitMetadata) -> bool {
        let nothing_added = transit.client_transaction_version.supports_epoch_bump()
            && is_idle(self.state)
            && (transit.state == PrepareAbort || env.has(Capability::EmptyCommitBumps));
        nothing_added || transit.transaction_start_timestamp == self.transaction_start_timestamp
    }
}
