//! The group coordinator as a pure state machine: groups with members, plain and transactional
//! commits, pending offsets until the marker, stable and unstable reads, loading from the log.
//!
//! Counterpart: `group-coordinator/` (`GroupCoordinatorService`, `CoordinatorRuntime`,
//! `GroupMetadataManager`, `OffsetMetadataManager`). Both protocols are there: classic groups and
//! KIP-848 groups. A group that has members of one keeps to it (`group.consumer.migration.policy`
//! = `disabled`); regular expressions, racks and group size limits are left out.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod action;
mod classic;
mod consumer;
mod coordinator;
mod error_mapping;
mod group_state;
mod offset_metadata_manager;
mod shard;
mod standing;
mod timer;

#[cfg(test)]
mod tests;

pub use action::{Action, Cx, PreparedWrite, ReplyTo};
pub use classic::{CLASSIC_GROUP_TRANSITIONS, ClassicGroupState};
pub use consumer::ConsumerGroup;
pub use coordinator::GroupCoordinator;
pub use error_mapping::{marker_error, txn_offset_commit_error};
pub use group_state::{GroupState, PersistedGroup};
pub use offset_metadata_manager::{OffsetMetadataManager, StoredOffset};
