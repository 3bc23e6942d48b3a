//! Faults that strike at a named moment: *when* the n-th message that looks like that is at that
//! point, *do* something to it or to a process.

use eosim_types::message::ApiKey;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use crate::number::{Millis, Ranged};

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aimed {
    /// The moment.
    pub when: When,
    /// What happens.
    pub r#do: Action,
}

/// A moment: exactly one of `sent`, `received`, `answered` and `answer_received`, and what else
/// must hold of the message.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// A request of this API leaves its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApiName")]
    pub sent: Option<String>,
    /// A request of this API is about to be taken by its receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApiName")]
    pub received: Option<String>,
    /// A response of this API leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApiName")]
    pub answered: Option<String>,
    /// A response of this API is about to be taken by the side that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApiName")]
    pub answer_received: Option<String>,
    /// Who sent the message: `controller`, `broker-1` …, or a client's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 110))]
    pub sender: Option<String>,
    /// Who gets the message, named likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 110))]
    pub receiver: Option<String>,
    /// Which of the messages that fit, counted from 1.
    #[serde(default = "first")]
    #[schemars(with = "Ranged<1, 1_000_000>")]
    pub nth: u32,
}

fn first() -> u32 {
    1
}

/// The point in a message's life that a rule names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A request leaves its sender.
    Sent,
    /// A request is about to be taken by its receiver.
    Received,
    /// A response leaves.
    Answered,
    /// A response is about to be taken by the side that asked.
    AnswerReceived,
}

impl When {
    /// Every moment that is named; exactly one in a plan that was checked.
    pub(crate) fn moments(&self) -> impl Iterator<Item = (Moment, &str)> {
        let all = [
            (Moment::Sent, &self.sent),
            (Moment::Received, &self.received),
            (Moment::Answered, &self.answered),
            (Moment::AnswerReceived, &self.answer_received),
        ];
        all.into_iter().filter_map(|(moment, api)| api.as_deref().map(|api| (moment, api)))
    }

    /// The moment, and the API of the message.
    ///
    /// # Panics
    /// If the plan was not checked.
    #[must_use]
    pub fn moment(&self) -> (Moment, ApiKey) {
        let (moment, name) = self.moments().next().expect("a checked rule names a moment");
        let api = ApiKey::ALL.iter().copied().find(|api| api.name() == name);
        (moment, api.expect("a checked rule names a known API"))
    }
}

/// Schema of an API's name.
struct ApiName;

impl JsonSchema for ApiName {
    fn schema_name() -> Cow<'static, str> {
        "ApiKey".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = ApiKey::ALL.iter().map(|api| api.name()).collect();
        json_schema!({"type": "string", "enum": names, "x-kind": "API"})
    }
}

/// What happens at the moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// The message is lost and the connection breaks.
    Drop,
    /// The message and all that follows on the connection is lost in silence.
    Silence,
    /// Connections between the two ends break.
    Reset,
    /// The message arrives so much later, and what follows on the connection no earlier.
    DelayMs(#[schemars(with = "Millis")] u64),
    /// The connection breaks, the message arrives so much later all the same.
    LateMs(#[schemars(with = "Millis")] u64),
    /// The message waits for the `release` of the same name.
    Hold(#[schemars(length(min = 1, max = 100))] String),
    /// What was held under the name goes on.
    Release(#[schemars(length(min = 1, max = 100))] String),
    /// A process dies and is started again.
    Crash(CrashAction),
    /// A process stands still.
    Pause(PauseAction),
}

/// A process dies and is started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrashAction {
    /// Which end of the message.
    pub who: Party,
    /// How it dies.
    #[serde(default)]
    pub kind: CrashKind,
    /// How long it stays dead.
    #[schemars(with = "Millis")]
    pub down_ms: u64,
}

/// A process stands still.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseAction {
    /// Which end of the message.
    pub who: Party,
    /// For how long.
    #[schemars(with = "Millis")]
    pub for_ms: u64,
}

/// One end of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// Who sends it.
    Sender,
    /// Who gets it.
    Receiver,
}

/// How a process dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashKind {
    /// The process alone (SIGKILL): what it wrote survives.
    #[default]
    Process,
    /// The machine: only what was flushed survives.
    PowerLoss,
}
