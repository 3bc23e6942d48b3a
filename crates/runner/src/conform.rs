//! Fidelity: recorded answers of a real broker against the model's, compared exactly.
//!
//! Each case runs in virtual time on a cluster with the recording's settings; after every step the
//! model runs until nothing but timers is left. A case that uses what the model does not have is
//! *unsupported*, never equal.

mod answer;
mod asked;
mod case;
mod clients;
mod compare;
mod conditions;
mod end_state;
mod fields;
mod operation;
mod operator;
mod player;
mod producers;
mod recorder;
mod settling;
mod view;

pub use asked::Live;
pub use case::{Case, RecordedOn, TopicLayout, case_files, load};
pub use compare::Difference;
pub use operation::Target;
pub use operator::Process;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use eosim_scenario::InputError;
use eosim_types::Duration;
use eosim_types::version::KafkaVersion;
use serde_json::{Value, json};

use crate::run::said;

/// How a case came out.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Every answer and the end state are what was recorded.
    Equal,
    /// The first difference.
    Different(Difference),
    /// What the case needs that the model does not have.
    Unsupported(String),
}

impl Outcome {
    /// One word for it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Different(_) => "different",
            Self::Unsupported(_) => "unsupported",
        }
    }

    /// The machine form of one case.
    #[must_use]
    pub fn to_json(&self, case: &str) -> Value {
        let first = match self {
            Self::Equal => Value::Null,
            Self::Different(d) => {
                json!({ "place": d.place, "recorded": d.recorded, "model": d.model })
            }
            Self::Unsupported(reason) => json!({ "reason": reason }),
        };
        json!({ "name": case, "result": self.name(), "first_difference": first })
    }
}

/// Runs every case of one file on Kafka as released, clients' and brokers'; each with its name.
/// Brokers are of the version that was recorded, or of `kafka`.
///
/// # Errors
///
/// If the file cannot be read or is no recording.
pub fn play_file(
    path: &Path,
    kafka: Option<KafkaVersion>,
) -> Result<Vec<(String, Outcome)>, InputError> {
    let play = |recording: Value| {
        if clients::is_client_case(&recording) {
            let name = recording["name"].as_str().unwrap_or_default().to_string();
            return Ok((name, unless_it_breaks(|| run_recording(&recording))));
        }
        let mut case = Case::from_json(path, recording)?;
        case.recorded_on.kafka = kafka.unwrap_or(case.recorded_on.kafka);
        Ok((case.name.clone(), unless_it_breaks(|| run_case(&case))))
    };
    case::load_json(path)?.into_iter().map(play).collect()
}

/// What comes of `play`; if the model finds its own assumptions broken, as it may by a case that no
/// cluster has ever seen, that is a difference.
fn unless_it_breaks(play: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|panic| {
        let place = "the model broke off".to_string();
        let model = Value::from(said(&*panic));
        Outcome::Different(Difference { place, recorded: Value::Null, model })
    })
}

/// Runs one case of a client on Kafka as released.
#[must_use]
pub fn run_recording(recording: &Value) -> Outcome {
    clients::run_case(recording)
}

/// What the model, Kafka as released, answers to the steps of `case`, the end state last, in the
/// form of a recording; producers are named by their ids. Nothing is compared.
///
/// # Errors
///
/// What the case needs that the model does not have.
pub fn answers(case: &Case) -> Result<Vec<Value>, String> {
    player::Player::answers(case, Duration::ZERO).map_err(|fields::Unsupported(reason)| reason)
}

/// What `live` answers to the steps of `case`, the end state last, with the names of recordings,
/// and how that compares.
///
/// # Errors
///
/// What the case needs that cannot be had there.
pub fn ask(case: &Case, live: &mut dyn Live) -> Result<(Vec<Value>, Outcome), String> {
    let answers = player::Player::answers_of(case, live);
    let mut answers = answers.map_err(|fields::Unsupported(reason)| reason)?;
    let (settled, shown) = taken_over(case, answers.clone());
    let difference = compare::compare(&settled, shown);
    compare::name(case, &mut answers);
    Ok((answers, difference.map_or(Outcome::Equal, Outcome::Different)))
}

/// `case` and `answers` without the transactions of which the recorder was told in the end that
/// nobody coordinates them: how long a started broker takes to take over is no matter of the
/// protocol (C-LK-4), and a live one is waited for.
fn taken_over(case: &Case, mut answers: Vec<Value>) -> (Case, Vec<Value>) {
    let mut case = case.clone();
    let recorded = case.final_state["transactions"].as_object_mut();
    let end = answers.last_mut().and_then(|end| end["transactions"].as_object_mut());
    if let (Some(recorded), Some(end)) = (recorded, end) {
        let led = |state: &Value| state["error"] != "NOT_COORDINATOR";
        end.retain(|id, _| recorded.get(id).is_none_or(led));
        recorded.retain(|_, state| led(state));
    }
    (case, answers)
}

/// The rules behind the place of `difference`, those that the model reaches there.
#[must_use]
pub fn rules(case: &Case, difference: &Difference) -> BTreeSet<&'static str> {
    let step = difference.place.strip_prefix("step ");
    let step = step.and_then(|place| place.split(' ').next()?.parse().ok());
    player::Player::rules(case, step.unwrap_or(case.steps.len())).unwrap_or_default()
}

/// The coordinator epoch with which the brokers of `case` begin, as far as it shows.
#[must_use]
pub fn coordinator_epoch(case: &Case) -> i32 {
    conditions::coordinator_epoch(case).0
}

/// The cases of one file, and how many recordings of clients stand there beside.
///
/// # Errors
///
/// If the file cannot be read or is no recording.
pub fn broker_cases(path: &Path) -> Result<(Vec<Case>, u64), InputError> {
    let (mut cases, mut others) = (Vec::new(), 0);
    for recording in case::load_json(path)? {
        if clients::is_client_case(&recording) {
            others += 1;
        } else {
            cases.push(Case::from_json(path, recording)?);
        }
    }
    Ok((cases, others))
}

/// Runs one case on Kafka as released.
#[must_use]
pub fn run_case(case: &Case) -> Outcome {
    match player::Player::play(case) {
        Err(fields::Unsupported(reason)) => Outcome::Unsupported(reason),
        Ok(None) => Outcome::Equal,
        Ok(Some(difference)) => Outcome::Different(difference),
    }
}
