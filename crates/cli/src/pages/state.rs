//! How everything stands after a step: processes, leaders, transactions, producers, groups, clients.

use eosim_report::transcript::time;
use eosim_report::{Block, Page};
use eosim_runner::look::Look;
use eosim_runner::recording::{Observed, Recording};
use eosim_types::look::{ClientStanding, GroupStanding};
use eosim_types::observation::{ReplicaDump, TransactionDump};
use eosim_types::record::TransactionState;
use eosim_types::{ActorId, BrokerId, Names, TopicPartition};
use serde_json::{Value, json};

/// What stands in a cell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cell {
    /// What there is not: `-` on a page, null in JSON.
    Nothing,
    Number(i64),
    Text(String),
}

/// The cells of a row, each with the name of its column.
type Row = Vec<(&'static str, Cell)>;

/// A table before it is put on a page: its heading and its rows, which have the same columns.
struct Table {
    heading: &'static str,
    /// What it is called in JSON.
    key: &'static str,
    rows: Vec<Row>,
}

impl Cell {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn number(number: impl Into<i64>) -> Self {
        Self::Number(number.into())
    }

    /// A number that is negative if there is none.
    fn from_zero(number: impl Into<i64>) -> Self {
        Some(number.into()).filter(|number| *number >= 0).map_or(Self::Nothing, Self::Number)
    }

    fn optional(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Nothing, Self::text)
    }

    fn list(list: &[String], between: &str) -> Self {
        Self::optional((!list.is_empty()).then(|| list.join(between)))
    }

    fn shown(self) -> String {
        match self {
            Self::Nothing => NONE.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }

    fn json(self) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
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
    for table in tables(look, shown) {
        let Some(first) = table.rows.first() else { continue };
        blocks.push(Block::Heading(table.heading.to_string()));
        let head = first.iter().map(|(name, _)| (*name).to_string()).collect();
        let row = |row: Row| row.into_iter().map(|(_, cell)| cell.shown()).collect();
        blocks.push(Block::Table { head, rows: table.rows.into_iter().map(row).collect() });
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
        let row = |row: Row| -> Value {
            row.into_iter().map(|(name, cell)| (name.replace(' ', "_"), cell.json())).collect()
        };
        value[table.key] = table.rows.into_iter().map(row).collect();
    }
    value
}

/// What there is not, on a page.
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
        is_asked.then(|| vec![("actor", Cell::text(name)), ("process", Cell::text(up))])
    });
    Table { heading: "Processes", key: "processes", rows: rows.collect() }
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
    let rows = asked(look, shown).filter(|dump| dump.is_leader).map(|dump| {
        let isr = look.end.isr.get(&(dump.partition, dump.broker));
        let isr: Vec<_> = isr.into_iter().flatten().map(ToString::to_string).collect();
        let mut row = vec![
            ("partition", Cell::text(look.observed.names.partition(dump.partition))),
            ("leader", Cell::number(dump.broker.0)),
            ("leader epoch", Cell::number(dump.leader_epoch.0)),
            ("ISR", Cell::text(isr.join(","))),
            ("log start offset", Cell::number(dump.log_start_offset)),
        ];
        row.extend(bounds(dump));
        row
    });
    Table { heading: "Leaders", key: "leaders", rows: sorted(rows) }
}

fn replicas(look: &Look, shown: Shown<'_>) -> Table {
    let rows = asked(look, shown).filter(|dump| !dump.is_leader).map(|dump| {
        let role = if dump.is_hosted { "follower" } else { "on disk only" };
        let mut row = vec![
            ("partition", Cell::text(look.observed.names.partition(dump.partition))),
            ("broker", Cell::number(dump.broker.0)),
            ("role", Cell::text(role)),
            ("leader epoch", Cell::number(dump.leader_epoch.0)),
        ];
        row.extend(bounds(dump));
        row
    });
    Table { heading: "Other replicas", key: "replicas", rows: sorted(rows) }
}

/// The bounds that every replica has.
fn bounds(dump: &ReplicaDump) -> Row {
    vec![
        ("last stable offset", Cell::number(dump.last_stable_offset)),
        ("high watermark", Cell::number(dump.high_watermark)),
        ("log end offset", Cell::number(dump.log_end_offset)),
    ]
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
        let pending = held.pending_state.map(TransactionState::name);
        vec![
            ("transactional id", Cell::text(run.names.transactional_id(held.transactional_id))),
            ("coordinator", Cell::number(held.broker.0)),
            ("coordinator epoch", Cell::number(held.coordinator_epoch.0)),
            ("state", Cell::text(held.state.name())),
            ("pending state", Cell::optional(pending)),
            ("producer id", Cell::number(held.producer_id.0)),
            ("producer epoch", Cell::number(held.producer_epoch.0)),
            ("start ms", Cell::from_zero(held.start_timestamp_ms)),
            ("partitions", partitions(&held.partitions, &run.names)),
        ]
    });
    Table { heading: "Transactions", key: "transactions", rows: sorted(rows) }
}

fn producers(look: &Look, shown: Shown<'_>) -> Table {
    let names = &look.observed.names;
    let led = asked(look, shown).filter(|dump| dump.is_leader);
    let rows = led.flat_map(|dump| {
        dump.producers.iter().map(|held| {
            vec![
                ("partition", Cell::text(names.partition(dump.partition))),
                ("producer id", Cell::number(held.producer_id.0)),
                ("producer epoch", Cell::number(held.producer_epoch.0)),
                ("last sequence", Cell::number(held.last_sequence.0)),
                ("coordinator epoch", Cell::number(held.coordinator_epoch.0)),
                ("open since offset", Cell::from_zero(held.current_txn_start_offset)),
            ]
        })
    });
    Table { heading: "Producers, as leaders know them", key: "producers", rows: sorted(rows) }
}

fn groups(look: &Look, shown: Shown<'_>) -> Table {
    let names = &look.observed.names;
    let all = look.end.groups.iter().filter(|(broker, _)| is_at(shown, *broker));
    let all = all.filter(|_| shown.partition.is_none() && shown.transaction.is_none());
    let rows = all.map(|(broker, group)| {
        vec![
            ("group", Cell::text(names.group(group.group))),
            ("coordinator", Cell::number(broker.0)),
            ("protocol", Cell::text(group.protocol)),
            ("state", Cell::optional(group.state)),
            ("generation or epoch", Cell::number(group.generation_or_epoch)),
            ("members", members(group, names)),
        ]
    });
    Table { heading: "Groups", key: "groups", rows: sorted(rows) }
}

fn members(group: &GroupStanding, names: &Names) -> Cell {
    let member = |one: &eosim_types::look::MemberStanding| {
        let epoch =
            one.epoch.map_or_else(String::new, |(epoch, state)| format!(" {epoch} {state}"));
        format!("{}{epoch} [{}]", one.member, partitions(&one.assigned, names).shown())
    };
    let members: Vec<String> = group.members.iter().map(member).collect();
    Cell::list(&members, "; ")
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
        vec![
            ("group", Cell::text(run.names.group(offset.group))),
            ("coordinator", Cell::number(broker.0)),
            ("partition", Cell::text(run.names.partition(offset.partition))),
            ("offset", Cell::number(offset.offset)),
            ("pending of producer id", Cell::from_zero(offset.producer_id.0)),
        ]
    });
    Table { heading: "Committed and pending offsets", key: "offsets", rows: sorted(rows) }
}

fn clients(look: &Look, shown: Shown<'_>) -> Table {
    let run = &look.observed;
    let is_asked = |(actor, _): &&(ActorId, ClientStanding)| {
        let is_shown = shown.actor.is_none_or(|wanted| wanted == *actor);
        is_shown && shown.partition.is_none() && shown.transaction.is_none()
    };
    let rows = look.end.clients.iter().filter(is_asked).map(|(actor, client)| {
        let mut row = vec![("client", Cell::text(run.actor(*actor)))];
        row.extend(client_row(client, run));
        row
    });
    Table { heading: "Clients", key: "clients", rows: rows.collect() }
}

fn client_row(client: &ClientStanding, run: &Observed) -> Row {
    let producer = client.producer.as_ref();
    let known = producer.filter(|producer| producer.producer_id.0 >= 0);
    let transaction = producer.and_then(|producer| producer.transaction);
    let transaction = transaction.map(|one| format!("{}.{}", one.session, one.number));
    let position = |(tp, offset): &(TopicPartition, Option<i64>)| {
        format!(
            "{}@{}",
            run.names.partition(*tp),
            offset.map_or(Cell::Nothing, Cell::Number).shown()
        )
    };
    let positions: Vec<String> = client.consumer.iter().flatten().map(position).collect();
    let finished = client.is_finished && client.consumer.is_none();
    let waits =
        client.waits_for.clone().or_else(|| finished.then(|| "nothing: it is finished".into()));
    vec![
        ("producer state", Cell::optional(producer.and_then(|producer| producer.state))),
        ("producer id", known.map_or(Cell::Nothing, |one| Cell::number(one.producer_id.0))),
        ("producer epoch", known.map_or(Cell::Nothing, |one| Cell::number(one.producer_epoch.0))),
        ("transaction", Cell::optional(transaction)),
        ("positions", Cell::list(&positions, ",")),
        ("waits for", Cell::optional(waits)),
    ]
}

/// By what the first column names, its number if it has one, and by the second column.
fn sorted(rows: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by_cached_key(|row| {
        let name = row[0].1.clone().shown();
        let (name, number) = name.rsplit_once('-').unwrap_or((&name, ""));
        (name.to_string(), number.parse::<u32>().unwrap_or(0), row[1].1.clone())
    });
    rows
}

fn partitions(partitions: &[TopicPartition], names: &Names) -> Cell {
    let partitions: Vec<String> = partitions.iter().map(|tp| names.partition(*tp)).collect();
    Cell::list(&partitions, ",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cell_is_in_json_does_not_follow_its_text() {
        let row = |group: &str, isr: &str, from: i64| -> Row {
            let names = [("group", Cell::text(group)), ("ISR", Cell::text(isr))];
            let partitions = partitions(&[], &Names::default());
            names.into_iter().chain([("at", Cell::from_zero(from)), ("of", partitions)]).collect()
        };
        let json = |row: Row| -> Value {
            row.into_iter().map(|(name, cell)| (name.to_string(), cell.json())).collect()
        };
        let expected = json!({"group": "12", "ISR": "1", "at": 0, "of": null});
        assert_eq!(json(row("12", "1", 0)), expected);
        let expected = json!({"group": "-", "ISR": "1,2", "at": null, "of": null});
        assert_eq!(json(row("-", "1,2", -1)), expected);
    }
}
