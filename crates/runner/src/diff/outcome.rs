//! How a run came out, by what can be compared between two.

use std::collections::{BTreeMap, BTreeSet};

use eosim_types::message::IsolationLevel;
use eosim_types::observation::{EndOutcome, Observed as Saw, SendOutcome, TransactionRef};
use eosim_types::{TopicPartition, Value};

use crate::Verdict;
use crate::recording::{Observed, word};

/// What an outcome is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Of {
    /// The run as a whole.
    Run,
    /// A partition.
    Partition,
    /// A transaction.
    Transaction,
    /// A record.
    Record,
}

/// Something that came out differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Of what kind it is.
    pub of: Of,
    /// What.
    pub what: String,
    /// In the first run.
    pub first: String,
    /// In the second.
    pub second: String,
}

/// What was said of something, by its name.
type Said = BTreeMap<String, String>;

/// Everything that came out differently.
pub(super) fn different(first: &Observed, second: &Observed) -> Vec<Outcome> {
    let (one, two) = (totals(first), totals(second));
    let totals = one.into_iter().zip(two).filter(|(one, two)| one.1 != two.1);
    let mut outcomes: Vec<Outcome> = totals
        .map(|((what, first), (_, second))| Outcome { of: Of::Run, what, first, second })
        .collect();
    outcomes.extend(compared(Of::Partition, &logs(first), &logs(second), "not there"));
    let (one, two) = (transactions(first), transactions(second));
    outcomes.extend(compared(Of::Transaction, &one, &two, "not begun"));
    outcomes.extend(compared(Of::Record, &records(first), &records(second), "not sent"));
    outcomes
}

fn compared(of: Of, one: &Said, two: &Said, absent: &str) -> Vec<Outcome> {
    let names: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
    let said =
        |by: &Said, name: &String| by.get(name).cloned().unwrap_or_else(|| absent.to_string());
    let all = names.into_iter().map(|name| Outcome {
        of,
        what: name.clone(),
        first: said(one, name),
        second: said(two, name),
    });
    all.filter(|outcome| outcome.first != outcome.second).collect()
}

/// Verdict, lengths, counts.
fn totals(run: &Observed) -> Vec<(String, String)> {
    let result = &run.result;
    let verdict = match &result.verdict {
        Verdict::Safety(anomalies) => {
            let more = if anomalies.len() > 1 {
                format!(" and {} more", anomalies.len() - 1)
            } else {
                String::new()
            };
            format!("VIOLATION {}{more}", word(&result.verdict))
        }
        Verdict::Liveness(_) => "STUCK".to_string(),
        other => word(other).to_string(),
    };
    let struck = result.faults.iter().filter(|(_, count)| count.applied > 0);
    let struck = struck.map(|(name, count)| format!("{name} {}", count.applied));
    let aimed = result.aimed.iter().enumerate().filter(|(_, count)| count.applied > 0);
    let aimed = aimed.map(|(at, count)| format!("aimed.{at} {}", count.applied));
    let struck: Vec<String> = struck.chain(aimed).collect();
    let mut rows = vec![
        ("verdict", verdict),
        ("steps", result.steps.to_string()),
        ("virtual time", result.ended_at.to_string()),
        ("digest", format!("{:016x}", result.digest)),
        ("faults", if struck.is_empty() { "none".to_string() } else { struck.join(", ") }),
    ];
    rows.extend(counts(run));
    rows.into_iter().map(|(what, said)| (what.to_string(), said)).collect()
}

/// How many records and transactions fared how.
fn counts(run: &Observed) -> Vec<(&'static str, String)> {
    const SENDS: [&str; 3] = ["acknowledged", "refused", "unknown"];
    const ENDS: [&str; 4] = ["committed", "aborted", "refused", "unknown"];
    let (mut sends, mut ends, mut read, mut failed) = ([0u64; 3], [0u64; 4], [0u64; 2], 0u64);
    for observation in run.history.observations() {
        match &observation.what {
            Saw::SendAnswered { outcome, .. } => {
                sends[match outcome {
                    SendOutcome::Acknowledged { .. } => 0,
                    SendOutcome::Refused { .. } => 1,
                    SendOutcome::Unknown { .. } => 2,
                }] += 1;
            }
            Saw::EndAnswered { commit, outcome, .. } => {
                ends[match (outcome, commit) {
                    (EndOutcome::Done, true) => 0,
                    (EndOutcome::Done, false) => 1,
                    (EndOutcome::Refused { .. }, _) => 2,
                    (EndOutcome::Unknown { .. }, _) => 3,
                }] += 1;
            }
            Saw::Polled { isolation_level, records, .. } => {
                let committed = *isolation_level == IsolationLevel::ReadCommitted;
                read[usize::from(committed)] += records.len() as u64;
            }
            Saw::ProducerFailed { .. } => failed += 1,
            _ => {}
        }
    }
    let joined = |names: &[&str], counts: &[u64]| {
        let all = names.iter().zip(counts).filter(|(_, count)| **count > 0);
        let all: Vec<String> = all.map(|(name, count)| format!("{count} {name}")).collect();
        if all.is_empty() { "none".to_string() } else { all.join(", ") }
    };
    vec![
        ("records", joined(&SENDS, &sends)),
        ("transactions", joined(&ENDS, &ends)),
        ("read", joined(&["read_uncommitted", "read_committed"], &read)),
        ("producers that failed", failed.to_string()),
    ]
}

/// What outcomes of a record are called, before the name of its partition.
pub(crate) fn of_record(run: &Observed, value: Value) -> String {
    format!("record {} of ", run.names.value(value))
}

/// What an outcome of a partition is called.
pub(crate) fn of_partition(run: &Observed, partition: TopicPartition) -> String {
    format!("partition {}", run.names.partition(partition))
}

/// What an outcome of a transaction is called.
pub(crate) fn of_transaction(run: &Observed, at: TransactionRef) -> String {
    format!("transaction {}.{} of {}", at.session, at.number, run.actor(at.producer))
}

/// How each record fared: what its sender was told, and who read it.
fn records(run: &Observed) -> Said {
    let mut fared: BTreeMap<(Value, TopicPartition), Vec<String>> = BTreeMap::new();
    for observation in run.history.observations() {
        match &observation.what {
            Saw::SendCalled { value, partition, .. } => {
                fared.entry((*value, *partition)).or_default();
            }
            Saw::SendAnswered { value, partition, outcome } => {
                let told = match outcome {
                    SendOutcome::Acknowledged { offset: Some(at) } => format!("acknowledged @{at}"),
                    SendOutcome::Acknowledged { offset: None } => "acknowledged".to_string(),
                    SendOutcome::Refused { error } => format!("refused with {error}"),
                    SendOutcome::Unknown { error } => format!("failed with {error}"),
                };
                fared.entry((*value, *partition)).or_default().push(told);
            }
            Saw::Polled { partition, records, .. } => {
                for (_, value) in records {
                    let read = format!("read by {}", run.actor(observation.actor));
                    fared.entry((*value, *partition)).or_default().push(read);
                }
            }
            _ => {}
        }
    }
    let said = fared.into_iter().map(|((value, partition), told)| {
        let told = if told.is_empty() { "sent".to_string() } else { told.join(", ") };
        (of_record(run, value) + &run.names.partition(partition), told)
    });
    said.collect()
}

/// How each transaction ended.
fn transactions(run: &Observed) -> Said {
    let mut ended: BTreeMap<TransactionRef, String> = BTreeMap::new();
    for observation in run.history.observations() {
        match &observation.what {
            Saw::TransactionBegun { transaction } => {
                ended.insert(*transaction, "never ended".to_string());
            }
            Saw::EndCalled { transaction, commit } => {
                let asked = if *commit { "commit" } else { "abort" };
                ended.insert(*transaction, format!("{asked} without an answer"));
            }
            Saw::EndAnswered { transaction, commit, outcome } => {
                let asked = if *commit { "commit" } else { "abort" };
                ended.insert(
                    *transaction,
                    match outcome {
                        EndOutcome::Done if *commit => "committed".to_string(),
                        EndOutcome::Done => "aborted".to_string(),
                        EndOutcome::Refused { error } => format!("{asked} refused with {error}"),
                        EndOutcome::Unknown { error } => format!("{asked} failed with {error}"),
                    },
                );
            }
            _ => {}
        }
    }
    ended.into_iter().map(|(at, how)| (of_transaction(run, at), how)).collect()
}

/// The bounds of each partition of the user, as its leader has them in the end.
fn logs(run: &Observed) -> Said {
    let led = run.dump.replicas.iter().filter(|replica| replica.is_leader);
    let of_user = led.filter(|replica| !replica.partition.topic.is_internal());
    let said = of_user.map(|replica| {
        let (end, mark) = (replica.log_end_offset, replica.high_watermark);
        let stable = replica.last_stable_offset;
        let bounds = format!("end {end}, high watermark {mark}, last stable offset {stable}");
        (of_partition(run, replica.partition), bounds)
    });
    said.collect()
}
