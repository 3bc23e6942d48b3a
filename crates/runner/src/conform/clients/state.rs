//! The state of a transaction manager as it was recorded.

use eosim_sim::cluster::Exception;
use eosim_sim::cluster::producer::{Producer, TransactionManagerDescription};
use serde_json::{Map, Value, json};

use super::names::CaseNames;

/// The manager of `producer`; null once it is closed.
pub(super) fn describe(producer: &Producer, names: &CaseNames) -> Value {
    if producer.is_closed() {
        return Value::Null;
    }
    producer.describe().map_or_else(
        || json!({ "state": "no transaction manager" }),
        |manager| manager_state(&manager, names),
    )
}

fn manager_state(manager: &TransactionManagerDescription, names: &CaseNames) -> Value {
    let class = |error: &Exception| error.class.name();
    let partitions: Map<_, _> = manager
        .partitions
        .iter()
        .map(|(tp, entry)| {
            let entry = json!({
                "producer_id": entry.producer.producer_id,
                "producer_epoch": entry.producer.producer_epoch,
                "next_sequence": entry.next_sequence,
                "last_acked_sequence": entry.last_acked_sequence,
                "last_acked_offset": entry.last_acked_offset,
                "in_flight": entry.in_flight,
            });
            (names.partition(*tp), entry)
        })
        .collect();
    let unresolved = manager.unresolved.iter();
    let unresolved: Map<_, _> =
        unresolved.map(|(tp, next)| (names.partition(*tp), json!(next))).collect();
    json!({
        "state": manager.state.name(),
        "last_error": manager.last_error.as_ref().map(class),
        "producer_id": manager.producer.producer_id,
        "producer_epoch": manager.producer.producer_epoch,
        "bump_required": manager.epoch_bump_required,
        "transaction_started": manager.transaction_started,
        "tv2": manager.is_transaction_v2_enabled,
        "coordinator_supports_bump": manager.coordinator_supports_bumping_epoch,
        "partitions": partitions,
        "unresolved": unresolved,
    })
}
