//! Verbs that look: `show`, `list`, `dot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::WallTime;

/// Looks at a run.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim show sim-runs/latest/failures/8812 --as transcript
  eosim show sim-runs/latest/failures/8812 --as dump-log --partition orders-0
  eosim show sim-runs/latest/failures/8812 --as transactions --at 4127
  eosim show latest --as transactions --command find-hanging --max-transaction-timeout 1m")]
pub struct ShowArgs {
    /// The folder of a run, or its choices.json
    pub run: PathBuf,
    /// In which form
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t, env = "EOSIM_AS")]
    pub form: ShowForm,
    /// As it stood after this step; the end if not given
    #[arg(long, value_name = "STEP", env = "EOSIM_AT")]
    pub at: Option<u64>,
    /// Only this partition, such as orders-0
    #[arg(long, value_name = "TOPIC-NUMBER", env = "EOSIM_SHOW_PARTITION")]
    pub partition: Option<String>,
    /// Which command of `kafka-transactions.sh`, with --as transactions; describe-producers if a
    /// partition is given and no command, else describe
    #[arg(long, value_enum, value_name = "COMMAND", env = "EOSIM_SHOW_COMMAND")]
    pub command: Option<TransactionsForm>,
    /// find-hanging leaves alone what was written to within this time
    #[arg(long, value_name = "TIME", default_value = "15m", env = "EOSIM_MAX_TRANSACTION_TIMEOUT")]
    pub max_transaction_timeout: WallTime,
    /// Only this actor, such as broker-1
    #[arg(long, value_name = "NAME", env = "EOSIM_ACTOR")]
    pub actor: Option<String>,
}

/// In which form a run is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ShowForm {
    /// Who did what when.
    #[default]
    Transcript,
    /// As `kafka-dump-log.sh --print-data-log` prints logs and their transaction indexes.
    DumpLog,
    /// As `kafka-dump-log.sh --transaction-log-decoder` prints `__transaction_state`.
    TxnLog,
    /// As `kafka-transactions.sh` prints transactions and producers.
    Transactions,
}

/// A command of `kafka-transactions.sh`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TransactionsForm {
    /// Every transactional id.
    List,
    /// Every transactional id in detail.
    Describe,
    /// Every producer that the leader of --partition knows.
    #[value(alias = "producers")]
    DescribeProducers,
    /// Open transactions that no coordinator knows of.
    FindHanging,
}

/// What there is.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(
    after_help = "Examples:\n  eosim list scenarios\n  eosim list defects\n  eosim list errors --format json"
)]
pub struct ListArgs {
    /// Of what
    #[arg(value_enum)]
    pub kind: ListKind,
    /// Where the scenarios are
    #[arg(long, value_name = "FOLDER", default_value = "scenarios", env = "EOSIM_SCENARIOS")]
    pub scenarios: PathBuf,
}

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ListKind {
    /// Scenarios of the library.
    Scenarios,
    /// Faults that can strike at random.
    Faults,
    /// Promises that are checked.
    Invariants,
    /// Historical bugs and upstream findings that can be put back.
    Defects,
    /// Rules of the protocol.
    Rules,
    /// Kafka's error codes.
    Errors,
}

/// What runs have reached.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim coverage
  eosim coverage --verbose
  eosim coverage sim-runs/ci-1 sim-runs/ci-2 --format json

A rule is marked by the branch that carries it. A probe is a hazard of the coordinator (H-…) or a
state of a state machine (machine/state) that was entered; a cell (machine/state/event) is an event
that was taken in a state. What cannot be reached has a reason, which --verbose shows.")]
pub struct CoverageArgs {
    /// Folders of runs or sweeps, or their coverage.json; their counts are added
    #[arg(value_name = "RUN", default_value = "latest")]
    pub runs: Vec<PathBuf>,
}

/// A state machine as it is in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Args)]
#[command(
    after_help = "Examples:\n  eosim dot coordinator > coordinator.dot\n  eosim dot producer --format json"
)]
pub struct DotArgs {
    /// Which
    #[arg(value_enum)]
    pub machine: MachineName,
}

/// A state machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MachineName {
    /// Transactions at the coordinator (`TransactionState`).
    Coordinator,
    /// The producer's `TransactionManager.State`.
    Producer,
    /// A classic group at its coordinator (`ClassicGroupState`).
    Group,
}
