//! Choices for a run that is like a recorded one but not the same: each actor goes on with its own
//! picks of each site, in their order, and where they run out all is quiet.

use std::collections::{BTreeMap, VecDeque};

use eosim_actor::{Choices, Picked, Site};
use eosim_types::ActorId;

/// A recorded choice, with the name of the actor that it was made for: numbers of actors change
/// when others are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pick {
    pub(crate) choice: Picked<String>,
    pub(crate) who: String,
}

impl Pick {
    /// `choice` in a run of `actors`.
    pub(crate) fn of(choice: Picked<String>, actors: &[String]) -> Self {
        let who = actors.get(usize::from(choice.entity.0)).cloned().unwrap_or_default();
        Self { choice, who }
    }
}

/// Picks by site and actor.
pub(crate) struct Guided<'a> {
    picks: BTreeMap<&'a str, BTreeMap<&'a str, VecDeque<u32>>>,
    called: Vec<String>,
}

impl<'a> Guided<'a> {
    /// Follows `picks`, changed by `change`, which is given each pick's index and value.
    pub(crate) fn new(picks: &'a [Pick], change: &dyn Fn(usize, u32) -> u32) -> Self {
        let mut guided = Self { picks: BTreeMap::new(), called: vec!["controller".to_string()] };
        for (index, Pick { choice, who }) in picks.iter().enumerate() {
            let of_site = guided.picks.entry(&choice.site).or_default();
            of_site.entry(who).or_default().push_back(change(index, choice.picked));
        }
        guided
    }

    /// The actors of this run, in the order of their numbers.
    pub(crate) fn call(&mut self, called: Vec<String>) {
        self.called = called;
    }
}

impl Choices for Guided<'_> {
    fn choose(&mut self, site: Site, entity: ActorId, n: u32) -> u32 {
        let who = self.called.get(usize::from(entity.0)).map_or("", String::as_str);
        let picks = self.picks.get_mut(site.name).and_then(|actors| actors.get_mut(who));
        let picked = picks.and_then(VecDeque::pop_front).unwrap_or_default();
        picked.min(n - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_actor::Stream;

    #[test]
    fn each_actor_follows_its_own_picks_whatever_its_number() {
        let pick = |who: &str, picked| Pick {
            choice: Picked { site: "s".to_string(), entity: ActorId(9), n: 10, picked },
            who: who.to_string(),
        };
        let picks = [pick("a", 1), pick("b", 2), pick("a", 3)];
        let mut guided = Guided::new(&picks, &|index, picked| if index == 1 { 7 } else { picked });
        guided.call(vec!["controller".to_string(), "b".to_string(), "a".to_string()]);
        let site = Site::new("s", Stream::Actor);
        let asked = [(1, 10), (2, 10), (2, 3), (2, 10), (1, 10)];
        let picked = asked.map(|(actor, n)| guided.choose(site, ActorId(actor), n));
        assert_eq!(picked, [7, 1, 2, 0, 0]);
    }
}
