//! Kept runs: one folder each, written so that a file that is there is whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use eosim_types::digest::Digest;

/// What the last run is called.
const LATEST: &str = "latest";

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
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |error| StoreError { path, error }
        };
        fs::create_dir_all(store).map_err(failed(store))?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let utc = utc(since);
        let id = Digest::of(&(arguments, since.as_nanos(), std::process::id()));
        for attempt in 0u64.. {
            let id = id.wrapping_add(attempt) & 0xff_ffff;
            let path = store.join(format!("{utc}-{name}-{id:06x}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(error) => return Err(failed(&path)(error)),
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
        let failed = |error| StoreError { path: path.clone(), error };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let temporary = path.with_extension("part");
        fs::write(&temporary, text).map_err(failed)?;
        fs::rename(&temporary, &path).map_err(failed)
    }

    /// Begins the file `name`, which grows line by line and is there once it is finished.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(&self, name: &str) -> Result<Growing, StoreError> {
        let path = self.path.join(name);
        let temporary = path.with_extension("part");
        match fs::File::create(&temporary) {
            Ok(file) => Ok(Growing { path, temporary, file: io::BufWriter::new(file) }),
            Err(error) => Err(StoreError { path, error }),
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

/// A file that is being written, under another name until it is whole.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    temporary: PathBuf,
    file: io::BufWriter<fs::File>,
}

impl Growing {
    /// Adds `text`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, text: &str) -> Result<(), StoreError> {
        let added = self.file.write_all(text.as_bytes());
        added.map_err(|error| StoreError { path: self.path.clone(), error })
    }

    /// The file is whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), StoreError> {
        let whole = self.file.flush().and_then(|()| fs::rename(&self.temporary, &self.path));
        whole.map_err(|error| StoreError { path: self.path, error })
    }
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

/// `20260131T235959Z`.
fn utc(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Year, month and day of the `days`-th day after 1970-01-01, in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_named_in_utc() {
        let rows = [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (4_107_542_400, "21000301T000000Z"),
        ];
        for (seconds, name) in rows {
            assert_eq!(utc(Duration::from_secs(seconds)), name);
        }
    }

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
