//! The world: virtual time, the event queue, Kafka's network, processes that die and stall, and
//! chance.
//!
//! [`World`] runs any [`eosim_actor::Actor`]; what it is told from outside comes through three
//! ports: choices, faults and a listener. A run is a pure function of the actors, the settings and
//! the choices.
#![forbid(unsafe_code)]

pub mod bench;
pub mod cluster;
pub mod fault;
pub mod listener;
pub mod rng;
pub mod world;

pub use fault::{Cause, Command, Envelope, Fate, FaultCx, FaultHook, HoldKey, NoFaults, Way};
pub use listener::{Listener, Stamp};
pub use rng::{RNG_VERSION, Seeded};
pub use world::{Latency, Limits, Node, Settings, StepInfo, Stop, World, request_number};
