//! A failing seed as a sweep remembers it: enough to find it again and to tell it from others.

use eosim_checker::Verdict;
use serde::{Deserialize, Serialize};

use super::SeedResult;
use crate::exit::ExitCode;
use crate::recording::word;

/// In which way a seed failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A promise was broken.
    Safety,
    /// It got stuck.
    Liveness,
    /// Nothing can be said.
    Inconclusive,
}

impl FailureClass {
    /// That of a run that came out with `verdict` and should not have.
    #[must_use]
    pub const fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Safety(_) => Self::Safety,
            Verdict::Liveness(_) => Self::Liveness,
            Verdict::Sound | Verdict::Inconclusive(_) => Self::Inconclusive,
        }
    }

    /// What a command ends with that met it.
    #[must_use]
    pub const fn exit(self) -> ExitCode {
        match self {
            Self::Safety => ExitCode::Safety,
            Self::Liveness => ExitCode::Liveness,
            Self::Inconclusive => ExitCode::Inconclusive,
        }
    }
}

/// A seed that did not come out as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The scenario's index.
    pub scenario: usize,
    /// The scenario's name.
    pub scenario_name: String,
    /// The seed.
    pub seed: u64,
    /// In which way it failed.
    pub class: FailureClass,
    /// The invariant that broke first, or how it ended.
    pub what: String,
    /// Of that invariant and its causal skeleton; 0 if no promise was broken.
    pub fingerprint: u64,
    /// Steps of the run.
    pub steps: u64,
    /// Fingerprint of every step.
    pub digest: u64,
}

impl Failure {
    /// What is remembered of `result`, a seed of the scenario called `name`.
    pub(super) fn of(result: &SeedResult, name: &str) -> Self {
        let verdict = &result.run.verdict;
        let fingerprint = match verdict {
            Verdict::Safety(anomalies) => anomalies.first().map_or(0, |first| first.fingerprint),
            _ => 0,
        };
        Self {
            scenario: result.scenario,
            scenario_name: name.to_string(),
            seed: result.seed,
            class: FailureClass::of(verdict),
            what: word(verdict).to_string(),
            fingerprint,
            steps: result.run.steps,
            digest: result.run.digest,
        }
    }

    /// What it has in common with failures of other runs: of a broken promise the invariant and the
    /// fingerprint, otherwise how it ended and the scenario.
    #[must_use]
    pub fn kind(&self) -> String {
        let fingerprint = format!("{:016x}", self.fingerprint);
        kind(self.class, &self.what, &fingerprint, &self.scenario_name)
    }

    /// Its place in the order in which seeds are dealt.
    #[must_use]
    pub const fn place(&self) -> (u64, usize) {
        (self.seed, self.scenario)
    }
}

pub(super) fn kind(class: FailureClass, what: &str, fingerprint: &str, scenario: &str) -> String {
    let of = if class == FailureClass::Safety { fingerprint } else { scenario };
    format!("{what} {of}")
}
