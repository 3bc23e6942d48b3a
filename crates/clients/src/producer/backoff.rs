//! How long a batch waits before its next attempt (`ExponentialBackoff`, P-CFG-9).

use eosim_actor::{Cx, Site, Stream};
use eosim_types::{Duration, rule};

/// Hundredths of the factor 0.80 … 1.19; 0 is the shortest wait.
const JITTER: Site = Site::new("producer.retry_backoff_jitter", Stream::Actor);

/// P-CFG-9 after `attempts` re-enqueues. The factor is drawn once for each wait, where the real
/// client draws anew at every look at the batch.
pub(crate) fn retry_backoff(
    attempts: i32,
    initial: Duration,
    max: Duration,
    cx: &mut Cx<'_>,
) -> Duration {
    rule!(cx.env, "P-CFG-9");
    if max <= initial {
        return max.min(initial);
    }
    let doubled = initial.0.saturating_mul(1 << attempts.clamp(0, 31));
    let percent = 80 + u64::from(cx.choose(JITTER, 40));
    let jittered = doubled.min(max.0).saturating_mul(percent) / 100;
    Duration::from_millis(Duration(jittered).as_millis()).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_actor::Scripted;
    use eosim_types::{ActorId, DefectSet, Env, Instant, Marks, version::KafkaVersion};

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
            let mut choices = Scripted::default().with(JITTER.name, &[pick]);
            let mut marks = Marks::new();
            let env = Env {
                now: Instant::START,
                clock_skew_ms: 0,
                kafka: KafkaVersion::default(),
                defects: DefectSet::NONE,
                marks: &mut marks,
            };
            let mut cx = Cx { id: ActorId(7), env, choices: &mut choices };
            let backoff = retry_backoff(attempts, ms(initial), ms(max), &mut cx);
            assert_eq!(backoff, ms(expected), "{attempts} {pick}");
        }
    }
}
