//! What a broker does from time to time.
//!
//! Kafka counterpart: the tasks of `ReplicaManager#startup` and `LogManager#startup`:
//! `isr-expiration`, `highwatermark-checkpoint`, `kafka-log-start-offset-checkpoint`,
//! `PeriodicProducerExpirationCheck`, `kafka-log-retention`, the log cleaner; and the operating
//! system's writing of dirty pages.

use alloc::vec::Vec;

use eosim_types::{Duration, Instant, rule};

use super::ReplicaManager;
use crate::io::Io;
use crate::timers::Timer;

const TASKS: [Task; 7] = [
    Task::ShrinkIsr,
    Task::CheckpointHighWatermarks,
    Task::CheckpointLogStartOffsets,
    Task::RemoveExpiredProducers,
    Task::DeleteOldSegments,
    Task::CleanLogs,
    Task::FlushPageCache,
];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Task {
    ShrinkIsr,
    CheckpointHighWatermarks,
    CheckpointLogStartOffsets,
    RemoveExpiredProducers,
    DeleteOldSegments,
    CleanLogs,
    FlushPageCache,
}

impl Task {
    fn interval(self, io: &Io<'_>) -> Duration {
        let config = &io.spec.config;
        match self {
            Self::ShrinkIsr => Duration(config.replica_lag_time_max.0 / 2),
            Self::CheckpointHighWatermarks => config.high_watermark_checkpoint_interval,
            Self::CheckpointLogStartOffsets => config.log_start_offset_checkpoint_interval,
            Self::RemoveExpiredProducers => config.producer_id_expiration_check_interval,
            Self::DeleteOldSegments => config.log_retention_check_interval,
            Self::CleanLogs => config.log_cleaner_backoff,
            Self::FlushPageCache => config.page_cache_flush_interval,
        }
    }
}

/// When each task runs next.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct MaintenanceSchedule {
    next: [Instant; TASKS.len()],
}

impl ReplicaManager {
    /// Begins the periodic tasks.
    pub(crate) fn start_maintenance(&mut self, io: &mut Io<'_>) {
        for task in TASKS {
            self.maintenance.next[task as usize] = io.now() + task.interval(io);
        }
        self.arm_maintenance(io);
    }

    /// Runs the tasks that are due.
    pub(crate) fn run_maintenance(&mut self, io: &mut Io<'_>) {
        for task in TASKS {
            if self.maintenance.next[task as usize] <= io.now() {
                self.maintenance.next[task as usize] = io.now() + task.interval(io);
                self.run_task(io, task);
            }
        }
        self.arm_maintenance(io);
    }

    /// Runs all tasks now.
    pub(crate) fn hurry_maintenance(&mut self, io: &mut Io<'_>) {
        self.maintenance.next = [io.now(); TASKS.len()];
        self.run_maintenance(io);
    }

    fn arm_maintenance(&self, io: &mut Io<'_>) {
        if let Some(&at) = self.maintenance.next.iter().min() {
            io.wake_at(Timer::Maintenance, at);
        }
    }

    fn run_task(&mut self, io: &mut Io<'_>, task: Task) {
        let mut moved = Vec::new();
        for partition in self.partitions.iter_mut() {
            let log_start_offset = partition.log.log_start_offset();
            match task {
                Task::ShrinkIsr => partition.maybe_shrink_isr(io),
                Task::CheckpointHighWatermarks => {
                    rule!(io.env, "L-HW-5");
                    partition.log.checkpoint_high_watermark();
                }
                Task::CheckpointLogStartOffsets => {
                    rule!(io.env, "L-SNP-7");
                    partition.log.checkpoint_log_start_offset();
                }
                Task::DeleteOldSegments => {
                    rule!(io.env, "L-DEL-2");
                    partition.log.delete_old_segments(&mut io.env);
                }
                Task::CleanLogs if partition.log.config().cleanup_compact => {
                    rule!(io.env, "L-CMP-1");
                    partition.log.clean(&mut io.env);
                }
                Task::CleanLogs => {}
                Task::FlushPageCache => partition.log.flush(),
                Task::RemoveExpiredProducers => {
                    rule!(io.env, "L-EXP-1");
                    partition.log.remove_expired_producers(&mut io.env);
                }
            }
            if partition.log.log_start_offset() != log_start_offset {
                moved.push(partition.topic_partition);
            }
        }
        for tp in moved {
            self.note_change(tp);
            self.fetchers.values_mut().for_each(|fetcher| fetcher.question_may_change(tp));
        }
    }
}
