//! Requests sent by hand, as in the recordings: a step names the request's fields and may name the
//! answer that must come.

use eosim_types::ErrorCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::names::PartitionName;
use crate::number::Millis;

/// One request, or a pause. The next step begins when the answer is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum RawStep {
    /// InitProducerId.
    InitProducerId {
        /// Later steps refer to the id and epoch answered by this name.
        #[schemars(length(min = 1, max = 100))]
        r#as: String,
        /// The transactional id, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String", length(max = 200))]
        transactional_id: Option<String>,
        /// The transaction's timeout.
        #[serde(default = "a_minute")]
        #[schemars(range(min = 0, max = 2_147_483_647))]
        timeout_ms: i32,
        /// The answer that must come.
        #[serde(default, skip_serializing_if = "RawExpectation::is_empty")]
        expect: RawExpectation,
    },
    /// Produce of one batch.
    Produce {
        /// Whose id and epoch: a name given by `as`, or `none`.
        #[schemars(length(min = 1, max = 100))]
        producer: String,
        /// Where to.
        #[schemars(with = "PartitionName")]
        partition: String,
        /// The base sequence.
        #[schemars(range(min = -1, max = 2_147_483_647))]
        sequence: i32,
        /// How many records.
        #[schemars(range(min = 1, max = 10_000))]
        records: u32,
        /// Set for a transactional batch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String", length(max = 200))]
        transactional_id: Option<String>,
        /// `acks`.
        #[serde(default = "all")]
        #[schemars(range(min = -1, max = 1))]
        acks: i16,
        /// The answer that must come.
        #[serde(default, skip_serializing_if = "RawExpectation::is_empty")]
        expect: RawExpectation,
    },
    /// EndTxn.
    EndTxn {
        /// Whose id and epoch; it goes on with the id and epoch answered.
        #[schemars(length(min = 1, max = 100))]
        producer: String,
        /// The transactional id.
        #[schemars(length(max = 200))]
        transactional_id: String,
        /// Commit or abort.
        commit: bool,
        /// The answer that must come.
        #[serde(default, skip_serializing_if = "RawExpectation::is_empty")]
        expect: RawExpectation,
    },
    /// Does nothing for a while.
    SleepMs {
        /// For how long.
        #[schemars(with = "Millis")]
        ms: u64,
    },
}

fn a_minute() -> i32 {
    60_000
}

fn all() -> i16 {
    -1
}

/// The answer that must come; what is not named is not compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawExpectation {
    /// The error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ErrorName")]
    pub error: Option<ErrorCode>,
    /// The base offset; -1 for a batch that is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub base_offset: Option<i64>,
    /// The producer epoch answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i16")]
    pub producer_epoch: Option<i16>,
}

impl RawExpectation {
    /// Nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Schema of an error code's name.
pub(crate) struct ErrorName;

impl JsonSchema for ErrorName {
    fn schema_name() -> Cow<'static, str> {
        "ErrorCode".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        json_schema!({"type": "string", "enum": names, "x-kind": "error code"})
    }
}
