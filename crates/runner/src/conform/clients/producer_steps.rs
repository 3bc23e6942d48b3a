//! The steps of a producing application, and its settings.

use std::collections::BTreeMap;

use eosim_sim::cluster::producer::{Written, validated};
use eosim_sim::cluster::{Exception, ExceptionClass};
use eosim_types::Duration;
use eosim_types::config::ProducerConfig;
use serde::Deserialize;
use serde_json::Value;

use super::case::{ClientCase, read};
use crate::conform::fields::Unsupported;

/// One step.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Step {
    Init {},
    Begin {},
    Send {
        partition: i32,
        value: String,
        #[serde(default)]
        size: u32,
    },
    Flush {},
    Offsets {
        group: String,
        offsets: BTreeMap<String, i64>,
        #[serde(default)]
        member: Option<String>,
        #[serde(default)]
        generation: Option<i32>,
        #[serde(default)]
        instance: Option<String>,
    },
    Commit {},
    Abort {},
    Close {
        #[serde(default)]
        timeout_ms: Option<u64>,
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

/// One step, and whether it runs in a thread of its own.
pub(super) fn read_step(step: &Value) -> Result<(Step, bool), Unsupported> {
    let mut step = step.clone();
    let own = step.as_object_mut().and_then(|fields| fields.remove("async"));
    Ok((read("the step", &step)?, own == Some(Value::Bool(true))))
}

/// The settings that the model has, as the user wrote them; others have no effect, as in Kafka.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
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
    #[serde(rename = "reconnect.backoff.max.ms")]
    reconnect_backoff_max_ms: Option<String>,
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
    let settings: Settings = read("the settings", &case.settings())?;
    Ok(construct(settings))
}

fn construct(s: Settings) -> Constructed {
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
        (&mut config.reconnect_backoff_max, s.reconnect_backoff_max_ms),
        (&mut config.max_block, s.max_block_ms),
    ] {
        let mut millis = duration.as_millis();
        set(&mut millis, text.as_ref())?;
        *duration = Duration::from_millis(millis);
    }
    if s.transactional_id.as_deref() == Some("") {
        return Err(not_a_setting());
    }
    validated(config, written).map(|config| (config, s.transactional_id))
}

pub(super) fn not_a_setting() -> Exception {
    Exception::new(ExceptionClass::Config)
}

/// Reads `text`, if there is one; the constructor throws if it is no such value.
pub(super) fn set<T: std::str::FromStr>(
    value: &mut T,
    text: Option<&String>,
) -> Result<(), Exception> {
    if let Some(text) = text {
        *value = text.trim().parse().map_err(|_| not_a_setting())?;
    }
    Ok(())
}
