//! What is in a store: the runs, how each ended, and how large it is.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Checkpoint, LATEST, MANIFEST, PROGRESS, SUMMARY, StoreError, utc};

/// How a kept run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It came to its end.
    Ended,
    /// It was stopped before all seeds were run.
    Stopped,
    /// It was killed, or is not at its end yet.
    Unfinished,
}

impl Ending {
    /// One word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Stopped => "stopped",
            Self::Unfinished => "unfinished",
        }
    }
}

/// A kept run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptRun {
    /// What its folder is called.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// When it began, seconds after 1970-01-01.
    pub began: u64,
    /// How large it is.
    pub bytes: u64,
    /// How it ended.
    pub ending: Ending,
    /// It is the one that `latest` means.
    pub is_latest: bool,
    /// How far it is, if it is a sweep.
    pub progress: Option<Checkpoint>,
}

/// The runs in `store`, the oldest first; one that was killed before it had written its manifest, too.
///
/// # Errors
/// If it cannot be read.
pub fn kept_runs(store: &Path) -> Result<Vec<KeptRun>, StoreError> {
    let latest = fs::read_link(store.join(LATEST)).ok();
    let entries = fs::read_dir(store).map_err(StoreError::at(store))?;
    let named = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        Some((utc::seconds(&name)?, name))
    });
    let is_run = |(_, name): &(u64, String)| {
        let path = store.join(name);
        path.join(MANIFEST).is_file() || (has_id(name) && path.is_dir())
    };
    let mut named: Vec<(u64, String)> = named.filter(is_run).collect();
    named.sort();
    let runs = named.into_iter().map(|(began, name)| {
        let path = store.join(&name);
        let progress = Checkpoint::read(&path).ok();
        let is_latest = latest.as_deref() == Some(Path::new(&name));
        let (bytes, ending) = (size(&path), ending(&path, progress.as_ref()));
        KeptRun { name, path, began, bytes, ending, is_latest, progress }
    });
    Ok(runs.collect())
}

/// Does `name` end as those of [`RunFolder::create`](super::RunFolder::create) do?
fn has_id(name: &str) -> bool {
    let id = name.rsplit('-').next().unwrap_or_default();
    id.len() == 6 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn ending(path: &Path, progress: Option<&Checkpoint>) -> Ending {
    let is_torn = progress.is_none() && path.join(PROGRESS).exists();
    if !path.join(SUMMARY).is_file() || !path.join(MANIFEST).is_file() || is_torn {
        return Ending::Unfinished;
    }
    match progress {
        Some(progress) if !progress.is_complete => Ending::Stopped,
        _ => Ending::Ended,
    }
}

/// Bytes of everything below `path`.
fn size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => size(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
