//! Who listens to a run: the checker always, history and transcript when somebody wants to read.

use eosim_actor::{Effect, Event};
use eosim_checker::Checker;
use eosim_sim::{Cause, Command, Envelope, Listener, Stamp, fault::Fate, fault::Way};
use eosim_types::digest::Digest;
use eosim_types::message::Message;
use eosim_types::observation::{ClusterDump, Observation, Observed};
use eosim_types::{ActorId, Instant, Marks, Names};

use super::story::Story;
use super::trail::{Trail, What};
use super::words;
use crate::history::Entry;

/// How messages and observations are put into words; given by whoever renders.
#[derive(Clone, Copy)]
pub struct Describe {
    /// A message, in one short line.
    pub message: fn(&Message, &Names) -> String,
    /// An observation, in one short line.
    pub observed: fn(&Observed, &Names) -> String,
}

/// One line of a transcript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// When.
    pub at: Instant,
    /// At which step.
    pub step: u64,
    /// Whom it concerns.
    pub actor: ActorId,
    /// What happened.
    pub text: String,
}

/// What is kept of a run for reading.
#[derive(Default)]
struct Kept {
    describe: Option<Describe>,
    names: Names,
    lines: Vec<Line>,
    history: Vec<Entry>,
}

/// Passes observations to the checker, and keeps history and transcript if asked to.
pub struct Watch {
    pub(crate) checker: Checker,
    /// The checker is at work: a panic now is its own.
    pub(super) in_checker: bool,
    kept: Option<Box<Kept>>,
    /// A fingerprint of each step, if they are wanted.
    trace: Option<Vec<Step>>,
    /// What faults and applications did, if that is wanted.
    story: Option<Box<Story>>,
    /// What led to what in the lines that are kept, if that is wanted.
    trail: Option<Box<Trail>>,
}

/// The fingerprint of one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// When.
    pub at: Instant,
    /// By whom.
    pub actor: ActorId,
    /// Of the event taken.
    pub event: u64,
}

impl Watch {
    pub(crate) fn new(checker: Checker) -> Self {
        Self { checker, in_checker: false, kept: None, trace: None, story: None, trail: None }
    }

    /// Keeps everything from now on.
    pub(super) fn keep(&mut self, describe: Describe, names: Names) {
        let describe = Some(describe);
        self.kept = Some(Box::new(Kept { describe, names, ..Kept::default() }));
    }

    /// Keeps with the lines of the next run what led to what.
    pub(crate) fn link(&mut self) {
        self.trail = Some(Box::default());
    }

    /// What led to what, if it was kept.
    pub(crate) fn take_trail(&mut self) -> Trail {
        self.trail.take().map_or_else(Trail::default, |trail| *trail)
    }

    /// Keeps a fingerprint of every step from now on.
    pub fn trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The fingerprints, if they were kept.
    #[must_use]
    pub fn take_trace(&mut self) -> Vec<Step> {
        self.trace.take().unwrap_or_default()
    }

    /// Keeps what faults and applications do from now on.
    pub(crate) fn follow(&mut self) {
        self.story = Some(Box::default());
    }

    /// What they did, if it was kept.
    pub(crate) fn take_story(&mut self) -> Story {
        self.story.take().map_or_else(Story::default, |story| *story)
    }

    /// Shows the checker what brokers hold, in mid-run or at the end.
    pub(super) fn dumped(&mut self, dump: ClusterDump, is_end: bool) {
        self.in_checker = true;
        if is_end {
            self.checker.finish(&dump);
        } else {
            self.checker.look(&dump);
        }
        self.in_checker = false;
        self.note(|| Entry::Dump(dump));
    }

    #[cold]
    fn keep_event(&mut self, stamp: Stamp, event: &Event<Message>) {
        if let Some(trace) = &mut self.trace {
            let Stamp { at, actor, .. } = stamp;
            trace.push(Step { at, actor, event: Digest::of(event) });
        }
        if let Some(kept) = &mut self.kept {
            let text = kept.event(event);
            kept.line(stamp, text);
        }
        if let Some(trail) = &mut self.trail {
            trail.takes(stamp.actor, event);
        }
    }

    #[cold]
    fn keep_effects(&mut self, stamp: Stamp, effects: &[Effect<Message, Observed>], marks: &Marks) {
        if let Some(kept) = &mut self.kept {
            kept.effects(stamp, effects);
        }
        if let Some(trail) = &mut self.trail {
            trail.decides(stamp.actor, effects, marks);
        }
    }

    /// Adds to the history, if one is kept.
    pub(super) fn note(&mut self, entry: impl FnOnce() -> Entry) {
        if let Some(kept) = &mut self.kept {
            kept.history.push(entry());
        }
    }

    /// The transcript and the history, if they were kept.
    #[must_use]
    pub fn take_kept(&mut self) -> (Vec<Line>, Vec<Entry>) {
        self.kept.take().map_or_else(Default::default, |kept| (kept.lines, kept.history))
    }
}

impl Kept {
    fn line(&mut self, stamp: Stamp, text: String) {
        self.lines.push(Line { at: stamp.at, step: stamp.step, actor: stamp.actor, text });
    }

    fn effects(&mut self, stamp: Stamp, effects: &[Effect<Message, Observed>]) {
        for effect in effects {
            if let Effect::Send { to, correlation, message, .. } = effect {
                let text =
                    format!("   -> {} #{} {}", actor(*to), correlation.0, self.message(message));
                self.line(stamp, text);
            }
        }
    }

    fn message(&self, message: &Message) -> String {
        self.describe.map_or_else(String::new, |describe| (describe.message)(message, &self.names))
    }

    fn event(&self, event: &Event<Message>) -> String {
        match event {
            Event::Started => "starts".into(),
            Event::StopRequested => "is asked to stop".into(),
            Event::Timer(key) => format!("timer {}", key.0),
            Event::Request { from, message, .. } => {
                format!("<- {} {}", actor(*from), self.message(message))
            }
            Event::Response { correlation, message } => {
                format!("<- #{} {}", correlation.0, self.message(message))
            }
            Event::Disconnected { correlation } => format!("<- #{} disconnected", correlation.0),
        }
    }
}

/// Notes of the line that was kept last what it is.
fn link(trail: &mut Option<Box<Trail>>, what: What) {
    if let Some(trail) = trail {
        trail.add(what);
    }
}

fn actor(id: ActorId) -> String {
    format!("[{}]", id.0)
}

impl Listener<Message, Observed> for Watch {
    fn observed(&mut self, stamp: Stamp, what: Observed) {
        let observation = Observation { at: stamp.at, step: stamp.step, actor: stamp.actor, what };
        self.in_checker = true;
        self.checker.observe(&observation);
        self.in_checker = false;
        if let Some(story) = &mut self.story {
            story.observed(&observation);
        }
        let Some(kept) = &mut self.kept else { return };
        if let Some(describe) = kept.describe {
            let text = format!("   * {}", (describe.observed)(&observation.what, &kept.names));
            kept.line(stamp, text);
            link(&mut self.trail, What::Observes(kept.history.len()));
        }
        kept.history.push(Entry::Observed(observation));
    }

    #[inline]
    fn event(&mut self, stamp: Stamp, event: &Event<Message>) {
        if self.trace.is_some() || self.kept.is_some() {
            self.keep_event(stamp, event);
        }
    }

    #[inline]
    fn effects(&mut self, stamp: Stamp, effects: &[Effect<Message, Observed>], marks: &Marks) {
        if self.kept.is_some() {
            self.keep_effects(stamp, effects, marks);
        }
    }

    #[inline]
    fn sent(&mut self, envelope: &Envelope<'_, Message>) {
        if let Some(story) = &mut self.story {
            story.sent(envelope);
        }
        if let Some(trail) = &mut self.trail {
            trail.sent(envelope);
        }
    }

    fn fate(&mut self, at: Instant, envelope: &Envelope<'_, Message>, fate: Fate, cause: Cause) {
        if let Some(story) = &mut self.story {
            story.befell(envelope, fate, cause);
        }
        let Some(kept) = &mut self.kept else { return };
        let way = match envelope.way {
            Way::Request => "request",
            Way::Response => "response",
        };
        let (api, to) = (envelope.message.api().name(), actor(envelope.to));
        let (befalls, by) = (words::fate(fate), words::cause(cause));
        let text = format!("   ! {api} {way} to {to}: {befalls}{by}");
        kept.lines.push(Line { at, step: 0, actor: envelope.from, text });
        let (request, way) = (envelope.number, envelope.way);
        link(&mut self.trail, What::Befalls { request, way, fate, cause });
    }

    fn command(&mut self, at: Instant, cause: Cause, command: &Command) {
        if let Some(story) = &mut self.story {
            story.obeyed(at, cause, command);
        }
        let Some(kept) = &mut self.kept else { return };
        let text = format!("   ! {}{}", words::command(command), words::cause(cause));
        kept.lines.push(Line { at, step: 0, actor: ActorId::CONTROLLER, text });
        link(&mut self.trail, What::Commanded { command: *command, cause });
    }
}
