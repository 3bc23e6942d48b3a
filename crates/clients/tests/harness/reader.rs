//! A consumer in front of brokers that answer by script, and what it reads.

use std::sync::Arc;

use eosim_actor::{Correlation, Cx, Effect, Out, Quiet};
use eosim_clients::Exception;
use eosim_clients::consumer::{Consumer, ConsumerCall, ConsumerOutcome, PolledPartition, Returned};
use eosim_types::config::{AutoOffsetReset, ConsumerConfig};
use eosim_types::message::{
    FetchPartitionResponse, FetchResponse, IsolationLevel, ListOffsetsPartitionResponse,
    ListOffsetsResponse, Message, MetadataResponse, Request, Response,
};
use eosim_types::metadata::MetadataImage;
use eosim_types::observation::Observed;
use eosim_types::record::{
    AbortedTxn, EndTransactionMarker, Payload, Record, RecordBatch, TransactionResult,
};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    ActorId, BrokerId, CoordinatorEpoch, DefectSet, Duration, Env, ErrorCode, Instant, LeaderEpoch,
    Marks, ProducerEpoch, ProducerId, Sequence, Value,
};

use super::{image, t};

/// A batch `base..=last` of producer `id`; `transactional` or not.
pub(crate) fn batch(
    id: i64,
    base: i64,
    last: i64,
    is_transactional: bool,
    payload: Payload,
) -> RecordBatch {
    RecordBatch {
        base_offset: base,
        last_offset_delta: i32::try_from(last - base).expect("short"),
        partition_leader_epoch: LeaderEpoch(0),
        is_transactional,
        max_timestamp: 0,
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(0),
        base_sequence: Sequence::NONE,
        payload,
    }
}

pub(crate) fn records(id: i64, base: i64, last: i64) -> RecordBatch {
    let of = |offset: i64| Record {
        value: Value(u64::try_from(offset).expect("not negative")),
        key: None,
        value_bytes: 2,
    };
    let records: Vec<_> = (base..=last).map(of).collect();
    batch(id, base, last, id >= 0, Payload::Records(Arc::from(records)))
}

pub(crate) fn marker(id: i64, offset: i64, result: TransactionResult) -> RecordBatch {
    let marker = EndTransactionMarker { result, coordinator_epoch: CoordinatorEpoch(0) };
    batch(id, offset, offset, true, Payload::Control(marker))
}

pub(crate) fn abort(id: i64, offset: i64) -> RecordBatch {
    marker(id, offset, TransactionResult::Abort)
}

pub(crate) fn commit(id: i64, offset: i64) -> RecordBatch {
    marker(id, offset, TransactionResult::Commit)
}

pub(crate) fn empty(base: i64, last: i64) -> RecordBatch {
    batch(-1, base, last, false, Payload::Records(Arc::from([])))
}

/// A consumer of the partitions of topic `t`, and its brokers.
pub(crate) struct Reader {
    pub(crate) consumer: Consumer,
    pub(crate) now: Instant,
    pub(crate) image: Arc<MetadataImage>,
    marks: Marks,
    /// Switches that are on.
    pub(crate) defects: DefectSet,
    /// The request that was asked last.
    pub(crate) last: Correlation,
    /// Requests not answered yet, Metadata apart.
    pub(crate) wire: Vec<(ActorId, Correlation, Request)>,
}

impl Reader {
    /// Of partition 0, from its start.
    pub(crate) fn new(isolation_level: IsolationLevel, max_poll_records: u32) -> Self {
        let config = ConsumerConfig {
            isolation_level,
            max_poll_records,
            auto_offset_reset: AutoOffsetReset::Earliest,
            ..ConsumerConfig::default()
        };
        let mut reader = Self::of(&config, 1);
        let request = reader.exchange(None);
        assert!(matches!(request, Some(Request::ListOffsets(_))), "{request:?}");
        reader
    }

    /// Of so many partitions, all led by broker 1; nothing is sent yet.
    pub(crate) fn of(config: &ConsumerConfig, partitions: i32) -> Self {
        let all: Vec<_> = (0..partitions).map(t).collect();
        Self {
            consumer: Consumer::new(config, &all, &[BrokerId(1), BrokerId(2)]),
            now: Instant::START,
            image: image(1, partitions, TransactionVersion::Tv2),
            marks: Marks::new(),
            defects: DefectSet::NONE,
            last: Correlation(0),
            wire: Vec::new(),
        }
    }

    /// Broker `node` leads `partition` in `leader_epoch`, as the next Metadata tells.
    pub(crate) fn elect(&mut self, partition: i32, node: i32, leader_epoch: i32) {
        let image = Arc::make_mut(&mut self.image);
        image.version += 1;
        let known = image.partitions.get_mut(&t(partition)).expect("it exists");
        (known.leader, known.leader_epoch) = (Some(BrokerId(node)), LeaderEpoch(leader_epoch));
    }

    pub(crate) fn with_cx<T>(&mut self, f: impl FnOnce(&mut Consumer, &mut Cx<'_>) -> T) -> T {
        let env = Env { defects: self.defects, ..super::env(self.now, &mut self.marks) };
        f(&mut self.consumer, &mut Cx { id: ActorId(9), env, choices: &mut Quiet })
    }

    /// Answers the request asked last, if an answer is given, and returns the first of the next
    /// ones; Metadata is answered on the way.
    pub(crate) fn exchange(&mut self, answer: Option<Response>) -> Option<Request> {
        if let Some(answer) = answer {
            self.wire.retain(|(_, correlation, _)| *correlation != self.last);
            self.consumer.arrived(self.last, Some(answer));
        }
        self.go_on(Consumer::advance)
    }

    /// Answers the oldest request.
    pub(crate) fn answer(&mut self, answer: impl Into<Response>) -> Option<Request> {
        self.last = self.wire.first().expect("a request").1;
        self.exchange(Some(answer.into()))
    }

    /// The answer to the oldest request arrives.
    pub(crate) fn arrive(&mut self, answer: impl Into<Response>) {
        let (_, correlation, _) = self.wire.remove(0);
        self.consumer.arrived(correlation, Some(answer.into()));
    }

    /// `poll(0)`, and what it returned or threw.
    pub(crate) fn call_poll(&mut self) -> Result<Returned, Exception> {
        let timeout = Duration::ZERO;
        self.consumer.call(ConsumerCall::Poll { timeout }, self.now);
        self.turn().expect("its time is over")
    }

    /// One turn; what the call returned or threw.
    pub(crate) fn turn(&mut self) -> Option<Result<Returned, Exception>> {
        let mut returned = None;
        self.go_on(|consumer, cx, out| returned = returned.take().or(consumer.turn(cx, out)));
        returned
    }

    /// `currentLag()` of partition 0.
    pub(crate) fn lag(&mut self) -> Result<Option<i64>, Exception> {
        let mut lag = Ok(None);
        self.go_on(|consumer, cx, out| lag = consumer.lag(t(0), cx, out));
        lag
    }

    fn go_on(
        &mut self,
        mut turn: impl FnMut(&mut Consumer, &mut Cx<'_>, &mut Out<Message, Observed>),
    ) -> Option<Request> {
        let mut first = None;
        loop {
            let mut out: Out<Message, Observed> = Out::new();
            self.with_cx(|consumer, cx| turn(consumer, cx, &mut out));
            let mut told = false;
            for effect in out.drain() {
                let Effect::Send { to, correlation, message: Message::Request(request), .. } =
                    effect
                else {
                    panic!("{effect:?}");
                };
                if matches!(request, Request::Metadata(_)) {
                    let image = self.image.clone();
                    self.consumer.arrived(correlation, Some(MetadataResponse { image }.into()));
                    told = true;
                    continue;
                }
                if first.is_none() {
                    self.last = correlation;
                    first = Some(request.clone());
                }
                self.wire.push((to, correlation, request));
            }
            if !told {
                return first;
            }
        }
    }

    pub(crate) fn start_at(&mut self, offset: i64) -> Option<Request> {
        let request = self.exchange(Some(listed(&[(0, offset)]).into()));
        assert_eq!(
            self.consumer.pop_outcome(),
            Some(ConsumerOutcome::PositionSet { partition: t(0), offset })
        );
        request
    }

    pub(crate) fn fetched(&mut self, answer: FetchPartitionResponse) -> Option<Request> {
        self.exchange(Some(
            FetchResponse { partitions: vec![answer], ..FetchResponse::default() }.into(),
        ))
    }

    pub(crate) fn poll(&mut self) -> Vec<PolledPartition> {
        let mut polled = vec![];
        let polling = self.with_cx(|consumer, cx| consumer.poll(cx, &mut polled));
        assert_eq!(polling, Ok(()));
        polled
    }
}

/// Where each partition begins or ends.
pub(crate) fn listed(offsets: &[(i32, i64)]) -> ListOffsetsResponse {
    let one = |&(partition, offset)| ListOffsetsPartitionResponse {
        partition: t(partition),
        error: ErrorCode::None,
        timestamp: -1,
        offset,
    };
    ListOffsetsResponse { partitions: offsets.iter().map(one).collect() }
}

pub(crate) fn answer(batches: Vec<RecordBatch>, aborted: &[(i64, i64)]) -> FetchPartitionResponse {
    let entry = |&(id, first_offset): &(i64, i64)| AbortedTxn {
        producer_id: ProducerId(id),
        first_offset,
        last_offset: -1,
        last_stable_offset: -1,
    };
    FetchPartitionResponse {
        partition: t(0),
        error: ErrorCode::None,
        high_watermark: 200,
        last_stable_offset: 150,
        log_start_offset: 0,
        aborted_transactions: aborted.iter().map(entry).collect(),
        diverging_epoch: None,
        batches: batches.into(),
    }
}
