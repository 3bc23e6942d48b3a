//! The disk: logs that no hosted partition has taken over.
//!
//! Kafka counterpart: `LogManager`. Of a broker only this survives a crash. Invariant: while the
//! process runs, a log is either here or in a [`Partition`](crate::replica_manager), never in both.

use alloc::collections::BTreeMap;

use eosim_actor::CrashKind;
use eosim_storage::{LogConfig, UnifiedLog};
use eosim_types::{Env, TopicPartition};

use crate::io::Io;

/// `LogManager`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct LogManager {
    logs: BTreeMap<TopicPartition, UnifiedLog>,
    /// The broker epoch of a life that ended in good order (`CleanShutdownFileHandler`).
    clean_shutdown: Option<i64>,
}

impl LogManager {
    /// Hands out the log of `tp`, a new one if there is none (`getOrCreateLog`).
    pub(crate) fn take_or_create(&mut self, io: &Io<'_>, tp: TopicPartition) -> UnifiedLog {
        let create = || {
            let topic = io.spec.topic_config(tp.topic);
            UnifiedLog::new(LogConfig::new(&topic, &io.spec.config))
        };
        self.logs.remove(&tp).unwrap_or_else(create)
    }

    /// The logs that no partition has taken over.
    pub(crate) fn logs(&self) -> impl Iterator<Item = (TopicPartition, &UnifiedLog)> {
        self.logs.iter().map(|(&tp, log)| (tp, log))
    }

    /// Takes a log back.
    pub(crate) fn put(&mut self, tp: TopicPartition, log: UnifiedLog) {
        self.logs.insert(tp, log);
    }

    /// Deletes the logs of partitions that are assigned to somebody else now (`asyncDelete`).
    pub(crate) fn delete_unassigned(&mut self, assigned: impl Fn(&TopicPartition) -> bool) {
        self.logs.retain(|tp, _| assigned(tp));
    }

    /// Opens every log (`loadLogs`). The broker epoch of the life before is returned if that one
    /// ended in good order, else -1.
    pub(crate) fn recover(&mut self, env: &mut Env<'_>) -> i64 {
        for log in self.logs.values_mut() {
            log.recover(env);
        }
        self.clean_shutdown.take().unwrap_or(-1)
    }

    /// The process has died. Logs closed in good order stay as they are.
    pub(crate) fn crash(&mut self, kind: CrashKind) {
        if kind != CrashKind::Stopped {
            for log in self.logs.values_mut() {
                log.crash(kind == CrashKind::PowerLoss);
            }
        }
    }

    /// Closes every log in good order.
    pub(crate) fn close(&mut self, env: &mut Env<'_>, broker_epoch: i64) {
        self.clean_shutdown = Some(broker_epoch);
        for log in self.logs.values_mut() {
            log.close(env);
        }
    }

    /// Empties every log.
    pub(crate) fn reset(&mut self) {
        self.clean_shutdown = None;
        for log in self.logs.values_mut() {
            log.reset();
        }
    }
}
