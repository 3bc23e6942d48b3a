//! `producer-identity-shared`: two producer sessions wrote with the same producer id and epoch.
//!
//! Promised (KIP-98, C-PID-1): a (producer id, epoch) belongs to one session; ids come from blocks
//! that are handed out once, and every initialization of a transactional id raises the epoch or
//! takes a fresh id. Not promised: that one session keeps its identity (N7).

use eosim_types::{ProducerEpoch, ProducerId};

use crate::anomaly::Report;
use crate::facts::Index;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "producer-identity-shared",
    promise: "A producer id and epoch belong to one producer session.",
    source: "KIP-98, C-PID-1, C-INIT-1",
    file: "src/invariants/producer_identity_shared.rs",
    needs: &[&[Need::Sends, Need::EndLogs]],
};

pub(super) struct Check;

type Use = ((ProducerId, ProducerEpoch), Index, Index);

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let places = end.logs.places.iter().filter(|place| place.producer_id != ProducerId::NONE);
        let mut uses: Vec<Use> = places
            .filter_map(|place| {
                let send = place.send.filter(|&send| cx.facts.is_unique(send))?;
                let identity = (place.producer_id, place.producer_epoch);
                Some((identity, cx.facts.send(send).session, send))
            })
            .collect();
        uses.sort_unstable();
        for pair in uses.windows(2) {
            let [(identity, session, one), (other_identity, other_session, other)] = pair else {
                continue;
            };
            if identity == other_identity && session != other_session {
                let summary = format!(
                    "producer id {} epoch {} wrote {} and {}",
                    identity.0,
                    identity.1,
                    cx.words().send(*one),
                    cx.words().send(*other)
                );
                let subject = identity.0.0.cast_unsigned();
                report.add(INFO.finding(subject, &["two sessions"], "C-PID-1", summary));
            }
        }
    }
}
