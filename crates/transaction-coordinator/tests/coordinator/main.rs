//! The coordinator from outside: the worked cases of Kafka's own tests by row number, rule by rule,
//! and the record sequences of `__transaction_state`.

mod add_partitions;
mod admin;
mod end_txn;
mod expiry;
mod harness;
mod init_producer_id;
mod interleavings;
mod loading;
mod log_append;
mod markers;
mod metadata;
mod producer_ids;
mod sequences;
mod timeouts;
mod upstream;
