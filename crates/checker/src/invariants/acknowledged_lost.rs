//! `acknowledged-lost`: a record that was acknowledged, or read, is gone.
//!
//! Promised with `acks=all` and clean elections (L-ACK-3, L-FO-1, P-MOD-4): an acknowledged record
//! is in the log for good, at the offset that was told; and what a reader was given was below the
//! high watermark, hence stays (L-HW-1). Not promised: records with fewer acks, below a log start
//! that may move, superseded by compaction, or lost by an unclean election. Whether the record is
//! visible is another matter (`committed-lost`).

use eosim_types::observation::SendOutcome;

use crate::anomaly::Report;
use crate::facts::Source;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::Presence;
use crate::need::Need;
use crate::observe::{Kind, Seen};

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "acknowledged-lost",
    promise: "An acknowledged record, and one that was read, stays in the log.",
    source: "L-ACK-3, L-HW-1, L-FO-1, P-MOD-4; Jepsen: lost-write",
    file: "src/invariants/acknowledged_lost.rs",
    needs: &[
        &[Need::EndLogs, Need::Acknowledgements],
        &[Need::EndLogs, Need::Polls, Need::Sends],
        &[Need::Acknowledgements],
        &[Need::Polls, Need::Acknowledgements],
    ],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Answered, Kind::Polled]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        match seen {
            Seen::Answered { send, conflict: Some(conflict) } => {
                let fact = cx.facts.send(send);
                let holding = cx.facts.holdings[conflict as usize];
                if cx.setup.is_durable(fact.partition.topic) {
                    let summary = format!(
                        "{}, but that offset holds {} ({} at {})",
                        cx.words().send(send),
                        cx.setup.names.value(holding.value),
                        cx.setup.actor(holding.actor),
                        holding.at
                    );
                    let skeleton = ["acknowledged", "offset of another record"];
                    report.add(INFO.finding(fact.value.0, &skeleton, "L-DUP-1", summary));
                }
            }
            Seen::Polled { poll, .. } => {
                let poll = cx.facts.poll(poll);
                for record in cx.facts.delivered_by(poll) {
                    let Some(conflict) = record.conflict else { continue };
                    let holding = cx.facts.holdings[conflict as usize];
                    let is_promised = cx.setup.is_durable(poll.partition.topic);
                    if is_promised && holding.source == Source::Acknowledged {
                        let words = cx.words();
                        let summary = format!(
                            "{} was acknowledged to {} at {}, but {} and found {} there",
                            words.record(holding.value, poll.partition, record.offset),
                            cx.setup.actor(holding.actor),
                            holding.at,
                            words.poll(poll),
                            cx.setup.names.value(record.value)
                        );
                        let skeleton = ["acknowledged", "another record read there"];
                        report.add(INFO.finding(holding.value.0, &skeleton, "L-ACK-3", summary));
                    }
                }
            }
            _ => {}
        }
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        acknowledged(cx, end, report);
        read(cx, end, report);
        deleted(cx, end, report);
    }
}

/// Acknowledged sends that are not in the log.
fn acknowledged(cx: Context<'_>, end: End<'_>, report: &mut Report) {
    for (index, send) in (0..).zip(&cx.facts.sends) {
        let Some(SendOutcome::Acknowledged { .. }) = send.outcome else { continue };
        if !cx.setup.acknowledges_all(send.actor) || !cx.facts.is_unique(index) {
            continue;
        }
        if let Presence::Missing = end.logs.presence(cx.setup, end.dump, send) {
            let summary = format!("{} is not in the log", cx.words().send(index));
            let skeleton = ["acknowledged", "not in the log"];
            report.add(INFO.finding(send.value.0, &skeleton, "L-ACK-3", summary));
        }
    }
}

/// Records that were read and are not in the log.
fn read(cx: Context<'_>, end: End<'_>, report: &mut Report) {
    for poll in &cx.facts.polls {
        for record in cx.facts.delivered_by(poll) {
            let Some(send) = record.send.filter(|&send| cx.facts.is_unique(send)) else {
                continue;
            };
            let fact = cx.facts.send(send);
            if fact.partition != poll.partition || end.logs.copies(fact).next().is_some() {
                continue;
            }
            if let Presence::Missing = end.logs.presence(cx.setup, end.dump, fact) {
                let summary = format!(
                    "{} and was given {}, which is no longer in the log",
                    cx.words().poll(poll),
                    cx.words().record(record.value, poll.partition, record.offset)
                );
                report.add(INFO.finding(fact.value.0, &["read", "not in the log"], "L-HW-1", summary));
            }
        }
    }
}

/// Logs that begin above what may be deleted.
fn deleted(cx: Context<'_>, end: End<'_>, report: &mut Report) {
    for log in &end.logs.leaders {
        let topic = log.partition.topic;
        let start = end.dump.replicas[log.replica].log_start_offset;
        let deleted_to = cx.setup.deleted_to.get(&log.partition).copied().unwrap_or(0);
        if start > deleted_to && !topic.is_internal() && !cx.setup.deletable.contains(&topic) {
            let name = cx.setup.names.partition(log.partition);
            let ordered = match deleted_to {
                0 => "nothing was deleted".to_string(),
                offset => format!("it was deleted up to {offset} only"),
            };
            let summary = format!("the log of {name} begins at {start} though {ordered}");
            let subject = crate::facts::partition_key(log.partition);
            report.add(INFO.finding(subject, &["log start moved"], "L-DEL-2", summary));
        }
    }
}
