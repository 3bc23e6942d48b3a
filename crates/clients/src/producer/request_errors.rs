//! What the producer does about each error of each transactional request: the table of P-REQ-2 as
//! data (`TransactionManager.*Handler#handleResponse`).

use eosim_types::ErrorCode;

/// The transactional requests, in the order of the table's columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TxnApi {
    /// FindCoordinator.
    FindCoordinator,
    /// InitProducerId.
    InitProducerId,
    /// AddPartitionsToTxn, for one partition of it.
    AddPartitionsToTxn,
    /// AddOffsetsToTxn.
    AddOffsetsToTxn,
    /// TxnOffsetCommit, for one partition of it.
    TxnOffsetCommit,
    /// EndTxn.
    EndTxn,
}

/// What is done about an error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reaction {
    /// Send again after the backoff.
    Reenqueue,
    /// Forget the coordinator, look for it, send again.
    LookupCoordinator,
    /// Abortable, with the error's exception.
    Abortable,
    /// Abortable if the producer can handle it, else fatal (P-TV-5).
    AbortableIfPossible,
    /// Abortable, with a generic exception.
    AbortableGeneric,
    /// Abortable, with `CommitFailedException`.
    AbortableCommitFailed,
    /// For a commit abortable, for an abort fatal.
    AbortableUnlessAbort,
    /// Fatal, with the error's exception.
    Fatal,
    /// Fatal, with `ProducerFencedException`.
    FatalFenced,
    /// Fatal, with a generic exception.
    FatalGeneric,
}

use ErrorCode as E;
use Reaction::{
    Abortable as A, AbortableCommitFailed as AC, AbortableGeneric as Ax, AbortableIfPossible as AP,
    AbortableUnlessAbort as AU, Fatal as F, FatalFenced as FF, FatalGeneric as Fx,
    LookupCoordinator as L, Reenqueue as R,
};

/// Rows that are neither "any other retriable error" nor "the rest". Columns as in [`TxnApi`].
pub const TABLE: &[(ErrorCode, [Reaction; 6])] = &[
    (E::CoordinatorNotAvailable, [R, L, L, L, L, L]),
    (E::NotCoordinator, [R, L, L, L, L, L]),
    (E::RequestTimedOut, [R, R, R, R, L, R]),
    (E::InvalidProducerEpoch, [Fx, FF, FF, FF, FF, FF]),
    (E::ProducerFenced, [Fx, FF, FF, FF, FF, FF]),
    (E::TransactionalIdAuthorizationFailed, [F, A, F, F, F, F]),
    (E::ClusterAuthorizationFailed, [Fx, A, Ax, Fx, Fx, Fx]),
    (E::GroupAuthorizationFailed, [A, Fx, Ax, A, A, Fx]),
    (E::TopicAuthorizationFailed, [Fx, Fx, A, Fx, Fx, Fx]),
    (E::InvalidTxnState, [Fx, Fx, F, F, Fx, F]),
    (E::InvalidProducerIdMapping, [Fx, Fx, F, F, Fx, F]),
    (E::UnknownProducerId, [Fx, Fx, AP, AP, Fx, AP]),
    (E::TransactionAbortable, [A, A, A, A, A, AU]),
    (E::FencedInstanceId, [Fx, Fx, Ax, Fx, A, Fx]),
    (E::UnknownMemberId, [Fx, Fx, Ax, Fx, AC, Fx]),
    (E::IllegalGeneration, [Fx, Fx, Ax, Fx, AC, Fx]),
    (E::GroupIdNotFound, [Fx, Fx, Ax, Fx, AC, Fx]),
    (E::StaleMemberEpoch, [Fx, Fx, Ax, Fx, AC, Fx]),
    (E::UnsupportedForMessageFormat, [Fx, Fx, Ax, Fx, F, Fx]),
];

/// The rest of the errors.
const REST: [Reaction; 6] = [Fx, Fx, Ax, Fx, Fx, Fx];

/// What is done about `error` in the answer to `api`.
#[must_use]
pub fn reaction(api: TxnApi, error: ErrorCode) -> Reaction {
    let row = TABLE.iter().find(|(code, _)| *code == error);
    match row {
        Some((_, reactions)) => reactions[api as usize],
        None if error.is_retriable() => R,
        None => REST[api as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_table_and_the_two_defaults_p_req_2() {
        let cases = [
            (TxnApi::EndTxn, E::TransactionAbortable, AU),
            (TxnApi::EndTxn, E::ConcurrentTransactions, R),
            (TxnApi::EndTxn, E::InvalidProducerEpoch, FF),
            (TxnApi::EndTxn, E::NotCoordinator, L),
            (TxnApi::InitProducerId, E::ClusterAuthorizationFailed, A),
            (TxnApi::InitProducerId, E::InvalidTransactionTimeout, Fx),
            (TxnApi::AddPartitionsToTxn, E::OperationNotAttempted, Ax),
            (TxnApi::TxnOffsetCommit, E::RequestTimedOut, L),
            (TxnApi::TxnOffsetCommit, E::InvalidTxnState, Fx),
            (TxnApi::FindCoordinator, E::CoordinatorNotAvailable, R),
            (TxnApi::AddOffsetsToTxn, E::UnknownTopicId, R),
            (TxnApi::AddOffsetsToTxn, E::UnknownServerError, Fx),
        ];
        for (api, error, expected) in cases {
            assert_eq!(reaction(api, error), expected, "{api:?} {error}");
        }
    }

    #[test]
    fn no_retriable_error_ends_a_producer_p_err_2() {
        for &error in E::ALL.iter().filter(|error| error.is_retriable()) {
            for api in [TxnApi::FindCoordinator, TxnApi::InitProducerId, TxnApi::EndTxn] {
                assert!(matches!(reaction(api, error), R | L), "{api:?} {error}");
            }
        }
    }
}
