//! The broker's side of AlterPartition: answers, and proposals that must be sent again.
//!
//! Kafka counterpart: `AlterPartitionManager`. Invariant: at most one proposal per partition is
//! under way (L-ISR-1).

use alloc::vec::Vec;

use eosim_types::message::AlterPartitionResponse;
use eosim_types::{Duration, TopicPartition};

use super::ReplicaManager;
use super::high_watermark::AlterPartitionOutcome;
use crate::io::Io;
use crate::timers::Timer;

/// Pause before a proposal is sent again (`DefaultAlterPartitionManager`: 50 ms).
const RETRY_BACKOFF: Duration = Duration::from_millis(50);

impl ReplicaManager {
    /// The controller has answered; the high watermark may move (L-HW-2).
    pub(crate) fn on_alter_partition(&mut self, io: &mut Io<'_>, response: AlterPartitionResponse) {
        let tp = response.partition;
        let Some(partition) = self.partitions.get_mut(tp) else { return };
        match partition.on_alter_partition_response(io, response) {
            AlterPartitionOutcome::Settled => {
                partition.maybe_increment_leader_high_watermark(io);
                self.note_change(tp);
            }
            AlterPartitionOutcome::Retry => self.retry_alter_partition(io, tp),
        }
    }

    /// The proposal is sent again after a pause: nobody knows whether it took effect.
    pub(crate) fn retry_alter_partition(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        let at = io.now() + RETRY_BACKOFF;
        self.alter_partition_retries.insert(tp, at);
        io.wake_at(Timer::AlterPartition, at);
    }

    /// Sends the proposals whose pause is over.
    pub(crate) fn resend_alter_partitions(&mut self, io: &mut Io<'_>) {
        let now = io.now();
        let retries = self.alter_partition_retries.iter();
        let due: Vec<_> = retries.filter(|(_, at)| **at <= now).map(|(&tp, _)| tp).collect();
        for tp in due {
            self.alter_partition_retries.remove(&tp);
            if let Some(partition) = self.partitions.get(tp) {
                partition.send_alter_partition(io);
            }
        }
        if let Some(&at) = self.alter_partition_retries.values().min() {
            io.wake_at(Timer::AlterPartition, at);
        }
    }
}
