//! The broker carries out what its group coordinator decides.
//!
//! Kafka counterpart: `GroupCoordinatorService` over `CoordinatorPartitionWriter` and
//! `CoordinatorLoaderImpl`.

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_group_coordinator::{Action, Cx, GroupCoordinator, GroupTimer, PreparedCommit, ReplyTo};
use eosim_storage::{AppendOrigin, VerificationGuard};
use eosim_types::message::{Message, Request, TxnOffsetCommitRequest, TxnOffsetCommitResponse};
use eosim_types::record::RecordBatch;
use eosim_types::{LeaderEpoch, Topic, TopicPartition};

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

    /// The oldest commit has waited too long.
    pub(crate) fn on_timer(&mut self, io: &mut Io<'_>) {
        let (coordinator, mut cx) = self.parts(io);
        coordinator.on_timer(&mut cx, GroupTimer::CommitTimeout);
    }

    /// A request about offsets.
    pub(crate) fn handle_request(
        &mut self,
        io: &mut Io<'_>,
        replicas: &mut ReplicaManager,
        token: RequestToken,
        request: Request,
    ) {
        let to = ReplyTo(token.0);
        let (coordinator, mut cx) = self.parts(io);
        let prepared = match request {
            Request::TxnOffsetCommit(request) => {
                return self.begin_txn_offset_commit(io, replicas, token, request);
            }
            Request::OffsetCommit(request) => {
                coordinator.prepare_offset_commit(&mut cx, to, &request)
            }
            Request::OffsetFetch(request) => {
                return coordinator.offset_fetch(&mut cx, to, &request);
            }
            other => panic!("{} is not about offsets", other.api().name()),
        };
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
        prepared: PreparedCommit,
        verification_guard: VerificationGuard,
    ) {
        let tp = TopicPartition::new(Topic::CONSUMER_OFFSETS, prepared.partition);
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
        coordinator.finish_commit(&mut cx, prepared, appended);
    }

    /// Goes on with what was verified or written, and carries out what was decided. True if there
    /// was anything.
    pub(crate) fn run(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager) -> bool {
        let mut progress = false;
        for verified in core::mem::take(&mut replicas.verified_commits) {
            progress = true;
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
            progress = true;
            self.marker_appended(io, replicas, partition, &batch);
        }
        for action in core::mem::take(&mut self.actions) {
            progress = true;
            self.carry_out(io, replicas, action);
        }
        progress
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
            Action::SetTimer { timer: GroupTimer::CommitTimeout, at } => {
                io.wake_at(Timer::OffsetsCommit, at);
            }
            Action::Load { partition, leader_epoch } => {
                let tp = TopicPartition::new(Topic::CONSUMER_OFFSETS, partition);
                let Some(led) = replicas.partitions.get(&tp) else { return };
                let high_watermark = led.log.high_watermark();
                let (coordinator, mut cx) = self.parts(io);
                let batches = led.log.batches();
                coordinator.on_loaded(&mut cx, partition, leader_epoch, batches, high_watermark);
            }
        }
    }
}
