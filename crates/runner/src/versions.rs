//! Which releases are affected: for each affair the scenario that shows it, run on every release.
//!
//! No Kafka counterpart. Nothing of the answer is written down: a cell is what the model of that
//! release does. To add an affair: a line of the table, and its scenario.

use eosim_checker::{Verdict, invariants};
use eosim_scenario::plan::STUCK;
use eosim_scenario::{InputError, Override, ScenarioFile};
use eosim_types::DefectSet;
use eosim_types::capability::Capability;
use eosim_types::version::KafkaVersion;

use crate::run::RunResult;
use crate::sweep::ScenarioMachine;

/// Something that breaks a promise on some releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affair {
    /// What it is called: that of the switch, if its scenario turns one on.
    pub name: &'static str,
    /// Tickets and proposals.
    pub tickets: &'static str,
    /// What goes wrong, in a sentence.
    pub about: &'static str,
    /// The scenario that shows it.
    pub scenario: &'static str,
    /// What is set otherwise in it.
    pub set: &'static [&'static str],
    /// The first release that can be in such a place.
    pub since: KafkaVersion,
    /// The promises of which one breaks.
    pub breaks: &'static [&'static str],
}

/// What was found of an affair on a release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// The promise is broken at this seed, the first of those that were run.
    Affected {
        /// The seed.
        seed: u64,
        /// The promise.
        promise: &'static str,
    },
    /// Another promise is broken.
    Otherwise {
        /// The seed.
        seed: u64,
        /// The promise.
        promise: &'static str,
    },
    /// All promises are kept at all seeds that were run, and the faults were effective.
    Unaffected,
    /// No run says anything: faults were not effective, or steps ran out.
    Unsaid,
    /// The release cannot be in such a place.
    NotApplicable,
}

const fn affair(
    name: &'static str,
    tickets: &'static str,
    scenario: &'static str,
    breaks: &'static [&'static str],
    about: &'static str,
) -> Affair {
    Affair { name, tickets, about, scenario, set: &[], since: KafkaVersion::V3_9, breaks }
}

/// All of them.
pub const AFFAIRS: &[Affair] = &[
    affair(
        "marker-of-another-transaction",
        "KIP-1228, KAFKA-19446",
        "late-marker",
        &["early-read", "aborted-read", "torn-transaction", "committed-lost"],
        "A marker that comes late, or again, ends the next transaction of its producer.",
    ),
    Affair {
        since: KafkaVersion::V4_0,
        ..affair(
            "last-epoch-cannot-be-ended",
            "KAFKA-20090",
            "last-epoch-left-over",
            &["healthy-producer-failed", STUCK],
            "A transaction at epoch 32767 can neither be aborted nor fenced.",
        )
    },
    Affair {
        since: KafkaVersion::V4_0,
        ..affair(
            "upstream.coordinator.timeouts_stop_at_last_epoch",
            "KAFKA-20090",
            "last-epoch-stops-timeouts",
            &[STUCK],
            "One id left at epoch 32767 ends every pass of the task that aborts what has timed out.",
        )
    },
    affair(
        "later-epoch-joins-transaction",
        "KAFKA-14563",
        "batch-of-a-later-epoch",
        &[STUCK],
        "A batch of a later epoch joins the open transaction, which no marker ends then.",
    ),
    affair(
        "partition-added-in-vain",
        "KAFKA-18042",
        "epoch-behind-its-partition",
        &[STUCK],
        "The partition of a batch that is refused for its epoch is added, and no marker is taken there.",
    ),
    Affair {
        since: KafkaVersion::V4_0,
        ..affair(
            "late-abort-leads-to-last-epoch",
            "KAFKA-20090",
            "goes-on-at-the-last-epoch",
            &[STUCK],
            "Who aborts late what has timed out is sent to epoch 32767, where nothing can be ended.",
        )
    },
    Affair {
        since: KafkaVersion::V4_0,
        ..affair(
            "previous-producer-id-forgotten",
            "KAFKA-20310",
            "end-is-asked-for-again",
            &["healthy-producer-failed", "outcome-contradicted"],
            "An EndTxn that is asked for again, of another coordinator, after epochs ran out, is refused.",
        )
    },
    Affair {
        since: KafkaVersion::V4_0,
        ..affair(
            "next-producer-id-forgotten",
            "KAFKA-20310",
            "epochs-run-out-in-4.2",
            &["healthy-producer-failed"],
            "A coordinator that dies while epochs run out forgets the id that its producer was told.",
        )
    },
    Affair {
        since: KafkaVersion::V4_0,
        ..affair(
            "upstream.coordinator.downgrade_wedges_id",
            "KIP-890",
            "downgrade-wedges-id",
            &["healthy-producer-failed", STUCK],
            "Lowering transaction.version to 0 leaves ids of version 2 unusable until a reload.",
        )
    },
    Affair {
        since: KafkaVersion::V4_0,
        ..affair(
            "upstream.coordinator.fenced_end_takes_epoch",
            "KIP-890",
            "fenced-end-takes-epoch",
            &["acknowledged-lost", "committed-lost"],
            "A fenced producer of version 2 gets the epoch of its successor, which speaks version 1.",
        )
    },
    Affair {
        set: &["transaction_version=1"],
        ..affair(
            "transaction-version-1",
            "KIP-890, KAFKA-14402, KAFKA-17754",
            "version-1-late-requests",
            &[
                "aborted-read",
                "committed-lost",
                "early-read",
                "torn-transaction",
                "outcome-contradicted",
                "open-transaction",
                "healthy-producer-failed",
                "fenced-effect",
                "reordering",
                "duplicate",
            ],
            "Below transaction.version 2 a late request acts on the next transaction.",
        )
    },
    Affair {
        since: KafkaVersion::V4_5,
        ..affair(
            "two-phase-commit-aborted",
            "KIP-939",
            "two-phase-commit-late-init",
            &["decision-lost"],
            "A late InitProducerId aborts a transaction that an external store has decided.",
        )
    },
];

impl Affair {
    /// What `kafka` does with it, at so many seeds. `text` is the scenario's file.
    ///
    /// # Errors
    /// If it is no scenario for this release.
    pub fn on(&self, kafka: KafkaVersion, text: &str, seeds: u64) -> Result<Cell, InputError> {
        if kafka < self.since {
            return Ok(Cell::NotApplicable);
        }
        let scenario = self.scenario(kafka, text)?;
        let mut machine = ScenarioMachine::new();
        let (mut otherwise, mut is_said) = (None, false);
        for seed in 0..seeds {
            let run = machine.run(&scenario, seed, DefectSet::NONE);
            match self.broken(&run.verdict) {
                Some((promise, true)) => return Ok(Cell::Affected { seed, promise }),
                Some((promise, false)) => {
                    otherwise = otherwise.or(Some(Cell::Otherwise { seed, promise }));
                }
                None => is_said |= run.verdict == Verdict::Sound && is_effective(&run),
            }
        }
        let unaffected = if is_said { Cell::Unaffected } else { Cell::Unsaid };
        Ok(otherwise.unwrap_or(unaffected))
    }

    /// The scenario as it is run on `kafka`.
    fn scenario(&self, kafka: KafkaVersion, text: &str) -> Result<ScenarioFile, InputError> {
        let release = format!("kafka=\"{}\"", kafka.name());
        let has_levels = kafka.has(Capability::EpochPerTransaction);
        let level = (!has_levels).then_some("transaction_version=0");
        let sets = self.set.iter().copied().chain([release.as_str()]).chain(level);
        let parsed = sets.map(|set| set.parse().expect("an entry of the table"));
        let overrides: Vec<Override> = parsed.collect();
        let known: Vec<&str> = invariants().iter().map(|info| info.name).collect();
        ScenarioFile::parse(self.scenario, text, &overrides, &known)
    }

    /// The first promise that is broken, one of its own if there is one; and whether it is.
    fn broken(&self, verdict: &Verdict) -> Option<(&'static str, bool)> {
        let broken: Vec<&'static str> = match verdict {
            Verdict::Safety(anomalies) => anomalies.iter().map(|one| one.invariant).collect(),
            Verdict::Liveness(_) => vec![STUCK],
            Verdict::Sound | Verdict::Inconclusive(_) => Vec::new(),
        };
        let own = broken.iter().find(|promise| self.breaks.contains(promise));
        own.map(|own| (*own, true)).or(broken.first().map(|first| (*first, false)))
    }
}

/// Did the faults that the scenario requires take effect? Which rules and states are reached is up to
/// the release.
fn is_effective(run: &RunResult) -> bool {
    let is_fault =
        |missing: &String| !missing.starts_with("rule ") && !missing.starts_with("cell ");
    !run.missing.iter().any(is_fault)
}
