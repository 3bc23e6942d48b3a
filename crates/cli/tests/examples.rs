//! The three examples with known outcomes, which were run on a real cluster: what brokers hold and
//! what applications saw, to the letter.

mod support;

use expect_test::{Expect, expect};
use support::{Folder, library};

/// A folder in which the example was run.
fn example(name: &str) -> Folder {
    let folder = Folder::new();
    folder.ends(&["run", &library(&format!("examples/{name}.json"))], 0);
    folder
}

fn show(folder: &Folder, form: &str) -> String {
    folder.ends(&["show", "latest", "--as", form], 0).out
}

/// `kafka-dump-log.sh --print-data-log`, fields that depend on bytes and clocks left out.
fn dump_log(folder: &Folder) -> String {
    let without = ["position:", "CreateTime:", "size:", "crc:", "deleteHorizonMs:"];
    let line = |line: &str| {
        let mut words = line.split(' ');
        let mut kept = Vec::new();
        while let Some(word) = words.next() {
            if without.contains(&word) {
                words.next();
            } else {
                kept.push(word);
            }
        }
        kept.join(" ") + "\n"
    };
    show(folder, "dump-log").lines().map(line).collect()
}

/// The head of the log of `__transaction_state` and the values of its records.
fn transaction_log(folder: &Folder) -> String {
    let text = show(folder, "txn-log");
    let head = text.lines().next().unwrap_or_default().to_string();
    let values = text.lines().filter_map(|line| line.split_once(" payload: "));
    let values = values.map(|(_, value)| {
        let data = value.strip_prefix(r#"{"version":"1","data":"#);
        data.and_then(|data| data.strip_suffix('}')).unwrap_or(value).to_string()
    });
    std::iter::once(head).chain(values).map(|line| line + "\n").collect()
}

/// What `actor` saw, as far as it holds one of `words`.
fn seen(folder: &Folder, actor: &str, words: &[&str]) -> String {
    let shown = folder.ends(&["show", "latest", "--as", "transcript", "--actor", actor], 0).out;
    let lines = shown.lines().filter(|line| !line.starts_with('#'));
    let wanted = lines.filter(|line| words.iter().any(|word| line.contains(word)));
    wanted
        .filter_map(|line| line.split_once(&format!(" {actor} ")))
        .map(|(_, event)| event.trim().to_string() + "\n")
        .collect()
}

fn check(actual: &str, expected: &Expect) {
    expected.assert_eq(actual);
}

#[test]
fn example_1_commits_aborts_commits() {
    let run = example("example-1-commit-abort-commit");
    check(
        &dump_log(&run),
        &expect![[r#"
        Dumping u12-txn-0/00000000000000000000.log
        Log starting offset: 0
        baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequence: 0 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: true isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 0 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: c1
        baseOffset: 1 lastOffset: 2 count: 2 baseSequence: 1 lastSequence: 2 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: true isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 1 keySize: -1 valueSize: 2 sequence: 1 headerKeys: [] payload: c2
        | offset: 2 keySize: -1 valueSize: 2 sequence: 2 headerKeys: [] payload: c3
        baseOffset: 3 lastOffset: 3 count: 1 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 1 partitionLeaderEpoch: 0 isTransactional: true isControl: true magic: 2 compresscodec: none isvalid: true
        | offset: 3 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 0
        baseOffset: 4 lastOffset: 6 count: 3 baseSequence: 0 lastSequence: 2 producerId: 0 producerEpoch: 1 partitionLeaderEpoch: 0 isTransactional: true isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 4 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: a1
        | offset: 5 keySize: -1 valueSize: 2 sequence: 1 headerKeys: [] payload: a2
        | offset: 6 keySize: -1 valueSize: 2 sequence: 2 headerKeys: [] payload: a3
        baseOffset: 7 lastOffset: 7 count: 1 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 2 partitionLeaderEpoch: 0 isTransactional: true isControl: true magic: 2 compresscodec: none isvalid: true
        | offset: 7 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 0
        baseOffset: 8 lastOffset: 9 count: 2 baseSequence: 0 lastSequence: 1 producerId: 0 producerEpoch: 2 partitionLeaderEpoch: 0 isTransactional: true isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 8 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: c4
        | offset: 9 keySize: -1 valueSize: 2 sequence: 1 headerKeys: [] payload: c5
        baseOffset: 10 lastOffset: 10 count: 1 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 3 partitionLeaderEpoch: 0 isTransactional: true isControl: true magic: 2 compresscodec: none isvalid: true
        | offset: 10 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 0
        Dumping u12-txn-0/00000000000000000000.txnindex
        version: 0 producerId: 0 firstOffset: 4 lastOffset: 7 lastStableOffset: 8
    "#]],
    );
    check(
        &transaction_log(&run),
        &expect![[r#"
        Dumping __transaction_state-23/00000000000000000000.log
        {"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Empty","transactionPartitions":null}
        {"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":0,"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":"PrepareCommit","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":0,"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":"CompleteCommit","transactionPartitions":[],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":0,"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":1,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"PrepareAbort","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":1,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"CompleteAbort","transactionPartitions":[],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":1,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":2,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":"PrepareCommit","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":2,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":"CompleteCommit","transactionPartitions":[],"clientTransactionVersion":2}
    "#]],
    );
}

#[test]
fn example_1_readers_see_what_their_isolation_allows() {
    let run = example("example-1-commit-abort-commit");
    check(
        &show(&run, "transactions"),
        &expect![[r#"
        CoordinatorId	TransactionalId	ProducerId	ProducerEpoch	TransactionState	TransactionTimeoutMs	CurrentTransactionStartTimeMs	TransactionDurationMs	TopicPartitions	
        1            	u12-txn        	0         	3            	CompleteCommit  	60000               	None                         	None                 	               	
    "#]],
    );
    check(
        &seen(&run, "read-uncommitted", &["reads", "end of"]),
        &expect![[r#"
        * reads u12-txn-0 read_uncommitted 0..1 below 1: [c1@0]
        * reads u12-txn-0 read_uncommitted 1..3 below 3: [c2@1 c3@2]
        * reads u12-txn-0 read_uncommitted 3..4 below 4: []
        * reads u12-txn-0 read_uncommitted 4..7 below 7: [a1@4 a2@5 a3@6]
        * end of u12-txn-0 read_uncommitted is 7
        * reads u12-txn-0 read_uncommitted 7..8 below 8: []
        * reads u12-txn-0 read_uncommitted 8..10 below 10: [c4@8 c5@9]
        * reads u12-txn-0 read_uncommitted 10..11 below 11: []
        * end of u12-txn-0 read_uncommitted is 11
    "#]],
    );
    check(
        &seen(&run, "read-committed", &["reads", "end of"]),
        &expect![[r#"
        * reads u12-txn-0 read_committed 0..4 below 4: [c1@0 c2@1 c3@2]
        * end of u12-txn-0 read_committed is 4
        * reads u12-txn-0 read_committed 4..8 below 8: []
        * reads u12-txn-0 read_committed 8..11 below 11: [c4@8 c5@9]
        * end of u12-txn-0 read_committed is 11
    "#]],
    );
}

#[test]
fn example_2_remembers_five_batches() {
    let run = example("example-2-window-of-five");
    check(
        &seen(&run, "producer", &["Produce "]),
        &expect![[r#"
            -> [1] #4 Produce v13 acks=-1 u12-idem-0 seq 0 [s0 s1 s2] of 0/0
            <- #4 Produce u12-idem-0 NONE @0
            -> [1] #5 Produce v13 acks=-1 u12-idem-0 seq 0 [s0 s1 s2] of 0/0
            <- #5 Produce u12-idem-0 NONE @0
            -> [1] #6 Produce v13 acks=-1 u12-idem-0 seq 5 [s5 s6 s7] of 0/0
            <- #6 Produce u12-idem-0 OUT_OF_ORDER_SEQUENCE_NUMBER @-1
            -> [1] #7 Produce v13 acks=-1 u12-idem-0 seq 3 [s3 s4 s5] of 0/0
            <- #7 Produce u12-idem-0 NONE @3
            -> [1] #8 Produce v13 acks=-1 u12-idem-0 seq 6 [s6 s7 s8] of 0/0
            <- #8 Produce u12-idem-0 NONE @6
            -> [1] #9 Produce v13 acks=-1 u12-idem-0 seq 9 [s9 s10 s11] of 0/0
            <- #9 Produce u12-idem-0 NONE @9
            -> [1] #10 Produce v13 acks=-1 u12-idem-0 seq 12 [s12 s13 s14] of 0/0
            <- #10 Produce u12-idem-0 NONE @12
            -> [1] #11 Produce v13 acks=-1 u12-idem-0 seq 15 [s15 s16 s17] of 0/0
            <- #11 Produce u12-idem-0 NONE @15
            -> [1] #12 Produce v13 acks=-1 u12-idem-0 seq 0 [s0 s1 s2] of 0/0
            <- #12 Produce u12-idem-0 OUT_OF_ORDER_SEQUENCE_NUMBER @-1
        "#]],
    );
    check(
        &dump_log(&run),
        &expect![[r#"
        Dumping u12-idem-0/00000000000000000000.log
        Log starting offset: 0
        baseOffset: 0 lastOffset: 2 count: 3 baseSequence: 0 lastSequence: 2 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 0 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: s0
        | offset: 1 keySize: -1 valueSize: 2 sequence: 1 headerKeys: [] payload: s1
        | offset: 2 keySize: -1 valueSize: 2 sequence: 2 headerKeys: [] payload: s2
        baseOffset: 3 lastOffset: 5 count: 3 baseSequence: 3 lastSequence: 5 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 3 keySize: -1 valueSize: 2 sequence: 3 headerKeys: [] payload: s3
        | offset: 4 keySize: -1 valueSize: 2 sequence: 4 headerKeys: [] payload: s4
        | offset: 5 keySize: -1 valueSize: 2 sequence: 5 headerKeys: [] payload: s5
        baseOffset: 6 lastOffset: 8 count: 3 baseSequence: 6 lastSequence: 8 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 6 keySize: -1 valueSize: 2 sequence: 6 headerKeys: [] payload: s6
        | offset: 7 keySize: -1 valueSize: 2 sequence: 7 headerKeys: [] payload: s7
        | offset: 8 keySize: -1 valueSize: 2 sequence: 8 headerKeys: [] payload: s8
        baseOffset: 9 lastOffset: 11 count: 3 baseSequence: 9 lastSequence: 11 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 9 keySize: -1 valueSize: 2 sequence: 9 headerKeys: [] payload: s9
        | offset: 10 keySize: -1 valueSize: 2 sequence: 10 headerKeys: [] payload: s10
        | offset: 11 keySize: -1 valueSize: 2 sequence: 11 headerKeys: [] payload: s11
        baseOffset: 12 lastOffset: 14 count: 3 baseSequence: 12 lastSequence: 14 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 12 keySize: -1 valueSize: 3 sequence: 12 headerKeys: [] payload: s12
        | offset: 13 keySize: -1 valueSize: 3 sequence: 13 headerKeys: [] payload: s13
        | offset: 14 keySize: -1 valueSize: 3 sequence: 14 headerKeys: [] payload: s14
        baseOffset: 15 lastOffset: 17 count: 3 baseSequence: 15 lastSequence: 17 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 15 keySize: -1 valueSize: 3 sequence: 15 headerKeys: [] payload: s15
        | offset: 16 keySize: -1 valueSize: 3 sequence: 16 headerKeys: [] payload: s16
        | offset: 17 keySize: -1 valueSize: 3 sequence: 17 headerKeys: [] payload: s17
    "#]],
    );
}

#[test]
fn example_3_fences_the_first_producer() {
    let run = example("example-3-fencing");
    check(
        &dump_log(&run),
        &expect![[r#"
        Dumping u12-fence-0/00000000000000000000.log
        Log starting offset: 0
        baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequence: 0 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: true isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 0 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: z1
        baseOffset: 1 lastOffset: 1 count: 1 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 1 partitionLeaderEpoch: 0 isTransactional: true isControl: true magic: 2 compresscodec: none isvalid: true
        | offset: 1 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 0
        baseOffset: 2 lastOffset: 2 count: 1 baseSequence: 0 lastSequence: 0 producerId: 0 producerEpoch: 2 partitionLeaderEpoch: 0 isTransactional: true isControl: false magic: 2 compresscodec: none isvalid: true
        | offset: 2 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: y1
        baseOffset: 3 lastOffset: 3 count: 1 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 3 partitionLeaderEpoch: 0 isTransactional: true isControl: true magic: 2 compresscodec: none isvalid: true
        | offset: 3 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 0
        Dumping u12-fence-0/00000000000000000000.txnindex
        version: 0 producerId: 0 firstOffset: 0 lastOffset: 1 lastStableOffset: 2
    "#]],
    );
    check(
        &transaction_log(&run),
        &expect![[r#"
        Dumping __transaction_state-26/00000000000000000000.log
        {"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Empty","transactionPartitions":null}
        {"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-fence","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":0,"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":"PrepareAbort","transactionPartitions":[{"topic":"u12-fence","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":0,"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":"CompleteAbort","transactionPartitions":[],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"Empty","transactionPartitions":null,"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-fence","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":2,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":"PrepareCommit","transactionPartitions":[{"topic":"u12-fence","partitionIds":[0]}],"clientTransactionVersion":2}
        {"producerId":0,"previousProducerId":0,"lastProducerEpoch":2,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":"CompleteCommit","transactionPartitions":[],"clientTransactionVersion":2}
    "#]],
    );
}

#[test]
fn example_3_applications_see_the_fence() {
    let run = example("example-3-fencing");
    check(
        &seen(&run, "producer-1", &["* "]),
        &expect![[r#"
        * session 0 opens, "u12-fence"
        * session 0 is initialised
        * begins transaction 0.0
        * sends z1 to u12-fence-0 in transaction 0.0
        * z1 to u12-fence-0: acknowledged @0
        * sends z2 to u12-fence-0 in transaction 0.0
        * commits transaction 0.0
        * z2 to u12-fence-0: refused INVALID_PRODUCER_EPOCH
        * commits transaction 0.0: refused INVALID_PRODUCER_EPOCH
        * session 0 is closed
    "#]],
    );
    check(
        &seen(&run, "producer-2", &["InitProducerId", "* "]),
        &expect![[r#"
            * session 0 opens, "u12-fence"
            -> [1] #3 InitProducerId v5 "u12-fence" -1/-1
            <- #3 InitProducerId CONCURRENT_TRANSACTIONS -1/-1
            -> [1] #4 InitProducerId v5 "u12-fence" -1/-1
            <- #4 InitProducerId NONE 0/2
            * session 0 is initialised
            * begins transaction 0.0
            * sends y1 to u12-fence-0 in transaction 0.0
            * commits transaction 0.0
            * y1 to u12-fence-0: acknowledged @2
            * commits transaction 0.0: done
            * session 0 is closed
        "#]],
    );
    check(
        &seen(&run, "read-uncommitted", &["reads"]),
        &expect![[r#"
        * reads u12-fence-0 read_uncommitted 0..1 below 1: [z1@0]
        * reads u12-fence-0 read_uncommitted 1..2 below 2: []
        * reads u12-fence-0 read_uncommitted 2..3 below 3: [y1@2]
        * reads u12-fence-0 read_uncommitted 3..4 below 4: []
    "#]],
    );
    check(
        &seen(&run, "read-committed", &["reads"]),
        &expect![[r#"
        * reads u12-fence-0 read_committed 0..2 below 2: []
        * reads u12-fence-0 read_committed 2..4 below 4: [y1@2]
    "#]],
    );
}

#[test]
fn a_step_can_be_looked_at() {
    let run = example("example-1-commit-abort-commit");
    let shown = run.ends(&["show", "latest", "--as", "dump-log", "--at", "40"], 0).out;
    assert!(shown.len() < dump_log(&run).len(), "{shown}");
    let error = run.ends(&["show", "latest", "--at", "100000"], 2).err;
    assert!(error.contains("--at: found 100000, expected a step of the run"), "{error}");
    let error =
        run.ends(&["show", "latest", "--as", "dump-log", "--partition", "u12-tnx-0"], 2).err;
    assert!(error.contains("did you mean \"u12-txn-0\"?"), "{error}");
}
