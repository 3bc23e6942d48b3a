//! A failure of an older release, told from one that nobody has repaired yet: the run is made again
//! with what later releases changed.
//!
//! No Kafka counterpart. Nothing is written down: a ticket is named if the run fails without it.

use eosim_scenario::Plan;
use eosim_scenario::plan::OperatorStep;
use eosim_types::Capability;
use eosim_types::version::KafkaVersion;

/// What makes an epoch for each transaction: it is the level of a feature, and requests of 4.0.
const EPOCH_PER_TRANSACTION: &str = "KIP-890";

/// The tickets without which `plan`, which fails, does so, joined by "+"; `None` if it fails with all
/// that later releases changed, too. `fails` makes a run.
pub(super) fn repaired_by(plan: &Plan, mut fails: impl FnMut(Plan) -> bool) -> Option<String> {
    let mut tickets = lacking(plan);
    if tickets.is_empty() || fails(with(plan, &tickets)) {
        return None;
    }
    // The oldest is left out first: of two that would do each, the later one is named.
    for ticket in tickets.clone() {
        let others = tickets.iter().copied().filter(|other| *other != ticket);
        let others: Vec<&str> = others.collect();
        if !others.is_empty() && !fails(with(plan, &others)) {
            tickets = others;
        }
    }
    Some(tickets.join("+"))
}

/// The tickets of which some broker of `plan` has not everything. Of the newest release nobody has
/// said that it is affected: what fails there fails, whatever the level of `transaction.version`.
fn lacking(plan: &Plan) -> Vec<&'static str> {
    let oldest = plan.cluster.versions(plan.kafka).map(|(_, kafka)| kafka).min();
    let oldest = oldest.unwrap_or(plan.kafka).min(plan.kafka);
    if oldest == KafkaVersion::default() {
        return Vec::new();
    }
    // Where the level changes no level is to blame for all.
    let changes = |step: &OperatorStep| matches!(step, OperatorStep::UpdateFeatures(_));
    let has_low_level = plan.transaction_version < 2 && !plan.operator.iter().any(changes);
    let lacks = |ticket: &&str| {
        let mut own = Capability::ALL.iter().filter(|one| one.ticket() == *ticket);
        let is_level = *ticket == EPOCH_PER_TRANSACTION;
        if is_level { has_low_level } else { own.any(|one| !oldest.has(*one)) }
    };
    Capability::tickets().filter(lacks).collect()
}

/// `plan` with what came with `tickets`.
fn with(plan: &Plan, tickets: &[&str]) -> Plan {
    let mut plan = plan.clone();
    plan.backports.extend(tickets.iter().map(ToString::to_string));
    if tickets.contains(&EPOCH_PER_TRANSACTION) {
        plan.transaction_version = 2;
        plan.kafka = plan.kafka.max(KafkaVersion::V4_0);
        let brokers = plan.cluster.kafka.values_mut();
        brokers.for_each(|kafka| *kafka = (*kafka).max(KafkaVersion::V4_0));
        plan.producers.iter_mut().for_each(|producer| producer.transaction_version = None);
        plan.transformers.iter_mut().for_each(|member| member.transaction_version = None);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_scenario::ScenarioFile;

    fn plan(kafka: &str, level: u8) -> Plan {
        let text = include_str!("../bench/scenario.json");
        let sets = [format!("kafka=\"{kafka}\""), format!("transaction_version={level}")];
        let sets: Vec<_> = sets.iter().map(|set| set.parse().expect("a replacement")).collect();
        let file = ScenarioFile::parse("scenario.json", text, &sets, &[]).expect("a scenario");
        file.head().clone()
    }

    #[test]
    fn the_tickets_are_named_without_which_a_run_fails() {
        let has = |plan: &Plan, ticket: &str| plan.backports.iter().any(|one| one == ticket);
        let old = plan("4.1", 2);
        let named = repaired_by(&old, |plan| !has(&plan, "KAFKA-20090"));
        assert_eq!(named.as_deref(), Some("KAFKA-20090"));
        let both = |plan: Plan| !(has(&plan, "KAFKA-20090") && has(&plan, "KIP-1228"));
        assert_eq!(repaired_by(&old, both).as_deref(), Some("KIP-1228+KAFKA-20090"));
        assert_eq!(repaired_by(&old, |_| true), None);
        assert_eq!(repaired_by(&plan("4.5", 2), |_| unreachable!("nothing is lacking")), None);
    }

    #[test]
    fn a_level_below_2_is_a_change_like_others_of_an_older_release() {
        let named = |kafka| repaired_by(&plan(kafka, 1), |plan| plan.transaction_version < 2);
        assert_eq!(named("4.4").as_deref(), Some(EPOCH_PER_TRANSACTION));
        assert_eq!(named("4.5"), None, "what fails on the newest release is a failure");
    }
}
