//! Faults that struck at random, as rules that strike the same messages and processes: what is left
//! does not depend on the seed, and other messages may go without moving the fault.

use eosim_actor::CrashKind;
use eosim_scenario::plan::FAULTS;
use eosim_sim::fault::{Command, Fate, Way};
use eosim_types::{ActorId, Instant};
use serde_json::{Map, Value, json};

use crate::run::{Kind, Order, Strike};
use crate::shrink::trial::{Best, Proposal};

/// Proposals to aim the faults of one kind. Zombies come first: their successors must be named
/// before they can be aimed at.
pub(crate) fn aimed(best: &Best) -> Vec<Proposal> {
    let on = |name: &&&str| best.plan.faults.has(name);
    FAULTS.iter().rev().filter(on).filter_map(|name| aim(best, name)).map(Proposal::Plan).collect()
}

fn aim(best: &Best, fault: &str) -> Option<Value> {
    let mut value = best.value.clone();
    value.get_mut("faults")?.as_object_mut()?.remove(fault);
    if fault == "zombie" {
        succeed(best, &mut value)?;
    }
    let aimed = value.as_object_mut()?.entry("aimed").or_insert_with(|| json!([]));
    aimed.as_array_mut()?.extend(rules(best, fault));
    Some(value)
}

/// A rule for each strike of `fault`, in order; none for faults that no rule can do.
pub(crate) fn rules(best: &Best, fault: &str) -> Vec<Value> {
    match fault {
        "lost_response" | "lost_request" => lost(best, fault),
        "late_request" => late(best),
        _ => ordered(best, fault),
    }
}

fn lost(best: &Best, fault: &str) -> Vec<Value> {
    let own = best.story.strikes.iter().filter(|strike| name(strike.cause.0) == fault);
    own.filter_map(|strike| match strike.fate {
        Fate::Lose => Some(on_message(best, strike.kind, strike.nth, &json!("drop"))),
        Fate::Silence => Some(on_message(best, strike.kind, strike.nth, &json!("silence"))),
        _ => None,
    })
    .collect()
}

fn late(best: &Best) -> Vec<Value> {
    let late = |strike: &Strike| match strike.fate {
        Fate::Late(after, cause) if name(cause.0) == "late_request" => {
            let action = json!({"late_ms": after.as_millis()});
            Some(on_message(best, strike.kind, strike.nth, &action))
        }
        _ => None,
    };
    best.story.strikes.iter().filter_map(late).collect()
}

/// What `fault` ordered.
fn ordered(best: &Best, fault: &str) -> Vec<Value> {
    let orders = best.story.orders.iter().filter(|order| name(order.cause.0) == fault);
    let rule = |order: &Order| match order.command {
        Command::Crash { actor, kind } => {
            let kind = match kind {
                CrashKind::Process => "process",
                CrashKind::PowerLoss => "power_loss",
                CrashKind::Stopped => return None,
            };
            let down = lasts(best, order, Command::Restart { actor });
            let crash = json!({"who": who(best, actor), "kind": kind, "down_ms": down});
            Some(at(order.at, &json!({"crash": crash})))
        }
        Command::Pause { actor } => {
            let lasts = lasts(best, order, Command::Resume { actor });
            Some(at(order.at, &json!({"pause": {"who": who(best, actor), "for_ms": lasts}})))
        }
        Command::Reset { .. } => {
            order.after.map(|(kind, nth)| on_message(best, kind, nth, &json!("reset")))
        }
        _ => None,
    };
    orders.filter_map(rule).collect()
}

/// Gives each zombie's successor an entry of its own.
fn succeed(best: &Best, value: &mut Value) -> Option<()> {
    let known = best.plan.actors().len();
    let producers = value.get_mut("producers")?.as_array_mut()?;
    for (successor, start_ms) in best.actors[known..].iter().zip(&best.successors_ms) {
        let zombie = successor.strip_suffix("-successor")?;
        let mut entry = producers.iter().find(|entry| entry["name"] == *zombie)?.clone();
        entry["name"] = json!(successor);
        entry["start_ms"] = json!(start_ms);
        producers.push(entry);
    }
    Some(())
}

fn on_message(best: &Best, kind: Kind, nth: u32, action: &Value) -> Value {
    let moment = match kind.way {
        Way::Request => "sent",
        Way::Response => "answered",
    };
    let mut when = Map::new();
    when.insert(moment.to_string(), json!(kind.api));
    when.insert("sender".to_string(), json!(who(best, kind.from)));
    when.insert("receiver".to_string(), json!(who(best, kind.to)));
    when.insert("nth".to_string(), json!(nth));
    json!({"when": when, "do": action})
}

fn at(time: Instant, action: &Value) -> Value {
    json!({"when": {"at_ms": time.as_millis()}, "do": action})
}

fn who(best: &Best, actor: ActorId) -> &str {
    best.actors.get(usize::from(actor.0)).map_or("", String::as_str)
}

/// The fault that orders under the number `cause`.
fn name(cause: u16) -> &'static str {
    FAULTS.get(usize::from(cause)).copied().unwrap_or_default()
}

/// How long what was ordered lasts: until `end` is ordered, or the faults are over. Milliseconds.
fn lasts(best: &Best, order: &Order, end: Command) -> u64 {
    let is_end = |o: &&Order| o.at >= order.at && o.cause == order.cause && o.command == end;
    let ended = best.story.orders.iter().find(is_end).map(|order| order.at);
    let over = Instant(best.plan.faults.until_ms.saturating_mul(1000));
    ended.unwrap_or(over).since(order.at).as_millis()
}
