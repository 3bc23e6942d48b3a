//! The request Fetch, of consumers and of followers.
//!
//! Kafka counterpart: `KafkaApis#handleFetchRequest`, `ReplicaManager#fetchMessages`,
//! `DelayedFetch`. What a fetch reads stands in its session, and there it waits.

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_types::message::{FetchMetadata, FetchPartitionResponse, FetchRequest, FetchResponse};
use eosim_types::{Duration, ErrorCode, Few, TopicPartition, rule};

use super::ReplicaManager;
use super::delayed_operation::DelayedFetch;
use super::fetch_session::FetchSession;
use super::partitions::Partitions;
use crate::io::Io;
use crate::timers::Timer;

impl ReplicaManager {
    /// Answers a fetch, or parks it. Whoever has left a fetch waiting in the session is gone.
    pub(crate) fn handle_fetch(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: &FetchRequest,
    ) {
        if request.metadata.is_full()
            && let Some(left) = self.fetch_sessions.close(request.metadata.session_id)
        {
            respond_error(io, left.token, ErrorCode::InvalidFetchSessionEpoch);
        }
        let (key, session) = match self.fetch_sessions.new_context(request) {
            Ok(context) => context,
            Err(error) => return respond_error(io, token, error),
        };
        if let Some(left) = session.delayed.take() {
            respond_error(io, left.token, ErrorCode::InvalidFetchSessionEpoch);
        }
        let max_wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
        let deadline = io.now() + max_wait;
        let fetch = DelayedFetch { token, is_full: request.metadata.is_full(), deadline };
        let moved = if max_wait == Duration::ZERO || session.is_ready(io, &self.partitions) {
            let answers = self.spare_answers.take();
            let (goes_on, moved) = answer(io, session, &mut self.partitions, fetch, answers, true);
            if !goes_on {
                self.fetch_sessions.close(key);
            }
            moved
        } else {
            session.delayed = Some(fetch);
            io.wake_at(Timer::Purgatory, deadline);
            session.update_follower_fetch_states(io, &mut self.partitions)
        };
        moved.iter().for_each(|tp| self.note_change(*tp));
    }

    /// Answers the fetches that wait for `tp` and have become ready.
    pub(crate) fn complete_fetches(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        self.complete_fetches_if(io, |io, session, partitions| {
            let is_ready = session.on_change(io, partitions, tp);
            if is_ready {
                rule!(io.env, "L-FET-5");
            }
            is_ready
        });
    }

    /// Answers the fetches that have waited long enough.
    pub(crate) fn expire_fetches(&mut self, io: &mut Io<'_>) {
        self.complete_fetches_if(io, |io, session, _| {
            session.delayed.is_some_and(|fetch| fetch.deadline <= io.now())
        });
    }

    fn complete_fetches_if(
        &mut self,
        io: &mut Io<'_>,
        is_chosen: impl Fn(&mut Io<'_>, &mut FetchSession, &mut Partitions) -> bool,
    ) {
        let mut place = 0;
        while let Some((key, session)) = self.fetch_sessions.at_mut(place) {
            place += 1;
            if is_chosen(io, session, &mut self.partitions)
                && let Some(fetch) = session.delayed.take()
            {
                let answers = self.spare_answers.take();
                let (goes_on, _) = answer(io, session, &mut self.partitions, fetch, answers, false);
                if !goes_on {
                    self.fetch_sessions.close(key);
                    place -= 1;
                }
            }
        }
    }
}

/// Answers a fetch with what there is, in the list `answers`, which is empty; one that `is_new`
/// tells the leader where its follower is.
/// Returned is whether its session goes on, and whose watermarks have moved.
fn answer(
    io: &mut Io<'_>,
    session: &mut FetchSession,
    hosted: &mut Partitions,
    fetch: DelayedFetch,
    answers: Vec<FetchPartitionResponse>,
    is_new: bool,
) -> (bool, Few<TopicPartition>) {
    let partitions = session.read_from_log(io, hosted, answers, fetch.is_full);
    let moved = if is_new { session.update_follower_fetch_states(io, hosted) } else { Few::new() };
    let session_id = session.answered();
    io.respond(fetch.token, FetchResponse { error: ErrorCode::None, session_id, partitions });
    (session_id != FetchMetadata::INVALID_SESSION_ID, moved)
}

fn respond_error(io: &mut Io<'_>, token: RequestToken, error: ErrorCode) {
    io.respond(token, FetchResponse { error, ..FetchResponse::default() });
}
