//! `eosim verify`: one run twice, compared step by step.

use std::fmt::Write;

use eosim_runner::exit::ExitCode;
use eosim_runner::run::Step;
use eosim_runner::verify::{Verified, verify};
use serde_json::{Value, json};

use super::Failure;
use crate::args::{Format, OutputArgs, VerifyArgs};
use crate::input::{self, Model};
use crate::output;
use crate::results::digest;

pub(super) fn run(args: &VerifyArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let model = Model::of(&args.model)?;
    let scenario = input::scenario(&args.scenario, &model)?;
    let verified = verify(&scenario, args.seed.0, model.defects);
    let name = &scenario.head().name;
    let text = match how.format {
        Format::Text => text(name, args.seed.0, &verified),
        Format::Json | Format::Jsonl => json(name, args.seed.0, &verified).to_string() + "\n",
    };
    output::print(&text)?;
    Ok(if verified.is_deterministic() { ExitCode::Fine } else { ExitCode::Nondeterminism })
}

fn text(name: &str, seed: u64, verified: &Verified) -> String {
    let run = &verified.first;
    let (steps, first, second) = (run.steps, digest(run.digest), digest(verified.second_digest));
    if verified.is_deterministic() {
        return format!(
            "deterministic   scenario={name} seed={seed} steps={steps} digest={first}\n"
        );
    }
    let mut text = format!("NONDETERMINISM   scenario={name} seed={seed}\n");
    let _ = writeln!(text, "  digests {first} and {second}");
    match &verified.parted {
        Some((step, one, two)) => {
            let _ = writeln!(text, "  first difference at step {step}");
            let _ = writeln!(text, "    first run   {}", step_text(*one));
            let _ = writeln!(text, "    second run  {}", step_text(*two));
        }
        None => text += "  every step took the same event; what actors did with one differs\n",
    }
    text
}

fn step_text(step: Option<Step>) -> String {
    step.map_or_else(
        || "had ended".to_string(),
        |Step { at, actor, event }| format!("t={at} actor {actor} event {}", digest(event)),
    )
}

fn json(name: &str, seed: u64, verified: &Verified) -> Value {
    json!({
        "format": 1,
        "scenario": name,
        "seed": seed,
        "deterministic": verified.is_deterministic(),
        "steps": verified.first.steps,
        "digests": [digest(verified.first.digest), digest(verified.second_digest)],
        "first_difference": verified.parted.map(|(step, _, _)| step),
    })
}
