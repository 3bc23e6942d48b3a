//! Fidelity: recorded answers of a real broker against the model's, compared exactly.
//!
//! Each case runs in virtual time on a cluster with the recording's settings; after every step the
//! model runs until nothing but timers is left. A case that uses what the model does not have is
//! *unsupported*, never equal.

mod answer;
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

pub use case::{Case, RecordedOn, TopicLayout, case_files, load};
pub use compare::Difference;

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

/// Runs one case on Kafka as released.
#[must_use]
pub fn run_case(case: &Case) -> Outcome {
    match player::Player::play(case) {
        Err(fields::Unsupported(reason)) => Outcome::Unsupported(reason),
        Ok(None) => Outcome::Equal,
        Ok(Some(difference)) => Outcome::Different(difference),
    }
}
