//! Histories: what clients did and learned and what brokers held, as lines of JSON, of a simulated
//! run or of any other system; and the checker's verdict over one.
//!
//! Counterparts: Jepsen's histories. The form is described in `HISTORY.md`. Names are strings; no
//! number of the model is in it. What a history does not say stays unknown.

mod event;
mod group;
mod header;
mod judge;
mod log;
mod read;
mod schema;
mod word;
mod write;

use eosim_checker::{CheckerSetup, Stuck};
use eosim_types::observation::{ClusterDump, Observation};
use eosim_types::{Instant, Topic};

pub use header::FORMAT;
pub use judge::Judged;
pub(crate) use judge::broken_off;
pub use schema::schema;

/// A history, in the order in which things were seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// What happens in it, or where it is from.
    pub about: Option<String>,
    /// The simulated scenario and seed, if it is of one. Such a history lacks nothing.
    pub run: Option<(String, u64)>,
    /// What the system allows.
    pub setup: CheckerSetup,
    /// The topics, each with its number of partitions.
    pub topics: Vec<(Topic, u32)>,
    /// What was seen.
    pub entries: Vec<Entry>,
}

impl History {
    /// What clients did and learned, in order.
    pub(crate) fn observations(&self) -> impl Iterator<Item = &Observation> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Observed(observation) => Some(observation),
            _ => None,
        })
    }
}

/// Something that was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A client did or learned something.
    Observed(Observation),
    /// What brokers held.
    Dump(ClusterDump),
    /// Something does not move in a healed cluster.
    Stuck(Stuck),
    /// The system could not be driven to its end, for this reason.
    GaveUp(String),
    /// The system broke off.
    BrokeOff {
        /// When.
        at: Instant,
        /// After how many steps.
        step: u64,
        /// How.
        how: String,
    },
}
