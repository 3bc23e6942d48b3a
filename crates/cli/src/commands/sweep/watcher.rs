//! What happens while a sweep goes on: the progress, a line for every seed, and every now and then
//! a note of how far it is, from which it can go on if it is killed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use eosim_runner::ScenarioFile;
use eosim_runner::exit::ExitCode;
use eosim_runner::store::{Checkpoint, Claim, INTERVAL_MAX, Lines, RunFolder};
use eosim_runner::sweep::{Outcome, Progress, SeedResult, Sweep, SweepSummary, judge};

use super::resume::Begun;
use crate::args::{Format, OutputArgs, ProgressMode};
use crate::commands::Failure;
use crate::{output, progress, results};

/// So many bytes of lines are held back at most.
const HELD_BACK: usize = 16 << 20;

/// Hears how a sweep goes.
pub(super) struct Watcher<'a> {
    scenarios: &'a [ScenarioFile],
    bar: progress::Progress,
    folder: RunFolder,
    lines: Lines,
    claim: Claim,
    /// Lines are data for standard output too.
    prints: bool,
    interval: Duration,
    /// When it was noted last how far the sweep is.
    noted: Option<Instant>,
    /// Asks the sweep to stop; set here if nothing more can be written.
    stop: &'a AtomicBool,
    failed: Option<Failure>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        sweep: &Sweep<'a>,
        begun: Begun,
        interval: Duration,
        how: &OutputArgs,
        stop: &'a AtomicBool,
    ) -> (Self, SweepSummary) {
        let mode = if how.quiet { ProgressMode::None } else { how.progress };
        let Begun { folder, lines, found, claim } = begun;
        let mut bar = progress::Progress::new(mode, sweep.total());
        bar.begin_at(found.seeds, found.failed);
        let watcher = Self {
            scenarios: sweep.scenarios,
            bar,
            folder,
            lines,
            claim,
            prints: how.format == Format::Jsonl,
            interval: interval.min(INTERVAL_MAX),
            noted: None,
            stop,
            failed: None,
        };
        (watcher, found)
    }

    /// The lines are whole, and so is what was `found`. Did the user ask to stop?
    pub(super) fn finish(mut self, found: &SweepSummary) -> Result<(bool, Claim), Failure> {
        self.note(found);
        self.bar.finish();
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        self.lines.finish()?;
        Ok((self.stop.load(Ordering::Relaxed), self.claim))
    }

    /// Notes how far the sweep is, unless something has gone wrong.
    fn note(&mut self, found: &SweepSummary) {
        if self.failed.is_some() {
            return;
        }
        if let Err(failure) = self.try_note(found) {
            self.fail(failure);
        }
        self.noted = Some(Instant::now());
    }

    fn try_note(&mut self, found: &SweepSummary) -> Result<(), Failure> {
        let place = self.folder.path().display();
        if !self.folder.path().is_dir() {
            let message = format!("{place}: the folder is gone; this sweep ends");
            return Err(Failure { exit: ExitCode::Internal, message });
        }
        if !self.claim.holds() {
            return Err(Failure::usage(format!(
                "{place}: another process goes on with this sweep; this one ends"
            )));
        }
        let checkpoint = Checkpoint {
            interval_ms: u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX),
            is_complete: found.is_complete,
            lines: self.lines.flush()?,
            state: found.state(),
        };
        Ok(checkpoint.write(&self.folder)?)
    }

    fn fail(&mut self, failure: Failure) {
        self.failed = Some(failure);
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Progress for Watcher<'_> {
    fn seed(&mut self, result: &SeedResult) {
        let head = self.scenarios[result.scenario].head();
        let fails = judge(&result.run.verdict, &head.expect) == Outcome::Failed;
        self.bar.advance(fails && result.repaired_by.is_none());
        if self.failed.is_some() {
            return;
        }
        let line =
            results::seed_line(&head.name, result.seed, &result.run, result.repaired_by.as_deref());
        self.lines.add(&line);
        if self.prints
            && let Err(error) = output::print(&line)
        {
            self.fail(error.into());
        }
    }

    fn tick(&mut self) {
        self.bar.tick();
    }

    fn between(&mut self, found: &SweepSummary) {
        let is_due = self.noted.is_none_or(|noted| noted.elapsed() >= self.interval);
        if is_due || self.lines.held_back() > HELD_BACK {
            self.note(found);
        }
    }
}
