//! What brokers hold in memory against what their own logs say.

use std::sync::Arc;

use eosim_types::group_log::GroupLogRecord;
use eosim_types::observation::{
    ClusterDump, CoordinatorDump, OffsetDump, ReplicaDump, TransactionDump,
};
use eosim_types::record::{
    OffsetCommitRecord, Payload, RecordBatch, TransactionLogRecord, TransactionLogValue,
    TransactionState,
};
use eosim_types::{
    BrokerId, CoordinatorEpoch, Duration, Instant, LeaderEpoch, ProducerEpoch, ProducerId,
    Sequence, Topic, TopicPartition,
};

use crate::testing::{ABORT, COMMIT, GROUP, History, ID, OFFSETS, P0, P1};

const STATE: TopicPartition = TopicPartition::new(Topic::TRANSACTION_STATE, 0);

fn value(state: TransactionState, epoch: i16, at_ms: i64) -> TransactionLogValue {
    let is_empty = state == TransactionState::Empty;
    TransactionLogValue {
        version: 1,
        producer_id: ProducerId(7),
        previous_producer_id: ProducerId(7),
        next_producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch(epoch),
        last_producer_epoch: ProducerEpoch(epoch - 1),
        transaction_timeout_ms: 10_000,
        transaction_status: state,
        transaction_partitions: (!is_empty).then(|| vec![P0, P1]),
        last_update_timestamp_ms: at_ms,
        start_timestamp_ms: 500,
        client_transaction_version: 2,
    }
}

/// What a coordinator of epoch 3 holds after `value`.
fn memory(value: &TransactionLogValue) -> TransactionDump {
    TransactionDump {
        broker: BrokerId(1),
        coordinator_epoch: CoordinatorEpoch(3),
        txn_topic_partition: 0,
        transactional_id: ID,
        producer_id: value.producer_id,
        previous_producer_id: value.previous_producer_id,
        next_producer_id: value.next_producer_id,
        producer_epoch: value.producer_epoch,
        last_producer_epoch: value.last_producer_epoch,
        transaction_timeout_ms: value.transaction_timeout_ms,
        state: value.transaction_status,
        pending_state: None,
        partitions: value.transaction_partitions.clone().unwrap_or_default(),
        start_timestamp_ms: value.start_timestamp_ms,
        last_update_timestamp_ms: value.last_update_timestamp_ms,
        client_transaction_version: value.client_transaction_version,
    }
}

fn batch(base_offset: i64, payload: Payload) -> RecordBatch {
    let mut batch = RecordBatch {
        base_offset,
        last_offset_delta: 0,
        partition_leader_epoch: LeaderEpoch(3),
        is_transactional: false,
        max_timestamp: 1_000 * (base_offset + 1),
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        base_sequence: Sequence::NONE,
        payload,
    };
    batch.last_offset_delta = batch.record_count() - 1;
    batch
}

fn replica(partition: TopicPartition, batches: Vec<RecordBatch>) -> ReplicaDump {
    let end = batches.last().map_or(0, RecordBatch::next_offset);
    ReplicaDump {
        broker: BrokerId(1),
        partition,
        is_leader: true,
        leader_epoch: LeaderEpoch(3),
        is_hosted: true,
        log_start_offset: 0,
        high_watermark: end,
        last_stable_offset: end,
        log_end_offset: end,
        batches,
        aborted_transactions: Vec::new(),
        producers: Vec::new(),
        remembered: Vec::new(),
        unseen: eosim_types::observation::Unseen::default(),
    }
}

/// The id's records at 1 s, 2 s, …; `None` is a tombstone. Its coordinator holds `held`; it is 5 s.
fn coordinated(
    records: &[Option<TransactionLogValue>],
    held: Option<TransactionDump>,
) -> ClusterDump {
    let record = |value: &Option<TransactionLogValue>| TransactionLogRecord {
        transactional_id: ID,
        value: value.clone(),
    };
    let batches = (0..)
        .zip(records)
        .map(|(at, value)| batch(at, Payload::TransactionLog(Arc::from([record(value)]))));
    ClusterDump {
        at: Instant::START + Duration::from_millis(5_000),
        replicas: vec![replica(STATE, batches.collect())],
        transactions: held.into_iter().collect(),
        coordinators: vec![CoordinatorDump {
            broker: BrokerId(1),
            partition: STATE,
            leader_epoch: LeaderEpoch(3),
            offsets: Vec::new(),
        }],
        ..ClusterDump::default()
    }
}

/// In what a coordinator contradicts its log.
fn names(h: &History, dump: &ClusterDump) -> Vec<&'static str> {
    let found = h.seen_in(std::slice::from_ref(dump)).into_iter();
    let of_coordinators = ["transaction-state", "group-offsets"];
    let found = found.filter(|found| of_coordinators.contains(&found.invariant));
    found.map(|found| found.skeleton[0]).collect()
}

#[test]
fn transaction_state_differs_from_the_newest_record_in_any_field_c_load_5() {
    use TransactionState::{Empty, Ongoing};
    let records = [Some(value(Empty, 0, 1_000)), Some(value(Ongoing, 0, 2_000))];
    let newest = memory(records[1].as_ref().unwrap());
    let h = History::new();
    assert_eq!(names(&h, &coordinated(&records, Some(newest.clone()))), [""; 0]);
    type Change = (fn(&mut TransactionDump), &'static str);
    let changes: [Change; 11] = [
        (|held| held.state = Empty, "state differs"),
        (|held| held.producer_id = ProducerId(8), "producer id differs"),
        (|held| held.producer_epoch = ProducerEpoch(2), "producer epoch differs"),
        (|held| held.last_producer_epoch = ProducerEpoch(5), "last producer epoch differs"),
        (|held| held.partitions.truncate(1), "partitions differ"),
        (|held| held.transaction_timeout_ms += 1, "timeout differs"),
        (|held| held.start_timestamp_ms += 1, "start differs"),
        (|held| held.last_update_timestamp_ms += 1, "update differs"),
        (|held| held.previous_producer_id = ProducerId(6), "previous producer id differs"),
        (|held| held.next_producer_id = ProducerId(9), "next producer id differs"),
        (|held| held.client_transaction_version = 0, "client transaction version differs"),
    ];
    for (change, shape) in changes {
        let mut held = newest.clone();
        change(&mut held);
        assert_eq!(names(&h, &coordinated(&records, Some(held))), [shape]);
    }
    assert_eq!(names(&h, &coordinated(&records, None)), ["id missing"]);
    let gone = [records[0].clone(), None];
    assert_eq!(names(&h, &coordinated(&gone, None)), [""; 0]);
    assert_eq!(names(&h, &coordinated(&gone, Some(newest.clone()))), ["tombstone"]);
    assert_eq!(names(&h, &coordinated(&[], Some(newest))), ["no record"]);
}

#[test]
fn transaction_state_is_behind_only_while_a_transition_is_written_or_was_given_up_c_app_7() {
    use TransactionState::{Ongoing, PrepareAbort, PrepareCommit};
    let h = History::new();
    let records = [Some(value(Ongoing, 0, 1_000)), Some(value(PrepareCommit, 1, 2_000))];
    let before = memory(records[0].as_ref().unwrap());
    assert_eq!(names(&h, &coordinated(&records, Some(before.clone()))), ["state differs"]);
    let writing = TransactionDump { pending_state: Some(PrepareCommit), ..before.clone() };
    assert_eq!(names(&h, &coordinated(&records, Some(writing.clone()))), [""; 0]);
    let other = TransactionDump { pending_state: Some(PrepareAbort), ..before.clone() };
    assert_eq!(names(&h, &coordinated(&records, Some(other))), ["state differs"]);
    // The transaction's own timeout limits the wait (C-APP-3).
    let mut late = coordinated(&records, Some(before));
    late.at = Instant::START + Duration::from_millis(12_000);
    assert_eq!(names(&h, &late), [""; 0]);
    // What memory says may be gone from the log, if anything is.
    let mut compacted = coordinated(&records[1..], Some(writing.clone()));
    assert_eq!(names(&h, &compacted), ["state differs"]);
    compacted.replicas[0].batches[0].base_offset = 1;
    assert_eq!(names(&h, &compacted), [""; 0]);
    // What an earlier coordinator wrote was loaded.
    let mut loaded = coordinated(&records, Some(writing));
    loaded.replicas[0].batches[1].partition_leader_epoch = LeaderEpoch(2);
    assert_eq!(names(&h, &loaded), ["state differs"]);
}

#[test]
fn transaction_state_legal_differences_of_memory_and_log() {
    use TransactionState::{Empty, Ongoing, PrepareAbort};
    let mut h = History::new();
    // The first record was never replicated; memory keeps the producer id (coordinator 1.5).
    let first = value(Empty, 0, 1_000);
    let unwritten = TransactionDump { producer_epoch: ProducerEpoch::NONE, ..memory(&first) };
    assert_eq!(names(&h, &coordinated(&[], Some(unwritten.clone()))), [""; 0]);
    let mut given_up = coordinated(&[Some(first)], Some(unwritten));
    assert_eq!(names(&h, &given_up), ["producer epoch differs"]);
    given_up.at = Instant::START + Duration::from_millis(12_000);
    assert_eq!(names(&h, &given_up), [""; 0]);
    // Markers take partitions away in memory alone (C-MRK-13), but never others than the log's.
    let decided = [Some(value(PrepareAbort, 1, 1_000))];
    let mut held = memory(decided[0].as_ref().unwrap());
    held.partitions = vec![P1];
    assert_eq!(names(&h, &coordinated(&decided, Some(held.clone()))), [""; 0]);
    held.partitions = vec![OFFSETS];
    assert_eq!(names(&h, &coordinated(&decided, Some(held))), ["partitions differ"]);
    // A fence of version 1 raises the epoch in memory first (C-END-6).
    let open = [Some(value(Ongoing, 4, 1_000))];
    let mut fencing = memory(open[0].as_ref().unwrap());
    (fencing.producer_epoch, fencing.last_producer_epoch) = (ProducerEpoch(5), ProducerEpoch::NONE);
    assert_eq!(names(&h, &coordinated(&open, Some(fencing.clone()))), [""; 0]);
    fencing.producer_epoch = ProducerEpoch(6);
    assert_eq!(names(&h, &coordinated(&open, Some(fencing))), ["producer epoch differs"]);
    // Before 4.5 the last epoch is in memory alone (C-INIT-21).
    let mut forgotten = open.clone();
    forgotten[0].as_mut().unwrap().last_producer_epoch = ProducerEpoch::NONE;
    let held = memory(open[0].as_ref().unwrap());
    let dump = coordinated(&forgotten, Some(held));
    assert_eq!(names(&h, &dump), ["last producer epoch differs"]);
    h.setup.last_epoch_is_persisted = false;
    assert_eq!(names(&h, &dump), [""; 0]);
}

#[test]
fn transaction_state_version_0_holds_no_tagged_fields_c_rec_4() {
    let h = History::new();
    let mut old = value(TransactionState::Ongoing, 0, 1_000);
    old.version = 0;
    let mut held = memory(&old);
    held.previous_producer_id = ProducerId(3);
    held.last_producer_epoch = ProducerEpoch(9);
    assert_eq!(names(&h, &coordinated(&[Some(old)], Some(held))), [""; 0]);
}

fn commit(partition: TopicPartition, offset: Option<i64>) -> OffsetCommitRecord {
    OffsetCommitRecord {
        group: GROUP,
        partition,
        offset,
        leader_epoch: LeaderEpoch::NONE,
        commit_timestamp_ms: 0,
    }
}

fn held(producer_id: i64, partition: TopicPartition, offset: i64) -> OffsetDump {
    OffsetDump { producer_id: ProducerId(producer_id), group: GROUP, partition, offset }
}

fn grouped(batches: Vec<RecordBatch>, offsets: &[OffsetDump]) -> ClusterDump {
    ClusterDump {
        replicas: vec![replica(OFFSETS, batches)],
        coordinators: vec![CoordinatorDump {
            broker: BrokerId(1),
            partition: OFFSETS,
            leader_epoch: LeaderEpoch(3),
            offsets: offsets.to_vec(),
        }],
        ..ClusterDump::default()
    }
}

#[test]
fn group_offsets_are_what_the_log_says_g_mark_3_g_mark_5_g_int_3() {
    let plain = |at, offset| batch(at, Payload::OffsetCommits(Arc::from([commit(P0, offset)])));
    let of = |batch, id| RecordBatch {
        is_transactional: true,
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(0),
        ..batch
    };
    let marker = |at, id, result| {
        let coordinator_epoch = CoordinatorEpoch(0);
        let marker = eosim_types::record::EndTransactionMarker { result, coordinator_epoch };
        of(batch(at, Payload::Control(marker)), id)
    };
    let tombstone = |at| {
        let gone = GroupLogRecord::OffsetCommit(commit(P0, None));
        batch(at, Payload::GroupLog(Arc::from([gone])))
    };
    let pending = || vec![plain(0, Some(4)), of(plain(1, Some(6)), 5)];
    let with = |more: RecordBatch| pending().into_iter().chain([more]).collect::<Vec<_>>();
    let cases: [(Vec<RecordBatch>, &[OffsetDump], &[OffsetDump]); 5] = [
        (pending(), &[held(-1, P0, 4), held(5, P0, 6)], &[held(-1, P0, 4)]),
        (with(marker(2, 5, COMMIT)), &[held(-1, P0, 6)], &[held(-1, P0, 4)]),
        (with(marker(2, 5, ABORT)), &[held(-1, P0, 4)], &[held(-1, P0, 6)]),
        (with(plain(2, Some(5))), &[held(-1, P0, 5), held(5, P0, 6)], &[held(-1, P0, 6)]),
        (with(tombstone(2)), &[], &[held(5, P0, 6)]),
    ];
    let h = History::new();
    for (log, right, wrong) in cases {
        assert_eq!(names(&h, &grouped(log.clone(), right)), [""; 0]);
        assert_eq!(names(&h, &grouped(log, wrong)).len(), 1);
    }
    // A marker that comes after a plain commit does not bring the older offset back.
    let mut late = with(plain(2, Some(5)));
    late.push(marker(3, 5, COMMIT));
    assert_eq!(names(&h, &grouped(late, &[held(-1, P0, 5)])), [""; 0]);
}

#[test]
fn remembered_batches_are_the_newest_five_of_the_log_l_ent_2_l_dup_1() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    for _ in 0..7 {
        h.write(&mut p, P0);
    }
    h.is_sound();
    let mut forgotten = h.dump();
    forgotten.replicas[1].remembered.drain(..4);
    h.breaks_in(&forgotten, "producer-state");
    let mut wrong = h.dump();
    wrong.replicas[0].remembered[2].1.last_offset += 1;
    h.breaks_in(&wrong, "producer-state");
    // A dead process remembers nothing.
    for replica in &mut forgotten.replicas {
        replica.is_hosted = false;
    }
    assert_eq!(h.seen_in(&[forgotten]), []);
}

#[test]
fn bounds_never_retreat_under_one_leadership_l_hw_1_l_lso_5() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    let before = h.dump();
    let mut lower = before.clone();
    lower.replicas[0].last_stable_offset = 0;
    lower.replicas[0].high_watermark = 0;
    let found = |dumps: &[ClusterDump]| -> Vec<_> {
        h.seen_in(dumps).iter().map(|found| found.invariant).collect()
    };
    assert_eq!(found(&[before.clone(), lower.clone()]), ["bounds-retreat"]);
    assert_eq!(found(&[lower.clone(), before.clone()]), [""; 0]);
    lower.replicas[0].leader_epoch = LeaderEpoch(1);
    assert_eq!(found(&[before, lower]), [""; 0]);
}

#[test]
fn replicas_agree_from_the_later_log_start_on_l_fo_1() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    for _ in 0..3 {
        h.write(&mut p, P0);
    }
    let mut dump = h.dump();
    dump.replicas[0].log_start_offset = 3;
    dump.replicas[0].batches.clear();
    assert_eq!(h.seen_in(std::slice::from_ref(&dump)), []);
    dump.replicas[0].log_start_offset = 2;
    let found = h.seen_in(&[dump]);
    assert_eq!(found[0].invariant, "offset-reuse");
}

#[test]
fn sequences_follow_on_each_other_l_seq_4() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    for _ in 0..3 {
        h.write(&mut p, P0);
    }
    let with = |sequences: [i32; 3]| {
        let mut dump = h.dump();
        for replica in &mut dump.replicas {
            for (batch, sequence) in replica.batches.iter_mut().zip(sequences) {
                batch.base_sequence = Sequence(sequence);
            }
        }
        dump
    };
    for gap in [[0, 2, 3], [0, 1, 1], [40, 42, 43]] {
        h.breaks_in(&with(gap), "sequence-gap");
    }
    for legal in [[0, 1, 2], [40, 41, 42], [i32::MAX, 0, 1]] {
        let found = h.seen_in(&[with(legal)]);
        assert!(found.iter().all(|anomaly| anomaly.invariant != "sequence-gap"));
    }
}

/// A restart forgets the transactions that ended before its snapshot, not those after it.
#[test]
fn last_stable_offset_after_a_restart_between_two_markers_l_snp_1_l_lso_1() {
    let mut h = History::new();
    let (mut one, mut other) = (h.producer(5, Some(ID)), h.producer(6, Some(ID)));
    h.begin(&mut one);
    h.write(&mut one, P0);
    h.begin(&mut other);
    h.write(&mut other, P0);
    h.abort(&mut one, &[P0]);
    h.abort(&mut other, &[P0]);
    let held = |last_stable_offset| {
        let mut dump = h.dump();
        for replica in &mut dump.replicas {
            (replica.high_watermark, replica.last_stable_offset) = (2, last_stable_offset);
        }
        h.seen_in(&[dump])
    };
    for remembered in [0, 1, 2] {
        assert_eq!(held(remembered), []);
    }
    assert_eq!(held(3)[0].invariant, "last-stable-offset");
}
