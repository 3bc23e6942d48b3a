//! Kafka's vocabulary as plain data: identifiers with Kafka's widths, error codes, requests and
//! responses, record batches, configuration defaults, rule ids, defect switches, and the
//! observations that the checker reads.
//!
//! Nothing here decides anything; every other crate speaks in these words.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod assignor;
pub mod capability;
pub mod config;
pub mod defect;
pub mod digest;
pub mod env;
pub mod error;
pub mod few;
pub mod group_log;
pub mod ids;
pub mod look;
pub mod machine;
pub mod marks;
pub mod message;
pub mod metadata;
pub mod names;
pub mod observation;
pub mod record;
pub mod rules;
pub mod sorted_map;
pub mod spare;
pub mod time;
pub mod version;
pub mod visible;

pub use capability::{Capability, CapabilitySet};
pub use defect::{Defect, DefectSet};
pub use env::Env;
pub use error::ErrorCode;
pub use few::Few;
pub use ids::{
    ActorId, BrokerId, CoordinatorEpoch, GroupId, LeaderEpoch, ProducerEpoch, ProducerId, Sequence,
    Topic, TopicPartition, TransactionalId, Value,
};
pub use marks::Marks;
pub use names::Names;
pub use sorted_map::SortedMap;
pub use spare::Spare;
pub use time::{Duration, Instant};
