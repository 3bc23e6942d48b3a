//! The broker carries out what its group coordinator decides.
//!
//! Kafka counterpart: `GroupCoordinatorService` over `CoordinatorPartitionWriter` and
//! `CoordinatorLoaderImpl`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_group_coordinator::{Action, Cx, GroupCoordinator, PreparedWrite, ReplyTo};
use eosim_storage::{AppendOrigin, VerificationGuard};
use eosim_types::message::{Message, Request, TxnOffsetCommitRequest, TxnOffsetCommitResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::record::RecordBatch;
use eosim_types::{LeaderEpoch, Topic, TopicPartition, rule};

use crate::io::Io;
use crate::replica_manager::ReplicaManager;
use crate::replica_manager::append::AppendOptions;
use crate::replica_manager::roles::LeadershipChange;
use crate::replica_manager::transactional_offsets::PendingOffsetCommit;
use crate::timers::Timer;

/// The group coordinator with its surroundings.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct GroupCoordinatorBridge {
    pub(crate) coordinator: GroupCoordinator,
    actions: Vec<Action>,
}

impl GroupCoordinatorBridge {
    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        self.coordinator.reset();
        self.actions.clear();
    }

    fn parts<'a>(&'a mut self, io: &'a mut Io<'_>) -> (&'a mut GroupCoordinator, Cx<'a>) {
        let cx = Cx {
            env: io.env.reborrow(),
            metadata: io.image,
            names: &io.spec.names,
            config: &io.spec.config,
            actions: &mut self.actions,
        };
        (&mut self.coordinator, cx)
    }

    /// The replicas of an offsets partition have changed roles.
    pub(crate) fn on_leadership_change(
        &mut self,
        io: &mut Io<'_>,
        partition: i32,
        change: LeadershipChange,
    ) {
        let (coordinator, mut cx) = self.parts(io);
        match change {
            LeadershipChange::Elected(epoch) => {
                coordinator.on_elected(&mut cx, partition, LeaderEpoch(epoch.0));
            }
            LeadershipChange::Resigned(_) | LeadershipChange::Removed => {
                coordinator.on_resigned(&mut cx, partition);
            }
        }
    }

    /// An offsets partition that this broker leads has changed.
    pub(crate) fn on_log_change(&mut self, io: &mut Io<'_>, partition: i32, high_watermark: i64) {
        let (coordinator, mut cx) = self.parts(io);
        coordinator.on_high_watermark(&mut cx, partition, high_watermark);
    }

    /// A deadline of some group or commit has passed.
    pub(crate) fn on_timer(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager) {
        loop {
            let (coordinator, mut cx) = self.parts(io);
            let Some(prepared) = coordinator.on_timer(&mut cx) else { return };
            self.append(io, replicas, prepared, VerificationGuard::SENTINEL);
        }
    }

    /// Partitions that `before` had are gone (G-INT-6).
    pub(crate) fn on_metadata(
        &mut self,
        io: &mut Io<'_>,
        replicas: &mut ReplicaManager,
        before: &MetadataImage,
    ) {
        let after = io.image.clone();
        let is_gone = |tp: &&TopicPartition| !after.partitions.contains_key(*tp);
        let gone: BTreeSet<_> = before.partitions.keys().filter(is_gone).copied().collect();
        if gone.is_empty() {
            return;
        }
        let (coordinator, mut cx) = self.parts(io);
        for prepared in coordinator.on_partitions_deleted(&mut cx, &gone) {
            self.append(io, replicas, prepared, VerificationGuard::SENTINEL);
        }
    }

    /// A request about groups or offsets.
    pub(crate) fn handle_request(
        &mut self,
        io: &mut Io<'_>,
        replicas: &mut ReplicaManager,
        token: RequestToken,
        request: Request,
    ) {
        if let Request::TxnOffsetCommit(request) = request {
            return self.begin_txn_offset_commit(io, replicas, token, request);
        }
        let (coordinator, mut cx) = self.parts(io);
        let prepared = dispatch(coordinator, &mut cx, ReplyTo(token.0), &request);
        if let Some(prepared) = prepared {
            self.append(io, replicas, prepared, VerificationGuard::SENTINEL);
        }
    }

    /// Steps 2 to 4 of G-OFF: what is unknown is answered for itself, the rest is verified.
    fn begin_txn_offset_commit(
        &mut self,
        io: &mut Io<'_>,
        replicas: &mut ReplicaManager,
        token: RequestToken,
        request: TxnOffsetCommitRequest,
    ) {
        let (_, cx) = self.parts(io);
        let outcomes = GroupCoordinator::validate_txn_offset_commit(&cx, &request);
        if outcomes.iter().all(|(_, outcome)| !outcome.is_none()) {
            return io.respond(token, TxnOffsetCommitResponse { partitions: outcomes });
        }
        let partition = GroupCoordinator::partition_of(&io.spec.names, io.image, request.group);
        let tp = TopicPartition::new(Topic::CONSUMER_OFFSETS, partition);
        let commit = PendingOffsetCommit { token, request, outcomes };
        replicas.verify_offset_commit(io, tp, commit);
    }

    fn append(
        &mut self,
        io: &mut Io<'_>,
        replicas: &mut ReplicaManager,
        prepared: PreparedWrite,
        verification_guard: VerificationGuard,
    ) {
        let tp = TopicPartition::new(Topic::CONSUMER_OFFSETS, prepared.partition);
        rule!(io.env, "G-TV-4");
        // L-TOC-3: acks=1, so that too few replicas do not refuse it.
        let options = AppendOptions {
            origin: AppendOrigin::Coordinator,
            acks: 1,
            internal_topics_allowed: true,
            verification_guard,
            transaction_version: None,
        };
        let appended = replicas.append_to_local_log(io, tp, prepared.batch.clone(), options);
        let appended = appended.map(|info| info.first_offset).map_err(|refused| refused.error);
        let (coordinator, mut cx) = self.parts(io);
        coordinator.finish_write(&mut cx, prepared, appended);
    }

    /// Goes on with what was verified or written, and carries out what was decided. True if there
    /// was anything.
    pub(crate) fn run(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager) -> bool {
        let nothing = replicas.verified_commits.is_empty()
            && replicas.offset_markers.is_empty()
            && self.actions.is_empty();
        if nothing {
            return false;
        }
        for verified in core::mem::take(&mut replicas.verified_commits) {
            let PendingOffsetCommit { token, request, outcomes } = verified.commit;
            let (coordinator, mut cx) = self.parts(io);
            let to = ReplyTo(token.0);
            let outcome = verified.verified;
            let prepared =
                coordinator.prepare_txn_offset_commit(&mut cx, to, &request, outcomes, outcome);
            if let Some(prepared) = prepared {
                self.append(io, replicas, prepared, verified.guard);
            }
        }
        for (partition, batch) in core::mem::take(&mut replicas.offset_markers) {
            self.marker_appended(io, replicas, partition, &batch);
        }
        for action in core::mem::take(&mut self.actions) {
            self.carry_out(io, replicas, action);
        }
        true
    }

    fn marker_appended(
        &mut self,
        io: &mut Io<'_>,
        replicas: &mut ReplicaManager,
        partition: i32,
        batch: &RecordBatch,
    ) {
        let (coordinator, mut cx) = self.parts(io);
        coordinator.on_marker_appended(&mut cx, partition, batch);
        replicas.note_change(TopicPartition::new(Topic::CONSUMER_OFFSETS, partition));
    }

    fn carry_out(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager, action: Action) {
        match action {
            Action::Reply { to, response } => {
                io.out.respond(RequestToken(to.0), Message::Response(response));
            }
            Action::SetTimer { at } => io.wake_at(Timer::GroupCoordinator, at),
            Action::Load { partition, leader_epoch } => {
                let tp = TopicPartition::new(Topic::CONSUMER_OFFSETS, partition);
                let Some(led) = replicas.partitions.get(tp) else { return };
                let high_watermark = led.log.high_watermark();
                let (coordinator, mut cx) = self.parts(io);
                let batches = led.log.batches();
                coordinator.on_loaded(&mut cx, partition, leader_epoch, batches, high_watermark);
            }
        }
    }
}

/// What a request about groups or offsets wants written, if anything.
fn dispatch(
    coordinator: &mut GroupCoordinator,
    cx: &mut Cx<'_>,
    to: ReplyTo,
    request: &Request,
) -> Option<PreparedWrite> {
    match request {
        Request::OffsetCommit(request) => coordinator.prepare_offset_commit(cx, to, request),
        Request::OffsetFetch(request) => {
            coordinator.offset_fetch(cx, to, request);
            None
        }
        Request::OffsetDelete(request) => coordinator.offset_delete(cx, to, request),
        Request::DeleteGroups(request) => coordinator.delete_group(cx, to, request),
        Request::JoinGroup(request) => coordinator.join_group(cx, to, request),
        Request::SyncGroup(request) => coordinator.sync_group(cx, to, request),
        Request::Heartbeat(request) => {
            coordinator.heartbeat(cx, to, request);
            None
        }
        Request::LeaveGroup(request) => coordinator.leave_group(cx, to, request),
        Request::ConsumerGroupHeartbeat(request) => {
            coordinator.consumer_group_heartbeat(cx, to, request)
        }
        other => panic!("{} is not about groups", other.api().name()),
    }
}
