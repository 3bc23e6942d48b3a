//! A consumer as a member of a group: what it asks of the coordinator, and what its application
//! hears, in both protocols.

mod harness;

use std::collections::VecDeque;

use eosim_actor::{Correlation, Cx, Effect, Out, Quiet};
use eosim_clients::Exception;
use eosim_clients::consumer::{Consumer, ConsumerCall, RebalanceCallback, Returned};
use eosim_types::assignor::Assignor;
use eosim_types::config::{ConsumerConfig, GroupProtocol};
use eosim_types::message::{
    CommittableOffset, ConsumerGroupHeartbeatResponse, FindCoordinatorResponse, GroupMember,
    HeartbeatResponse, JoinGroupResponse, JoinGroupResponseMember, Message, MetadataResponse,
    OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResult, Request,
    Response, SyncGroupResponse,
};
use eosim_types::observation::Observed;
use eosim_types::version::TransactionVersion;
use eosim_types::{
    ActorId, BrokerId, Duration, ErrorCode, GroupId, Instant, LeaderEpoch, Marks, TopicPartition,
};
use harness::{image, t};

/// A member that polls for ever, and its network.
struct Member {
    consumer: Consumer,
    now: Instant,
    marks: Marks,
    /// Requests about the group that wait for an answer.
    asked: VecDeque<(Correlation, Request)>,
    /// A look-up of the coordinator that is answered next time.
    finding: Option<Correlation>,
    polls: bool,
    poll_timeout: Duration,
    /// What is called instead of the next `poll()`.
    next_call: Option<ConsumerCall>,
    /// Questions for committed offsets, and how the next ones are refused.
    fetches: Vec<OffsetFetchRequest>,
    refusals: Vec<ErrorCode>,
    /// The same of partition 1 alone.
    partition_errors: Vec<ErrorCode>,
    returned: Option<Result<Returned, Exception>>,
}

fn config(group_protocol: GroupProtocol) -> ConsumerConfig {
    ConsumerConfig {
        group: Some(GroupId(1)),
        group_protocol,
        max_poll_interval: Duration::from_millis(10_000),
        ..ConsumerConfig::default()
    }
}

impl Member {
    fn new(group_protocol: GroupProtocol) -> Self {
        Self::with(&config(group_protocol))
    }

    fn with(config: &ConsumerConfig) -> Self {
        let mut consumer = Consumer::new(config, &[], &[BrokerId(1)]);
        consumer.subscribe(&[t(0).topic], 70, Instant::START);
        let (now, marks) = (Instant::START, Marks::new());
        let (asked, finding) = (VecDeque::new(), None);
        let poll_timeout = Duration::from_millis(1_000);
        let (fetches, refusals, returned) = (Vec::new(), Vec::new(), None);
        let mut member = Self {
            consumer,
            now,
            marks,
            asked,
            finding,
            polls: true,
            poll_timeout,
            next_call: None,
            partition_errors: Vec::new(),
            fetches,
            refusals,
            returned,
        };
        member.run();
        member.run();
        member
    }

    /// Goes on until the member waits; what is not about the group is answered on the way.
    fn run(&mut self) {
        if let Some(correlation) = self.finding.take() {
            let (error, node) = (ErrorCode::None, Some(BrokerId(1)));
            self.answer_to(correlation, FindCoordinatorResponse { error, node });
        }
        loop {
            if self.polls && self.consumer.callback().is_none() {
                self.poll();
            }
            let mut out: Out<Message, Observed> = Out::new();
            let env = harness::env(self.now, &mut self.marks);
            let mut cx = Cx { id: ActorId(9), env, choices: &mut Quiet };
            if let Some(returned) = self.consumer.turn(&mut cx, &mut out) {
                self.returned = Some(returned);
                self.polls = true;
            }
            let mut quiet = true;
            for effect in out.drain() {
                let Effect::Send { correlation, message: Message::Request(request), .. } = effect
                else {
                    continue;
                };
                quiet = false;
                match request {
                    Request::Metadata(_) => {
                        let image = image(1, 2, TransactionVersion::Tv2);
                        self.answer_to(correlation, MetadataResponse { image });
                    }
                    Request::FindCoordinator(_) => self.finding = Some(correlation),
                    Request::OffsetFetch(request) => {
                        let mut answer = committed(&request, self.refusals.pop());
                        let of_1 = answer.partitions.iter_mut().find(|(tp, _)| *tp == t(1));
                        if let (Some((_, result)), Some(error)) =
                            (of_1, self.partition_errors.pop())
                        {
                            (result.error, result.offset) = (error, -1);
                        }
                        self.answer_to(correlation, answer);
                        self.fetches.push(request);
                    }
                    Request::Fetch(_) => {}
                    request => self.asked.push_back((correlation, request)),
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn poll(&mut self) {
        self.polls = false;
        let timeout = self.poll_timeout;
        let call = self.next_call.take().unwrap_or(ConsumerCall::Poll { timeout });
        self.consumer.call(call, self.now);
    }

    fn answer_to(&mut self, correlation: Correlation, response: impl Into<Response>) {
        self.consumer.arrived(correlation, Some(response.into()));
    }

    /// The oldest request about the group.
    fn next(&mut self) -> Request {
        self.asked.front().expect("a request").1.clone()
    }

    fn answer(&mut self, response: impl Into<Response>) {
        let (correlation, _) = self.asked.pop_front().expect("a request");
        self.answer_to(correlation, response);
        self.run();
    }

    /// The connection of the oldest request breaks.
    fn disconnect(&mut self) {
        let (correlation, _) = self.asked.pop_front().expect("a request");
        self.consumer.arrived(correlation, None);
        self.run();
    }

    fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.run();
        self.run();
    }

    fn return_from(&mut self, expected: &RebalanceCallback) {
        assert_eq!(self.consumer.callback(), Some(expected));
        self.consumer.callback_returned(self.now);
        self.run();
    }

    fn generation(&self) -> (i32, Option<u32>) {
        let metadata = self.consumer.group_metadata();
        (metadata.generation_or_epoch, metadata.member)
    }

    /// Joins a classic group as its leader, alone, and gets both partitions.
    fn join_classic(&mut self, member: u32, generation: i32) {
        let Request::JoinGroup(join) = self.next() else { panic!("{:?}", self.asked) };
        if join.member.is_none() {
            self.answer(refused(ErrorCode::MemberIdRequired, Some(member)));
        }
        let Request::JoinGroup(join) = self.next() else { panic!("{:?}", self.asked) };
        assert_eq!(join.member, Some(member));
        self.answer(JoinGroupResponse {
            error: ErrorCode::None,
            generation,
            protocol: Some(Assignor::Range),
            leader: Some(member),
            member: Some(member),
            members: vec![JoinGroupResponseMember {
                member,
                instance: None,
                subscription: vec![t(0).topic],
            }],
        });
        let Request::SyncGroup(sync) = self.next() else { panic!("{:?}", self.asked) };
        assert_eq!(sync.assignments, [(member, both())], "the leader shares out");
        self.answer(SyncGroupResponse { error: ErrorCode::None, assignment: both() });
        self.return_from(&RebalanceCallback::Assigned(both()));
    }

    /// The error that the oldest heartbeat is answered with.
    fn heartbeat(&mut self, error: ErrorCode) {
        assert!(matches!(self.next(), Request::Heartbeat(_)), "{:?}", self.asked);
        self.answer(HeartbeatResponse { error });
    }

    /// The oldest KIP-848 heartbeat: its epoch, whether it says everything, what it owns.
    fn beat(&mut self) -> (i32, bool, Option<Vec<TopicPartition>>) {
        let Request::ConsumerGroupHeartbeat(beat) = self.next() else { panic!("{:?}", self.asked) };
        (beat.member_epoch, beat.subscribed_topics.is_some(), beat.topic_partitions)
    }

    fn beat_answered(&mut self, member_epoch: i32, assignment: Option<&[TopicPartition]>) {
        self.answer(ConsumerGroupHeartbeatResponse {
            error: ErrorCode::None,
            member_epoch,
            heartbeat_interval: Duration::from_millis(5_000),
            assignment: assignment.map(<[_]>::to_vec),
        });
    }

    fn beat_refused(&mut self, error: ErrorCode) {
        self.answer(ConsumerGroupHeartbeatResponse {
            error,
            member_epoch: 0,
            heartbeat_interval: Duration::from_millis(5_000),
            assignment: None,
        });
    }
}

/// Everything is committed up to 5.
fn committed(request: &OffsetFetchRequest, refused: Option<ErrorCode>) -> OffsetFetchResponse {
    if let Some(error) = refused {
        return OffsetFetchResponse { error, partitions: Vec::new().into() };
    }
    let (error, offset, leader_epoch) = (ErrorCode::None, 5, LeaderEpoch::NONE);
    let asked = request.partitions.iter().flatten();
    let each = asked.map(|tp| (*tp, OffsetFetchResult { error, offset, leader_epoch }));
    OffsetFetchResponse { error, partitions: each.collect() }
}

fn both() -> Vec<TopicPartition> {
    vec![t(0), t(1)]
}

fn refused(error: ErrorCode, member: Option<u32>) -> JoinGroupResponse {
    let (generation, protocol, leader, members) = (-1, None, None, Vec::new());
    JoinGroupResponse { error, generation, protocol, leader, member, members }
}

#[test]
fn a_classic_member_knows_its_generation_when_it_has_its_partitions_k_ctp_1() {
    let mut member = Member::new(GroupProtocol::Classic);
    assert_eq!(member.generation(), (-1, None));
    member.join_classic(7, 1);
    assert_eq!(member.generation(), (1, Some(7)));
    assert_eq!(member.consumer.assignment(), both());
}

#[test]
fn a_classic_rebalance_takes_everything_before_the_member_joins_again() {
    let mut member = Member::new(GroupProtocol::Classic);
    member.join_classic(7, 1);
    member.pass(3_000);
    member.heartbeat(ErrorCode::RebalanceInProgress);
    assert!(member.asked.is_empty(), "the callback comes first");
    assert_eq!(member.consumer.assignment(), both());
    member.return_from(&RebalanceCallback::Revoked(both()));
    assert_eq!(member.consumer.assignment(), []);
    assert_eq!(member.generation(), (1, Some(7)), "until the next generation is complete");
    member.join_classic(7, 2);
    assert_eq!(member.generation(), (2, Some(7)));
}

#[test]
fn a_classic_member_that_was_put_out_has_lost_its_partitions() {
    let errors = [(ErrorCode::UnknownMemberId, None), (ErrorCode::IllegalGeneration, Some(7))];
    for (error, id) in errors {
        let mut member = Member::new(GroupProtocol::Classic);
        member.join_classic(7, 1);
        member.pass(3_000);
        member.heartbeat(error);
        member.return_from(&RebalanceCallback::Lost(both()));
        let Request::JoinGroup(join) = member.next() else { panic!("{:?}", member.asked) };
        assert_eq!(join.member, id, "{error}");
    }
}

#[test]
fn a_classic_member_that_polls_too_late_leaves() {
    let mut member = Member::new(GroupProtocol::Classic);
    member.join_classic(7, 1);
    member.pass(3_000);
    member.heartbeat(ErrorCode::RebalanceInProgress);
    // The application stays in the callback; heartbeats go on meanwhile.
    member.pass(3_000);
    member.heartbeat(ErrorCode::RebalanceInProgress);
    member.pass(10_000);
    let Request::LeaveGroup(leave) = member.next() else { panic!("{:?}", member.asked) };
    assert_eq!(leave.members, [(Some(7), None)]);
}

#[test]
fn a_classic_member_asks_again_when_its_join_is_refused_or_lost() {
    use ErrorCode as E;
    for (error, id, waits) in [
        (E::UnknownMemberId, None, false),
        (E::RebalanceInProgress, Some(7), false),
        (E::CoordinatorLoadInProgress, Some(7), true),
        (E::NotCoordinator, Some(7), true),
    ] {
        let mut member = Member::new(GroupProtocol::Classic);
        member.answer(refused(E::MemberIdRequired, Some(7)));
        member.answer(refused(error, None));
        assert_eq!(member.asked.is_empty(), waits, "{error}");
        member.pass(100);
        let Request::JoinGroup(join) = member.next() else { panic!("{:?}", member.asked) };
        assert_eq!(join.member, id, "{error}");
    }
    let mut member = Member::new(GroupProtocol::Classic);
    member.disconnect();
    member.pass(100);
    assert!(matches!(member.next(), Request::JoinGroup(_)));
}

#[test]
fn a_kip_848_member_gives_up_before_it_acknowledges() {
    let mut member = Member::new(GroupProtocol::Consumer);
    assert_eq!(member.beat(), (0, true, Some(vec![])));
    member.beat_answered(1, Some(&both()));
    member.return_from(&RebalanceCallback::Assigned(both()));
    assert_eq!(member.beat(), (1, false, Some(both())), "the acknowledgement");
    member.beat_answered(1, None);
    assert!(member.asked.is_empty());
    member.pass(5_000);
    assert_eq!(member.beat(), (1, false, None), "nothing is new");
    member.beat_answered(1, Some(&[t(0)]));
    assert!(member.asked.is_empty(), "the callback comes first");
    member.return_from(&RebalanceCallback::Revoked(vec![t(1)]));
    assert_eq!(member.consumer.assignment(), [t(0)]);
    assert_eq!(member.beat(), (1, false, Some(vec![t(0)])));
    assert_eq!(member.generation(), (1, Some(70)));
    member.beat_answered(2, None);
    assert_eq!(member.generation(), (2, Some(70)), "without a poll");
}

#[test]
fn a_kip_848_member_that_was_fenced_joins_again_when_it_has_let_go() {
    for error in [ErrorCode::FencedMemberEpoch, ErrorCode::UnknownMemberId] {
        let mut member = Member::new(GroupProtocol::Consumer);
        member.beat_answered(1, Some(&both()));
        member.return_from(&RebalanceCallback::Assigned(both()));
        member.beat_refused(error);
        member.pass(10_000);
        assert!(member.asked.is_empty(), "no heartbeats while it is out");
        assert_eq!(member.generation(), (1, Some(70)), "{error}");
        member.return_from(&RebalanceCallback::Lost(both()));
        assert_eq!(member.beat(), (0, true, Some(vec![])));
    }
}

#[test]
fn a_kip_848_member_says_everything_after_a_lost_answer() {
    let mut member = Member::new(GroupProtocol::Consumer);
    member.beat_answered(1, Some(&both()));
    member.return_from(&RebalanceCallback::Assigned(both()));
    member.disconnect();
    member.pass(100);
    assert_eq!(member.beat(), (1, true, Some(both())));
}

#[test]
fn a_kip_848_member_that_polls_too_late_leaves_and_comes_back() {
    let mut member = Member::new(GroupProtocol::Consumer);
    member.beat_answered(1, Some(&both()));
    // The application stays in the callback; heartbeats go on meanwhile.
    member.pass(5_000);
    member.beat_answered(1, None);
    member.pass(5_000);
    assert_eq!(member.beat(), (-1, false, None));
    member.asked.clear();
    member.return_from(&RebalanceCallback::Assigned(both()));
    member.return_from(&RebalanceCallback::Lost(both()));
    assert_eq!(member.beat(), (0, true, Some(vec![])));
}

#[test]
fn a_kip_848_member_asks_for_committed_offsets_as_itself_k_com_4() {
    let mut member = Member::new(GroupProtocol::Consumer);
    member.refusals = vec![ErrorCode::StaleMemberEpoch];
    member.beat_answered(3, Some(&both()));
    member.return_from(&RebalanceCallback::Assigned(both()));
    member.pass(100);
    let asked: Vec<_> =
        member.fetches.iter().map(|f| (f.member.generation_or_epoch, f.member.member)).collect();
    assert_eq!(asked, [(3, Some(70)), (3, Some(70))], "a stale epoch is asked again");
    assert_eq!(member.thrown(), None);
    assert_eq!(member.consumer.position(t(0)), Some(5));

    let mut member = Member::new(GroupProtocol::Consumer);
    member.refusals = vec![ErrorCode::UnknownMemberId];
    member.beat_answered(3, Some(&both()));
    member.return_from(&RebalanceCallback::Assigned(both()));
    let thrown = member.returned.map(|returned| returned.map_err(|thrown| thrown.class.name()));
    assert_eq!(thrown, Some(Err("UnknownMemberIdException".into())));
}

#[test]
fn a_classic_member_asks_for_committed_offsets_without_a_name_k_com_4() {
    let mut member = Member::new(GroupProtocol::Classic);
    member.join_classic(7, 1);
    assert_eq!(member.fetches[0].member, GroupMember::NONE);
}

/// A member that commits by itself every second and has read up to 9 and 5.
fn auto_committing(group_protocol: GroupProtocol) -> Member {
    let mut member = Member::with(&ConsumerConfig {
        enable_auto_commit: true,
        auto_commit_interval: Duration::from_millis(1_000),
        ..config(group_protocol)
    });
    match group_protocol {
        GroupProtocol::Classic => member.join_classic(7, 1),
        GroupProtocol::Consumer => {
            member.beat_answered(1, Some(&both()));
            member.return_from(&RebalanceCallback::Assigned(both()));
            assert_eq!(member.beat().0, 1, "the acknowledgement");
            member.beat_answered(1, None);
        }
    }
    member.run();
    member.consumer.seek(t(0), 9).expect("assigned");
    member
}

impl Member {
    /// The oldest request is a commit: by whom, and of what.
    fn commit(&mut self) -> (i32, Vec<(TopicPartition, i64)>) {
        let Request::OffsetCommit(commit) = self.next() else { panic!("{:?}", self.asked) };
        let offsets = commit.offsets.iter().map(|o| (o.partition, o.offset)).collect();
        (commit.member.generation_or_epoch, offsets)
    }

    fn commit_answered(&mut self, error: ErrorCode) {
        let partitions = both().into_iter().map(|tp| (tp, error)).collect();
        self.answer(OffsetCommitResponse { partitions });
    }

    /// Whatever else waits for an answer.
    fn answer_commits(&mut self) {
        let is_commit = |(_, r): &(Correlation, Request)| matches!(r, Request::OffsetCommit(_));
        while let Some(at) = self.asked.iter().position(is_commit) {
            let commit = self.asked.remove(at).expect("just found");
            self.asked.push_front(commit);
            self.commit_answered(ErrorCode::None);
        }
    }

    fn close(&mut self) {
        let mut out: Out<Message, Observed> = Out::new();
        let env = harness::env(self.now, &mut self.marks);
        self.asked.clear();
        let mut cx = Cx { id: ActorId(9), env, choices: &mut Quiet };
        self.consumer.close(&mut cx, &mut out);
        for effect in out.drain() {
            if let Effect::Send { correlation, message: Message::Request(request), .. } = effect {
                self.asked.push_back((correlation, request));
            }
        }
    }

    /// What the last call threw.
    fn thrown(&self) -> Option<String> {
        let thrown = self.returned.as_ref()?.as_ref().err()?;
        Some(thrown.class.name())
    }
}

#[test]
fn a_member_commits_its_positions_by_itself_k_pos_3() {
    for group_protocol in [GroupProtocol::Classic, GroupProtocol::Consumer] {
        let mut member = auto_committing(group_protocol);
        member.pass(999);
        assert!(member.asked.is_empty(), "the interval is not over");
        member.pass(1);
        assert_eq!(member.commit(), (1, vec![(t(0), 9), (t(1), 5)]));
        member.commit_answered(ErrorCode::CoordinatorLoadInProgress);
        member.pass(100);
        assert_eq!(member.commit().0, 1, "after the backoff, not after the interval");
        member.commit_answered(ErrorCode::None);
        member.pass(999);
        assert!(!member.asked.iter().any(|(_, r)| matches!(r, Request::OffsetCommit(_))));
        member.close();
        assert_eq!(member.commit(), (1, vec![(t(0), 9), (t(1), 5)]), "before it leaves");
        assert_eq!(member.asked.len(), 2);
    }
}

#[test]
fn a_classic_member_commits_before_its_partitions_go_k_pos_3() {
    for (error, again) in [
        (ErrorCode::None, false),
        (ErrorCode::RebalanceInProgress, false),
        (ErrorCode::CoordinatorLoadInProgress, true),
    ] {
        let mut member = auto_committing(GroupProtocol::Classic);
        member.pass(3_000);
        member.answer_commits();
        member.heartbeat(ErrorCode::RebalanceInProgress);
        assert_eq!(member.commit(), (1, vec![(t(0), 9), (t(1), 5)]));
        assert_eq!(member.consumer.callback(), None, "the answer comes first");
        member.commit_answered(error);
        if again {
            assert_eq!(member.consumer.callback(), None);
            member.pass(100);
            member.commit_answered(ErrorCode::None);
        }
        member.return_from(&RebalanceCallback::Revoked(both()));
        assert!(matches!(member.next(), Request::JoinGroup(_)), "{error}");
    }
}

#[test]
fn a_kip_848_member_commits_before_it_gives_up_partitions_k_pos_3() {
    let mut member = auto_committing(GroupProtocol::Consumer);
    member.pass(5_000);
    member.answer_commits();
    member.beat_answered(1, Some(&[t(1)]));
    assert_eq!(member.commit(), (1, vec![(t(0), 9), (t(1), 5)]));
    assert_eq!(member.consumer.callback(), None, "the answer comes first");
    member.commit_answered(ErrorCode::None);
    member.return_from(&RebalanceCallback::Revoked(vec![t(0)]));
    assert_eq!(member.beat(), (1, false, Some(vec![t(1)])));
}

#[test]
fn a_classic_member_does_not_commit_between_generations_k_com_5() {
    let mut member = Member::new(GroupProtocol::Classic);
    member.join_classic(7, 1);
    member.pass(3_000);
    member.heartbeat(ErrorCode::RebalanceInProgress);
    member.return_from(&RebalanceCallback::Revoked(both()));
    assert!(matches!(member.next(), Request::JoinGroup(_)));
    let (partition, offset, leader_epoch) = (t(0), 9, LeaderEpoch::NONE);
    let offsets = vec![CommittableOffset { partition, offset, leader_epoch }];
    let timeout = Duration::from_millis(1_000);
    member.next_call = Some(ConsumerCall::CommitSync { offsets, timeout });
    member.pass(1_000);
    member.polls = false;
    assert_eq!(member.thrown().as_deref(), Some("RebalanceInProgressException"));
}

#[test]
fn a_static_classic_member_keeps_its_place_when_it_closes_k_ctp_1() {
    let config = ConsumerConfig { group_instance: Some(3), ..config(GroupProtocol::Classic) };
    let mut member = Member::with(&config);
    let Request::JoinGroup(join) = member.next() else { panic!("{:?}", member.asked) };
    assert_eq!(join.instance, Some(3));
    member.answer(refused(ErrorCode::MemberIdRequired, Some(7)));
    member.join_classic(7, 1);
    assert_eq!(member.consumer.group_metadata().instance, Some(3));
    member.close();
    assert!(member.asked.is_empty(), "{:?}", member.asked);
}

#[test]
fn a_fenced_classic_instance_throws_k_ctp_4() {
    let config = ConsumerConfig { group_instance: Some(3), ..config(GroupProtocol::Classic) };
    let mut member = Member::with(&config);
    member.join_classic(7, 1);
    member.pass(3_000);
    member.heartbeat(ErrorCode::FencedInstanceId);
    assert_eq!(member.thrown().as_deref(), Some("FencedInstanceIdException"));
}

#[test]
fn a_static_kip_848_member_leaves_for_a_while_k_ctp_1() {
    let config = ConsumerConfig { group_instance: Some(3), ..config(GroupProtocol::Consumer) };
    let mut member = Member::with(&config);
    let Request::ConsumerGroupHeartbeat(beat) = member.next() else { panic!() };
    assert_eq!(beat.instance, Some(3));
    member.beat_answered(1, Some(&both()));
    member.return_from(&RebalanceCallback::Assigned(both()));
    assert_eq!(member.consumer.group_metadata().instance, Some(3));
    member.close();
    let Request::ConsumerGroupHeartbeat(beat) = member.next() else { panic!() };
    assert_eq!((beat.member_epoch, beat.instance), (-2, Some(3)));
}

#[test]
fn a_kip_848_instance_that_is_not_free_throws_and_falls_silent_k_ctp_4() {
    for error in [ErrorCode::UnreleasedInstanceId, ErrorCode::FencedInstanceId] {
        let config = ConsumerConfig { group_instance: Some(3), ..config(GroupProtocol::Consumer) };
        let mut member = Member::with(&config);
        member.beat_refused(error);
        assert_eq!(member.thrown(), Some(Exception::of(error).class.name()));
        member.pass(10_000);
        assert!(member.asked.is_empty(), "{error}: {:?}", member.asked);
    }
}

#[test]
fn offsets_that_are_not_stable_are_asked_for_again_k_com_2_k_com_4() {
    use ErrorCode as E;
    for (error, thrown) in [
        (E::UnstableOffsetCommit, None),
        (E::UnknownTopicOrPartition, None),
        (E::TopicAuthorizationFailed, Some("TopicAuthorizationException")),
        (E::InvalidTxnState, Some("KafkaException")),
    ] {
        let mut member = Member::new(GroupProtocol::Consumer);
        member.partition_errors = vec![error];
        member.beat_answered(3, Some(&both()));
        member.return_from(&RebalanceCallback::Assigned(both()));
        assert_eq!(member.thrown().as_deref(), thrown, "{error}");
        if thrown.is_none() {
            assert_eq!(member.consumer.position(t(0)), None, "{error}: all or nothing");
        }
        member.pass(100);
        assert_eq!(member.consumer.position(t(0)), Some(5), "{error}");
    }
}

#[test]
fn a_partition_that_does_not_exist_is_thrown_to_a_classic_member_k_com_4() {
    let mut member = Member::new(GroupProtocol::Classic);
    member.partition_errors = vec![ErrorCode::UnknownTopicOrPartition];
    member.join_classic(7, 1);
    assert_eq!(member.thrown().as_deref(), Some("KafkaException"));
}

#[test]
fn another_coordinator_is_looked_up_when_this_one_is_none_k_com_4() {
    let mut member = Member::new(GroupProtocol::Consumer);
    member.refusals = vec![ErrorCode::NotCoordinator];
    member.beat_answered(3, Some(&both()));
    member.return_from(&RebalanceCallback::Assigned(both()));
    member.pass(99);
    assert_eq!(member.finding, None);
    member.now += Duration::from_millis(1);
    member.run();
    assert!(member.finding.is_some());
}
