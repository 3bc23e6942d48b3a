//! Who works in the folder of a sweep: one process at a time. A process that was killed leaves its
//! claim behind. Where the system tells that the owner is gone, the claim is void at once; elsewhere,
//! and on other machines, it counts only while the owner shows a sign of life: a new `progress.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use eosim_types::digest::Digest;

use super::lines::remove_left_parts;
use super::{Checkpoint, PROGRESS, RunFolder, StoreError};

/// The file that names the owner.
const CLAIM: &str = ".running";

/// A process may be late by so much with its sign of life.
const LATE: Duration = Duration::from_secs(1);

/// Nobody is watched for longer.
const LONGEST: Duration = Duration::from_secs(60);

/// A sign of life must come at least so often, whatever the user says of the work that may be lost.
pub const INTERVAL_MAX: Duration = Duration::from_secs(20);

/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The right to work in a folder.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    owner: String,
}

impl Claim {
    /// Claims `folder`, whoever had it before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn take(folder: &RunFolder) -> Result<Self, StoreError> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let owner = Digest::of(&(since.as_nanos(), std::process::id(), folder.path()));
        let process = process(std::process::id()).unwrap_or_default();
        let owner = format!("{owner:016x}\n{process}\n");
        folder.write_contested(CLAIM, &owner)?;
        for name in [CLAIM, PROGRESS] {
            remove_left_parts(&folder.path().join(name));
        }
        Ok(Self { path: folder.path().join(CLAIM), owner })
    }

    /// Does it still hold? Another process may have taken the folder for abandoned.
    #[must_use]
    pub fn holds(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|owner| owner == self.owner)
    }

    /// The work is done.
    pub fn give_back(self) {
        if self.holds() {
            // A claim that stays behind costs the next one a moment.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Does another process work in the folder at `path`? If that is not clear, watches it for a
    /// moment.
    #[must_use]
    pub fn is_taken(path: &Path) -> bool {
        let Ok(claim) = fs::read_to_string(path.join(CLAIM)) else { return false };
        if is_gone(&claim) {
            return false;
        }
        let interval = Checkpoint::read(path).map_or(1000, |checkpoint| checkpoint.interval_ms);
        let last = || fs::metadata(path.join(PROGRESS)).and_then(|file| file.modified()).ok();
        let (before, began) = (last(), Instant::now());
        while began.elapsed() < watched_for(interval) {
            std::thread::sleep(LOOK_EVERY);
            if !path.join(CLAIM).exists() {
                return false;
            }
            if last() != before {
                return true;
            }
        }
        false
    }
}

/// How long an owner is watched that shows a sign of life every `interval` milliseconds.
fn watched_for(interval: u64) -> Duration {
    (Duration::from_millis(interval.saturating_mul(2)) + LATE).min(LONGEST)
}

/// Where processes are numbered, and the process; nothing if the system does not say.
fn process(id: u32) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {} {id}", boot.trim(), numbers.display()))
}

/// Was the claim made by a process that is known to be gone?
fn is_gone(claim: &str) -> bool {
    let owner = claim.lines().nth(1).unwrap_or_default();
    let id = owner.rsplit(' ').next().and_then(|id| id.parse().ok());
    let is_here = id.is_some() && id.and_then(process).is_some_and(|process| process == owner);
    is_here && id.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_owner_has_left_goes_with_the_next_claim() {
        let path = std::env::temp_dir().join(format!("eosim-claim-{}", std::process::id()));
        let folder = RunFolder::at(&path).expect("a temporary folder");
        let left = [".running.17-ab.part", "progress.json.18-cd.part"];
        let kept = ["summary.jsonl.part", "progress.json.part", "progress.json.mine-1.part"];
        for name in left.iter().chain(&kept) {
            fs::write(path.join(name), "").expect("writes");
        }
        let claim = Claim::take(&folder).expect("claims");
        assert!(claim.holds());
        assert!(left.iter().all(|name| !path.join(name).exists()));
        assert!(kept.iter().all(|name| path.join(name).exists()));
        fs::remove_dir_all(&path).expect("removes");
    }

    #[test]
    fn nobody_is_watched_for_longer_than_a_minute() {
        let longest = u64::try_from(INTERVAL_MAX.as_millis()).expect("small");
        let rows = [(0, 1000), (200, 1400), (longest, 41_000), (u64::MAX, 60_000)];
        for (interval, millis) in rows {
            assert_eq!(watched_for(interval), Duration::from_millis(millis), "{interval}");
        }
    }
}
