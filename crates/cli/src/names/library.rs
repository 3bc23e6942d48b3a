//! The scenarios at hand, as pages refer to them.

use std::path::{Path, PathBuf};

use eosim_runner::{Expectation, InputError, ScenarioFile};

use crate::input;

/// The scenarios at hand.
#[derive(Debug, Default)]
pub struct Library(Vec<ScenarioFile>);

impl Library {
    /// The scenarios of `folder`; none if there is no such folder.
    ///
    /// # Errors
    /// If the folder cannot be read; a scenario that is wrong is named and left out.
    pub fn read(folder: &Path) -> Result<Self, InputError> {
        if !folder.exists() {
            return Ok(Self::default());
        }
        let folder: PathBuf = folder.to_path_buf();
        Ok(Self(input::good_scenarios(&[folder])?))
    }

    /// These scenarios.
    #[must_use]
    pub const fn of(files: Vec<ScenarioFile>) -> Self {
        Self(files)
    }

    /// Every file.
    #[must_use]
    pub fn files(&self) -> &[ScenarioFile] {
        &self.0
    }

    /// The file of the scenario called `name`, if it is at hand.
    pub(super) fn file(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|file| file.head().name == name).map(ScenarioFile::file)
    }

    /// The names of those for which `is` holds, in order.
    pub(super) fn names(&self, is: impl Fn(&ScenarioFile) -> bool) -> Vec<String> {
        self.0.iter().filter(|file| is(file)).map(|file| file.head().name.clone()).collect()
    }

    /// The names of those that expect `invariant` to break.
    pub(super) fn expecting(&self, invariant: &str) -> Vec<String> {
        self.names(|file| match &file.head().expect {
            Expectation::Sound => false,
            Expectation::Violation(expected) => expected.iter().any(|name| name == invariant),
        })
    }
}

/// Names in one line, at most `most` of them.
pub(super) fn listed(names: &[String], most: usize) -> Option<String> {
    let more = names.len().saturating_sub(most);
    let shown = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match (names.len(), more) {
        (0, _) => None,
        (_, 0) => Some(shown),
        (_, more) => Some(format!("{shown} and {more} more")),
    }
}
