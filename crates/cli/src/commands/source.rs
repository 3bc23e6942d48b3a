//! Runs that a user names: kept ones, or a scenario and a seed; and what is different in one.

use std::path::{Path, PathBuf};

use eosim_runner::exit::ExitCode;
use eosim_runner::recording::{Observed, Recording, record};
use eosim_runner::variant::{Guide, NoSuchPart, Part};
use eosim_runner::{InputError, Override, ScenarioFile};
use eosim_types::Defect;

use super::Failure;
use super::replay::open as open_recording;
use crate::args::SideArgs;
use crate::artefacts;
use crate::input::{self, Model};
use crate::render::DESCRIBE;

/// A run that can be looked at.
pub(super) struct Opened {
    /// What the user calls it.
    pub(super) name: String,
    pub(super) recording: Recording,
    pub(super) observed: Observed,
    /// The file of its plan, if it is a kept run.
    pub(super) plan: Option<PathBuf>,
}

/// What is different in a run from what its file says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Change {
    overrides: Vec<Override>,
    defects: Vec<Defect>,
    kafka: Option<String>,
    without: Vec<String>,
}

impl Change {
    /// What the flags of the side `letter` say.
    pub(super) fn of(letter: &str, args: SideArgs<'_>) -> Result<Self, InputError> {
        let flag = |name: &str| format!("--{letter}-{name}");
        let mut overrides = Vec::new();
        for set in args.sets {
            overrides.push(input::replacement(&flag("set"), set)?);
        }
        if let Some(kafka) = args.kafka {
            let set = format!("kafka=\"{kafka}\"");
            overrides.push(input::replacement(&flag("kafka"), &set)?);
        }
        if let Some(level) = args.transaction_version {
            let set = format!("transaction_version={level}");
            overrides.push(input::replacement(&flag("transaction-version"), &set)?);
        }
        let defects = args.defects.iter().map(|name| input::defect(&flag("defect"), name));
        Ok(Self {
            overrides,
            defects: defects.collect::<Result<_, _>>()?,
            kafka: args.kafka.map(ToString::to_string),
            without: args.without.to_vec(),
        })
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What is different, to be put behind the run's name.
    pub(super) fn words(&self) -> String {
        let sets = self.overrides.iter().map(|set| format!(" set {set}"));
        let defects = self.defects.iter().map(|defect| format!(" defect {}", defect.name()));
        let without = self.without.iter().map(|part| format!(" without {part}"));
        sets.chain(defects).chain(without).collect()
    }
}

/// Opens the run that the user means by `path`: of a scenario file if a seed is given, otherwise a
/// kept one.
pub(super) fn open(
    path: &Path,
    seed: Option<u64>,
    model: &Model,
    change: &Change,
) -> Result<Opened, Failure> {
    let name = path.display().to_string();
    let changed = changed(model, change);
    match seed {
        Some(seed) => {
            let scenario = input::scenario(path, &changed)?;
            let (recording, observed) = record(&scenario, seed, changed.defects, DESCRIBE);
            let opened = Opened { name, recording, observed, plan: None };
            if change.without.is_empty() { Ok(opened) } else { vary(opened, change, None) }
        }
        None => {
            let file = artefacts::find_choices(path)?;
            refuse_scenario(&file)?;
            let recording = open_recording(&file, false)?;
            let replayed = recording.replay(DESCRIBE);
            if let Some(left) = replayed.left {
                let message = format!("{}: not as recorded: {left}", file.display());
                return Err(Failure { exit: ExitCode::NotReplayable, message });
            }
            let plan = Some(file.with_file_name(artefacts::PLAN));
            let opened = Opened { name, recording, observed: replayed.observed, plan };
            if changed == Model::default() && change.without.is_empty() {
                return Ok(opened);
            }
            vary(opened, change, Some(&changed))
        }
    }
}

/// A scenario is no run: it has one for each seed.
fn refuse_scenario(file: &Path) -> Result<(), InputError> {
    if input::scenario(file, &Model::default()).is_err() {
        return Ok(());
    }
    let expected = "a kept run, or --seed N beside it";
    Err(InputError::new(file.display().to_string(), "", "a scenario", expected))
}

/// What is simulated on one side.
fn changed(model: &Model, change: &Change) -> Model {
    let mut changed = model.clone();
    changed.overrides.extend(change.overrides.iter().cloned());
    changed.defects = change.defects.iter().fold(changed.defects, |set, one| set.with(*one));
    changed
}

/// The run with what is different, otherwise as close to it as it can be.
fn vary(opened: Opened, change: &Change, model: Option<&Model>) -> Result<Opened, Failure> {
    let Opened { name, mut recording, .. } = opened;
    let guide = Guide::of(&recording);
    let mut parts = Vec::new();
    for part in &change.without {
        parts.push(Part::named(part, &recording, &guide).map_err(|none| unknown(part, &none))?);
    }
    if let Some(model) = model {
        apply(&mut recording, model, &name)?;
    }
    let variant = Part::taken_away(&parts, &recording, &guide);
    let (recording, observed) = guide.record(&variant, DESCRIBE).ok_or_else(|| {
        Failure::usage(format!("{name}: what is left of the run is nothing that the checker knows"))
    })?;
    Ok(Opened { name, recording, observed, plan: None })
}

/// The run has no part called `name`.
fn unknown(name: &str, none: &NoSuchPart) -> InputError {
    let expected = match none.known.as_slice() {
        [] => "a part of the run; it has none".to_string(),
        known => format!("a part of the run: {}", known.join(", ")),
    };
    let known = none.known.iter().map(String::as_str);
    let error = InputError::new("--a-without, --b-without", "", format!("\"{name}\""), expected);
    error.with_nearest(name, known)
}

/// Sets values of a recorded plan, and switches.
fn apply(recording: &mut Recording, model: &Model, name: &str) -> Result<(), InputError> {
    recording.defects = recording.defects.union(model.defects);
    if model.overrides.is_empty() {
        return Ok(());
    }
    let text = recording.plan.to_json();
    let file = ScenarioFile::parse(name, &text, &model.overrides, &input::invariant_names())?;
    if !file.is_fixed() {
        let expected = "a value; a recorded run draws nothing from its seed";
        return Err(InputError::new(name, "--set", "a range", expected));
    }
    recording.plan = file.head().clone();
    Ok(())
}
