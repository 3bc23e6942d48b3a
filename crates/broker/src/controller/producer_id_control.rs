//! Blocks of producer ids.
//!
//! Kafka counterpart: `ProducerIdControlManager`. Invariant: the next id never falls, so no id is
//! handed out twice; ids may be lost (C-PID-11).

use eosim_types::message::{AllocateProducerIdsRequest, AllocateProducerIdsResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::{Defect, Env, ErrorCode, ProducerId, rule};

use super::cluster_control::check_broker_epoch;

/// Hands out blocks. Its state stands in the metadata log and survives the controller.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ProducerIdControlManager {
    next_producer_id: i64,
}

impl ProducerIdControlManager {
    /// `generateNextProducerId` (C-PID-9): the block is taken when the record is in the metadata
    /// log, whether or not the answer arrives.
    pub(super) fn generate_next_producer_id(
        &mut self,
        image: &MetadataImage,
        request: AllocateProducerIdsRequest,
        block_size: i32,
        env: &mut Env<'_>,
    ) -> AllocateProducerIdsResponse {
        rule!(env, "C-PID-9");
        if !check_broker_epoch(image, request.broker, request.broker_epoch) {
            return refusal(ErrorCode::StaleBrokerEpoch);
        }
        let mut first = self.next_producer_id;
        if env.on(Defect::ControllerHandsOutCurrentBlock) {
            first = (first - i64::from(block_size)).max(0);
        }
        if first > i64::MAX - i64::from(block_size) {
            return refusal(ErrorCode::UnknownServerError);
        }
        self.replay(self.next_producer_id + i64::from(block_size), env);
        AllocateProducerIdsResponse {
            error: ErrorCode::None,
            producer_id_start: ProducerId(first),
            producer_id_len: block_size,
        }
    }

    /// Applies a `ProducerIdsRecord` (C-PID-10): gaps are fine.
    ///
    /// # Panics
    /// If the record does not raise the next id.
    fn replay(&mut self, next_producer_id: i64, env: &mut Env<'_>) {
        rule!(env, "C-PID-10");
        assert!(
            next_producer_id > self.next_producer_id,
            "next producer id from record is {next_producer_id}, current is {}",
            self.next_producer_id
        );
        self.next_producer_id = next_producer_id;
    }
}

fn refusal(error: ErrorCode) -> AllocateProducerIdsResponse {
    AllocateProducerIdsResponse { error, producer_id_start: ProducerId(0), producer_id_len: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::fixture::{cluster, with_env};
    use eosim_types::BrokerId;

    fn manager(next_producer_id: i64) -> ProducerIdControlManager {
        ProducerIdControlManager { next_producer_id }
    }

    fn allocate(
        manager: &mut ProducerIdControlManager,
        broker: i32,
        broker_epoch: i64,
    ) -> (ErrorCode, i64) {
        let image = cluster(&[1, 2, 3, 4], &[]).initial_image();
        let request = AllocateProducerIdsRequest { broker: BrokerId(broker), broker_epoch };
        let block = with_env(|env| manager.generate_next_producer_id(&image, request, 1000, env));
        (block.error, block.producer_id_start.0)
    }

    /// Case 108.
    #[test]
    fn the_first_block_begins_at_0_c_pid_9() {
        let mut fresh = manager(0);
        assert_eq!(allocate(&mut fresh, 1, 1), (ErrorCode::None, 0));
        assert_eq!(fresh, manager(1000));
    }

    /// Case 109.
    #[test]
    fn blocks_rise_and_gaps_are_fine_c_pid_10() {
        let mut control = manager(42);
        assert_eq!(allocate(&mut control, 1, 1), (ErrorCode::None, 42));
        let mut control = manager(42);
        with_env(|env| control.replay(50, env));
        assert_eq!(allocate(&mut control, 1, 1), (ErrorCode::None, 50));
    }

    /// Case 109.
    #[test]
    #[should_panic(expected = "next producer id from record is 42, current is 42")]
    fn a_record_that_does_not_rise_is_a_broken_assumption_c_pid_10() {
        with_env(|env| manager(42).replay(42, env));
    }

    /// Case 110.
    #[test]
    fn refusals_c_pid_9() {
        use ErrorCode::{None, StaleBrokerEpoch, UnknownServerError};
        let last = i64::MAX - 1000;
        let rows = [
            (0, 99, 1, StaleBrokerEpoch),
            (0, 1, 99, StaleBrokerEpoch),
            (i64::MAX - 1, 1, 1, UnknownServerError),
            (last + 1, 1, 1, UnknownServerError),
            (last, 1, 1, None),
        ];
        for (next, broker, broker_epoch, error) in rows {
            let answer = allocate(&mut manager(next), broker, broker_epoch).0;
            assert_eq!(answer, error, "next {next}, broker {broker} epoch {broker_epoch}");
        }
    }

    /// Case 111.
    #[test]
    fn a_hundred_blocks_for_four_brokers_do_not_overlap_c_pid_9() {
        let mut control = manager(0);
        for n in 0..100 {
            let broker = n % 4 + 1;
            let block = allocate(&mut control, broker, i64::from(broker));
            assert_eq!(block, (ErrorCode::None, i64::from(n) * 1000));
        }
        assert_eq!(control, manager(100_000));
    }
}
