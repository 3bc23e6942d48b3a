//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One file with its text.
pub(crate) struct Source {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// The text.
    pub(crate) text: String,
}

impl Source {
    /// The crate's folder under `crates/`, or `xtask`.
    pub(crate) fn package(&self) -> &str {
        let inner = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        inner.split('/').next().unwrap_or_default()
    }

    /// Is the whole file test code?
    pub(crate) fn is_test_file(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.contains("/tests/") || name == "tests.rs" || name.ends_with("_tests.rs")
    }

    /// The lines before the test module at the end of the file, with their numbers from 1.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let begins_tests = |pair: &[&str]| {
            pair[0].trim_end() == "#[cfg(test)]" && pair[1].trim_end().ends_with('{')
        };
        let count = match lines.windows(2).position(begins_tests) {
            _ if self.is_test_file() => 0,
            Some(at) => at,
            None => lines.len(),
        };
        self.lines().take(count)
    }

    /// The lines of tests: the test module at the end of the file, or the whole of a test file.
    pub(crate) fn test_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().skip(self.code_lines().count())
    }

    /// All lines with their numbers from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// The repository's root folder.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the root folder").to_path_buf()
}

/// The files that git tracks, or would track, below `root`.
pub(crate) fn tracked(root: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("git runs");
    let text = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let mut paths: Vec<String> = text.lines().map(String::from).collect();
    paths.retain(|path| root.join(path).is_file());
    paths.sort();
    paths
}

/// All Rust files.
pub(crate) fn rust_files(root: &Path) -> Vec<Source> {
    let paths = tracked(root).into_iter().filter(|path| path.ends_with(".rs"));
    paths
        .map(|path| {
            let text = fs::read_to_string(root.join(&path)).expect("a source file is UTF-8");
            Source { path, text }
        })
        .collect()
}
