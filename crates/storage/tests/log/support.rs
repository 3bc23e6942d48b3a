//! A log on a bench: builders of batches, and a small language for tables of steps.

use std::sync::Arc;

use eosim_storage::{
    AppendOrigin, LogAppendInfo, LogConfig, ProducerStateEntry, UnifiedLog, VerificationGuard,
    end_transaction_marker,
};
use eosim_types::record::{EndTransactionMarker, Payload, Record, RecordBatch, TransactionResult};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{
    CoordinatorEpoch, Defect, DefectSet, Duration, Env, ErrorCode, Instant, LeaderEpoch, Marks,
    ProducerEpoch, ProducerId, Sequence, Value,
};

pub(crate) const EPOCH: LeaderEpoch = LeaderEpoch(0);

/// A log, its surroundings, and short ways to use them.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) log: UnifiedLog,
    pub(crate) now_ms: u64,
    pub(crate) kafka: KafkaVersion,
    pub(crate) defects: DefectSet,
    pub(crate) marks: Marks,
}

impl Default for Bench {
    fn default() -> Self {
        Self::with_config(LogConfig::default())
    }
}

impl Bench {
    /// Kafka 4.4 as released.
    pub(crate) fn with_config(config: LogConfig) -> Self {
        Self {
            log: UnifiedLog::new(config),
            now_ms: 1_000,
            kafka: KafkaVersion::V4_4,
            defects: DefectSet::as_released(),
            marks: Marks::new(),
        }
    }

    /// As released, but for `defect`.
    pub(crate) fn without(defect: Defect) -> Self {
        let others = DefectSet::as_released().iter().filter(|&other| other != defect);
        let defects = others.fold(DefectSet::NONE, DefectSet::with);
        Self { defects, ..Self::default() }
    }

    pub(crate) fn with_env<R>(
        &mut self,
        use_log: impl FnOnce(&mut UnifiedLog, &mut Env<'_>) -> R,
    ) -> R {
        let mut env = Env {
            now: Instant::START + Duration::from_millis(self.now_ms),
            clock_skew_ms: 0,
            kafka: self.kafka,
            backports: eosim_types::CapabilitySet::NONE,
            defects: self.defects,
            marks: &mut self.marks,
        };
        use_log(&mut self.log, &mut env)
    }

    pub(crate) fn append(
        &mut self,
        batch: RecordBatch,
        origin: AppendOrigin,
        guard: VerificationGuard,
        version: Option<TransactionVersion>,
    ) -> Result<LogAppendInfo, ErrorCode> {
        self.with_env(|log, env| log.append_as_leader(env, batch, EPOCH, origin, guard, version))
    }

    /// From a client, without verification.
    pub(crate) fn client(&mut self, batch: RecordBatch) -> Result<LogAppendInfo, ErrorCode> {
        self.append(batch, AppendOrigin::Client, VerificationGuard::SENTINEL, None)
    }

    pub(crate) fn guarded(
        &mut self,
        batch: RecordBatch,
        guard: VerificationGuard,
    ) -> Result<LogAppendInfo, ErrorCode> {
        self.append(batch, AppendOrigin::Client, guard, None)
    }

    pub(crate) fn start_verification(
        &mut self,
        batch: &RecordBatch,
        supports_epoch_bump: bool,
    ) -> Result<VerificationGuard, ErrorCode> {
        let (id, sequence, epoch) = (batch.producer_id, batch.base_sequence, batch.producer_epoch);
        self.with_env(|log, env| {
            log.maybe_start_transaction_verification(env, id, sequence, epoch, supports_epoch_bump)
        })
    }

    /// From a client or a coordinator, verified by the transaction's coordinator.
    pub(crate) fn verified(
        &mut self,
        batch: RecordBatch,
        origin: AppendOrigin,
        supports_epoch_bump: bool,
    ) -> Result<LogAppendInfo, ErrorCode> {
        let guard = self.start_verification(&batch, supports_epoch_bump)?;
        self.append(batch, origin, guard, None)
    }

    pub(crate) fn marker(
        &mut self,
        (producer, producer_epoch): (i64, i16),
        coordinator_epoch: i32,
        result: TransactionResult,
        version: TransactionVersion,
    ) -> Result<LogAppendInfo, ErrorCode> {
        let marker =
            EndTransactionMarker { result, coordinator_epoch: CoordinatorEpoch(coordinator_epoch) };
        let (id, epoch) = (ProducerId(producer), ProducerEpoch(producer_epoch));
        let batch = self.with_env(|_, env| end_transaction_marker(env, id, epoch, marker));
        let guard = VerificationGuard::SENTINEL;
        self.append(batch, AppendOrigin::Coordinator, guard, Some(version))
    }

    pub(crate) fn replicate(&mut self, batches: &[RecordBatch]) -> Result<(), ErrorCode> {
        self.with_env(|log, env| log.append_as_follower(env, batches, LeaderEpoch(i32::MAX)))
    }

    pub(crate) fn high_watermark(&mut self, offset: i64) {
        self.with_env(|log, env| log.update_high_watermark(env, offset));
    }

    /// Everything in the log is replicated.
    pub(crate) fn replicate_all(&mut self) {
        self.high_watermark(self.log.log_end_offset());
    }

    pub(crate) fn sweep(&mut self) {
        self.with_env(UnifiedLog::remove_expired_producers);
    }

    pub(crate) fn recover(&mut self) {
        self.with_env(UnifiedLog::recover);
    }

    /// The process is stopped and started.
    pub(crate) fn stop_and_start(&mut self) {
        self.with_env(UnifiedLog::close);
        self.recover();
    }

    /// The process is killed and started.
    pub(crate) fn kill_and_start(&mut self) {
        self.log.crash(false);
        self.recover();
    }

    pub(crate) fn truncate(&mut self, offset: i64) {
        self.with_env(|log, env| log.truncate_to(env, offset));
    }

    pub(crate) fn delete_records(&mut self, offset: i64) -> bool {
        self.with_env(|log, env| log.maybe_increment_log_start_offset(env, offset))
    }

    pub(crate) fn roll(&mut self) {
        self.with_env(UnifiedLog::roll);
    }

    pub(crate) fn aborted(
        &mut self,
        from: i64,
        upper_bound: i64,
        max_bytes: i32,
    ) -> Vec<(i64, i64)> {
        let batches = self.log.read(from, upper_bound, max_bytes);
        let found = self.with_env(|log, env| log.aborted_transactions(env, from, &batches));
        found.iter().map(|aborted| (aborted.producer_id.0, aborted.first_offset)).collect()
    }

    /// The index as (producer, first offset, last offset, last stable offset).
    pub(crate) fn index(&self) -> Vec<(i64, i64, i64, i64)> {
        let entries = self.log.aborted_index();
        let entry = |a: &eosim_types::record::AbortedTxn| {
            (a.producer_id.0, a.first_offset, a.last_offset, a.last_stable_offset)
        };
        entries.iter().map(entry).collect()
    }

    pub(crate) fn entry(&self, producer: i64) -> Option<&ProducerStateEntry> {
        self.log.producer_state_manager().last_entry(ProducerId(producer))
    }

    /// What is known of a producer: epoch, remembered sequences, open transaction.
    pub(crate) fn state(&self, producer: i64) -> String {
        let Some(entry) = self.entry(producer) else {
            return "unknown".to_owned();
        };
        let mut text = format!("epoch {}", entry.producer_epoch);
        for batch in entry.batches() {
            let (first, last) = (batch.first_sequence(), batch.last_sequence);
            text += &if first == last || last == Sequence::NONE {
                format!(" [{last}]")
            } else {
                format!(" [{first}-{last}]")
            };
        }
        if let Some(first_offset) = entry.current_txn_first_offset {
            text += &format!(" open@{first_offset}");
        }
        text
    }

    /// The guard that the log holds for the producer.
    pub(crate) fn guard(&self, producer: i64) -> Option<VerificationGuard> {
        let manager = self.log.producer_state_manager();
        manager.verification_state_entry(ProducerId(producer)).map(|entry| entry.verification_guard)
    }

    /// Runs `steps`, separated by `;`, and compares every outcome.
    pub(crate) fn run(&mut self, case: &str, steps: &str) {
        for step in steps.split(';').map(str::trim).filter(|step| !step.is_empty()) {
            let (action, expected) = step.rsplit_once(' ').expect("an action and its outcome");
            assert_eq!(self.act(action), expected, "{case}: {step}");
        }
    }

    fn act(&mut self, action: &str) -> String {
        let (producer, action) = match action.strip_prefix('p') {
            Some(rest) => rest.split_once(' ').expect("a producer and an action"),
            None => ("1", action),
        };
        let producer: i64 = producer.parse().expect("a producer id");
        if let Some(rest) = action.strip_prefix("R@") {
            let (offset, action) = rest.split_once(' ').expect("an offset and a batch");
            let mut batch = self.parse(producer, action).0;
            batch.base_offset = offset.parse().expect("an offset");
            let outcome = self.replicate(&[batch]);
            return outcome.map_or_else(|e| e.code().to_string(), |()| "stored".to_owned());
        }
        let (batch, version) = self.parse(producer, action);
        let outcome = match action.as_bytes()[0] {
            b'T' => self.verified(batch, AppendOrigin::Client, false),
            b'U' => self.verified(batch, AppendOrigin::Client, true),
            b'G' => self.verified(batch, AppendOrigin::Coordinator, true),
            b'C' | b'A' => {
                let guard = VerificationGuard::SENTINEL;
                self.append(batch, AppendOrigin::Coordinator, guard, Some(version))
            }
            _ => self.client(batch),
        };
        match outcome {
            Ok(info) if info.is_duplicate => format!("dup@{}", info.first_offset),
            Ok(info) => format!("ok@{}", info.first_offset),
            Err(error) => error.code().to_string(),
        }
    }

    fn parse(&mut self, producer: i64, action: &str) -> (RecordBatch, TransactionVersion) {
        let (kind, rest) = action.split_at(1);
        let (arguments, version) = rest.rsplit_once(')').expect("arguments in brackets");
        let mut numbers = arguments[1..].split(',').map(|text| text.replace("MAX", "2147483647"));
        let first: i16 = numbers.next().and_then(|n| n.parse().ok()).expect("a number");
        let second = numbers.next().unwrap_or_else(|| "0".to_owned());
        let version =
            if version == "/2" { TransactionVersion::Tv2 } else { TransactionVersion::Tv0 };
        let batch = match kind {
            "N" => plain(first.unsigned_abs().into()),
            "C" | "A" => {
                let result = TransactionResult::from_committed(kind == "C");
                let coordinator_epoch = CoordinatorEpoch(second.parse().expect("an epoch"));
                let marker = EndTransactionMarker { result, coordinator_epoch };
                let (id, epoch) = (ProducerId(producer), ProducerEpoch(first));
                self.with_env(|_, env| end_transaction_marker(env, id, epoch, marker))
            }
            _ => {
                let (from, to) = sequences(&second);
                data(producer, first, from, to, kind != "D", i64::try_from(self.now_ms).unwrap())
            }
        };
        (batch, version)
    }
}

/// `s`, `s-t` or `-1`.
fn sequences(text: &str) -> (Sequence, Sequence) {
    let number = |text: &str| Sequence(text.parse().expect("a sequence"));
    match text.split_once('-') {
        Some(("", _)) | None => (number(text), number(text)),
        Some((from, to)) => (number(from), number(to)),
    }
}

fn records(count: u32) -> Payload {
    let record = |n| Record { value: Value(u64::from(n)), key: None, value_bytes: 1 };
    Payload::Records((0..count).map(record).collect())
}

/// A batch with a producer id and the sequences `from` to `to`, which may wrap.
pub(crate) fn data(
    producer: i64,
    epoch: i16,
    from: Sequence,
    to: Sequence,
    is_transactional: bool,
    max_timestamp: i64,
) -> RecordBatch {
    let last_offset_delta =
        i32::try_from((i64::from(to.0) - i64::from(from.0)).rem_euclid(1 << 31));
    let last_offset_delta = last_offset_delta.expect("a short batch");
    RecordBatch {
        base_offset: 0,
        last_offset_delta,
        partition_leader_epoch: EPOCH,
        is_transactional,
        max_timestamp,
        producer_id: ProducerId(producer),
        producer_epoch: ProducerEpoch(epoch),
        base_sequence: from,
        payload: records(last_offset_delta.unsigned_abs() + 1),
    }
}

/// One transactional record of producer `producer`.
pub(crate) fn txn(producer: i64, epoch: i16, sequence: i32) -> RecordBatch {
    data(producer, epoch, Sequence(sequence), Sequence(sequence), true, 1_000)
}

/// One idempotent record of producer `producer`.
pub(crate) fn idempotent(producer: i64, epoch: i16, sequence: i32) -> RecordBatch {
    RecordBatch { is_transactional: false, ..txn(producer, epoch, sequence) }
}

/// `count` records without a producer id.
pub(crate) fn plain(count: u32) -> RecordBatch {
    RecordBatch {
        base_offset: 0,
        last_offset_delta: i32::try_from(count).unwrap() - 1,
        partition_leader_epoch: EPOCH,
        is_transactional: false,
        max_timestamp: 1_000,
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        base_sequence: Sequence::NONE,
        payload: records(count),
    }
}

/// One record with a key.
pub(crate) fn keyed(mut batch: RecordBatch, keys: &[u32]) -> RecordBatch {
    let record = |&key: &u32| Record { value: Value(0), key: Some(key), value_bytes: 1 };
    let records: Arc<[Record]> = keys.iter().map(record).collect();
    batch.last_offset_delta = i32::try_from(keys.len()).unwrap() - 1;
    batch.payload = Payload::Records(records);
    batch
}

/// `batch` as it lies at `base_offset`.
pub(crate) fn at(base_offset: i64, batch: RecordBatch) -> RecordBatch {
    RecordBatch { base_offset, ..batch }
}

/// A marker of coordinator epoch `coordinator_epoch` at `base_offset`, without a leader.
pub(crate) fn marker_at(
    base_offset: i64,
    (producer, epoch): (i64, i16),
    coordinator_epoch: i32,
    result: TransactionResult,
) -> RecordBatch {
    let coordinator_epoch = CoordinatorEpoch(coordinator_epoch);
    RecordBatch {
        payload: Payload::Control(EndTransactionMarker { result, coordinator_epoch }),
        base_sequence: Sequence::NONE,
        ..at(base_offset, txn(producer, epoch, 0))
    }
}
