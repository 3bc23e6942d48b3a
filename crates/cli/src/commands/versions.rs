//! `eosim versions`: which releases of Kafka are affected by what.

use eosim_report::shell::quoted;
use eosim_report::{Block, Page};
use eosim_runner::exit::ExitCode;
use eosim_runner::versions::{AFFAIRS, Affair, Cell};
use eosim_runner::{InputError, ScenarioFile};
use eosim_types::version::KafkaVersion;
use serde_json::{Value, json};

use super::Failure;
use crate::args::{Format, OutputArgs, VersionsArgs};
use crate::input;
use crate::output;

/// An affair, its scenario's file, and what each release does with it.
struct Row {
    affair: &'static Affair,
    file: String,
    cells: Vec<(KafkaVersion, Cell)>,
}

pub(super) fn run(args: &VersionsArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let named = named(&args.names)?;
    let library = input::good_scenarios(std::slice::from_ref(&args.scenarios))?;
    let mut rows = Vec::new();
    for affair in named {
        let is_its = |file: &&ScenarioFile| file.head().name == affair.scenario;
        let Some(scenario) = library.iter().find(is_its) else {
            let folder = args.scenarios.display();
            let message = format!(
                "{folder}: no scenario {}; expected the library of this build",
                affair.scenario
            );
            return Err(Failure::usage(message));
        };
        let text = scenario.canonical();
        let cell = |kafka: &KafkaVersion| Ok((*kafka, affair.on(*kafka, &text, args.seeds_max)?));
        let cells = KafkaVersion::ALL.iter().map(cell).collect::<Result<_, InputError>>()?;
        rows.push(Row { affair, file: scenario.file().to_string(), cells });
    }
    let text = match how.format {
        Format::Text => args.form.render(&page(&rows, args.seeds_max)),
        Format::Json => json!({"format": 1, "affairs": values(&rows)}).to_string() + "\n",
        Format::Jsonl => values(&rows).iter().map(|row| row.to_string() + "\n").collect(),
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

fn named(names: &[String]) -> Result<Vec<&'static Affair>, InputError> {
    if names.is_empty() {
        return Ok(AFFAIRS.iter().collect());
    }
    let find = |name: &String| {
        AFFAIRS.iter().find(|affair| affair.name == name).ok_or_else(|| {
            let expected = "an affair; eosim versions names them";
            let error = InputError::new("NAME", "", format!("\"{name}\""), expected);
            error.with_nearest(name, AFFAIRS.iter().map(|affair| affair.name))
        })
    };
    names.iter().map(find).collect()
}

fn page(rows: &[Row], seeds: u64) -> Page {
    let versions = KafkaVersion::ALL.iter().map(|version| version.name().to_string());
    let head = [String::new()].into_iter().chain(versions).collect();
    let told = rows.iter().map(|row| {
        let cells = row.cells.iter().map(|(_, cell)| word(cell));
        [row.affair.name.to_string()].into_iter().chain(cells).collect()
    });
    let legend = format!(
        "AFFECTED: the promise is broken, at the seed that is given. ok: it is kept at all of {seeds} \
         seeds. n/a: the release cannot be in such a place. other: another promise is broken. ?: the \
         faults were not effective."
    );
    let mut blocks = vec![Block::Table { head, rows: told.collect() }, Block::Text(legend)];
    rows.iter().for_each(|row| blocks.extend(details(row)));
    Page { title: "What each release of Kafka is affected by".to_string(), blocks }
}

fn word(cell: &Cell) -> String {
    match cell {
        Cell::Affected { seed, .. } => format!("AFFECTED {seed}"),
        Cell::Otherwise { seed, .. } => format!("other {seed}"),
        Cell::Unaffected => "ok".to_string(),
        Cell::Unsaid => "?".to_string(),
        Cell::NotApplicable => "n/a".to_string(),
    }
}

fn details(row: &Row) -> Vec<Block> {
    let affair = row.affair;
    let affected = row.cells.iter().filter_map(|(kafka, cell)| match cell {
        Cell::Affected { seed, promise } => Some((*kafka, *seed, *promise)),
        _ => None,
    });
    let affected: Vec<_> = affected.collect();
    let mut facts = vec![
        ("what".to_string(), affair.about.to_string()),
        ("tickets".to_string(), affair.tickets.to_string()),
    ];
    if let Some((_, _, promise)) = affected.last() {
        facts.push(("breaks".to_string(), (*promise).to_string()));
    }
    let mut blocks = vec![Block::Heading(affair.name.to_string()), Block::Facts(facts)];
    blocks.push(Block::Commands(commands(row, &affected)));
    blocks
}

/// The run that shows it on the newest release that is affected, and beside the next that is not.
fn commands(row: &Row, affected: &[(KafkaVersion, u64, &str)]) -> Vec<String> {
    let Row { affair, cells, .. } = row;
    let file = quoted(&row.file);
    let Some((kafka, seed, _)) = affected.last() else { return Vec::new() };
    let sets = |side: &str| -> String {
        affair.set.iter().map(|set| format!(" --{side}set {}", quoted(set))).collect()
    };
    let shown = format!("eosim run {file} --seed {seed} --kafka {}{}", kafka.name(), sets(""));
    let after = cells.iter().skip_while(|(other, _)| other <= kafka);
    let repaired = after.into_iter().find(|(_, cell)| *cell == Cell::Unaffected);
    let beside = repaired.map(|(repaired, _)| {
        let (a, b) = (sets("a-"), sets("b-"));
        format!(
            "eosim diff {file} --seed {seed} --a-kafka {} --b-kafka {}{a}{b}",
            kafka.name(),
            repaired.name()
        )
    });
    [Some(shown), beside].into_iter().flatten().collect()
}

fn values(rows: &[Row]) -> Vec<Value> {
    let cell = |(kafka, cell): &(KafkaVersion, Cell)| {
        let value = match cell {
            Cell::Affected { seed, promise } => {
                json!({"result": "affected", "seed": seed, "promise": promise})
            }
            Cell::Otherwise { seed, promise } => {
                json!({"result": "otherwise", "seed": seed, "promise": promise})
            }
            Cell::Unaffected => json!({"result": "unaffected"}),
            Cell::Unsaid => json!({"result": "unsaid"}),
            Cell::NotApplicable => json!({"result": "not-applicable"}),
        };
        (kafka.name().to_string(), value)
    };
    let row = |row: &Row| {
        json!({
            "name": row.affair.name,
            "about": row.affair.about,
            "tickets": row.affair.tickets,
            "scenario": row.affair.scenario,
            "set": row.affair.set,
                    "since": row.affair.since.name(),
                    "versions": row.cells.iter().map(cell).collect::<serde_json::Map<_, _>>(),
        })
    };
    rows.iter().map(row).collect()
}
