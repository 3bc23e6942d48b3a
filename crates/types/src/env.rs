//! What every protocol function may know of its surroundings.

use crate::capability::{Capability, CapabilitySet};
use crate::defect::{Defect, DefectSet};
use crate::machine::MachineState;
use crate::marks::Marks;
use crate::time::Instant;
use crate::version::KafkaVersion;

/// Time, switches and rule marks, lent to a protocol function for one step.
#[derive(Debug)]
pub struct Env<'a> {
    /// Monotonic virtual time.
    pub now: Instant,
    /// How far this node's wall clock is off, in milliseconds.
    pub clock_skew_ms: i64,
    /// The Kafka version that this node runs.
    pub kafka: KafkaVersion,
    /// What it has of later releases besides.
    pub backports: CapabilitySet,
    /// Which defects and upstream findings are put back.
    pub defects: DefectSet,
    /// What was reached so far.
    pub marks: &'a mut Marks,
}

impl Env<'_> {
    /// Is the historical defect or upstream finding `defect` present in this run?
    #[inline]
    #[must_use]
    pub fn on(&self, defect: Defect) -> bool {
        self.defects.contains(defect)
    }

    /// Does this node do `capability`?
    #[inline]
    #[must_use]
    pub const fn has(&self, capability: Capability) -> bool {
        self.kafka.has(capability) || self.backports.contains(capability)
    }

    /// A machine is about to take `event` in `state`.
    #[inline]
    pub fn takes<S: MachineState>(&mut self, state: S, event: S::Event) {
        self.marks.takes(state, event);
    }

    /// A machine has entered `state`.
    #[inline]
    pub fn enters<S: MachineState>(&mut self, state: S) {
        self.marks.enters(state);
    }

    /// This node's wall clock in milliseconds (Kafka: `time.milliseconds()`).
    #[inline]
    #[must_use]
    pub fn clock_ms(&self) -> i64 {
        self.now.as_millis().saturating_add(self.clock_skew_ms)
    }

    /// Lends the same surroundings on for a nested call.
    #[inline]
    pub fn reborrow(&mut self) -> Env<'_> {
        Env {
            now: self.now,
            clock_skew_ms: self.clock_skew_ms,
            kafka: self.kafka,
            backports: self.backports,
            defects: self.defects,
            marks: self.marks,
        }
    }
}
