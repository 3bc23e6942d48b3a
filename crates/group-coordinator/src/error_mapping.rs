//! How errors of the log and of the transaction coordinator reach clients of the group
//! coordinator (`CoordinatorOperationExceptionHelper`).

use alloc::vec::Vec;

use eosim_types::ErrorCode;
use eosim_types::message::{PerPartition, Response};

/// What a client of an offset commit sees of `error` (L-TOC-2, G-OFF-6).
#[must_use]
pub const fn txn_offset_commit_error(error: ErrorCode, version: i16) -> ErrorCode {
    use ErrorCode as E;
    let mapped = match error {
        E::NetworkException => E::CoordinatorLoadInProgress,
        E::UnknownTopicOrPartition | E::NotEnoughReplicas | E::RequestTimedOut => {
            E::CoordinatorNotAvailable
        }
        E::NotLeaderOrFollower | E::KafkaStorageError => E::NotCoordinator,
        E::MessageTooLarge | E::RecordListTooLarge | E::InvalidFetchSize => E::UnknownServerError,
        other => other,
    };
    match mapped {
        E::CoordinatorLoadInProgress if version < 2 => E::CoordinatorNotAvailable,
        other => other,
    }
}

/// `answer`, which was ready but must not be given, as a refusal.
///
/// # Panics
///
/// If it answers a request that is not about groups.
pub(crate) fn refused(answer: &Response, error: ErrorCode) -> Response {
    let mut refusal = answer.clone();
    match &mut refusal {
        Response::OffsetFetch(r) => (r.error, r.partitions) = (error, PerPartition::new()),
        Response::OffsetDelete(r) => (r.error, r.partitions) = (error, PerPartition::new()),
        Response::DeleteGroups(r) => r.error = error,
        Response::Heartbeat(r) => r.error = error,
        Response::LeaveGroup(r) => (r.error, r.members) = (error, Vec::new()),
        Response::JoinGroup(r) => (r.error, r.members) = (error, Vec::new()),
        Response::ConsumerGroupHeartbeat(r) => (r.error, r.assignment) = (error, None),
        other => panic!("{} does not wait for the log", other.api().name()),
    }
    refusal
}

/// What the sender of a marker sees of the group coordinator's `error` (L-WTM-5, G-MARK-1).
#[must_use]
pub const fn marker_error(error: ErrorCode) -> ErrorCode {
    use ErrorCode as E;
    match error {
        E::CoordinatorNotAvailable | E::CoordinatorLoadInProgress | E::NotCoordinator => {
            E::NotLeaderOrFollower
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorCode as E;

    #[test]
    fn errors_of_commits_are_mapped_l_toc_2_g_off_6() {
        let rows = [
            (E::NetworkException, 5, E::CoordinatorLoadInProgress),
            (E::NetworkException, 1, E::CoordinatorNotAvailable),
            (E::NotEnoughReplicas, 5, E::CoordinatorNotAvailable),
            (E::RequestTimedOut, 4, E::CoordinatorNotAvailable),
            (E::UnknownTopicOrPartition, 4, E::CoordinatorNotAvailable),
            (E::NotLeaderOrFollower, 5, E::NotCoordinator),
            (E::MessageTooLarge, 5, E::UnknownServerError),
            (E::ConcurrentTransactions, 5, E::ConcurrentTransactions),
            (E::InvalidProducerEpoch, 3, E::InvalidProducerEpoch),
        ];
        for (error, version, expected) in rows {
            assert_eq!(txn_offset_commit_error(error, version), expected, "{error} v{version}");
        }
    }

    #[test]
    fn row_79_errors_of_markers_are_mapped_l_wtm_5_g_mark_1() {
        let rows = [
            (E::CoordinatorNotAvailable, E::NotLeaderOrFollower),
            (E::CoordinatorLoadInProgress, E::NotLeaderOrFollower),
            (E::NotCoordinator, E::NotLeaderOrFollower),
            (E::RequestTimedOut, E::RequestTimedOut),
        ];
        for (error, expected) in rows {
            assert_eq!(marker_error(error), expected, "{error}");
        }
    }
}
