//! One replica's log.

mod append;
mod append_info;
mod cleaner;
mod log_segment;
mod log_validator;
mod read;
mod recovery;
mod retention;
mod truncate;
mod unified_log;
mod verify;

pub use append_info::{AppendOrigin, LogAppendInfo, end_transaction_marker};
pub(crate) use log_segment::LogSegment;
pub use unified_log::UnifiedLog;
