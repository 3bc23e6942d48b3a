//! `eosim` as a library: sweeps as tests of a Rust project, with workloads, faults and invariants of its
//! own.
//!
//! A scenario, many seeds, and nothing may break:
//!
//! ```
//! use eosim::testing::Sweep;
//!
//! # std::env::set_current_dir("../..").unwrap();
//! Sweep::new("scenarios/examples/example-2-window-of-five.json").seeds(0..20).run().assert_sound();
//! ```
//!
//! A workload is what a producer does at a seed. Its steps are those of a script in a scenario:
//!
//! ```
//! use eosim::testing::{Step, Sweep, send};
//!
//! let scenario = r#"{
//!   "format": 1, "name": "orders", "about": "One writer, one reader.",
//!   "cluster": {"brokers": 1, "topics": {"orders": {"partitions": 1, "replication_factor": 1}}},
//!   "producers": [{"name": "writer", "transactional_id": "orders", "workload": {"script": []}}],
//!   "consumers": [{"name": "reader", "isolation_level": "read_committed", "partitions": ["orders-0"]}]
//! }"#;
//! let orders = |seed: u64| {
//!     let mut steps = vec![Step::Init];
//!     for order in 0..=seed % 3 {
//!         steps.extend([Step::Begin, send("orders-0", &format!("order {order}"))]);
//!         steps.push(if order == 1 { Step::Abort } else { Step::Commit });
//!     }
//!     steps
//! };
//! let outcome = Sweep::of(scenario)
//!     .workload("writer", orders)
//!     .invariant("no-aborted-order", |run| match run.reads("reader").iter().any(|read| read.value == "order 1") {
//!         true => Err("the reader was given order 1, which is always aborted".to_string()),
//!         false => Ok(()),
//!     })
//!     .seeds(0..30)
//!     .run();
//! outcome.assert_sound();
//! assert_eq!(outcome.runs, 30);
//! ```
//!
//! A fault is a rule of `aimed` (`eosim schema` describes them), made for each seed. With a historical bug
//! put back, something breaks, and the test says so:
//!
//! ```
//! use eosim::testing::{Sweep, json};
//!
//! # std::env::set_current_dir("../..").unwrap();
//! let outcome = Sweep::new("scenarios/examples/example-1-commit-abort-commit.json")
//!     .fault(|seed| json!({"when": {"answered": "Produce", "nth": seed % 3 + 1}, "do": "reset"}))
//!     .defect("leader.index.drop_abort_entry")
//!     .seeds(0..5)
//!     .run();
//! outcome.assert_breaks("aborted-read");
//! ```

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use eosim_report::{RunName, footer_with};
use eosim_runner::history::Entry;
use eosim_runner::plan::Send;
use eosim_runner::recording::{Observed, Recording, record, word};
use eosim_runner::store::RunFolder;
use eosim_runner::sweep::{Outcome as Judged, judge};
use eosim_runner::{InputError, Override, ScenarioFile, Verdict, json as files};
use eosim_types::DefectSet;
use eosim_types::observation::{Observed as Saw, SendOutcome};
use serde_json::Value;

pub use eosim_runner::plan::Step;
pub use serde_json::json;

use crate::render::DESCRIBE;
use crate::{artefacts, input};

/// So many findings are told when a test fails.
const TOLD: usize = 3;

type Workload = Box<dyn Fn(u64) -> Vec<Step> + Sync>;
type Fault = Box<dyn Fn(u64) -> Value + Sync>;
type Invariant = Box<dyn Fn(&Run<'_>) -> Result<(), String> + Sync>;

/// Many seeds of one scenario.
pub struct Sweep {
    name: String,
    text: Result<String, InputError>,
    seeds: Range<u64>,
    jobs: usize,
    sets: Vec<String>,
    defects: Vec<String>,
    workloads: Vec<(String, Workload)>,
    faults: Vec<Fault>,
    invariants: Vec<(String, Invariant)>,
    kept_in: Option<PathBuf>,
}

/// `send()` of one record, as a step of a workload.
#[must_use]
pub fn send(partition: &str, value: &str) -> Step {
    let (partition, value) = (partition.to_string(), value.to_string());
    Step::Send(Send { partition, value, value_bytes: None })
}

impl Sweep {
    /// Of the scenario in the file `path`.
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self::with(path.display().to_string(), files::read_file(path))
    }

    /// Of the scenario whose JSON is `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self::with("scenario".to_string(), Ok(text.to_string()))
    }

    fn with(name: String, text: Result<String, InputError>) -> Self {
        Self {
            name,
            text,
            seeds: 0..100,
            jobs: available_parallelism().map_or(1, usize::from),
            sets: Vec::new(),
            defects: Vec::new(),
            workloads: Vec::new(),
            faults: Vec::new(),
            invariants: Vec::new(),
            kept_in: None,
        }
    }

    /// These seeds; 0 to 99 if not said.
    #[must_use]
    pub fn seeds(mut self, seeds: Range<u64>) -> Self {
        self.seeds = seeds;
        self
    }

    /// So many workers, on which nothing depends; as many as there are processors if not said.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Replaces a value of the scenario, as `--set` does.
    #[must_use]
    pub fn set(mut self, set: &str) -> Self {
        self.sets.push(set.to_string());
        self
    }

    /// Puts a historical bug back, as `--defect` does.
    #[must_use]
    pub fn defect(mut self, name: &str) -> Self {
        self.defects.push(name.to_string());
        self
    }

    /// What the producer called `producer` does at each seed, in place of what the scenario says.
    #[must_use]
    pub fn workload(
        mut self,
        producer: &str,
        steps: impl Fn(u64) -> Vec<Step> + Sync + 'static,
    ) -> Self {
        self.workloads.push((producer.to_string(), Box::new(steps)));
        self
    }

    /// A rule of `aimed` for each seed, besides those of the scenario.
    #[must_use]
    pub fn fault(mut self, rule: impl Fn(u64) -> Value + Sync + 'static) -> Self {
        self.faults.push(Box::new(rule));
        self
    }

    /// What must hold of every run besides the promises of Kafka; an error says what does not.
    #[must_use]
    pub fn invariant(
        mut self,
        name: &str,
        holds: impl Fn(&Run<'_>) -> Result<(), String> + Sync + 'static,
    ) -> Self {
        self.invariants.push((name.to_string(), Box::new(holds)));
        self
    }

    /// Keeps each run that breaks something in a folder below `folder`, to be replayed and explained.
    #[must_use]
    pub fn keep_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.kept_in = Some(folder.into());
        self
    }

    /// Runs every seed.
    ///
    /// # Panics
    /// If the scenario is wrong, or made wrong by a workload or fault: what, and where.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let (next, found) = (AtomicU64::new(self.seeds.start), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= self.seeds.end {
                    return Ok::<_, InputError>(());
                }
                let one = self.one(seed)?;
                found.lock().expect("no worker panics with it").push(one);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs).map(|_| scope.spawn(work)).collect();
            let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
            for ended in ended.collect::<Vec<_>>() {
                match ended {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => panic!("{error}"),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        let mut found = found.into_inner().expect("no worker has panicked");
        found.sort_by_key(|one: &Found| one.seed);
        Outcome::of(self.name.clone(), found)
    }

    /// The scenario of `seed`.
    fn scenario(&self, seed: u64) -> Result<ScenarioFile, InputError> {
        let text = self.text.as_ref().map_err(Clone::clone)?;
        let mut value = files::parse(&self.name, text)?;
        for (producer, steps) in &self.workloads {
            let producers = value["producers"].as_array_mut().into_iter().flatten();
            let mut named = producers.filter(|one| one["name"] == producer.as_str());
            let own = named.next().ok_or_else(|| {
                let found = format!("no producer \"{producer}\"");
                InputError::new(&self.name, "producers", found, "the one that has a workload")
            })?;
            own["workload"] = json!({"script": steps(seed)});
        }
        let rules = self.faults.iter().map(|rule| rule(seed));
        let rules: Vec<Value> =
            value["aimed"].as_array().cloned().into_iter().flatten().chain(rules).collect();
        if let Some(scenario) = value.as_object_mut().filter(|_| !rules.is_empty()) {
            scenario.insert("aimed".to_string(), Value::from(rules));
        } else if let Some(scenario) = value.as_object_mut() {
            scenario.retain(|key, value| key != "aimed" || !value.is_null());
        }
        let sets = self.sets.iter().map(|set| input::replacement("set", set));
        let sets: Vec<Override> = sets.collect::<Result<_, _>>()?;
        ScenarioFile::parse(&self.name, &value.to_string(), &sets, &input::invariant_names())
    }

    fn one(&self, seed: u64) -> Result<Found, InputError> {
        let scenario = self.scenario(seed)?;
        let defects = self.defects.iter().try_fold(DefectSet::NONE, |set, name| {
            Ok::<_, InputError>(set.with(input::defect("defect", name)?))
        })?;
        let (recording, observed) = record(&scenario, seed, defects, DESCRIBE);
        let run = Run { seed, observed: &observed };
        let mut broken = self.promises(&recording, &observed);
        let own = self.invariants.iter().filter_map(|(name, holds)| {
            let told = holds(&run).err()?;
            let told = format!("VIOLATION {name}   scenario={} seed={seed}\n  {told}\n", self.name);
            Some(Broken { seed, what: name.clone(), told })
        });
        broken.extend(own);
        if let Some(one) = broken.last_mut() {
            one.told += &self.keep(seed, &recording, &observed)?;
        }
        Ok(Found { seed, broken, missing: observed.result.missing.clone() })
    }

    /// What is broken of the promises of Kafka.
    fn promises(&self, recording: &Recording, observed: &Observed) -> Vec<Broken> {
        let verdict = &observed.result.verdict;
        if judge(verdict, &recording.plan.expect) != Judged::Failed {
            return Vec::new();
        }
        let name = RunName {
            scenario: &self.name,
            seed: recording.seed,
            steps: recording.steps,
            ended: observed.result.ended_at,
            folder: None,
            is_explained: false,
        };
        let told = footer_with(verdict, name, &[]);
        let whats: Vec<&str> = match verdict {
            Verdict::Safety(anomalies) => anomalies.iter().map(|one| one.invariant).collect(),
            verdict => vec![word(verdict)],
        };
        let broken = |what: &str| Broken {
            seed: recording.seed,
            what: what.to_string(),
            told: told.clone(),
        };
        let mut all: Vec<Broken> = whats.into_iter().map(broken).collect();
        all.dedup_by(|one, other| one.what == other.what);
        all
    }

    /// Keeps the run if that is wanted, and says where.
    fn keep(
        &self,
        seed: u64,
        recording: &Recording,
        observed: &Observed,
    ) -> Result<String, InputError> {
        let Some(folder) = &self.kept_in else { return Ok(String::new()) };
        let place = folder.join(format!("{}-{seed}", recording.plan.name));
        let kept =
            RunFolder::at(&place).and_then(|at| artefacts::keep(&at, "", recording, observed));
        kept.map_err(|error| {
            InputError::new("keep_in", "", error.to_string(), "a folder that can be written")
        })?;
        Ok(format!(
            "  kept: eosim explain {}\n",
            eosim_report::shell::quoted(&place.display().to_string())
        ))
    }
}

/// What came of one seed.
struct Found {
    seed: u64,
    broken: Vec<Broken>,
    missing: Vec<String>,
}

/// Something that did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// At which seed.
    pub seed: u64,
    /// The invariant, or `stuck` or `inconclusive`.
    pub what: String,
    /// The same for people.
    pub told: String,
}

/// What came of all seeds; depends on nothing but scenario, seeds and build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What the scenario is called.
    pub scenario: String,
    /// How many runs there were.
    pub runs: u64,
    /// What was broken, in the order of the seeds.
    pub broken: Vec<Broken>,
    /// What the scenario requires, and happened in no run.
    pub never: Vec<String>,
}

impl Outcome {
    fn of(scenario: String, found: Vec<Found>) -> Self {
        let first = found.first().map(|one| one.missing.clone()).unwrap_or_default();
        let is_never = |what: &String| found.iter().all(|one| one.missing.contains(what));
        let never = first.into_iter().filter(is_never).collect();
        let runs = found.len() as u64;
        Self {
            scenario,
            runs,
            broken: found.into_iter().flat_map(|one| one.broken).collect(),
            never,
        }
    }

    /// There were runs, nothing is broken in any, and what the scenario requires has happened.
    ///
    /// # Panics
    /// If not.
    pub fn assert_sound(&self) {
        let Self { scenario, runs, broken, never } = self;
        assert!(*runs > 0, "{scenario}: no seed was run");
        assert!(
            broken.is_empty(),
            "{} findings in {runs} runs of {scenario}:\n{}",
            broken.len(),
            self.told()
        );
        assert!(
            never.is_empty(),
            "{scenario}: required, but it never happened: {}",
            never.join(", ")
        );
    }

    /// The invariant `what` is broken at a seed.
    ///
    /// # Panics
    /// If not.
    pub fn assert_breaks(&self, what: &str) {
        let Self { scenario, runs, broken, .. } = self;
        let is_broken = broken.iter().any(|one| one.what == what);
        assert!(is_broken, "{scenario}: {what} holds in all of {runs} runs\n{}", self.told());
    }

    fn told(&self) -> String {
        let mut told: Vec<&str> = self.broken.iter().map(|one| one.told.as_str()).collect();
        told.dedup();
        told.into_iter().take(TOLD).collect()
    }
}

/// One run, for an invariant.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Its seed.
    pub seed: u64,
    /// Everything about it: what applications did and learned, and what brokers hold in the end.
    pub observed: &'a Observed,
}

/// A record that somebody was given, or that was acknowledged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Record {
    /// Where, as `topic-number`.
    pub partition: String,
    /// Its offset; nothing if the acknowledgement did not say.
    pub offset: Option<i64>,
    /// What it says.
    pub value: String,
}

impl Run<'_> {
    /// What the client called `reader` was given, in order.
    #[must_use]
    pub fn reads(&self, reader: &str) -> Vec<Record> {
        let names = &self.observed.names;
        let given = self.seen(reader).flat_map(|what| match what {
            Saw::Polled { partition, records, .. } => records
                .iter()
                .map(|(offset, value)| Record {
                    partition: names.partition(*partition),
                    offset: Some(*offset),
                    value: names.value_as_is(*value),
                })
                .collect(),
            _ => Vec::new(),
        });
        given.collect()
    }

    /// What was acknowledged to the client called `writer`, in order.
    #[must_use]
    pub fn acknowledged(&self, writer: &str) -> Vec<Record> {
        let names = &self.observed.names;
        let told = self.seen(writer).filter_map(|what| match what {
            Saw::SendAnswered {
                value,
                partition,
                outcome: SendOutcome::Acknowledged { offset },
            } => {
                let (partition, value) = (names.partition(*partition), names.value_as_is(*value));
                Some(Record { partition, offset: *offset, value })
            }
            _ => None,
        });
        told.collect()
    }

    /// What the client called `name` did and learned, in order.
    fn seen(&self, name: &str) -> impl Iterator<Item = &Saw> {
        self.observed.history.entries.iter().filter_map(move |entry| match entry {
            Entry::Observed(seen) if self.observed.actor(seen.actor) == name => Some(&seen.what),
            _ => None,
        })
    }
}
