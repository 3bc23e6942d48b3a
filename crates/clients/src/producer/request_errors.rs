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
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::fmt::Write;
    use expect_test::expect;

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

    /// Every code, those that are treated alike together.
    #[test]
    fn every_error_of_every_request_p_req_2_p_err_2() {
        let all = [
            TxnApi::FindCoordinator,
            TxnApi::InitProducerId,
            TxnApi::AddPartitionsToTxn,
            TxnApi::AddOffsetsToTxn,
            TxnApi::TxnOffsetCommit,
            TxnApi::EndTxn,
        ];
        let mut rows: Vec<([Reaction; 6], Vec<i16>)> = Vec::new();
        for &error in E::ALL.iter().filter(|error| !error.is_none()) {
            let reactions = all.map(|api| reaction(api, error));
            match rows.iter_mut().find(|(known, _)| *known == reactions) {
                Some((_, codes)) => codes.push(error.code()),
                None => rows.push((reactions, vec![error.code()])),
            }
        }
        let mut text = String::new();
        for (reactions, codes) in rows {
            writeln!(text, "{reactions:?}: {codes:?}").expect("a string grows");
        }
        expect![[r#"
            [FatalGeneric, FatalGeneric, AbortableGeneric, FatalGeneric, FatalGeneric, FatalGeneric]: [-1, 1, 4, 8, 10, 11, 12, 17, 18, 21, 23, 24, 26, 27, 28, 32, 33, 34, 35, 36, 37, 38, 39, 40, 42, 44, 45, 46, 50, 52, 54, 55, 57, 58, 60, 61, 62, 63, 64, 65, 66, 67, 68, 73, 76, 77, 79, 81, 85, 86, 87, 91, 92, 93, 94, 95, 96, 97, 98, 99, 101, 102, 104, 105, 107, 108, 109, 110, 111, 112, 114, 115, 116, 117, 118, 119, 121, 124, 125, 126, 127, 128, 129, 130, 131, 132]
            [Reenqueue, Reenqueue, Reenqueue, Reenqueue, Reenqueue, Reenqueue]: [2, 3, 5, 6, 9, 13, 14, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100, 103, 106, 122, 123, 133]
            [Reenqueue, Reenqueue, Reenqueue, Reenqueue, LookupCoordinator, Reenqueue]: [7]
            [Reenqueue, LookupCoordinator, LookupCoordinator, LookupCoordinator, LookupCoordinator, LookupCoordinator]: [15, 16]
            [FatalGeneric, FatalGeneric, AbortableGeneric, FatalGeneric, AbortableCommitFailed, FatalGeneric]: [22, 25, 69, 113]
            [FatalGeneric, FatalGeneric, Abortable, FatalGeneric, FatalGeneric, FatalGeneric]: [29]
            [Abortable, FatalGeneric, AbortableGeneric, Abortable, Abortable, FatalGeneric]: [30]
            [FatalGeneric, Abortable, AbortableGeneric, FatalGeneric, FatalGeneric, FatalGeneric]: [31]
            [FatalGeneric, FatalGeneric, AbortableGeneric, FatalGeneric, Fatal, FatalGeneric]: [43]
            [FatalGeneric, FatalFenced, FatalFenced, FatalFenced, FatalFenced, FatalFenced]: [47, 90]
            [FatalGeneric, FatalGeneric, Fatal, Fatal, FatalGeneric, Fatal]: [48, 49]
            [Fatal, Abortable, Fatal, Fatal, Fatal, Fatal]: [53]
            [FatalGeneric, FatalGeneric, AbortableIfPossible, AbortableIfPossible, FatalGeneric, AbortableIfPossible]: [59]
            [FatalGeneric, FatalGeneric, AbortableGeneric, FatalGeneric, Abortable, FatalGeneric]: [82]
            [Abortable, Abortable, Abortable, Abortable, Abortable, AbortableUnlessAbort]: [120]
        "#]].assert_eq(&text);
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
