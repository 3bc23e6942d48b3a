//! Recorded cases: what is asked of a broker step by step, and what a real one answered.
//!
//! `*.json` holds one case, `*.jsonl` one case a line.

mod bounds;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use eosim_scenario::{InputError, json};
use eosim_types::version::{KafkaVersion, TransactionVersion};

/// What is expected at the path of a case.
const READABLE: &str = "a readable file or folder of cases";

/// One recorded case.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Case {
    /// Unique among the recordings.
    pub name: String,
    /// Where it was recorded: Kafka's version and the level of `transaction.version`.
    #[serde(default)]
    pub recorded_on: RecordedOn,
    /// Topic → number of partitions, or for a cluster its replicas and settings.
    pub topics: BTreeMap<String, TopicLayout>,
    /// Transactional id or group → the broker that coordinates it at the start.
    #[serde(default)]
    pub place: BTreeMap<String, i32>,
    /// The steps: `op`, its arguments, `expect`.
    pub steps: Vec<Map<String, Value>>,
    /// What the cluster held in the end.
    #[serde(rename = "final")]
    pub final_state: Value,
}

/// The cluster that answered, such as `apache-kafka 4.4.0, 1 broker, transaction.version=2`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct RecordedOn {
    /// The version of its brokers.
    pub kafka: KafkaVersion,
    /// The finalized level of the feature.
    pub transaction_version: TransactionVersion,
}

impl Default for RecordedOn {
    fn default() -> Self {
        Self { kafka: KafkaVersion::V4_4, transaction_version: TransactionVersion::Tv2 }
    }
}

impl TryFrom<String> for RecordedOn {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = || text.split([',', ' ']).filter(|part| !part.is_empty());
        let kafka = parts().find_map(KafkaVersion::from_name);
        let level = parts().find_map(|part| part.strip_prefix("transaction.version="));
        let level = level.and_then(|level| level.parse().ok());
        let unknown = || format!("recorded on {text}: not one of the versions known here");
        Ok(Self {
            kafka: kafka.ok_or_else(unknown)?,
            transaction_version: level
                .map_or(TransactionVersion::Tv2, TransactionVersion::from_level),
        })
    }
}

/// How a topic is laid out.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum TopicLayout {
    /// So many partitions on the only broker.
    Partitions(i32),
    /// The replicas of each partition, the preferred leader first.
    Replicas {
        /// Per partition.
        partitions: Vec<Vec<i32>>,
        /// Topic settings under Kafka's names.
        #[serde(default)]
        config: BTreeMap<String, String>,
    },
}

impl TopicLayout {
    /// How many partitions the topic has.
    #[must_use]
    pub fn partition_count(&self) -> i32 {
        match self {
            Self::Partitions(partitions) => *partitions,
            Self::Replicas { partitions, .. } => {
                i32::try_from(partitions.len()).unwrap_or(i32::MAX)
            }
        }
    }
}

/// Every file of cases at or below `path`, sorted.
///
/// # Errors
///
/// If `path` cannot be read.
pub fn case_files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = fs::read_dir(path).map_err(|e| unreadable(path, &e))?;
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| unreadable(path, &e))?.path();
        if entry.is_dir() {
            files.extend(case_files(&entry)?);
        } else if entry.extension().is_some_and(|e| e == "json" || e == "jsonl") {
            files.push(entry);
        }
    }
    files.sort();
    Ok(files)
}

/// The cases in one file.
///
/// # Errors
///
/// If the file cannot be read, is too large, or is not a recording.
pub fn load(path: &Path) -> Result<Vec<Case>, InputError> {
    load_json(path)?.into_iter().map(|recording| Case::from_json(path, recording)).collect()
}

/// The recordings in one file, of whatever kind.
pub(super) fn load_json(path: &Path) -> Result<Vec<Value>, InputError> {
    let text = json::read_text(path, json::FILE_MAX, READABLE)?;
    let recordings: Vec<Value> = if path.extension().is_some_and(|e| e == "jsonl") {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(number, line)| parse(path, Some(number), line)).collect::<Result<_, _>>()?
    } else {
        vec![parse(path, None, &text)?]
    };
    for recording in &recordings {
        bounds::check(recording).map_err(|wrong| InputError { file: name(path), ..wrong })?;
    }
    Ok(recordings)
}

fn parse(path: &Path, line: Option<usize>, text: &str) -> Result<Value, InputError> {
    serde_json::from_str(text).map_err(|error| {
        let place = line.map_or(String::new(), |line| format!("line {line}"));
        InputError::new(name(path), place, error.to_string(), "a recorded case")
    })
}

impl Case {
    /// The case that `recording`, from the file `path`, holds.
    pub(super) fn from_json(path: &Path, recording: Value) -> Result<Self, InputError> {
        let place = recording["name"].as_str().unwrap_or_default().to_string();
        serde_json::from_value(recording).map_err(|error| {
            InputError::new(name(path), place, error.to_string(), "a recorded case")
        })
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn unreadable(path: &Path, error: &io::Error) -> InputError {
    InputError::new(name(path), "", error.to_string(), READABLE)
}
