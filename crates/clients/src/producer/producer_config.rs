//! Which settings make a producer (`ProducerConfig#postProcessAndValidateIdempotenceConfigs`,
//! `KafkaProducer#configureDeliveryTimeout`; P-CFG).

use eosim_types::config::ProducerConfig;

use crate::exception::{Exception, ExceptionClass};

/// How many batches of one producer a leader remembers, and so how many may be in flight with
/// idempotence on (P-CFG-4).
const MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION_FOR_IDEMPOTENCE: u32 = 5;

/// Settings of which it matters that the user wrote them, or that are none of the producer's
/// own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// `enable.idempotence` was written.
    pub enable_idempotence: bool,
    /// `delivery.timeout.ms` was written.
    pub delivery_timeout: bool,
    /// `transaction.timeout.ms` was written.
    pub transaction_timeout: bool,
    /// There is a `transactional.id`.
    pub transactional_id: bool,
    /// `transaction.two.phase.commit.enable` is on.
    pub two_phase_commit: bool,
}

/// The settings that a producer takes in place of `config`.
///
/// # Errors
///
/// What the constructor of a real producer throws (P-CFG-1, P-CFG-2, P-CFG-3, P-CFG-5, P-CFG-6).
pub fn validated(
    mut config: ProducerConfig,
    written: Written,
) -> Result<ProducerConfig, Exception> {
    let refused = || Exception::new(ExceptionClass::Config);
    let max_in_flight = config.max_in_flight_requests_per_connection;
    if !(-1..=1).contains(&config.acks) || config.retries < 0 || max_in_flight == 0 {
        return Err(refused()); // no such value
    }
    if config.enable_idempotence {
        let unsafe_settings = config.retries == 0 || config.acks != -1;
        if unsafe_settings && written.enable_idempotence {
            return Err(refused()); // P-CFG-1
        }
        let max = MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION_FOR_IDEMPOTENCE;
        if max_in_flight > max {
            return Err(refused()); // P-CFG-2
        }
        config.enable_idempotence = !unsafe_settings;
    }
    if written.transactional_id && !config.enable_idempotence {
        return Err(refused()); // P-CFG-3
    }
    if written.two_phase_commit && written.transaction_timeout {
        return Err(refused()); // P-CFG-6
    }
    let least = config.linger + config.request_timeout;
    if config.delivery_timeout < least {
        if written.delivery_timeout {
            return Err(Exception::caused_by(ExceptionClass::Kafka, refused())); // P-CFG-5
        }
        config.delivery_timeout = least;
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use eosim_types::Duration;

    type Case = (&'static str, fn(&mut ProducerConfig, &mut Written), Result<bool, &'static str>);

    /// Each row: what is written, then whether idempotence is on, or what is thrown.
    const CASES: &[Case] = &[
        ("defaults", |_, _| {}, Ok(true)),
        ("P-CFG-1 acks=1", |c, _| c.acks = 1, Ok(false)),
        ("P-CFG-1 retries=0", |c, _| c.retries = 0, Ok(false)),
        (
            "P-CFG-1 explicit",
            |c, w| (c.retries, w.enable_idempotence) = (0, true),
            Err("ConfigException"),
        ),
        ("P-CFG-2", |c, _| c.max_in_flight_requests_per_connection = 6, Err("ConfigException")),
        (
            "P-CFG-2 off",
            |c, _| {
                c.max_in_flight_requests_per_connection = 6;
                c.enable_idempotence = false;
            },
            Ok(false),
        ),
        ("P-CFG-3", |c, w| (c.acks, w.transactional_id) = (1, true), Err("ConfigException")),
        ("P-CFG-5 raised", |c, _| c.delivery_timeout = Duration::from_millis(1), Ok(true)),
        (
            "P-CFG-5 refused",
            |c, w| {
                c.delivery_timeout = Duration::from_millis(1);
                w.delivery_timeout = true;
            },
            Err("KafkaException"),
        ),
        (
            "P-CFG-6",
            |_, w| (w.two_phase_commit, w.transaction_timeout) = (true, true),
            Err("ConfigException"),
        ),
        ("P-CFG-6 alone", |_, w| w.two_phase_commit = true, Ok(true)),
    ];

    #[test]
    fn settings_that_make_a_producer_p_cfg_1_to_6() {
        for (name, write, expected) in CASES {
            let (mut config, mut written) = (ProducerConfig::default(), Written::default());
            write(&mut config, &mut written);
            let made = validated(config, written);
            let seen = made.as_ref().map(|config| config.enable_idempotence);
            let seen = seen.map_err(|thrown| thrown.class.name());
            assert_eq!(seen, expected.map_err(String::from), "{name}");
            if let Ok(config) = made {
                assert!(config.delivery_timeout >= config.linger + config.request_timeout);
            }
        }
    }
}
