//! A disk that fails: what an append or a load finds out.
//!
//! Kafka counterpart: `LogDirFailureChannel`. There is one log directory; when it is offline, the
//! broker halts (`LogManager#handleLogDirFailure`). Invariant: the machine's, not the process's.

use eosim_actor::DiskError;
use eosim_types::ErrorCode;

/// The disk of one machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Disk {
    write: Option<DiskError>,
    load: Option<u8>,
    /// An append has failed since the disk broke.
    write_has_failed: bool,
    /// A load has failed since.
    load_has_failed: bool,
    /// The log directory is offline for the process that runs.
    is_offline: bool,
}

impl Disk {
    /// It will fail.
    pub(crate) fn break_by(&mut self, error: DiskError) {
        match error {
            DiskError::Load { percent } => {
                (self.load, self.load_has_failed) = (Some(percent), false);
            }
            DiskError::BeforeWrite | DiskError::AfterWrite => {
                (self.write, self.write_has_failed) = (Some(error), false);
            }
        }
    }

    /// It is sound; has it failed?
    pub(crate) fn mend(&mut self, error: DiskError) -> bool {
        match error {
            DiskError::Load { .. } => {
                self.load = None;
                core::mem::take(&mut self.load_has_failed)
            }
            DiskError::BeforeWrite | DiskError::AfterWrite => {
                self.write = None;
                core::mem::take(&mut self.write_has_failed)
            }
        }
    }

    /// Writes: before it comes an error, or after it, or none.
    pub(crate) fn write<T, E: From<ErrorCode>>(
        &mut self,
        write: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if self.is_offline {
            return Err(ErrorCode::KafkaStorageError.into());
        }
        let Some(error) = self.write else { return write() };
        if error == DiskError::AfterWrite {
            write()?;
        }
        (self.is_offline, self.write_has_failed) = (true, true);
        Err(ErrorCode::KafkaStorageError.into())
    }

    /// A load begins: how much of the log, in percent of its batches, it reads before an error.
    pub(crate) fn load(&mut self) -> Option<u8> {
        let percent = self.load.take()?;
        self.load_has_failed = true;
        Some(percent)
    }

    /// Is the log directory offline? Then the process must halt.
    pub(crate) fn is_offline(&self) -> bool {
        self.is_offline
    }

    /// The process is gone; the next one tries anew.
    pub(crate) fn end_process(&mut self) {
        self.is_offline = false;
    }
}
