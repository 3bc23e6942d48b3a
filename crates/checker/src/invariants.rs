//! The list of invariants. To add one: a file in `invariants/` and a line here.
//!
//! No Kafka counterpart.

use crate::invariant::{Invariant, InvariantInfo};

/// Each file gives `INFO` and the unit struct `Check`.
macro_rules! invariants {
    ($($module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// All of them, in the order in which they are asked.
        pub(crate) static INVARIANTS: &[&dyn Invariant] = &[$(&$module::Check),+];

        static INFOS: &[InvariantInfo] = &[$($module::INFO),+];
    };
}

invariants! {
    garbage_read,
    duplicate,
    reordering,
    acknowledged_lost,
    aborted_read,
    early_read,
    end_offset,
    skipped,
    offset_reuse,
    committed_lost,
    decision_lost,
    torn_transaction,
    outcome_contradicted,
    open_transaction,
    fenced_effect,
    producer_identity_shared,
    healthy_producer_failed,
    given_up_early,
    healed_send_failed,
    processed_twice,
    aborted_processed,
    effect_lost,
    effect_reordered,
    offset_regressed,
    committed_unread,
    producer_state,
    sequence_gap,
    aborted_index,
    last_stable_offset,
    bounds_retreat,
    replica_behind,
    transaction_state,
    group_offsets,
    group_assignment,
    assertion,
}

/// Every invariant that is checked.
#[must_use]
pub fn invariants() -> &'static [InvariantInfo] {
    INFOS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_never_see_is_told_from_what_they_feel() {
        let unfelt = invariants().iter().filter(|info| !info.is_felt()).map(|info| info.name);
        let expected = [
            "open-transaction",
            "producer-state",
            "sequence-gap",
            "aborted-index",
            "last-stable-offset",
            "bounds-retreat",
            "replica-behind",
            "transaction-state",
            "group-offsets",
            "group-assignment",
            "assertion",
        ];
        assert_eq!(unfelt.collect::<Vec<_>>(), expected);
    }
}
