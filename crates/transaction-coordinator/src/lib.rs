//! The transaction coordinator of one broker as a pure state machine, and the broker's side of
//! producer-id allocation.
//!
//! Kafka counterpart: `kafka.coordinator.transaction` and
//! `org.apache.kafka.coordinator.transaction`. Inputs are method calls, outputs are [`Action`]s;
//! nothing is stored here that survives a crash: the log of `__transaction_state` is the memory.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod action;
mod coordinator;

pub use action::{Action, AppendId, CoordinatorTimer, Ctx, ReplyTo};
pub use coordinator::TransactionCoordinator;
