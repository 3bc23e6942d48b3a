//! Applications: the actors that own a producer, a consumer or both (workload, P-APP).

mod admin_application;
mod admin_call;
mod alarm;
mod consumer_application;
mod group_consumer_application;
mod plan;
mod producer_application;
mod producer_session;
mod producer_steps;
mod transactions_command;
mod transformer_application;
mod transformer_steps;
mod two_phase;

pub use admin_application::AdminApplication;
pub use consumer_application::ConsumerApplication;
pub use group_consumer_application::GroupConsumerApplication;
pub use producer_application::ProducerApplication;
pub use transformer_application::TransformerApplication;
