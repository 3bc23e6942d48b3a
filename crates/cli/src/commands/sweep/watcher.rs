//! What happens while a sweep goes on: the progress, and a line for every seed.

use std::sync::atomic::{AtomicBool, Ordering};

use eosim_runner::ScenarioFile;
use eosim_runner::store::{Growing, StoreError};
use eosim_runner::sweep::{Outcome, Progress, SeedResult, Sweep, judge};

use crate::args::{Format, OutputArgs, ProgressMode};
use crate::commands::Failure;
use crate::{output, progress, results};

/// Hears how a sweep goes.
pub(super) struct Watcher<'a> {
    scenarios: &'a [ScenarioFile],
    bar: progress::Progress,
    lines: Growing,
    /// Lines are data for standard output too.
    prints: bool,
    /// Asks the sweep to stop; set here if nothing more can be written.
    stop: &'a AtomicBool,
    failed: Option<Failure>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        sweep: &Sweep<'a>,
        lines: Growing,
        how: &OutputArgs,
        stop: &'a AtomicBool,
    ) -> Self {
        let mode = if how.quiet { ProgressMode::None } else { how.progress };
        Self {
            scenarios: sweep.scenarios,
            bar: progress::Progress::new(mode, sweep.total()),
            lines,
            prints: how.format == Format::Jsonl,
            stop,
            failed: None,
        }
    }

    /// The lines are whole. Did the user ask to stop?
    pub(super) fn finish(self) -> Result<bool, Failure> {
        self.bar.finish();
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        self.lines.finish()?;
        Ok(self.stop.load(Ordering::Relaxed))
    }

    fn keep(&mut self, line: &str) -> Result<(), Failure> {
        self.lines.add(line).map_err(|error: StoreError| Failure::from(error))?;
        if self.prints {
            output::print(line)?;
        }
        Ok(())
    }
}

impl Progress for Watcher<'_> {
    fn seed(&mut self, result: &SeedResult) {
        let head = self.scenarios[result.scenario].head();
        self.bar.advance(judge(&result.run.verdict, &head.expect) == Outcome::Failed);
        if self.failed.is_some() {
            return;
        }
        let line = results::seed_line(&head.name, result.seed, &result.run);
        if let Err(failure) = self.keep(&line) {
            self.failed = Some(failure);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn tick(&mut self) {
        self.bar.tick();
    }
}
