//! A coordinator of one offsets partition over a log that the test looks after.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::assignor::Assignor;
use eosim_types::config::BrokerConfig;
use eosim_types::message::*;
use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::record::{EndTransactionMarker, Payload, RecordBatch, TransactionResult};
use eosim_types::version::KafkaVersion;
use eosim_types::{
    BrokerId, CoordinatorEpoch, DefectSet, Duration, Env, ErrorCode, GroupId, Instant, LeaderEpoch,
    Marks, Names, ProducerEpoch, ProducerId, Sequence, Topic, TopicPartition, TransactionalId,
};

use crate::group_state::GroupState;
use crate::{Action, Cx, GroupCoordinator, PreparedWrite, ReplyTo};

/// The group of the tests.
pub(super) const GROUP: GroupId = GroupId(1);
/// The topic of the tests; two partitions.
pub(super) const T: Topic = Topic::FIRST_USER;
/// Another one.
pub(super) const U: Topic = Topic(3);

/// Partition `partition` of the topic.
pub(super) const fn t(partition: i32) -> TopicPartition {
    TopicPartition::new(T, partition)
}

/// The world of the coordinator.
pub(super) struct Bench {
    pub(super) coordinator: GroupCoordinator,
    pub(super) log: Vec<RecordBatch>,
    pub(super) now: Instant,
    pub(super) metadata: MetadataImage,
    pub(super) config: BrokerConfig,
    /// As released, like the recordings.
    pub(super) defects: DefectSet,
    /// The high watermark does not move by itself.
    pub(super) held: bool,
    /// Appends are refused.
    pub(super) broken: Option<ErrorCode>,
    high_watermark: i64,
    leader_epoch: i32,
    answers: BTreeMap<u64, Response>,
    timer: Option<Instant>,
    marks: Box<Marks>,
    names: Names,
    next: u64,
}

impl Bench {
    pub(super) fn new() -> Self {
        let mut names = Names::default();
        names.add_group("g");
        names.add_group("h");
        let partition = PartitionMetadata {
            replicas: vec![BrokerId(1)],
            isr: vec![BrokerId(1)],
            elr: Vec::new(),
            leader: Some(BrokerId(1)),
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
        };
        let offsets = TopicPartition::new(Topic::CONSUMER_OFFSETS, 0);
        let user = [t(0), t(1), TopicPartition::new(U, 0)];
        let all = user.into_iter().chain([offsets]);
        let mut bench = Self {
            coordinator: GroupCoordinator::new(),
            log: Vec::new(),
            now: Instant(1_000_000),
            metadata: MetadataImage {
                partitions: all.map(|tp| (tp, partition.clone())).collect(),
                ..MetadataImage::default()
            },
            config: BrokerConfig::default(),
            defects: DefectSet::as_released(),
            held: false,
            broken: None,
            high_watermark: 0,
            leader_epoch: 0,
            answers: BTreeMap::new(),
            timer: None,
            marks: Box::default(),
            names,
            next: 0,
        };
        bench.elect();
        bench
    }

    fn with<R>(&mut self, f: impl FnOnce(&mut GroupCoordinator, &mut Cx<'_>) -> R) -> R {
        let mut actions = Vec::new();
        let mut cx = Cx {
            env: Env {
                now: self.now,
                clock_skew_ms: 0,
                kafka: KafkaVersion::V4_4,
                backports: eosim_types::CapabilitySet::NONE,
                defects: self.defects,
                marks: &mut self.marks,
            },
            metadata: &self.metadata,
            names: &self.names,
            config: &self.config,
            actions: &mut actions,
        };
        let result = f(&mut self.coordinator, &mut cx);
        for action in actions {
            match action {
                Action::Reply { to, response } => {
                    assert!(self.answers.insert(to.0, response).is_none(), "answered once");
                }
                Action::SetTimer { at } => self.timer = Some(at),
                Action::Load { .. } => {}
            }
        }
        result
    }

    /// The coordinator is elected (again) and loads the log.
    pub(super) fn elect(&mut self) {
        self.leader_epoch += 1;
        let epoch = LeaderEpoch(self.leader_epoch);
        let (log, end) = (self.log.clone(), self.high_watermark);
        self.with(|c, cx| {
            c.on_elected(cx, 0, epoch);
            c.on_loaded(cx, 0, epoch, log.iter(), end);
        });
    }

    /// Another broker coordinates: everything that is not in the log is lost.
    pub(super) fn fail_over(&mut self) {
        self.coordinator = GroupCoordinator::new();
        self.high_watermark = self.end();
        self.elect();
    }

    /// The broker leads the partition no longer.
    pub(super) fn resign(&mut self) {
        self.with(|c, cx| c.on_resigned(cx, 0));
    }

    fn end(&self) -> i64 {
        self.log.last().map_or(0, RecordBatch::next_offset)
    }

    /// Everything in the log is committed.
    pub(super) fn replicate(&mut self) {
        self.high_watermark = self.end();
        let high_watermark = self.high_watermark;
        self.with(|c, cx| c.on_high_watermark(cx, 0, high_watermark));
    }

    fn append(&mut self, mut batch: RecordBatch) -> i64 {
        batch.base_offset = self.end();
        self.log.push(batch);
        self.log[self.log.len() - 1].base_offset
    }

    fn write(&mut self, prepared: Option<PreparedWrite>) {
        if let Some(prepared) = prepared {
            let appended = match self.broken {
                Some(error) => Err(error),
                None => Ok(self.append(prepared.batch.clone())),
            };
            self.with(|c, cx| c.finish_write(cx, prepared, appended));
        }
        if !self.held {
            self.replicate();
        }
    }

    /// Sends a request; its answer has the returned name.
    pub(super) fn send(&mut self, request: impl Into<Request>) -> u64 {
        self.next += 1;
        let (id, to) = (self.next, ReplyTo(self.next));
        let prepared = match request.into() {
            Request::TxnOffsetCommit(r) => self.with(|c, cx| {
                let outcomes = GroupCoordinator::validate_txn_offset_commit(cx, &r);
                c.prepare_txn_offset_commit(cx, to, &r, outcomes, Ok(()))
            }),
            Request::OffsetCommit(r) => self.with(|c, cx| c.prepare_offset_commit(cx, to, &r)),
            Request::OffsetFetch(r) => self.with(|c, cx| {
                c.offset_fetch(cx, to, &r);
                None
            }),
            Request::OffsetDelete(r) => self.with(|c, cx| c.offset_delete(cx, to, &r)),
            Request::DeleteGroups(r) => self.with(|c, cx| c.delete_group(cx, to, &r)),
            Request::JoinGroup(r) => self.with(|c, cx| c.join_group(cx, to, &r)),
            Request::SyncGroup(r) => self.with(|c, cx| c.sync_group(cx, to, &r)),
            Request::LeaveGroup(r) => self.with(|c, cx| c.leave_group(cx, to, &r)),
            Request::Heartbeat(r) => self.with(|c, cx| {
                c.heartbeat(cx, to, &r);
                None
            }),
            Request::ConsumerGroupHeartbeat(r) => {
                self.with(|c, cx| c.consumer_group_heartbeat(cx, to, &r))
            }
            other => panic!("{}", other.api().name()),
        };
        self.write(prepared);
        id
    }

    /// The answer, if it has come.
    pub(super) fn answer(&mut self, id: u64) -> Option<Response> {
        self.answers.remove(&id)
    }

    /// Sends a request that is answered at once.
    pub(super) fn ask(&mut self, request: impl Into<Request>) -> Response {
        let id = self.send(request);
        self.answer(id).expect("an answer at once")
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while let Some(at) = self.timer.take().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            while let Some(prepared) = self.with(GroupCoordinator::on_timer) {
                self.write(Some(prepared));
            }
            if !self.held {
                self.replicate();
            }
        }
        self.now = end;
        self.with(GroupCoordinator::on_timer);
    }

    /// A marker is written.
    pub(super) fn marker(&mut self, producer: i64, epoch: i16, result: TransactionResult) {
        let mut batch = RecordBatch {
            base_offset: 0,
            last_offset_delta: 0,
            partition_leader_epoch: LeaderEpoch(0),
            is_transactional: true,
            max_timestamp: 0,
            producer_id: ProducerId(producer),
            producer_epoch: ProducerEpoch(epoch),
            base_sequence: Sequence::NONE,
            payload: Payload::Control(EndTransactionMarker {
                result,
                coordinator_epoch: CoordinatorEpoch(0),
            }),
        };
        batch.base_offset = self.append(batch.clone());
        self.with(|c, cx| c.on_marker_appended(cx, 0, &batch));
        if !self.held {
            self.replicate();
        }
    }

    /// Partitions are deleted.
    pub(super) fn delete_partitions(&mut self, deleted: &[TopicPartition]) {
        let deleted: BTreeSet<_> = deleted.iter().copied().collect();
        for prepared in self.with(|c, cx| c.on_partitions_deleted(cx, &deleted)) {
            self.write(Some(prepared));
        }
    }

    /// The state that the log gives.
    pub(super) fn rebuilt(&mut self) -> GroupState {
        let mut state = GroupState::default();
        let log = self.log.clone();
        self.with(|_, cx| log.iter().for_each(|batch| state.replay(&mut cx.env, batch)));
        state
    }

    /// A plain or a transactional commit; the first partition's outcome.
    pub(super) fn commit(&mut self, commit: Commit<'_>) -> ErrorCode {
        match self.ask(commit.request()) {
            Response::OffsetCommit(r) => r.partitions[0].1,
            Response::TxnOffsetCommit(r) => r.partitions[0].1,
            other => panic!("{other:?}"),
        }
    }

    /// What a fetch says of partitions: the offset, or the error.
    pub(super) fn fetch(
        &mut self,
        partitions: &[TopicPartition],
        stable: bool,
    ) -> Vec<Result<i64, ErrorCode>> {
        let id = self.send(fetch(partitions, stable));
        let Some(Response::OffsetFetch(response)) = self.answer(id) else { panic!("no answer") };
        let result =
            |r: &OffsetFetchResult| if r.error.is_none() { Ok(r.offset) } else { Err(r.error) };
        response.partitions.iter().map(|(_, r)| result(r)).collect()
    }
}

pub(super) fn fetch(partitions: &[TopicPartition], require_stable: bool) -> OffsetFetchRequest {
    let partitions = Some(partitions.to_vec());
    OffsetFetchRequest {
        version: 7,
        group: GROUP,
        member: GroupMember::NONE,
        partitions,
        require_stable,
    }
}

/// A commit in short form.
#[derive(Clone, Copy)]
pub(super) struct Commit<'a> {
    /// `None` for a plain one.
    pub(super) producer: Option<i64>,
    pub(super) version: i16,
    pub(super) member: GroupMember,
    pub(super) offsets: &'a [(TopicPartition, i64)],
}

impl Commit<'_> {
    pub(super) fn request(self) -> Request {
        let offset = |&(partition, offset): &(TopicPartition, i64)| CommittableOffset {
            partition,
            offset,
            leader_epoch: LeaderEpoch::NONE,
        };
        let offsets = self.offsets.iter().map(offset).collect();
        let Commit { version, member, .. } = self;
        match self.producer {
            None => OffsetCommitRequest { version, group: GROUP, member, offsets }.into(),
            Some(producer) => TxnOffsetCommitRequest {
                version,
                transactional_id: TransactionalId(1),
                group: GROUP,
                producer_id: ProducerId(producer),
                producer_epoch: ProducerEpoch(0),
                member,
                offsets,
            }
            .into(),
        }
    }
}

/// A commit of somebody who is not a member.
pub(super) fn plain(offsets: &[(TopicPartition, i64)]) -> Commit<'_> {
    Commit { producer: None, version: 9, member: GroupMember::NONE, offsets }
}

/// The same inside a transaction.
pub(super) fn transactional(producer: i64, offsets: &[(TopicPartition, i64)]) -> Commit<'_> {
    Commit { producer: Some(producer), version: 5, member: GroupMember::NONE, offsets }
}

pub(super) fn member(id: u32, generation_or_epoch: i32) -> GroupMember {
    GroupMember { generation_or_epoch, member: Some(id), instance: None }
}

/// JoinGroup of a dynamic member.
pub(super) fn join(member: Option<u32>) -> JoinGroupRequest {
    JoinGroupRequest {
        version: 9,
        group: GROUP,
        session_timeout: Duration::from_millis(10_000),
        rebalance_timeout: Duration::from_millis(60_000),
        member,
        instance: None,
        protocols: vec![Assignor::Range],
        subscription: vec![T],
    }
}

pub(super) fn sync(who: GroupMember, assignments: &[(u32, &[TopicPartition])]) -> SyncGroupRequest {
    let assignments = assignments.iter().map(|(id, tps)| (*id, tps.to_vec())).collect();
    SyncGroupRequest { group: GROUP, member: who, assignments }
}

/// ConsumerGroupHeartbeat that says what the member owns.
pub(super) fn beat(
    member: u32,
    member_epoch: i32,
    owned: &[TopicPartition],
) -> ConsumerGroupHeartbeatRequest {
    let joins = member_epoch == 0;
    ConsumerGroupHeartbeatRequest {
        group: GROUP,
        member,
        member_epoch,
        instance: None,
        rebalance_timeout: joins.then_some(Duration::from_millis(60_000)),
        subscribed_topics: joins.then(|| vec![T]),
        server_assignor: None,
        topic_partitions: Some(owned.to_vec()),
    }
}

impl Bench {
    /// An id for a new classic member.
    pub(super) fn new_member(&mut self) -> u32 {
        let Response::JoinGroup(response) = self.ask(join(None)) else { panic!() };
        assert_eq!(response.error, ErrorCode::MemberIdRequired);
        response.member.expect("an id")
    }

    pub(super) fn joined(&mut self, id: u64) -> JoinGroupResponse {
        let Some(Response::JoinGroup(response)) = self.answer(id) else { panic!("not answered") };
        response
    }

    pub(super) fn synced(&mut self, id: u64) -> SyncGroupResponse {
        let Some(Response::SyncGroup(response)) = self.answer(id) else { panic!("not answered") };
        response
    }

    /// One classic member in generation 1 that owns both partitions.
    pub(super) fn one_classic_member(&mut self) -> u32 {
        let id = self.new_member();
        let joining = self.send(join(Some(id)));
        self.pass(3_000);
        assert_eq!(self.joined(joining).generation, 1);
        let syncing = self.send(sync(member(id, 1), &[(id, &[t(0), t(1)])]));
        assert_eq!(self.synced(syncing).assignment, [t(0), t(1)]);
        id
    }

    /// Epoch and, if told, assignment of a KIP-848 member.
    pub(super) fn beats(
        &mut self,
        request: ConsumerGroupHeartbeatRequest,
    ) -> Result<(i32, Option<Vec<TopicPartition>>), ErrorCode> {
        let Response::ConsumerGroupHeartbeat(r) = self.ask(request) else { panic!() };
        if r.error.is_none() { Ok((r.member_epoch, r.assignment)) } else { Err(r.error) }
    }
}
