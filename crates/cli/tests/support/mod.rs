//! The built binary, run in a temporary folder of its own.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder, removed when it is dropped.
pub(crate) struct Folder(PathBuf);

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// One for thousands of files that nobody needs to find after a crash, in memory where that can be.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory) } else { Self::new() }
    }

    fn below(above: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("eosim-cli-{}-{number}", std::process::id());
        let path = above.join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("writes");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Copies what is called `name` in the library, a file or a folder, into `scenarios/`.
    pub(crate) fn copy_library(&self, name: &str) {
        copy(Path::new(&library(name)), &self.0.join("scenarios").join(name));
    }

    /// The names of what is in the folder `name`, sorted.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(name)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The command, to be started in the folder.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_eosim"));
        command.args(words).current_dir(&self.0).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("EOSIM_")) {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn eosim(&self, words: &[&str]) -> Ended {
        let output = self.command(words).output().expect("the binary runs");
        Ended {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// The same, which must end with `code`.
    pub(crate) fn ends(&self, words: &[&str], code: i32) -> Ended {
        let ended = self.eosim(words);
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
        ended
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The path of a file of the library.
pub(crate) fn library(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    root.join(name).display().to_string()
}

/// Copies a file, or a folder with what is in it.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(from, to).expect("copies");
    }
}

/// The blocks of a Markdown text: what stands behind the opening fence, and the lines.
pub(crate) fn blocks(markdown: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        match line.strip_prefix("```") {
            Some(language) if !inside => {
                blocks.push((language, Vec::new()));
                inside = true;
            }
            Some(_) => inside = false,
            None if inside => blocks.last_mut().expect("a block").1.push(line),
            None => {}
        }
    }
    blocks
}

/// The words of a command as a shell would part them, up to what it does with the output; quotes are
/// double ones.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in command.split('"').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_string());
        } else {
            words.extend(part.split_whitespace().map(String::from));
        }
    }
    let end = words.iter().position(|word| matches!(word.as_str(), ">" | ">>" | "|" | "#"));
    words.truncate(end.unwrap_or(words.len()));
    words
}

/// The first of the `expected` lines that `output` does not hold, in their order; `…` stands for
/// anything, and so does what is before and behind an expected line.
pub(crate) fn missing<'a>(output: &str, expected: &[&'a str]) -> Option<&'a str> {
    let mut lines = output.lines();
    expected.iter().copied().find(|expected| !lines.any(|line| holds(line, expected)))
}

fn holds(line: &str, expected: &str) -> bool {
    let mut rest = line;
    expected.split('…').map(str::trim).all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}
