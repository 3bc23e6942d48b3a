//! Many seeds over many scenarios: dealt from one counter to all workers, folded in order, so that
//! the output does not depend on how many workers there are.

mod failure;
mod fold;
mod repair;
mod state;
mod worker;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use eosim_scenario::ScenarioFile;
use eosim_types::{DefectSet, Marks};

use crate::run::RunResult;
pub use failure::{Failure, FailureClass};
pub use fold::{Outcome, ScenarioSummary, SweepSummary, judge};
pub use state::SweepState;
pub(crate) use worker::ScenarioMachine;
pub use worker::plan_of;

/// What to sweep.
pub struct Sweep<'a> {
    /// Scenarios, in the order in which they are reported.
    pub scenarios: &'a [ScenarioFile],
    /// The first seed of each scenario.
    pub first_seed: u64,
    /// How many seeds of each scenario; without end if `None`.
    pub count: Option<u64>,
    /// How long at most, by the clock on the wall.
    pub time: Option<Duration>,
    /// Workers.
    pub jobs: usize,
    /// Which share of the seeds: every `of`-th, beginning with the `part`-th (from 0).
    pub partition: (u64, u64),
    /// Stop after so many failures.
    pub max_fail: Option<u64>,
    /// Failures count for `max_fail` only if one of these invariants is broken, or if nothing moves
    /// and [`STUCK`](eosim_scenario::plan::STUCK) is among them; all count if it is empty.
    pub looks_for: &'static [&'static str],
    /// Switches that are on in every run.
    pub defects: DefectSet,
    /// One run in so many is done twice and compared; 0 for none.
    pub verify_every: u64,
}

/// One seed of one scenario, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeedResult {
    /// Index of the scenario.
    pub scenario: usize,
    /// The seed.
    pub seed: u64,
    /// The result.
    pub run: RunResult,
    /// The digest of a second run, if it differed.
    pub second_digest: Option<u64>,
    /// How often each rule was reached, in the second run, too.
    pub marks: Marks,
    /// It fails, and would not with what later releases changed under these tickets.
    pub repaired_by: Option<String>,
}

/// Hears how a sweep goes. Called from one thread, in the order of the seeds.
pub trait Progress {
    /// Another seed is done.
    fn seed(&mut self, result: &SeedResult);
    /// Nothing new for a moment.
    fn tick(&mut self) {}
    /// Between two seeds: what was found in all those before. Called many times a second.
    fn between(&mut self, _found: &SweepSummary) {}
}

/// Units are dealt in handfuls of this size, so that the counter is not a bottleneck.
const HANDFUL: u64 = 8;

/// How far workers may run ahead of what is folded, in handfuls for each.
const AHEAD: u64 = 64;

impl Sweep<'_> {
    /// The `unit`-th piece of work: every scenario in turn with one seed, then the next seed.
    fn unit(&self, unit: u64) -> (usize, u64) {
        let scenarios = self.scenarios.len() as u64;
        let (part, of) = self.partition;
        let round = unit / scenarios;
        let scenario = usize::try_from(unit % scenarios).expect("an index of the list");
        (scenario, self.first_seed.wrapping_add(round.wrapping_mul(of).wrapping_add(part)))
    }

    /// How many runs there will be at most, if there is an end.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        let (part, of) = self.partition;
        let own = |count: u64| count.saturating_sub(part).div_ceil(of);
        self.count.map(|count| own(count).saturating_mul(self.scenarios.len() as u64))
    }

    fn units(&self) -> u64 {
        self.total().unwrap_or(u64::MAX)
    }

    /// Sweeps until all seeds are done, time is up, too many fail, or `stop` is set. Finished
    /// seeds are never lost: the summary holds exactly those before the first that is missing.
    pub fn run(&self, stop: &AtomicBool, progress: &mut dyn Progress) -> SweepSummary {
        self.go_on(self.nothing_found(), stop, progress)
    }

    /// The same, after the seeds of which `found` tells.
    pub fn go_on(
        &self,
        found: SweepSummary,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> SweepSummary {
        let dealt = AtomicU64::new(found.seeds);
        let folded = AtomicU64::new(found.seeds);
        let halt = AtomicBool::new(false);
        let (sender, receiver) = mpsc::channel();
        let deadline = self.time.map(|time| Instant::now() + time);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                let sender = sender.clone();
                let (dealt, folded, halt) = (&dealt, &folded, &halt);
                scope.spawn(move || self.work(dealt, folded, halt, &sender));
            }
            drop(sender);
            let mut ended = || {
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if late || stop.load(Ordering::Relaxed) {
                    halt.store(true, Ordering::Relaxed);
                }
            };
            let fold = Fold { sweep: self, results: &receiver, folded: &folded, halt: &halt };
            let mut summary = fold.run(found, &mut ended, progress);
            let had_its_time = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let is_asked = stop.load(Ordering::Relaxed) || self.is_failed_enough(&summary);
            summary.is_stopped = !summary.is_complete && (is_asked || !had_its_time);
            summary
        })
    }

    /// Runs one seed of one scenario, whether or not it belongs to the sweep.
    #[must_use]
    pub fn once(&self, scenario: usize, seed: u64) -> SeedResult {
        worker::Worker::new(self).run(scenario, seed)
    }

    /// Nothing found yet.
    #[must_use]
    pub fn nothing_found(&self) -> SweepSummary {
        SweepSummary::new(self.scenarios, self.looks_for)
    }

    fn work(
        &self,
        dealt: &AtomicU64,
        folded: &AtomicU64,
        halt: &AtomicBool,
        results: &mpsc::Sender<Message>,
    ) {
        let _halts = HaltsOnPanic(halt);
        let mut worker = worker::Worker::new(self);
        let total = self.units();
        while !halt.load(Ordering::Relaxed) {
            let first = dealt.fetch_add(HANDFUL, Ordering::Relaxed);
            if first >= total {
                break;
            }
            let ahead = HANDFUL * AHEAD * self.jobs.max(1) as u64;
            let is_ahead = || first > folded.load(Ordering::Relaxed).saturating_add(ahead);
            while is_ahead() && !halt.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            for unit in first..total.min(first.saturating_add(HANDFUL)) {
                if halt.load(Ordering::Relaxed) {
                    break;
                }
                let (scenario, seed) = self.unit(unit);
                let result = worker.run(scenario, seed);
                if results.send((unit, Box::new(result))).is_err() {
                    return;
                }
            }
        }
    }

    fn is_failed_enough(&self, summary: &SweepSummary) -> bool {
        self.max_fail.is_some_and(|max| summary.counted >= max)
    }
}

/// Takes results in the order of the seeds.
struct Fold<'a> {
    sweep: &'a Sweep<'a>,
    results: &'a mpsc::Receiver<Message>,
    folded: &'a AtomicU64,
    halt: &'a AtomicBool,
}

impl Fold<'_> {
    fn run(
        &self,
        mut summary: SweepSummary,
        look: &mut dyn FnMut(),
        progress: &mut dyn Progress,
    ) -> SweepSummary {
        let mut early: BTreeMap<u64, Box<SeedResult>> = BTreeMap::new();
        loop {
            look();
            if self.sweep.is_failed_enough(&summary) {
                self.halt.store(true, Ordering::Relaxed);
            }
            progress.between(&summary);
            match self.results.recv_timeout(Duration::from_millis(100)) {
                Ok((unit, result)) => drop(early.insert(unit, result)),
                Err(mpsc::RecvTimeoutError::Timeout) => progress.tick(),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            while !self.sweep.is_failed_enough(&summary)
                && let Some(result) = early.remove(&summary.seeds)
            {
                progress.seed(&result);
                summary.add(&result);
                self.folded.store(summary.seeds, Ordering::Relaxed);
            }
        }
        summary.is_complete = summary.seeds == self.sweep.units();
        summary
    }
}

/// A worker whose checker panics must not leave the others waiting for its seed.
struct HaltsOnPanic<'a>(&'a AtomicBool);

impl Drop for HaltsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A piece of work by its number, and what came of it.
type Message = (u64, Box<SeedResult>);
