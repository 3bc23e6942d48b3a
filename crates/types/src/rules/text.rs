//! What each rule says, in a sentence or two: one line for each in the text files beside this one,
//! which begins with the rule's id.

/// Whom rules govern, the beginning of their ids, and what they say.
const AREAS: [(&str, &str, &str); 6] = [
    ("L-", "partition leader, its log and its replicas", include_str!("leader.txt")),
    ("C-", "transaction coordinator and producer ids", include_str!("coordinator.txt")),
    ("P-", "producer", include_str!("producer.txt")),
    ("K-", "consumer", include_str!("consumer.txt")),
    ("G-", "group coordinator", include_str!("group.txt")),
    ("H-", "hazards of the transaction coordinator", include_str!("hazard.txt")),
];

/// Whom the rule `id` governs; nothing if no rule is called so.
#[must_use]
pub fn area(id: &str) -> Option<&'static str> {
    AREAS.iter().find(|(prefix, ..)| id.starts_with(prefix)).map(|(_, area, _)| *area)
}

/// What the rule `id` says; nothing if there is no such rule.
#[must_use]
pub fn about(id: &str) -> Option<&'static str> {
    let (.., text) = AREAS.iter().find(|(prefix, ..)| id.starts_with(prefix))?;
    text.lines().find_map(|line| line.strip_prefix(id)?.strip_prefix(' '))
}

#[cfg(test)]
mod tests {
    use super::super::RULES;
    use super::*;

    #[test]
    fn every_rule_says_something_and_nothing_else_does() {
        let lines: usize = AREAS.iter().map(|(.., text)| text.lines().count()).sum();
        assert_eq!(lines, RULES.len());
        for id in RULES {
            let said = about(id).unwrap_or_else(|| panic!("{id} has no line"));
            assert!(said.ends_with('.') && said.len() > 20, "{id}: {said}");
            assert!(area(id).is_some(), "{id}");
        }
        assert_eq!((about("L-SEQ"), about("X-SEQ-3")), (None, None));
    }
}
