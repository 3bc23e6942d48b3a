//! The calls of an application and the end of their waits (`KafkaConsumer`).
//!
//! One thread calls, so there is one call at a time. Requests go out only while a call wants
//! them; what is on the wire when a call returns stays there, and a later call uses its answer
//! (K-POS-7).

use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{CommittableOffset, ListOffsetsTimestamp};
use eosim_types::{Duration, Instant, TopicPartition, rule};

use super::committed::Commit;
use super::offset_fetcher::ListedFor;
use super::{Consumer, PolledPartition};
use crate::exception::Exception;
use crate::network_client::ClientOut;

/// A call that may wait.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConsumerCall {
    /// `poll(timeout)`.
    Poll {
        /// How long it waits for something to return.
        timeout: Duration,
    },
    /// `position()`.
    Position {
        /// Of which partition.
        partition: TopicPartition,
    },
    /// `committed(timeout)`.
    Committed {
        /// Of which partition.
        partition: TopicPartition,
        /// How long it waits.
        timeout: Duration,
    },
    /// `commitSync(offsets, timeout)` of a consumer that is no member.
    CommitSync {
        /// What is committed.
        offsets: Vec<CommittableOffset>,
        /// How long it waits.
        timeout: Duration,
    },
    /// `endOffsets()`.
    EndOffsets {
        /// Of which partition.
        partition: TopicPartition,
    },
    /// `beginningOffsets()`.
    BeginningOffsets {
        /// Of which partition.
        partition: TopicPartition,
    },
}

/// What a call returns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Returned {
    /// `poll()`: what moved a position; nothing if the time was over.
    Polled(Vec<PolledPartition>),
    /// An offset.
    Offset(i64),
    /// A committed offset, if there is one.
    Committed(Option<i64>),
    /// Nothing.
    Nothing,
}

/// A call that has not returned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Waiting {
    call: ConsumerCall,
    deadline: Instant,
}

impl Waiting {
    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }
}

type Progress = Option<Result<Returned, Exception>>;

impl Consumer {
    /// Begins `call`; [`Self::turn`] tells how it ends.
    ///
    /// # Panics
    ///
    /// If another call has not returned.
    pub fn call(&mut self, call: ConsumerCall, now: Instant) {
        assert!(self.waiting.is_none(), "a consumer is not for several threads");
        let timeout = match &call {
            ConsumerCall::Poll { timeout }
            | ConsumerCall::Committed { timeout, .. }
            | ConsumerCall::CommitSync { timeout, .. } => *timeout,
            _ => self.config.default_api_timeout,
        };
        self.listed = None;
        self.offsets.begin_call();
        self.waiting = Some(Waiting { call, deadline: now + timeout });
    }

    /// Takes in what the network brought and goes on with the call; what it returned or threw, if
    /// it is over.
    pub fn turn(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> Progress {
        self.take_arrivals(cx, out);
        let Waiting { call, deadline } = self.waiting.take()?;
        let progress = self.progress(&call, cx, out);
        if progress.is_some() {
            return progress;
        }
        if cx.now() >= deadline {
            return Some(match call {
                ConsumerCall::Poll { .. } => Ok(Returned::Polled(Vec::new())),
                _ => Err(Exception::timeout()),
            });
        }
        self.waiting = Some(Waiting { call, deadline });
        None
    }

    fn progress(&mut self, call: &ConsumerCall, cx: &mut Cx<'_>, out: &mut ClientOut) -> Progress {
        let progress = match call {
            ConsumerCall::Poll { .. } => self.poll_once(cx, out),
            ConsumerCall::Position { partition } => self.find_position(*partition, cx, out),
            ConsumerCall::Committed { partition, .. } => self.find_committed(*partition, cx, out),
            ConsumerCall::CommitSync { offsets, .. } => self.commit(offsets, cx, out),
            ConsumerCall::EndOffsets { partition } => {
                self.list(*partition, ListOffsetsTimestamp::Latest, cx, out)
            }
            ConsumerCall::BeginningOffsets { partition } => {
                self.list(*partition, ListOffsetsTimestamp::Earliest, cx, out)
            }
        };
        self.send_metadata_request(cx, out);
        progress
    }

    /// `updateFetchPositions`, `pollForFetches`: what is fetched next goes out before anything is
    /// returned.
    fn poll_once(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> Progress {
        if let Err(thrown) = self.update_fetch_positions(cx, out) {
            return Some(Err(thrown));
        }
        let mut polled = Vec::new();
        if let Err(thrown) = self.poll(cx, &mut polled) {
            return Some(Err(thrown));
        }
        self.send_fetches(cx, out);
        (!polled.is_empty()).then_some(Ok(Returned::Polled(polled)))
    }

    fn find_position(
        &mut self,
        partition: TopicPartition,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Progress {
        if let Some(position) = self.position(partition) {
            return Some(Ok(Returned::Offset(position)));
        }
        self.update_fetch_positions(cx, out).err().map(Err)
    }

    fn find_committed(
        &mut self,
        partition: TopicPartition,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Progress {
        match self.offsets.take_fetched(partition) {
            Some(result) => Some(result.map(Returned::Committed)),
            None => {
                self.send_offset_fetch(&[partition], cx, out);
                None
            }
        }
    }

    fn commit(
        &mut self,
        offsets: &[CommittableOffset],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Progress {
        match self.offsets.take_commit() {
            Commit::Ended(result) => Some(result.map(|()| Returned::Nothing)),
            Commit::OnTheWire => None,
            Commit::Due => {
                self.send_offset_commit(offsets, cx, out);
                None
            }
        }
    }

    fn list(
        &mut self,
        partition: TopicPartition,
        timestamp: ListOffsetsTimestamp,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Progress {
        if let Some(error) = self.list_error.take() {
            return Some(Err(error));
        }
        if let Some(offset) = self.listed.take() {
            return Some(Ok(Returned::Offset(offset)));
        }
        if !self.is_listing && self.retry_list_at <= cx.now() {
            self.is_listing = self.send_list(partition, timestamp, ListedFor::Call, cx, out);
        }
        None
    }

    /// `currentLag()` (K-OFF-3): if the end is unknown it is asked for, without waiting.
    pub fn lag(
        &mut self,
        partition: TopicPartition,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Option<i64> {
        rule!(cx.env, "K-OFF-3");
        let known = self.current_lag(partition);
        let leader = self.metadata.leader(partition);
        if known.is_none()
            && self.position(partition).is_some()
            && let Some((node, _)) = leader
            && self.client.is_connected(node)
            && !self.is_asking_for_lag
        {
            let latest = ListOffsetsTimestamp::Latest;
            self.is_asking_for_lag = self.send_list(partition, latest, ListedFor::Lag, cx, out);
        }
        known
    }

    /// `seekToEnd()`: the position is looked up when it is needed.
    pub fn seek_to_end(&mut self, partition: TopicPartition) {
        self.completed_fetches.retain(|fetch| fetch.partition() != partition);
        if let Some(assigned) = self.assigned_mut(partition) {
            assigned.await_reset(ListOffsetsTimestamp::Latest);
        }
    }
}
