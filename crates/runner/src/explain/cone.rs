//! The lines that are the cause of a broken promise: from the anomaly back over messages, changes of
//! state, calls and faults, as far as they touch what the promise was about.

use std::collections::{BTreeMap, BTreeSet};

use eosim_sim::fault::Command;
use eosim_types::Instant;
use eosim_types::observation::Observed as Saw;
use eosim_types::rules::RULES;

use super::focus::Focus;
use crate::history::Entry;
use crate::run::{Change, Line, What, named};
use crate::variant::{Linked, Part};

/// At most so many lines make a story.
const LINES: usize = 15;

/// At most so many changes of one step are told.
const CHANGES: usize = 4;

/// At most so many rules of one step are named: the rarest of the run.
const RULES_NAMED: usize = 2;

/// One line of the story.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// When.
    pub at: Instant,
    /// At which step; 0 for what the world does.
    pub step: u64,
    /// To whom it happened.
    pub actor: String,
    /// What happened.
    pub text: String,
    /// The step in which the request was sent that is taken here, or was answered.
    pub from: Option<u64>,
    /// The rules behind it, the rarest first.
    pub rules: Vec<&'static str>,
    /// What changed at a broker.
    pub changes: Vec<String>,
    /// The part of the run that did it, if it is a necessary one.
    pub part: Option<Part>,
    /// The promise is broken here.
    pub is_broken: bool,
}

/// What is known of a run.
pub(super) struct Cone<'a> {
    pub(super) run: &'a Linked,
    pub(super) focus: &'a Focus,
    pub(super) changes: &'a [Change],
    /// The lines in which necessary parts act.
    pub(super) parts: &'a BTreeMap<usize, Part>,
    /// The step at which the promise is broken.
    pub(super) broken_at: u64,
}

impl Cone<'_> {
    /// The story, in order.
    pub(super) fn moments(&self) -> Vec<Moment> {
        let lines = self.lines();
        let from = self.begins_at();
        let mut worth: Vec<(u32, usize)> = (0..lines.len())
            .filter(|&at| self.is_within(at, from))
            .map(|at| (self.worth(at), at))
            .filter(|(worth, _)| *worth > 0)
            .collect();
        worth.sort_by_key(|&(worth, at)| (std::cmp::Reverse(worth), at));
        let chosen = self.choose(&worth);
        chosen.into_iter().map(|at| self.moment(at)).collect()
    }

    fn lines(&self) -> &[Line] {
        &self.run.observed.lines
    }

    /// The best lines; what looks like one that is chosen already is worth less.
    fn choose(&self, worth: &[(u32, usize)]) -> BTreeSet<usize> {
        let mut chosen = BTreeSet::new();
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let shaped = worth.iter().map(|&(worth, at)| (worth, at, shape(&self.lines()[at])));
        let mut queue: Vec<(u32, usize, String)> = shaped.collect();
        while chosen.len() < LINES {
            let rated = queue.iter().enumerate().map(|(place, (worth, at, shape))| {
                let times = seen.get(shape).copied().unwrap_or(0);
                (worth >> times.min(8), std::cmp::Reverse(*at), place)
            });
            let Some((rest, _, place)) = rated.max() else { break };
            if rest < WORTH_TELLING {
                break;
            }
            let (_, at, shape) = queue.swap_remove(place);
            *seen.entry(shape).or_default() += 1;
            chosen.insert(at);
        }
        chosen
    }

    /// The first step that may matter: what was asked of a record or transaction begins with it, or a
    /// necessary part acts.
    pub(super) fn begins_at(&self) -> u64 {
        let focus = self.focus;
        let concerned = |what: &Saw| match what {
            Saw::SendCalled { value, .. } => focus.values.contains(value),
            Saw::TransactionBegun { transaction } => focus.transactions.contains(transaction),
            _ => false,
        };
        let observations = self.run.observed.history.observations();
        let first = observations.filter(|one| concerned(&one.what)).map(|one| one.step);
        first.min().unwrap_or(0).min(self.first_part())
    }

    /// The step of the first necessary part that acts.
    fn first_part(&self) -> u64 {
        self.parts.keys().next().map_or(u64::MAX, |at| self.run.step_of(*at))
    }

    fn is_within(&self, at: usize, from: u64) -> bool {
        (from..=self.broken_at).contains(&self.run.step_of(at))
    }

    /// What a line contributes.
    fn worth(&self, at: usize) -> u32 {
        if self.parts.contains_key(&at) {
            return MUST;
        }
        let line = &self.lines()[at];
        let link = &self.run.trail.links[at];
        match &link.what {
            What::Observes(entry) => self.observed(*entry, line),
            What::TakesRequest(request) => {
                let late = if self.is_struck(*request) { MUST } else { 0 };
                late.max(self.message(line, line) + self.changed(line.step))
            }
            What::TakesAnswer { is_disconnect, .. } => {
                let of = link.from.map_or(line, |from| &self.lines()[from]);
                let failed = *is_disconnect || is_error(&line.text);
                let told = if failed { self.message(line, of) * 2 / 3 } else { 0 };
                told + self.changed(line.step)
            }
            What::Starts => {
                let restarted = line.step > self.run.observed.actors.len() as u64;
                let starts = if line.text == "starts" && restarted { 45 } else { 0 };
                starts + self.changed(line.step)
            }
            What::Commanded { command, .. } => match command {
                Command::Crash { .. } | Command::Operate { .. } => 25,
                Command::Pause { .. } | Command::Cut { .. } => 15,
                _ => 0,
            },
            What::Befalls { .. } => match link.from {
                Some(from) => self.message(&self.lines()[from], &self.lines()[from]) / 3,
                None => 0,
            },
            What::Sends(_) => 0,
        }
    }

    /// Has a necessary part struck the request?
    fn is_struck(&self, request: u32) -> bool {
        self.parts.keys().any(|at| match &self.run.trail.links[*at].what {
            What::Befalls { request: struck, .. } => *struck == request,
            _ => false,
        })
    }

    /// What the changes of a step are worth.
    fn changed(&self, step: u64) -> u32 {
        let of_step = self.changes.iter().filter(|change| change.step == step);
        of_step.map(|change| u32::from(change.weight)).max().unwrap_or(0) * 11
    }

    /// What a message is worth that `of` names and `line` tells.
    fn message(&self, line: &Line, of: &Line) -> u32 {
        let touches = self.focus.touches(&of.text, &self.run.observed.names);
        let touches = touches.max(self.focus.touches(&line.text, &self.run.observed.names));
        let api = line.text.split(' ').find_map(worth_of_api).unwrap_or(0);
        match touches {
            0 => 0,
            1 => api / 3,
            2 | 3 => api,
            _ => api * 3 / 2,
        }
    }

    /// What an observation is worth.
    fn observed(&self, entry: usize, line: &Line) -> u32 {
        let Some(Entry::Observed(observation)) = self.run.observed.history.entries.get(entry)
        else {
            return 0;
        };
        let focus = self.focus;
        let is_actor = focus.actors.contains(&observation.actor);
        let if_true = |is: bool, worth: u32| if is { worth } else { 0 };
        let of_transaction =
            |transaction, worth| if_true(focus.transactions.contains(transaction), worth);
        match &observation.what {
            Saw::Polled { partition, records, from, to, .. } => {
                let given = records.iter().any(|(_, value)| focus.values.contains(value));
                let passed = |(tp, at): &(_, i64)| tp == partition && (from..to).contains(&at);
                let passed = focus.offsets.iter().any(passed) && is_actor;
                let is_it = observation.step == self.broken_at && (given || passed);
                if_true(is_it, MUST) + if_true(given, 60) + if_true(passed, 40)
            }
            Saw::SendCalled { value, .. } => if_true(focus.values.contains(value), 75),
            Saw::SendAnswered { value, .. } => if_true(focus.values.contains(value), 70),
            Saw::TransactionBegun { transaction } => of_transaction(transaction, 40),
            Saw::EndCalled { transaction, .. } | Saw::Decided { transaction } => {
                of_transaction(transaction, 80)
            }
            Saw::EndAnswered { transaction, .. } => of_transaction(transaction, 80),
            Saw::OffsetsSent { transaction, .. } => of_transaction(transaction, 60),
            Saw::ProducerFailed { .. } => if_true(is_actor, 85),
            Saw::TransactionsInitialized { .. } => if_true(is_actor, 35),
            Saw::ProducerOpened { .. } | Saw::ProducerClosed { .. } => if_true(is_actor, 15),
            Saw::PositionSet { partition, .. } => {
                if_true(is_actor && focus.partitions.contains(partition), 25)
            }
            Saw::Rebalanced { group, .. } => if_true(focus.groups.contains(group), 40),
            Saw::OffsetsFetched { group, .. } => if_true(focus.groups.contains(group), 40),
            Saw::EndOffset { partition, .. } => if_true(focus.partitions.contains(partition), 10),
            Saw::AssertionFailed { .. } => if_true(line.step == self.broken_at, MUST),
        }
    }

    fn moment(&self, at: usize) -> Moment {
        let line = &self.lines()[at];
        let link = &self.run.trail.links[at];
        let is_step =
            matches!(link.what, What::TakesRequest(_) | What::TakesAnswer { .. } | What::Starts);
        let sent = link.from.map(|from| self.lines()[from].step).filter(|_| is_step);
        let mut changes: Vec<&Change> =
            self.changes.iter().filter(|change| is_step && change.step == line.step).collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.weight));
        let is_broken = match link.what {
            What::Observes(entry) => {
                line.step == self.broken_at && self.observed(entry, line) >= BREAKS
            }
            _ => false,
        };
        Moment {
            at: line.at,
            step: line.step,
            actor: self.run.observed.actor(line.actor).to_string(),
            text: named(&line.text, &self.run.observed.actors),
            from: sent.filter(|from| *from > 0),
            rules: self.rules(&link.rules),
            changes: changes.into_iter().take(CHANGES).map(|change| change.text.clone()).collect(),
            part: self.parts.get(&at).copied(),
            is_broken,
        }
    }

    /// The rarest rules: what every request reaches says little.
    fn rules(&self, reached: &[&'static str]) -> Vec<&'static str> {
        let count = |rule: &str| {
            let at = RULES.iter().position(|known| *known == rule);
            at.map_or(u64::MAX, |at| {
                self.run.observed.marks.count(eosim_types::marks::Mark::Rule(at))
            })
        };
        let mut rules: Vec<(u64, &'static str)> =
            reached.iter().map(|rule| (count(rule), *rule)).collect();
        rules.sort_unstable();
        rules.into_iter().take(RULES_NAMED).map(|(_, rule)| rule).collect()
    }
}

/// What must be told.
const MUST: u32 = 1 << 20;

/// Of what an application does or learns in the step in which the promise is broken, what is worth
/// as much breaks it.
const BREAKS: u32 = 60;

/// What is worth less is left out.
const WORTH_TELLING: u32 = 20;

fn is_error(text: &str) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    let mut errors = words.filter(|word| word.len() > 4 && word.contains('_'));
    errors.any(|word| eosim_types::ErrorCode::from_name(word).is_some())
}

fn worth_of_api(word: &str) -> Option<u32> {
    Some(match word {
        "EndTxn" | "WriteTxnMarkers" => 50,
        "InitProducerId" | "Produce" | "TxnOffsetCommit" | "DeleteRecords" => 44,
        "AddPartitionsToTxn" | "AddOffsetsToTxn" | "OffsetCommit" | "OffsetFetch" => 38,
        "ElectLeaders" | "AlterPartitionReassignments" | "AlterPartition" => 30,
        "JoinGroup" | "SyncGroup" | "LeaveGroup" | "ConsumerGroupHeartbeat" => 20,
        "ListOffsets" | "OffsetForLeaderEpoch" | "AllocateProducerIds" => 15,
        "Fetch" => 4,
        _ => return None,
    })
}

/// A line without its numbers and values: what is told alike looks alike.
fn shape(line: &Line) -> String {
    let words = line.text.split_whitespace().take(3);
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphabetic()));
    format!("{} {}", line.actor, words.collect::<Vec<_>>().join(" "))
}
