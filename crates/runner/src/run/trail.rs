//! What led to what: of each line of a transcript what it is, and from which line it came.
//!
//! Invariant: there is one entry for each line, in the same order.

use std::collections::BTreeMap;

use eosim_actor::{Correlation, Effect, Event, Lane};
use eosim_sim::fault::{Cause, Command, Envelope, Fate, Way};
use eosim_sim::request_number;
use eosim_types::digest::Digest;
use eosim_types::marks::Mark;
use eosim_types::message::Message;
use eosim_types::observation::Observed;
use eosim_types::rules::RULES;
use eosim_types::{ActorId, Marks};

/// What a line of a transcript is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A process begins, is asked to stop, or its timer has run out.
    Starts,
    /// A request is taken.
    TakesRequest(u32),
    /// The answer to an own request is taken, or that there will be none.
    TakesAnswer {
        /// The request, if it ever left.
        request: Option<u32>,
        /// The connection broke.
        is_disconnect: bool,
    },
    /// A request is sent; without a number if its connection was broken already.
    Sends(Option<u32>),
    /// An application does or learns what stands at this place of the history.
    Observes(usize),
    /// Something befalls a message.
    Befalls { request: u32, way: Way, fate: Fate, cause: Cause },
    /// The world obeys a command.
    Commanded { command: Command, cause: Cause },
}

/// A line, what led to it, and what was reached in the step that it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    pub(crate) what: What,
    /// The line that it came from: the request of an event, the step of what is decided in it.
    pub(crate) from: Option<usize>,
    /// Rules that were reached, of the line that begins a step.
    pub(crate) rules: Vec<&'static str>,
}

/// A request that was decided on and has not left yet.
#[derive(Clone, Debug)]
struct Leaving {
    line: usize,
    to: ActorId,
    lane: Lane,
    correlation: Correlation,
    digest: u64,
}

/// The links of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    pub(crate) links: Vec<Link>,
    marks: Marks,
    /// The line that the step under way begins with.
    step: Option<usize>,
    leaving: Vec<Leaving>,
    /// Of each request, the line in which it was sent.
    sent: BTreeMap<u32, usize>,
    /// Of each request, the line of the step in which it was answered.
    answered: BTreeMap<u32, usize>,
    /// The numbers of an actor's own requests.
    own: BTreeMap<(ActorId, Correlation), Option<u32>>,
    /// Of each timer, the line of the step that set it.
    timers: BTreeMap<(ActorId, u16), usize>,
}

impl Trail {
    /// The next line is `what`, in the step under way.
    pub(crate) fn add(&mut self, what: What) {
        let from = match &what {
            What::Befalls { request, way: Way::Request, .. } => self.sent.get(request).copied(),
            What::Befalls { request, way: Way::Response, .. } => {
                self.answered.get(request).copied()
            }
            What::Commanded { command, .. } => {
                // What an operation decides is of no step.
                if matches!(command, Command::Operate { .. }) {
                    self.step = Some(self.links.len());
                }
                None
            }
            _ => self.step,
        };
        self.links.push(Link { what, from, rules: Vec::new() });
    }

    /// The next line is a step of `actor`.
    pub(crate) fn takes(&mut self, actor: ActorId, event: &Event<Message>) {
        let own =
            |correlation: &Correlation| self.own.get(&(actor, *correlation)).copied().flatten();
        let (what, from) = match event {
            Event::Request { token, .. } => {
                let request = request_number(*token);
                (What::TakesRequest(request), self.sent.get(&request).copied())
            }
            Event::Response { correlation, .. } => {
                let request = own(correlation);
                let from = request.and_then(|request| self.answered.get(&request).copied());
                (What::TakesAnswer { request, is_disconnect: false }, from)
            }
            Event::Disconnected { correlation } => {
                let request = own(correlation);
                let from = request.and_then(|request| self.sent.get(&request).copied());
                (What::TakesAnswer { request, is_disconnect: true }, from)
            }
            Event::Timer(key) => (What::Starts, self.timers.get(&(actor, key.0)).copied()),
            Event::Started | Event::StopRequested => (What::Starts, None),
        };
        self.step = Some(self.links.len());
        self.links.push(Link { what, from, rules: Vec::new() });
    }

    /// What was decided in the step: its requests are the next lines.
    pub(crate) fn decides(
        &mut self,
        actor: ActorId,
        effects: &[Effect<Message, Observed>],
        marks: &Marks,
    ) {
        self.reached(marks);
        self.leaving.clear();
        for effect in effects {
            match effect {
                Effect::Send { to, lane, correlation, message } => {
                    self.own.insert((actor, *correlation), None);
                    let (line, digest) = (self.links.len(), Digest::of(message));
                    let (to, lane, correlation) = (*to, *lane, *correlation);
                    self.leaving.push(Leaving { line, to, lane, correlation, digest });
                    self.add(What::Sends(None));
                }
                Effect::Respond { token, .. } => {
                    if let Some(step) = self.step {
                        self.answered.insert(request_number(*token), step);
                    }
                }
                Effect::SetTimer { key, .. } => {
                    if let Some(step) = self.step {
                        self.timers.insert((actor, key.0), step);
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes of the step which rules it has reached.
    fn reached(&mut self, marks: &Marks) {
        let before = std::mem::replace(&mut self.marks, marks.clone());
        let is_new = |at: &usize| marks.count(Mark::Rule(*at)) > before.count(Mark::Rule(*at));
        if let Some(link) = self.step.and_then(|step| self.links.get_mut(step)) {
            link.rules.extend((0..RULES.len()).filter(is_new).map(|at| RULES[at]));
        }
    }

    /// A request leaves.
    pub(crate) fn sent(&mut self, envelope: &Envelope<'_, Message>) {
        if envelope.way == Way::Response {
            return;
        }
        let digest = Digest::of(envelope.message);
        let is_it =
            |one: &Leaving| (one.to, one.lane, one.digest) == (envelope.to, envelope.lane, digest);
        let Some(at) = self.leaving.iter().position(is_it) else { return };
        let Leaving { line, correlation, .. } = self.leaving.remove(at);
        self.links[line].what = What::Sends(Some(envelope.number));
        self.sent.insert(envelope.number, line);
        self.own.insert((envelope.from, correlation), Some(envelope.number));
    }
}
