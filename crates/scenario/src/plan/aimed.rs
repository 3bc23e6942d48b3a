//! Faults that strike at a named moment: *when* the n-th message that looks like that is at that
//! point, or a time has come, *do* something to it or to a process, and end it *until* another.

use eosim_types::ErrorCode;
use eosim_types::message::ApiKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{
    ActorName, ApiName, BooleanDrawn, ErrorName, GroupName, PartitionDrawn, StateLabel,
};
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

/// A moment: exactly one of `sent`, `received`, `answered`, `answer_received`, `at_ms` and `reached`, and
/// what else must hold of the message. What is said of an answer's contents, but for `error`, is
/// said of the request that it answers.
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
    /// So long after the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Millis")]
    pub at_ms: Option<u64>,
    /// A state machine has entered this state, written `machine/state` as `eosim coverage` does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StateLabel")]
    pub reached: Option<String>,
    /// At which broker or client the state was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ActorName")]
    pub by: Option<String>,
    /// Who sent the message, of an answer who answers: `controller`, `broker-1` …, or a client's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ActorName")]
    pub sender: Option<String>,
    /// Who gets the message, of an answer who asked, named likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ActorName")]
    pub receiver: Option<String>,
    /// Version of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 100>")]
    pub api_version: Option<i16>,
    /// Whose transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ActorName")]
    pub transactional_id: Option<String>,
    /// Which group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GroupName")]
    pub group: Option<String>,
    /// Producer epoch of the batch, marker or request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 32_767>")]
    pub producer_epoch: Option<i16>,
    /// A partition that the request names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PartitionDrawn")]
    pub partition: Option<String>,
    /// Sequence of the first record of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 2_147_483_647>")]
    pub base_sequence: Option<i32>,
    /// The request, or a marker in it, commits; or aborts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BooleanDrawn")]
    pub commit: Option<bool>,
    /// The error that stands in an answer; `NONE` if it stands alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ErrorName")]
    pub error: Option<ErrorCode>,
    /// Which of the messages that fit, counted over the whole run, or from `after` on, from 1. If nothing is said, the
    /// first; of what ends something, the first from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<1, 1_000_000>")]
    pub nth: Option<u32>,
    /// Every so many of the messages that fit, in the place of `nth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<1, 1_000_000>")]
    pub every: Option<u32>,
    /// Only what comes after this moment counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "When")]
    pub after: Option<Box<When>>,
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

impl Moment {
    /// Its key in a scenario.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
            Self::Answered => "answered",
            Self::AnswerReceived => "answer_received",
        }
    }

    /// The message is on its way, so that something can befall it.
    #[must_use]
    pub const fn is_departure(self) -> bool {
        matches!(self, Self::Sent | Self::Answered)
    }
}

impl When {
    /// Every moment that is named; at most one in a plan that was checked.
    pub(crate) fn moments(&self) -> impl Iterator<Item = (Moment, &str)> {
        let all = [
            (Moment::Sent, &self.sent),
            (Moment::Received, &self.received),
            (Moment::Answered, &self.answered),
            (Moment::AnswerReceived, &self.answer_received),
        ];
        all.into_iter().filter_map(|(moment, api)| api.as_deref().map(|api| (moment, api)))
    }

    /// The moment, and the API of the message; `None` if a time or a state is named.
    #[must_use]
    pub fn moment(&self) -> Option<(Moment, ApiKey)> {
        let (moment, name) = self.moments().next()?;
        let api = ApiKey::ALL.iter().copied().find(|api| api.name() == name);
        Some((moment, api?))
    }

    /// What is said of a message alone, by its key.
    pub(crate) fn said_of_message(&self) -> Option<&'static str> {
        let said = [
            ("sender", self.sender.is_some()),
            ("receiver", self.receiver.is_some()),
            ("api_version", self.api_version.is_some()),
            ("transactional_id", self.transactional_id.is_some()),
            ("group", self.group.is_some()),
            ("producer_epoch", self.producer_epoch.is_some()),
            ("partition", self.partition.is_some()),
            ("base_sequence", self.base_sequence.is_some()),
            ("commit", self.commit.is_some()),
            ("error", self.error.is_some()),
        ];
        said.into_iter().find_map(|(key, said)| said.then_some(key))
    }
}

impl When {
    /// What is said of the order in which things come, by its key.
    pub(crate) fn said_of_order(&self) -> Option<&'static str> {
        let said = [
            ("nth", self.nth.is_some()),
            ("every", self.every.is_some()),
            ("after", self.after.is_some()),
        ];
        said.into_iter().find_map(|(key, said)| said.then_some(key))
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
    /// The connection breaks, the message arrives all the same, at that moment.
    LateUntil(When),
    /// The message waits for the `release` of the same name.
    Hold(#[schemars(length(min = 1, max = 100))] String),
    /// What was held under the name goes on.
    Release(#[schemars(length(min = 1, max = 100))] String),
    /// The message waits until that moment.
    HoldUntil(When),
    /// A request has no effect and is answered with this error; or, when it is answered, it had its
    /// effect and the answer says this error.
    AnswerWith(#[schemars(with = "ErrorName")] ErrorCode),
    /// A process dies and is started again.
    Crash(CrashAction),
    /// A process is asked to stop in good order (SIGTERM) and is started again.
    Stop(StopAction),
    /// A process stands still.
    Pause(PauseAction),
}

impl Action {
    /// Its key in a scenario.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Silence => "silence",
            Self::Reset => "reset",
            Self::DelayMs(_) => "delay_ms",
            Self::LateMs(_) => "late_ms",
            Self::LateUntil(_) => "late_until",
            Self::Hold(_) => "hold",
            Self::Release(_) => "release",
            Self::HoldUntil(_) => "hold_until",
            Self::AnswerWith(_) => "answer_with",
            Self::Crash(_) => "crash",
            Self::Stop(_) => "stop",
            Self::Pause(_) => "pause",
        }
    }

    /// It befalls the message itself, which must be leaving.
    #[must_use]
    pub const fn befalls_message(&self) -> bool {
        !matches!(
            self,
            Self::Reset | Self::Release(_) | Self::Crash(_) | Self::Stop(_) | Self::Pause(_)
        )
    }

    /// The moment at which it ends.
    #[must_use]
    pub const fn until(&self) -> Option<&When> {
        match self {
            Self::LateUntil(until) | Self::HoldUntil(until) => Some(until),
            Self::Crash(crash) => crash.until.as_ref(),
            Self::Stop(stop) => stop.until.as_ref(),
            Self::Pause(pause) => pause.until.as_ref(),
            _ => None,
        }
    }

    /// Who is struck, the key of the length, and the length.
    pub(crate) fn struck(&self) -> Option<(&str, &'static str, Option<u64>)> {
        match self {
            Self::Crash(crash) => Some((&crash.who, "down_ms", crash.down_ms)),
            Self::Stop(stop) => Some((&stop.who, "down_ms", stop.down_ms)),
            Self::Pause(pause) => Some((&pause.who, "for_ms", pause.for_ms)),
            _ => None,
        }
    }
}

/// A process dies and is started again: after `down_ms`, or at the moment of `until`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrashAction {
    /// Who: `sender` or `receiver` of the message, `it` that reached the state, or an actor by its
    /// name.
    #[schemars(with = "ActorName")]
    pub who: String,
    /// How it dies.
    #[serde(default)]
    pub kind: CrashKind,
    /// How long it stays dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Millis")]
    pub down_ms: Option<u64>,
    /// When it is started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "When")]
    pub until: Option<When>,
}

/// A process is asked to stop in good order and is started again: `down_ms` after it has ended, or at
/// the moment of `until`; if it has not ended by then, as soon as it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopAction {
    /// Who: `sender` or `receiver` of the message, `it` that reached the state, or an actor by its
    /// name.
    #[schemars(with = "ActorName")]
    pub who: String,
    /// How long after its end it is started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Millis")]
    pub down_ms: Option<u64>,
    /// When it is started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "When")]
    pub until: Option<When>,
}

/// A process stands still: for so long, or until a moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseAction {
    /// Who: `sender` or `receiver` of the message, `it` that reached the state, or an actor by its
    /// name.
    #[schemars(with = "ActorName")]
    pub who: String,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Millis")]
    pub for_ms: Option<u64>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "When")]
    pub until: Option<When>,
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
