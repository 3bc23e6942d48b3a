//! Applications: the actors that own a producer or a consumer (workload, P-APP).

mod admin_application;
mod admin_call;
mod alarm;
mod consumer_application;
mod plan;
mod producer_application;
mod producer_steps;
mod transactions_command;
mod two_phase;

pub use admin_application::AdminApplication;
pub use consumer_application::ConsumerApplication;
pub use producer_application::ProducerApplication;
