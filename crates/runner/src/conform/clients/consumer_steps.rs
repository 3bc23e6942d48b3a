//! The steps of a reading application, and its settings.

use std::collections::BTreeMap;

use eosim_sim::cluster::Exception;
use eosim_types::Duration;
use eosim_types::config::{AutoOffsetReset, ConsumerConfig, GroupProtocol};
use eosim_types::message::IsolationLevel;
use serde::Deserialize;

use super::case::{ClientCase, read};
use super::names::CaseNames;
use super::producer_steps::{not_a_setting, set};
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
    /// No consumer asks for features.
    Features {
        #[serde(rename = "transaction_version")]
        _transaction_version: i8,
    },
}

const fn default_timeout() -> u64 {
    3_000
}

const fn fetches_timeout() -> u64 {
    8_000
}

/// The settings that the model has, as the user wrote them; others have no effect, as in Kafka.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
struct Settings {
    #[serde(rename = "isolation.level")]
    isolation_level: Option<String>,
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
    /// `retry.backoff.max.ms` is the same in every recording.
    #[serde(rename = "retry.backoff.ms")]
    retry_backoff_ms: Option<String>,
    #[serde(rename = "reconnect.backoff.ms")]
    reconnect_backoff_ms: Option<String>,
    #[serde(rename = "reconnect.backoff.max.ms")]
    reconnect_backoff_max_ms: Option<String>,
    #[serde(rename = "group.id")]
    group_id: Option<String>,
    #[serde(rename = "group.protocol")]
    group_protocol: Option<String>,
}

/// Reads the settings of `case`; an error within is what the constructor throws.
pub(super) fn settings(
    case: &ClientCase,
    names: &mut CaseNames,
) -> Result<Result<ConsumerConfig, Exception>, Unsupported> {
    let settings: Settings = read("the settings", &case.settings())?;
    Ok(construct(settings, names))
}

fn construct(s: Settings, names: &mut CaseNames) -> Result<ConsumerConfig, Exception> {
    let mut config = ConsumerConfig {
        isolation_level: match s.isolation_level.as_deref() {
            Some("read_committed") => IsolationLevel::ReadCommitted,
            None | Some("read_uncommitted") => IsolationLevel::ReadUncommitted,
            Some(_) => return Err(not_a_setting()),
        },
        auto_offset_reset: reset(s.auto_offset_reset.as_deref())?,
        group: s.group_id.map(|group| names.add_group(&group)),
        group_protocol: match s.group_protocol.as_deref().map(str::to_lowercase).as_deref() {
            Some("consumer") => GroupProtocol::Consumer,
            None | Some("classic") => GroupProtocol::Classic,
            Some(_) => return Err(not_a_setting()),
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
        (&mut config.reconnect_backoff_max, s.reconnect_backoff_max_ms),
    ] {
        let mut millis = duration.as_millis();
        set(&mut millis, text.as_ref())?;
        *duration = Duration::from_millis(millis);
    }
    Ok(config)
}

fn reset(text: Option<&str>) -> Result<AutoOffsetReset, Exception> {
    match text {
        None | Some("latest") => Ok(AutoOffsetReset::Latest),
        Some("earliest") => Ok(AutoOffsetReset::Earliest),
        Some("none") => Ok(AutoOffsetReset::None),
        Some(text) => {
            let age = text.strip_prefix("by_duration:").and_then(iso_duration);
            age.map(AutoOffsetReset::ByDuration).ok_or_else(not_a_setting)
        }
    }
}

/// `PnDTnHnMnS` without fractions (`java.time.Duration#parse`).
fn iso_duration(text: &str) -> Option<Duration> {
    let (days, times) = text
        .strip_prefix('P')?
        .split_once('T')
        .map_or_else(|| (text.strip_prefix('P'), ""), |(days, times)| (Some(days), times));
    let mut seconds = 0;
    for (part, units) in
        [(days?, &[('D', 86_400)][..]), (times, &[('H', 3_600), ('M', 60), ('S', 1)])]
    {
        let mut rest = part;
        for &(unit, length) in units {
            if let Some((count, behind)) = rest.split_once(unit) {
                seconds += count.parse::<u64>().ok()?.checked_mul(length)?;
                rest = behind;
            }
        }
        if !rest.is_empty() {
            return None;
        }
    }
    Some(Duration::from_millis(seconds.checked_mul(1_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_java_writes_it_k_off_4() {
        for (text, seconds) in [
            ("PT1H", Some(3_600)),
            ("P1DT1M", Some(86_460)),
            ("PT1H30M2S", Some(5_402)),
            ("P2D", Some(172_800)),
            ("1H", None),
            ("PT1X", None),
        ] {
            let read = iso_duration(text).map(|age| age.as_millis() / 1_000);
            assert_eq!(read, seconds, "{text}");
        }
    }
}
