//! Verbs that judge the testbed itself: `conform`, `defects`, `bench`; and those that print what it
//! brings along: `schema`, `completions`, `man`, `guide`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use eosim_types::version::KafkaVersion;

use super::parse::kafka_version;

/// The model against answers recorded from real Kafka.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim conform cases/broker/idem-example-2.json
  eosim conform cases/broker --format json")]
pub struct ConformArgs {
    /// Recorded cases: files, or folders of them
    #[arg(required = true, value_name = "CASE")]
    pub cases: Vec<PathBuf>,
    /// The Kafka version of the brokers, 3.9 to 4.5; that of the recording if not given
    #[arg(long, value_name = "VERSION", env = "EOSIM_KAFKA", value_parser = kafka_version())]
    pub kafka: Option<KafkaVersion>,
    /// Asks the broker there, in place of the model: topics and ids of its own for each case
    #[arg(long, value_name = "HOST:PORT", env = "EOSIM_BOOTSTRAP", conflicts_with = "kafka")]
    pub bootstrap: Option<String>,
    /// Takes that broker down and starts it again, given `kill` or `stop` as a last word; without
    /// it cases that restart are unsupported
    #[arg(long, value_name = "CMD", env = "EOSIM_RESTART_CMD", requires = "bootstrap")]
    pub restart_cmd: Option<String>,
    /// Writes the cases with what that broker answers, one a line
    #[arg(long, value_name = "FILE", env = "EOSIM_RECORD", requires = "bootstrap")]
    pub record: Option<PathBuf>,
}

/// The schema of a file that users write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Args)]
#[command(after_help = "Examples:\n  eosim schema\n  eosim schema history")]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_enum, default_value_t)]
    pub kind: SchemaKind,
}

/// What users write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum SchemaKind {
    /// Scenario files.
    #[default]
    Scenario,
    /// The first line and every other line of histories.
    History,
}

/// The historical bugs.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim defects
  eosim defects --run
  eosim defects --run leader.dedup.window_4 --seeds-max 100000 --starts 5")]
pub struct DefectsArgs {
    /// Only these; all if none is given
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Lists them, which is what is done without --run too
    #[arg(long, conflicts_with = "run")]
    pub list: bool,
    /// Switches each on and counts the seeds until it is caught: in the scenarios that are aimed at
    /// it, and in those whose faults strike by chance alone
    #[arg(long)]
    pub run: bool,
    /// A search is given up after so many seeds
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, env = "EOSIM_SEEDS_MAX")]
    pub seeds_max: u64,
    /// Searches by chance so often, each time from other seeds on; the median and the worst count
    #[arg(long, value_name = "NUMBER", default_value_t = 1, env = "EOSIM_STARTS",
          value_parser = clap::value_parser!(u64).range(1..=100))]
    pub starts: u64,
    /// Workers; as many as there are processors if not given
    #[arg(short, long, value_name = "NUMBER", env = "EOSIM_JOBS",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Where the scenarios are
    #[arg(long, value_name = "FOLDER", default_value = "scenarios", env = "EOSIM_SCENARIOS")]
    pub scenarios: PathBuf,
    /// Where the artefacts are kept
    #[arg(short, long, value_name = "FOLDER", default_value = "sim-runs", env = "EOSIM_OUT")]
    pub out: PathBuf,
}

/// Completions for a shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Args)]
#[command(
    after_help = "Example:\n  eosim completions bash > ~/.local/share/bash-completion/completions/eosim"
)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Manual pages.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim man > eosim.1
  eosim man sweep > eosim-sweep.1
  eosim man --out man1")]
pub struct ManArgs {
    /// Of which verb; of the whole if not given
    pub verb: Option<String>,
    /// Writes a page for the whole and one for each verb there
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "verb", env = "EOSIM_MAN_OUT")]
    pub out: Option<PathBuf>,
}

/// The protocol in twelve steps.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim guide
  eosim guide 1
  eosim guide fencing

Without a step it lists them. The commands of a step can be pasted, from the folder that holds
scenarios/; the lines that follow them are to be looked for in the output. A number behind # is the
exit code, where it is not 0.")]
pub struct GuideArgs {
    /// A step, by number or name
    #[arg(value_name = "STEP")]
    pub step: Option<String>,
}

/// Measures the testbed.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "Examples:\n  eosim bench\n  eosim bench --rounds 11 --format json")]
pub struct BenchArgs {
    /// Rounds of which the median counts
    #[arg(long, value_name = "NUMBER", default_value_t = 5, env = "EOSIM_ROUNDS",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
}
