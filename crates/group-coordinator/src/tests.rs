//! The coordinator's own tests: worked cases of the rules, and stories.

mod bench;
mod classic_groups;
mod consumer_groups;
mod deletion;
mod fencing;
mod offsets;
mod rebalance_in_transaction;
mod replay;
