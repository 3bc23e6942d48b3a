//! The steps of a producing application, and its settings.

use std::collections::BTreeMap;

use eosim_sim::cluster::Exception;
use eosim_sim::cluster::producer::{Written, validated};
use eosim_types::Duration;
use eosim_types::config::ProducerConfig;
use serde::Deserialize;

use super::case::{ClientCase, read};
use crate::conform::fields::Unsupported;

/// One step.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Step {
    Init {
        #[serde(default, rename = "async")]
        in_background: bool,
    },
    Begin {},
    Send {
        partition: i32,
        value: String,
        #[serde(default)]
        size: u32,
    },
    Flush {
        #[serde(default, rename = "async")]
        in_background: bool,
    },
    Offsets {
        group: String,
        offsets: BTreeMap<String, i64>,
        #[serde(default)]
        member: Option<String>,
        #[serde(default)]
        generation: Option<i32>,
        #[serde(default)]
        instance: Option<String>,
        #[serde(default, rename = "async")]
        in_background: bool,
    },
    Commit {
        #[serde(default, rename = "async")]
        in_background: bool,
    },
    Abort {
        #[serde(default, rename = "async")]
        in_background: bool,
    },
    Close {
        #[serde(default)]
        timeout_ms: Option<u64>,
        #[serde(default, rename = "async")]
        in_background: bool,
    },
    Await {
        api: String,
        n: u32,
    },
    AwaitAnswered {
        api: String,
        n: u32,
    },
    Wait {
        of: Vec<String>,
    },
    AwaitState {
        state: String,
    },
    Release {
        name: String,
    },
    Sleep {
        ms: u64,
    },
    Settle {},
    State {},
    Count {
        api: String,
    },
    Features {
        transaction_version: i8,
    },
    Disconnect {
        role: i32,
    },
    SetNextSequence {
        partition: String,
        next: i32,
    },
    Join {
        of: String,
    },
}

impl Step {
    /// The call's name, for a step that is one.
    pub(super) const fn call_name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Init { .. } => "init",
            Self::Begin {} => "begin",
            Self::Send { .. } => "send",
            Self::Flush { .. } => "flush",
            Self::Offsets { .. } => "offsets",
            Self::Commit { .. } => "commit",
            Self::Abort { .. } => "abort",
            Self::Close { .. } => "close",
            _ => return None,
        })
    }

    /// Does it run in a thread of its own?
    pub(super) const fn is_in_background(&self) -> bool {
        match self {
            Self::Init { in_background }
            | Self::Flush { in_background }
            | Self::Offsets { in_background, .. }
            | Self::Commit { in_background }
            | Self::Abort { in_background }
            | Self::Close { in_background, .. } => *in_background,
            _ => false,
        }
    }
}

/// The settings that recordings use, as the user wrote them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "enable.idempotence")]
    enable_idempotence: Option<String>,
    acks: Option<String>,
    retries: Option<String>,
    #[serde(rename = "max.in.flight.requests.per.connection")]
    max_in_flight: Option<String>,
    #[serde(rename = "linger.ms")]
    linger_ms: Option<String>,
    #[serde(rename = "batch.size")]
    batch_size: Option<String>,
    #[serde(rename = "max.request.size")]
    max_request_size: Option<String>,
    #[serde(rename = "delivery.timeout.ms")]
    delivery_timeout_ms: Option<String>,
    #[serde(rename = "request.timeout.ms")]
    request_timeout_ms: Option<String>,
    #[serde(rename = "retry.backoff.ms")]
    retry_backoff_ms: Option<String>,
    #[serde(rename = "retry.backoff.max.ms")]
    retry_backoff_max_ms: Option<String>,
    #[serde(rename = "reconnect.backoff.ms")]
    reconnect_backoff_ms: Option<String>,
    /// The same as `reconnect.backoff.ms` in every recording.
    #[serde(rename = "reconnect.backoff.max.ms")]
    _reconnect_backoff_max_ms: Option<String>,
    #[serde(rename = "max.block.ms")]
    max_block_ms: Option<String>,
    #[serde(rename = "transactional.id")]
    transactional_id: Option<String>,
    #[serde(rename = "transaction.timeout.ms")]
    transaction_timeout_ms: Option<String>,
    #[serde(rename = "transaction.two.phase.commit.enable")]
    two_phase_commit: Option<String>,
}

/// A producer's settings and transactional id, or what its constructor throws.
pub(super) type Constructed = Result<(ProducerConfig, Option<String>), Exception>;

/// Reads the settings of `case`.
pub(super) fn settings(case: &ClientCase) -> Result<Constructed, Unsupported> {
    let s: Settings = read("the settings", &case.settings())?;
    let mut config = ProducerConfig::default();
    let written = Written {
        enable_idempotence: s.enable_idempotence.is_some(),
        delivery_timeout: s.delivery_timeout_ms.is_some(),
        transaction_timeout: s.transaction_timeout_ms.is_some(),
        transactional_id: s.transactional_id.is_some(),
        two_phase_commit: s.two_phase_commit.as_deref() == Some("true"),
    };
    set(&mut config.enable_idempotence, s.enable_idempotence.as_ref())?;
    set(&mut config.acks, s.acks.map(|acks| acks.replace("all", "-1")).as_ref())?;
    set(&mut config.retries, s.retries.as_ref())?;
    set(&mut config.max_in_flight_requests_per_connection, s.max_in_flight.as_ref())?;
    set(&mut config.batch_size, s.batch_size.as_ref())?;
    set(&mut config.max_request_size, s.max_request_size.as_ref())?;
    set(&mut config.transaction_timeout_ms, s.transaction_timeout_ms.as_ref())?;
    for (duration, text) in [
        (&mut config.linger, s.linger_ms),
        (&mut config.delivery_timeout, s.delivery_timeout_ms),
        (&mut config.request_timeout, s.request_timeout_ms),
        (&mut config.retry_backoff, s.retry_backoff_ms),
        (&mut config.retry_backoff_max, s.retry_backoff_max_ms),
        (&mut config.reconnect_backoff, s.reconnect_backoff_ms),
        (&mut config.max_block, s.max_block_ms),
    ] {
        let mut millis = duration.as_millis();
        set(&mut millis, text.as_ref())?;
        *duration = Duration::from_millis(millis);
    }
    Ok(validated(config, written).map(|config| (config, s.transactional_id)))
}

/// Reads `text`, if there is one.
pub(super) fn set<T: std::str::FromStr>(
    value: &mut T,
    text: Option<&String>,
) -> Result<(), Unsupported> {
    if let Some(text) = text {
        *value = text.parse().map_err(|_| Unsupported(format!("the setting {text}")))?;
    }
    Ok(())
}
