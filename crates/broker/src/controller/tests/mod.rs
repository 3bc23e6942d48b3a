//! The controller as the brokers meet it.

mod operation;
mod requests;
mod stories;
mod world;
