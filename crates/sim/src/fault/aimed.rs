//! Aimed faults: *when* the n-th message that looks like that is at that point, or a time has come,
//! *do* this, and end it *until* something else.

mod action;
mod trigger;

pub use action::{Action, Whom};
pub use trigger::{Cue, Described, MessageCue, Moment, Trigger, Watch, Which};

use eosim_types::{ActorId, ErrorCode, Instant, Marks};

use action::Occasion;

use super::{Cause, Command, Count, Envelope, Fate, FaultCx, FaultHook, HoldKey, Way};

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AimedFault {
    /// When it acts.
    when: Watch,
    /// What it does.
    then: Action,
    /// When that ends, if not by itself.
    until: Option<Watch>,
    /// What is to be ordered then.
    ends: Vec<Command>,
    /// How often it was done.
    pub count: Count,
}

impl AimedFault {
    /// Does `then` when `when`.
    #[must_use]
    pub fn new(when: Trigger, then: Action) -> Self {
        let when = Watch::new(when);
        Self { when, then, until: None, ends: Vec::new(), count: Count::default() }
    }

    /// What it does ends when `until`.
    #[must_use]
    pub fn until(self, until: Trigger) -> Self {
        Self { until: Some(Watch::new(until)), ..self }
    }

    fn reset(&mut self) {
        self.when.reset();
        self.until.iter_mut().for_each(Watch::reset);
        self.ends.clear();
        self.count = Count::default();
    }
}

/// Which rule gives orders or decides on messages as `cause`, if one does.
#[must_use]
pub fn rule_of(Cause(cause): Cause) -> Option<usize> {
    let own = cause.checked_sub(FIRST_CAUSE)?;
    (own < 2 * END).then(|| usize::from(own % END))
}

/// All rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aimed {
    /// In the order in which they are tried.
    pub rules: Vec<AimedFault>,
    /// From here on none of them acts: the world is to heal.
    pub end: Instant,
}

impl Default for Aimed {
    fn default() -> Self {
        Self { rules: Vec::new(), end: Instant::FAR }
    }
}

/// Causes of rules are numbered from here; the same numbers are keys for what a rule itself holds.
const FIRST_CAUSE: u16 = 1_000;

/// Added to a rule's cause by its end, which is not counted.
const END: u16 = 10_000;

impl Aimed {
    /// The key under which the rule at `index` holds what it releases itself.
    ///
    /// # Panics
    /// If there are more than some thousand rules.
    #[must_use]
    pub fn own_key(index: usize) -> HoldKey {
        HoldKey(FIRST_CAUSE + u16::try_from(index).expect("few rules"))
    }

    /// Forgets what was seen and counted.
    pub fn reset(&mut self) {
        self.rules.iter_mut().for_each(AimedFault::reset);
    }

    /// Every rule sees the message; the first fate decided counts. Most runs have no rules.
    #[inline]
    fn see<M: Described>(
        &mut self,
        cx: &mut FaultCx<'_>,
        moment: Moment,
        envelope: Envelope<'_, M>,
    ) -> Fate {
        if self.rules.is_empty() || cx.now >= self.end {
            return Fate::Deliver;
        }
        self.try_rules(cx, moment, envelope)
    }

    #[inline(never)]
    fn try_rules<M: Described>(
        &mut self,
        cx: &mut FaultCx<'_>,
        moment: Moment,
        envelope: Envelope<'_, M>,
    ) -> Fate {
        let (mut fate, mut decided) = (Fate::Deliver, Cause::OUTSIDE);
        for (rule, cause) in self.rules.iter_mut().zip(FIRST_CAUSE..) {
            cx.cause = Cause(cause);
            if rule.until.as_mut().is_some_and(|until| until.sees(cx.now, moment, envelope)) {
                rule.end(cx);
            }
            if rule.when.sees(cx.now, moment, envelope) && fate == Fate::Deliver {
                fate = rule.act(cx, HoldKey(cause), envelope);
                decided = Cause(cause);
            }
        }
        cx.cause = decided;
        fate
    }
}

impl AimedFault {
    fn needs_looks(&self) -> bool {
        self.when.needs_looks() || self.until.as_ref().is_some_and(Watch::needs_looks)
    }

    fn act<M>(&mut self, cx: &mut FaultCx<'_>, key: HoldKey, envelope: Envelope<'_, M>) -> Fate {
        let fate = self.then.fate(cx, key);
        self.count.apply(fate.is_effective_at_once() && envelope.awaited);
        self.order(cx, Occasion::Message(envelope), key);
        fate
    }

    fn order<M>(&mut self, cx: &mut FaultCx<'_>, occasion: Occasion<'_, M>, key: HoldKey) {
        self.then.order(cx, occasion, key, &mut self.ends);
        match &self.until {
            None => self.ends.clear(),
            Some(until) if until.is_past() => self.end(cx),
            Some(_) => {}
        }
    }

    fn end(&mut self, cx: &mut FaultCx<'_>) {
        let Cause(cause) = cx.cause;
        cx.cause = Cause(cause + END);
        self.ends.drain(..).for_each(|end| cx.order(cx.now, end));
        cx.cause = Cause(cause);
    }
}

impl<M: Described> FaultHook<M> for Aimed {
    /// Asks to be woken at the times that rules name.
    fn start(&mut self, cx: &mut FaultCx<'_>) {
        for (rule, cause) in self.rules.iter().zip(FIRST_CAUSE..) {
            let times = [(cause, Some(&rule.when)), (cause + END, rule.until.as_ref())];
            for (cause, watch) in times {
                if let Some(time) = watch.and_then(Watch::time) {
                    cx.cause = Cause(cause);
                    cx.order(time, Command::Wake);
                }
            }
        }
    }

    #[inline]
    fn sent(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) -> Fate {
        let moment = match envelope.way {
            Way::Request => Moment::Sent,
            Way::Response => Moment::Answered,
        };
        self.see(cx, moment, envelope)
    }

    #[inline]
    fn received(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) {
        let moment = match envelope.way {
            Way::Request => Moment::Received,
            Way::Response => Moment::AnswerReceived,
        };
        self.see(cx, moment, envelope);
    }

    fn refusal(&self, message: &M, error: ErrorCode) -> Option<M> {
        message.refused(error)
    }

    fn looks_at_states(&self) -> bool {
        self.rules.iter().any(AimedFault::needs_looks)
    }

    fn stepped(&mut self, cx: &mut FaultCx<'_>, actor: ActorId, marks: &Marks) {
        if cx.now >= self.end {
            return;
        }
        for (rule, cause) in self.rules.iter_mut().zip(FIRST_CAUSE..) {
            cx.cause = Cause(cause);
            if rule.until.as_mut().is_some_and(|until| until.looks(cx.now, actor, marks)) {
                rule.end(cx);
            }
            if rule.when.looks(cx.now, actor, marks) {
                rule.count.apply(false);
                rule.order::<M>(cx, Occasion::State(actor), HoldKey(cause));
            }
        }
    }

    /// A time has come.
    fn woken(&mut self, cx: &mut FaultCx<'_>) {
        let Cause(cause) = cx.cause;
        let ends = cause >= FIRST_CAUSE + END;
        let cause = if ends { cause - END } else { cause };
        let index = cause.checked_sub(FIRST_CAUSE).map(usize::from);
        let Some(rule) = index.and_then(|index| self.rules.get_mut(index)) else { return };
        if cx.now >= self.end {
            return;
        }
        cx.cause = Cause(cause);
        if ends {
            rule.end(cx);
        } else {
            rule.count.apply(false);
            rule.order::<M>(cx, Occasion::Time, HoldKey(cause));
        }
    }

    fn took_effect(&mut self, Cause(cause): Cause) {
        if let Some(index) = cause.checked_sub(FIRST_CAUSE)
            && let Some(rule) = self.rules.get_mut(usize::from(index))
        {
            rule.count.effective += 1;
        }
    }
}
