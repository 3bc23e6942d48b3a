//! `eosim show`: a kept run, replayed and printed in one of its forms.

use std::path::Path;

use eosim_report::{transaction_log, transactions};
use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::recording::{Observed, Recording};
use eosim_types::observation::ReplicaDump;
use eosim_types::{ActorId, Topic};
use serde_json::json;

use super::Failure;
use super::replay::open;
use crate::args::{Format, OutputArgs, ShowArgs, ShowForm, TransactionsForm};
use crate::render::DESCRIBE;
use crate::{artefacts, output, render};

pub(super) fn run(args: &ShowArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let path = artefacts::find_choices(&args.run)?;
    let recording = open(&path, false)?;
    let observed = observe(&recording, args.at, &path)?;
    let selected = Selected::of(args, &observed)?;
    let text = match args.form {
        ShowForm::Transcript => render::transcript(&observed, selected.actor),
        ShowForm::DumpLog => selected.dump_log(&observed),
        ShowForm::TxnLog => selected.transaction_log(&observed),
        ShowForm::Transactions => selected.transactions(&observed, args)?,
        ShowForm::History => observed.history.to_jsonl(),
    };
    let text = match how.format {
        Format::Text => text,
        Format::Json => {
            json!({"format": 1, "lines": text.lines().collect::<Vec<_>>()}).to_string() + "\n"
        }
        Format::Jsonl => {
            text.lines().map(|line| json!({"line": line}).to_string() + "\n").collect()
        }
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

/// The run, up to `step` if one is given.
fn observe(recording: &Recording, step: Option<u64>, path: &Path) -> Result<Observed, Failure> {
    let replayed = match step {
        Some(step) if step > recording.steps => {
            let expected = format!("a step of the run, at most {}", recording.steps);
            return Err(InputError::new("--at", "", step.to_string(), expected).into());
        }
        Some(step) => recording.replay_to(step, DESCRIBE),
        None => recording.replay(DESCRIBE),
    };
    match replayed.left {
        None => Ok(replayed.observed),
        Some(left) => Err(Failure {
            exit: ExitCode::NotReplayable,
            message: format!("{}: not as recorded: {left}", path.display()),
        }),
    }
}

/// What the user wants to see of a run.
struct Selected {
    partition: Option<String>,
    actor: Option<ActorId>,
}

impl Selected {
    fn of(args: &ShowArgs, run: &Observed) -> Result<Self, InputError> {
        let unknown = |flag: &str, word: &str, what: &str, known: &[String]| {
            let error = InputError::new(flag, "", format!("\"{word}\""), what);
            error.with_nearest(word, known.iter().map(String::as_str))
        };
        if let Some(partition) = &args.partition {
            let dumps = run.dump.replicas.iter();
            let known: Vec<String> =
                dumps.map(|dump| run.names.partition(dump.partition)).collect();
            if !known.contains(partition) {
                return Err(unknown("--partition", partition, "a partition of the run", &known));
            }
        }
        let actor = args.actor.as_ref().map(|name| {
            let at = run.actors.iter().position(|known| known == name);
            let at = at.and_then(|at| u16::try_from(at).ok()).map(ActorId);
            at.ok_or_else(|| unknown("--actor", name, "an actor of the run", &run.actors))
        });
        Ok(Self { partition: args.partition.clone(), actor: actor.transpose()? })
    }

    /// The replicas to show: of the partition, or else of those that `by_default` names; at the
    /// broker, or else where they lead.
    fn replicas<'a>(
        &'a self,
        run: &'a Observed,
        by_default: impl Fn(&ReplicaDump) -> bool + 'a,
    ) -> impl Iterator<Item = &'a ReplicaDump> {
        run.dump.replicas.iter().filter(move |dump| {
            let is_of_partition = match &self.partition {
                Some(name) => run.names.partition(dump.partition) == *name,
                None => by_default(dump),
            };
            let is_at_broker = match self.actor {
                Some(actor) => i32::from(actor.0) == dump.broker.0,
                None => dump.is_leader,
            };
            is_of_partition && is_at_broker
        })
    }

    fn dump_log(&self, run: &Observed) -> String {
        let is_data = |dump: &ReplicaDump| {
            !matches!(dump.partition.topic, Topic::TRANSACTION_STATE | Topic::CONSUMER_OFFSETS)
        };
        self.replicas(run, is_data).map(|dump| render::replica(run, dump)).collect()
    }

    fn transaction_log(&self, run: &Observed) -> String {
        let is_state = |dump: &ReplicaDump| {
            dump.partition.topic == Topic::TRANSACTION_STATE && !dump.batches.is_empty()
        };
        let replicas: Vec<ReplicaDump> = self.replicas(run, is_state).cloned().collect();
        transaction_log::transaction_log(&replicas, &run.names)
    }

    fn transactions(&self, run: &Observed, args: &ShowArgs) -> Result<String, InputError> {
        let default = if self.partition.is_some() {
            TransactionsForm::DescribeProducers
        } else {
            TransactionsForm::Describe
        };
        Ok(match args.command.unwrap_or(default) {
            TransactionsForm::List => transactions::list(&run.dump, &run.names),
            TransactionsForm::Describe => transactions::describe(&run.dump, &run.names),
            TransactionsForm::DescribeProducers if self.partition.is_none() => {
                let expected = "the partition whose producers are described, such as orders-0";
                return Err(InputError::new("--partition", "", "nothing", expected));
            }
            TransactionsForm::DescribeProducers => {
                self.replicas(run, |_| false).map(transactions::describe_producers).collect()
            }
            TransactionsForm::FindHanging => {
                let time = args.max_transaction_timeout.0.as_millis();
                let time = i64::try_from(time).unwrap_or(i64::MAX);
                let replicas = self.replicas(run, |_| true);
                transactions::find_hanging(&run.dump, replicas, &run.names, time)
            }
        })
    }
}
