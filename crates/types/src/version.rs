//! Transaction versions, Kafka versions and what differs between them.

use serde::{Deserialize, Serialize};

use crate::capability::Capability;
use crate::message::Request;

/// `transaction.version`, of a cluster's feature, of a client or of a marker.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub enum TransactionVersion {
    /// Level 0.
    #[serde(rename = "0")]
    Tv0,
    /// Level 1: flexible records in `__transaction_state`.
    #[serde(rename = "1")]
    Tv1,
    /// Level 2: an epoch per transaction (KIP-890 part 2).
    #[default]
    #[serde(rename = "2")]
    Tv2,
}

impl TransactionVersion {
    /// The feature level.
    #[must_use]
    pub const fn level(self) -> i16 {
        self as i16
    }

    /// The version of a level on the wire; a level above those known is judged by the newest rules
    /// (L-MRK-3: "tv ≥ 2").
    #[must_use]
    pub const fn from_level(level: i8) -> Self {
        match level {
            ..=0 => Self::Tv0,
            1 => Self::Tv1,
            2.. => Self::Tv2,
        }
    }

    /// Does every transaction have an epoch of its own (C-TV-3)?
    #[must_use]
    pub const fn supports_epoch_bump(self) -> bool {
        matches!(self, Self::Tv2)
    }

    /// The version of values in `__transaction_state` (C-TV-1).
    #[must_use]
    pub const fn transaction_log_value_version(self) -> i16 {
        match self {
            Self::Tv0 => 0,
            Self::Tv1 | Self::Tv2 => 1,
        }
    }
}

/// The Kafka version of a node.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub enum KafkaVersion {
    /// 3.9.2; it has no `transaction.version` and behaves as level 0.
    #[serde(rename = "3.9")]
    V3_9,
    /// 4.0.2.
    #[serde(rename = "4.0")]
    V4_0,
    /// 4.1.2.
    #[serde(rename = "4.1")]
    V4_1,
    /// 4.2.1.
    #[serde(rename = "4.2")]
    V4_2,
    /// 4.3.1.
    #[serde(rename = "4.3")]
    V4_3,
    /// 4.4.0, the version of the recordings.
    #[serde(rename = "4.4")]
    V4_4,
    /// 4.5.0.
    #[default]
    #[serde(rename = "4.5")]
    V4_5,
}

impl KafkaVersion {
    /// Every version, oldest first.
    pub const ALL: &[Self] =
        &[Self::V3_9, Self::V4_0, Self::V4_1, Self::V4_2, Self::V4_3, Self::V4_4, Self::V4_5];

    /// As users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V3_9 => "3.9",
            Self::V4_0 => "4.0",
            Self::V4_1 => "4.1",
            Self::V4_2 => "4.2",
            Self::V4_3 => "4.3",
            Self::V4_4 => "4.4",
            Self::V4_5 => "4.5",
        }
    }

    /// The version that users call `name`, the number of the patch release or not.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let is_named = |version: &&Self| {
            let rest = name.strip_prefix(version.name());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        Self::ALL.iter().find(is_named).copied()
    }

    /// The highest level of `transaction.version` that this version supports; every lower one, too.
    #[must_use]
    pub const fn supported_transaction_version(self) -> TransactionVersion {
        if self.has(Capability::EpochPerTransaction) {
            TransactionVersion::Tv2
        } else {
            TransactionVersion::Tv0
        }
    }

    /// Does this version answer `request`? It closes the connection on a version of the request
    /// that it does not know.
    #[must_use]
    pub const fn knows(self, request: &Request) -> bool {
        let bumps = self.has(Capability::EpochPerTransaction);
        match request {
            Request::Produce(request) => request.version <= 11 || bumps,
            Request::EndTxn(request) => request.version <= 4 || bumps,
            Request::InitProducerId(request) => {
                request.version <= 5 || self.has(Capability::TwoPhaseCommitAtBrokers)
            }
            Request::TxnOffsetCommit(request) => request.version <= 4 || bumps,
            Request::WriteTxnMarkers(request) => {
                request.version <= 1 || self.has(Capability::MarkerHasTransactionVersion)
            }
            _ => true,
        }
    }

    /// Does this version do `capability`?
    #[inline]
    #[must_use]
    pub const fn has(self, capability: Capability) -> bool {
        self as u8 >= capability.since() as u8
    }
}

/// What a client's request version says about the client (leader 0.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum TransactionSupportedOperation {
    /// Produce ≤ 10, TxnOffsetCommit ≤ 3: verify, does not know TRANSACTION_ABORTABLE.
    DefaultError,
    /// Produce 11, TxnOffsetCommit 4: verify, knows TRANSACTION_ABORTABLE.
    GenericErrorSupported,
    /// Produce ≥ 12, TxnOffsetCommit ≥ 5: the leader adds the partition to the transaction.
    AddPartition,
}

impl TransactionSupportedOperation {
    /// By the version of a Produce request.
    #[must_use]
    pub const fn of_produce(version: i16) -> Self {
        match version {
            ..=10 => Self::DefaultError,
            11 => Self::GenericErrorSupported,
            12.. => Self::AddPartition,
        }
    }

    /// By the version of a TxnOffsetCommit request.
    #[must_use]
    pub const fn of_txn_offset_commit(version: i16) -> Self {
        match version {
            ..=3 => Self::DefaultError,
            4 => Self::GenericErrorSupported,
            5.. => Self::AddPartition,
        }
    }

    /// Does the client bump its epoch with every transaction?
    #[must_use]
    pub const fn supports_epoch_bump(self) -> bool {
        matches!(self, Self::AddPartition)
    }
}
