//! Every message about a scenario that is refused, as users read it.

use eosim_scenario::{Override, ScenarioFile, json};
use expect_test::{Expect, expect};

const GOOD: &str = r#"{
  "format": 1,
  "name": "good",
  "about": "A scenario to spoil.",
  "cluster": {"brokers": 3, "topics": {"orders": {"partitions": 2, "replication_factor": 3}}},
  "producers": [
    {"name": "writer", "transactional_id": "w", "workload": {"random": {
      "transactions": 3, "records_per_transaction": 2, "partitions": ["orders-0"]}}},
    {"name": "plain", "workload": {"script": [{"send": {"partition": "orders-1", "value": "x"}}]}}
  ],
  "consumers": [
    {"name": "reader", "isolation_level": "read_committed", "partitions": ["orders-0"]}],
  "faults": {"until_ms": 1000, "lost_response": "1/100"}
}"#;

const INVARIANTS: &[&str] = &["duplicate", "aborted-read"];

/// The message about `text`.
fn message(text: &str, sets: &[Override]) -> String {
    match ScenarioFile::parse("good.json", text, sets, INVARIANTS) {
        Ok(_) => "good".to_string(),
        Err(error) => error.to_string(),
    }
}

/// The messages about the good scenario with each of `sets`, one a line.
fn spoiled(sets: &[&str], expected: &Expect) {
    let line = |set: &&str| message(GOOD, &[set.parse().expect(set)]) + "\n";
    expected.assert_eq(&sets.iter().map(line).collect::<String>());
}

#[test]
fn the_good_one_is_good() {
    assert_eq!(message(GOOD, &[]), "good");
}

#[test]
fn unknown_and_missing_keys() {
    spoiled(
        &[
            "clutser=1",
            "cluster.transaction_version=1",
            "cluster.topics.orders.partitons=3",
            "cluster.settings.replica.lag.time.mx.ms=1",
            "producers[0].settings.linger=1",
            "producers[0].workload={\"scirpt\": []}",
            "producers[1].workload.script=[{\"sned\": {}}]",
            "producers[0].workload={}",
            "cluster={\"topics\": {}}",
            "consumers[0]={\"name\": \"reader\"}",
            "faults.lost_respons=\"1/2\"",
            "aimed=[{\"when\": {\"sent\": \"EndTxn\"}, \"do\": {\"crahs\": {}}}]",
        ],
        &expect![[r#"
            good.json: found the unknown key "clutser", expected one of 23 known keys; did you mean "cluster"?
            good.json: cluster: found the unknown key "transaction_version", expected "brokers", "consumer_offsets", "coordinator_load_ms", "first_producer_epoch", "kafka", "place", "producer_id_block_size", "settings", "topics", "transaction_state" or "upgrade"; "transaction_version" stands at the top of the file
            good.json: cluster.topics.orders: found the unknown key "partitons", expected "partitions", "replicas", "replication_factor" or "settings"; did you mean "partitions"?
            good.json: cluster.settings: found the unknown key "replica.lag.time.mx.ms", expected one of 29 known keys; did you mean "replica.lag.time.max.ms"?
            good.json: producers[0].settings: found the unknown key "linger", expected one of 18 known keys; did you mean "linger.ms"?
            good.json: producers[0].workload: found the unknown key "scirpt", expected "random", "two_phase" or "script"; did you mean "script"?
            good.json: producers[1].workload.script[0]: found the unknown key "sned", expected "send", "wait_ms", "wait_until_ms" or "raw_produce"; did you mean "send"?
            good.json: producers[0].workload: found an object, expected an object with "random", an object with "two_phase" or an object with "script"
            good.json: cluster: found no "brokers", expected the key "brokers"
            good.json: consumers[0]: found no "isolation_level", expected the key "isolation_level"
            good.json: faults: found the unknown key "lost_respons", expected one of 27 known keys; did you mean "lost_response"?
            good.json: aimed[0].do: found the unknown key "crahs", expected "delay_ms", "late_ms", "late_until", "hold", "release", "hold_until", "answer_with", "crash", "stop" or "pause"; did you mean "crash"?
        "#]],
    );
}

#[test]
fn wrong_types_and_values() {
    spoiled(
        &[
            "format=2",
            "name=\"a b\"",
            "about=\"\"",
            "cluster.brokers=0",
            "cluster.brokers=\"three\"",
            "cluster.brokers=1.5",
            "cluster.brokers=true",
            "cluster.brokers=99999999999999999999999",
            "cluster.brokers=null",
            "cluster.brokers={\"from\": 3, \"to\": 1}",
            "cluster.brokers={\"from\": 0, \"to\": 3}",
            "cluster.brokers={\"one_of\": []}",
            "cluster.brokers={\"min\": 1, \"max\": 2}",
            "kafka=\"4.6\"",
            "transaction_version=3",
            "producers={}",
            "producers[0].workload.random.records_per_transaction={\"min\": 5, \"max\": 2}",
            "producers[0].workload.random.partitions=[]",
            "producers[0].workload.random.partitions=[\"orders\"]",
            "producers[1].workload.script=[\"comit\"]",
            "expect=\"violation\"",
            "producers[1].settings.acks=2",
            "faults.lost_response=0.01",
            "faults.lost_response=\"0.01\"",
            "faults.lost_response=\"2/1\"",
            "faults.lost_response=\"1/0\"",
            "faults.swarm=1",
            "consumers[0].isolation_level=\"read_comitted\"",
            "limits.virtual_time_max_ms=-1",
            "cluster.topics.orders.replicas=[[1, 10]]",
        ],
        &expect![[r#"
            good.json: format: found 2, expected 1
            good.json: name: found "a b", expected a name of letters, digits, '-', '_' and '.'
            good.json: about: found 0 characters, expected a string of 1 to 4000 characters
            good.json: cluster.brokers: found 0, expected a whole number from 1 to 9
            good.json: cluster.brokers: found "three", expected a whole number from 1 to 9, an object with "from" and "to" or an object with "one_of"
            good.json: cluster.brokers: found 1.5, expected a whole number from 1 to 9
            good.json: cluster.brokers: found true, expected a whole number from 1 to 9, an object with "from" and "to" or an object with "one_of"
            good.json: cluster.brokers: found 1e+23, expected a whole number from 1 to 9
            good.json: cluster.brokers: found null, expected a whole number from 1 to 9, an object with "from" and "to" or an object with "one_of"
            good.json: cluster.brokers: found the reversed range 3 to 1, expected "from" not above "to"
            good.json: cluster.brokers.from: found 0, expected a whole number from 1 to 9
            good.json: cluster.brokers.one_of: found 0 entries, expected 1 to 64
            good.json: cluster.brokers: found the unknown key "max", expected "from", "to" or "one_of"
            good.json: kafka: found "4.6", expected "4.5", "4.4", "4.3", "4.2", "4.1", "4.0", "3.9" or an object with "one_of"; did you mean "4.5"?
            good.json: transaction_version: found 3, expected a whole number from 0 to 2
            good.json: producers: found an object, expected a list
            good.json: producers[0].workload.random.records_per_transaction: found the reversed range 5 to 2, expected "min" not above "max"
            good.json: producers[0].workload.random.partitions: found 0 entries, expected 1 to 100
            good.json: producers[0].workload.random.partitions[0]: found "orders", expected a partition such as "topic-0"
            good.json: producers[1].workload.script[0]: found "comit", expected "init", "begin", an object with "send", "flush", "commit", "abort", "close", an object with "wait_ms", an object with "wait_until_ms" or an object with "raw_produce"; did you mean "commit"?
            good.json: expect: found "violation", expected "sound" or an object with "violation"
            good.json: producers[1].settings.acks: found 2, expected a whole number from -1 to 1
            good.json: faults.lost_response: found 0.01, expected a probability such as "1/100", not above 1 or an object with "one_of"
            good.json: faults.lost_response: found "0.01", expected a probability such as "1/100", not above 1
            good.json: faults.lost_response: found "2/1", expected a probability such as "1/100", not above 1
            good.json: faults.lost_response: found "1/0", expected a probability such as "1/100", not above 1
            good.json: faults.swarm: found 1, expected true or false
            good.json: consumers[0].isolation_level: found "read_comitted", expected "read_uncommitted" or "read_committed"; did you mean "read_committed"?
            good.json: limits.virtual_time_max_ms: found -1, expected a whole number from 0 to 4000000000
            good.json: cluster.topics.orders.replicas[0][1]: found 10, expected a whole number from 1 to 9
        "#]],
    );
}

#[test]
fn unknown_names() {
    spoiled(
        &[
            "defects=[\"leader.dedup.window4\"]",
            "switched_on=[\"nonsense\"]",
            "rules=[\"L-SEQ3\"]",
            "requires=[\"lost_respnse\"]",
            "requires=[\"crash\"]",
            "requires=[{\"rule\":\"L-SEQ3\"}]",
            "requires=[{\"state\":\"coordinator/Ongoin\"}]",
            "requires=[{\"cell\":\"coordinator/Ongoing/time out\"}]",
            "requires=[{\"rules\":\"L-SEQ-3\"}]",
            "expect={\"violation\": [\"aborted-reads\"]}",
            "expect=\"sond\"",
            "aimed=[{\"when\": {\"sent\": \"EndTx\"}, \"do\": \"drop\"}]",
            "aimed=[{\"when\": {\"sent\": \"EndTxn\", \"sender\": \"writr\"}, \"do\": \"drop\"}]",
            "aimed=[{\"when\": {\"sent\": \"EndTxn\"}, \"do\": {\"release\": \"late\"}}]",
            "aimed=[{\"when\": {}, \"do\": \"drop\"}]",
            "producers[0].workload.random.partitions=[\"order-0\"]",
            "consumers[0].partitions=[\"orders-2\"]",
            "cluster.place={\"v\": 1}",
            "cluster.kafka={\"broker-9\": \"4.4\"}",
            "backports=[\"KAFKA-18043\"]",
            "cluster.upgrade={\"kafka\": \"4.6\", \"at_ms\": 5}",
        ],
        &expect![[r#"
            good.json: defects[0]: found "leader.dedup.window4", expected the name of a known defect; did you mean "leader.dedup.window_4"?
            good.json: switched_on[0]: found "nonsense", expected the name of a known defect
            good.json: rules[0]: found "L-SEQ3", expected the name of a known rule; did you mean "L-SEQ-3"?
            good.json: requires[0]: found "lost_respnse", expected the name of a known fault, an object with "rule", an object with "state" or an object with "cell"; did you mean "lost_response"?
            good.json: requires[0]: found "crash", expected a fault of the scenario (lost_response)
            good.json: requires[0].rule: found "L-SEQ3", expected the name of a known rule; did you mean "L-SEQ-3"?
            good.json: requires[0].state: found "coordinator/Ongoin", expected the name of a known state; did you mean "coordinator/Ongoing"?
            good.json: requires[0].cell: found "coordinator/Ongoing/time out", expected the name of a known cell; did you mean "coordinator/Ongoing/timed out"?
            good.json: requires[0]: found the unknown key "rules", expected "rule", "state" or "cell"; did you mean "rule"?
            good.json: expect.violation[0]: found "aborted-reads", expected the name of a known invariant; did you mean "aborted-read"?
            good.json: expect: found "sond", expected "sound" or an object with "violation"; did you mean "sound"?
            good.json: aimed[0].when.sent: found "EndTx", expected the name of a known API; did you mean "EndTxn"?
            good.json: aimed[0].when.sender: found "writr", expected the name of an actor; did you mean "writer"?
            good.json: aimed[0].do.release: found "late", expected the name of a "hold"
            good.json: aimed[0].when: found 0 moments, expected one of "sent", "received", "answered", "answer_received", "at_ms" and "reached"
            good.json: producers[0].workload.random.partitions[0]: found the unknown topic "order", expected a topic of "cluster.topics"; did you mean "orders"?
            good.json: consumers[0].partitions[0]: found "orders-2", expected a partition of orders from 0 to 1
            good.json: cluster.place: found "v", expected a transactional id of the scenario; did you mean "w"?
            good.json: cluster.kafka: found "broker-9", expected a broker; did you mean "broker-1"?
            good.json: backports[0]: found "KAFKA-18043", expected the name of a known ticket; did you mean "KAFKA-18042"?
            good.json: cluster.upgrade.kafka: found "4.6", expected "4.5", "4.4", "4.3", "4.2", "4.1", "4.0", "3.9" or an object with "one_of"; did you mean "4.5"?
        "#]],
    );
}

#[test]
fn values_that_do_not_go_together() {
    spoiled(
        &[
            "kafka=\"3.9\"",
            "operator=[{\"reassign\": {\"partition\": \"__transaction_state-9\", \"replicas\": [1]}}]",
            "operator=[{\"delete_records\": {\"partition\": \"__transaction_state-0\", \"before\": 3}}]",
            "cluster.topics.orders.replication_factor=4",
            "cluster.brokers={\"from\": 2, \"to\": 3}",
            "cluster.topics.orders.replicas=[[1, 1]]",
            "cluster.topics.orders={\"partitions\": 3, \"replicas\": [[1], [2]]}",
            "cluster.topics.orders.settings.min.insync.replicas=4",
            "cluster.topics.__orders={}",
            "cluster.place={\"w\": 4}",
            "network={\"latency_min_us\": 10, \"latency_max_us\": 5}",
            "network={\"latency_min_us\": 9, \"latency_max_us\": {\"one_of\": [20, 5, 30]}}",
            "producers=[]",
            "producers[0].settings.max.block.ms=0",
            "consumers[0].name=\"writer\"",
            "producers[0].count=2",
            "producers[1].workload.script=[\"begin\"]",
            "producers[1].settings.acks=1",
            "producers[1].settings.max.in.flight.requests.per.connection=6",
            "producers[0].settings.enable.idempotence=false",
            "producers[0].settings={\"transaction.two.phase.commit.enable\": true, \
              \"transaction.timeout.ms\": 5000}",
            "producers[1].workload={\"two_phase\": {\"batches\": {\"transactions\": 1, \
              \"records_per_transaction\": {\"min\": 1, \"max\": 1}, \
              \"partitions\": [\"orders-0\"]}}}",
            "operator=[{\"abort_transaction\": {\"partition\": \"orders-0\"}}]",
            "operator=[{\"abort_transaction\": {\"partition\": \"orders-0\", \
              \"start_offset\": 1, \"producer\": {\"id\": 0, \"epoch\": 0}}}]",
            "operator=[{\"abort_hanging\": {\"partition\": \"orders-9\"}}]",
            "faults.until_ms=0",
        ],
        &expect![[r#"
            good.json: transaction_version: found 2, expected 0, all that Kafka 3.9 knows
            good.json: operator[0].reassign.partition: found "__transaction_state-9", expected a partition of __transaction_state from 0 to 4
            good.json: operator[0].delete_records.partition: found the unknown topic "__transaction_state", expected a topic of "cluster.topics"
            good.json: cluster.topics.orders.replication_factor: found 4, expected at most 3, the number of brokers
            good.json: cluster.topics.orders.replication_factor: found 3, expected at most 2, the number of brokers
            good.json: cluster.topics.orders.partitions: found 2, expected 1, as "replicas" has, or no "partitions"
            good.json: cluster.topics.orders.partitions: found 3, expected 2, as "replicas" has, or no "partitions"
            good.json: cluster.topics.orders.settings."min.insync.replicas": found 4, expected at most 3, the number of replicas
            good.json: cluster.topics.__orders: found "__orders", expected a topic name that Kafka allows users
            good.json: cluster.place.w: found 4, expected a broker from 1 to 3
            good.json: network: found 10 above 5, expected "latency_min_us" not above "latency_max_us"
            good.json: network: found 9 above 5 at some seeds, expected "latency_min_us" not above "latency_max_us"
            good.json: producers: found none, expected a producer, a transformer or a member of a group: else nothing is judged
            good.json: producers[0].settings."max.block.ms": found 0, expected a whole number from 1 to 4000000000
            good.json: consumers[0].name: found "writer", expected a name that nothing else has
            good
            good.json: producers[1].workload.script[0]: found a call about transactions, expected a producer with a "transactional_id"
            good.json: producers[1].settings.acks: found 1, expected -1 (all) with "enable.idempotence"
            good.json: producers[1].settings."max.in.flight.requests.per.connection": found 6, expected at most 5 with "enable.idempotence"
            good.json: producers[0].settings."enable.idempotence": found false, expected true, because there is a "transactional_id"
            good.json: producers[0].settings."transaction.timeout.ms": found 5000, expected none with "transaction.two.phase.commit.enable"
            good.json: producers[1].workload.two_phase: found a two-phase commit, expected a producer with a "transactional_id"
            good.json: operator[0].abort_transaction: found neither, expected exactly one of "start_offset" and "producer"
            good.json: operator[0].abort_transaction: found both, expected exactly one of "start_offset" and "producer"
            good.json: operator[0].abort_hanging.partition: found "orders-9", expected a partition of orders from 0 to 1
            good.json: faults.until_ms: found 0, expected more than 0, when the faults begin
        "#]],
    );
}

#[test]
fn text_that_is_not_strict_json() {
    let nested = "[".repeat(100);
    let large = " ".repeat(json::SIZE_MAX + 1);
    let texts = [
        "",
        "{",
        "{\"format\": 1,}",
        "{\"a\": {\"b\": 1, \"b\": 2}}",
        "{} {}",
        "{\"limits\": {\"steps_max\": 1.5}}",
        &nested,
        &large,
        "[]",
    ];
    let lines: String = texts.iter().map(|text| message(text, &[]) + "\n").collect();
    expect![[r#"
        good.json: line 1 column 0: found the end, expected more JSON
        good.json: line 1 column 1: found the end, expected more JSON
        good.json: line 1 column 14: found a fault (trailing comma), expected JSON
        good.json: a (line 1 column 18): found the key "b" twice, expected every key once
        good.json: line 1 column 4: found a fault (trailing characters), expected JSON
        good.json: limits.steps_max (line 1 column 28): found floating point `1.5`, expected a whole number, or a text such as "1/100"
        good.json: [0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0] (line 1 column 33): found deeper nesting, expected at most 32 levels
        good.json: found more than 1048576 bytes, expected at most 1048576 bytes
        good.json: found a list of 0, expected an object with "format" and "name" and "about" and "cluster"
    "#]].assert_eq(&lines);
}

#[test]
fn a_file_that_cannot_be_read() {
    let error = ScenarioFile::read("no/such.json".as_ref(), &[], &[]).expect_err("no file");
    expect!["no/such.json: found No such file or directory (os error 2), expected a file that can be read"].assert_eq(&error.to_string());
}

/// The message about one rule, given as what stands in `when` and in `do`.
fn rule(when: &str, action: &str) -> String {
    let set = format!("aimed=[{{\"when\": {{{when}}}, \"do\": {action}}}]");
    message(GOOD, &[set.parse().expect(&set)]) + "\n"
}

#[test]
fn aimed_rules_that_make_sense() {
    let end_txn = "\"sent\": \"EndTxn\"";
    let rules = [
        (
            r#""sent": "EndTxn", "commit": true, "nth": 1"#,
            r#"{"hold_until": {"sent": "EndTxn", "nth": 2}}"#,
        ),
        (
            r#""answered": "Produce", "partition": "orders-1", "error": "NONE""#,
            r#"{"answer_with": "REQUEST_TIMED_OUT"}"#,
        ),
        (
            r#""sent": "Produce", "transactional_id": "w", "base_sequence": 0"#,
            r#"{"late_until": {"at_ms": 900}}"#,
        ),
        (
            r#""at_ms": {"from": 5, "to": 9}"#,
            r#"{"pause": {"who": {"one_of": ["writer", "plain"]}, "for_ms": 9}}"#,
        ),
        (end_txn, r#"{"stop": {"who": "receiver", "until": {"sent": "WriteTxnMarkers"}}}"#),
        (r#""sent": "Fetch", "every": 3"#, r#""drop""#),
        (
            r#""reached": "coordinator/PrepareCommit", "nth": 2"#,
            r#"{"crash": {"who": "it", "down_ms": 5}}"#,
        ),
        (r#""sent": "Fetch", "after": {"sent": "EndTxn", "after": {"at_ms": 9}}"#, r#""drop""#),
    ];
    for (when, action) in rules {
        assert_eq!(rule(when, action), "good\n", "{when} {action}");
    }
}

#[test]
fn aimed_rules_that_make_none() {
    let rules = [
        (r#""sent": "EndTxn", "received": "EndTxn""#, r#""drop""#),
        (r#""sent": "EndTxn", "transactional_id": "x""#, r#""drop""#),
        (r#""sent": "Heartbeat", "group": "g""#, r#""drop""#),
        (r#""sent": "Produce", "partition": "orders-7""#, r#""drop""#),
        (r#""sent": "EndTxn", "error": "NONE""#, r#""drop""#),
        (r#""answered": "EndTxn", "error": "NOT_COORDINATR""#, r#""drop""#),
        (r#""sent": "EndTxn", "nth": 1, "every": 2"#, r#""drop""#),
        (r#""received": "EndTxn""#, r#"{"hold_until": {"sent": "EndTxn"}}"#),
        (r#""at_ms": 5"#, r#"{"delay_ms": 5}"#),
        (r#""at_ms": 5, "nth": 2"#, r#"{"crash": {"who": "broker-1", "down_ms": 5}}"#),
        (r#""at_ms": 5"#, r#"{"crash": {"who": "receiver", "down_ms": 5}}"#),
        (r#""at_ms": 5"#, r#""reset""#),
        (r#""sent": "EndTxn""#, r#"{"crash": {"who": "brokr-1", "down_ms": 5}}"#),
        (r#""sent": "EndTxn""#, r#"{"pause": {"who": "receiver"}}"#),
        (
            r#""sent": "EndTxn""#,
            r#"{"pause": {"who": "receiver", "for_ms": 5, "until": {"at_ms": 9}}}"#,
        ),
        (r#""sent": "EndTxn""#, r#"{"hold_until": {"sent": "EndTxn", "every": 2}}"#),
        (r#""sent": "EndTxn""#, r#"{"late_until": {"sent": "EndTxn", "sender": "nobody"}}"#),
        (r#""sent": "Metadata""#, r#"{"answer_with": "REQUEST_TIMED_OUT"}"#),
        (r#""sent": "EndTxn""#, r#"{"answer_with": "NONE"}"#),
        (r#""sent": "EndTxn", "after": {}"#, r#""drop""#),
        (r#""reached": "coordinator/PrepareComit""#, r#"{"crash": {"who": "it", "down_ms": 5}}"#),
        (r#""reached": "coordinator/Empty""#, r#"{"crash": {"who": "sender", "down_ms": 5}}"#),
        (r#""sent": "EndTxn", "by": "broker-1""#, r#""drop""#),
        (
            r#""reached": "coordinator/Empty", "commit": true"#,
            r#"{"pause": {"who": "it", "for_ms": 5}}"#,
        ),
    ];
    let messages: String = rules.iter().map(|(when, action)| rule(when, action)).collect();
    expect![[r#"
        good.json: aimed[0].when: found 2 moments, expected one of "sent", "received", "answered", "answer_received", "at_ms" and "reached"
        good.json: aimed[0].when.transactional_id: found "x", expected a transactional id of the scenario; did you mean "w"?
        good.json: aimed[0].when.group: found "g", expected a group of the scenario
        good.json: aimed[0].when.partition: found "orders-7", expected a partition of orders from 0 to 1
        good.json: aimed[0].when.error: found "sent", expected "answered" or "answer_received": an error stands in an answer
        good.json: aimed[0].when.error: found "NOT_COORDINATR", expected the name of a known error or an object with "one_of"; did you mean "NOT_COORDINATOR"?
        good.json: aimed[0].when: found both, expected at most one of "nth" and "every"
        good.json: aimed[0].when: found "received", expected "sent" or "answered", so that "hold_until" befalls a message
        good.json: aimed[0].when: found "at_ms", expected "sent" or "answered", so that "delay_ms" befalls a message
        good.json: aimed[0].when.nth: found "at_ms", expected a message or a state, if this is said
        good.json: aimed[0].do.crash.who: found "at_ms", expected an actor's name: nobody is "receiver" here
        good.json: aimed[0].when: found "at_ms", expected a message, whose connection is reset
        good.json: aimed[0].do.crash.who: found "brokr-1", expected the name of an actor; did you mean "broker-1"?
        good.json: aimed[0].do.pause: found neither, expected exactly one of "for_ms" and "until"
        good.json: aimed[0].do.pause: found both, expected exactly one of "for_ms" and "until"
        good.json: aimed[0].do.hold_until.every: found an end, expected "nth", or the next
        good.json: aimed[0].do.late_until.sender: found "nobody", expected the name of an actor
        good.json: aimed[0].do.answer_with: found "Metadata", expected one of Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords, FindCoordinator, InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers, TxnOffsetCommit, OffsetCommit, OffsetFetch, OffsetDelete, DeleteGroups, Heartbeat
        good.json: aimed[0].do.answer_with: found "NONE", expected an error
        good.json: aimed[0].when.after: found 0 moments, expected one of "sent", "received", "answered", "answer_received", "at_ms" and "reached"
        good.json: aimed[0].when.reached: found "coordinator/PrepareComit", expected the name of a known state or an object with "one_of"; did you mean "coordinator/PrepareCommit"?
        good.json: aimed[0].do.crash.who: found "reached", expected an actor's name: nobody is "sender" here
        good.json: aimed[0].when.by: found "sent", expected "reached"
        good.json: aimed[0].when.commit: found "reached", expected a message, if this is said
    "#]].assert_eq(&messages);
}

#[test]
fn faults_that_could_strike_without_end() {
    let crash = |every: &str| {
        let fault = format!("{{\"rate\": \"1/2\", \"every_ms\": {every}, \"down_ms\": 5}}");
        let sets = ["faults.until_ms=600000".to_string(), format!("faults.crash={fault}")];
        message(GOOD, &sets.map(|set| set.parse().expect("a replacement")))
    };
    let lines = ["1", "29", "{\"from\": 2, \"to\": 900}"].map(crash).join("\n");
    expect![[r#"
        good.json: faults.crash.every_ms: found 1, that is 600000 possible strikes, expected at most 20000 in the 600000 ms of faults
        good.json: faults.crash.every_ms: found 29, that is 20689 possible strikes, expected at most 20000 in the 600000 ms of faults
        good.json: faults.crash.every_ms: found 2, that is 300000 possible strikes, expected at most 20000 in the 600000 ms of faults"#]].assert_eq(&lines);
}
