//! `skipped`: a reader's position moved over records that it should have been given.
//!
//! Promised: a reader goes on where it stood (K-POS-1, K-POS-2), is given every visible record
//! between its position before and after (K-FILT-5, K-FILT-6; Jepsen: poll-skip, int-poll-skip),
//! and does not step back by itself. Not promised: that offsets are without gaps (markers, aborted
//! batches: N4, N14), or anything about records that deletion or compaction took away.

use eosim_types::message::IsolationLevel;

use crate::anomaly::Report;
use crate::facts::Poll;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::Place;
use crate::need::Need;
use crate::observe::{Kind, Seen};
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "skipped",
    promise: "A reader is given every visible record that its position passes.",
    source: "K-POS-2, K-FILT-5, K-FILT-6; Jepsen: poll-skip, int-poll-skip, nonmonotonic-poll",
    file: "src/invariants/skipped.rs",
    needs: &[&[Need::Polls], &[Need::Polls, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Polled]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        let Seen::Polled { poll: at, position } = seen else { return };
        let poll = cx.facts.poll(at);
        let shape = match position {
            Some(position) if position < poll.from => "position jumped forward",
            Some(position) if position > poll.from => "position jumped back",
            _ if poll.to < poll.from => "position moved back",
            _ => return,
        };
        let stood = position.unwrap_or(poll.from);
        let summary = format!("{}, though it stood at {stood}: {shape}", cx.words().poll(poll));
        report.add(INFO.finding(u64::from(at), &[shape], "K-POS-2", summary));
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let durable = |poll: &&Poll| cx.setup.is_durable(poll.partition.topic);
        for poll in cx.facts.polls.iter().filter(durable) {
            let Some(log) = end.logs.leader(poll.partition) else { continue };
            for place in passed(end.logs.places_of(log), poll) {
                let is_due = poll.isolation_level == IsolationLevel::ReadUncommitted
                    || place.fate.is_visible();
                let delivered = cx.facts.delivered_by(poll);
                if is_due && delivered.binary_search_by_key(&place.offset, |r| r.offset).is_err() {
                    let summary = format!(
                        "{} and was not given {}, {}",
                        cx.words().poll(poll),
                        cx.words().place(place),
                        words::fate(place.fate)
                    );
                    let skeleton = ["passed", "visible record not delivered"];
                    report.add(INFO.finding(place.value.0, &skeleton, "K-FILT-5", summary));
                }
            }
        }
    }
}

/// The records of a log that `poll` moved over.
fn passed<'a>(places: &'a [Place], poll: &Poll) -> &'a [Place] {
    let first = places.partition_point(|place| place.offset < poll.from);
    let end = places.partition_point(|place| place.offset < poll.to);
    &places[first..end.max(first)]
}
