//! Scenarios of the library by name, in whichever of its folders they lie.

use std::fs;
use std::path::{Path, PathBuf};

use eosim_runner::{ScenarioFile, invariants};

/// The scenario called `name`.
///
/// # Panics
/// If there is none, or it is wrong.
pub(crate) fn scenario(name: &str) -> ScenarioFile {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let path = find(&root, &format!("{name}.json"))
        .unwrap_or_else(|| panic!("no scenario of the library is called {name}"));
    let names: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    ScenarioFile::read(&path, &[], &names).unwrap_or_else(|error| panic!("{error}"))
}

/// The file called `file` in `folder` or below it.
fn find(folder: &Path, file: &str) -> Option<PathBuf> {
    let direct = folder.join(file);
    if direct.is_file() {
        return Some(direct);
    }
    let entries = fs::read_dir(folder).expect("a folder of the library");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    paths.find_map(|path| if path.is_dir() { find(&path, file) } else { None })
}
