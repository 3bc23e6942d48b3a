//! When the recorder took client and broker for settled: after 40 ms, at the first look of one
//! every 20 ms that finds 120 ms without activity.

use eosim_types::{Duration, Instant};

const FIRST_LOOK: Duration = Duration::from_millis(40);
const NEXT_LOOK: Duration = Duration::from_millis(20);
const QUIET: Duration = Duration::from_millis(120);

/// A settling under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Settling {
    begun: Instant,
}

impl Settling {
    pub(super) const fn begin(now: Instant) -> Self {
        Self { begun: now }
    }

    /// The next look after `now`.
    pub(super) fn next_look(self, now: Instant) -> Instant {
        let mut look = self.begun + FIRST_LOOK;
        while look <= now {
            look += NEXT_LOOK;
        }
        look
    }

    /// Is it over at `now`?
    pub(super) fn is_over(self, now: Instant, last_activity: Instant) -> bool {
        let before = Instant(now.0.saturating_sub(1));
        now > self.begun && self.next_look(before) == now && now.since(last_activity) >= QUIET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_after_40_ms_and_then_every_20() {
        let at = |ms| Instant::START + Duration::from_millis(ms);
        let settling = Settling::begin(at(1_000));
        assert_eq!(settling.next_look(at(1_000)), at(1_040));
        assert_eq!(settling.next_look(at(1_040)), at(1_060));
        let over = |now, active| settling.is_over(at(now), at(active));
        assert_eq!([over(1_000, 0), over(1_040, 0), over(1_050, 0)], [false, true, false]);
        assert_eq!([over(1_120, 1_001), over(1_140, 1_001)], [false, true]);
    }
}
