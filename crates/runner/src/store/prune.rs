//! Which kept runs may go, by their number, size and age; and how they go.

use std::fs;
use std::io;
use std::path::Path;

use super::{Ending, KeptRun, MANIFEST, StoreError, utc};

/// What a run is called while it is taken from the disk begins so.
const GONE: &str = ".pruned-";

/// A run has its manifest and its claim after so many seconds.
const BEGINS: u64 = 60;

/// What is kept: everything within all bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Retention {
    /// So many runs.
    pub count: Option<u64>,
    /// So many bytes.
    pub bytes: Option<u64>,
    /// Runs that began at most so many seconds ago.
    pub age: Option<u64>,
}

/// Those of `runs`, the oldest first, that `retention` does not keep `now`, seconds after
/// 1970-01-01. The one that `latest` means is always kept, and counts.
#[must_use]
pub fn doomed(runs: &[KeptRun], retention: Retention, now: u64) -> Vec<&KeptRun> {
    let (mut count, mut bytes) = (0, 0);
    let mut doomed = Vec::new();
    let latest_first = runs.iter().rev().filter(|run| run.is_latest);
    let others = runs.iter().rev().filter(|run| !run.is_latest);
    for run in latest_first.chain(others) {
        let age = now.saturating_sub(run.began);
        let fits = retention.count.is_none_or(|max| count < max)
            && retention.bytes.is_none_or(|max| bytes + run.bytes <= max)
            && retention.age.is_none_or(|max| age <= max);
        if fits || run.is_latest {
            count += 1;
            bytes += run.bytes;
        } else {
            doomed.push(run);
        }
    }
    doomed.reverse();
    doomed
}

/// Removes `run`: from the store at once, from the disk as soon as can be.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(run: &KeptRun) -> Result<(), StoreError> {
    let gone = run.path.with_file_name(format!("{GONE}{}", run.name));
    let removed = fs::rename(&run.path, &gone).and_then(|()| remove_all(&gone));
    removed.map_err(StoreError::at(&run.path))
}

/// Removes from the disk what others have removed from `store`, and were killed meanwhile.
///
/// # Errors
/// If it cannot be removed.
pub fn remove_left(store: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(store).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix(GONE).and_then(utc::seconds).is_some() {
            remove_all(&entry.path()).map_err(StoreError::at(&entry.path()))?;
        }
    }
    Ok(())
}

/// Another process may do the same at once.
fn remove_all(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl KeptRun {
    /// May another process still work at it, `now`, seconds after 1970-01-01? One that has begun a
    /// moment ago may have claimed nothing yet.
    #[must_use]
    pub fn may_run(&self, now: u64) -> bool {
        let is_new = self.began.saturating_add(BEGINS) > now && !self.path.join(MANIFEST).is_file();
        self.ending == Ending::Unfinished && (is_new || super::Claim::is_taken(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five runs of 10 bytes, begun at 0, 100, … 400; the second is the latest.
    fn runs() -> Vec<KeptRun> {
        let run = |number: u64| KeptRun {
            name: number.to_string(),
            path: format!("store/{number}").into(),
            began: number * 100,
            bytes: 10,
            ending: Ending::Ended,
            is_latest: number == 1,
            progress: None,
        };
        (0..5).map(run).collect()
    }

    #[test]
    fn the_oldest_beyond_any_bound_go() {
        let names = |retention| {
            let runs = runs();
            let names = doomed(&runs, retention, 450).into_iter().map(|run| run.name.clone());
            names.collect::<Vec<String>>().join(" ")
        };
        let none = Retention::default();
        assert_eq!(names(none), "");
        assert_eq!(names(Retention { count: Some(3), ..none }), "0 2");
        assert_eq!(names(Retention { bytes: Some(45), ..none }), "0");
        assert_eq!(names(Retention { age: Some(200), ..none }), "0 2");
        assert_eq!(names(Retention { age: Some(300), count: Some(2), ..none }), "0 2 3");
        assert_eq!(names(Retention { count: Some(0), ..none }), "0 2 3 4");
    }
}
