//! How long is waited before the next attempt (`ExponentialBackoff`).

use eosim_actor::{Cx, Site};
use eosim_types::Duration;

/// Waits that double with each attempt up to a maximum, between 0.80 and 1.19 times of that; all
/// alike where the maximum leaves no room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ExponentialBackoff {
    /// The first wait.
    pub(crate) initial: Duration,
    /// The longest one.
    pub(crate) max: Duration,
}

impl ExponentialBackoff {
    /// The wait after `attempts` earlier ones; `jitter` draws the factor, 0 the least.
    pub(crate) fn backoff(self, attempts: i32, jitter: Site, cx: &mut Cx<'_>) -> Duration {
        let Self { initial, max } = self;
        if max <= initial {
            return max.min(initial);
        }
        let doubled = initial.0.saturating_mul(1 << attempts.clamp(0, 31));
        let percent = 80 + u64::from(cx.choose(jitter, 40));
        let jittered = doubled.min(max.0).saturating_mul(percent) / 100;
        Duration::from_millis(Duration(jittered).as_millis()).min(max)
    }
}

/// For tests of what draws.
#[cfg(test)]
pub(crate) mod testing {
    use eosim_actor::{Cx, Scripted, Site};
    use eosim_types::{ActorId, DefectSet, Env, Instant, Marks, version::KafkaVersion};

    /// Calls `body` at the start of a run in which `pick` is drawn at `site`.
    pub(crate) fn with_pick<T>(site: Site, pick: u32, body: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        let mut choices = Scripted::default().with(site.name, &[pick]);
        let mut marks = Marks::new();
        let env = Env {
            now: Instant::START,
            clock_skew_ms: 0,
            kafka: KafkaVersion::default(),
            backports: eosim_types::CapabilitySet::NONE,
            defects: DefectSet::NONE,
            marks: &mut marks,
        };
        body(&mut Cx { id: ActorId(7), env, choices: &mut choices })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::with_pick;
    use super::*;
    use eosim_actor::Stream;

    const JITTER: Site = Site::new("test.jitter", Stream::Actor);

    #[test]
    fn backoff_doubles_up_to_its_maximum_p_cfg_9() {
        let ms = Duration::from_millis;
        let cases = [
            (0, 0, 100, 1000, 80),
            (0, 39, 100, 1000, 119),
            (1, 20, 100, 1000, 200),
            (3, 20, 100, 1000, 800),
            (4, 20, 100, 1000, 1000),
            (9, 0, 100, 1000, 800),
            (9, 39, 100, 1000, 1000),
            (2, 0, 20, 20, 20),
        ];
        for (attempts, pick, initial, max, expected) in cases {
            let backoff = ExponentialBackoff { initial: ms(initial), max: ms(max) };
            let drawn = with_pick(JITTER, pick, |cx| backoff.backoff(attempts, JITTER, cx));
            assert_eq!(drawn, ms(expected), "{attempts} {pick}");
        }
    }
}
