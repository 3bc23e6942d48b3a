//! `eosim conform`: one line for each case that is not equal, counts for each file, and a total.

mod live;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use eosim_runner::conform::{Difference, Outcome, case_files, play_file};
use eosim_types::version::KafkaVersion;
use serde_json::{Value, json};

use super::Failure;
use crate::args::{ConformArgs, Format, OutputArgs};
use crate::output;
use eosim_runner::exit::ExitCode;

/// One case and how it came out.
struct Played {
    case: String,
    outcome: Outcome,
}

/// How many cases came out how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counts {
    equal: u64,
    different: u64,
    unsupported: u64,
}

impl Counts {
    fn of<'a>(played: impl Iterator<Item = &'a Played>) -> Self {
        let mut counts = Self::default();
        for one in played {
            match one.outcome {
                Outcome::Equal => counts.equal += 1,
                Outcome::Different(_) => counts.different += 1,
                Outcome::Unsupported(_) => counts.unsupported += 1,
            }
        }
        counts
    }

    fn exit(self) -> ExitCode {
        match self {
            Self { different: 1.., .. } => ExitCode::Conformance,
            Self { equal: 0, unsupported: 0, .. } => ExitCode::Nothing,
            _ => ExitCode::Fine,
        }
    }
}

pub(super) fn run(args: &ConformArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in &args.cases {
        files.extend(case_files(path).map_err(Failure::usage)?);
    }
    if let Some(address) = &args.bootstrap {
        return live::run(&files, address, args, how);
    }
    let mut played = Vec::new();
    for file in &files {
        played.push((file.as_path(), play(file, args.kafka)?));
    }
    let total = Counts::of(played.iter().flat_map(|(_, cases)| cases));
    let text = match how.format {
        Format::Text => text(&played, total, how),
        Format::Json => json(&played, total).to_string() + "\n",
        Format::Jsonl => jsonl(&played),
    };
    output::print(&text)?;
    Ok(total.exit())
}

fn play(file: &Path, kafka: Option<KafkaVersion>) -> Result<Vec<Played>, Failure> {
    let played = play_file(file, kafka).map_err(Failure::usage)?;
    Ok(played.into_iter().map(|(case, outcome)| Played { case, outcome }).collect())
}

type PlayedFile<'a> = (&'a Path, Vec<Played>);

/// How the cases came out with `whom` that they were asked of.
fn outcomes(played: &[PlayedFile<'_>], whom: &str, how: &OutputArgs) -> String {
    let told = |one: &Played| match &one.outcome {
        Outcome::Equal if how.verbose => format!("equal        {}\n", one.case),
        Outcome::Equal => String::new(),
        Outcome::Different(difference) => different(&one.case, difference, whom),
        Outcome::Unsupported(reason) => format!("unsupported  {}: {reason}\n", one.case),
    };
    played.iter().flat_map(|(_, cases)| cases).map(told).collect()
}

fn text(played: &[PlayedFile<'_>], total: Counts, how: &OutputArgs) -> String {
    let mut text = outcomes(played, "model", how);
    let Counts { equal, different, unsupported } = total;
    let files = played.len();
    let _ = writeln!(
        text,
        "{equal} equal, {different} different, {unsupported} unsupported in {files} files"
    );
    text
}

/// What was recorded and what `who` gave, one below the other.
fn different(case: &str, difference: &Difference, who: &str) -> String {
    let Difference { place, recorded, model } = difference;
    format!("different    {case}: {place}\n  recorded  {recorded}\n  {who:<8}  {model}\n")
}

fn counts_json(counts: Counts) -> Value {
    let Counts { equal, different, unsupported } = counts;
    json!({"equal": equal, "different": different, "unsupported": unsupported})
}

fn json(played: &[PlayedFile<'_>], total: Counts) -> Value {
    let file = |(path, cases): &PlayedFile<'_>| {
        let mut counts = counts_json(Counts::of(cases.iter()));
        counts["file"] = json!(path.display().to_string());
        counts
    };
    let cases = played.iter().flat_map(|(_, cases)| cases);
    let mut json = counts_json(total);
    json["format"] = json!(1);
    json["files"] = played.iter().map(file).collect();
    json["cases"] = cases.map(|one| one.outcome.to_json(&one.case)).collect();
    json
}

fn jsonl(played: &[PlayedFile<'_>]) -> String {
    let cases = played.iter().flat_map(|(_, cases)| cases);
    cases.map(|one| one.outcome.to_json(&one.case).to_string() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::ProgressMode;
    use expect_test::expect;

    fn played() -> Vec<Played> {
        let difference = Difference {
            place: "step 3: error".to_string(),
            recorded: json!("NONE"),
            model: json!("OUT_OF_ORDER_SEQUENCE_NUMBER"),
        };
        let case = |name: &str, outcome| Played { case: name.to_string(), outcome };
        vec![
            case("idem-a", Outcome::Equal),
            case("idem-b", Outcome::Different(difference)),
            case("idem-c", Outcome::Unsupported("the step restart_broker".to_string())),
        ]
    }

    fn output(verbose: bool) -> OutputArgs {
        let (format, progress) = (Format::Text, ProgressMode::None);
        OutputArgs { format, progress, quiet: false, verbose }
    }

    #[test]
    fn the_first_difference_is_shown_side_by_side() {
        let played = [(Path::new("a.jsonl"), played())];
        let total = Counts::of(played.iter().flat_map(|(_, cases)| cases));
        expect![[r#"
            equal        idem-a
            different    idem-b: step 3: error
              recorded  "NONE"
              model     "OUT_OF_ORDER_SEQUENCE_NUMBER"
            unsupported  idem-c: the step restart_broker
            1 equal, 1 different, 1 unsupported in 1 files
        "#]]
        .assert_eq(&text(&played, total, &output(true)));
        expect![[r#"
            {"cases":[{"first_difference":null,"name":"idem-a","result":"equal"},{"first_difference":{"model":"OUT_OF_ORDER_SEQUENCE_NUMBER","place":"step 3: error","recorded":"NONE"},"name":"idem-b","result":"different"},{"first_difference":{"reason":"the step restart_broker"},"name":"idem-c","result":"unsupported"}],"different":1,"equal":1,"files":[{"different":1,"equal":1,"file":"a.jsonl","unsupported":1}],"format":1,"unsupported":1}
        "#]].assert_eq(&(json(&played, total).to_string() + "\n"));
        expect![[r#"
            {"first_difference":null,"name":"idem-a","result":"equal"}
            {"first_difference":{"model":"OUT_OF_ORDER_SEQUENCE_NUMBER","place":"step 3: error","recorded":"NONE"},"name":"idem-b","result":"different"}
            {"first_difference":{"reason":"the step restart_broker"},"name":"idem-c","result":"unsupported"}
        "#]].assert_eq(&jsonl(&played));
    }

    #[test]
    fn a_difference_decides_the_exit_code() {
        let counts = |equal, different, unsupported| Counts { equal, different, unsupported };
        assert_eq!(counts(5, 1, 0).exit(), ExitCode::Conformance);
        assert_eq!(counts(0, 0, 0).exit(), ExitCode::Nothing);
        assert_eq!(counts(1, 0, 1).exit(), ExitCode::Fine);
    }
}
