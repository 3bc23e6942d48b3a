//! The words and numbers of a history, each with what may stand there.

use std::borrow::Cow;

use eosim_types::ErrorCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Offsets and times are below this: 2⁴³.
const BELOW: i64 = 1 << 43;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident($inner:ty): $schema:tt),+ $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(
                Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize,
            )]
            #[serde(transparent)]
            pub(super) struct $name(pub(super) $inner);

            impl JsonSchema for $name {
                fn inline_schema() -> bool {
                    true
                }
                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }
                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!($schema)
                }
            }
        )+
    };
}

words! {
    /// A partition as Kafka writes it, such as `orders-0`.
    Partition(String): {"type": "string", "format": "partition", "maxLength": 260},
    /// The name of a client, topic, group or transactional id; what a record says.
    Name(String): {"type": "string", "maxLength": 1000},
    /// A sentence.
    Text(String): {"type": "string", "maxLength": 10_000},
    /// An offset, or a time.
    Offset(i64): {"type": "integer", "minimum": 0, "maximum": BELOW},
    /// An offset, an id or a time; -1 is none.
    Tagged(i64): {"type": "integer", "minimum": -1, "maximum": BELOW},
    /// A number of 31 bits; -1 is none.
    Number(i32): {"type": "integer", "minimum": -1, "maximum": i32::MAX},
    /// A producer epoch; -1 is none.
    Epoch(i16): {"type": "integer", "minimum": -1, "maximum": i16::MAX},
    /// A number of things.
    Count(u32): {"type": "integer", "minimum": 0, "maximum": 1_000_000_000},
    /// A length of time.
    Length(u64): {"type": "integer", "minimum": 0, "maximum": BELOW},
    /// An error as Kafka spells it, such as `REQUEST_TIMED_OUT`.
    Error(ErrorCode): {
        "type": "string",
        "enum": (ErrorCode::ALL.iter().map(|error| error.name()).collect::<Vec<_>>()),
        "x-kind": "error of Kafka's",
    },
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$choice_doc:meta])* $choice:ident = $word:literal),+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
            pub(super) enum $name {
                $($(#[$choice_doc])* #[serde(rename = $word)] $choice),+
            }

            impl JsonSchema for $name {
                fn inline_schema() -> bool {
                    true
                }
                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }
                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!({"type": "string", "enum": [$($word),+]})
                }
            }
        )+
    };
}

choices! {
    /// How a send ended.
    Sent {
        /// It is in the log.
        Acknowledged = "acknowledged",
        /// It is not.
        Refused = "refused",
        /// Nobody knows.
        Unknown = "unknown"
    }
    /// How a commit or abort ended.
    Outcome {
        /// As asked.
        Done = "done",
        /// Certainly not as asked.
        Refused = "refused",
        /// Nobody knows.
        Unknown = "unknown"
    }
    /// What a reader may see.
    Isolation {
        /// Up to the high watermark.
        ReadUncommitted = "read_uncommitted",
        /// Up to the last stable offset.
        ReadCommitted = "read_committed"
    }
    /// A callback of a rebalance.
    Callback {
        /// `onPartitionsAssigned`.
        Assigned = "assigned",
        /// `onPartitionsRevoked`.
        Revoked = "revoked",
        /// `onPartitionsLost`.
        Lost = "lost"
    }
    /// What a marker says.
    Marker {
        /// The transaction is committed.
        Commit = "COMMIT",
        /// It is aborted.
        Abort = "ABORT"
    }
    /// State of a transaction.
    State {
        /// No transaction.
        Empty = "Empty",
        /// Open.
        Ongoing = "Ongoing",
        /// Decided.
        PrepareCommit = "PrepareCommit",
        /// Decided.
        PrepareAbort = "PrepareAbort",
        /// Over.
        CompleteCommit = "CompleteCommit",
        /// Over.
        CompleteAbort = "CompleteAbort",
        /// Being expired.
        Dead = "Dead",
        /// Being fenced.
        PrepareEpochFence = "PrepareEpochFence"
    }
}
