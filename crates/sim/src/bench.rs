//! W1, the work that every simulator can do, on the general world and as a loop written by hand.
//!
//! Four clients make 2,000 round trips each to one server. A message travels 1–10 ms; of every
//! twenty attempts one answer is lost; a client gives up after 100 ms and tries again with the same
//! id; the server remembers the last id of each client and applies an id once. An *event* is a
//! delivered message. Nothing here reads a clock: whoever measures times the calls.

mod round_trips;
mod yardstick;

pub use round_trips::RoundTrips;
pub use yardstick::Yardstick;

/// Round trips in all.
pub const ROUND_TRIPS: u32 = CLIENTS as u32 * ROUND_TRIPS_EACH;

const CLIENTS: u16 = 4;
const ROUND_TRIPS_EACH: u32 = 2_000;
const LATENCY_MIN: u64 = 1_000;
const LATENCY_MAX: u64 = 10_000;
const TIMEOUT: u64 = 100_000;
const LOST_OF: u32 = 20;

/// What a run of W1 came to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Outcome {
    /// Messages delivered.
    pub events: u64,
    /// Ids that the server applied.
    pub applied: u32,
    /// Fingerprint of the run; 0 where none is kept.
    pub digest: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_applied_once() {
        let (mut general, mut yardstick) = (RoundTrips::new(), Yardstick::new());
        for seed in 0..5 {
            for outcome in [general.run(seed), yardstick.run(seed)] {
                assert_eq!(outcome.applied, ROUND_TRIPS);
                assert!((16_200..16_700).contains(&outcome.events), "{outcome:?}");
            }
        }
    }

    #[test]
    fn a_reused_world_repeats_a_seed() {
        let mut reused = RoundTrips::new();
        let first = reused.run(1);
        assert_ne!(reused.run(2).digest, first.digest);
        assert_eq!(reused.run(1), first);
        assert_eq!(RoundTrips::new().run(1), first);
    }

    #[test]
    fn seed_one_never_changes_in_any_build() {
        assert_eq!(RoundTrips::new().run(1).digest, 6_402_322_869_177_628_780);
    }
}
