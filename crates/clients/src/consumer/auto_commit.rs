//! `commitAsync()` and `enable.auto.commit` (`ConsumerCoordinator#maybeAutoCommitOffsetsAsync`,
//! `CommitRequestManager.AutoCommitState`).
//!
//! Invariant: what is committed by itself are positions behind what earlier calls of `poll()`
//! returned (K-POS-3), so that whatever is lost is read again.

use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::Instant;
use eosim_types::config::GroupProtocol;
use eosim_types::message::CommittableOffset;

use super::Consumer;
use super::committed::Commit;
use crate::network_client::ClientOut;

/// Commits that nobody called for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AutoCommit {
    /// When the next one is due.
    pub(super) next: Instant,
    /// The number of the one on the wire.
    pub(super) on_the_wire: Option<u32>,
    /// The one before partitions are given up, and how long it is tried.
    pub(super) before_rebalance: Option<(Commit, Instant)>,
}

impl AutoCommit {
    pub(super) const fn new() -> Self {
        Self { next: Instant::START, on_the_wire: None, before_rebalance: None }
    }
}

impl Consumer {
    /// The valid positions (`SubscriptionState#allConsumed`).
    fn all_consumed(&self) -> Vec<CommittableOffset> {
        let each = self.assigned.iter().filter_map(|assigned| {
            let position = assigned.valid_position()?;
            let (offset, leader_epoch) = (position.offset, position.offset_epoch);
            Some(CommittableOffset { partition: assigned.partition, offset, leader_epoch })
        });
        each.collect()
    }

    /// `commitAsync(offsets)`, whose outcome the application does not ask for: what fails is not
    /// repeated.
    pub fn commit_async(
        &mut self,
        offsets: &[CommittableOffset],
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let _lost = self.send_offset_commit(offsets, cx, out);
    }

    /// In every `poll()`: commits if the interval is over.
    pub(super) fn maybe_auto_commit(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let (now, auto) = (cx.now(), &self.auto_commit);
        // A member of the newer protocol waits for the answer first.
        let waits = self.config.group_protocol == GroupProtocol::Consumer
            && (auto.on_the_wire.is_some() || auto.before_rebalance.is_some());
        if !self.config.enable_auto_commit || self.membership.is_none() || auto.next > now || waits
        {
            return;
        }
        let offsets = self.all_consumed();
        self.auto_commit.next = now + self.config.auto_commit_interval;
        if offsets.is_empty() {
            return;
        }
        match self.send_offset_commit(&offsets, cx, out) {
            Ok(Some(number)) => self.auto_commit.on_the_wire = Some(number),
            Ok(None) => self.auto_commit.next = now + self.config.retry_backoff,
            Err(_) => {}
        }
    }

    /// Commits before partitions are given up (`maybeAutoCommitOffsetsAsync` in `onJoinPrepare`,
    /// `maybeAutoCommitSyncBeforeRebalance`); `true` when it is over, well or not.
    pub(super) fn auto_committed_before_rebalance(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> bool {
        if !self.config.enable_auto_commit {
            return true;
        }
        let longest = cx.now() + self.config.max_poll_interval;
        let begun = self.auto_commit.before_rebalance.take();
        let (commit, deadline) = begun.unwrap_or((Commit::Due, longest));
        let commit = match commit {
            Commit::Due => self.commit_before_rebalance(cx, out),
            commit => commit,
        };
        if matches!(commit, Commit::Ended(_)) || cx.now() >= deadline {
            return true;
        }
        self.auto_commit.before_rebalance = Some((commit, deadline));
        false
    }

    fn commit_before_rebalance(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> Commit {
        let offsets = self.all_consumed();
        if offsets.is_empty() {
            return Commit::Ended(Ok(()));
        }
        match self.send_offset_commit(&offsets, cx, out) {
            Ok(Some(number)) => Commit::OnTheWire(number),
            Ok(None) => Commit::Due,
            Err(thrown) => Commit::Ended(Err(thrown)),
        }
    }

    /// Before the member leaves; nobody waits for the answer.
    pub(super) fn auto_commit_at_close(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let offsets = self.all_consumed();
        if self.config.enable_auto_commit && !offsets.is_empty() {
            let _lost = self.send_offset_commit(&offsets, cx, out);
        }
    }
}
