//! Where two runs part, as a page and as JSON.

use eosim_report::{Block, Page, PagePart};
use eosim_runner::diff::{Difference, Of, Outcome};
use eosim_runner::run::Line;
use serde_json::{Value, json};

use super::page_line;

/// So many partitions, transactions and records that fared differently are listed, of each.
const LISTED: usize = 8;

/// The two runs of a difference.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// What they are called.
    pub names: [&'a str; 2],
    /// The actors of each, by number.
    pub actors: [&'a [String]; 2],
}

/// The page.
#[must_use]
pub fn difference(found: &Difference, sides: Sides<'_>) -> Page {
    let [first, second] = sides.names;
    let facts = vec![("A".to_string(), first.to_string()), ("B".to_string(), second.to_string())];
    if found.is_none() {
        return Page { title: "the same run".to_string(), blocks: vec![Block::Facts(facts)] };
    }
    let title = match &found.parting {
        Some(parting) => format!(
            "the runs part at step {}, after {} lines that are the same",
            parting.step(),
            parting.common
        ),
        None => "no line differs, but what is not told does".to_string(),
    };
    let mut blocks = vec![Block::Facts(facts)];
    if let Some(parting) = &found.parting {
        let lines = |lines: &[Line], side: usize| {
            lines.iter().map(|line| page_line(line, sides.actors[side])).collect()
        };
        blocks.push(Block::Heading("Where they part".to_string()));
        blocks.push(Block::Parting(PagePart {
            before: lines(&parting.before, 0),
            first: ("A".to_string(), lines(&parting.first, 0)),
            second: ("B".to_string(), lines(&parting.second, 1)),
        }));
    }
    if !found.outcomes.is_empty() {
        blocks.push(Block::Heading("What comes out differently".to_string()));
        blocks.push(table(&found.outcomes));
        blocks.extend(left_out(&found.outcomes));
    }
    Page { title, blocks }
}

fn table(outcomes: &[Outcome]) -> Block {
    let mut rows = Vec::new();
    for kind in [Of::Run, Of::Partition, Of::Transaction, Of::Record] {
        let of_kind = outcomes.iter().filter(|outcome| outcome.of == kind);
        rows.extend(of_kind.take(most(kind)).map(|Outcome { what, first, second, .. }| {
            vec![what.clone(), first.clone(), second.clone()]
        }));
    }
    Block::Table { head: ["", "A", "B"].map(String::from).to_vec(), rows }
}

fn most(kind: Of) -> usize {
    if kind == Of::Run { usize::MAX } else { LISTED }
}

/// How many more there are.
fn left_out(outcomes: &[Outcome]) -> Option<Block> {
    let more =
        [(Of::Partition, "partitions"), (Of::Transaction, "transactions"), (Of::Record, "records")];
    let more = more.into_iter().filter_map(|(kind, name)| {
        let count = outcomes.iter().filter(|outcome| outcome.of == kind).count();
        (count > LISTED).then(|| format!("{} more {name}", count - LISTED))
    });
    let more: Vec<String> = more.collect();
    (!more.is_empty()).then(|| Block::Text(format!("and {}", more.join(", "))))
}

/// The same as JSON.
#[must_use]
pub fn difference_json(found: &Difference) -> Value {
    let line = |line: &Line| json!({"step": line.step, "at_us": line.at.0, "actor": line.actor.0, "event": line.text.trim()});
    let lines = |lines: &[Line]| lines.iter().map(line).collect::<Vec<_>>();
    let parting = found.parting.as_ref().map(|parting| {
        json!({
            "step": parting.step(),
            "common_lines": parting.common,
            "before": lines(&parting.before),
            "a": lines(&parting.first),
            "b": lines(&parting.second),
        })
    });
    let outcomes = found
        .outcomes
        .iter()
        .map(|Outcome { what, first, second, .. }| json!({"what": what, "a": first, "b": second}));
    json!({"format": 1, "parting": parting, "outcomes": outcomes.collect::<Vec<_>>()})
}
