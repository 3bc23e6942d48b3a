//! What a producer did of its own accord, as a script: nothing of it is left to chance, and each
//! call can be left out.

use serde_json::{Value, json};

use crate::run::{Asked, Call};
use crate::shrink::trial::{Best, Proposal};

/// How a script follows the run that it is made of.
#[derive(Clone, Copy)]
struct Form {
    /// Each call at its time; else as soon as the one before has returned.
    timed: bool,
    /// A flush after each record.
    flushed: bool,
}

const FORMS: [Form; 4] = [
    Form { timed: false, flushed: false },
    Form { timed: false, flushed: true },
    Form { timed: true, flushed: false },
    Form { timed: true, flushed: true },
];

/// Proposals to give a producer a script.
pub(crate) fn scripted(best: &Best) -> Vec<Proposal> {
    let producers = best.value.get("producers").and_then(Value::as_array);
    let mut proposals = Vec::new();
    for (index, producer) in producers.into_iter().flatten().enumerate() {
        let name = producer["name"].as_str().unwrap_or_default();
        if producer["workload"].get("random").is_none() {
            continue;
        }
        let calls = calls(best, name);
        for form in FORMS {
            let mut value = best.value.clone();
            value["producers"][index]["workload"] =
                json!({"script": script(best, name, &calls, form)});
            proposals.push(Proposal::Plan(value));
        }
    }
    proposals
}

/// The calls of the first life of the producer called `name`.
fn calls(best: &Best, name: &str) -> Vec<Call> {
    let of = |call: &&Call| best.actors.get(usize::from(call.actor.0)).is_some_and(|n| n == name);
    let mut lives = 0;
    let own = best.story.calls.iter().filter(of).copied();
    own.take_while(|call| {
        lives += u32::from(call.asked == Asked::Init);
        lives < 2
    })
    .collect()
}

fn script(best: &Best, name: &str, calls: &[Call], form: Form) -> Vec<Value> {
    let mut steps = Vec::new();
    let mut last = 0;
    for (number, call) in calls.iter().enumerate() {
        let at = call.at.as_millis();
        if form.timed && at > last && call.asked != Asked::Init {
            steps.push(json!({"wait_until_ms": at}));
            last = at;
        }
        steps.push(match call.asked {
            Asked::Init => json!("init"),
            Asked::Begin => json!("begin"),
            Asked::Send(tp) => {
                let partition = best.names.partition(tp);
                json!({"send": {"partition": partition, "value": format!("{name}.{number}")}})
            }
            Asked::End { commit: true } => json!("commit"),
            Asked::End { commit: false } => json!("abort"),
        });
        if form.flushed && matches!(call.asked, Asked::Send(_)) {
            steps.push(json!("flush"));
        }
    }
    steps
}
