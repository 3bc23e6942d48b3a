//! The calls of an application and the end of their waits (`KafkaConsumer`).
//!
//! One thread calls, so there is one call at a time. Requests go out only while a call wants
//! them; what is on the wire when a call returns stays there, and a later call uses its answer
//! (K-POS-7).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{CommittableOffset, ListOffsetsTimestamp};
use eosim_types::{Duration, ErrorCode, Instant, LeaderEpoch, TopicPartition, rule};

use super::committed::Commit;
use super::offset_fetcher::ListedFor;
use super::{Consumer, PolledPartition};
use crate::exception::{Exception, ExceptionClass};
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
    /// `commitSync(offsets, timeout)`.
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
    pub(super) const fn is_poll(&self) -> bool {
        matches!(self.call, ConsumerCall::Poll { .. })
    }

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
        if let (ConsumerCall::Poll { .. }, Some(membership)) = (&call, &mut self.membership) {
            membership.last_poll = now;
        }
        self.listing = Listing::default();
        self.offsets.begin_call();
        self.waiting = Some(Waiting { call, deadline: now + timeout });
    }

    /// Takes in what the network brought and goes on with the call; what it returned or threw, if
    /// it is over.
    pub fn turn(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> Progress {
        self.take_arrivals(cx, out);
        self.keep_membership(cx, out);
        if self.callback().is_some() {
            return None;
        }
        let Waiting { call, deadline } = self.waiting.take()?;
        let is_last = cx.now() >= deadline;
        let progress = match self.refusal(&call) {
            Some(thrown) => Some(Err(thrown)),
            None => self.progress(&call, is_last, cx, out),
        };
        if progress.is_some() {
            return progress;
        }
        if is_last && self.callback().is_none() {
            return Some(match call {
                ConsumerCall::Poll { .. } => Ok(Returned::Polled(Vec::new())),
                _ => Err(Exception::timeout()),
            });
        }
        self.waiting = Some(Waiting { call, deadline });
        None
    }

    /// What `call` throws in this state whatever the brokers say.
    fn refusal(&self, call: &ConsumerCall) -> Option<Exception> {
        match call {
            ConsumerCall::Poll { .. } if self.assigned.is_empty() && self.membership.is_none() => {
                Some(Exception::illegal_state())
            }
            ConsumerCall::Position { partition } => self.check_assigned(*partition).err(),
            ConsumerCall::Committed { .. } | ConsumerCall::CommitSync { .. }
                if self.config.group.is_none() =>
            {
                Some(Exception::of(ErrorCode::InvalidGroupId))
            }
            _ => None,
        }
    }

    pub(super) fn check_assigned(&self, partition: TopicPartition) -> Result<(), Exception> {
        if self.assigned(partition).is_some() { Ok(()) } else { Err(Exception::illegal_state()) }
    }

    fn progress(
        &mut self,
        call: &ConsumerCall,
        is_last: bool,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Progress {
        let progress = match call {
            ConsumerCall::Poll { .. } => self.poll_once(is_last, cx, out),
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
    /// returned. While committed offsets are awaited nothing is fetched, unless the time is over.
    fn poll_once(&mut self, is_last: bool, cx: &mut Cx<'_>, out: &mut ClientOut) -> Progress {
        if let Err(thrown) = self.poll_membership(cx, out) {
            return Some(Err(thrown));
        }
        if self.callback().is_some() {
            return None;
        }
        match self.update_fetch_positions(cx, out) {
            Err(thrown) => return Some(Err(thrown)),
            Ok(false) if !is_last => return None,
            Ok(_) => {}
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
        if let Some(position) = self.valid_position(partition) {
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
        let committed = self.committed_offsets(&[partition], cx, out);
        let of = |committed: BTreeMap<_, Option<(i64, LeaderEpoch)>>| {
            committed.get(&partition).copied().flatten().map(|(offset, _)| offset)
        };
        let returned = committed.map(|known| known.map(of));
        returned.map(|known| known.map(Returned::Committed)).transpose()
    }

    fn commit(
        &mut self,
        offsets: &[CommittableOffset],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Progress {
        match self.offsets.take_commit() {
            Commit::Ended(result) => Some(result.map(|()| Returned::Nothing)),
            Commit::OnTheWire(_) => None,
            Commit::Due => self.commit_sync(offsets, cx, out).err().map(Err),
        }
    }

    fn list(
        &mut self,
        partition: TopicPartition,
        timestamp: ListOffsetsTimestamp,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Progress {
        if let Some(listed) = self.listing.listed.take() {
            return Some(listed.map(Returned::Offset));
        }
        if self.listing.on_the_wire.is_none() && self.listing.retry_at <= cx.now() {
            self.lists += 1;
            let is_end = timestamp == ListOffsetsTimestamp::Latest;
            let purpose = ListedFor::Call { number: self.lists, is_end };
            let sent = self.send_lists(&[(partition, timestamp)], purpose, cx, out);
            self.listing.on_the_wire = (!sent.is_empty()).then_some(self.lists);
        }
        None
    }

    /// `currentLag()` (K-OFF-3): if the end is unknown it is asked for, without waiting.
    ///
    /// # Errors
    ///
    /// `IllegalStateException` if the partition is not assigned.
    pub fn lag(
        &mut self,
        partition: TopicPartition,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<Option<i64>, Exception> {
        rule!(cx.env, "K-OFF-3");
        self.check_assigned(partition)?;
        let leader = self.metadata.leader(partition);
        if self.bound(partition).is_none()
            && let Some((node, _)) = leader
            && self.client.is_connected(node)
            && !self.is_asking_for_lag
        {
            let latest = [(partition, ListOffsetsTimestamp::Latest)];
            self.is_asking_for_lag = !self.send_lists(&latest, ListedFor::Lag, cx, out).is_empty();
        }
        Ok(self.current_lag(partition))
    }

    /// `seekToEnd()`: the position is looked up when it is needed.
    ///
    /// # Errors
    ///
    /// `IllegalStateException` if the partition is not assigned.
    pub fn seek_to_end(&mut self, partition: TopicPartition) -> Result<(), Exception> {
        self.seek_to(partition, ListOffsetsTimestamp::Latest)
    }

    /// `seekToBeginning()`, likewise.
    ///
    /// # Errors
    ///
    /// `IllegalStateException` if the partition is not assigned.
    pub fn seek_to_beginning(&mut self, partition: TopicPartition) -> Result<(), Exception> {
        self.seek_to(partition, ListOffsetsTimestamp::Earliest)
    }

    fn seek_to(
        &mut self,
        partition: TopicPartition,
        to: ListOffsetsTimestamp,
    ) -> Result<(), Exception> {
        self.check_assigned(partition)?;
        self.completed_fetches.retain(|fetch| fetch.partition() != partition);
        if let Some(assigned) = self.assigned_mut(partition) {
            assigned.await_reset(to);
        }
        Ok(())
    }

    /// Moves the position of `partition` (`seek`); what is buffered for it becomes stale.
    ///
    /// # Errors
    ///
    /// `IllegalArgumentException` for a negative offset, `IllegalStateException` if the partition
    /// is not assigned.
    pub fn seek(&mut self, partition: TopicPartition, offset: i64) -> Result<(), Exception> {
        if offset < 0 {
            return Err(Exception::new(ExceptionClass::IllegalArgument));
        }
        self.check_assigned(partition)?;
        self.seek_unvalidated(partition, offset, LeaderEpoch::NONE);
        self.completed_fetches.retain(|fetch| fetch.partition() != partition);
        Ok(())
    }
}

/// What `endOffsets()` or `beginningOffsets()` of the current call was told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Listing {
    /// The number of the request that is awaited.
    pub(super) on_the_wire: Option<u32>,
    pub(super) listed: Option<Result<i64, Exception>>,
    pub(super) retry_at: Instant,
}
