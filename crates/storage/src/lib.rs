//! The log of one replica of one partition, and everything that is derived from it: producer
//! state, verification guards, the high watermark and the last stable offset, the
//! aborted-transaction index, leader epochs, snapshots, retention and compaction.
//!
//! Kafka's counterpart is the module `storage` (`UnifiedLog`, `ProducerStateManager`,
//! `TransactionIndex`, `LeaderEpochFileCache`, `Cleaner`). Roles, replication and requests are the
//! broker's; this crate decides what an append does to one log, and nothing else.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod leader_epoch_cache;
mod log;
mod log_config;
mod producer;
mod transaction_index;

pub use leader_epoch_cache::{EpochEntry, LeaderEpochFileCache};
pub use log::{AppendOrigin, LogAppendInfo, UnifiedLog, end_transaction_marker};
pub use log_config::LogConfig;
pub use producer::{
    BatchMetadata, CompletedTxn, ProducerAppendInfo, ProducerStateEntry, ProducerStateManager,
    VerificationGuard, VerificationStateEntry,
};
pub use transaction_index::{TransactionIndex, TxnIndexSearchResult};
