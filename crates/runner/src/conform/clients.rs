//! Fidelity of the clients: what the real Java client put on the wire and told its application
//! against what the model does, in virtual time in front of a broker that answers by script.

mod answers;
mod batches;
mod broker;
mod case;
mod consumer_player;
mod consumer_steps;
mod judge;
mod names;
mod network;
mod producer_player;
mod producer_steps;
mod settling;
mod state;
#[cfg(test)]
mod stress;
#[cfg(test)]
mod tests;
mod wire;

use super::Outcome;
use super::fields::Unsupported;
use case::ClientCase;
use serde_json::Value;

/// Is the recording one of a client?
pub(super) fn is_client_case(recording: &Value) -> bool {
    recording.get("app").is_some()
}

/// Runs one case.
pub(super) fn run_case(recording: &Value) -> Outcome {
    match play(recording) {
        Err(Unsupported(reason)) => Outcome::Unsupported(reason),
        Ok(None) => Outcome::Equal,
        Ok(Some(difference)) => Outcome::Different(difference),
    }
}

fn play(recording: &Value) -> Result<Option<super::Difference>, Unsupported> {
    let case: ClientCase = case::read("the case", recording)?;
    let seen = play_case(&case)?;
    Ok(judge::judge(&case, &seen))
}

fn play_case(case: &ClientCase) -> Result<judge::Seen, Unsupported> {
    match case.family.as_str() {
        "A" | "B" | "C" => producer_player::ProducerPlayer::play(case),
        "D" => consumer_player::ConsumerPlayer::play(case),
        other => Err(Unsupported(format!("the family {other}"))),
    }
}
