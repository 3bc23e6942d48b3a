//! What a run ends with. Safety and liveness are different verdicts; safety comes first.
//!
//! No Kafka counterpart.

use eosim_types::Instant;

use crate::anomaly::Anomaly;

/// Something that makes no progress in a healed cluster, as found by whoever drives the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// What is stuck: which transaction, partition, producer or reader.
    pub what: String,
    /// What it waits for.
    pub waiting_for: String,
    /// Since when, virtual time.
    pub since: Instant,
    /// The rule that would free it.
    pub rule: &'static str,
}

/// The verdict over one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every promise was kept.
    Sound,
    /// Promises were broken.
    Safety(Vec<Anomaly>),
    /// Nothing was broken, but something does not move.
    Liveness(Vec<Stuck>),
    /// Nothing can be said, and why: a budget was used up, or the fault never took effect.
    Inconclusive(String),
}

impl Verdict {
    /// The verdict over what the checker found, what is stuck, and why the run may be
    /// inconclusive.
    #[must_use]
    pub fn of(anomalies: &[Anomaly], stuck: Vec<Stuck>, inconclusive: Option<String>) -> Self {
        if !anomalies.is_empty() {
            Self::Safety(anomalies.to_vec())
        } else if !stuck.is_empty() {
            Self::Liveness(stuck)
        } else {
            inconclusive.map_or(Self::Sound, Self::Inconclusive)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safety_comes_before_liveness_before_inconclusive() {
        let anomaly = Anomaly {
            invariant: "duplicate",
            at: Instant::START,
            step: 0,
            summary: String::new(),
            rule: "L-DUP-1",
            skeleton: Vec::new(),
            fingerprint: 0,
        };
        let stuck = Stuck {
            what: "a".into(),
            waiting_for: "b".into(),
            since: Instant::START,
            rule: "C-MRK-10",
        };
        let why = || Some("budget".to_string());
        let safety = Verdict::of(core::slice::from_ref(&anomaly), vec![stuck.clone()], why());
        assert_eq!(safety, Verdict::Safety(vec![anomaly]));
        assert_eq!(Verdict::of(&[], vec![stuck.clone()], why()), Verdict::Liveness(vec![stuck]));
        assert_eq!(Verdict::of(&[], vec![], why()), Verdict::Inconclusive("budget".into()));
        assert_eq!(Verdict::of(&[], vec![], None), Verdict::Sound);
    }
}
