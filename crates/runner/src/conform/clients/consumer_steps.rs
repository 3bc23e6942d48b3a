//! The steps of a reading application, and its settings.

use std::collections::BTreeMap;

use eosim_types::Duration;
use eosim_types::config::{AutoOffsetReset, ConsumerConfig, GroupProtocol};
use eosim_types::message::IsolationLevel;
use serde::Deserialize;

use super::case::{ClientCase, read};
use super::names::CaseNames;
use super::producer_steps::set;
use crate::conform::fields::Unsupported;

/// One step.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Step {
    Assign {
        partitions: Vec<String>,
    },
    Seek {
        partition: String,
        offset: i64,
    },
    SeekToEnd {
        partition: String,
    },
    Release {
        name: String,
    },
    Position {
        partition: String,
    },
    Committed {
        partition: String,
        #[serde(default = "default_timeout")]
        timeout_ms: u64,
    },
    Commit {
        offsets: BTreeMap<String, i64>,
        #[serde(default = "default_timeout")]
        timeout_ms: u64,
    },
    Lag {
        partition: String,
    },
    EndOffsets {
        partition: String,
    },
    BeginningOffsets {
        partition: String,
    },
    PollOnce {
        timeout_ms: u64,
    },
    PollFetches {
        n: u32,
        #[serde(default = "fetches_timeout")]
        timeout_ms: u64,
    },
    PollFor {
        timeout_ms: u64,
    },
    Sleep {
        ms: u64,
    },
    Settle {},
    Count {
        api: String,
    },
    Await {
        api: String,
        n: u32,
    },
    AwaitAnswered {
        api: String,
        n: u32,
    },
    Disconnect {
        role: i32,
    },
}

const fn default_timeout() -> u64 {
    3_000
}

const fn fetches_timeout() -> u64 {
    8_000
}

impl Step {
    /// Its name in the recordings.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Assign { .. } => "assign",
            Self::Seek { .. } => "seek",
            Self::SeekToEnd { .. } => "seek_to_end",
            Self::Release { .. } => "release",
            Self::Position { .. } => "position",
            Self::Committed { .. } => "committed",
            Self::Commit { .. } => "commit",
            Self::Lag { .. } => "lag",
            Self::EndOffsets { .. } => "end_offsets",
            Self::BeginningOffsets { .. } => "beginning_offsets",
            Self::PollOnce { .. } => "poll_once",
            Self::PollFetches { .. } => "poll_fetches",
            Self::PollFor { .. } => "poll_for",
            Self::Sleep { .. } => "sleep",
            Self::Settle {} => "settle",
            Self::Count { .. } => "count",
            Self::Await { .. } => "await",
            Self::AwaitAnswered { .. } => "await_answered",
            Self::Disconnect { .. } => "disconnect",
        }
    }
}

/// The settings that recordings use, as the user wrote them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "isolation.level")]
    isolation_level: Option<String>,
    /// A consumer that is no member commits nothing by itself.
    #[serde(rename = "enable.auto.commit")]
    _enable_auto_commit: Option<String>,
    #[serde(rename = "auto.offset.reset")]
    auto_offset_reset: Option<String>,
    #[serde(rename = "fetch.max.wait.ms")]
    fetch_max_wait_ms: Option<String>,
    #[serde(rename = "max.poll.records")]
    max_poll_records: Option<String>,
    #[serde(rename = "request.timeout.ms")]
    request_timeout_ms: Option<String>,
    #[serde(rename = "default.api.timeout.ms")]
    default_api_timeout_ms: Option<String>,
    #[serde(rename = "retry.backoff.ms")]
    retry_backoff_ms: Option<String>,
    /// The same as `retry.backoff.ms` in every recording.
    #[serde(rename = "retry.backoff.max.ms")]
    _retry_backoff_max_ms: Option<String>,
    #[serde(rename = "reconnect.backoff.ms")]
    reconnect_backoff_ms: Option<String>,
    /// The same as `reconnect.backoff.ms` in every recording.
    #[serde(rename = "reconnect.backoff.max.ms")]
    _reconnect_backoff_max_ms: Option<String>,
    #[serde(rename = "group.id")]
    group_id: Option<String>,
    #[serde(rename = "group.protocol")]
    group_protocol: Option<String>,
}

/// Reads the settings of `case`.
pub(super) fn settings(
    case: &ClientCase,
    names: &mut CaseNames,
) -> Result<ConsumerConfig, Unsupported> {
    let s: Settings = read("the settings", &case.settings())?;
    let mut config = ConsumerConfig {
        isolation_level: match s.isolation_level.as_deref() {
            Some("read_committed") => IsolationLevel::ReadCommitted,
            _ => IsolationLevel::ReadUncommitted,
        },
        auto_offset_reset: reset(s.auto_offset_reset.as_deref())?,
        group: s.group_id.map(|group| names.add_group(&group)),
        group_protocol: match s.group_protocol.as_deref() {
            Some("consumer") => GroupProtocol::Consumer,
            _ => GroupProtocol::Classic,
        },
        ..ConsumerConfig::default()
    };
    set(&mut config.max_poll_records, s.max_poll_records.as_ref())?;
    for (duration, text) in [
        (&mut config.fetch_max_wait, s.fetch_max_wait_ms),
        (&mut config.request_timeout, s.request_timeout_ms),
        (&mut config.default_api_timeout, s.default_api_timeout_ms),
        (&mut config.retry_backoff, s.retry_backoff_ms),
        (&mut config.reconnect_backoff, s.reconnect_backoff_ms),
    ] {
        let mut millis = duration.as_millis();
        set(&mut millis, text.as_ref())?;
        *duration = Duration::from_millis(millis);
    }
    Ok(config)
}

/// `by_duration:` is read in hours, minutes and seconds.
fn reset(text: Option<&str>) -> Result<AutoOffsetReset, Unsupported> {
    let other = |text: &str| Unsupported(format!("auto.offset.reset={text}"));
    match text {
        None | Some("latest") => Ok(AutoOffsetReset::Latest),
        Some("earliest") => Ok(AutoOffsetReset::Earliest),
        Some("none") => Ok(AutoOffsetReset::None),
        Some(text) => {
            let of = text.strip_prefix("by_duration:PT").ok_or_else(|| other(text))?;
            let units = [("H", 3_600_000), ("M", 60_000), ("S", 1_000)];
            let millis = units.iter().find_map(|(unit, millis)| {
                let count: u64 = of.strip_suffix(unit)?.parse().ok()?;
                Some(count * millis)
            });
            let age = Duration::from_millis(millis.ok_or_else(|| other(text))?);
            Ok(AutoOffsetReset::ByDuration(age))
        }
    }
}
