//! The pages of tickets: what a release of Kafka changed under each, and which rules.

use eosim_types::capability::Capability;
use eosim_types::rules::about;

use super::Entry;

/// Every ticket of the table of releases; one may stand for several changes.
pub(super) fn entries() -> Vec<Entry> {
    Capability::ALL.iter().map(|&change| entry(change)).collect()
}

fn entry(change: Capability) -> Entry {
    let rule = |id: &&str| format!("{id}: {}", about(id).unwrap_or_default());
    Entry::new("ticket", change.ticket(), change.about())
        .with("since", [change.since().name()])
        .with("changes", change.rules().iter().map(rule))
}
