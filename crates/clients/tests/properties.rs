//! What holds for every list of answers.

mod harness;

use std::collections::BTreeMap;

use eosim_clients::producer::{Call, CallId};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{ProducePartitionResponse, ProduceResponse, Request};
use eosim_types::record::RecordBatch;
use eosim_types::version::TransactionVersion;
use eosim_types::{DefectSet, ErrorCode as E, TopicPartition, Value};
use harness::{Harness, config};
use proptest::prelude::*;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Send(i32),
    Answer(usize, E),
    Disconnect,
    Pass(u64),
}

const ERRORS: [E; 12] = [
    E::NotLeaderOrFollower,
    E::RequestTimedOut,
    E::NotEnoughReplicas,
    E::CorruptMessage,
    E::OutOfOrderSequenceNumber,
    E::UnknownProducerId,
    E::DuplicateSequenceNumber,
    E::InvalidProducerEpoch,
    E::TopicAuthorizationFailed,
    E::MessageTooLarge,
    E::TransactionAbortable,
    E::ConcurrentTransactions,
];

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0..3).prop_map(Happening::Send),
        4 => (0..3usize).prop_map(|index| Happening::Answer(index, E::None)),
        2 => (0..3usize, prop::sample::select(&ERRORS[..]))
            .prop_map(|(index, error)| Happening::Answer(index, error)),
        1 => Just(Happening::Disconnect),
        2 => (1..700u64).prop_map(Happening::Pass),
    ]
}

/// Producer id and epoch of a partition never go back.
fn never_goes_back(h: &Harness) -> Result<(), TestCaseError> {
    let mut newest = BTreeMap::new();
    for (tp, batch) in &h.produced {
        let id = (batch.producer_id.0, batch.producer_epoch.0);
        let known = newest.entry(tp.partition).or_insert(id);
        prop_assert!(id >= *known, "t-{}: {id:?} after {known:?}", tp.partition);
        *known = id;
    }
    Ok(())
}

/// The sequences of every partition and epoch form one range from 0 without a gap.
fn has_no_gaps(h: &Harness) -> Result<(), TestCaseError> {
    let mut ranges: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (tp, batch) in &h.produced {
        let key = (tp.partition, batch.producer_id.0, batch.producer_epoch.0);
        ranges.entry(key).or_default().push((batch.base_sequence.0, batch.last_sequence().0));
    }
    for (key, ranges) in &mut ranges {
        ranges.sort_unstable();
        let mut next = 0;
        for (base, last) in ranges {
            prop_assert!(*base <= next, "{key:?}: a gap before {base}");
            next = next.max(*last + 1);
        }
    }
    Ok(())
}

fn happen(h: &mut Harness, happening: Happening, sends: &mut Vec<CallId>) {
    match happening {
        Happening::Send(partition) => sends.push(h.send(partition)),
        Happening::Answer(index, error) => {
            let produces =
                h.wire.iter().filter(|sent| matches!(sent.request, Request::Produce(_))).count();
            // A connection keeps the order of its answers.
            for _ in 0..=index.min(produces.saturating_sub(1)) {
                if produces > 0 && !h.wire.is_empty() && has_produce(h) {
                    h.answer_produce(0, error);
                }
            }
        }
        Happening::Disconnect => h.disconnect(1),
        Happening::Pass(millis) => h.sleep(millis),
    }
}

fn has_produce(h: &Harness) -> bool {
    h.wire.iter().any(|sent| matches!(sent.request, Request::Produce(_)))
}

/// Answers everything well until nothing is left to do.
fn settle(h: &mut Harness) {
    for _ in 0..60 {
        while has_produce(h) {
            h.answer_produce(0, E::None);
        }
        h.sleep(100);
    }
}

/// What one partition's leader remembers: it checks as a real one does (L-SEQ, L-DUP).
#[derive(Default)]
struct Leader {
    producer: (i64, i16),
    last_sequence: i32,
    window: Vec<(i32, i32, i64)>,
    values: Vec<Value>,
}

impl Leader {
    fn append(&mut self, batch: &RecordBatch) -> (E, i64) {
        let producer = (batch.producer_id.0, batch.producer_epoch.0);
        let (base, last) = (batch.base_sequence.0, batch.last_sequence().0);
        if producer < self.producer {
            return (E::InvalidProducerEpoch, -1);
        }
        if producer > self.producer {
            if base != 0 {
                return (E::OutOfOrderSequenceNumber, -1);
            }
            self.producer = producer;
            self.last_sequence = -1;
            self.window.clear();
        }
        if let Some((.., offset)) = self.window.iter().find(|(b, l, _)| (*b, *l) == (base, last)) {
            return (E::None, *offset);
        }
        if base != self.last_sequence + 1 {
            return (E::OutOfOrderSequenceNumber, -1);
        }
        let offset = i64::try_from(self.values.len()).expect("a short log");
        self.values.extend(batch.records().iter().map(|record| record.value));
        self.last_sequence = last;
        self.window.push((base, last, offset));
        if self.window.len() > 5 {
            self.window.remove(0);
        }
        (E::None, offset)
    }
}

/// The leaders of all partitions behind one connection.
#[derive(Default)]
struct Honest(BTreeMap<TopicPartition, Leader>);

impl Honest {
    /// Processes the oldest Produce on the wire and answers it.
    fn answer_one(&mut self, h: &mut Harness, refuse: Option<E>) {
        let sent = h.take_produce(0);
        let Request::Produce(request) = &sent.request else { unreachable!() };
        let answer = |(tp, batch): &(TopicPartition, RecordBatch)| {
            let leader = self.0.entry(*tp).or_default();
            let (error, base_offset) =
                refuse.map_or_else(|| leader.append(batch), |error| (error, -1));
            ProducePartitionResponse {
                partition: *tp,
                error,
                base_offset,
                log_append_time: -1,
                log_start_offset: -1,
                record_errors: Vec::new(),
                current_leader: None,
            }
        };
        let partitions = request.partitions.iter().map(answer).collect();
        h.hand(&sent, ProduceResponse { partitions });
        h.run();
    }

    /// Processes the first `count` of what is on the wire; every answer is lost.
    fn lose(&mut self, h: &mut Harness, count: usize) {
        self.process(h, count);
        h.disconnect(1);
    }

    /// Processes all that is on the wire and never answers.
    fn lose_silently(&mut self, h: &Harness) {
        self.process(h, usize::MAX);
    }

    fn process(&mut self, h: &Harness, count: usize) {
        let requests = h.wire.iter().filter_map(|sent| match &sent.request {
            Request::Produce(request) => Some(request),
            _ => None,
        });
        for (tp, batch) in requests.take(count).flat_map(|request| &request.partitions) {
            self.0.entry(*tp).or_default().append(batch);
        }
    }

    fn happen(&mut self, h: &mut Harness, happening: Happening, sends: &mut Vec<(i32, CallId)>) {
        match happening {
            Happening::Send(partition) => sends.push((partition, h.send(partition))),
            Happening::Answer(count, error) => {
                let refuse = [E::NotLeaderOrFollower, E::NotEnoughReplicas, E::CorruptMessage];
                let refuse = refuse.contains(&error).then_some(error);
                for _ in 0..=count {
                    if has_produce(h) {
                        self.answer_one(h, refuse);
                    }
                }
            }
            Happening::Disconnect => self.lose(h, sends.len() % 4),
            Happening::Pass(millis) => h.sleep(millis),
        }
    }
}

/// Two batches are written and their answers lost; the first is given up while the second lives.
fn written_with_late_answers(defects: DefectSet) -> Vec<Value> {
    let mut h = Harness::idempotent(&config(), 0);
    h.defects = defects;
    let mut leaders = Honest::default();
    h.send(0);
    h.sleep(500);
    h.send(0);
    leaders.lose_silently(&h);
    h.sleep(1_000);
    while has_produce(&h) || h.now.as_millis() < 1_700 {
        while has_produce(&h) {
            leaders.answer_one(&mut h, None);
        }
        h.sleep(50);
    }
    leaders.0.remove(&harness::t(0)).expect("written to").values
}

#[test]
fn batches_behind_one_of_unknown_fate_are_renumbered_only_as_released_p_seq_7() {
    let (first, second) = (Value(1), Value(2));
    assert_eq!(written_with_late_answers(DefectSet::NONE), [first, second]);
    assert_eq!(written_with_late_answers(DefectSet::as_released()), [first, second, second]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn whatever_is_answered_no_epoch_goes_back_and_every_future_completes_once(
        happenings in prop::collection::vec(happening(), 1..40)
    ) {
        let mut h = Harness::idempotent(&config(), 0);
        let mut sends = vec![];
        for one in happenings {
            happen(&mut h, one, &mut sends);
        }
        settle(&mut h);
        never_goes_back(&h)?;
        prop_assert!(h.completed_twice.is_empty());
        for send in sends {
            prop_assert!(h.returned.contains_key(&send) && h.is_complete(send));
        }
    }

    #[test]
    fn an_idempotent_producer_writes_once_and_in_order_without_gaps(
        happenings in prop::collection::vec(happening(), 1..60)
    ) {
        let mut h = Harness::idempotent(&config(), 0);
        let (mut leaders, mut sends) = (Honest::default(), vec![]);
        for one in happenings {
            leaders.happen(&mut h, one, &mut sends);
        }
        for _ in 0..60 {
            while has_produce(&h) {
                leaders.answer_one(&mut h, None);
            }
            h.sleep(100);
        }
        for (tp, leader) in &leaders.0 {
            let mut sorted = leader.values.clone();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(&sorted, &leader.values, "values count up in the order of send()");
            for (_, call) in sends.iter().filter(|(partition, _)| *partition == tp.partition) {
                let number = sends.iter().position(|(_, known)| known == call).expect("sent");
                let value = Value(number as u64 + 1);
                let written = leader.values.contains(&value);
                let record = &h.records[call];
                prop_assert!(written || record.result.is_err(), "acknowledged and lost");
                prop_assert!(!written || !record.definitely_refused, "P-MOD-4");
            }
        }
        // A batch that expires between its numbering and its next attempt leaves its numbers out.
        if h.records.values().all(|record| record.result.is_ok()) {
            has_no_gaps(&h)?;
        }
        prop_assert!(h.completed_twice.is_empty());
    }

    #[test]
    fn a_transaction_commits_only_if_all_its_records_succeeded(
        happenings in prop::collection::vec(happening(), 1..25),
        version in prop_oneof![Just(TransactionVersion::Tv1), Just(TransactionVersion::Tv2)],
    ) {
        let config = ProducerConfig { transaction_version: version, ..config() };
        let mut h = Harness::transactional(&config);
        let mut sends = vec![];
        h.call(Call::BeginTransaction);
        for one in happenings {
            if let Some(add) = h.on_wire().iter().find(|line| line.starts_with("AddPartitions")) {
                let partitions = add.split(' ').count() - 1;
                h.answer_add_partitions(&vec![E::None; partitions]);
            }
            happen(&mut h, one, &mut sends);
        }
        h.call(Call::CommitTransaction);
        for _ in 0..40 {
            while has_produce(&h) {
                h.answer_produce(0, E::None);
            }
            if let Some(add) = h.on_wire().iter().find(|line| line.starts_with("AddPartitions")) {
                let partitions = add.split(' ').count() - 1;
                h.answer_add_partitions(&vec![E::None; partitions]);
            }
            h.sleep(100);
        }
        prop_assert!(h.completed_twice.is_empty());
        let futures: Vec<_> = sends.iter().filter(|send| h.returned[send].is_ok()).collect();
        prop_assert!(futures.iter().all(|send| h.is_complete(**send)));
        let commits = h.on_wire().iter().any(|line| line.contains("commit"));
        let failed = futures.iter().any(|send| h.failure(**send).is_some());
        prop_assert!(!(commits && failed), "P-REQ-9");
        if !failed {
            has_no_gaps(&h)?;
        }
    }
}
