//! Which version of each request a client uses (`ApiVersions`, `NodeApiVersions`; P-SND-7,
//! P-SND-12).
//!
//! Invariant: no request goes out with a version that either side does not know.

use alloc::collections::BTreeMap;

use eosim_types::Capability;
use eosim_types::message::ApiKey;
use eosim_types::version::KafkaVersion;

/// The newest version of each request that the client speaks.
const fn newest(api: ApiKey) -> i16 {
    match api {
        ApiKey::Produce => 13,
        ApiKey::Fetch => 18,
        ApiKey::ListOffsets => 11,
        ApiKey::FindCoordinator | ApiKey::TxnOffsetCommit => 6,
        ApiKey::InitProducerId | ApiKey::EndTxn => 5,
        ApiKey::AddPartitionsToTxn => 3,
        ApiKey::AddOffsetsToTxn | ApiKey::OffsetForLeaderEpoch => 4,
        ApiKey::OffsetCommit | ApiKey::OffsetFetch => 10,
        _ => 0,
    }
}

/// What the brokers' ApiVersions answers said of versions older than the client's newest.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ApiVersions {
    older: BTreeMap<ApiKey, i16>,
}

impl ApiVersions {
    /// What brokers of `kafka` speak.
    pub(crate) fn of_brokers(kafka: KafkaVersion) -> Self {
        if kafka.has(Capability::EpochPerTransaction) {
            return Self::default();
        }
        let older = [(ApiKey::Produce, 11), (ApiKey::EndTxn, 4), (ApiKey::TxnOffsetCommit, 4)];
        Self { older: older.into() }
    }

    /// The brokers know `api` up to `version`.
    #[must_use]
    pub fn with_newest(mut self, api: ApiKey, version: i16) -> Self {
        self.older.insert(api, version);
        self
    }

    /// The latest version of `api` that both sides know (`latestUsableVersion`).
    #[must_use]
    pub fn latest(&self, api: ApiKey) -> i16 {
        let version = newest(api);
        self.older.get(&api).map_or(version, |&older| version.min(older))
    }

    /// Produce: 11 at most for a transaction of version 1, whose partitions are registered by
    /// hand. There is no lower bound (P-SND-7).
    pub(crate) fn produce(&self, is_transactional: bool, is_transaction_v2_enabled: bool) -> i16 {
        let cap = if is_transactional && !is_transaction_v2_enabled { 11 } else { i16::MAX };
        self.latest(ApiKey::Produce).min(cap)
    }

    /// EndTxn: 5 brings the next epoch.
    pub(crate) fn end_txn(&self, is_transaction_v2_enabled: bool) -> i16 {
        let cap = if is_transaction_v2_enabled { i16::MAX } else { 4 };
        self.latest(ApiKey::EndTxn).min(cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_decide_a_version_p_snd_7_p_snd_12() {
        let (now, older) = (ApiVersions::default(), ApiVersions::default());
        let older = older.with_newest(ApiKey::Produce, 10).with_newest(ApiKey::EndTxn, 7);
        assert_eq!([now.produce(true, true), now.produce(true, false)], [13, 11]);
        assert_eq!([now.produce(false, false), older.produce(false, false)], [13, 10]);
        assert_eq!([now.end_txn(true), now.end_txn(false), older.end_txn(true)], [5, 4, 5]);
        assert_eq!(now.latest(ApiKey::FindCoordinator), 6);
    }
}
