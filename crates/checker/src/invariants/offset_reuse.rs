//! `offset-reuse`: two different records at one offset of one partition.
//!
//! Promised: an offset below the high watermark belongs to one record for good, at every replica
//! and for every reader (L-REC-6, L-HW-1, L-FO-1; Jepsen: inconsistent-offsets). Not promised:
//! anything above the high watermark, where replicas may differ until they truncate, or after an
//! unclean election.

use eosim_types::observation::ReplicaDump;
use eosim_types::record::RecordBatch;

use crate::anomaly::Report;
use crate::facts::{Source, partition_key};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;
use crate::observe::{Kind, Seen};

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "offset-reuse",
    promise: "An offset below the high watermark belongs to one record, everywhere and for good.",
    source: "L-REC-6, L-HW-1, L-FO-1; Jepsen: inconsistent-offsets",
    file: "src/invariants/offset_reuse.rs",
    needs: &[&[Need::Polls], &[Need::Polls, Need::EndLogs], &[Need::Replicas]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Polled]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        let Seen::Polled { poll, .. } = seen else { return };
        let poll = cx.facts.poll(poll);
        if !cx.setup.is_durable(poll.partition.topic) {
            return;
        }
        for record in cx.facts.delivered_by(poll) {
            let Some(conflict) = record.conflict else { continue };
            let holding = cx.facts.holdings[conflict as usize];
            if holding.source == Source::Read {
                let summary = format!(
                    "{} and was given {}, where {} had been given {} at {}",
                    cx.words().poll(poll),
                    cx.words().record(record.value, poll.partition, record.offset),
                    cx.setup.actor(holding.actor),
                    cx.setup.names.value(holding.value),
                    holding.at
                );
                let skeleton = ["read", "another record read there"];
                report.add(INFO.finding(record.value.0, &skeleton, "L-REC-6", summary));
            }
        }
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        readers(cx, end, report);
    }

    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for (at, replica) in end.dump.replicas.iter().enumerate() {
            let Some(log) = end.logs.leader(replica.partition) else { continue };
            let is_comparable = cx.setup.is_durable(replica.partition.topic)
                && log.replica != at
                && replica.is_hosted
                && !replica.unseen.bounds
                && !end.dump.replicas[log.replica].unseen.bounds
                && end.logs.replay(at).is_whole
                && end.logs.replay(log.replica).is_whole;
            if is_comparable {
                compare(cx, &end.dump.replicas[log.replica], replica, report);
            }
        }
    }
}

/// What readers were given must still lie there.
fn readers(cx: Context<'_>, end: End<'_>, report: &mut Report) {
    for poll in &cx.facts.polls {
        let Some(log) = end.logs.leader(poll.partition) else { continue };
        let places = end.logs.places_of(log);
        for record in cx.facts.delivered_by(poll) {
            let found = places.binary_search_by_key(&record.offset, |place| place.offset);
            let Ok(at) = found else { continue };
            if places[at].value != record.value && cx.setup.is_durable(poll.partition.topic) {
                let summary = format!(
                    "{} and was given {}, where the log holds {}",
                    cx.words().poll(poll),
                    cx.words().record(record.value, poll.partition, record.offset),
                    cx.words().place(&places[at])
                );
                let skeleton = ["read", "another record logged there"];
                report.add(INFO.finding(record.value.0, &skeleton, "L-REC-6", summary));
            }
        }
    }
}

/// The batches of a log that lie between two offsets.
fn between(replica: &ReplicaDump, start: i64, end: i64) -> &[RecordBatch] {
    let batches = &replica.batches;
    let first = batches.partition_point(|batch| batch.base_offset < start);
    let after = batches.partition_point(|batch| batch.last_offset() < end);
    &batches[first..after.max(first)]
}

/// Two replicas below both high watermarks, as far as neither has deleted.
fn compare(cx: Context<'_>, leader: &ReplicaDump, other: &ReplicaDump, report: &mut Report) {
    let bound = leader.high_watermark.min(other.high_watermark);
    let start = leader.log_start_offset.max(other.log_start_offset);
    let mine = between(leader, start, bound);
    let theirs = between(other, start, bound);
    let first_difference = mine.iter().zip(theirs).position(|(a, b)| a != b);
    let differs = first_difference.or_else(|| {
        (mine.len() != theirs.len()).then(|| mine.len().min(theirs.len()))
    });
    if let Some(at) = differs {
        let summary = format!(
            "below high watermark {bound} of {} the leader {} holds {}, broker {} holds {}",
            cx.setup.names.partition(leader.partition),
            leader.broker,
            describe(mine.get(at)),
            other.broker,
            describe(theirs.get(at))
        );
        let subject = partition_key(leader.partition);
        report.add(INFO.finding(subject, &["replicas differ"], "L-FO-1", summary));
    }
}

fn describe(batch: Option<&RecordBatch>) -> String {
    batch.map_or_else(
        || "nothing more".to_string(),
        |batch| {
            format!(
                "the batch {}..={} of producer id {} epoch {} sequence {} leader epoch {}",
                batch.base_offset,
                batch.last_offset(),
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                batch.partition_leader_epoch
            )
        },
    )
}
