//! When a rule acts: a moment in a message's life, or a time.

use eosim_types::marks::{Mark, Marks};
use eosim_types::message::{Facts, Message};
use eosim_types::{ActorId, ErrorCode, Instant};

use crate::fault::Envelope;

/// A message that rules can be aimed at.
pub trait Described: Sized {
    /// The name of its API, Kafka's spelling without the word "Request".
    fn api(&self) -> &'static str;

    /// Is it a request that says all this?
    fn says(&self, wanted: &Facts) -> bool {
        *wanted == Facts::default()
    }

    /// Is it a response in which the error stands?
    fn has_error(&self, _: ErrorCode) -> bool {
        false
    }

    /// The answer that refuses a request, or a response turned into one; `None` if there is none.
    fn refused(&self, _: ErrorCode) -> Option<Self> {
        None
    }
}

impl Described for Message {
    fn api(&self) -> &'static str {
        Self::api(self).name()
    }
    fn says(&self, wanted: &Facts) -> bool {
        Self::says(self, wanted)
    }
    fn has_error(&self, error: ErrorCode) -> bool {
        Self::has_error(self, error)
    }
    fn refused(&self, error: ErrorCode) -> Option<Self> {
        Self::refused(self, error)
    }
}

/// The moments in a message's life that a rule can name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Moment {
    /// A request leaves its sender.
    Sent,
    /// A request is about to be taken by its receiver.
    Received,
    /// A response leaves.
    Answered,
    /// A response is about to be taken by the side that asked.
    AnswerReceived,
}

/// Some of the moments, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Moments(u8);

impl Moments {
    const fn of(moment: Moment) -> Self {
        Self(1 << moment as u8)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Is `moment` among them?
    #[inline]
    pub(super) const fn have(self, moment: Moment) -> bool {
        self.0 & Self::of(moment).0 != 0
    }
}

impl Moment {
    const fn concerns_an_answer(self) -> bool {
        matches!(self, Self::Answered | Self::AnswerReceived)
    }
}

/// What a rule waits for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Cue {
    /// A message at a moment of its life.
    Message(MessageCue),
    /// A time.
    At(Instant),
    /// A state machine has entered a state, at this actor if one is named.
    Reached(Mark, Option<ActorId>),
}

/// Which messages a rule waits for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MessageCue {
    /// At which moment.
    pub moment: Moment,
    /// Of which API; any if `None`.
    pub api: Option<String>,
    /// Sender of the message; any if `None`.
    pub from: Option<ActorId>,
    /// Receiver of the message; any if `None`.
    pub to: Option<ActorId>,
    /// What the request says; of a response, what the request that it answers says.
    pub facts: Facts,
    /// The error that stands in a response.
    pub error: Option<ErrorCode>,
}

/// Which of those that fit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Which {
    /// The n-th of the run, counted from 1.
    Nth(u32),
    /// Every n-th.
    Every(u32),
    /// Any; of what ends something, the first from then on.
    Next,
}

/// When something happens.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Trigger {
    /// What is waited for.
    pub cue: Cue,
    /// Which of those.
    pub which: Which,
    /// Only what comes after this counts.
    pub after: Option<Box<Trigger>>,
}

/// A trigger at work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watch {
    trigger: Trigger,
    after: Option<Box<Watch>>,
    /// At which moments messages matter, here or in what has to come before.
    moments: Moments,
    /// What has to come before has come.
    open: bool,
    /// How often the state was entered in all runs when that was looked at last.
    entered: Option<u64>,
    /// How many have fitted so far.
    seen: u32,
    /// Requests that say what was asked for and whose answer is waited for.
    asked: Vec<u32>,
}

impl MessageCue {
    fn asks(&self) -> bool {
        self.facts != Facts::default()
    }

    /// The moments at which a message may fit or has to be remembered.
    fn moments(&self) -> Moments {
        let moments = Moments::of(self.moment);
        let remembers = self.moment.concerns_an_answer() && self.asks();
        if remembers { moments.and(Moments::of(Moment::Sent)) } else { moments }
    }

    /// Does the request say what its answer, which may fit, will not say?
    fn remembers<M: Described>(&self, moment: Moment, envelope: Envelope<'_, M>) -> bool {
        moment == Moment::Sent
            && self.moment.concerns_an_answer()
            && self.is_between(envelope, true)
            && self.asks()
            && envelope.message.says(&self.facts)
    }

    /// Sender, receiver and API fit. The one who is answered has sent the request.
    fn is_between<M: Described>(&self, envelope: Envelope<'_, M>, reversed: bool) -> bool {
        let (from, to) = if reversed { (self.to, self.from) } else { (self.from, self.to) };
        from.is_none_or(|from| from == envelope.from)
            && to.is_none_or(|to| to == envelope.to)
            && self.api.as_deref().is_none_or(|api| api == envelope.message.api())
    }
}

impl Watch {
    /// Waits for `trigger`.
    #[must_use]
    pub fn new(trigger: Trigger) -> Self {
        let after = trigger.after.as_deref().cloned().map(|after| Box::new(Self::new(after)));
        let own = match &trigger.cue {
            Cue::Message(cue) => cue.moments(),
            Cue::At(_) | Cue::Reached(..) => Moments::default(),
        };
        let moments = after.as_ref().map_or(own, |after| own.and(after.moments));
        Self { trigger, after, moments, open: false, entered: None, seen: 0, asked: Vec::new() }
    }

    /// Forgets what was seen.
    pub(super) fn reset(&mut self) {
        (self.seen, self.open, self.entered) = (0, false, None);
        self.asked.clear();
        self.after.iter_mut().for_each(|after| after.reset());
    }

    /// The time that is waited for.
    pub(super) fn time(&self) -> Option<Instant> {
        match self.trigger.cue {
            Cue::At(time) => Some(time),
            Cue::Message(_) | Cue::Reached(..) => None,
        }
    }

    /// A message is at `moment`: is it what is waited for?
    #[inline]
    pub(super) fn sees<M: Described>(
        &mut self,
        now: Instant,
        moment: Moment,
        envelope: Envelope<'_, M>,
    ) -> bool {
        self.moments.have(moment) && self.is_met_by(now, moment, envelope)
    }

    fn is_met_by<M: Described>(
        &mut self,
        now: Instant,
        moment: Moment,
        envelope: Envelope<'_, M>,
    ) -> bool {
        let fits = self.fits(moment, envelope);
        self.is_open(now, |after| after.sees(now, moment, envelope)) && fits && self.counts()
    }

    /// An actor has taken a step: has it entered the state that is waited for? What a watch has
    /// not looked at before, at the beginning of a run, does not count.
    pub(super) fn looks(&mut self, now: Instant, actor: ActorId, marks: &Marks) -> bool {
        let before = self.is_open(now, |after| after.looks(now, actor, marks));
        let Cue::Reached(state, by) = self.trigger.cue else { return false };
        let entered = marks.count(state);
        let is_new = self.entered.replace(entered).is_some_and(|last| last < entered);
        before && is_new && by.is_none_or(|by| by == actor) && self.counts()
    }

    /// States are waited for, here or in what has to come before.
    pub(super) fn needs_looks(&self) -> bool {
        let after = self.after.as_ref().is_some_and(|after| after.needs_looks());
        after || matches!(self.trigger.cue, Cue::Reached(..))
    }

    /// One more has fitted: is it the one?
    fn counts(&mut self) -> bool {
        self.seen += 1;
        match self.trigger.which {
            Which::Nth(nth) => self.seen == nth,
            Which::Every(nth) => self.seen.is_multiple_of(nth),
            Which::Next => true,
        }
    }

    /// The n-th, if that was waited for, has been seen already.
    pub(super) fn is_past(&self) -> bool {
        matches!(self.trigger.which, Which::Nth(nth) if self.seen >= nth)
    }

    /// Has what has to come before come already? The occasion, by which it may `come`, may be it.
    fn is_open(&mut self, now: Instant, come: impl FnOnce(&mut Self) -> bool) -> bool {
        let Some(after) = &mut self.after else { return true };
        let open = self.open || after.time().is_some_and(|time| time <= now);
        self.open = open || come(after);
        open
    }

    fn fits<M: Described>(&mut self, moment: Moment, envelope: Envelope<'_, M>) -> bool {
        let Cue::Message(cue) = &self.trigger.cue else { return false };
        if cue.moment != moment {
            if cue.remembers(moment, envelope) {
                self.asked.push(envelope.number);
            }
            return false;
        }
        cue.is_between(envelope, false)
            && if moment.concerns_an_answer() {
                cue.error.is_none_or(|error| envelope.message.has_error(error))
                    && (!cue.asks() || self.asked.contains(&envelope.number))
            } else {
                !cue.asks() || envelope.message.says(&cue.facts)
            }
    }
}
