//! The state machines, printed.

use std::fmt::Write;

use eosim_runner::machines::{self, StateMachine};
use expect_test::expect;

fn print(machine: &StateMachine) -> String {
    let mut text = String::new();
    for (state, note) in &machine.states {
        writeln!(text, "{state} ({})", note.unwrap_or("-")).expect("a string grows");
        for (_, to, note) in machine.transitions.iter().filter(|(from, ..)| from == state) {
            let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
            writeln!(text, "  -> {to}{note}").expect("a string grows");
        }
    }
    text
}

#[test]
fn the_coordinators_eight_states_c_sm_1() {
    expect![[r#"
        Empty (may expire)
          -> Empty
          -> Ongoing
          -> PrepareCommit (from 4.5 on)
          -> PrepareAbort
          -> Dead
        Ongoing (-)
          -> Ongoing
          -> PrepareCommit
          -> PrepareAbort
          -> PrepareEpochFence
        PrepareCommit (-)
          -> CompleteCommit
        PrepareAbort (-)
          -> CompleteAbort
        CompleteCommit (may expire)
          -> Empty
          -> Ongoing
          -> PrepareCommit (from 4.5 on)
          -> PrepareAbort
          -> Dead
        CompleteAbort (may expire)
          -> Empty
          -> Ongoing
          -> PrepareCommit (from 4.5 on)
          -> PrepareAbort
          -> Dead
        Dead (only ever pending)
        PrepareEpochFence (only ever pending)
          -> PrepareAbort
    "#]]
    .assert_eq(&print(&machines::coordinator()));
}

#[test]
fn the_producers_nine_states_p_st_1() {
    expect![[r#"
        UNINITIALIZED (-)
          -> INITIALIZING
          -> FATAL_ERROR
        INITIALIZING (-)
          -> READY
          -> PREPARED_TRANSACTION
          -> ABORTABLE_ERROR
          -> FATAL_ERROR
        READY (-)
          -> UNINITIALIZED
          -> IN_TRANSACTION
          -> FATAL_ERROR
        IN_TRANSACTION (-)
          -> PREPARED_TRANSACTION
          -> COMMITTING_TRANSACTION
          -> ABORTING_TRANSACTION
          -> ABORTABLE_ERROR
          -> FATAL_ERROR
        PREPARED_TRANSACTION (-)
          -> COMMITTING_TRANSACTION
          -> ABORTING_TRANSACTION
          -> FATAL_ERROR
        COMMITTING_TRANSACTION (-)
          -> INITIALIZING
          -> READY
          -> ABORTABLE_ERROR
          -> FATAL_ERROR
        ABORTING_TRANSACTION (-)
          -> INITIALIZING
          -> READY
          -> FATAL_ERROR
        ABORTABLE_ERROR (-)
          -> UNINITIALIZED
          -> ABORTING_TRANSACTION
          -> ABORTABLE_ERROR
          -> FATAL_ERROR
        FATAL_ERROR (-)
          -> FATAL_ERROR
    "#]]
    .assert_eq(&print(&machines::producer()));
}

#[test]
fn the_classic_groups_four_states() {
    expect![[r#"
        Empty (-)
          -> PreparingRebalance
        PreparingRebalance (-)
          -> Empty
          -> CompletingRebalance
        CompletingRebalance (-)
          -> PreparingRebalance
          -> Stable
        Stable (-)
          -> PreparingRebalance
    "#]]
    .assert_eq(&print(&machines::group()));
}
