//! An application that reads as a member of a group: it commits what it was given, after it was.

mod harness;

use std::collections::VecDeque;

use eosim_actor::{Actor, Correlation, CrashKind, Cx, Effect, Event, Out, Quiet};
use eosim_clients::{CommitMode, GroupConsumerApplication, GroupConsumerSpec, Span};
use eosim_types::config::{AutoOffsetReset, ConsumerConfig, GroupProtocol};
use eosim_types::message::{
    ConsumerGroupHeartbeatResponse, FetchResponse, FindCoordinatorResponse, Message,
    MetadataResponse, OffsetCommitResponse, OffsetFetchResponse, OffsetFetchResult, Request,
    Response,
};
use eosim_types::observation::Observed;
use eosim_types::version::TransactionVersion;
use eosim_types::{ActorId, BrokerId, Duration, ErrorCode, GroupId, Instant, LeaderEpoch, Marks};
use harness::reader::{answer, records};
use harness::{image, t};

/// The application alone in its group, before a partition with records 0 and 1.
struct Stage {
    app: GroupConsumerApplication,
    now: Instant,
    alarm: Option<Instant>,
    marks: Marks,
    arrivals: VecDeque<(Correlation, Response)>,
    /// Records that were delivered, and offsets that were committed.
    story: Vec<String>,
    committed: i64,
    /// How commits are answered.
    commit: ErrorCode,
}

impl Stage {
    fn new(commit: CommitMode) -> Self {
        let spec = GroupConsumerSpec {
            config: ConsumerConfig {
                group: Some(GroupId(1)),
                group_protocol: GroupProtocol::Consumer,
                auto_offset_reset: AutoOffsetReset::Earliest,
                auto_commit_interval: Duration::from_millis(1_000),
                max_poll_records: 1,
                ..ConsumerConfig::default()
            },
            topic: t(0).topic,
            start_at: Instant::START,
            commit,
            record_pause: Span::default(),
            leave_per_mille: 0,
            restart_pause: Duration::from_millis(100),
        };
        Self {
            app: GroupConsumerApplication::new(ActorId(9), &spec, &[BrokerId(1)]),
            now: Instant::START,
            alarm: None,
            marks: Marks::new(),
            arrivals: VecDeque::new(),
            story: Vec::new(),
            committed: 0,
            commit: ErrorCode::None,
        }
    }

    fn start(&mut self, ms: u64) {
        self.step(Event::Started);
        self.pass(ms);
    }

    fn pass(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        loop {
            if let Some((correlation, response)) = self.arrivals.pop_front() {
                let message = Message::Response(response);
                self.step(Event::Response { correlation, message });
            } else if let Some(at) = self.alarm.take_if(|at| *at <= end) {
                self.now = at;
                self.step(Event::Timer(eosim_actor::TimerKey(0)));
            } else {
                self.now = end;
                return;
            }
        }
    }

    fn step(&mut self, event: Event<Message>) {
        let mut out: Out<Message, Observed> = Out::new();
        let env = harness::env(self.now, &mut self.marks);
        self.app.step(&mut Cx { id: ActorId(9), env, choices: &mut Quiet }, event, &mut out);
        for effect in out.drain() {
            match effect {
                Effect::SetTimer { at, .. } => self.alarm = Some(at),
                Effect::CancelTimer { .. } => self.alarm = None,
                Effect::Observe(Observed::Polled { records, .. }) => {
                    let offsets = records.iter().map(|(offset, _)| format!("given {offset}"));
                    self.story.extend(offsets);
                }
                Effect::Send { correlation, message: Message::Request(request), .. } => {
                    let answer = self.answer(&request);
                    self.arrivals.extend(answer.map(|answer| (correlation, answer)));
                }
                _ => {}
            }
        }
    }

    fn answer(&mut self, request: &Request) -> Option<Response> {
        let error = ErrorCode::None;
        Some(match request {
            Request::Metadata(_) => {
                MetadataResponse { image: image(1, 1, TransactionVersion::Tv2) }.into()
            }
            Request::FindCoordinator(_) => {
                FindCoordinatorResponse { error, node: Some(BrokerId(1)) }.into()
            }
            Request::ConsumerGroupHeartbeat(_) => ConsumerGroupHeartbeatResponse {
                error,
                member_epoch: 1,
                heartbeat_interval: Duration::from_millis(5_000),
                assignment: Some(vec![t(0)]),
            }
            .into(),
            Request::OffsetFetch(_) => {
                let (offset, leader_epoch) = (self.committed, LeaderEpoch::NONE);
                let result = OffsetFetchResult { error, offset, leader_epoch };
                OffsetFetchResponse { error, partitions: [(t(0), result)].into() }.into()
            }
            Request::OffsetCommit(commit) => {
                self.story.push(format!("commit {}", commit.offsets[0].offset));
                if self.commit.is_none() {
                    self.committed = commit.offsets[0].offset;
                }
                OffsetCommitResponse { partitions: [(t(0), self.commit)].into() }.into()
            }
            Request::Fetch(fetch) if fetch.partitions[0].fetch_offset < 2 => {
                let batches = vec![records(-1, 0, 1)];
                FetchResponse { partitions: vec![answer(batches, &[])], ..FetchResponse::default() }
                    .into()
            }
            _ => return None,
        })
    }
}

#[test]
fn what_was_given_is_committed_before_more_is_taken_k_pos_3() {
    for mode in [CommitMode::Sync, CommitMode::Async] {
        let mut stage = Stage::new(mode);
        stage.start(500);
        assert_eq!(stage.story, ["given 0", "commit 1", "given 1", "commit 2"], "{mode:?}");
    }
}

#[test]
fn an_automatic_commit_covers_what_was_given_k_pos_3() {
    let mut stage = Stage::new(CommitMode::Auto);
    stage.start(999);
    assert_eq!(stage.story, ["given 0", "given 1"]);
    stage.pass(600);
    assert_eq!(stage.story[2], "commit 2");
}

#[test]
fn a_failed_commit_is_made_good_by_the_next_k_com_5() {
    let mut stage = Stage::new(CommitMode::Sync);
    stage.commit = ErrorCode::StaleMemberEpoch;
    stage.start(500);
    assert_eq!(stage.story, ["given 0", "commit 1", "given 1", "commit 2"]);
    let mut stage = Stage::new(CommitMode::Sync);
    stage.commit = ErrorCode::UnknownServerError;
    stage.start(90);
    assert_eq!(stage.story, ["given 0", "commit 1"], "it comes back after a pause");
    stage.pass(100);
    assert_eq!(stage.story[2..], ["given 0", "commit 1"]);
}

#[test]
fn the_next_life_reads_again_what_was_not_committed_k_com_3() {
    let mut stage = Stage::new(CommitMode::Auto);
    stage.start(500);
    stage.app.crash(CrashKind::Process);
    (stage.alarm, stage.arrivals) = (None, VecDeque::new());
    stage.start(500);
    assert_eq!(stage.story, ["given 0", "given 1", "given 0", "given 1"]);
}
