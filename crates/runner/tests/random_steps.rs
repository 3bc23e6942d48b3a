//! What must hold of the answers to any steps, whatever they are: a broker that is asked nonsense
//! in any order neither panics nor contradicts itself.

use eosim_runner::conform::{Case, answers};
use proptest::prelude::*;
use serde_json::{Value, json};

const PARTITIONS: [&str; 2] = ["a-0", "a-1"];

/// How much is looked at before and after a restart: three things of each partition, and two
/// transactions.
const PROBES: usize = 3 * PARTITIONS.len() + 2;

/// A number for every choice that a step has.
type Draws = [u16; 8];

fn pick<T: Copy>(from: &[T], draw: u16) -> T {
    from[usize::from(draw) % from.len()]
}

fn producer(step: &mut Value, draws: &Draws) {
    step["producer"] = pick(&["p", "q", "i"], draws[0]).into();
    let delta = pick(&[0, 0, 0, 0, 0, 0, 0, 1, -1, 2], draws[1]);
    if delta != 0 {
        step["epoch_delta"] = delta.into();
    }
}

/// The transactional id of a step's producer.
fn id_of(step: &Value) -> Option<&'static str> {
    match step["producer"].as_str().or(step["as"].as_str()) {
        Some("p") => Some("t"),
        Some("q") => Some("u"),
        _ => None,
    }
}

fn init(alias: &str, draws: &Draws) -> Value {
    let mut step = json!({ "op": "init_producer_id", "as": alias, "timeout_ms": 900_000,
        "retry": ["CONCURRENT_TRANSACTIONS"] });
    if let Some(id) = id_of(&step) {
        step["transactional_id"] = id.into();
    }
    if draws[2].is_multiple_of(3) {
        step["resume"] = json!({ "producer": alias });
    }
    step
}

fn produce(draws: &Draws) -> Value {
    let mut step = json!({ "op": "produce", "partition": pick(&PARTITIONS, draws[2]),
        "sequence": pick(&[0, 0, 1, 2, 3, 4, 6, i32::MAX - 1, i32::MAX, -1], draws[3]),
        "records": pick(&[1, 2, 3], draws[4]), "acks": pick(&[-1, -1, -1, 1, 2], draws[5]),
        "version": pick(&[12, 12, 11, 9], draws[6]) });
    producer(&mut step, draws);
    if let Some(id) = id_of(&step).filter(|_| !draws[7].is_multiple_of(8)) {
        step["transactional_id"] = id.into();
    }
    step
}

fn transactional(op: &str, draws: &Draws) -> Option<Value> {
    let mut step = json!({ "op": op });
    producer(&mut step, draws);
    step["transactional_id"] = id_of(&step)?.into();
    match op {
        "end_txn" => {
            step["commit"] = (draws[2].is_multiple_of(2)).into();
            step["adopt"] = (!draws[3].is_multiple_of(4)).into();
            step["version"] = (pick(&[5, 5, 4, 1], draws[4])).into();
        }
        "add_partitions_to_txn" => {
            step["partitions"] = json!([pick(&PARTITIONS, draws[2])]);
            step["verify_only"] = (draws[3].is_multiple_of(4)).into();
            step["version"] = (pick(&[3, 3, 5, 1], draws[4])).into();
        }
        _ => {
            step["group"] = (pick(&["g", "h"], draws[2])).into();
            step["version"] = (pick(&[5, 4, 3], draws[4])).into();
        }
    }
    if op == "txn_offset_commit" {
        let partition = pick(&PARTITIONS, draws[5]);
        step["offsets"] = json!({ (partition): draws[6] });
    }
    Some(step)
}

fn marker(draws: &Draws) -> Value {
    let mut step = json!({ "op": "write_txn_markers", "partitions": [pick(&PARTITIONS, draws[2])],
        "commit": draws[3].is_multiple_of(2), "coordinator_epoch": pick(&[0, 0, 1, 9, -1], draws[4]),
        "version": pick(&[1, 2], draws[5]), "transaction_version": pick(&[2, 0, 3], draws[6]) });
    producer(&mut step, draws);
    step
}

fn look(draws: &Draws) -> Value {
    let partition = pick(&PARTITIONS, draws[1]);
    let isolation = pick(&["read_committed", "read_uncommitted"], draws[2]);
    match draws[0] % 4 {
        0 => json!({ "op": "fetch", "partition": partition, "offset": draws[3] % 12,
            "isolation": isolation }),
        1 => json!({ "op": "list_offsets", "partition": partition, "isolation": isolation }),
        2 => json!({ "op": "offset_fetch", "group": pick(&["g", "h"], draws[3]),
            "partitions": PARTITIONS, "require_stable": draws[4].is_multiple_of(2) }),
        _ => json!({ "op": "delete_records", "partition": partition,
            "before": pick(&[-1, 0, 1, 2, 3, 5, 9], draws[3]) }),
    }
}

/// What a restart must not change, and the restart between.
fn restart(draws: &Draws) -> Vec<Value> {
    let probes = || {
        let of_partitions = PARTITIONS.iter().flat_map(|partition| {
            let list = |isolation: &str| {
                json!({ "op": "list_offsets", "partition": partition, "isolation": isolation })
            };
            let describe = json!({ "op": "describe_producers", "partition": partition });
            [list("read_committed"), list("read_uncommitted"), describe]
        });
        let of_ids =
            ["t", "u"].map(|id| json!({ "op": "describe_transaction", "transactional_id": id }));
        of_partitions.chain(of_ids).collect::<Vec<Value>>()
    };
    let how = pick(&["kill", "stop"], draws[0]);
    let mut steps = probes();
    steps.push(json!({ "op": "restart_broker", "how": how }));
    steps.extend(probes());
    steps
}

/// On three brokers: something is done to one of them, and in the end undone.
fn disturbance(draws: &Draws) -> Vec<Value> {
    let broker = [1 + draws[0] % 3];
    let (harm, heal) = pick(&[("kill", "start"), ("stop", "start"), ("pause", "resume")], draws[1]);
    let mut between = produce(&[draws[2], 0, 0, draws[3], 0, draws[4], draws[5], 1]);
    between["timeout_ms"] = 500.into();
    vec![
        json!({ "op": "broker", "id": broker, "do": harm, "settle": draws[6].is_multiple_of(2) }),
        between,
        json!({ "op": "broker", "id": broker, "do": heal }),
    ]
}

fn steps(kind: u8, draws: &Draws, is_cluster: bool) -> Vec<Value> {
    let one = match kind {
        0..=9 => Some(produce(draws)),
        10..=12 => transactional("end_txn", draws),
        13..=14 => transactional("add_partitions_to_txn", draws),
        15 => transactional("add_offsets_to_txn", draws),
        16 => transactional("txn_offset_commit", draws),
        17 => Some(init(pick(&["p", "q", "i"], draws[0]), draws)),
        18..=19 => Some(look(draws)),
        20 if draws[7].is_multiple_of(3) => Some(marker(draws)),
        _ if is_cluster => return disturbance(draws),
        _ => return restart(draws),
    };
    one.into_iter().collect()
}

fn case(drawn: &[(u8, Draws)], transaction_version: u8, is_cluster: bool) -> Case {
    let begin = ["p", "q", "i"].map(|alias| init(alias, &[1; 8]));
    let random = drawn.iter().flat_map(|(kind, draws)| steps(*kind, draws, is_cluster));
    let topic = if is_cluster { json!({ "partitions": [[1, 2, 3], [2, 3]] }) } else { json!(2) };
    let case = json!({
        "name": "random", "topics": { "a": topic },
        "recorded_on": format!("apache-kafka 4.4.0, transaction.version={transaction_version}"),
        "steps": begin.into_iter().chain(random).collect::<Vec<Value>>(),
        "final": { "partitions": { "a-0": {}, "a-1": {} }, "transactions": { "t": {}, "u": {} },
            "groups": { "g": { "offsets": { "a-0": {}, "a-1": {} } } } },
    });
    serde_json::from_value(case).expect("a case")
}

/// LSO ≤ high watermark, whole batches in order, all below the high watermark (L-SIM-3).
fn assert_fetched(answer: &Value) {
    let number = |key: &str| answer[key].as_i64().expect(key);
    let high_watermark = number("high_watermark");
    assert!(number("last_stable_offset") <= high_watermark, "{answer}");
    assert!(number("log_start_offset") <= high_watermark, "{answer}");
    let mut next = 0;
    for batch in answer["batches"].as_array().expect("batches") {
        let offset = |key: &str| batch[key].as_i64().expect(key);
        assert!(offset("base_offset") >= next, "{answer}");
        next = offset("last_offset") + 1;
        assert!(next <= high_watermark, "{answer}");
    }
}

/// No transactional record of an epoch after a marker of a higher one (L-SIM-3).
fn assert_fenced(partition: &Value) {
    let batches = partition["batches"].as_array().expect("batches");
    for (at, marker) in batches.iter().enumerate().filter(|(_, batch)| !batch["control"].is_null())
    {
        let later = batches[at..].iter().filter(|later| later["producer"] == marker["producer"]);
        let is_older = |later: &Value| later["epoch"].as_i64() < marker["epoch"].as_i64();
        assert!(!later.clone().any(is_older), "{partition}");
    }
}

/// The answers are those that a broker gives, and no exception of its own shows in them: markers
/// apart, nothing here reaches an epoch or a version that has none.
fn assert_sound(case: &Case, answers: &[Value]) {
    for (step, answer) in case.steps.iter().zip(answers) {
        if step["op"] != "write_txn_markers" {
            assert_ne!(answer["error"], "UNKNOWN_SERVER_ERROR", "{step:?}");
        }
        if step["op"] == "fetch" && answer["error"] == "NONE" {
            assert_fetched(answer);
        }
    }
    let end = answers.last().expect("the end state");
    for partition in end["partitions"].as_object().expect("partitions").values() {
        assert_fetched(partition);
        assert_fenced(partition);
    }
}

/// A restart changes neither offsets nor what is known of producers and transactions, except where
/// a crash brings deleted records back (L-SNP-7), the log is empty (L-SNP-6), or a transaction is
/// held up, whose marker is sent once more (C-LOAD-6).
fn assert_restarts_are_invisible(case: &Case, answers: &[Value]) {
    if case.steps.iter().any(|step| step["op"] == "delete_records") {
        return;
    }
    let is_held_up =
        |answer: &Value| answer["state"].as_str().is_some_and(|s| s.starts_with("Prepare"));
    for at in (0..case.steps.len()).filter(|&at| case.steps[at]["op"] == "restart_broker") {
        let (before, after) = (&answers[at - PROBES..at], &answers[at + 1..=at + PROBES]);
        if !before.iter().any(is_held_up) {
            assert_eq!(before, after, "restart at step {at}");
        }
    }
}

/// In a healed cluster all replicas hold the same.
fn assert_replicas_agree(answers: &[Value]) {
    let end = answers.last().expect("the end state");
    for (name, partition) in end["partitions"].as_object().expect("partitions") {
        let replicas = partition["replicas"].as_object().expect("replicas");
        let ends: Vec<_> = replicas.values().map(|replica| &replica["end"]).collect();
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {partition}");
    }
}

fn drawn(kinds: u8, steps: usize) -> impl Strategy<Value = Vec<(u8, Draws)>> {
    prop::collection::vec((0..kinds, any::<Draws>()), 1..steps)
}

/// One in `share` of the usual number of cases, which `PROPTEST_CASES` sets.
fn config(share: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases / share, failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(config(4))]

    #[test]
    fn one_broker_never_contradicts_itself(drawn in drawn(22, 40), version in 0..3_u8) {
        let case = case(&drawn, version, false);
        let given = answers(&case).expect("every step is supported");
        assert_sound(&case, &given);
        assert_restarts_are_invisible(&case, &given);
        prop_assert_eq!(given, answers(&case).expect("every step is supported"));
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn three_brokers_agree_in_the_end(drawn in drawn(23, 24)) {
        let case = case(&drawn, 2, true);
        let given = answers(&case).expect("every step is supported");
        assert_sound(&case, &given);
        assert_replicas_agree(&given);
    }
}
