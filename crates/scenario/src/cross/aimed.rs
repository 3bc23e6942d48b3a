//! Rules that are aimed: moments that exist, actors that exist, ends that belong to something.

use eosim_types::message::ApiKey;

use super::{Checked, Cross, quoted};
use crate::error::InputError;
use crate::plan::{Action, Aimed, Moment, When};

/// Who a message gives the names to.
const ENDS: [&str; 2] = ["sender", "receiver"];
/// Who a state gives the name to.
const IT: &str = "it";

impl Cross<'_> {
    pub(super) fn aimed(&self, path: &str, aimed: &Aimed) -> Checked {
        let when = format!("{path}.when");
        self.when(&when, &aimed.when)?;
        let key = aimed.r#do.key();
        let act = format!("{path}.do.{key}");
        let moment = aimed.when.moment();
        let departs = moment.is_some_and(|(moment, _)| moment.is_departure());
        if aimed.r#do.befalls_message() && !departs {
            let expected = format!("\"sent\" or \"answered\", so that \"{key}\" befalls a message");
            return self.refuse(when, moment_key(&aimed.when), expected);
        }
        if matches!(aimed.r#do, Action::Reset) && moment.is_none() {
            let found = moment_key(&aimed.when);
            return self.refuse(when, found, "a message, whose connection is reset");
        }
        if let Action::AnswerWith(error) = aimed.r#do {
            if error.is_none() {
                return self.refuse(act, quoted("NONE"), "an error");
            }
            self.can_be_refused(&act, moment)?;
        }
        self.struck(&act, &aimed.r#do, &aimed.when)?;
        if let Some(until) = aimed.r#do.until() {
            let inner = if aimed.r#do.struck().is_some() { ".until" } else { "" };
            self.until(&format!("{act}{inner}"), until)?;
        }
        self.release(path, &aimed.r#do)
    }

    /// A moment: one, with what can be said of it.
    fn when(&self, path: &str, when: &When) -> Checked {
        let others = [when.at_ms.is_some(), when.reached.is_some()];
        let named = when.moments().count() + others.iter().filter(|named| **named).count();
        if named != 1 {
            let expected = "one of \"sent\", \"received\", \"answered\", \"answer_received\", \
                            \"at_ms\" and \"reached\"";
            return self.refuse(path, format!("{named} moments"), expected);
        }
        if let Some(key) = when.said_of_message().filter(|_| when.moment().is_none()) {
            let expected = "a message, if this is said";
            return self.refuse(format!("{path}.{key}"), moment_key(when), expected);
        }
        if let Some(key) = when.said_of_order().filter(|_| when.at_ms.is_some()) {
            let expected = "a message or a state, if this is said";
            return self.refuse(format!("{path}.{key}"), moment_key(when), expected);
        }
        if when.by.is_some() && when.reached.is_none() {
            return self.refuse(format!("{path}.by"), moment_key(when), "\"reached\"");
        }
        if when.nth.is_some() && when.every.is_some() {
            return self.refuse(path, "both", "at most one of \"nth\" and \"every\"");
        }
        self.names(path, when)?;
        let answers = when
            .moments()
            .any(|(moment, _)| matches!(moment, Moment::Answered | Moment::AnswerReceived));
        if when.error.is_some() && !answers {
            let expected = "\"answered\" or \"answer_received\": an error stands in an answer";
            return self.refuse(format!("{path}.error"), moment_key(when), expected);
        }
        when.after.as_ref().map_or(Ok(()), |after| self.when(&format!("{path}.after"), after))
    }

    /// Everything that is named exists.
    fn names(&self, path: &str, when: &When) -> Checked {
        let actors = [("sender", &when.sender), ("receiver", &when.receiver), ("by", &when.by)];
        for (key, actor) in actors {
            if let Some(actor) = actor {
                self.known_actor(&format!("{path}.{key}"), actor)?;
            }
        }
        if let Some(id) = &when.transactional_id {
            self.known_transactional_id(&format!("{path}.transactional_id"), id)?;
        }
        if let Some(group) = &when.group {
            self.known_group(&format!("{path}.group"), group)?;
        }
        let Some(partition) = &when.partition else { return Ok(()) };
        let path = format!("{path}.partition");
        match self.internal_partitions(partition) {
            Some(count) => self.partition_of(&path, partition, count),
            None => self.known_partition(path, partition),
        }
    }

    fn known_group(&self, path: &str, name: &str) -> Checked {
        let known: Vec<&str> = self.plan.groups().collect();
        if known.contains(&name) {
            return Ok(());
        }
        let error = InputError::new(self.file, path, quoted(name), "a group of the scenario");
        Err(error.with_nearest(name, known))
    }

    fn until(&self, path: &str, until: &When) -> Checked {
        self.when(path, until)?;
        if until.every.is_some() {
            return self.refuse(format!("{path}.every"), "an end", "\"nth\", or the next");
        }
        Ok(())
    }

    /// Answers to the request tell of errors.
    fn can_be_refused(&self, path: &str, moment: Option<(Moment, ApiKey)>) -> Checked {
        let Some((_, api)) = moment.filter(|(_, api)| !api.can_be_refused()) else {
            return Ok(());
        };
        let known = ApiKey::ALL.iter().filter(|api| api.can_be_refused());
        let known: Vec<_> = known.map(|api| api.name()).collect();
        let expected = format!("one of {}", known.join(", "));
        self.refuse(path, quoted(api.name()), expected)
    }

    /// Who is struck exists, for a length or until a moment.
    fn struck(&self, path: &str, action: &Action, when: &When) -> Checked {
        let Some((who, key, length)) = action.struck() else { return Ok(()) };
        let is_end = ENDS.contains(&who);
        let is_given = if is_end { when.moment().is_some() } else { when.reached.is_some() };
        if !is_given || !(is_end || who == IT) {
            let path = format!("{path}.who");
            if is_end || who == IT {
                let expected = format!("an actor's name: nobody is \"{who}\" here");
                return self.refuse(path, moment_key(when), expected);
            }
            self.known_actor(&path, who)?;
        }
        let found = match (length, action.until()) {
            (Some(_), None) | (None, Some(_)) => return Ok(()),
            (Some(_), Some(_)) => "both",
            (None, None) => "neither",
        };
        self.refuse(path, found, format!("exactly one of \"{key}\" and \"until\""))
    }

    /// What is released was held.
    fn release(&self, path: &str, action: &Action) -> Checked {
        let Action::Release(name) = action else { return Ok(()) };
        let held = self.plan.aimed.iter().filter_map(|rule| match &rule.r#do {
            Action::Hold(name) => Some(name.as_str()),
            _ => None,
        });
        if held.clone().any(|held| held == name) {
            return Ok(());
        }
        let path = format!("{path}.do.release");
        let error = InputError::new(self.file, path, quoted(name), "the name of a \"hold\"");
        Err(error.with_nearest(name, held))
    }
}

/// The key of what is waited for.
fn moment_key(when: &When) -> String {
    let named = when.moments().map(|(moment, _)| moment.key()).next();
    quoted(named.unwrap_or(if when.reached.is_some() { "reached" } else { "at_ms" }))
}
