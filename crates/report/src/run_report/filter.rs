//! Which lines of a run are shown: of an actor, of a partition, of a transactional id.
//!
//! A line is of a partition or an id if it names it, if the request that it is about does, or if it
//! begins a step in which something changed there.

use std::collections::BTreeSet;

use eosim_types::look::{Moment, MomentKind, Turned};
use eosim_types::{ActorId, TransactionalId};

use super::messages::Messages;
use super::{RunReport, whom};

/// What is asked for; everything, if nothing is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Only lines of this actor, and what the world does to it.
    pub actor: Option<ActorId>,
    /// Only what is about this partition, such as `orders-0`.
    pub partition: Option<String>,
    /// Only what is about this transactional id.
    pub transaction: Option<TransactionalId>,
}

/// What names a transaction.
struct OfTransaction {
    quoted: String,
    told: String,
    producers: BTreeSet<String>,
    actors: BTreeSet<ActorId>,
}

impl Filter {
    /// Is nothing asked for?
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Of each line, whether it is asked for.
    pub(super) fn passes(&self, run: &RunReport) -> Vec<bool> {
        let partition = self.partition.as_deref().map(|name| {
            spread(run, &|moment| {
                names_partition(&moment.text, name)
                    || moment.begins_step() && changes(run, moment, &format!("{name}:"))
            })
        });
        let transaction = self.transaction.map(|id| {
            let of = OfTransaction::of(id, run);
            spread(run, &|moment| of.is_in(moment, run))
        });
        let passes = |(at, moment): (usize, &Moment)| {
            self.actor.is_none_or(|actor| whom(moment) == actor)
                && partition.as_ref().is_none_or(|lines| lines[at])
                && transaction.as_ref().is_none_or(|lines| lines[at])
        };
        run.moments.iter().enumerate().map(passes).collect()
    }
}

/// Of each line, whether it `is_named`, or the request or the answer that it is about.
fn spread(run: &RunReport, is_named: &dyn Fn(&Moment) -> bool) -> Vec<bool> {
    let named: Vec<bool> = run.moments.iter().map(is_named).collect();
    let requests: BTreeSet<u32> = run
        .moments
        .iter()
        .zip(&named)
        .filter(|(moment, named)| **named && !matches!(moment.kind, MomentKind::Timer))
        .filter_map(|(moment, _)| Messages::request_of(moment))
        .collect();
    let is_of = |moment: &Moment| {
        Messages::request_of(moment).is_some_and(|request| requests.contains(&request))
    };
    run.moments.iter().zip(named).map(|(moment, named)| named || is_of(moment)).collect()
}

fn changes(run: &RunReport, moment: &Moment, begin: &str) -> bool {
    run.changes_of(moment.step).iter().any(|change| change.text.starts_with(begin))
}

/// The words of a line, without what surrounds them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_around = |c: char| matches!(c, ',' | ';' | ':' | '(' | ')' | '[' | ']' | '.');
    text.split_whitespace().map(move |word| word.trim_matches(is_around))
}

/// Does the line name the partition, as `orders-0` or `orders-0@12`?
fn names_partition(text: &str, name: &str) -> bool {
    words(text).any(|word| word.split('@').next() == Some(name))
}

impl OfTransaction {
    fn of(id: TransactionalId, run: &RunReport) -> Self {
        let name = run.names.transactional_id(id);
        let quoted = format!("\"{name}\"");
        let held = run.turns.iter().filter_map(|turn| match &turn.what {
            Turned::Transaction(of, Some(held)) if *of == id => Some(held.producer_id.to_string()),
            _ => None,
        });
        let opens = |moment: &&Moment| {
            let is_opening =
                moment.text.starts_with("* session ") && moment.text.contains(" opens");
            moment.kind == MomentKind::Observes && is_opening && moment.text.ends_with(&quoted)
        };
        Self {
            producers: held.collect(),
            actors: run.moments.iter().filter(opens).map(|moment| moment.actor).collect(),
            told: format!("transaction {name}:"),
            quoted,
        }
    }

    fn is_in(&self, moment: &Moment, run: &RunReport) -> bool {
        let is_producer = |word: &str| {
            let parts = word.split_once('/');
            parts.is_some_and(|(id, epoch)| {
                self.producers.contains(id) && epoch.parse::<i16>().is_ok()
            })
        };
        let is_own = moment.kind == MomentKind::Observes && self.actors.contains(&moment.actor);
        is_own
            || words(&moment.text).any(|word| word == self.quoted || is_producer(word))
            || moment.begins_step() && changes(run, moment, &self.told)
    }
}
