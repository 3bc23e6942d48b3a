//! Every verb and flag. Flags are long nouns with units; each has an `EOSIM_…` variable.

mod compare;
mod parse;
mod report;
mod serve;
mod simulate;
mod spread;
mod tool;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use compare::{
    DiffArgs, ExplainArgs, FirstSideArgs, PageForm, SecondSideArgs, SideArgs, VersionsArgs,
};
pub use parse::{Partition, Seed, SeedRange, Size, WallTime};
pub use report::{
    CheckArgs, CoverageArgs, DotArgs, ListArgs, ListKind, MachineName, ReportArgs, ShowArgs,
    ShowForm, TransactionsForm,
};
pub use serve::ServeArgs;
pub use simulate::{ModelArgs, Profile, ReplayArgs, RunArgs, ShrinkArgs, SweepArgs, VerifyArgs};
pub use spread::{
    ExportArgs, MergeArgs, PruneArgs, RecipeArgs, RecipeKind, StoreArgs, StoreListArgs, StoreVerb,
};
pub use tool::{
    BenchArgs, CompletionsArgs, ConformArgs, DefectsArgs, GuideArgs, ManArgs, SchemaArgs,
    SchemaKind,
};

/// A deterministic simulation testbed for Apache Kafka's exactly-once protocol.
///
/// One seed is one run, byte for byte, on every machine.
#[derive(Clone, PartialEq, Eq, Debug, Parser)]
#[command(name = "eosim", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  eosim sweep scenarios                         many seeds of every scenario
  eosim run scenarios/leader/leader-crash.json  one run
  eosim explain latest                          why the last run failed
  eosim show latest --as dump-log               what the last run left in the logs
  eosim list defects                            historical bugs that can be put back
  eosim guide                                   the protocol in twelve steps
  eosim explain LSO                             what a term, rule or error code means

Exit codes:
  0  fine                    10  safety violation
  1  internal error          11  liveness violation
  2  usage or input          12  inconclusive or vacuous
  3  nondeterminism          13  a defect survived
  4  nothing selected        14  not replayable by this build
                             15  conformance difference
                            130  interrupted";

/// How to print.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct OutputArgs {
    /// Form of the data on standard output
    #[arg(long, value_enum, default_value_t, global = true, env = "EOSIM_FORMAT")]
    pub format: Format,
    /// Form of the progress on standard error
    #[arg(long, value_enum, default_value_t, global = true, env = "EOSIM_PROGRESS")]
    pub progress: ProgressMode,
    /// Print data only
    #[arg(short, long, global = true, env = "EOSIM_QUIET")]
    pub quiet: bool,
    /// Print more
    #[arg(short, long, global = true, env = "EOSIM_VERBOSE", conflicts_with = "quiet")]
    pub verbose: bool,
}

/// Form of the data on standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// One JSON value a line.
    Jsonl,
}

/// Form of the progress on standard error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ProgressMode {
    /// A bar on a terminal, else a line every 10 s.
    #[default]
    Auto,
    /// A bar.
    Bar,
    /// A line every 10 s.
    Plain,
    /// Nothing.
    None,
}

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum Command {
    /// One run: the verdict, and where its artefacts are
    Run(RunArgs),
    /// Many seeds over many scenarios
    Sweep(SweepArgs),
    /// Sweeps over shares of the seeds become one
    Merge(MergeArgs),
    /// How to spread a sweep over machines: scripts that can be used as they are
    Recipe(RecipeArgs),
    /// What is kept: lists it, removes old runs, makes an archive of one
    Store(StoreArgs),
    /// The same run again, from its choice list
    Replay(ReplayArgs),
    /// The smallest run that fails in the same way, as a scenario of its own
    Shrink(ShrinkArgs),
    /// Why a run failed, or what a name stands for: a rule, an invariant, a term …
    Explain(ExplainArgs),
    /// Where two runs part, and what comes out differently
    Diff(DiffArgs),
    /// One run twice, compared step by step
    Verify(VerifyArgs),
    /// Looks at a run, in Kafka's own forms too
    Show(ShowArgs),
    /// The checker alone, on a history of any system
    Check(CheckArgs),
    /// What there is: scenarios, faults, invariants, defects, rules, apis, errors, terms
    List(ListArgs),
    /// The model against answers recorded from real Kafka
    Conform(ConformArgs),
    /// The simulated cluster behind real sockets
    Serve(ServeArgs),
    /// The historical bugs: each switched on must be caught
    Defects(DefectsArgs),
    /// Rules, probes and state × event cells that runs have reached, never-reached first
    Coverage(CoverageArgs),
    /// What a kept run or sweep came to, for people and for other tools
    Report(ReportArgs),
    /// A state machine as it is in the code, for Graphviz
    Dot(DotArgs),
    /// Which releases of Kafka are affected by what, each shown by a scenario
    Versions(VersionsArgs),
    /// Prints the JSON Schema of scenario files, or of the lines of histories
    Schema(SchemaArgs),
    /// Prints completions for a shell
    Completions(CompletionsArgs),
    /// Prints manual pages
    Man(ManArgs),
    /// The protocol in twelve steps, each with a scenario to run
    Guide(GuideArgs),
    /// Measures the testbed
    Bench(BenchArgs),
}
