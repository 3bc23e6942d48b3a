//! The one timer of an application, set only when it changes.

use eosim_actor::TimerKey;
use eosim_types::Instant;

use crate::network_client::ClientOut;

const KEY: TimerKey = TimerKey(0);

/// When the application goes on by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Alarm(Instant);

impl Alarm {
    /// Not set.
    pub(super) const OFF: Self = Self(Instant::FAR);

    /// It has gone off.
    pub(super) const fn rang(&mut self) {
        self.0 = Instant::FAR;
    }

    /// Sets it to `at`, or off for [`Instant::FAR`].
    pub(super) fn set(&mut self, at: Instant, out: &mut ClientOut) {
        if at == self.0 {
            return;
        }
        if at == Instant::FAR {
            out.cancel_timer(KEY);
        } else {
            out.set_timer(KEY, at);
        }
        self.0 = at;
    }
}
