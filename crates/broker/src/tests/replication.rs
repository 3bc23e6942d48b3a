//! Worked cases 73 to 76 of the leader, and failover as a producer sees it.

use eosim_actor::{CrashKind, RequestToken};
use eosim_types::message::{
    FetchResponse, IsolationLevel, ListOffsetsAsker, ListOffsetsPartition, ListOffsetsRequest,
    ListOffsetsTimestamp, ProduceRequest, Request, Response,
};
use eosim_types::{BrokerId, ErrorCode as E, Few, LeaderEpoch};

use super::cluster::{Setup, t};
use super::fixture::{Fixture, TP, partition};
use super::requests::{batch, produce_to, produced, produced_one};
use crate::replica_manager::partition::Role;
use eosim_types::message::{FetchMetadata, FetchPartition, FetchRequest};

const TOKEN: RequestToken = RequestToken(1);

fn follower_fetch(follower: i32, offset: i64, leader_epoch: i32) -> FetchRequest {
    FetchRequest {
        version: 17,
        replica: Some((BrokerId(follower), i64::from(follower))),
        isolation_level: IsolationLevel::ReadUncommitted,
        max_wait_ms: 500,
        min_bytes: 1,
        partition_max_bytes: 1 << 20,
        metadata: FetchMetadata::LEGACY,
        forgotten: [].into(),
        partitions: [FetchPartition {
            partition: TP,
            fetch_offset: offset,
            current_leader_epoch: LeaderEpoch(leader_epoch),
            last_fetched_epoch: LeaderEpoch::NONE,
            log_start_offset: 0,
        }]
        .to_vec(),
    }
}

impl Fixture {
    fn lead(&mut self, leader_epoch: i32, isr: &[i32]) {
        self.change_metadata(|image| {
            image.partitions.insert(TP, partition(1, leader_epoch, isr));
        });
    }

    fn follow(&mut self, leader_epoch: i32) {
        self.change_metadata(|image| {
            image.partitions.insert(TP, partition(2, leader_epoch, &[1, 2, 3]));
        });
    }

    fn follower_at(&mut self, follower: i32, offset: i64, leader_epoch: i32) {
        let request = follower_fetch(follower, offset, leader_epoch);
        self.handle(|io, replicas| replicas.handle_fetch(io, RequestToken(9), &request));
    }

    fn append(&mut self, acks: i16, sequence: i32, records: i32) -> Option<(E, i64)> {
        let request = ProduceRequest { acks, ..produce_to(TP, batch(7, 0, sequence, records)) };
        let answers = self.handle(|io, replicas| replicas.handle_produce(io, TOKEN, request));
        let own = answers.into_iter().find(|(token, _)| *token == TOKEN);
        own.map(|(_, response)| produced_one(response))
    }

    fn high_watermark(&self) -> i64 {
        self.replicas.partitions.get(TP).unwrap().log.high_watermark()
    }

    /// (committed, maximal) size of the ISR.
    fn isr(&self) -> (usize, usize) {
        let Role::Leader(leadership) = &self.replicas.partitions.get(TP).unwrap().role else {
            panic!()
        };
        (leadership.isr.committed.len(), leadership.isr.maximal_len())
    }

    fn confirm_isr(&mut self) {
        let (tp, request) = self
            .requests()
            .into_iter()
            .find_map(|(_, request)| match request {
                Request::AlterPartition(request) => Some((request.partition, request)),
                _ => None,
            })
            .expect("an AlterPartition");
        let response = eosim_types::message::AlterPartitionResponse {
            partition: tp,
            error: E::None,
            leader_epoch: request.leader_epoch,
            partition_epoch: request.partition_epoch + 1,
            isr: request.new_isr.iter().map(|(id, _)| *id).collect(),
        };
        self.with(|io, replicas, _| replicas.on_alter_partition(io, response));
        self.settle();
    }
}

#[test]
fn row_73_under_the_minimum_the_high_watermark_stays_l_hw_2_l_isr_1() {
    let mut fixture = Fixture::new(3);
    fixture.lead(0, &[1, 2]);
    assert_eq!(fixture.append(1, 0, 10), Some((E::None, 0)));
    assert_eq!(fixture.high_watermark(), 0);
    fixture.follower_at(2, 10, 0);
    // The proposal is made by this fetch; it is looked at before the answers are dropped.
    let request = follower_fetch(3, 10, 0);
    fixture.with(|io, replicas, _| replicas.handle_fetch(io, RequestToken(9), &request));
    fixture.settle();
    assert_eq!((fixture.high_watermark(), fixture.isr()), (0, (2, 3)));
    fixture.confirm_isr();
    assert_eq!((fixture.high_watermark(), fixture.isr()), (10, (3, 3)));
}

#[test]
fn row_74_a_follower_joins_only_from_the_start_of_the_epoch_l_isr_2_l_lep_1() {
    let mut fixture = Fixture::new(1);
    fixture.lead(0, &[1, 2]);
    fixture.append(1, 0, 5);
    fixture.follower_at(2, 5, 0);
    fixture.pass(60_000);
    fixture.append(1, 5, 5);
    assert_eq!(fixture.high_watermark(), 5);
    fixture.follow(1);
    fixture.lead(2, &[1, 2]);
    fixture.follower_at(3, 5, 2);
    assert_eq!(fixture.isr(), (2, 2), "at the high watermark, before the epoch's start: out");
    fixture.follower_at(3, 10, 2);
    assert_eq!(fixture.isr(), (2, 3));
}

/// Follower 2 with its fetch session.
struct Session {
    metadata: FetchMetadata,
}

impl Session {
    fn new() -> Self {
        Self { metadata: FetchMetadata::INITIAL }
    }

    /// A fetch that asks for the partition at `offset`, or goes on as before.
    fn fetch(&mut self, fixture: &mut Fixture, offset: Option<i64>) -> FetchResponse {
        let metadata = self.metadata;
        let mut request =
            FetchRequest { metadata, max_wait_ms: 0, ..follower_fetch(2, offset.unwrap_or(0), 0) };
        request.partitions.retain(|_| offset.is_some());
        let mut answers = fixture.handle(|io, replicas| replicas.handle_fetch(io, TOKEN, &request));
        let Some((TOKEN, Response::Fetch(response))) = answers.pop() else { panic!() };
        self.metadata = if metadata.is_full() {
            FetchMetadata::new_incremental(response.session_id)
        } else {
            metadata.next_incremental()
        };
        response
    }

    /// Is the partition in the answer?
    fn is_told(&mut self, fixture: &mut Fixture, offset: Option<i64>) -> bool {
        !self.fetch(fixture, offset).partitions.is_empty()
    }
}

#[test]
fn in_a_session_a_follower_hears_of_its_high_watermark_when_it_changed_l_hw_6() {
    let mut fixture = Fixture::new(1);
    fixture.lead(0, &[1, 2]);
    fixture.append(1, 0, 10);
    let mut session = Session::new();
    assert!(session.is_told(&mut fixture, Some(0)), "records");
    assert!(session.is_told(&mut fixture, None), "the same, as long as the same is asked");
    assert!(!session.is_told(&mut fixture, Some(10)), "this fetch moves the mark after the read");
    assert_eq!(fixture.high_watermark(), 10);
    assert!(session.is_told(&mut fixture, None), "the new mark");
    assert!(!session.is_told(&mut fixture, None), "nothing twice");
    assert!(Session::new().is_told(&mut fixture, Some(10)), "a new session begins with everything");
    assert!(session.is_told(&mut fixture, Some(11)), "errors always");
    assert!(session.is_told(&mut fixture, None), "errors always");
    assert!(session.is_told(&mut fixture, Some(10)), "and after them everything");
    fixture.append(1, 10, 1);
    assert!(session.is_told(&mut fixture, None), "records that came meanwhile");
}

#[test]
fn a_follower_in_a_session_stays_in_sync_without_naming_its_partition_l_isr_3() {
    let mut fixture = Fixture::new(1);
    fixture.lead(0, &[1, 2]);
    let mut session = Session::new();
    session.fetch(&mut fixture, Some(0));
    let shrinks_after = |fixture: &mut Fixture, millis| {
        fixture.pass(millis);
        fixture.with(|io, replicas, _| {
            replicas.partitions.get_mut(TP).unwrap().maybe_shrink_isr(io);
        });
        fixture.requests().iter().any(|(_, r)| matches!(r, Request::AlterPartition(_)))
    };
    for _ in 0..10 {
        fixture.pass(20_000);
        assert!(!session.is_told(&mut fixture, None));
    }
    fixture.append(1, 0, 1);
    assert!(!shrinks_after(&mut fixture, 30_000), "it has fetched 30 s ago");
    assert!(shrinks_after(&mut fixture, 1), "replica.lag.time.max.ms is over");
}

#[test]
fn sessions_that_the_leader_does_not_have_are_refused() {
    let mut fixture = Fixture::new(1);
    fixture.lead(0, &[1, 2]);
    let mut session = Session::new();
    let first = session.fetch(&mut fixture, Some(0)).session_id;
    let old = session.metadata;
    session.fetch(&mut fixture, None);
    let mut repeated = Session { metadata: old };
    let refused = repeated.fetch(&mut fixture, None);
    assert_eq!((refused.error, refused.session_id), (E::InvalidFetchSessionEpoch, 0));
    session.metadata = session.metadata.next_close_existing_attempt_new();
    assert_ne!(session.fetch(&mut fixture, Some(0)).session_id, first);
    let mut closed = Session { metadata: old.next_incremental() };
    assert_eq!(closed.fetch(&mut fixture, None).error, E::FetchSessionIdNotFound);
    fixture.replicas.begin_life(2);
    assert_eq!(session.fetch(&mut fixture, None).error, E::FetchSessionIdNotFound);
}

#[test]
fn a_session_that_reads_nothing_any_more_ends() {
    let mut fixture = Fixture::new(1);
    fixture.lead(0, &[1, 2]);
    let mut session = Session::new();
    session.fetch(&mut fixture, Some(0));
    let metadata = session.metadata;
    let mut request = FetchRequest { metadata, forgotten: [TP].into(), ..follower_fetch(2, 0, 0) };
    request.partitions.clear();
    let mut answers = fixture.handle(|io, replicas| replicas.handle_fetch(io, TOKEN, &request));
    let Some((_, Response::Fetch(ended))) = answers.pop() else { panic!("not answered at once") };
    assert_eq!((ended.error, ended.session_id, ended.partitions.len()), (E::None, 0, 0));
    session.metadata = metadata.next_incremental();
    assert_eq!(session.fetch(&mut fixture, None).error, E::FetchSessionIdNotFound);
}

fn list(asker: ListOffsetsAsker, timestamp: ListOffsetsTimestamp) -> ListOffsetsRequest {
    list_at(LeaderEpoch::NONE, asker, timestamp)
}

fn list_at(
    current_leader_epoch: LeaderEpoch,
    asker: ListOffsetsAsker,
    timestamp: ListOffsetsTimestamp,
) -> ListOffsetsRequest {
    let asked = ListOffsetsPartition { partition: TP, current_leader_epoch, timestamp };
    ListOffsetsRequest { version: 10, asker, partitions: Few::One(asked) }
}

#[test]
fn row_75_offsets_after_a_leader_change_l_lst_1_l_lst_2_l_lst_3() {
    use ListOffsetsTimestamp::{At, Earliest, Latest};
    const CLIENT: ListOffsetsAsker = ListOffsetsAsker::Consumer(IsolationLevel::ReadUncommitted);
    let mut fixture = Fixture::new(1);
    fixture.lead(0, &[1, 2, 3]);
    for (sequence, timestamp, records) in [(0, 10, 2), (2, 11, 3)] {
        let mut data = produce_to(TP, batch(7, 0, sequence, records));
        data.acks = 1;
        data.partitions[0].1.max_timestamp = timestamp;
        fixture.handle(|io, replicas| replicas.handle_produce(io, TOKEN, data));
    }
    fixture.follower_at(2, 2, 0);
    fixture.follower_at(3, 2, 0);
    fixture.follow(1);
    fixture.lead(2, &[1, 2, 3]);
    assert_eq!(fixture.high_watermark(), 2);
    let ask = |fixture: &mut Fixture, version, asker, timestamp| {
        let request = ListOffsetsRequest { version, ..list(asker, timestamp) };
        let mut answers =
            fixture.handle(|io, replicas| replicas.handle_list_offsets(io, TOKEN, request));
        let Some((_, Response::ListOffsets(response))) = answers.pop() else { panic!() };
        (response.partitions[0].error, response.partitions[0].offset)
    };
    let table = [
        (10, CLIENT, Latest, (E::OffsetNotAvailable, -1)),
        (4, CLIENT, Latest, (E::LeaderNotAvailable, -1)),
        (10, ListOffsetsAsker::Debug, Latest, (E::None, 5)),
        (10, CLIENT, Earliest, (E::None, 0)),
        (10, CLIENT, At(10), (E::None, 0)),
        (10, CLIENT, At(11), (E::OffsetNotAvailable, -1)),
    ];
    for (version, asker, timestamp, expected) in table {
        assert_eq!(ask(&mut fixture, version, asker, timestamp), expected, "{timestamp:?}");
    }
    fixture.follower_at(2, 5, 2);
    fixture.follower_at(3, 5, 2);
    assert_eq!(ask(&mut fixture, 10, CLIENT, Latest), (E::None, 5));
    assert_eq!(ask(&mut fixture, 10, CLIENT, At(99)), (E::None, -1));
}

#[test]
fn row_76_a_replica_that_becomes_follower_answers_its_parked_produces_l_fo_4_l_pipe_5() {
    let mut fixture = Fixture::new(1);
    fixture.lead(0, &[1, 2, 3]);
    assert_eq!(fixture.append(-1, 0, 1), None);
    fixture.follow(1);
    let (token, response) = fixture.answers().pop().unwrap();
    assert_eq!(token, TOKEN);
    assert_eq!(produced(response), [(E::NotLeaderOrFollower, 0)]);
}

#[test]
fn leader_epochs_of_requests_l_lep_3() {
    let mut fixture = Fixture::new(1);
    fixture.lead(4, &[1, 2, 3]);
    fixture.follow(5);
    let table =
        [(4, E::FencedLeaderEpoch), (5, E::NotLeaderOrFollower), (6, E::UnknownLeaderEpoch)];
    for (epoch, expected) in table {
        let request = list_at(
            LeaderEpoch(epoch),
            ListOffsetsAsker::Consumer(IsolationLevel::ReadUncommitted),
            ListOffsetsTimestamp::Latest,
        );
        let mut answers =
            fixture.handle(|io, replicas| replicas.handle_list_offsets(io, TOKEN, request));
        let Some((_, Response::ListOffsets(response))) = answers.pop() else { panic!() };
        assert_eq!(response.partitions[0].error, expected, "epoch {epoch}");
        let fetch = FetchRequest { replica: None, max_wait_ms: 0, ..follower_fetch(3, 0, epoch) };
        let mut answers = fixture.handle(|io, replicas| replicas.handle_fetch(io, TOKEN, &fetch));
        let Some((_, Response::Fetch(response))) = answers.pop() else { panic!() };
        let served = if epoch == 5 { E::None } else { expected };
        assert_eq!(response.partitions[0].error, served, "a follower serves its own epoch");
    }
}

#[test]
fn replicated_and_unacknowledged_is_a_duplicate_at_the_new_leader_l_fo_1_l_fo_2() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    for sequence in 0..5 {
        let data = produce_to(t(0), batch(7, 0, sequence, 1));
        assert_eq!(produced_one(cluster.ask(1, data)), (E::None, i64::from(sequence)));
    }
    cluster.run_for(600);
    cluster.kill(1, CrashKind::Process);
    cluster.run_for(15_000);
    let leader = cluster.image(2).leader(t(0)).expect("a leader").0;
    assert_ne!(leader, 1);
    for sequence in 0..5 {
        let data = produce_to(t(0), batch(7, 0, sequence, 1));
        assert_eq!(produced_one(cluster.ask(leader, data)), (E::None, i64::from(sequence)));
    }
    cluster.restart(1);
    cluster.run_for(5_000);
    assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), 5);
    assert_eq!(cluster.image(2).partitions[&t(0)].isr.len(), 3, "back in the ISR: L-ISR-2");
}

#[test]
fn what_was_appended_at_the_old_leader_only_is_cut_l_fo_3_l_flt_2_l_flt_3_l_trc_1() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    assert_eq!(produced_one(cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 1)))), (E::None, 0));
    cluster.run_for(600);
    cluster.cut_from_controller(1);
    cluster.cut(2, 1);
    cluster.cut(3, 1);
    cluster.run_for(1_000);
    let mut lost = produce_to(t(0), batch(7, 0, 1, 3));
    lost.acks = 1;
    assert_eq!(produced_one(cluster.ask(1, lost)), (E::None, 1), "Produce has no leader epoch");
    cluster.run_for(15_000);
    let leader = cluster.image(2).leader(t(0)).expect("a leader").0;
    let other = produce_to(t(0), batch(8, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(leader, other)), (E::None, 1));
    assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), 4);
    cluster.heal();
    cluster.run_for(40_000);
    let [one, new] = [1, leader].map(|id| {
        let log = &cluster.replica(id, t(0)).log;
        log.batches().map(|batch| batch.producer_id.0).collect::<alloc::vec::Vec<_>>()
    });
    assert_eq!((one, cluster.replica(1, t(0)).log.log_end_offset()), (new, 2));
    assert!(cluster.reached("L-FLT-3") > 0);
}

#[test]
fn a_silent_follower_leaves_the_isr_l_isr_3_l_isr_4() {
    let mut cluster = Setup::three(1).build();
    cluster.run_for(100);
    cluster.cut(3, 1);
    let mut data = produce_to(t(0), batch(7, 0, 0, 1));
    data.timeout_ms = 60_000;
    let produced = cluster.send(1, data);
    cluster.run_for(20_000);
    assert_eq!(cluster.answer(produced), None);
    cluster.run_for(30_000);
    assert_eq!(produced_one(cluster.answer(produced).unwrap()), (E::None, 0));
    assert_eq!(cluster.image(1).partitions[&t(0)].isr, [BrokerId(1), BrokerId(2)]);
}

/// What its predecessor has told it of the high watermark says nothing of replicas with longer logs.
#[test]
fn a_new_leader_confirms_its_log_by_fetches_of_its_own_epoch_h_2() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(10);
    assert_eq!(produced_one(cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 1)))), (E::None, 0));
    cluster.run_for(1_000);
    assert_eq!(cluster.replica(1, t(0)).confirmed_high_watermark(), 1);
    cluster.cut(3, 2);
    cluster.kill(1, CrashKind::Process);
    cluster.run_for(12_000);
    let led = cluster.replica(2, t(0));
    assert!(led.is_leader());
    assert_eq!((led.log.high_watermark(), led.confirmed_high_watermark()), (1, -1));
    cluster.heal();
    cluster.run_for(3_000);
    assert_eq!(cluster.replica(2, t(0)).confirmed_high_watermark(), 1);
}
