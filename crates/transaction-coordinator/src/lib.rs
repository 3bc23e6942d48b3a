//! The transaction coordinator of one broker as a pure state machine, and the broker's side of
//! producer-id allocation.
//!
//! Kafka counterpart: `kafka.coordinator.transaction` and
//! `org.apache.kafka.coordinator.transaction`. Inputs are method calls of
//! [`TransactionCoordinator`], outputs are [`Action`]s. Nothing here survives a crash: the log of
//! `__transaction_state` is the memory.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod abort_timed_out_transactions;
mod action;
mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod append_transaction_to_log;
mod complete_transition;
mod confirm_leadership;
mod coordinator;
mod describe_transactions;
mod end_txn;
mod end_txn_version_1;
mod end_txn_version_2;
mod find_coordinator;
mod init_producer_id;
mod list_transactions;
mod load_transactions;
mod producer_id_manager;
mod remove_expired_transactional_ids;
mod response_callback;
mod transaction_marker_channel_manager;
mod transaction_marker_request_completion_handler;
mod transaction_metadata;
mod transaction_state;
mod transaction_state_manager;
mod txn_transit_metadata;

pub use action::{Action, AppendId, CoordinatorTimer, Ctx, ReplyTo};
pub use coordinator::TransactionCoordinator;
pub use transaction_metadata::TransactionMetadata;
pub use transaction_state::{STATE_RULES, StateRule, is_valid_transition, state_rule};
pub use txn_transit_metadata::TxnTransitMetadata;
