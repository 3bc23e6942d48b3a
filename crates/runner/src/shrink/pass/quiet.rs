//! Choices: quiet ones in the place of others, and lower ones.

use eosim_scenario::plan::FAULTS;
use serde_json::Value;

use super::blocks;
use crate::shrink::guide::Pick;
use crate::shrink::trial::{Best, Proposal};

/// So many choices at most are lowered one by one.
const LOWERED: usize = 64;

/// Proposals to make choices quiet: all, those of a site, of a site and an actor, and blocks no
/// finer than `finest` to the whole.
pub(crate) fn quiet(best: &Best, finest: usize) -> Vec<Proposal> {
    let loud = loud(best, |pick| pick.choice.picked > 0);
    if loud.is_empty() {
        return Vec::new();
    }
    let mut groups = vec![loud.clone()];
    let of_site = |pick: &Pick| (pick.choice.site.clone(), String::new());
    let of_actor = |pick: &Pick| (pick.choice.site.clone(), pick.who.clone());
    groups.extend(grouped(best, &loud, &of_site));
    groups.extend(grouped(best, &loud, &of_actor));
    groups.extend(blocks(loud.len(), finest).into_iter().map(|range| loud[range].to_vec()));
    groups.into_iter().map(Proposal::Quiet).collect()
}

/// Proposals to let fewer of the faults strike that strike at random.
pub(crate) fn fewer_strikes(best: &Best) -> Vec<Proposal> {
    let strikes = loud(best, |pick| strikes(&best.value, pick));
    let ranges = blocks(strikes.len(), usize::MAX).into_iter();
    ranges.map(|range| Proposal::Quiet(strikes[range].to_vec())).collect()
}

/// Proposals to lower choices that cannot be quiet.
pub(crate) fn lower_picks(best: &Best) -> Vec<Proposal> {
    let loud = loud(best, |pick| pick.choice.picked > 1);
    let half = |&index: &usize| Proposal::Pick(index, best.picks[index].choice.picked / 2);
    loud.iter().take(LOWERED).map(half).collect()
}

fn loud(best: &Best, is_loud: impl Fn(&Pick) -> bool) -> Vec<usize> {
    let picks = best.picks.iter().enumerate();
    picks.filter(|(_, pick)| is_loud(pick)).map(|(index, _)| index).collect()
}

fn grouped(
    best: &Best,
    loud: &[usize],
    key: &dyn Fn(&Pick) -> (String, String),
) -> Vec<Vec<usize>> {
    let mut groups = std::collections::BTreeMap::<_, Vec<usize>>::new();
    for &index in loud {
        groups.entry(key(&best.picks[index])).or_default().push(index);
    }
    groups.into_values().collect()
}

/// Is it the choice by which a fault strikes? The last ones of its rate are.
fn strikes(plan: &Value, pick: &Pick) -> bool {
    let name = pick.choice.site.strip_prefix("fault.").filter(|name| FAULTS.contains(name));
    let Some(fault) = name.and_then(|name| plan.get("faults")?.get(name)) else { return false };
    let rate = fault.get("rate").unwrap_or(fault).as_str().and_then(|rate| rate.split_once('/'));
    let numerator = rate.and_then(|(numerator, _)| numerator.parse().ok()).unwrap_or(0);
    pick.choice.picked >= pick.choice.n.saturating_sub(numerator)
}
