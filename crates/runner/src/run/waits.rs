//! Since when that which does not move has waited for the same.

use eosim_checker::Stuck;
use eosim_types::{Duration, Instant};

/// How often, in virtual time, it is looked at: what waits for longer is known to that accuracy.
const EVERY: Duration = Duration::from_millis(2_000);

/// What did not move when it was looked at last, each with when that began.
#[derive(Default)]
pub(super) struct Waits {
    seen: Vec<Stuck>,
    looked_at: Option<Instant>,
}

impl Waits {
    /// Forgets the run before.
    pub(super) fn clear(&mut self) {
        self.seen.clear();
        self.looked_at = None;
    }

    /// Is it time for another look?
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.looked_at.is_none_or(|before| now >= before + EVERY)
    }

    /// Another look, at `now`, at what does not move: what was there before, in the same words, has
    /// waited since then.
    pub(super) fn look(&mut self, now: Instant, mut stuck: Vec<Stuck>) -> &[Stuck] {
        for one in &mut stuck {
            let is_same =
                |seen: &&Stuck| (&seen.what, &seen.waiting_for) == (&one.what, &one.waiting_for);
            one.since = self.seen.iter().find(is_same).map_or(now, |seen| seen.since);
        }
        self.seen = stuck;
        self.looked_at = Some(now);
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_the_same_has_waited_since_it_was_first_seen() {
        let stuck = |what: &str, waiting_for: &str| Stuck {
            what: what.into(),
            waiting_for: waiting_for.into(),
            since: Instant::START,
            rule: "L-FO-1",
        };
        let at = |ms| Instant::START + Duration::from_millis(ms);
        let mut waits = Waits::default();
        assert!(waits.is_due(at(0)));
        waits.look(at(0), vec![stuck("a", "x"), stuck("b", "x")]);
        assert!(!waits.is_due(at(1_999)) && waits.is_due(at(2_000)));
        waits.look(at(2_000), vec![stuck("a", "x"), stuck("b", "y")]);
        let last = waits.look(at(4_000), vec![stuck("a", "x"), stuck("b", "y"), stuck("c", "x")]);
        let since: Vec<Instant> = last.iter().map(|stuck| stuck.since).collect();
        assert_eq!(since, [at(0), at(2_000), at(4_000)]);
    }
}
