//! Kept runs: one folder each, written so that a file that is there is whole.

mod checkpoint;
mod claim;
mod kept;
mod lines;
mod prune;
mod tar;
mod utc;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use eosim_types::digest::Digest;

pub use checkpoint::{Checkpoint, PROGRESS};
pub use claim::{Claim, INTERVAL_MAX};
pub use kept::{Ending, KeptRun, kept_runs};
pub use lines::{Extent, Lines, LinesReader, own_part_of, part_of};
pub use prune::{Retention, doomed, remove, remove_left};
pub use tar::export;

/// The table over a run or a sweep, which is written last: where it is, the run has ended.
pub const SUMMARY: &str = "summary.json";

/// A line for each seed.
pub const SUMMARY_LINES: &str = "summary.jsonl";

/// What was run.
pub const MANIFEST: &str = "manifest.json";

/// What the last run is called.
pub const LATEST: &str = "latest";

/// A folder that cannot be used.
#[derive(Debug)]
pub struct StoreError {
    path: PathBuf,
    error: io::Error,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self { path, error }
    }
}

/// The folder of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// A new folder `<utc>-<name>-<id>` below `store`; the id is made of `arguments`. Nothing is
    /// left behind if it cannot be made.
    ///
    /// # Errors
    /// If `store` cannot be written.
    pub fn create(store: &Path, name: &str, arguments: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(store).map_err(StoreError::at(store))?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let utc = utc::name(since);
        let id = Digest::of(&(arguments, since.as_nanos(), std::process::id()));
        for attempt in 0u64.. {
            let id = id.wrapping_add(attempt) & 0xff_ffff;
            let path = store.join(format!("{utc}-{name}-{id:06x}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(error) => return Err(StoreError::at(&path)(error)),
            }
        }
        unreachable!("an attempt ends the search")
    }

    /// The folder at `path`, which is made if need be.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn at(path: &Path) -> Result<Self, StoreError> {
        let path = path.to_path_buf();
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(Self { path }),
            Err(error) => Err(StoreError { path, error }),
        }
    }

    /// The folder at `path`, which must not be there yet.
    ///
    /// # Errors
    /// If it is there, or cannot be made.
    pub fn new_at(path: &Path) -> Result<Self, StoreError> {
        let above = path.parent().map_or(Ok(()), fs::create_dir_all);
        let made = above.and_then(|()| fs::create_dir(path));
        made.map_err(StoreError::at(path))?;
        Ok(Self { path: path.to_path_buf() })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `text` as the file `name`, which may have folders in it: under another name first,
    /// then renamed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.path.join(name);
        write_by_way_of(&part_of(&path), &path, text)
    }

    /// The same for a file that two processes may write at once: neither meets what the other has
    /// not renamed yet.
    fn write_contested(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.path.join(name);
        write_by_way_of(&own_part_of(&path), &path, text)
    }

    /// Takes the file `name` away, if it is there.
    ///
    /// # Errors
    /// If it cannot be taken away.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::at(&path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Makes it the one that `latest` means.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn make_latest(&self) -> Result<(), StoreError> {
        let (Some(store), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let latest = store.join(LATEST);
        let temporary = store.join(format!(".latest-{}", name.to_string_lossy()));
        let failed = |error| StoreError { path: latest.clone(), error };
        point_at(&temporary, Path::new(name)).map_err(failed)?;
        fs::rename(&temporary, &latest).map_err(failed)
    }
}

fn write_by_way_of(temporary: &Path, path: &Path, text: &str) -> Result<(), StoreError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(temporary, text));
    written.and_then(|()| fs::rename(temporary, path)).map_err(StoreError::at(path))
}

#[cfg(unix)]
fn point_at(link: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn point_at(link: &Path, target: &Path) -> io::Result<()> {
    fs::write(link, target.to_string_lossy().as_bytes())
}

/// The folder or file that a user means by `path`: `latest` and unique prefixes of names are
/// completed, wherever they stand in it.
#[must_use]
pub fn find(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        let next = found.join(part);
        found = match fs::read_link(&next) {
            // The name that stays, not the one that means another run tomorrow.
            Ok(target) if part.as_os_str() == LATEST => found.join(target),
            _ if next.exists() => next,
            _ => complete(&found, part.as_os_str()).unwrap_or(next),
        };
    }
    if found.exists() { found } else { path.to_path_buf() }
}

/// The only entry of `folder` that begins or ends with `part`.
fn complete(folder: &Path, part: &std::ffi::OsStr) -> Option<PathBuf> {
    let part = part.to_str()?;
    let entries = fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let names = entries.ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut fitting = names.filter(|name| name.starts_with(part) || name.ends_with(part));
    let only = fitting.next()?;
    fitting.next().is_none().then(|| folder.join(only))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_absent_and_prefixes_are_completed() {
        let store = std::env::temp_dir().join(format!("eosim-store-{}", std::process::id()));
        let folder = RunFolder::create(&store, "mixed", "seed 1").expect("a temporary folder");
        folder.write("failures/7/choices.json", "{}\n").expect("writes");
        folder.make_latest().expect("links");
        let through_latest = find(&store.join("latest/failures/7/choices.json"));
        assert_eq!(fs::read_to_string(through_latest).expect("is there"), "{}\n");
        let id = folder.path().file_name().and_then(|n| n.to_str()).expect("a name");
        assert_eq!(find(&store.join(&id[..12])), folder.path());
        fs::remove_dir_all(&store).expect("removes");
    }
}
