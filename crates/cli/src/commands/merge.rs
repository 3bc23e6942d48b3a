//! `eosim merge`: sweeps over shares of the seeds become one, in a folder like that of any sweep.

mod failures;
mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::merge::{Twice, Unmerged, Whole, Woven, weave};
use eosim_runner::store::{
    Checkpoint, Extent, MANIFEST, RunFolder, SUMMARY, SUMMARY_LINES, StoreError, own_part_of,
};
use eosim_runner::sweep::SweepSummary;
use serde_json::{Value, json};

use super::Failure;
use super::sweep::survived;
use crate::args::{Format, MergeArgs, OutputArgs, Partition};
use crate::coverage::Coverage;
use crate::{artefacts, output, results};

pub(super) use failures::text as failures_text;
use parts::Part;

pub(super) fn run(args: &MergeArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let Merged { summary, woven, has_end } = merged(&args.sweeps, &args.out)?;
    tell(&args.out, &summary, &woven, how)?;
    let is_missing = woven.missing > 0 && has_end;
    let missing = if is_missing { ExitCode::Inconclusive } else { ExitCode::Fine };
    Ok(ExitCode::worst([summary.exit_code(), missing]))
}

/// Sweeps that were merged.
pub struct Merged {
    /// What they found together.
    pub summary: SweepSummary,
    /// What came of the weaving of their lines.
    pub woven: Woven,
    /// All of them have a last seed.
    pub has_end: bool,
}

/// Merges what `sweeps` mean into the folder `out`, which must not be there yet.
///
/// # Errors
/// If one cannot be read, they do not belong together, or the whole cannot be written.
pub fn merged(sweeps: &[PathBuf], out: &Path) -> Result<Merged, Failure> {
    refuse_used(out)?;
    let parts = parts::read(sweeps)?;
    // A folder of its own: what an earlier one has left must not get into the whole.
    let unfinished = own_part_of(out);
    let folder = RunFolder::new_at(&unfinished).map_err(|error| Failure::unwritable(&error))?;
    let merged = merge(&parts, &folder).and_then(|merged| {
        let moved = fs::rename(&unfinished, out);
        moved.map(|()| merged).map_err(|error| Failure::usage(format!("--out: {error}")))
    });
    if merged.is_err() {
        // What is left of it is of no use; the error is what counts.
        let _ = fs::remove_dir_all(&unfinished);
    }
    let (summary, woven) = merged?;
    let has_end = parts.iter().all(|part| part.settings.count.is_some());
    Ok(Merged { summary, woven, has_end })
}

/// The whole must not be mixed with what is there.
fn refuse_used(out: &Path) -> Result<(), InputError> {
    let mut entries = fs::read_dir(out).into_iter().flatten();
    if entries.next().is_none() && !out.is_file() {
        return Ok(());
    }
    let found = format!("{}, which is not empty", out.display());
    Err(InputError::new("--out", "", found, "a folder that is not there yet"))
}

/// Writes the whole to `folder`.
fn merge(parts: &[Part], folder: &RunFolder) -> Result<(SweepSummary, Woven), Failure> {
    let first = &parts[0].settings;
    let names: Vec<String> = first.scenarios.iter().map(|[name, ..]| name.clone()).collect();
    let first_seed = parts.iter().map(|part| part.settings.first_seed).min().unwrap_or(0);
    let ends = parts.iter().map(|part| part.settings.end());
    let end = ends.collect::<Option<Vec<u64>>>().and_then(|ends| ends.into_iter().max());
    let whole = Whole { scenarios: &names, first_seed, end };
    let (woven, lines) = lines(parts, whole, folder)?;
    let mut own = parts.iter().filter(|part| !part.is_repeat);
    let mut summary = own.next().expect("one is no repeat").summary()?;
    for part in own {
        summary.join(&part.summary()?);
    }
    summary.is_complete = woven.missing == 0 && end.is_some();
    let checkpoint = Checkpoint {
        interval_ms: 0,
        is_complete: summary.is_complete,
        lines,
        state: summary.state(),
    };
    checkpoint.write(folder)?;
    summary.is_stopped = woven.missing > 0 && end.is_some();
    let sought = parts[0].manifest["sought"].as_array().into_iter().flatten();
    summary.sought = sought.filter_map(Value::as_str).map(String::from).collect();
    summary.conclude();
    folder.write(MANIFEST, &artefacts::pretty(&manifest(parts, whole)))?;
    artefacts::keep_coverage(folder, &Coverage::of_sweep(&summary))?;
    failures::copy(parts, &summary, folder)?;
    folder.write(SUMMARY, &results::summary(&summary).json())?;
    Ok((summary, woven))
}

/// Weaves the lines of all.
fn lines(parts: &[Part], whole: Whole<'_>, folder: &RunFolder) -> Result<(Woven, Extent), Failure> {
    let mut sources = parts.iter().map(Part::source).collect::<Result<Vec<_>, _>>()?;
    let mut lines = folder.begin(SUMMARY_LINES)?;
    let mut unwritten: Option<StoreError> = None;
    let woven = weave(&mut sources, whole, &mut |line| {
        lines.add(line);
        if lines.held_back() > 1 << 20
            && let Err(error) = lines.flush()
        {
            unwritten.get_or_insert(error);
        }
    });
    let woven = woven.map_err(|why| match why {
        Unmerged::Input(error) => Failure::usage(error),
        Unmerged::Conflict(twice) => conflict(&twice),
    })?;
    if let Some((twice, count)) = &woven.overlap {
        return Err(overlap(twice, *count));
    }
    if let Some(error) = unwritten {
        return Err(error.into());
    }
    let extent = lines.flush()?;
    lines.finish()?;
    Ok((woven, extent))
}

fn conflict(twice: &Twice) -> Failure {
    let Twice { scenario, seed, sweeps: [one, other], digests: [first, second] } = twice;
    let message = format!(
        "NONDETERMINISM   scenario={scenario} seed={seed}: found digest {second} in {other}, \
         expected {first}, as in {one}"
    );
    Failure { exit: ExitCode::Nondeterminism, message }
}

fn overlap(twice: &Twice, count: u64) -> Failure {
    let Twice { scenario, seed, sweeps: [one, other], .. } = twice;
    let found = format!("seed {seed} of {scenario}, which {one} has too, and {count} such runs");
    InputError::new(other.clone(), SUMMARY_LINES, found, "each seed in one sweep").into()
}

/// What was merged: as if one sweep had run it all.
fn manifest(parts: &[Part], whole: Whole<'_>) -> Value {
    let mut manifest = parts[0].manifest.clone();
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let arguments = arguments.iter().map(|word| word.to_string_lossy());
    manifest["arguments"] = arguments.collect();
    manifest["partition"] = json!(Partition::WHOLE.to_string());
    let count = whole.end.map(|end| end - whole.first_seed);
    manifest["seeds"] = json!({"first": whole.first_seed, "count": count});
    manifest["profile"] = Value::Null;
    let name = |part: &Part| part.path.file_name().map(|name| name.to_string_lossy().into_owned());
    manifest["merged"] = parts.iter().filter_map(name).collect();
    manifest
}

/// Prints what came of it.
fn tell(
    out: &Path,
    summary: &SweepSummary,
    woven: &Woven,
    how: &OutputArgs,
) -> Result<(), Failure> {
    if woven.missing > 0 {
        let more = if woven.gaps.len() < 5 { "" } else { ", …" };
        let gaps = woven.gaps.join(", ");
        output::print_error(format!("{} runs are missing: {gaps}{more}", woven.missing));
    }
    let table = results::summary(summary);
    match how.format {
        Format::Text => {
            let (seeds, failed) = (summary.seeds, summary.failed);
            let incomplete = if woven.missing == 0 { "" } else { " (some are missing)" };
            let others = table.others();
            let (place, failures) = (out.display(), failures::text(out, summary));
            output::print(&format!(
                "{failures}{}{}{seeds} seeds{incomplete}, {failed} failed{others}; artefacts  {place}\n",
                table.text(),
                survived(summary)
            ))?;
        }
        Format::Json => output::print(&table.json())?,
        Format::Jsonl => output::print(&fs::read_to_string(out.join(SUMMARY_LINES))?)?,
    }
    Ok(())
}
