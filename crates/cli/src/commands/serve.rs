//! `eosim serve`: a cluster for clients that know nothing of being in a simulation.

use eosim_runner::exit::ExitCode;
use eosim_runner::{Plan, ScenarioFile, sweep};
use eosim_wire::serve::{GatewayLimits, Report, Serving, again, serve};
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::Failure;
use crate::args::{Format, OutputArgs, ServeArgs};
use crate::input::{self, Model, invariant_names, replacement};
use crate::{interrupt, output};

/// What is served if nothing else is asked for.
const DEFAULT: &str = include_str!("serve.json");

pub(super) fn run(args: &ServeArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.again {
        return play_again(path, how);
    }
    let mut model = Model::of(&args.model)?;
    if let Some(brokers) = args.brokers {
        let set = format!("cluster.brokers={brokers}");
        model.overrides.push(replacement("--brokers", &set)?);
    }
    let scenario = match &args.scenario {
        Some(path) => input::scenario(path, &model)?,
        None => ScenarioFile::parse("serve", DEFAULT, &model.overrides, &invariant_names())?,
    };
    let plan: Plan = sweep::plan_of(&scenario, args.seed.0);
    let serving = Serving {
        plan,
        seed: args.seed.0,
        defects: model.defects,
        listen: args.listen,
        limits: GatewayLimits::default(),
        control: args.control,
        record: args.record.clone(),
        lasts: args.lasts.map(|lasts| lasts.0),
    };
    let asked = interrupt::watch();
    let ends = || asked.load(Ordering::Relaxed);
    let report = serve(serving, &ends, &mut |line| output::talk(how, line))
        .map_err(|error| Failure::usage(format!("--listen {}: {error}", args.listen)))?;
    told(&report, how)
}

fn play_again(path: &Path, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let refused = |why: String| Failure::usage(format!("--again {}: {why}", path.display()));
    let file = File::open(path).map_err(|error| refused(error.to_string()))?;
    told(&again(BufReader::new(file)).map_err(refused)?, how)
}

fn told(report: &Report, how: &OutputArgs) -> Result<ExitCode, Failure> {
    output::print(&text(report, how))?;
    Ok(if report.anomalies.is_empty() { ExitCode::Fine } else { ExitCode::Safety })
}

fn text(report: &Report, how: &OutputArgs) -> String {
    let Report { anomalies, steps, digest } = report;
    if how.format != Format::Text {
        let found: Vec<_> = anomalies
            .iter()
            .map(|found| json!({ "invariant": found.invariant, "text": found.summary }))
            .collect();
        let verdict = if anomalies.is_empty() { "sound" } else { "safety" };
        let digest = format!("{digest:016x}");
        let value =
            json!({ "verdict": verdict, "anomalies": found, "steps": steps, "digest": digest });
        return value.to_string() + "\n";
    }
    let mut text = String::new();
    for found in anomalies {
        text += &format!("VIOLATION {}\n  {}\n", found.invariant, found.summary);
    }
    if anomalies.is_empty() {
        text += "SOUND\n";
    }
    text + &format!("  {steps} steps, digest {digest:016x}\n")
}
