//! Verbs that look: `show`, `check`, `list`, `dot`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};

use super::WallTime;

/// Looks at a run.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim show sim-runs/latest/failures/8812 --as transcript
  eosim show sim-runs/latest/failures/8812 --as dump-log --partition orders-0
  eosim show sim-runs/latest/failures/8812 --as transactions --at 4127
  eosim show sim-runs/latest/failures/8812 --as state --at 4127
  eosim show latest --as transcript --partition orders-0 --transaction writer
  eosim show latest --as diagram > failure.mmd
  eosim show latest --as timeline > timeline.html
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
    /// Only what is about this transactional id
    #[arg(long, value_name = "ID", env = "EOSIM_SHOW_TRANSACTION")]
    pub transaction: Option<String>,
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
    /// As `eosim check` reads it.
    History,
    /// What led to the broken promise, or to --at, as a sequence diagram of Mermaid.
    Diagram,
    /// How everything stands: leaders, transactions, producers, groups, clients.
    State,
    /// One HTML file to step through in a browser.
    Timeline,
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

/// The checker alone.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim check history.jsonl
  eosim check sim-runs/latest/history.jsonl --format json

A history is one JSON value a line: first who and what is in it, then what clients did and
learned, in order, and what brokers held. The smallest that breaks a promise:

  {\"format\":1,\"topics\":[{\"name\":\"orders\",\"partitions\":1}],\"clients\":[\"writer\",\"reader\"]}
  {\"at_ms\":1,\"event\":\"send_called\",\"client\":\"writer\",\"partition\":\"orders-0\",\"value\":\"a\"}
  {\"at_ms\":2,\"event\":\"polled\",\"client\":\"reader\",\"partition\":\"orders-0\",
   \"isolation_level\":\"read_committed\",\"records\":[{\"offset\":0,\"value\":\"b\"}]}

(each on one line). crates/runner/HISTORY.md describes every line; eosim schema history prints
their JSON Schemas. Invariants for which a history lacks something are named.

Exit codes: 0 sound, 10 safety violation, 11 something is stuck, 12 nothing can be said,
2 no history.")]
pub struct CheckArgs {
    /// A history: lines of JSON
    #[arg(value_name = "HISTORY.jsonl")]
    pub history: PathBuf,
}

/// What there is.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(
    after_help = "Examples:\n  eosim list scenarios\n  eosim list defects\n  eosim list errors --format json\n  eosim list invariants --verbose"
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
    /// Requests, which aimed rules can name.
    Apis,
    /// Kafka's error codes, each with a scenario that produces it, where one does.
    Errors,
    /// Terms of the field.
    Terms,
}

/// What runs have reached.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim coverage
  eosim coverage --verbose
  eosim coverage sim-runs/ci-1/latest sim-runs/ci-2/latest --format json

A rule is marked by the branch that carries it. A probe is a hazard of the coordinator (H-…) or a
state of a state machine (machine/state) that was entered; a cell (machine/state/event) is an event
that was taken in a state. What cannot be reached has a reason, which --verbose shows.")]
pub struct CoverageArgs {
    /// Folders of runs or sweeps, or their coverage.json; their counts are added
    #[arg(value_name = "RUN", default_value = "latest")]
    pub runs: Vec<PathBuf>,
}

/// What a kept run or sweep came to, for people and for other tools.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim report latest
  eosim report latest --as junit > junit.xml
  eosim report latest --as github
  eosim report latest --as markdown >> \"$GITHUB_STEP_SUMMARY\"
  eosim report sim-runs/ci/latest --as html > report.html
  eosim report sim-runs/latest/failures/8812 --as chrome-trace > trace.json
  eosim report sim-runs/latest/failures/8812 --as shiviz > shiviz.log

chrome-trace (for ui.perfetto.dev or chrome://tracing) and shiviz tell of one run, which is made again
for them; the others of a sweep. Failures are told by their kind, with the first seed of each, and every form is bounded. GitHub shows ten
annotations of a step; what is beyond them is counted in the last one.")]
pub struct ReportArgs {
    /// The folder of a run or a sweep
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: PathBuf,
    /// In which form
    #[arg(long = "as", value_name = "FORM", default_value = "text", env = "EOSIM_REPORT_AS",
          value_parser = report_form())]
    pub form: String,
}

/// The forms that there are, each with what it is for.
fn report_form() -> PossibleValuesParser {
    let sweeps = eosim_report::sweep_report::FORMS.iter().map(|form| (form.name, form.about));
    let runs = eosim_report::run_report::FORMS.iter().map(|form| (form.name, form.about));
    let value = |(name, about)| PossibleValue::new(name).help(about);
    PossibleValuesParser::new(sweeps.chain(runs).map(value))
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
