//! Transaction versions, Kafka versions and what differs between them.

use serde::{Deserialize, Serialize};

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
    /// 4.4.0, the version of the recordings.
    #[serde(rename = "4.4")]
    V4_4,
    /// 4.5.0.
    #[default]
    #[serde(rename = "4.5")]
    V4_5,
}

impl KafkaVersion {
    /// As users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4_4 => "4.4",
            Self::V4_5 => "4.5",
        }
    }

    /// KAFKA-21181: a version 2 COMMIT of a transaction to which nothing was added bumps the epoch
    /// in place of INVALID_TXN_STATE (coordinator switch `empty_commit_bumps`).
    #[must_use]
    pub const fn empty_commit_bumps(self) -> bool {
        matches!(self, Self::V4_5)
    }

    /// KAFKA-20357: the last producer epoch is written to `__transaction_state`
    /// (coordinator switch `persist_last_epoch`).
    #[must_use]
    pub const fn persist_last_epoch(self) -> bool {
        matches!(self, Self::V4_5)
    }

    /// KAFKA-15591: a partition that the producer never wrote to accepts only sequence 0 from
    /// anybody (leader 13.3).
    #[must_use]
    pub const fn first_sequence_must_be_zero(self) -> bool {
        matches!(self, Self::V4_5)
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
