//! What a log knows of each producer.

mod producer_append_info;
mod producer_state_entry;
mod producer_state_manager;
mod snapshot;
mod transactions;
mod verification;

pub use producer_append_info::ProducerAppendInfo;
pub use producer_state_entry::{BatchMetadata, ProducerStateEntry};
pub use producer_state_manager::ProducerStateManager;
pub use transactions::CompletedTxn;
pub use verification::{VerificationGuard, VerificationStateEntry};
