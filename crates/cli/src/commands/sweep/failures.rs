//! The failing seeds of a sweep, each recorded again so that it can be replayed and looked at.

use std::fmt::Write;

use eosim_report::shell::quoted;
use eosim_report::{RunName, footer_with};
use eosim_runner::recording::record;
use eosim_runner::store::RunFolder;
use eosim_runner::sweep::{Failure as Failing, Sweep, SweepSummary};

use crate::commands::Failure;
use crate::render::DESCRIBE;
use crate::{artefacts, results};

/// So many failing seeds are recorded again.
pub(in crate::commands) const KEPT: usize = 32;

/// So many of them are shown.
const SHOWN: usize = 5;

/// So many of them are explained: the first of each kind.
const EXPLAINED: usize = 3;

/// Keeps the artefacts of failing seeds and tells of the first.
pub(super) fn keep(
    folder: &RunFolder,
    sweep: &Sweep<'_>,
    summary: &SweepSummary,
) -> Result<String, Failure> {
    let mut text = String::new();
    let mut places: Vec<String> = Vec::new();
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for failing in summary.failures.iter().take(KEPT) {
        let place = artefacts::failure_place(failing.seed, &failing.scenario_name, &places);
        let kind = (failing.what.as_str(), failing.fingerprint);
        let explains = kinds.len() < EXPLAINED && !kinds.contains(&kind);
        if explains {
            kinds.push(kind);
        }
        let footer = keep_one(folder, &place, sweep, failing, explains)?;
        if places.len() < SHOWN {
            text += &footer;
        }
        places.push(place);
    }
    let kept = u64::try_from(places.len()).unwrap_or(u64::MAX);
    if summary.failed > kept.min(SHOWN as u64) {
        let path = folder.path().display();
        let failed = summary.failed;
        let _ = writeln!(text, "{failed} seeds failed; {kept} are kept in {path}/failures");
    }
    Ok(text + &nondeterministic(sweep, summary))
}

/// Seeds of which two runs differed.
pub(super) fn nondeterministic(sweep: &Sweep<'_>, summary: &SweepSummary) -> String {
    let mut text = String::new();
    for (scenario, seed) in &summary.nondeterministic {
        let file = &sweep.scenarios[*scenario];
        let (name, path) = (&file.head().name, quoted(file.file()));
        let _ = writeln!(text, "NONDETERMINISM   scenario={name} seed={seed}");
        let _ = writeln!(text, "  reproduce: eosim verify {path} --seed {seed}");
    }
    text
}

/// Keeps one failing seed, explains it if wanted, and gives its footer.
fn keep_one(
    folder: &RunFolder,
    at: &str,
    sweep: &Sweep<'_>,
    failing: &Failing,
    explains: bool,
) -> Result<String, Failure> {
    let scenario = &sweep.scenarios[failing.scenario];
    let (recording, observed) = record(scenario, failing.seed, sweep.defects, DESCRIBE);
    artefacts::keep(folder, at, &recording, &observed)?;
    artefacts::keep_timeline(folder, at, &recording, &observed)?;
    let needed =
        if explains { artefacts::explain(folder, at, &recording, &observed)? } else { None };
    let place = folder.path().join(at).display().to_string();
    let name = RunName {
        scenario: &failing.scenario_name,
        seed: failing.seed,
        steps: failing.steps,
        ended: observed.result.ended_at,
        folder: Some(&place),
        is_explained: needed.is_some(),
    };
    let notes: Vec<String> = needed.into_iter().collect();
    let mut text = footer_with(&observed.result.verdict, name, &notes);
    if recording.digest != failing.digest {
        let (then, now) = (results::digest(failing.digest), results::digest(recording.digest));
        let _ = writeln!(text, "  NOT THE SAME when it was recorded: digests {then} and {now}");
    }
    Ok(text)
}
