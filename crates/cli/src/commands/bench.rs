//! `eosim bench`: the figures, beside their bars.

use eosim_runner::bench::{self, Bar, Row};
use eosim_runner::exit::ExitCode;
use serde_json::{Value, json};

use super::Failure;
use crate::args::{BenchArgs, Format, OutputArgs};
use crate::output;

pub(super) fn run(args: &BenchArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let mut progress = |what: &str| output::talk(how, &format!("measures: {what}"));
    let rows = bench::run(args.rounds, &mut progress);
    let text = match how.format {
        Format::Text => text(&rows),
        Format::Json => {
            let rows: Vec<Value> = rows.iter().map(json).collect();
            json!({"format": 1, "rows": rows}).to_string() + "\n"
        }
        Format::Jsonl => rows.iter().map(|row| json(row).to_string() + "\n").collect(),
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

fn text(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let bar = match row.bar {
            None => String::new(),
            Some(Bar::AtMost(bar)) => format!("at most {bar:<8} {}", met(row)),
            Some(Bar::AtLeast(bar)) => format!("at least {bar:<7} {}", met(row)),
        };
        let Row { name, value, unit, .. } = row;
        format!("{name:<30} {value:>12.3} {unit:<16} {bar}").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

fn met(row: &Row) -> &'static str {
    if row.is_met() { "met" } else { "NOT MET" }
}

fn json(row: &Row) -> Value {
    let bar = row.bar.map(|bar| match bar {
        Bar::AtMost(bar) | Bar::AtLeast(bar) => bar,
    });
    let met = row.bar.map(|_| row.is_met());
    json!({"name": row.name, "value": row.value, "unit": row.unit, "bar": bar, "met": met})
}
