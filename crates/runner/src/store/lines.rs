//! The lines of a sweep: a file that grows, of which it is known at any time how much is good.
//!
//! Lines are held back until they are flushed. Whoever notes the extent after each flush can be
//! killed at any instant: what stands in the file beyond the noted extent is cut off, and what
//! stands before it is compared with its digest.

use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, BufRead, BufReader, Read, Take, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use eosim_scenario::InputError;
use eosim_types::digest::Digest;

use super::{RunFolder, StoreError};

/// How much of a file of lines is good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// So many bytes.
    pub bytes: u64,
    /// Fingerprint of the lines in them.
    pub digest: u64,
}

impl Extent {
    fn grow(&mut self, line: &str) {
        let mut digest = Digest::resume(self.digest);
        digest.write(line.as_bytes());
        self.digest = digest.finish();
        self.bytes += line.len() as u64;
    }
}

/// What the file `path` is called as long as it is not whole.
#[must_use]
pub fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    path.with_file_name(name)
}

/// The same for a file or folder that only this process makes: no other one has the name.
#[must_use]
pub fn own_part_of(path: &Path) -> PathBuf {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{:x}.part", std::process::id(), since.as_nanos()));
    path.with_file_name(name)
}

/// Removes what a process that was killed has left of the file `path`.
pub(super) fn remove_left_parts(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let start = format!("{}.", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let middle = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".part"));
        let is_own_part = |middle: &str| {
            let mut parts = middle.splitn(2, '-');
            let is_number = parts.next().is_some_and(|id| id.parse::<u32>().is_ok());
            is_number && parts.next().is_some()
        };
        if middle.is_some_and(is_own_part) {
            // What stays costs a little space.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file that grows, under another name until it is whole.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    file: File,
    held_back: String,
    extent: Extent,
}

impl RunFolder {
    /// Begins the file `name`, which is there once it is finished.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(&self, name: &str) -> Result<Lines, StoreError> {
        let path = self.path.join(name);
        let file = File::create(part_of(&path)).map_err(StoreError::at(&path))?;
        Ok(Lines { path, file, held_back: String::new(), extent: Extent::default() })
    }

    /// Goes on with the file `name` behind its first lines, which are as long as `extent`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn go_on(&self, name: &str, extent: Extent) -> Result<Lines, StoreError> {
        let path = self.path.join(name);
        let part = part_of(&path);
        let failed = |error| StoreError { path: path.clone(), error };
        if !part.exists() && path.exists() {
            fs::rename(&path, &part).map_err(failed)?;
        }
        let options = OpenOptions::new().create(true).append(true).open(&part);
        let file = options.map_err(failed)?;
        file.set_len(extent.bytes).map_err(failed)?;
        Ok(Lines { path, file, held_back: String::new(), extent })
    }
}

impl Lines {
    /// Adds `line`, which ends with a line feed.
    pub fn add(&mut self, line: &str) {
        self.extent.grow(line);
        self.held_back.push_str(line);
    }

    /// Writes what was held back, and says how much is good.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> Result<Extent, StoreError> {
        let written = self.file.write_all(self.held_back.as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        written.map_err(StoreError::at(&self.path))?;
        self.held_back.clear();
        Ok(self.extent)
    }

    /// How much was held back.
    #[must_use]
    pub fn held_back(&self) -> usize {
        self.held_back.len()
    }

    /// The file is whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        fs::rename(part_of(&self.path), &self.path).map_err(StoreError::at(&self.path))
    }
}

/// Reads the good lines of a file, whole or not.
#[derive(Debug)]
pub struct LinesReader {
    name: String,
    file: BufReader<Take<File>>,
    line: String,
    number: u64,
    read: Extent,
    extent: Extent,
}

impl LinesReader {
    /// Opens the file at `path`, of which so much is good.
    ///
    /// # Errors
    /// If it cannot be read, or is shorter.
    pub fn open(path: &Path, extent: Extent) -> Result<Self, InputError> {
        let part = part_of(path);
        let path = if path.exists() || !part.exists() { path } else { &part };
        let name = path.display().to_string();
        let unreadable = |error: io::Error| {
            InputError::new(&name, "", error.to_string(), "the lines of a sweep")
        };
        let file = File::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        if bytes < extent.bytes {
            let expected = format!("the {} of which progress.json tells", extent.bytes);
            return Err(InputError::new(name, "", format!("{bytes} bytes"), expected));
        }
        let file = BufReader::with_capacity(1 << 16, file.take(extent.bytes));
        Ok(Self { name, file, line: String::new(), number: 0, read: Extent::default(), extent })
    }

    /// What the file is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line that was read last, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The next line, with its line feed; nothing behind the last.
    ///
    /// # Errors
    /// If it cannot be read, or the lines are not those that were written.
    pub fn next_line(&mut self) -> Result<Option<&str>, InputError> {
        self.line.clear();
        self.number += 1;
        let read = self.file.read_line(&mut self.line);
        let place = format!("line {}", self.number);
        let wrong = |found: String, expected: &str| {
            Err(InputError::new(&self.name, place, found, expected))
        };
        match read {
            Err(error) => wrong(error.to_string(), "a line of JSON"),
            Ok(0) if self.read == self.extent => Ok(None),
            Ok(0) => {
                let found = format!("the end of lines with digest {:016x}", self.read.digest);
                let expected = format!("{:016x}, as progress.json has it", self.extent.digest);
                wrong(found, &expected)
            }
            Ok(_) if !self.line.ends_with('\n') => {
                wrong("half a line".to_string(), "a line feed at its end")
            }
            Ok(_) => {
                self.read.grow(&self.line);
                Ok(Some(&self.line))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> RunFolder {
        let path = std::env::temp_dir().join(format!("eosim-{name}-{}", std::process::id()));
        RunFolder::at(&path).expect("a temporary folder")
    }

    fn all(path: &Path, extent: Extent) -> Result<String, InputError> {
        let mut reader = LinesReader::open(path, extent)?;
        let mut text = String::new();
        while let Some(line) = reader.next_line()? {
            text += line;
        }
        Ok(text)
    }

    #[test]
    fn what_was_not_noted_is_cut_off() {
        let folder = folder("lines");
        let path = folder.path().join("summary.jsonl");
        let mut lines = folder.begin("summary.jsonl").expect("begins");
        lines.add("one\n");
        lines.add("two\n");
        let noted = lines.flush().expect("writes");
        lines.add("three\n");
        lines.flush().expect("writes");
        drop(lines);
        fs::write(part_of(&path), fs::read_to_string(part_of(&path)).expect("reads") + "fo")
            .expect("writes");
        assert_eq!(all(&path, noted).expect("good"), "one\ntwo\n");
        let mut lines = folder.go_on("summary.jsonl", noted).expect("goes on");
        lines.add("3\n");
        lines.finish().expect("finishes");
        assert_eq!(fs::read_to_string(&path).expect("reads"), "one\ntwo\n3\n");
        assert_eq!(all(&path, noted).expect("good"), "one\ntwo\n");
        fs::write(&path, "one\ntow\n").expect("writes");
        assert_eq!(all(&path, noted).expect_err("changed").path, "line 3");
        fs::write(&path, "one\n").expect("writes");
        assert_eq!(all(&path, noted).expect_err("shorter").found, "4 bytes");
        fs::remove_dir_all(folder.path()).expect("removes");
    }
}
