//! `eosim show`: a kept run, replayed and printed in one of its forms.

use std::path::Path;

use eosim_report::run_report::{self, Filter};
use eosim_report::{transaction_log, transactions};
use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::look::Look;
use eosim_runner::recording::{Observed, Recording};
use eosim_types::observation::ReplicaDump;
use eosim_types::{ActorId, Topic, TransactionalId};
use serde_json::json;

use super::Failure;
use super::replay::open;
use crate::args::{Format, OutputArgs, ShowArgs, ShowForm, TransactionsForm};
use crate::pages::Shown;
use crate::render::DESCRIBE;
use crate::{artefacts, output, pages, render};

pub(super) fn run(args: &ShowArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let path = artefacts::find_choices(&args.run)?;
    let recording = open(&path, false)?;
    let text = if needs_look(args) {
        looked(args, how, &recording, &path)?
    } else {
        let observed = observe(&recording, args.at, &path)?;
        let selected = Selected::of(args, &observed)?;
        let text = match args.form {
            ShowForm::DumpLog => selected.dump_log(&observed),
            ShowForm::TxnLog => selected.transaction_log(&observed),
            ShowForm::Transactions => selected.transactions(&observed, args)?,
            ShowForm::History => observed.history.to_jsonl(),
            _ => render::transcript(&observed, selected.actor),
        };
        formatted(text, how.format)
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

/// Lines as they are asked for.
fn formatted(text: String, format: Format) -> String {
    match format {
        Format::Text => text,
        Format::Json => {
            json!({"format": 1, "lines": text.lines().collect::<Vec<_>>()}).to_string() + "\n"
        }
        Format::Jsonl => {
            text.lines().map(|line| json!({"line": line}).to_string() + "\n").collect()
        }
    }
}

/// Must somebody look at the run step by step?
fn needs_look(args: &ShowArgs) -> bool {
    let is_filtered = args.partition.is_some() || args.transaction.is_some();
    match args.form {
        ShowForm::Diagram | ShowForm::State | ShowForm::Timeline => true,
        ShowForm::Transcript => is_filtered,
        _ => false,
    }
}

/// What is shown of a run that is looked at step by step.
fn looked(
    args: &ShowArgs,
    how: &OutputArgs,
    recording: &Recording,
    path: &Path,
) -> Result<String, Failure> {
    // Around a step of a timeline there is something behind it, too.
    check_step(recording, args.at)?;
    let until = args.at.filter(|_| args.form != ShowForm::Timeline);
    let look = look(recording, until, path)?;
    let selected = Selected::of(args, &look.observed)?;
    let run = pages::run_report(recording, &look, args.at);
    let filter = selected.filter();
    let is_text = how.format == Format::Text;
    Ok(match args.form {
        ShowForm::Diagram if is_text => run_report::diagram(&run, &filter),
        ShowForm::Diagram => run_report::diagram_json(&run, &filter),
        ShowForm::Timeline if is_text => run_report::timeline(&run, &filter),
        ShowForm::Timeline => run_report::timeline_json(&run, &filter),
        ShowForm::State if is_text => pages::state(recording, &look, selected.shown(args)).text(),
        ShowForm::State => {
            pages::state_json(recording, &look, selected.shown(args)).to_string() + "\n"
        }
        _ => {
            let lines = run.lines(&filter);
            formatted(eosim_report::transcript(&run.actors, &lines), how.format)
        }
    })
}

/// The run, up to `step` if one is given, looked at.
pub(super) fn look(recording: &Recording, step: Option<u64>, path: &Path) -> Result<Look, Failure> {
    let look = recording.look(step, DESCRIBE);
    match &look.left {
        None => Ok(look),
        Some(left) => Err(Failure {
            exit: ExitCode::NotReplayable,
            message: format!("{}: not as recorded: {left}", path.display()),
        }),
    }
}

/// Has the run such a step?
fn check_step(recording: &Recording, step: Option<u64>) -> Result<(), InputError> {
    match step {
        Some(step) if step > recording.steps => {
            let expected = format!("a step of the run, at most {}", recording.steps);
            Err(InputError::new("--at", "", step.to_string(), expected))
        }
        _ => Ok(()),
    }
}

/// The run, up to `step` if one is given.
fn observe(recording: &Recording, step: Option<u64>, path: &Path) -> Result<Observed, Failure> {
    check_step(recording, step)?;
    let replayed = match step {
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
#[derive(Clone)]
struct Selected {
    partition: Option<String>,
    actor: Option<ActorId>,
    transaction: Option<TransactionalId>,
}

impl Selected {
    fn filter(&self) -> Filter {
        let Self { partition, actor, transaction } = self.clone();
        Filter { actor, partition, transaction }
    }

    fn shown<'a>(&'a self, args: &'a ShowArgs) -> Shown<'a> {
        let transaction = args.transaction.as_deref();
        Shown { partition: self.partition.as_deref(), actor: self.actor, transaction }
    }

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
        let transaction = args.transaction.as_ref().map(|id| {
            let known: Vec<String> =
                run.names.transactional_ids().skip(1).map(ToString::to_string).collect();
            let at = run.names.transactional_ids().position(|name| name == id && !id.is_empty());
            let at = at.and_then(|at| u16::try_from(at).ok()).map(TransactionalId);
            at.ok_or_else(|| unknown("--transaction", id, "a transactional id of the run", &known))
        });
        let partition = args.partition.clone();
        Ok(Self { partition, actor: actor.transpose()?, transaction: transaction.transpose()? })
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
