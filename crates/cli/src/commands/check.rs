//! `eosim check`: the checker alone, on a history of any system.

use eosim_report::{HistoryName, check};
use eosim_runner::Expectation;
use eosim_runner::exit::ExitCode;
use eosim_runner::history::History;
use eosim_runner::sweep::judge;

use super::Failure;
use crate::args::{CheckArgs, Format, OutputArgs};
use crate::{output, results};

pub(super) fn run(args: &CheckArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let judged = History::read(&args.history)?.judge();
    let file = args.history.display().to_string();
    let text = match how.format {
        Format::Text => {
            let (observations, ended) = (judged.observations, judged.ended_at);
            let name = HistoryName { file: &file, observations, ended };
            check(&judged.verdict, &judged.lacking, name)
        }
        Format::Json | Format::Jsonl => results::checked(&file, &judged).to_string() + "\n",
    };
    output::print(&text)?;
    Ok(judge(&judged.verdict, &Expectation::Sound).exit(&judged.verdict))
}
