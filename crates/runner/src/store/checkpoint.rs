//! `progress.json`: how far a sweep is, and what it found so far. It is written again and again while
//! the sweep goes on, and stays when it has ended, so that sweeps can be joined.

use std::path::Path;

use eosim_scenario::{InputError, json};
use serde::{Deserialize, Serialize};

use super::{Extent, RunFolder, StoreError};
use crate::sweep::SweepState;

/// The file.
pub const PROGRESS: &str = "progress.json";

/// The version of its form.
const FORMAT: u32 = 1;

/// How far a sweep is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// How long it is at most until the next is written, milliseconds.
    pub interval_ms: u64,
    /// Every seed was run.
    pub is_complete: bool,
    /// How much of `summary.jsonl` is good.
    pub lines: Extent,
    /// What was found in the seeds that have a line there.
    pub state: SweepState,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    interval_ms: u64,
    is_complete: bool,
    lines_bytes: u64,
    lines_digest: String,
    found: SweepState,
}

impl Checkpoint {
    /// Writes it in `folder`.
    ///
    /// # Errors
    /// If it cannot be written.
    ///
    /// # Panics
    /// Never: every key is a string.
    pub fn write(&self, folder: &RunFolder) -> Result<(), StoreError> {
        let file = File {
            format: FORMAT,
            interval_ms: self.interval_ms,
            is_complete: self.is_complete,
            lines_bytes: self.lines.bytes,
            lines_digest: format!("{:016x}", self.lines.digest),
            found: self.state.clone(),
        };
        let text = serde_json::to_string(&file).expect("a checkpoint is plain JSON");
        folder.write_contested(PROGRESS, &(text + "\n"))
    }

    /// Reads that of the sweep in the folder `path`.
    ///
    /// # Errors
    /// If there is none, or it is wrong; what, and where.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let path = path.join(PROGRESS);
        let name = path.display().to_string();
        let expected = "the progress of a sweep (format 1)";
        let wrong = |place: &str, found: String| InputError::new(&name, place, found, expected);
        let text = json::read_text(&path, json::FILE_MAX, expected)?;
        let file: File =
            serde_json::from_str(&text).map_err(|error| wrong("", error.to_string()))?;
        if file.format != FORMAT {
            return Err(wrong("format", file.format.to_string()));
        }
        let digest = u64::from_str_radix(&file.lines_digest, 16);
        let digest = digest.map_err(|_| wrong("lines_digest", file.lines_digest.clone()))?;
        Ok(Self {
            interval_ms: file.interval_ms,
            is_complete: file.is_complete,
            lines: Extent { bytes: file.lines_bytes, digest },
            state: file.found,
        })
    }
}
