//! The group coordinator's offsets as a pure state machine: plain and transactional commits,
//! pending offsets until the marker, stable and unstable reads, loading from the log.
//!
//! Counterpart: `group-coordinator/` (`GroupCoordinatorService`, `CoordinatorRuntime`,
//! `OffsetMetadataManager`). Members are not modelled: a group is a *simple* one, used by anybody
//! who commits without a generation (G-OFF-1).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod coordinator;
mod error_mapping;
mod offset_metadata_manager;
mod shard;

pub use coordinator::{Action, Cx, GroupCoordinator, GroupTimer, PreparedCommit, ReplyTo};
pub use error_mapping::{marker_error, txn_offset_commit_error};
pub use offset_metadata_manager::{OffsetMetadataManager, StoredOffset};
