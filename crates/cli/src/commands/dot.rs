//! `eosim dot`: a state machine as it is in the code.

use eosim_report::dot::dot;
use eosim_runner::exit::ExitCode;
use eosim_runner::machines;
use serde_json::json;

use super::Failure;
use crate::args::{DotArgs, Format, MachineName, OutputArgs};
use crate::output;

pub(super) fn run(args: DotArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let (name, machine) = match args.machine {
        MachineName::Coordinator => ("coordinator", machines::coordinator()),
        MachineName::Producer => ("producer", machines::producer()),
        MachineName::Group => ("group", machines::group()),
    };
    let states = machine.states.iter().map(|(name, note)| json!({"name": name, "note": note}));
    let transitions = machine.transitions.iter();
    let transitions =
        transitions.map(|(from, to, note)| json!({"from": from, "to": to, "note": note}));
    let text = match how.format {
        Format::Text => dot(name, &machine.states, &machine.transitions),
        Format::Json => {
            let (states, transitions): (Vec<_>, Vec<_>) = (states.collect(), transitions.collect());
            let all = json!({"format": 1, "machine": name, "states": states,
                "transitions": transitions});
            all.to_string() + "\n"
        }
        Format::Jsonl => transitions.map(|transition| transition.to_string() + "\n").collect(),
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}
