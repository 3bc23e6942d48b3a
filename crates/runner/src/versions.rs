//! Which releases are affected: for each affair the scenario that shows it, run on every release.
//!
//! No Kafka counterpart. Nothing of the answer is written down: a cell is what the model of that
//! release does. To add an affair: a line of the table, and its scenario.

use eosim_checker::{Verdict, invariants};
use eosim_scenario::plan::STUCK;
use eosim_scenario::{InputError, Override, ScenarioFile};
use eosim_types::capability::Capability;
use eosim_types::version::KafkaVersion;
use eosim_types::{Defect, DefectSet};

use crate::sweep::ScenarioMachine;

/// Something that breaks a promise on some releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affair {
    /// What it is called: that of the switch, if it has one.
    pub name: &'static str,
    /// Tickets and proposals.
    pub tickets: &'static str,
    /// What goes wrong, in a sentence.
    pub about: &'static str,
    /// The scenario that shows it.
    pub scenario: &'static str,
    /// What is set otherwise in it.
    pub set: &'static [&'static str],
    /// The finding that is on, if Kafka would not do it otherwise in the model.
    pub defect: Option<Defect>,
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
    /// All promises are kept at all seeds that were run.
    Unaffected,
    /// The release cannot be in such a place, and why.
    NotApplicable(String),
}

const fn affair(
    name: &'static str,
    tickets: &'static str,
    scenario: &'static str,
    breaks: &'static [&'static str],
    about: &'static str,
) -> Affair {
    Affair { name, tickets, about, scenario, set: &[], defect: None, breaks }
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
    affair(
        "last-epoch-cannot-be-ended",
        "KAFKA-20090",
        "last-epoch-left-over",
        &["healthy-producer-failed", STUCK],
        "A transaction at epoch 32767 can neither be aborted nor fenced.",
    ),
    affair(
        "upstream.coordinator.timeouts_stop_at_last_epoch",
        "KAFKA-20090",
        "last-epoch-stops-timeouts",
        &[STUCK],
        "One id left at epoch 32767 ends every pass of the task that aborts what has timed out.",
    ),
    affair(
        "next-producer-id-forgotten",
        "KAFKA-20310",
        "epochs-run-out-in-4.2",
        &["healthy-producer-failed"],
        "A coordinator that dies while epochs run out forgets the id that its producer was told.",
    ),
    affair(
        "upstream.coordinator.downgrade_wedges_id",
        "KIP-890",
        "downgrade-wedges-id",
        &["healthy-producer-failed", STUCK],
        "Lowering transaction.version to 0 leaves ids of version 2 unusable until a reload.",
    ),
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
    affair(
        "two-phase-commit-aborted",
        "KIP-939",
        "two-phase-commit-late-init",
        &["decision-lost"],
        "A late InitProducerId aborts a transaction that an external store has decided.",
    ),
];

impl Affair {
    /// What `kafka` does with it, at so many seeds. `text` is the scenario's file.
    #[must_use]
    pub fn on(&self, kafka: KafkaVersion, text: &str, seeds: u64) -> Cell {
        let scenario = match self.scenario(kafka, text) {
            Ok(scenario) => scenario,
            Err(error) => return Cell::NotApplicable(error.to_string()),
        };
        let defects = self.defect.map_or(DefectSet::NONE, |defect| DefectSet::NONE.with(defect));
        let mut machine = ScenarioMachine::new();
        let broken = (0..seeds).find_map(|seed| {
            let promise = self.broken(&machine.run(&scenario, seed, defects).verdict)?;
            Some(Cell::Affected { seed, promise })
        });
        broken.unwrap_or(Cell::Unaffected)
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

    /// The first of its promises that is broken.
    fn broken(&self, verdict: &Verdict) -> Option<&'static str> {
        match verdict {
            Verdict::Safety(anomalies) => {
                let broken = anomalies.iter().map(|anomaly| anomaly.invariant);
                broken.into_iter().find(|promise| self.breaks.contains(promise))
            }
            Verdict::Liveness(_) => self.breaks.contains(&STUCK).then_some(STUCK),
            Verdict::Sound | Verdict::Inconclusive(_) => None,
        }
    }
}
