//! Faults that strike at a named moment: *when* a message of a kind is sent, received or answered
//! for the n-th time, *do* something to it or to a process.

use eosim_types::ErrorCode;
use eosim_types::message::ApiKey;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::fault::CrashKind;
use super::names::PartitionName;
use super::raw::ErrorName;
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

/// A moment: exactly one of `sent`, `received`, `answered` and `at_ms`, and what else must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// A request of this API leaves its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApiName")]
    pub sent: Option<String>,
    /// A request of this API is read by its receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApiName")]
    pub received: Option<String>,
    /// A response of this API leaves the receiver of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ApiName")]
    pub answered: Option<String>,
    /// The run has lasted so long.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Millis")]
    pub at_ms: Option<u64>,
    /// The request's sender: an actor's name (`broker-1`, `controller`, a client's), or a kind of
    /// actor (`broker`, `producer`, `consumer`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 110))]
    pub sender: Option<String>,
    /// The request's receiver, named likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 110))]
    pub receiver: Option<String>,
    /// The request names this transactional id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    pub transactional_id: Option<String>,
    /// The request touches this partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PartitionName")]
    pub partition: Option<String>,
    /// The request commits (`true`) or aborts (`false`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub commit: Option<bool>,
    /// The response carries this error; with `answered` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ErrorName")]
    pub error: Option<ErrorCode>,
    /// Only the n-th such moment, counted from 1; the first if neither this nor `every` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<1, 1_000_000>")]
    pub nth: Option<u32>,
    /// Every such moment.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub every: bool,
}

impl When {
    /// The API of the message that is waited for, if it is a message.
    #[must_use]
    pub fn api(&self) -> Option<ApiKey> {
        let name = [&self.sent, &self.received, &self.answered].into_iter().flatten().next()?;
        ApiKey::ALL.iter().copied().find(|api| api.name() == name)
    }

    /// Which of the matching moments, counted from 1; `None` for every one.
    #[must_use]
    pub fn nth(&self) -> Option<u32> {
        if self.every { None } else { Some(self.nth.unwrap_or(1)) }
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
    /// The request is lost and the connection breaks.
    DropRequest,
    /// The request takes effect, its answer is lost and the connection breaks.
    DropResponse,
    /// The message arrives later; those behind it on the connection wait.
    Hold(HoldAction),
    /// The connection breaks at once; the request is processed so much later.
    LateRequest(HoldAction),
    /// A process dies and is started again.
    Crash(CrashAction),
    /// A process stands still.
    Pause(PauseAction),
}

impl Action {
    /// As it is written.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DropRequest => "drop_request",
            Self::DropResponse => "drop_response",
            Self::Hold(_) => "hold",
            Self::LateRequest(_) => "late_request",
            Self::Crash(_) => "crash",
            Self::Pause(_) => "pause",
        }
    }

    /// The fault of [`super::FAULTS`] that it is an aimed form of.
    #[must_use]
    pub const fn fault(&self) -> Option<&'static str> {
        match self {
            Self::DropResponse => Some("lost_response"),
            Self::LateRequest(_) => Some("late_request"),
            Self::Crash(_) => Some("crash"),
            Self::Pause(_) => Some("gc_pause"),
            Self::DropRequest | Self::Hold(_) => None,
        }
    }
}

/// How long a message is held back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldAction {
    /// For how long.
    #[schemars(with = "Millis")]
    pub for_ms: u64,
}

/// A process dies and is started again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrashAction {
    /// `sender`, `receiver`, or an actor's name.
    #[schemars(length(min = 1, max = 110))]
    pub who: String,
    /// How it dies.
    #[serde(default)]
    pub kind: CrashKind,
    /// How long it is away.
    #[schemars(with = "Millis")]
    pub down_ms: u64,
}

/// A process stands still.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseAction {
    /// `sender`, `receiver`, or an actor's name.
    #[schemars(length(min = 1, max = 110))]
    pub who: String,
    /// For how long.
    #[schemars(with = "Millis")]
    pub for_ms: u64,
}
