//! Clients of the exactly-once protocol: the producer, the consumer, and the applications on top
//! of them (`org.apache.kafka.clients`).
//!
//! Producer and consumer are pure state machines: calls, answers and time go in; requests and
//! outcomes come out. An application is an actor that owns one of them, decides what to call, and
//! tells the checker what it did and saw.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod api_versions;
mod application;
mod backoff;
mod client;
pub mod consumer;
mod exception;
mod metadata;
mod network_client;
pub mod producer;
mod spec;
mod standing;

pub use api_versions::ApiVersions;
pub use application::{
    AdminApplication, ConsumerApplication, GroupConsumerApplication, ProducerApplication,
    TransformerApplication,
};
pub use client::Client;
pub use exception::{Exception, ExceptionClass};
pub use spec::{
    AbortTransactionSpec, AdminSpec, AdminStep, ClientSpec, CommitMode, ConsumerSpec,
    GroupConsumerSpec, MarkedProducer, Mistake, ProducerSpec, ProducerWorkload, RandomWorkload,
    ScriptStep, Span, TransformerSpec, TwoPhaseWorkload,
};
