//! A broker as one actor: request routing, replicas and their replication, the verification of
//! transactions, markers, and the glue of the coordinators; and the controller.
//!
//! Kafka counterpart: `core`, `server`, `metadata`. A [`Broker`] is put together from parts with
//! Kafka's names; each request has a file of its own.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod add_partitions_to_txn_manager;
mod broker;
pub mod controller;
mod disk;
mod dump;
mod group_coordinator;
mod io;
mod kafka_apis;
mod lifecycle;
mod log_manager;
mod metadata_loader;
mod network;
mod parts;
mod progress;
mod replica_manager;
mod spec;
#[cfg(test)]
mod tests;
mod timers;
mod transaction_coordinator;

pub use broker::Broker;
pub use dump::ReplicaView;
pub use eosim_group_coordinator::CLASSIC_GROUP_TRANSITIONS;
pub use eosim_transaction_coordinator::STATE_RULES as TRANSACTION_STATE_RULES;
pub use progress::Unfinished;
pub use spec::BrokerSpec;
