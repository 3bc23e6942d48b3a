//! Rules that no count will ever show, and why.

/// Rules without a branch of their own: tables, constants, consequences of others. Tests show them;
/// no run can be seen to reach them.
const UNMARKED: &[&str] = &[
    "L-A2T-9", "L-DUP-6", "L-EXP-4", "L-FO-1", "L-FO-2", "L-FO-3", "L-FO-6", "L-FO-7", "L-LSO-3",
    "L-LSO-6", "L-PIPE-7", "L-REC-1", "L-REC-2", "L-SEQ-6", "L-SEQ-7", "L-SIM-1", "L-SIM-2",
    "L-SIM-3", "L-SIM-4", "L-TOC-2", "L-TOOL-2", "L-WTM-5", "L-WTM-7", "L-WTM-8", "L-WTM-9",
    "C-ATM-1", "C-ATM-5", "C-EXP-4", "C-EXP-5", "C-INIT-1", "C-MRK-15", "C-MRK-16", "C-PID-8",
    "C-REC-5", "C-SEQ-1", "C-SEQ-2", "C-SEQ-3", "C-SEQ-4", "C-SEQ-5", "C-SEQ-6", "C-SEQ-7",
    "C-SEQ-8", "C-SEQ-9", "C-SEQ-10", "C-SEQ-11", "C-SEQ-12", "C-SEQ-13", "C-SEQ-14", "C-SEQ-15",
    "C-SEQ-16", "C-SEQ-17", "C-SEQ-18", "C-SEQ-19", "P-ACC-6", "P-ACC-11", "P-API-2", "P-CFG-1",
    "P-CFG-2", "P-CFG-3", "P-CFG-4", "P-CFG-5", "P-CFG-6", "P-CFG-7", "P-CFG-8", "P-CFG-10",
    "P-DM-1", "P-DM-2", "P-DM-3", "P-DM-4", "P-ERR-2", "P-ERR-3", "P-ERR-4", "P-MOD-1", "P-MOD-2",
    "P-MOD-3", "P-MOD-4", "P-REQ-2", "P-REQ-8a", "P-REQ-10", "P-SEQ-2", "P-SEQ-9", "P-SEQ-12",
    "P-SND-3", "P-SND-8", "P-SND-10", "P-SND-12", "P-SND-13", "P-SND-14", "P-ST-1", "P-ST-2",
    "P-ST-3", "P-ST-4", "P-ST-5", "P-ST-6", "P-TV-4", "P-TV-5", "K-CTP-1", "K-CTP-2", "K-CTP-6",
    "K-FILT-3", "K-FILT-4", "K-FILT-6", "K-FILT-7", "K-FILT-8", "K-ISO-2", "K-ISO-3", "K-ISO-4",
    "K-POS-3", "G-OFF-6", "G-TV-3",
];

/// Rules whose branch no run of a scenario reaches, with the reason.
const UNREACHED: &[(&str, &str)] = &[
    ("C-ADD-4", "no client asks for a partition that is refused beside one that is not"),
    ("C-INIT-6", "two-phase commit is asked for only where brokers have it switched on"),
    ("C-LK-4", "the gap after a start is a setting that only recordings of a start need"),
    ("K-OFF-3", "no application asks for its lag"),
    (
        "C-INIT-7",
        "no client asks to keep a prepared transaction: the broker's side is not released",
    ),
    (
        "C-INIT-13",
        "the completion of a decision is pending at once, so that C-INIT-11 answers first",
    ),
    ("C-INIT-23", "upstream.coordinator.init_aborts_with_any_epoch, which is off"),
    ("C-LK-3", "nobody describes transactions before the coordinator has started"),
    ("C-MRK-4", "topics are never deleted"),
    ("C-PID-4", "the controller always has an answer, if late"),
    ("G-INT-4", "no client deletes groups or offsets"),
    ("G-INT-6", "topics are never deleted"),
    ("K-FILT-1", "bytes are not modelled, so none is corrupt"),
    ("L-DUP-7", "upstream.leader.snapshot_keeps_one_batch, which is off"),
    ("L-EPO-4", "no producer without an id has sequences"),
    ("L-EXP-6", "a metric that no run asks for"),
    ("L-MRK-1", "no control record but the two markers is written"),
    ("L-TXN-3", "no client sends both kinds of records under one id"),
    ("L-WTM-10", "neither coordinators nor operators make markers without an id"),
    ("P-SEQ-10", "no idempotent producer lives for 32,767 bumps"),
];

/// Why no run reaches the mark of the rule `id`, if it is known that none does.
#[must_use]
pub fn why_unreached(id: &str) -> Option<&'static str> {
    let reason = UNREACHED.iter().find(|(rule, _)| *rule == id).map(|(_, reason)| *reason);
    let unmarked = UNMARKED.contains(&id).then_some("no branch of its own: tests show it");
    reason.or(unmarked)
}

#[cfg(test)]
mod tests {
    use super::super::RULES;
    use super::*;

    #[test]
    fn what_is_never_reached_is_a_rule_named_once() {
        for id in UNMARKED.iter().chain(UNREACHED.iter().map(|(id, _)| id)) {
            assert!(RULES.contains(id), "{id}");
            assert!(!UNMARKED.contains(id) || UNREACHED.iter().all(|(other, _)| other != id));
        }
    }
}
