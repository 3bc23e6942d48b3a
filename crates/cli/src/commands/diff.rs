//! `eosim diff`: where two runs part, and what comes out differently.

use eosim_runner::diff::Difference;
use eosim_runner::exit::ExitCode;

use super::Failure;
use super::source::{Change, Opened, open};
use crate::args::{DiffArgs, Format, OutputArgs};
use crate::input::Model;
use crate::output;
use crate::pages::{self, Sides};

pub(super) fn run(args: &DiffArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let model = Model::of(&args.model)?;
    let changes = [Change::of("a", args.a.side())?, Change::of("b", args.b.side())?];
    if args.second.is_none() && changes.iter().all(Change::is_none) {
        let message = "there is one run: expected another one, or what is different on a side, such as \
                       --b-defect NAME, --b-kafka VERSION, --b-transaction-version LEVEL, --b-set PATH=VALUE or --b-without PART";
        return Err(Failure::usage(message));
    }
    let second = args.second.as_ref().unwrap_or(&args.first);
    let seed = args.seed.map(|seed| seed.0);
    let [on_a, on_b] = &changes;
    let a = open(&args.first, seed, &model, on_a)?;
    let b = open(second, seed, &model, on_b)?;
    let found = Difference::between(&a.observed, &b.observed);
    let text = match how.format {
        Format::Text => {
            let (one, two) = (title(&a, on_a), title(&b, on_b));
            let actors = [a.observed.actors.as_slice(), b.observed.actors.as_slice()];
            let sides = Sides { names: [&one, &two], actors };
            args.form.render(&pages::difference(&found, sides))
        }
        Format::Json | Format::Jsonl => pages::difference_json(&found).to_string() + "\n",
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

fn title(side: &Opened, change: &Change) -> String {
    let Opened { name, recording, .. } = side;
    let change = change.words();
    format!("{name}   scenario={} seed={}{change}", recording.plan.name, recording.seed)
}
