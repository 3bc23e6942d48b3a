//! How everything stands after a step: processes, leaders, transactions, producers, groups, clients.

use eosim_report::transcript::time;
use eosim_report::{Block, Page};
use eosim_runner::look::Look;
use eosim_runner::recording::{Observed, Recording};
use eosim_types::look::{ClientStanding, GroupStanding};
use eosim_types::observation::{ReplicaDump, TransactionDump};
use eosim_types::{ActorId, BrokerId, Names, TopicPartition};
use serde_json::{Value, json};

/// A table before it is put on a page: its heading, the names of its columns, its rows.
struct Table {
    heading: &'static str,
    /// What it is called in JSON.
    key: &'static str,
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

/// What is shown; everything, if nothing is asked for.
#[derive(Clone, Copy, Default)]
pub struct Shown<'a> {
    /// Only this partition.
    pub partition: Option<&'a str>,
    /// Only what is at this actor.
    pub actor: Option<ActorId>,
    /// Only this transactional id.
    pub transaction: Option<&'a str>,
}

/// The state after the last step of `look` as a page.
#[must_use]
pub fn state(recording: &Recording, look: &Look, shown: Shown<'_>) -> Page {
    let run = &look.observed;
    let (steps, at) = (run.result.steps, time(run.result.ended_at));
    let (name, seed) = (&recording.plan.name, recording.seed);
    let mut blocks = Vec::new();
    for table in tables(look, shown).into_iter().filter(|table| !table.rows.is_empty()) {
        blocks.push(Block::Heading(table.heading.to_string()));
        let head = table.head.iter().map(ToString::to_string).collect();
        blocks.push(Block::Table { head, rows: table.rows });
    }
    Page { title: format!("{name} seed {seed} after step {steps}, {at}s"), blocks }
}

/// The same as one JSON value.
#[must_use]
pub fn state_json(recording: &Recording, look: &Look, shown: Shown<'_>) -> Value {
    let run = &look.observed;
    let mut value = json!({
        "format": 1,
        "scenario": recording.plan.name,
        "seed": recording.seed,
        "step": run.result.steps,
        "at_us": run.result.ended_at.0,
    });
    for table in tables(look, shown) {
        let row = |row: Vec<String>| -> Value {
            table.head.iter().map(|name| name.replace(' ', "_")).zip(row).map(field).collect()
        };
        value[table.key] = table.rows.into_iter().map(row).collect();
    }
    value
}

/// Numbers are numbers, and what there is not is null.
fn field((name, cell): (String, String)) -> (String, Value) {
    let value = match cell.parse::<i64>() {
        Ok(number) => json!(number),
        Err(_) if cell == NONE => Value::Null,
        Err(_) => json!(cell),
    };
    (name, value)
}

/// What there is not.
const NONE: &str = "-";

fn tables(look: &Look, shown: Shown<'_>) -> Vec<Table> {
    vec![
        processes(look, shown),
        leaders(look, shown),
        replicas(look, shown),
        transactions(look, shown),
        producers(look, shown),
        groups(look, shown),
        offsets(look, shown),
        clients(look, shown),
    ]
}

fn processes(look: &Look, shown: Shown<'_>) -> Table {
    let run = &look.observed;
    let rows = run.actors.iter().zip(&look.end.up).zip(0..).filter_map(|((name, is_up), at)| {
        let is_shown = shown.actor.is_none_or(|actor| actor == ActorId(at));
        let is_asked = is_shown && shown.partition.is_none() && shown.transaction.is_none();
        let up = if *is_up { "up" } else { "down" };
        is_asked.then(|| vec![name.clone(), up.to_string()])
    });
    let rows = rows.collect();
    Table { heading: "Processes", key: "processes", head: &["actor", "process"], rows }
}

/// Replicas that are asked for and hold or held anything; of internal topics only the used ones.
fn asked<'a>(look: &'a Look, shown: Shown<'a>) -> impl Iterator<Item = &'a ReplicaDump> {
    let run = &look.observed;
    run.dump.replicas.iter().filter(move |dump| {
        let is_used = !dump.partition.topic.is_internal() || dump.log_end_offset > 0;
        let is_asked = match shown.partition {
            Some(name) => run.names.partition(dump.partition) == name,
            None => is_used && shown.transaction.is_none(),
        };
        is_asked && is_at(shown, dump.broker)
    })
}

fn is_at(shown: Shown<'_>, broker: BrokerId) -> bool {
    shown.actor.is_none_or(|actor| actor == ActorId::of_broker(broker))
}

fn leaders(look: &Look, shown: Shown<'_>) -> Table {
    let names = &look.observed.names;
    let rows = asked(look, shown).filter(|dump| dump.is_leader).map(|dump| {
        let isr = look.end.isr.get(&(dump.partition, dump.broker));
        let isr: Vec<_> = isr.into_iter().flatten().map(ToString::to_string).collect();
        vec![
            names.partition(dump.partition),
            dump.broker.to_string(),
            dump.leader_epoch.to_string(),
            isr.join(","),
            dump.log_start_offset.to_string(),
            dump.last_stable_offset.to_string(),
            dump.high_watermark.to_string(),
            dump.log_end_offset.to_string(),
        ]
    });
    Table {
        heading: "Leaders",
        key: "leaders",
        head: &[
            "partition",
            "leader",
            "leader epoch",
            "ISR",
            "log start offset",
            "last stable offset",
            "high watermark",
            "log end offset",
        ],
        rows: sorted(rows),
    }
}

fn replicas(look: &Look, shown: Shown<'_>) -> Table {
    let names = &look.observed.names;
    let rows = asked(look, shown).filter(|dump| !dump.is_leader).map(|dump| {
        let role = if dump.is_hosted { "follower" } else { "on disk only" };
        vec![
            names.partition(dump.partition),
            dump.broker.to_string(),
            role.to_string(),
            dump.leader_epoch.to_string(),
            dump.last_stable_offset.to_string(),
            dump.high_watermark.to_string(),
            dump.log_end_offset.to_string(),
        ]
    });
    Table {
        heading: "Other replicas",
        key: "replicas",
        head: &[
            "partition",
            "broker",
            "role",
            "leader epoch",
            "last stable offset",
            "high watermark",
            "log end offset",
        ],
        rows: sorted(rows),
    }
}

fn transactions(look: &Look, shown: Shown<'_>) -> Table {
    let run = &look.observed;
    let is_asked = |held: &&TransactionDump| {
        let name = run.names.transactional_id(held.transactional_id);
        shown.transaction.is_none_or(|id| id == name)
            && is_at(shown, held.broker)
            && shown.partition.is_none_or(|wanted| {
                held.partitions.iter().any(|tp| run.names.partition(*tp) == wanted)
            })
    };
    let rows = run.dump.transactions.iter().filter(is_asked).map(|held| {
        vec![
            run.names.transactional_id(held.transactional_id).to_string(),
            held.broker.to_string(),
            held.coordinator_epoch.to_string(),
            held.state.name().to_string(),
            optional(held.pending_state.map(|state| state.name().to_string())),
            held.producer_id.to_string(),
            held.producer_epoch.to_string(),
            optional((held.start_timestamp_ms >= 0).then(|| held.start_timestamp_ms.to_string())),
            partitions(&held.partitions, &run.names),
        ]
    });
    Table {
        heading: "Transactions",
        key: "transactions",
        head: &[
            "transactional id",
            "coordinator",
            "coordinator epoch",
            "state",
            "pending state",
            "producer id",
            "producer epoch",
            "start ms",
            "partitions",
        ],
        rows: sorted(rows),
    }
}

fn producers(look: &Look, shown: Shown<'_>) -> Table {
    let names = &look.observed.names;
    let led = asked(look, shown).filter(|dump| dump.is_leader);
    let rows = led.flat_map(|dump| {
        dump.producers.iter().map(|held| {
            let open = held.current_txn_start_offset;
            vec![
                names.partition(dump.partition),
                held.producer_id.to_string(),
                held.producer_epoch.to_string(),
                held.last_sequence.to_string(),
                held.coordinator_epoch.to_string(),
                optional((open >= 0).then(|| open.to_string())),
            ]
        })
    });
    Table {
        heading: "Producers, as leaders know them",
        key: "producers",
        head: &[
            "partition",
            "producer id",
            "producer epoch",
            "last sequence",
            "coordinator epoch",
            "open since offset",
        ],
        rows: sorted(rows),
    }
}

fn groups(look: &Look, shown: Shown<'_>) -> Table {
    let names = &look.observed.names;
    let all = look.end.groups.iter().filter(|(broker, _)| is_at(shown, *broker));
    let all = all.filter(|_| shown.partition.is_none() && shown.transaction.is_none());
    let rows = all.map(|(broker, group)| {
        vec![
            names.group(group.group).to_string(),
            broker.to_string(),
            group.protocol.to_string(),
            optional(group.state.map(ToString::to_string)),
            group.generation_or_epoch.to_string(),
            members(group, names),
        ]
    });
    Table {
        heading: "Groups",
        key: "groups",
        head: &["group", "coordinator", "protocol", "state", "generation or epoch", "members"],
        rows: sorted(rows),
    }
}

fn members(group: &GroupStanding, names: &Names) -> String {
    let member = |one: &eosim_types::look::MemberStanding| {
        let epoch =
            one.epoch.map_or_else(String::new, |(epoch, state)| format!(" {epoch} {state}"));
        format!("{}{epoch} [{}]", one.member, partitions(&one.assigned, names))
    };
    let members: Vec<String> = group.members.iter().map(member).collect();
    optional_list(&members, "; ")
}

fn offsets(look: &Look, shown: Shown<'_>) -> Table {
    let run = &look.observed;
    let held = run.dump.coordinators.iter().filter(|held| is_at(shown, held.broker));
    let held = held.flat_map(|held| held.offsets.iter().map(|offset| (held.broker, offset)));
    let is_asked = |(_, offset): &(BrokerId, &eosim_types::observation::OffsetDump)| {
        let name = run.names.partition(offset.partition);
        shown.transaction.is_none() && shown.partition.is_none_or(|wanted| wanted == name)
    };
    let rows = held.filter(is_asked).map(|(broker, offset)| {
        let pending = (offset.producer_id.0 >= 0).then(|| offset.producer_id.to_string());
        vec![
            run.names.group(offset.group).to_string(),
            broker.to_string(),
            run.names.partition(offset.partition),
            offset.offset.to_string(),
            optional(pending),
        ]
    });
    Table {
        heading: "Committed and pending offsets",
        key: "offsets",
        head: &["group", "coordinator", "partition", "offset", "pending of producer id"],
        rows: sorted(rows),
    }
}

fn clients(look: &Look, shown: Shown<'_>) -> Table {
    let run = &look.observed;
    let is_asked = |(actor, _): &&(ActorId, ClientStanding)| {
        let is_shown = shown.actor.is_none_or(|wanted| wanted == *actor);
        is_shown && shown.partition.is_none() && shown.transaction.is_none()
    };
    let rows = look.end.clients.iter().filter(is_asked).map(|(actor, client)| {
        let mut row = vec![run.actor(*actor).to_string()];
        row.extend(client_row(client, run));
        row
    });
    Table {
        heading: "Clients",
        key: "clients",
        head: &[
            "client",
            "producer state",
            "producer id",
            "producer epoch",
            "transaction",
            "positions",
            "waits for",
        ],
        rows: rows.collect(),
    }
}

fn client_row(client: &ClientStanding, run: &Observed) -> Vec<String> {
    let producer = client.producer.as_ref();
    let known = producer.filter(|producer| producer.producer_id.0 >= 0);
    let transaction = producer.and_then(|producer| producer.transaction);
    let transaction = transaction.map(|one| format!("{}.{}", one.session, one.number));
    let position = |(tp, offset): &(TopicPartition, Option<i64>)| {
        format!("{}@{}", run.names.partition(*tp), optional(offset.map(|at| at.to_string())))
    };
    let positions: Vec<String> = client.consumer.iter().flatten().map(position).collect();
    let finished = client.is_finished && client.consumer.is_none();
    let waits =
        client.waits_for.clone().or_else(|| finished.then(|| "nothing: it is finished".into()));
    vec![
        optional(producer.and_then(|producer| producer.state).map(ToString::to_string)),
        optional(known.map(|producer| producer.producer_id.to_string())),
        optional(known.map(|producer| producer.producer_epoch.to_string())),
        optional(transaction),
        optional_list(&positions, ","),
        optional(waits),
    ]
}

fn sorted(rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = rows.collect();
    let key = |row: &Vec<String>| {
        let (name, number) = row[0].rsplit_once('-').unwrap_or((&row[0], ""));
        (name.to_string(), number.parse::<u32>().unwrap_or(0), row[1].parse::<i64>().unwrap_or(0))
    };
    rows.sort_by_key(key);
    rows
}

fn optional(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.to_string())
}

fn optional_list(list: &[String], between: &str) -> String {
    optional((!list.is_empty()).then(|| list.join(between)))
}

fn partitions(partitions: &[TopicPartition], names: &Names) -> String {
    let partitions: Vec<String> = partitions.iter().map(|tp| names.partition(*tp)).collect();
    optional_list(&partitions, ",")
}
