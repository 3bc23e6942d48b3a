//! `producer-state`: a replica's producer state is not what its log says.
//!
//! Promised (L-SNP-3, L-SNP-4, L-MAP-1): state is a function of the log; live state equals replayed
//! state in every field that DescribeProducers shows (L-DPR-1) and in the batches that are
//! remembered (L-ENT-2, L-DUP-1), at every replica and over every restart. Not promised: an
//! entry that has expired (L-EXP-1), what one that came back after that knew before (L-EXP-4), or
//! anything where deletion or compaction took a part of the log away (L-DEL-3).

use eosim_types::message::ProducerState;
use eosim_types::observation::{RememberedBatch, ReplicaDump};
use eosim_types::ProducerId;
use eosim_types::record::RecordBatch;

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;
use crate::replay::Replay;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "producer-state",
    promise: "A replica's producer state is what replaying its log gives.",
    source: "L-SNP-3, L-SNP-4, L-MAP-1, L-ENT-2, L-DUP-1, L-DPR-1",
    file: "src/invariants/producer_state.rs",
    needs: &[&[Need::ProducerState]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for (at, replica) in end.dump.replicas.iter().enumerate() {
            let replay = end.logs.replay(at);
            let is_whole = replay.is_whole && replica.log_start_offset == 0;
            if !replica.is_hosted || !is_whole {
                continue;
            }
            if replay.producers != replica.producers && !replica.unseen.producers {
                judge(cx, end, replica, replay, report);
            }
            if replay.remembered != replica.remembered && !replica.unseen.remembered {
                remembered(cx, replica, replay, report);
            }
        }
    }
}

/// The batches of a producer whose copies are recognised (L-DUP-1) are those that the log says.
/// Of an entry that has expired, or came back after that, nothing is said.
fn remembered(cx: Context<'_>, replica: &ReplicaDump, replay: &Replay, report: &mut Report) {
    let known = |id: ProducerId| replica.producers.iter().any(|state| state.producer_id == id);
    let of = |list: &[(ProducerId, RememberedBatch)], id| -> Vec<RememberedBatch> {
        list.iter().filter(|(of, _)| *of == id).map(|(_, batch)| *batch).collect()
    };
    for state in replay.producers.iter().filter(|state| known(state.producer_id)) {
        let logged = of(&replay.remembered, state.producer_id);
        let held = of(&replica.remembered, state.producer_id);
        let may_have_expired = held.len() < logged.len() && logged.ends_with(&held) && {
            let expiration = cx.setup.producer_id_expiration;
            cx.setup.clock_jumps || report.at >= eosim_types::Instant::START + expiration
        };
        if held == logged || may_have_expired {
            continue;
        }
        let summary = format!(
            "broker {} and {}: of producer id {} the log says {}, the broker remembers {}",
            replica.broker,
            cx.setup.names.partition(replica.partition),
            state.producer_id,
            batches(&logged),
            batches(&held)
        );
        let subject = partition_key(replica.partition);
        report.add(INFO.finding(subject, &["remembered batches differ"], "L-SNP-4", summary));
    }
}

fn batches(list: &[RememberedBatch]) -> String {
    let sequences = list.iter().map(|batch| format!("{}@{}", batch.last_sequence, batch.last_offset));
    format!("[{}]", sequences.collect::<Vec<_>>().join(" "))
}

fn judge(
    cx: Context<'_>,
    end: End<'_>,
    replica: &ReplicaDump,
    replay: &Replay,
    report: &mut Report,
) {
    let now = end.dump.at.as_millis();
    let expiration = i64::try_from(cx.setup.producer_id_expiration.as_millis()).unwrap_or(i64::MAX);
    let may_expire = |state: &ProducerState| {
        let age = now.saturating_sub(state.last_timestamp);
        state.current_txn_start_offset < 0 && (cx.setup.clock_jumps || age >= expiration)
    };
    let came_back = |held| {
        (cx.setup.clock_jumps || now >= expiration) && is_of_later_batches(&replica.batches, held)
    };
    let known = |of: &[ProducerState], state: &ProducerState| {
        of.iter().find(|other| other.producer_id == state.producer_id).copied()
    };
    let mut add = |shape, logged: Option<ProducerState>, held: Option<ProducerState>| {
        let summary = format!(
            "broker {} and {}: the log says {}, the broker holds {}",
            replica.broker,
            cx.setup.names.partition(replica.partition),
            describe(logged),
            describe(held)
        );
        let subject = partition_key(replica.partition);
        report.add(INFO.finding(subject, &[shape], "L-SNP-3", summary));
    };
    for &logged in &replay.producers {
        match known(&replica.producers, &logged) {
            Some(held) if held == logged || came_back(held) => {}
            Some(held) => add(difference(logged, held), Some(logged), Some(held)),
            None if may_expire(&logged) => {}
            None => add("entry missing", Some(logged), None),
        }
    }
    for &held in &replica.producers {
        if known(&replay.producers, &held).is_none() {
            add("entry not in the log", None, Some(held));
        }
    }
}

/// Is `held` what the log says from some later batch on? So it is with a producer that came back
/// after its entry had expired (L-EXP-4), which none does while a transaction is open (L-EXP-1).
fn is_of_later_batches(batches: &[RecordBatch], held: ProducerState) -> bool {
    let is_own = |batch: &&RecordBatch| batch.producer_id == held.producer_id;
    let own: Vec<&RecordBatch> = batches.iter().filter(is_own).collect();
    (1..own.len()).any(|came_back_at| {
        let (before, after) = own.split_at(came_back_at);
        let expired = state_after(before).is_some_and(|state| state.current_txn_start_offset < 0);
        expired && state_after(after) == Some(held)
    })
}

/// What a producer looks like after its `batches`.
fn state_after(batches: &[&RecordBatch]) -> Option<ProducerState> {
    let mut replay = Replay::default();
    for batch in batches {
        replay.step(batch);
    }
    replay.producers.first().copied()
}

/// The first field that differs.
fn difference(logged: ProducerState, held: ProducerState) -> &'static str {
    if logged.producer_epoch != held.producer_epoch {
        "producer epoch differs"
    } else if logged.last_sequence != held.last_sequence {
        "last sequence differs"
    } else if logged.current_txn_start_offset != held.current_txn_start_offset {
        "transaction start differs"
    } else if logged.coordinator_epoch != held.coordinator_epoch {
        "coordinator epoch differs"
    } else {
        "last timestamp differs"
    }
}

fn describe(state: Option<ProducerState>) -> String {
    state.map_or_else(
        || "nothing".to_string(),
        |state| {
            format!(
                "producer id {} epoch {} last sequence {} last timestamp {} coordinator epoch {} \
                 transaction start {}",
                state.producer_id,
                state.producer_epoch,
                state.last_sequence,
                state.last_timestamp,
                state.coordinator_epoch,
                state.current_txn_start_offset
            )
        },
    )
}
