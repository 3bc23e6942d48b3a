//! The broker carries out what its transaction coordinator decides.
//!
//! Kafka counterpart: `TransactionStateManager`'s calls into `ReplicaManager`,
//! `TransactionMarkerChannelManager`'s network client, `RPCProducerIdManager`'s controller channel.
//! Durability is a message: the coordinator hears of an append only when it is replicated or has
//! failed.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_actor::{RequestToken, TimerKey};
use eosim_storage::{AppendOrigin, UnifiedLog, VerificationGuard};
use eosim_transaction_coordinator::{
    Action, AppendId, CoordinatorTimer, Ctx, ReplyTo, TransactionCoordinator,
};
use eosim_types::message::{
    AllocateProducerIdsRequest, FindCoordinatorRequest, FindCoordinatorResponse, Message, Request,
    Response, WriteTxnMarkersResponse,
};
use eosim_types::record::{Payload, RecordBatch, TransactionLogRecord};
use eosim_types::{
    BrokerId, CoordinatorEpoch, Defect, Duration, ErrorCode, Few, Instant, LeaderEpoch,
    ProducerEpoch, ProducerId, Sequence, Topic, TopicPartition, rule,
};

use crate::io::Io;
use crate::network::{Call, lane};
use crate::replica_manager::ReplicaManager;
use crate::replica_manager::append::AppendOptions;
use crate::replica_manager::delayed_operation::{Appender, ProducePartitionStatus};
use crate::replica_manager::roles::LeadershipChange;
use crate::timers::{BROKER_TIMERS, Timer};

/// A change of roles of which the coordinator has not heard yet (C-LK-4).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Election {
    at: Instant,
    partition: i32,
    change: LeadershipChange,
}

/// Pause before a load that failed is tried again; Kafka has no such thing.
const LOAD_RETRY_BACKOFF: Duration = Duration::from_millis(100);

/// A partition that waits to be read (C-LOAD-2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Load {
    at: Instant,
    partition: i32,
    coordinator_epoch: CoordinatorEpoch,
}

/// The transaction coordinator with its surroundings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TransactionCoordinatorService {
    pub(crate) coordinator: TransactionCoordinator,
    actions: Vec<Action>,
    elections: VecDeque<Election>,
    loads: VecDeque<Load>,
}

impl TransactionCoordinatorService {
    /// The service of `broker`, not yet started.
    pub(crate) fn new(broker: BrokerId) -> Self {
        Self {
            coordinator: TransactionCoordinator::new(broker),
            actions: Vec::new(),
            elections: VecDeque::new(),
            loads: VecDeque::new(),
        }
    }

    /// Forgets everything; memory is kept.
    pub(crate) fn reset(&mut self) {
        self.coordinator.reset();
        self.actions.clear();
        self.elections.clear();
        self.loads.clear();
    }

    fn parts<'a>(&'a mut self, io: &'a mut Io<'_>) -> (&'a mut TransactionCoordinator, Ctx<'a>) {
        let ctx = Ctx {
            env: io.env.reborrow(),
            metadata: io.image,
            names: &io.spec.names,
            config: &io.spec.config,
            actions: &mut self.actions,
        };
        (&mut self.coordinator, ctx)
    }

    /// The process has its first metadata.
    pub(crate) fn start(&mut self, io: &mut Io<'_>) {
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.start(&mut ctx);
    }

    /// The replica of a partition has changed its role; the coordinator hears of it later.
    pub(crate) fn on_leadership_change(
        &mut self,
        io: &mut Io<'_>,
        partition: i32,
        change: LeadershipChange,
    ) {
        let at = io.now() + io.spec.config.transaction_state_election_delay;
        self.elections.push_back(Election { at, partition, change });
        self.run_elections(io, io.now());
    }

    /// The coordinator hears of all changes of roles that were to wait until `now` at most.
    fn run_elections(&mut self, io: &mut Io<'_>, now: Instant) {
        while self.elections.front().is_some_and(|election| election.at <= now) {
            if let Some(election) = self.elections.pop_front() {
                self.change_leadership(io, election.partition, election.change);
            }
        }
        if let Some(election) = self.elections.front() {
            rule!(io.env, "C-LK-4");
            io.wake_at(Timer::TransactionStateLoad, election.at);
        }
    }

    /// C-LOAD-1.
    fn change_leadership(&mut self, io: &mut Io<'_>, partition: i32, change: LeadershipChange) {
        let (coordinator, mut ctx) = self.parts(io);
        match change {
            LeadershipChange::Elected(epoch) => coordinator.on_elected(&mut ctx, partition, epoch),
            LeadershipChange::Resigned(epoch) => {
                coordinator.on_resigned(&mut ctx, partition, Some(epoch));
            }
            LeadershipChange::Removed => coordinator.on_resigned(&mut ctx, partition, None),
        }
    }

    /// The metadata have changed.
    pub(crate) fn on_metadata(&mut self, io: &mut Io<'_>) {
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.on_metadata(&mut ctx);
    }

    /// A request for the coordinator.
    pub(crate) fn handle_request(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: Request,
    ) {
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.handle_request(&mut ctx, ReplyTo(token.0), request);
    }

    /// Who coordinates a transactional id (C-PART-5)?
    pub(crate) fn find_coordinator(
        &mut self,
        io: &mut Io<'_>,
        request: FindCoordinatorRequest,
    ) -> FindCoordinatorResponse {
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.find_coordinator(&mut ctx, request)
    }

    /// A partition of `__transaction_state` has changed.
    pub(crate) fn on_log_change(&mut self, io: &mut Io<'_>, partition: i32, confirmed: i64) {
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.on_confirmed(&mut ctx, partition, confirmed);
    }

    /// Markers were answered, or the connection broke.
    pub(crate) fn on_marker_response(
        &mut self,
        io: &mut Io<'_>,
        broker: BrokerId,
        correlation: u32,
        response: Option<&WriteTxnMarkersResponse>,
    ) {
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.on_marker_response(&mut ctx, broker, correlation, response);
    }

    /// The controller has answered, or the connection broke.
    pub(crate) fn on_producer_ids(&mut self, io: &mut Io<'_>, response: Option<&Response>) {
        let (coordinator, mut ctx) = self.parts(io);
        let response = match response {
            Some(Response::AllocateProducerIds(response)) => Some(response),
            _ => None,
        };
        coordinator.on_producer_ids(&mut ctx, response);
    }

    /// One of the coordinator's timers has fired.
    pub(crate) fn on_timer(&mut self, io: &mut Io<'_>, key: TimerKey) {
        let place = key.0.checked_sub(BROKER_TIMERS).map(usize::from);
        let Some(&timer) = place.and_then(|place| CoordinatorTimer::ALL.get(place)) else { return };
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.on_timer(&mut ctx, timer);
    }

    /// Looks for transactions and ids that have expired.
    pub(crate) fn keep_house(&mut self, io: &mut Io<'_>) {
        let (coordinator, mut ctx) = self.parts(io);
        coordinator.on_timer(&mut ctx, CoordinatorTimer::AbortTimedOutTransactions);
        coordinator.on_timer(&mut ctx, CoordinatorTimer::RemoveExpiredTransactionalIds);
    }

    /// Hands over appends that have ended and carries out what was decided. True if there was
    /// anything.
    #[inline]
    pub(crate) fn run(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager) -> bool {
        let any = !replicas.finished_appends.is_empty() || !self.actions.is_empty();
        if any {
            self.run_appends_and_actions(io, replicas);
        }
        any
    }

    fn run_appends_and_actions(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager) {
        for (id, error) in replicas.finished_appends.drain(..) {
            let (coordinator, mut ctx) = self.parts(io);
            coordinator.on_append_result(&mut ctx, id, error);
        }
        let mut actions = core::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            self.carry_out(io, replicas, action);
        }
        debug_assert!(self.actions.is_empty(), "what is carried out decides nothing");
        self.actions = actions;
    }

    fn carry_out(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager, action: Action) {
        match action {
            Action::Reply { to, response } => {
                io.out.respond(RequestToken(to.0), Message::Response(response));
            }
            Action::Append { id, partition, coordinator_epoch, records, timeout } => {
                let tp = TopicPartition::new(Topic::TRANSACTION_STATE, partition);
                append(io, replicas, (id, tp, coordinator_epoch), records, timeout);
            }
            Action::Load { partition, coordinator_epoch } => {
                let at = io.now() + io.spec.config.transaction_state_load_delay;
                self.loads.push_back(Load { at, partition, coordinator_epoch });
                io.wake_at(Timer::TransactionStateLoad, at);
            }
            Action::SendMarkers { broker, request, correlation } => {
                let call = Call::WriteTxnMarkers { broker, correlation };
                io.send(broker, lane::TRANSACTION_MARKERS, call, request);
            }
            Action::AllocateProducerIds => {
                let (broker, broker_epoch) = (io.spec.id, io.broker_epoch);
                let request = AllocateProducerIdsRequest { broker, broker_epoch };
                io.send_to_controller(lane::CONTROLLER, Call::AllocateProducerIds, request);
            }
            Action::SetTimer { timer, at } => {
                let place = CoordinatorTimer::ALL.iter().position(|&known| known == timer);
                let place = place.and_then(|place| u16::try_from(place).ok()).unwrap_or_default();
                io.out.set_timer(TimerKey(BROKER_TIMERS + place), at);
            }
        }
    }

    /// Takes over, then reads the partitions whose time has come (C-LOAD-3).
    pub(crate) fn run_loads(&mut self, io: &mut Io<'_>, replicas: &ReplicaManager) {
        self.run_elections(io, io.now());
        while self.loads.front().is_some_and(|load| load.at <= io.now()) {
            if let Some(load) = self.loads.pop_front() {
                self.load(io, replicas, &load);
            }
        }
        if let Some(load) = self.loads.front() {
            io.wake_at(Timer::TransactionStateLoad, load.at);
        }
    }

    /// Takes over and reads every partition at once: the run begins in a settled cluster.
    pub(crate) fn load_all(&mut self, io: &mut Io<'_>, replicas: &mut ReplicaManager) {
        self.run_elections(io, Instant::FAR);
        self.run(io, replicas);
        for load in core::mem::take(&mut self.loads) {
            self.load(io, replicas, &load);
        }
    }

    /// A load that failed is tried again, and the partition stays loading until one succeeds. Other
    /// loads wait: one of a later leader epoch must not come first (C-LOAD-8).
    fn load_again(&mut self, io: &mut Io<'_>, load: &Load) {
        let at = io.now() + LOAD_RETRY_BACKOFF;
        self.loads.push_front(Load { at, ..load.clone() });
    }

    /// A replica that leads no more has nothing to read.
    fn load(&mut self, io: &mut Io<'_>, replicas: &ReplicaManager, load: &Load) {
        let tp = TopicPartition::new(Topic::TRANSACTION_STATE, load.partition);
        let led = replicas.partitions.get(tp).filter(|partition| partition.is_leader());
        let readable = led.map_or(usize::MAX, |led| readable_batches(io, &led.log));
        let cut_short = readable < usize::MAX;
        if cut_short && !io.env.on(Defect::UpstreamCoordinatorPartialLoadInstalled) {
            return self.load_again(io, load);
        }
        let (coordinator, mut ctx) = self.parts(io);
        let (epoch, partition) = (load.coordinator_epoch, load.partition);
        let Some(led) = led else {
            return coordinator.on_loaded(&mut ctx, partition, epoch, [], -1, -1);
        };
        let log = &led.log;
        let records = log.batches().take(readable).flat_map(transaction_log_records);
        let (end, confirmed) = (log.log_end_offset(), led.confirmed_high_watermark());
        coordinator.on_loaded(&mut ctx, partition, epoch, records, end, confirmed);
    }
}

/// How many batches a load reads: all, unless a read fails, whatever the reason (C-LOAD-4).
fn readable_batches(io: &mut Io<'_>, log: &UnifiedLog) -> usize {
    let count = log.batches().count();
    let Some(percent) = (count > 0).then(|| io.disk.load()).flatten() else { return usize::MAX };
    rule!(io.env, "C-LOAD-4");
    rule!(io.env, "H-6");
    count * usize::from(percent) / 100
}

fn transaction_log_records(batch: &RecordBatch) -> &[TransactionLogRecord] {
    match &batch.payload {
        Payload::TransactionLog(records) => records,
        _ => &[],
    }
}

/// Appends to `__transaction_state` with acks = -1 (C-APP-3).
fn append(
    io: &mut Io<'_>,
    replicas: &mut ReplicaManager,
    (id, tp, coordinator_epoch): (AppendId, TopicPartition, CoordinatorEpoch),
    records: Arc<[TransactionLogRecord]>,
    timeout: Duration,
) {
    let current = replicas.partitions.get(tp).map(|partition| partition.leader_epoch);
    let result = if current == Some(LeaderEpoch(coordinator_epoch.0)) {
        let options = AppendOptions {
            origin: AppendOrigin::Coordinator,
            acks: -1,
            internal_topics_allowed: true,
            verification_guard: VerificationGuard::SENTINEL,
            transaction_version: None,
        };
        replicas.append_to_local_log(io, tp, transaction_log_batch(io, records), options)
    } else {
        Err(ErrorCode::NotLeaderOrFollower.into())
    };
    let status = Few::One(ProducePartitionStatus::new(tp, result));
    replicas.await_replication(io, Appender::TransactionLog(id), timeout, status);
}

/// One batch without a producer id (C-APP-1).
fn transaction_log_batch(io: &Io<'_>, records: Arc<[TransactionLogRecord]>) -> RecordBatch {
    RecordBatch {
        base_offset: 0,
        last_offset_delta: i32::try_from(records.len()).unwrap_or(i32::MAX) - 1,
        partition_leader_epoch: LeaderEpoch::NONE,
        is_transactional: false,
        max_timestamp: io.env.clock_ms(),
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        base_sequence: Sequence::NONE,
        payload: Payload::TransactionLog(records),
    }
}
