//! Tests of a batch that need no state (L-PIPE-4, steps 6 and 7).
//!
//! Kafka's counterparts: `UnifiedLog#analyzeAndValidateRecords` and `LogValidator`.

use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{Env, ErrorCode, Sequence, rule};

use super::{AppendOrigin, UnifiedLog};
use crate::log_config::LogConfig;

impl UnifiedLog {
    /// Tests a batch that a leader is about to append; returns its size in bytes.
    ///
    /// # Errors
    /// `INVALID_RECORD`, `MESSAGE_TOO_LARGE`, `INVALID_TIMESTAMP`.
    pub(super) fn validate_batch(
        &self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
        origin: AppendOrigin,
    ) -> Result<i32, ErrorCode> {
        let from_client = origin == AppendOrigin::Client;
        if from_client && batch.base_offset != 0 {
            rule!(env, "L-REC-3");
            return Err(ErrorCode::InvalidRecord);
        }
        let size = batch.size_in_bytes();
        if size > self.config().max_message_bytes {
            return Err(ErrorCode::MessageTooLarge);
        }
        if from_client {
            validate_client_batch(env, batch)?;
        }
        validate_records(env, self.config(), batch)?;
        Ok(size)
    }
}

/// What a client may send (L-REC-3).
fn validate_client_batch(env: &mut Env<'_>, batch: &RecordBatch) -> Result<(), ErrorCode> {
    rule!(env, "L-REC-3");
    let record_count = batch.record_count();
    let is_whole = record_count > 0 && batch.last_offset_delta.checked_add(1) == Some(record_count);
    let lacks_sequence = batch.has_producer_id() && batch.base_sequence < Sequence::ZERO;
    if !is_whole || batch.is_control() || lacks_sequence {
        return Err(ErrorCode::InvalidRecord);
    }
    Ok(())
}

/// Timestamps, and keys where the topic is compacted.
fn validate_records(
    env: &Env<'_>,
    config: &LogConfig,
    batch: &RecordBatch,
) -> Result<(), ErrorCode> {
    let after_max = i64::try_from(config.message_timestamp_after_max.as_millis());
    if batch.max_timestamp.saturating_sub(env.clock_ms()) > after_max.unwrap_or(i64::MAX) {
        return Err(ErrorCode::InvalidTimestamp);
    }
    let keyless = match &batch.payload {
        Payload::Records(records) => records.iter().any(|record| record.key.is_none()),
        _ => false,
    };
    if config.cleanup_compact && keyless {
        return Err(ErrorCode::InvalidRecord);
    }
    Ok(())
}
