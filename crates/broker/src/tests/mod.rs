//! The broker's own tests: worked cases of the rules, told as stories of a small cluster.

mod acks;
mod add_partitions_to_txn;
mod cluster;
mod disk;
mod fetcher;
mod fixture;
mod lifecycle;
mod markers;
mod operation;
mod recorded;
mod replication;
mod requests;
mod smoke;
mod takeover;
mod transactional_offsets;
mod verification;
