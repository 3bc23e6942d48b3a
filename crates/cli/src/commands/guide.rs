//! `eosim guide`.

use eosim_runner::exit::ExitCode;
use serde_json::json;

use super::Failure;
use crate::args::{Format, GuideArgs, OutputArgs};
use crate::guide::{self, STEPS, Step};
use crate::output;

pub(super) fn run(args: &GuideArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let chosen = args.step.as_deref().map(guide::step).transpose()?;
    let text = match (how.format, chosen) {
        (Format::Text, Some(step)) => step.text.to_string(),
        (Format::Text, None) => guide::contents(),
        (Format::Json, Some(step)) => json!({"format": 1, "step": object(step)}).to_string() + "\n",
        (Format::Json, None) => {
            let steps: Vec<_> = STEPS.iter().map(object).collect();
            json!({"format": 1, "steps": steps}).to_string() + "\n"
        }
        (Format::Jsonl, Some(step)) => object(step).to_string() + "\n",
        (Format::Jsonl, None) => STEPS.iter().map(|step| object(step).to_string() + "\n").collect(),
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

fn object(step: &Step) -> serde_json::Value {
    json!({"name": step.name, "title": step.title(), "text": step.text})
}
