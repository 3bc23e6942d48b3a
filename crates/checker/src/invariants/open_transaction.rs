//! `open-transaction`: a log holds an open transaction that nobody will end.
//!
//! Promised in a healed cluster (C-TMO-1 to C-TMO-3, C-MRK, KIP-890): a transaction whose
//! coordinator has finished it, or does not know of it in that partition, is not open in a log; and
//! none is open longer than its timeout, the interval of the timeout task and the time for markers.
//! Not promised: an early end of a transaction whose owner lives and whose timeout has not passed
//! (N12), or anything while the cluster is not healed.

use eosim_types::observation::{ClusterDump, TransactionDump};
use eosim_types::record::TransactionState;
use eosim_types::{Duration, ProducerId, TopicPartition};

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;
use crate::replay::Open;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "open-transaction",
    promise: "In a healed cluster every open transaction has a coordinator that will end it in time.",
    source: "C-TMO-3, C-MRK-1, L-FO-7, KIP-890",
    file: "src/invariants/open_transaction.rs",
    needs: &[&[Need::Healed]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        if !end.dump.healed {
            return;
        }
        for log in &end.logs.leaders {
            if !cx.setup.is_durable(log.partition.topic) {
                continue;
            }
            for open in &end.logs.replay(log.replica).open {
                if let Some((shape, why)) = judge(cx, end, log.partition, *open) {
                    let summary = format!(
                        "{} has an open transaction of producer id {} epoch {} since offset {}: \
                         {why}",
                        cx.setup.names.partition(log.partition),
                        open.producer_id,
                        open.producer_epoch,
                        open.first_offset
                    );
                    let subject = partition_key(log.partition) ^ open.first_offset.cast_unsigned();
                    report.add(INFO.finding(subject, &["open", shape], "L-FO-7", summary));
                }
            }
        }
    }
}

/// Why nobody will end `open`.
fn judge(
    cx: Context<'_>,
    end: End<'_>,
    partition: TopicPartition,
    open: Open,
) -> Option<(&'static str, String)> {
    let owner = owner(end.dump, open.producer_id);
    if let Some(owner) = owner.filter(|owner| !is_responsible(owner, partition)) {
        let id = cx.setup.names.transactional_id(owner.transactional_id);
        let why = format!(
            "its coordinator {} holds {id} as {} (epoch {}) without that partition",
            owner.broker,
            owner.state.name(),
            owner.producer_epoch
        );
        return Some(("coordinator has finished", why));
    }
    let timeout = owner.map_or(cx.setup.longest_transaction_timeout, |owner| {
        Duration::from_millis(u64::from(owner.transaction_timeout_ms.max(0).cast_unsigned()))
    });
    let begun = begun(cx, end, partition, open)?;
    let allowed = timeout + cx.setup.abort_grace;
    let age = end.dump.at.since(begun);
    (age > allowed).then(|| ("timeout passed", format!("begun {age} ago, allowed {allowed}")))
}

/// The transactional id that uses `producer_id`, at the coordinator of the highest epoch.
fn owner(dump: &ClusterDump, producer_id: ProducerId) -> Option<&TransactionDump> {
    let of_producer = dump.transactions.iter().filter(|held| held.producer_id == producer_id);
    of_producer.max_by_key(|held| held.coordinator_epoch)
}

/// Will the coordinator send a marker to `partition`?
fn is_responsible(held: &TransactionDump, partition: TopicPartition) -> bool {
    use TransactionState as S;
    held.pending_state.is_some()
        || (matches!(held.state, S::Ongoing | S::PrepareCommit | S::PrepareAbort)
            && held.partitions.contains(&partition))
}

/// When the newest transaction with a record in `open` began, as its producer saw it.
fn begun(
    cx: Context<'_>,
    end: End<'_>,
    partition: TopicPartition,
    open: Open,
) -> Option<eosim_types::Instant> {
    let log = end.logs.leader(partition)?;
    let places = end.logs.places_of(log).iter();
    let of_open = places.filter(|place| {
        place.producer_id == open.producer_id && place.offset >= open.first_offset
    });
    let begun = of_open.filter_map(|place| cx.facts.transaction_of(place.send?));
    begun.map(|transaction| transaction.begun.at).max()
}
