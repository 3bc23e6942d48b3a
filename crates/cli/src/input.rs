//! What is simulated: scenario files found, read and changed, and the switches that are on.

use std::fs;
use std::path::{Path, PathBuf};

use eosim_runner::{InputError, Override, ScenarioFile, invariants};
use eosim_types::{Capability, Defect, DefectSet};

use crate::args::ModelArgs;
use crate::output;

/// Scenarios below a folder of this name are run first.
const REGRESSIONS: &str = "regressions";

/// What is simulated besides the scenario.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// Values of scenarios that are replaced.
    pub overrides: Vec<Override>,
    /// So many of them, the first, ask for another release.
    pub of_release: usize,
    /// Switches that are on.
    pub defects: DefectSet,
}

impl Model {
    /// What `args` say.
    ///
    /// # Errors
    /// If a replacement cannot be read, or there is no such defect.
    pub fn of(args: &ModelArgs) -> Result<Self, InputError> {
        let kafka = args.kafka.map(|kafka| format!("kafka=\"{}\"", kafka.name()));
        // A release that knows one level alone is asked for with that level.
        let only = args.kafka.filter(|kafka| !kafka.has(Capability::EpochPerTransaction));
        let level = args.transaction_version.or(only.map(|_| 0));
        let level = level.map(|level| format!("transaction_version={level}"));
        let flags = [("--kafka", kafka), ("--transaction-version", level)];
        let flags: Vec<_> =
            flags.iter().filter_map(|(flag, set)| Some(replacement(flag, set.as_ref()?))).collect();
        let sets = args.sets.iter().map(|set| replacement("--set", set));
        let of_release = flags.len();
        let overrides = flags.into_iter().chain(sets);
        let released = if args.as_released { DefectSet::as_released() } else { DefectSet::NONE };
        let released = args.repairs.iter().try_fold(released, |set, name| {
            Ok::<_, InputError>(set.without(upstream_finding("--repair", name)?))
        })?;
        let defects = args.defects.iter().try_fold(released, |set, name| {
            Ok::<_, InputError>(set.with(defect("--defect", name)?))
        })?;
        Ok(Self { overrides: overrides.collect::<Result<_, _>>()?, of_release, defects })
    }
}

/// The replacement `set`, which was given as `argument`.
///
/// # Errors
/// If it is none.
pub fn replacement(argument: &str, set: &str) -> Result<Override, InputError> {
    set.parse::<Override>().map_err(|why| {
        let expected = why.strip_prefix("expected ").unwrap_or(&why).to_string();
        InputError::new(argument, "", quoted(set), expected)
    })
}

/// The defect called `name`, which was given as `argument`.
///
/// # Errors
/// If there is none.
pub fn defect(argument: &str, name: &str) -> Result<Defect, InputError> {
    Defect::from_name(name).ok_or_else(|| {
        let known = Defect::ALL.iter().map(|defect| defect.name());
        let expected = "a defect; eosim list defects names them";
        InputError::new(argument, "", quoted(name), expected).with_nearest(name, known)
    })
}

/// The upstream finding called `name`, which was given as `argument`.
///
/// # Errors
/// If there is none.
pub fn upstream_finding(argument: &str, name: &str) -> Result<Defect, InputError> {
    let known = || DefectSet::as_released().iter();
    known().find(|finding| finding.name() == name).ok_or_else(|| {
        let expected = "an upstream finding; eosim list defects names them";
        let names = known().map(Defect::name);
        InputError::new(argument, "", quoted(name), expected).with_nearest(name, names)
    })
}

/// Names of invariants, as scenarios may expect them.
#[must_use]
pub fn invariant_names() -> Vec<&'static str> {
    invariants().iter().map(|invariant| invariant.name).collect()
}

/// The scenario at `path`.
///
/// # Errors
/// If it cannot be read or is wrong.
pub fn scenario(path: &Path, model: &Model) -> Result<ScenarioFile, InputError> {
    ScenarioFile::read(path, &model.overrides, &invariant_names())
}

/// The scenarios that `paths` name, files or folders, each once: regressions first, then by path. What
/// is found in a folder and cannot be on the release that is asked for is named on standard error and
/// left out.
///
/// # Errors
/// If one cannot be read or is wrong, or two have one name.
pub fn scenarios(paths: &[PathBuf], model: &Model) -> Result<Vec<ScenarioFile>, InputError> {
    let mut read = Vec::new();
    for file in scenario_paths(paths)? {
        match add(&mut read, &file, model) {
            Err(error) if !paths.contains(&file) && is_of_another_release(&file, model) => {
                output::print_note(format!("left out: {error}"));
            }
            added => added?,
        }
    }
    Ok(read)
}

/// Is only the release that `model` asks for at odds with the scenario?
fn is_of_another_release(file: &Path, model: &Model) -> bool {
    let overrides = model.overrides.iter().skip(model.of_release).cloned().collect();
    let own = Model { overrides, of_release: 0, defects: model.defects };
    model.of_release > 0 && scenario(file, &own).is_ok()
}

/// The same to look at, not to run: one that is wrong is named on standard error and left out.
///
/// # Errors
/// If `paths` cannot be read.
pub fn good_scenarios(paths: &[PathBuf]) -> Result<Vec<ScenarioFile>, InputError> {
    let mut read = Vec::new();
    for file in scenario_paths(paths)? {
        if let Err(error) = add(&mut read, &file, &Model::default()) {
            output::print_error(error);
        }
    }
    Ok(read)
}

/// Reads `file`, whose name must be none of those that were `read`.
fn add(read: &mut Vec<ScenarioFile>, file: &Path, model: &Model) -> Result<(), InputError> {
    let scenario = scenario(file, model)?;
    let name = &scenario.head().name;
    if let Some(first) = read.iter().find(|known| known.head().name == *name) {
        let found = format!("{}, the name of {} too", quoted(name), first.file());
        return Err(InputError::new(scenario.file(), "name", found, "a name of its own"));
    }
    read.push(scenario);
    Ok(())
}

fn scenario_paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>, InputError> {
    let mut files = Vec::new();
    for path in paths {
        collect(path, &mut files).map_err(|error| {
            let name = path.display().to_string();
            InputError::new(name, "", error.to_string(), "a scenario file, or a folder of them")
        })?;
    }
    let is_regression = |path: &Path| path.components().any(|part| part.as_os_str() == REGRESSIONS);
    files.sort_by_cached_key(|path| (!is_regression(path), path.clone()));
    let mut known = Vec::new();
    files.retain(|file| {
        let real = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
        let is_new = !known.contains(&real);
        known.push(real);
        is_new
    });
    Ok(files)
}

/// Adds the file at `path`, or all `.json` files below the folder there.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let path = entry.path();
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if is_json {
            files.push(path);
        }
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
