//! Which version of each request the producer uses (`ApiVersions`, P-SND-7, P-SND-12).

/// InitProducerId.
pub(crate) const INIT_PRODUCER_ID: i16 = 5;

/// AddPartitionsToTxn in the clients' form.
pub(crate) const ADD_PARTITIONS_TO_TXN: i16 = 3;

/// Produce: 11 at most for a transaction of version 1, whose partitions are registered by hand.
pub(crate) const fn produce(is_transactional: bool, is_transaction_v2_enabled: bool) -> i16 {
    if is_transactional && !is_transaction_v2_enabled { 11 } else { 12 }
}

/// EndTxn: 5 brings the next epoch.
pub(crate) const fn end_txn(is_transaction_v2_enabled: bool) -> i16 {
    if is_transaction_v2_enabled { 5 } else { 4 }
}
