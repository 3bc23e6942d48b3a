//! The page of a sweep: what failed and why, then each scenario, its faults, what was reached.

use super::{Kind, SweepReport};
use crate::page::{Block, Page};
use crate::shell::quoted;
use crate::summary::ScenarioSummary;

/// So many kinds of failures are told in full, and so many seeds of each.
const KINDS: usize = 20;
const SEEDS: usize = 12;

pub(super) fn page(report: &SweepReport) -> Page {
    let (runs, failed) = (report.runs(), report.failed());
    let passed = report.scenarios.iter().filter(|(one, _)| one.passed()).count();
    let count = report.scenarios.len();
    let words: Vec<String> = report.arguments.iter().map(|word| quoted(word)).collect();
    let facts = [
        Some(("seeds".into(), format!("{runs}, {failed} failed"))),
        report.lacks().map(|lacks| ("MISSING".into(), lacks)),
        Some(("scenarios".into(), format!("{count}, {} did not pass", count - passed))),
        Some(("made by".into(), format!("eosim {}", words.join(" ")))),
    ];
    let facts = facts.into_iter().flatten().collect();
    let mut blocks = vec![Block::Facts(facts), Block::Heading("Failures".into())];
    let kinds = report.kinds();
    if kinds.is_empty() {
        blocks.push(Block::Text("None was kept.".into()));
    }
    blocks.extend(kinds.iter().take(KINDS).flat_map(of_kind));
    if kinds.len() > KINDS {
        blocks.push(Block::Text(format!("And {} more kinds.", kinds.len() - KINDS)));
    }
    blocks.push(Block::Heading("Scenarios".into()));
    blocks.push(scenarios(report));
    blocks.push(Block::Heading("Faults".into()));
    blocks.push(faults(report));
    blocks.push(Block::Heading("Reached".into()));
    blocks.push(reached(report));
    Page { title: format!("eosim: {}", report.name), blocks }
}

fn of_kind(kind: &Kind<'_>) -> [Block; 2] {
    let first = kind.first;
    let seeds = kind.seeds.iter().take(SEEDS).map(|(name, seed)| format!("{name} {seed}"));
    let more = kind.seeds.len().saturating_sub(SEEDS);
    let seeds = seeds.collect::<Vec<_>>().join(", ");
    let seeds = if more == 0 { seeds } else { format!("{seeds} and {more} more") };
    let facts = [
        (first.what.as_str(), first.summary.clone()),
        ("rule", first.rule.clone()),
        ("seeds", seeds),
        ("fingerprint", first.fingerprint.clone()),
    ];
    let facts = facts.map(|(name, said)| (name.to_string(), said));
    let facts = facts.into_iter().filter(|(_, said)| !said.is_empty()).collect();
    let folder = quoted(&first.folder);
    [
        Block::Facts(facts),
        Block::Commands(vec![
            format!("eosim explain {folder}"),
            format!("eosim replay {folder}"),
            format!("eosim shrink {folder}"),
        ]),
    ]
}

fn table(head: &[&str], rows: Vec<Vec<String>>) -> Block {
    Block::Table { head: head.iter().map(ToString::to_string).collect(), rows }
}

fn scenarios(report: &SweepReport) -> Block {
    let head =
        ["scenario", "verdict", "runs", "sound", "expected", "safety", "stuck", "other", "vacuous"];
    let row = |(one, _): &(ScenarioSummary, String)| {
        let counts = [
            one.runs(),
            one.sound,
            one.expected,
            one.safety,
            one.liveness,
            one.inconclusive,
            one.vacuous,
        ];
        let words = [one.name.clone(), one.verdict().to_string()];
        words.into_iter().chain(counts.map(|count| count.to_string())).collect()
    };
    // What did not pass comes first.
    let (passed, not): (Vec<_>, Vec<_>) =
        report.scenarios.iter().partition(|(one, _)| one.passed());
    table(&head, not.into_iter().chain(passed).map(row).collect())
}

fn faults(report: &SweepReport) -> Block {
    let mut sums: Vec<(&str, u64, u64)> = Vec::new();
    for fault in report.scenarios.iter().flat_map(|(one, _)| &one.faults) {
        match sums.iter_mut().find(|(name, ..)| *name == fault.name) {
            Some((_, applied, effective)) => {
                *applied = applied.saturating_add(fault.applied);
                *effective = effective.saturating_add(fault.effective);
            }
            None => sums.push((&fault.name, fault.applied, fault.effective)),
        }
    }
    sums.sort_unstable();
    let row = |(name, applied, effective): (&str, u64, u64)| {
        vec![name.to_string(), applied.to_string(), effective.to_string()]
    };
    table(&["fault", "applied", "effective"], sums.into_iter().map(row).collect())
}

fn reached(report: &SweepReport) -> Block {
    let row = |(name, counts): &(String, [u64; 3])| {
        let counts = counts.iter().map(ToString::to_string);
        std::iter::once(name.clone()).chain(counts).collect()
    };
    table(&["", "reached", "never", "cannot be"], report.coverage.iter().map(row).collect())
}
