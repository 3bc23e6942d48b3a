//! The controller as the brokers meet it.

mod requests;
mod stories;
mod world;
