//! What must go wrong in a smaller run for it to be the same failure.

use eosim_checker::Verdict;

use crate::run::RunResult;

/// A kind of failure: the invariant with the causal skeleton of what breaks it, or what gets stuck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Broken { invariant: &'static str, fingerprint: u64 },
    Stuck { what: String },
}

impl Class {
    /// Of the first thing that is wrong, if anything is.
    pub(crate) fn of(verdict: &Verdict) -> Option<Self> {
        match verdict {
            Verdict::Safety(anomalies) => anomalies.first().map(|first| Self::Broken {
                invariant: first.invariant,
                fingerprint: first.fingerprint,
            }),
            Verdict::Liveness(stuck) => {
                stuck.first().map(|first| Self::Stuck { what: word(&first.what).to_string() })
            }
            Verdict::Sound | Verdict::Inconclusive(_) => None,
        }
    }

    /// After how many steps it shows in `run`, if it does.
    pub(crate) fn shows(&self, run: &RunResult) -> Option<u64> {
        match (self, &run.verdict) {
            (Self::Broken { fingerprint, invariant }, Verdict::Safety(anomalies)) => {
                let same = |a: &&eosim_checker::Anomaly| {
                    a.fingerprint == *fingerprint && a.invariant == *invariant
                };
                anomalies.iter().find(same).map(|anomaly| anomaly.step)
            }
            (Self::Stuck { what }, Verdict::Liveness(stuck)) => {
                stuck.iter().any(|one| word(&one.what) == what).then_some(run.steps)
            }
            _ => None,
        }
    }

    /// Is the promise broken that was broken, in whatever way?
    pub(crate) fn is_broken_in(&self, verdict: &Verdict) -> bool {
        match (self, verdict) {
            (Self::Broken { invariant, .. }, Verdict::Safety(anomalies)) => {
                anomalies.iter().any(|anomaly| anomaly.invariant == *invariant)
            }
            (Self::Stuck { .. }, Verdict::Liveness(_)) => true,
            _ => false,
        }
    }

    /// It shows as soon as it happens, so that nothing after it matters.
    pub(crate) const fn can_be_cut(&self) -> bool {
        matches!(self, Self::Broken { .. })
    }
}

/// What kind of thing: the first word of its description.
fn word(what: &str) -> &str {
    what.split(' ').next().unwrap_or_default()
}
