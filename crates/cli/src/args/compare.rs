//! Verbs that compare a run with others: `explain`, `diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use eosim_report::Page;
use eosim_runner::explain::RUNS;

use super::ModelArgs;
use super::parse::Seed;

/// In which form a page is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum PageForm {
    /// For a terminal.
    #[default]
    Text,
    /// To be pasted into an issue.
    Markdown,
    /// One file for a browser.
    Html,
}

impl PageForm {
    /// `page` in this form.
    #[must_use]
    pub fn render(self, page: &Page) -> String {
        match self {
            Self::Text => page.text(),
            Self::Markdown => page.markdown(),
            Self::Html => page.html(),
        }
    }
}

/// Why a run failed, or what a name stands for.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim explain latest
  eosim explain sim-runs/latest/failures/8812 --as markdown
  eosim explain sim-runs/latest/failures/8812 --as html > explain.html
  eosim explain scenarios/transactions/late-end-txn.json --seed 0 --defect tc.endtxn.no_txn_identity
  eosim explain LSO
  eosim explain L-SEQ-4
  eosim explain INVALID_PRODUCER_EPOCH
  eosim explain leader.dedup.window_4 --as markdown

A name that is no path is looked up: rules (L-SEQ-4, or a topic, L-SEQ), invariants, faults, defects,
error codes, states, scenarios, tickets that changed the protocol (KAFKA-18202), and the terms of the
field. eosim list names most of them.

The run is made again without each fault, each rule of aimed, each step of the operator and each
switch: `needed` means that the promise is kept without it, `one of several` that others do in its
place. Their names are those of their places in the plan: aimed.0, operator.1, faults.lost_response,
of which faults.lost_response.3 is the third strike; eosim diff --b-without takes them, too.

Exit codes: those of the run; 0 if nothing is broken in it, 2 no such run, 14 not replayable.")]
pub struct ExplainArgs {
    /// The folder of a run, or its choices.json; with --seed, a scenario file; or a name
    #[arg(value_name = "PATH|NAME")]
    pub path: PathBuf,
    /// Explains this seed of a scenario file
    #[arg(long, env = "EOSIM_SEED")]
    pub seed: Option<Seed>,
    /// What is simulated besides.
    #[command(flatten)]
    pub model: ModelArgs,
    /// In which form
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t, env = "EOSIM_AS")]
    pub form: PageForm,
    /// At most so many runs are made to find out what is necessary
    #[arg(long, value_name = "NUMBER", default_value_t = RUNS, env = "EOSIM_RUNS_MAX")]
    pub runs_max: u64,
    /// Where the scenarios are that the page of a name refers to
    #[arg(long, value_name = "FOLDER", default_value = "scenarios", env = "EOSIM_SCENARIOS")]
    pub scenarios: PathBuf,
    /// Keeps explain.md and explain.html there, too
    #[arg(short, long, value_name = "FOLDER", env = "EOSIM_OUT")]
    pub out: Option<PathBuf>,
}

/// Where two runs part.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim diff sim-runs/latest/failures/7 sim-runs/latest/failures/8
  eosim diff latest --b-without aimed.0
  eosim diff latest --b-set faults.lost_response=0/1
  eosim diff scenarios/transactions/mixed.json --seed 7 --a-kafka 4.1 --b-kafka 4.4
  eosim diff scenarios/transactions/mixed.json --seed 7 --b-transaction-version 1
  eosim diff scenarios/transactions/mixed.json --seed 7 --b-defect leader.index.drop_abort_entry

One run may be compared with itself, with something different on a side. Of a recorded run, whoever
is not concerned makes the choices that he made, in their order, so that both stay as close as they
can; of a scenario, both sides have the same seed.

Exit codes: 0 compared, whatever came out; 2 no such run, 14 not replayable.")]
pub struct DiffArgs {
    /// The folder of a run, or its choices.json; with --seed, a scenario file
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// Another one; A again if not given
    #[arg(value_name = "B")]
    pub second: Option<PathBuf>,
    /// Compares this seed of scenario files
    #[arg(long, env = "EOSIM_SEED")]
    pub seed: Option<Seed>,
    /// What is simulated on both sides.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What is different on the first side.
    #[command(flatten)]
    pub a: FirstSideArgs,
    /// What is different on the second side.
    #[command(flatten)]
    pub b: SecondSideArgs,
    /// In which form
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t, env = "EOSIM_AS")]
    pub form: PageForm,
}

/// What is different on a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SideArgs<'a> {
    /// Values of the scenario or the plan that are replaced.
    pub sets: &'a [String],
    /// Switches that are on.
    pub defects: &'a [String],
    /// The Kafka version of the cluster.
    pub kafka: Option<&'a str>,
    /// The level of the feature `transaction.version`.
    pub transaction_version: Option<u8>,
    /// Parts that are taken away.
    pub without: &'a [String],
}

/// Flags of one side; clap wants names that are written out.
macro_rules! side {
    ($(#[$doc:meta])* $name:ident, $heading:literal,
     $set:literal $set_env:literal, $defect:literal $defect_env:literal,
     $kafka:literal $kafka_env:literal, $level:literal $level_env:literal,
     $without:literal $without_env:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
        #[command(next_help_heading = $heading)]
        pub struct $name {
            /// Replaces a value of the scenario, such as cluster.brokers=5
            #[arg(id = $set, long = $set, value_name = "PATH=VALUE", env = $set_env,
                  value_delimiter = ';')]
            pub sets: Vec<String>,
            /// Puts a historical bug back; see: eosim list defects
            #[arg(id = $defect, long = $defect, value_name = "NAME", env = $defect_env,
                  value_delimiter = ',')]
            pub defects: Vec<String>,
            /// The Kafka version of the cluster, such as 4.1
            #[arg(id = $kafka, long = $kafka, value_name = "VERSION", env = $kafka_env)]
            pub kafka: Option<String>,
            /// The level of the feature transaction.version
            #[arg(id = $level, long = $level, value_name = "0|1|2", env = $level_env,
                  value_parser = clap::value_parser!(u8).range(0..=2))]
            pub transaction_version: Option<u8>,
            /// Takes a part of the run away, such as aimed.0; see: eosim explain
            #[arg(id = $without, long = $without, value_name = "PART", env = $without_env,
                  value_delimiter = ',')]
            pub without: Vec<String>,
        }

        impl $name {
            /// What they say.
            #[must_use]
            pub fn side(&self) -> SideArgs<'_> {
                let Self { sets, defects, kafka, transaction_version, without } = self;
                let (kafka, transaction_version) = (kafka.as_deref(), *transaction_version);
                SideArgs { sets, defects, kafka, transaction_version, without }
            }
        }
    };
}

side! {
    /// What is different on the first side.
    FirstSideArgs, "On side A alone",
    "a-set" "EOSIM_A_SET", "a-defect" "EOSIM_A_DEFECT",
    "a-kafka" "EOSIM_A_KAFKA",
    "a-transaction-version" "EOSIM_A_TRANSACTION_VERSION",
    "a-without" "EOSIM_A_WITHOUT"
}

side! {
    /// What is different on the second side.
    SecondSideArgs, "On side B alone",
    "b-set" "EOSIM_B_SET", "b-defect" "EOSIM_B_DEFECT",
    "b-kafka" "EOSIM_B_KAFKA",
    "b-transaction-version" "EOSIM_B_TRANSACTION_VERSION",
    "b-without" "EOSIM_B_WITHOUT"
}

/// Which releases of Kafka are affected by what.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim versions
  eosim versions --as markdown > versions.md
  eosim versions upstream.coordinator.timeouts_stop_at_last_epoch --format json

Nothing of the answer is written down: each cell is a run of the scenario on the model of that
release, which recordings of it have judged (eosim conform).")]
pub struct VersionsArgs {
    /// Only these; all if none is given
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// In which form
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t, env = "EOSIM_AS")]
    pub form: PageForm,
    /// So many seeds are run on a release before it counts as not affected
    #[arg(long, value_name = "NUMBER", default_value_t = 10, env = "EOSIM_SEEDS_MAX",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub seeds_max: u64,
    /// Where the scenarios are
    #[arg(long, value_name = "FOLDER", default_value = "scenarios", env = "EOSIM_SCENARIOS")]
    pub scenarios: PathBuf,
}
