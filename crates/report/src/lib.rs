//! What people and other tools read: Kafka's own text forms, transcripts, verdicts, summaries.
//!
//! Everything here is a pure function from data to text; nothing depends on the wall clock.
#![forbid(unsafe_code)]

pub mod check;
pub mod describe;
pub mod dot;
pub mod dump_log;
mod group_log;
mod json;
pub mod page;
pub mod run_report;
pub mod shell;
pub mod summary;
pub mod sweep_report;
pub mod transaction_log;
pub mod transactions;
pub mod transcript;
pub mod verdict;

pub use check::{HistoryName, check};
pub use describe::{describe, describe_observed};
pub use page::{Block, Mark, Page, PageLine, PagePart};
pub use run_report::RunReport;
pub use summary::{FailedSeed, FaultCount, Missed, ScenarioSummary, SweepSummary};
pub use sweep_report::{ReportedFailure, SweepReport};
pub use transcript::{Line, transcript};
pub use verdict::{RunName, footer, footer_with};
