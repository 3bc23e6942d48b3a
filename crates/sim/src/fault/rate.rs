//! How often a fault strikes, how long it lasts, and how often it did.

use eosim_actor::Site;
use eosim_types::{ActorId, Duration};

use super::FaultCx;

/// An exact probability, `numerator` in `denominator`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate {
    /// How many.
    pub numerator: u32,
    /// Out of how many; at least 1.
    pub denominator: u32,
}

impl Rate {
    /// It never happens, and nothing is drawn.
    pub const NEVER: Self = Self::new(0, 1);

    /// `numerator` in `denominator`.
    ///
    /// # Panics
    /// If that is more than 1 or no number at all.
    #[must_use]
    pub const fn new(numerator: u32, denominator: u32) -> Self {
        assert!(denominator > 0 && numerator <= denominator, "a rate is between 0 and 1");
        Self { numerator, denominator }
    }

    /// Draws whether it happens; the last picks do, so that 0 is quiet.
    #[inline]
    pub fn strikes(self, cx: &mut FaultCx<'_>, site: Site, entity: ActorId) -> bool {
        if self.numerator == 0 {
            return false;
        }
        cx.choose(site, entity, self.denominator) >= self.denominator - self.numerator
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self::NEVER
    }
}

/// A duration between two bounds, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Range {
    /// The least, which is the quiet choice.
    pub min: Duration,
    /// The most; less than 2³² µs above the least.
    pub max: Duration,
}

impl Range {
    /// Between `min` and `max` milliseconds.
    #[must_use]
    pub const fn from_millis(min: u64, max: u64) -> Self {
        Self { min: Duration::from_millis(min), max: Duration::from_millis(max) }
    }

    /// How many durations of whole microseconds there are.
    ///
    /// # Panics
    /// If the bounds are in the wrong order, or 2³² µs or more apart.
    #[inline]
    #[must_use]
    pub fn options(self) -> u32 {
        let span = self.max.0.checked_sub(self.min.0).expect("min is not above max");
        u32::try_from(span + 1).expect("a range spans less than 2^32 µs")
    }

    /// Draws one.
    pub fn draw(self, cx: &mut FaultCx<'_>, site: Site, entity: ActorId) -> Duration {
        self.min + Duration(u64::from(cx.choose(site, entity, self.options())))
    }
}

/// A number of times between two bounds, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Times {
    /// The least, which is the quiet choice.
    pub min: u32,
    /// The most.
    pub max: u32,
}

impl Times {
    /// Draws one.
    pub fn draw(self, cx: &mut FaultCx<'_>, site: Site, entity: ActorId) -> u32 {
        self.min + cx.choose(site, entity, self.max - self.min + 1)
    }
}

/// How often a fault was done, and how often that made a difference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Count {
    /// Done.
    pub applied: u64,
    /// It made a difference.
    pub effective: u64,
}

impl Count {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        self.applied = self.applied.saturating_add(other.applied);
        self.effective = self.effective.saturating_add(other.effective);
    }

    /// Counts one application.
    #[inline]
    pub fn apply(&mut self, effective: bool) {
        self.applied += 1;
        self.effective += u64::from(effective);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Cause;
    use eosim_actor::{Scripted, Stream};
    use eosim_types::Instant;

    #[test]
    fn the_last_picks_strike_and_zero_is_quiet() {
        const SITE: Site = Site::new("fault.test", Stream::Fault);
        let mut choices = Scripted::default().with("fault.test", &[0, 96, 97, 99]);
        let mut orders = Vec::new();
        let mut cx = FaultCx {
            now: Instant::START,
            cause: Cause(0),
            choices: &mut choices,
            orders: &mut orders,
        };
        let rate = Rate::new(3, 100);
        let struck = [(); 4].map(|()| rate.strikes(&mut cx, SITE, ActorId(0)));
        assert_eq!(struck, [false, false, true, true]);
        assert!(!Rate::NEVER.strikes(&mut cx, SITE, ActorId(0)));
    }
}
