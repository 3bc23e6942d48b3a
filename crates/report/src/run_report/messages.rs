//! Requests with what became of them, and which of them are routine.

use std::collections::{BTreeMap, BTreeSet};

use eosim_types::ActorId;
use eosim_types::look::{Moment, MomentKind, Order};

use super::RunReport;

/// A request, by the lines that it is in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Exchange {
    /// Kafka's name of the API.
    pub(super) api: String,
    /// Where it is sent.
    pub(super) sent: Option<usize>,
    /// Where it is taken; twice if it is delivered twice.
    pub(super) taken: Vec<usize>,
    /// Where the answer is decided, and where it is taken.
    pub(super) answered: Option<(usize, usize)>,
    /// Where the sender learns that there will be none.
    pub(super) broken_off: Option<usize>,
    /// Whom it is for.
    pub(super) to: Option<ActorId>,
    /// It is lost, or its answer is.
    pub(super) lost: [bool; 2],
    /// A fault befell it or its answer.
    pub(super) is_struck: bool,
}

/// All requests of a run, by their numbers.
pub(super) struct Messages {
    pub(super) exchanges: BTreeMap<u32, Exchange>,
}

/// Requests that go on all the time and say nothing if nothing comes of them.
const ROUTINE: [&str; 9] = [
    "Fetch",
    "FetchMetadata",
    "BrokerHeartbeat",
    "Heartbeat",
    "ConsumerGroupHeartbeat",
    "Metadata",
    "ApiVersions",
    "BrokerRegistration",
    "FindCoordinator",
];

impl Messages {
    pub(super) fn of(run: &RunReport) -> Self {
        let mut exchanges: BTreeMap<u32, Exchange> = BTreeMap::new();
        for (at, moment) in run.moments.iter().enumerate() {
            match moment.kind {
                MomentKind::Sends { request: Some(request) } => {
                    let one = exchanges.entry(request).or_default();
                    one.sent = Some(at);
                    one.api = api(&moment.text).to_string();
                    one.to = receiver(&moment.text, run);
                }
                MomentKind::TakesRequest { request } => {
                    let one = exchanges.entry(request).or_default();
                    one.taken.push(at);
                    one.to = Some(moment.actor);
                    if one.api.is_empty() {
                        one.api = api(&moment.text).to_string();
                    }
                }
                MomentKind::TakesAnswer { request: Some(request), is_disconnect } => {
                    let one = exchanges.entry(request).or_default();
                    if is_disconnect {
                        one.broken_off = Some(at);
                    } else {
                        one.answered = moment.source().map(|from| (from, at));
                    }
                }
                MomentKind::Befalls { request, is_answer, is_lost } => {
                    let one = exchanges.entry(request).or_default();
                    one.is_struck = true;
                    one.lost[usize::from(is_answer)] |= is_lost;
                }
                _ => {}
            }
        }
        Self { exchanges }
    }

    /// The request that a line is about.
    pub(super) const fn request_of(moment: &Moment) -> Option<u32> {
        match moment.kind {
            MomentKind::Sends { request } | MomentKind::TakesAnswer { request, .. } => request,
            MomentKind::TakesRequest { request } | MomentKind::Befalls { request, .. } => {
                Some(request)
            }
            _ => None,
        }
    }

    /// Of each line, whether it is routine: nothing changes by it and nobody learns anything.
    pub(super) fn routine(&self, run: &RunReport) -> Vec<bool> {
        let observes = |moment: &&Moment| moment.kind == MomentKind::Observes;
        let telling: BTreeSet<u64> =
            run.moments.iter().filter(observes).map(|one| one.step).collect();
        let is_telling = |at: usize| {
            let step = run.moments[at].step;
            telling.contains(&step) || !run.changes_of(step).is_empty()
        };
        let is_routine = |one: &Exchange| {
            let steps = one.taken.iter().copied().chain(one.answered.map(|(_, taken)| taken));
            let is_quiet = one.broken_off.is_none() && !one.is_struck;
            ROUTINE.contains(&one.api.as_str()) && is_quiet && !steps.into_iter().any(is_telling)
        };
        let routine: BTreeSet<u32> = self
            .exchanges
            .iter()
            .filter(|(_, one)| is_routine(one))
            .map(|(request, _)| *request)
            .collect();
        let of_line = |(at, moment): (usize, &Moment)| match (moment.kind, Self::request_of(moment))
        {
            (_, Some(request)) => routine.contains(&request),
            (MomentKind::Timer, _) => !is_telling(at),
            (MomentKind::Commanded(order), _) => order == Order::Quiet,
            (MomentKind::TakesAnswer { .. }, None) => !is_telling(at),
            _ => false,
        };
        run.moments.iter().enumerate().map(of_line).collect()
    }
}

/// The API of `-> broker-1 #3 Fetch …`, `<- writer EndTxn …`, `<- #10 EndTxn …`.
pub(super) fn api(text: &str) -> &str {
    let mut words = text.split_whitespace().skip(1);
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let api = if second.starts_with('#') { words.next().unwrap_or_default() } else { second };
    if api.is_empty() { first } else { api }
}

/// Whom `-> broker-1 #3 Fetch …` is for.
fn receiver(text: &str, run: &RunReport) -> Option<ActorId> {
    let name = text.split_whitespace().nth(1)?;
    let at = run.actors.iter().position(|actor| actor == name)?;
    u16::try_from(at).ok().map(ActorId)
}
