//! The scenarios of the repository are good, and each is named after its file.

use std::fs;
use std::path::{Path, PathBuf};

use eosim_scenario::plan::Requirement;
use eosim_scenario::{Plan, ScenarioFile};

fn library() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut folders = vec![root];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn invariants() -> Vec<&'static str> {
    eosim_checker::invariants().iter().map(|invariant| invariant.name).collect()
}

fn read(path: &Path) -> ScenarioFile {
    match ScenarioFile::read(path, &[], &invariants()) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_scenario_is_good_and_named_after_its_file() {
    let files = library();
    assert!(files.len() >= 9, "{files:?}");
    for path in files {
        let scenario = read(&path);
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        assert_eq!(Some(scenario.head().name.as_str()), stem);
    }
}

/// What a reader is told to paste is a scenario, and draws.
#[test]
fn the_example_of_the_readme_is_good() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/README.md");
    let text = fs::read_to_string(path).expect("a file of the repository");
    let example = text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    let example = example.expect("an example between ```json and ```");
    match ScenarioFile::parse("README.md", example, &[], &invariants()) {
        Ok(scenario) => assert!(!scenario.is_fixed()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_plan_is_a_scenario_without_draws() {
    for path in library() {
        let scenario = read(&path);
        let mut state = 1u32;
        let mut choose = |_: &str, n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % n
        };
        for _ in 0..20 {
            let plan = scenario.plan(&mut choose).expect("values that go together");
            let again = ScenarioFile::parse("plan.json", &plan.to_json(), &[], &invariants());
            let again = again.unwrap_or_else(|error| panic!("{error}"));
            assert!(again.is_fixed());
            assert_eq!(again.head(), &plan);
        }
    }
}

#[test]
fn zero_is_the_quiet_choice() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/transactions/mixed.json");
    let plan: Plan = read(&path).plan(&mut |_, _| 0).expect("a plan");
    assert!(plan.faults.is_quiet());
    let is_fault = |required: &Requirement| matches!(required, Requirement::Fault(_));
    assert!(!plan.requires.iter().any(is_fault), "{:?}", plan.requires);
}
