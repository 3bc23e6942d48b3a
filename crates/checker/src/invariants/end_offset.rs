//! `end-offset`: a reader was told another end of a partition than the one it may know.
//!
//! Promised to those who ask for the end of a partition (`endOffsets()`; K-OFF-1, L-LST-1, L-LST-3,
//! KIP-207): under read_committed it is the last stable offset, below which nothing is undecided;
//! and whoever asks again, when he has been answered, is told no smaller one, whoever leads by then.
//! Not promised: that the end is the newest; anything between two readers, whose answers may cross;
//! nothing after an unclean election. What was aborted is not judged: when its marker was written,
//! nobody was told.

use eosim_types::message::IsolationLevel;

use crate::anomaly::Report;
use crate::facts::EndOffset;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::{Fate, Place};
use crate::need::Need;
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "end-offset",
    promise: "The end that a reader is told never goes back; under read_committed it is stable.",
    source: "K-OFF-1, L-LST-1, L-LST-3, KIP-207",
    file: "src/invariants/end_offset.rs",
    needs: &[&[Need::EndOffsets], &[Need::EndOffsets, Need::TransactionalSends, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let durable = |told: &&EndOffset| cx.setup.is_durable(told.partition.topic);
        for (at, told) in cx.facts.end_offsets.iter().enumerate().filter(|(_, t)| durable(t)) {
            went_back(cx, &cx.facts.end_offsets[..at], told, report);
            if told.isolation_level == IsolationLevel::ReadCommitted {
                undecided(cx, end, told, report);
            }
        }
    }
}

/// The same reader was told a greater end before.
fn went_back(cx: Context<'_>, earlier: &[EndOffset], told: &EndOffset, report: &mut Report) {
    let who = |of: &EndOffset| (of.actor, of.partition, of.isolation_level);
    let before = earlier.iter().rfind(|before| who(before) == who(told));
    let Some(before) = before.filter(|before| before.offset > told.offset) else { return };
    let words = cx.words();
    let summary = format!("{}, and then: {}", words.end_offset(before), words.end_offset(told));
    report.add(INFO.finding(told.when.order, &["end went back"], "L-LST-3", summary));
}

/// A record below the end was undecided when the end was told: its producer had not yet asked for
/// the commit that decided it, or nothing has decided it to this day. What is deleted holds nothing
/// back (L-LSO-5).
fn undecided(cx: Context<'_>, end: End<'_>, told: &EndOffset, report: &mut Report) {
    let Some(log) = end.logs.leader(told.partition) else { return };
    let places = end.logs.places_of(log);
    let below = &places[..places.partition_point(|place| place.offset < told.offset)];
    let is_later = end.dump.at >= told.when.at;
    let start = end.dump.replicas[log.replica].log_start_offset;
    let kept = below.iter().filter(|place| place.offset >= start);
    let mut undecided = kept.filter(|place| was_undecided(cx, place, told, is_later));
    let Some(place) = undecided.next() else { return };
    let summary = format!(
        "{}, above {}, {}, whose commit was not asked for by then",
        cx.words().end_offset(told),
        cx.words().place(place),
        words::fate(place.fate)
    );
    report.add(INFO.finding(told.when.order, &["end told", "undecided below"], "L-LST-1", summary));
}

fn was_undecided(cx: Context<'_>, place: &Place, told: &EndOffset, is_later: bool) -> bool {
    match place.fate {
        Fate::Open => is_later,
        Fate::Committed(_) => {
            let send = place.send.filter(|&send| cx.facts.is_unique(send));
            let transaction = send.and_then(|send| cx.facts.transaction_of(send));
            transaction.and_then(|of| of.commit_called).is_some_and(|called| called > told.when)
        }
        Fate::Plain | Fate::Aborted(_) => false,
    }
}
