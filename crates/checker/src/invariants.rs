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
    processed_twice,
    effect_lost,
    effect_reordered,
    offset_regressed,
    committed_unread,
    producer_state,
    sequence_gap,
    aborted_index,
    last_stable_offset,
    bounds_retreat,
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
