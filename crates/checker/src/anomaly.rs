//! A broken promise as it is reported, and the collector that keeps reports few and distinct.
//!
//! No Kafka counterpart. The fingerprint covers the invariant and the causal skeleton, never ids,
//! offsets or times, so that equal failures of many seeds fall together.

use eosim_types::Instant;

/// One broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// Name of the invariant.
    pub invariant: &'static str,
    /// When it was noticed, virtual time.
    pub at: Instant,
    /// At which step of the run it was noticed.
    pub step: u64,
    /// One or two sentences: the record, the offsets, who was told what and when, the markers.
    pub summary: String,
    /// The rule that promises otherwise.
    pub rule: &'static str,
    /// The causal skeleton: what kind of event led to what, in order.
    pub skeleton: Vec<&'static str>,
    /// Of the invariant and the skeleton.
    pub fingerprint: u64,
}

/// What an invariant found, before time and step are added.
pub(crate) struct Finding {
    /// Which promise.
    pub(crate) invariant: &'static str,
    /// What it is about (a send, an offset, …); the same subject is reported once per skeleton.
    pub(crate) subject: u64,
    /// The causal skeleton.
    pub(crate) skeleton: Vec<&'static str>,
    /// The rule.
    pub(crate) rule: &'static str,
    /// The sentence.
    pub(crate) summary: String,
}

/// At most so many anomalies of one invariant and skeleton are kept.
const KEPT_PER_FINGERPRINT: usize = 8;

/// Anomalies in the order in which they were found.
#[derive(Default, Debug)]
pub(crate) struct Report {
    pub(crate) at: Instant,
    pub(crate) step: u64,
    anomalies: Vec<Anomaly>,
    /// (fingerprint, subject) of what is in `anomalies`.
    subjects: Vec<(u64, u64)>,
}

impl Report {
    /// Takes `finding` unless the same was said before.
    pub(crate) fn add(&mut self, finding: Finding) {
        let fingerprint = fingerprint(finding.invariant, &finding.skeleton);
        let key = (fingerprint, finding.subject);
        let of_kind = self.subjects.iter().filter(|known| known.0 == fingerprint).count();
        if of_kind >= KEPT_PER_FINGERPRINT || self.subjects.contains(&key) {
            return;
        }
        self.subjects.push(key);
        self.anomalies.push(Anomaly {
            invariant: finding.invariant,
            at: self.at,
            step: self.step,
            summary: finding.summary,
            rule: finding.rule,
            skeleton: finding.skeleton,
            fingerprint,
        });
    }

    pub(crate) fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    pub(crate) fn reset(&mut self) {
        self.at = Instant::START;
        self.step = 0;
        self.anomalies.clear();
        self.subjects.clear();
    }
}

/// FNV-1a over the invariant's name and the skeleton.
fn fingerprint(invariant: &str, skeleton: &[&str]) -> u64 {
    let parts = core::iter::once(invariant).chain(skeleton.iter().copied());
    parts.fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        part.bytes()
            .chain([0])
            .fold(hash, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    })
}
