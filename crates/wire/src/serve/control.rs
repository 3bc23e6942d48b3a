//! Looking at a session and acting on it while it goes on, as HTTP requests ask (`--control`).
//!
//! | request | body | answer |
//! |---|---|---|
//! | `GET /state` | | time, brokers, partitions, how often each rule acted |
//! | `GET /transactions` | | every transactional id at its coordinator |
//! | `GET /verdict` | | what is broken, as far as it can be told now |
//! | `POST /faults` | rules as in `aimed` of a scenario, a list | they act from now on, in place of those before |
//! | `POST /transforms` | `[{"group": "g", "input": "orders", "output": "bills"}]` | from now on what the group reads is expected to have results, once; each result says in the header `eosim-input` (`orders-0@17`) what it was made from |
//! | `POST /pause` | `{"broker": 2, "for_ms": 500}` | the process stalls, as in a long collection of garbage |
//! | `POST /crash` | `{"broker": 2, "for_ms": 500}` | it dies, and is started again after that time |

use eosim_actor::CrashKind;
use eosim_runner::{Plan, ScenarioFile, Transform, invariants};
use eosim_sim::Command;
use eosim_types::{ActorId, BrokerId, Duration};
use serde_json::{Map, Value, json};

use super::session::Session;

/// A status, and what is told.
type Answer = (u16, Value);

/// Answers one request.
pub(crate) fn control(session: &mut Session, method: &str, path: &str, body: &str) -> Answer {
    match (method, path) {
        ("GET", "/state") => (200, state(session)),
        ("GET", "/transactions") => (200, transactions(session)),
        ("GET", "/verdict") => (200, verdict(session)),
        ("POST", "/faults") => faults(session, body),
        ("POST", "/transforms") => transforms(session, body),
        ("POST", "/pause" | "/crash") => process(session, path, body),
        _ => refused(
            404,
            "GET /state, /transactions or /verdict; POST /faults, /transforms, /pause or /crash",
        ),
    }
}

fn refused(status: u16, expected: &str) -> Answer {
    (status, json!({ "error": format!("expected {expected}") }))
}

fn state(session: &Session) -> Value {
    let served = &session.served;
    let names = &session.names.names;
    let brokers = served.brokers().map(|id| json!({ "id": id.0, "up": served.is_up(id) }));
    let dump = served.dump();
    let leaders = dump.replicas.iter().filter(|replica| replica.is_leader && replica.is_hosted);
    let partitions = leaders.map(|replica| {
        json!({
            "partition": names.partition(replica.partition),
            "leader": replica.broker.0,
            "leader_epoch": replica.leader_epoch.0,
            "log_start_offset": replica.log_start_offset,
            "last_stable_offset": replica.last_stable_offset,
            "high_watermark": replica.high_watermark,
            "log_end_offset": replica.log_end_offset,
        })
    });
    json!({
        "now_ms": served.now().as_millis(),
        "steps": served.steps(),
        "connections": session.connections(),
        "brokers": brokers.collect::<Vec<_>>(),
        "partitions": partitions.collect::<Vec<_>>(),
        "kept": kept(session),
        "faults": served.aimed_counts().collect::<Vec<_>>(),
    })
}

/// What takes memory.
fn kept(session: &Session) -> Value {
    let [sends, transactions, polls, offsets] = session.served.facts();
    let (batches, bytes) = session.names.kept();
    json!({
        "batches": batches,
        "batch_bytes": bytes,
        "sends": sends,
        "transactions": transactions,
        "polls": polls,
        "offsets": offsets,
    })
}

fn transactions(session: &Session) -> Value {
    let names = &session.names.names;
    let dump = session.served.dump();
    let one = |t: &eosim_types::observation::TransactionDump| {
        let partitions = t.partitions.iter().map(|&tp| names.partition(tp));
        json!({
            "transactional_id": names.transactional_id(t.transactional_id),
            "coordinator": t.broker.0,
            "state": t.state.name(),
            "producer_id": t.producer_id.0,
            "producer_epoch": t.producer_epoch.0,
            "timeout_ms": t.transaction_timeout_ms,
            "partitions": partitions.collect::<Vec<_>>(),
        })
    };
    dump.transactions.iter().map(one).collect()
}

fn verdict(session: &mut Session) -> Value {
    let found = session.served.look().iter();
    let found = found.map(|anomaly| {
        json!({ "invariant": anomaly.invariant, "summary": anomaly.summary, "rule": anomaly.rule })
    });
    let found: Vec<Value> = found.collect();
    json!({ "verdict": if found.is_empty() { "sound" } else { "safety" }, "anomalies": found })
}

fn faults(session: &mut Session, body: &str) -> Answer {
    match rules(session, body) {
        Ok(plan) => {
            let count = plan.aimed.len();
            session.served.aim(&plan, &mut session.names.names);
            session.served.know(&session.names.names);
            (200, json!({ "rules": count }))
        }
        Err(error) => (400, json!({ "error": error })),
    }
}

/// The plan with the rules of `body`, checked as a scenario's are. Whoever they name is there.
fn rules(session: &Session, body: &str) -> Result<Plan, String> {
    let rules: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let mut scenario: Value =
        serde_json::from_str(&session.scenario).map_err(|error| error.to_string())?;
    let (mut ids, mut topics) = (Vec::new(), Map::new());
    named(&rules, &mut ids, &mut topics);
    for (topic, partitions) in topics {
        let known = &mut scenario["cluster"]["topics"][&topic];
        if known.is_null() {
            *known = json!({ "partitions": partitions });
        }
    }
    let producers = scenario["producers"].as_array().cloned().unwrap_or_default();
    let added = (0..).zip(ids).map(|(number, id)| {
        json!({
            "name": format!("holder-{number}"),
            "transactional_id": id,
            "workload": { "script": ["init"] },
        })
    });
    scenario["producers"] = producers.into_iter().chain(added).collect();
    scenario["aimed"] = rules;
    let invariants: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    let file = ScenarioFile::parse("faults", &scenario.to_string(), &[], &invariants);
    let file = file.map_err(|error| error.to_string())?;
    file.plan(&mut |_, _| 0).map_err(|error| error.to_string())
}

/// The transactional ids and topics that rules name.
fn named(rules: &Value, ids: &mut Vec<String>, topics: &mut Map<String, Value>) {
    match rules {
        Value::Array(items) => items.iter().for_each(|item| named(item, ids, topics)),
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value.as_str()) {
                    ("transactional_id", Some(id)) if !ids.iter().any(|known| known == id) => {
                        ids.push(id.to_string());
                    }
                    ("partition", Some(partition)) => {
                        let Some((topic, number)) = partition.rsplit_once('-') else { continue };
                        let count = number.parse::<u64>().unwrap_or(0) + 1;
                        let most = topics.get(topic).and_then(Value::as_u64).unwrap_or(0);
                        topics.insert(topic.to_string(), count.max(most).into());
                    }
                    _ => named(value, ids, topics),
                }
            }
        }
        _ => {}
    }
}

/// Who transforms what is said: a list of groups, each with the topics that it reads and writes.
fn transforms(session: &mut Session, body: &str) -> Answer {
    let expected = "[{\"group\": a name, \"input\": a topic, \"output\": a topic} …]";
    let Ok(Value::Array(said)) = serde_json::from_str(body) else { return refused(400, expected) };
    let names = &mut session.names;
    let mut one = |said: &Value| {
        Some(Transform {
            group: names.group(said["group"].as_str()?).ok()?,
            input: names.topic(said["input"].as_str()?).ok()?,
            output: names.topic(said["output"].as_str()?).ok()?,
        })
    };
    let Some(all) = said.iter().map(&mut one).collect::<Option<Vec<Transform>>>() else {
        return refused(400, expected);
    };
    session.tell_names();
    all.iter().for_each(|&transform| session.served.expect(transform));
    (200, json!({ "transforms": all.len() }))
}

fn process(session: &mut Session, path: &str, body: &str) -> Answer {
    let expected = "{\"broker\": 1 …, \"for_ms\": a number}";
    let Ok(body) = serde_json::from_str::<Value>(body) else { return refused(400, expected) };
    let broker = body["broker"].as_i64().and_then(|broker| i32::try_from(broker).ok());
    let broker =
        broker.map(BrokerId).filter(|broker| session.served.brokers().any(|b| b == *broker));
    let (Some(broker), Some(ms)) = (broker, body["for_ms"].as_u64()) else {
        return refused(400, expected);
    };
    let actor = ActorId::of_broker(broker);
    let (first, then) = match path {
        "/pause" => (Command::Pause { actor }, Command::Resume { actor }),
        _ => {
            let kind = CrashKind::Process;
            (Command::Crash { actor, kind }, Command::Restart { actor })
        }
    };
    session.served.order(first);
    session.served.order_after(Duration::from_millis(ms), then);
    (200, json!({ "broker": broker.0, "for_ms": ms }))
}
