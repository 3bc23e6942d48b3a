//! The log against a naive model that keeps every batch and reads everything back from them, with
//! crashes at every point (L-SNP, L-SIM-3).

use eosim_storage::LogConfig;
use eosim_types::record::{RecordBatch, TransactionResult};
use eosim_types::version::TransactionVersion;
use eosim_types::{CoordinatorEpoch, Defect, ErrorCode, ProducerEpoch, ProducerId, Sequence};
use proptest::prelude::*;

use crate::support::{Bench, at, data, marker_at, plain};

const PRODUCERS: std::ops::RangeInclusive<i64> = 1..=3;

/// One action; epochs and sequences are relative to what would be right.
#[derive(Clone, Debug)]
enum Action {
    Data {
        producer: i64,
        epoch_delta: i16,
        sequence_delta: i32,
        count: i32,
        transactional: bool,
    },
    Resend {
        producer: i64,
        back: usize,
    },
    Marker {
        producer: i64,
        epoch_delta: i16,
        coordinator_epoch: i32,
        commit: bool,
        version_2: bool,
    },
    Plain,
    Replicate {
        percent: i64,
    },
    Roll,
    Restart {
        clean: bool,
    },
    Truncate {
        percent: usize,
    },
}

fn action() -> impl Strategy<Value = Action> {
    let mostly_0 = || prop_oneof![12 => Just(0i16), 2 => Just(1), 1 => Just(-1)];
    let sequence = prop_oneof![12 => Just(0), 1 => Just(1), 1 => Just(-1)];
    let data = (PRODUCERS, mostly_0(), sequence, 1..4, any::<bool>()).prop_map(
        |(producer, epoch_delta, sequence_delta, count, transactional)| Action::Data {
            producer,
            epoch_delta,
            sequence_delta,
            count,
            transactional,
        },
    );
    let marker = (
        PRODUCERS,
        prop_oneof![3 => Just(0), 3 => Just(1), 1 => Just(-1)],
        0..3,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(producer, epoch_delta, coordinator_epoch, commit, version_2)| {
            Action::Marker { producer, epoch_delta, coordinator_epoch, commit, version_2 }
        });
    prop_oneof![
        12 => data,
        3 => (PRODUCERS, 1..7usize).prop_map(|(producer, back)| Action::Resend { producer, back }),
        5 => marker,
        1 => Just(Action::Plain),
        3 => (0..=100i64).prop_map(|percent| Action::Replicate { percent }),
        1 => Just(Action::Roll),
        1 => any::<bool>().prop_map(|clean| Action::Restart { clean }),
        1 => (0..100usize).prop_map(|percent| Action::Truncate { percent }),
    ]
}

/// What a producer looks like, read from the whole log.
struct View {
    epoch: i16,
    coordinator_epoch: i32,
    /// Data of the current epoch, oldest first.
    of_epoch: Vec<RecordBatch>,
    open: Option<i64>,
}

impl View {
    fn next_sequence(&self, epoch: i16) -> Sequence {
        let last = self.of_epoch.last().filter(|_| epoch == self.epoch);
        last.map_or(Sequence(0), |batch| batch.last_sequence().advance(1))
    }

    fn remembered(&self) -> &[RecordBatch] {
        &self.of_epoch[self.of_epoch.len().saturating_sub(5)..]
    }
}

/// Every batch that was accepted and not cut.
#[derive(Default)]
struct Model {
    batches: Vec<RecordBatch>,
    high_watermark: i64,
}

impl Model {
    fn end(&self) -> i64 {
        self.batches.last().map_or(0, RecordBatch::next_offset)
    }

    fn view_at(&self, producer: i64, end: i64) -> View {
        let mut view = View { epoch: -1, coordinator_epoch: -1, of_epoch: Vec::new(), open: None };
        let below = self.batches.iter().filter(|batch| batch.base_offset < end);
        for batch in below.filter(|batch| batch.producer_id == ProducerId(producer)) {
            if view.epoch != batch.producer_epoch.0 {
                view.epoch = batch.producer_epoch.0;
                view.of_epoch.clear();
            }
            if let Some(marker) = batch.marker() {
                view.open = None;
                view.coordinator_epoch = marker.coordinator_epoch.0;
            } else {
                view.of_epoch.push(batch.clone());
                view.open = view.open.or(batch.is_transactional.then_some(batch.base_offset));
            }
        }
        view
    }

    fn view(&self, producer: i64) -> View {
        self.view_at(producer, i64::MAX)
    }

    /// Offset of the stored batch, or the error.
    fn data(&mut self, batch: RecordBatch) -> Result<i64, ErrorCode> {
        let view = self.view(batch.producer_id.0);
        let epoch = batch.producer_epoch.0;
        let same = |known: &&RecordBatch| {
            known.base_sequence == batch.base_sequence
                && known.last_sequence() == batch.last_sequence()
        };
        if let Some(original) = view.remembered().iter().filter(|_| epoch == view.epoch).find(same)
        {
            return Ok(original.base_offset);
        }
        if epoch < view.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if view.epoch >= 0 && batch.base_sequence != view.next_sequence(epoch) {
            return Err(ErrorCode::OutOfOrderSequenceNumber);
        }
        if view.open.is_some() && !batch.is_transactional {
            return Err(ErrorCode::InvalidTxnState);
        }
        Ok(self.push(batch))
    }

    fn marker(&mut self, batch: RecordBatch, version_2: bool) -> Result<i64, ErrorCode> {
        let view = self.view(batch.producer_id.0);
        let epoch = batch.producer_epoch.0;
        let ends_itself = version_2 && epoch == view.epoch && view.open.is_some();
        if epoch < view.epoch || ends_itself {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if batch.marker().unwrap().coordinator_epoch < CoordinatorEpoch(view.coordinator_epoch) {
            return Err(ErrorCode::TransactionCoordinatorFenced);
        }
        Ok(self.push(batch))
    }

    fn push(&mut self, batch: RecordBatch) -> i64 {
        let base_offset = self.end();
        self.batches.push(at(base_offset, batch));
        base_offset
    }

    /// Every decided transaction: (producer, first offset, marker offset, aborted).
    fn decided(&self) -> Vec<(i64, i64, i64, bool)> {
        let ended = self.batches.iter().filter_map(|batch| {
            let marker = batch.marker()?;
            let producer = batch.producer_id.0;
            let first_offset = self.view_at(producer, batch.base_offset).open?;
            let is_aborted = marker.result == TransactionResult::Abort;
            Some((producer, first_offset, batch.base_offset, is_aborted))
        });
        ended.collect()
    }

    fn index(&self) -> Vec<(i64, i64, i64, i64)> {
        let aborted = self.decided().into_iter().filter(|(.., is_aborted)| *is_aborted);
        aborted
            .map(|(producer, first, last, _)| {
                let others = PRODUCERS.filter(|other| *other != producer);
                let oldest = others.filter_map(|other| self.view_at(other, last).open).min();
                (producer, first, last, oldest.unwrap_or(last + 1))
            })
            .collect()
    }

    fn last_stable_offset(&self) -> i64 {
        let open = PRODUCERS.filter_map(|producer| self.view(producer).open);
        let decided = self.decided().into_iter();
        let unreplicated = decided.filter(|(_, _, last, _)| *last >= self.high_watermark);
        let first_unstable = open.chain(unreplicated.map(|(_, first, ..)| first)).min();
        first_unstable.map_or(self.high_watermark, |first| first.min(self.high_watermark))
    }
}

fn check(bench: &Bench, model: &Model) {
    for producer in PRODUCERS {
        let view = model.view(producer);
        let Some(entry) = bench.entry(producer) else {
            assert_eq!(view.epoch, -1);
            continue;
        };
        let known = (entry.producer_epoch, entry.coordinator_epoch, entry.current_txn_first_offset);
        let coordinator_epoch = CoordinatorEpoch(view.coordinator_epoch);
        assert_eq!(known, (ProducerEpoch(view.epoch), coordinator_epoch, view.open));
        let remembered: Vec<_> =
            entry.batches().iter().map(|b| (b.first_sequence(), b.last_offset)).collect();
        let expected: Vec<_> =
            view.remembered().iter().map(|b| (b.base_sequence, b.last_offset())).collect();
        assert_eq!(remembered, expected);
    }
    assert!(bench.log.batches().eq(&model.batches));
    assert_eq!(bench.index(), model.index());
    assert_eq!(bench.log.last_stable_offset(), model.last_stable_offset());
}

/// Everything that a restart must not change.
fn durable(bench: &Bench) -> impl PartialEq + std::fmt::Debug + use<> {
    let producers: Vec<_> = bench
        .log
        .producer_state_manager()
        .active_producers()
        .map(|(producer, entry)| (producer, *entry))
        .collect();
    let undecided = bench.log.producer_state_manager().first_undecided_offset();
    let offsets = (bench.log.log_start_offset(), bench.log.log_end_offset());
    (producers, undecided, offsets, bench.index(), bench.log.latest_epoch())
}

fn crash_everywhere(bench: &Bench) {
    let before = durable(bench);
    let mut stopped = bench.clone();
    stopped.stop_and_start();
    assert_eq!(durable(&stopped), before, "after a clean stop");
    let mut killed = bench.clone();
    killed.kill_and_start();
    assert_eq!(durable(&killed), before, "after a crash");
    let mut flushed = bench.clone();
    flushed.log.flush();
    flushed.log.crash(true);
    flushed.recover();
    assert_eq!(durable(&flushed), before, "after a power loss of a flushed log");
}

fn outcome(result: Result<eosim_storage::LogAppendInfo, ErrorCode>) -> Result<i64, ErrorCode> {
    result.map(|info| info.first_offset)
}

fn act(bench: &mut Bench, model: &mut Model, action: &Action) {
    match *action {
        Action::Data { producer, epoch_delta, sequence_delta, count, transactional } => {
            let view = model.view(producer);
            let epoch = (view.epoch + epoch_delta).max(0);
            let first = Sequence((view.next_sequence(epoch).0 + sequence_delta).max(0));
            let batch =
                data(producer, epoch, first, first.advance(count - 1), transactional, 1_000);
            assert_eq!(outcome(bench.client(batch.clone())), model.data(batch), "{action:?}");
        }
        Action::Resend { producer, back } => {
            let view = model.view(producer);
            let Some(place) = view.of_epoch.len().checked_sub(back) else {
                return;
            };
            let batch = at(0, view.of_epoch[place].clone());
            assert_eq!(outcome(bench.client(batch.clone())), model.data(batch), "{action:?}");
        }
        Action::Marker { producer, epoch_delta, coordinator_epoch, commit, version_2 } => {
            let epoch = (model.view(producer).epoch + epoch_delta).max(0);
            let result = TransactionResult::from_committed(commit);
            let version = if version_2 { TransactionVersion::Tv2 } else { TransactionVersion::Tv1 };
            let appended = bench.marker((producer, epoch), coordinator_epoch, result, version);
            let batch = marker_at(0, (producer, epoch), coordinator_epoch, result);
            assert_eq!(outcome(appended), model.marker(batch, version_2), "{action:?}");
        }
        Action::Plain => assert_eq!(outcome(bench.client(plain(1))), Ok(model.push(plain(1)))),
        Action::Replicate { percent } => {
            let unreplicated = model.end() - model.high_watermark;
            model.high_watermark += unreplicated * percent / 100;
        }
        Action::Roll => bench.roll(),
        Action::Restart { clean } => {
            model.high_watermark = model.end();
            bench.replicate_all();
            bench.log.checkpoint_high_watermark();
            if clean { bench.stop_and_start() } else { bench.kill_and_start() }
        }
        Action::Truncate { percent } => {
            bench.replicate_all();
            model.batches.truncate(model.batches.len() * percent / 100);
            model.high_watermark = model.end();
            bench.truncate(model.end());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_log_agrees_with_a_model_that_keeps_everything(
        actions in prop::collection::vec(action(), 1..60),
    ) {
        let mut bench = Bench::without(Defect::UpstreamLeaderSnapshotKeepsOneBatch);
        let config = LogConfig { segment_bytes: 400, verification_enabled: false, ..LogConfig::default() };
        bench.log.update_config(config);
        let mut model = Model::default();
        let mut stable = 0;
        for action in &actions {
            act(&mut bench, &mut model, action);
            bench.high_watermark(model.high_watermark);
            check(&bench, &model);
            let moved = bench.log.last_stable_offset();
            if !matches!(action, Action::Truncate { .. } | Action::Restart { .. }) {
                prop_assert!(moved >= stable, "L-LSO-5: {stable} to {moved} by {action:?}");
            }
            stable = moved;
            crash_everywhere(&bench);
        }
    }
}
