//! Aimed faults: do this to the n-th message that looks like that.

use eosim_actor::CrashKind;
use eosim_types::{ActorId, Duration};

use super::{Cause, Command, Count, Envelope, Fate, FaultCx, FaultHook, HoldKey, Way};

/// A message that rules can be aimed at.
pub trait Described {
    /// The name of its API, Kafka's spelling without the word "Request".
    fn api(&self) -> &'static str;
}

impl Described for eosim_types::message::Message {
    fn api(&self) -> &'static str {
        Self::api(self).name()
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

/// Which message, and when.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Trigger {
    /// At which moment.
    pub moment: Moment,
    /// Of which API; any if `None`.
    pub api: Option<String>,
    /// Sender of the message; any if `None`.
    pub from: Option<ActorId>,
    /// Receiver of the message; any if `None`.
    pub to: Option<ActorId>,
    /// Which of those that fit, counted from 1.
    pub nth: u32,
}

/// One end of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Party {
    /// Who sends it.
    Sender,
    /// Who gets it.
    Receiver,
}

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// The connection breaks and the message is lost.
    Drop,
    /// The message and all that follows is lost in silence.
    Silence,
    /// The message arrives later.
    Delay(Duration),
    /// The connection breaks, the message arrives later all the same.
    Late(Duration),
    /// The message waits for [`Action::Release`] under the same key.
    Hold(HoldKey),
    /// What was held under the key goes on.
    Release(HoldKey),
    /// A process dies and begins again later.
    Crash {
        /// Which end of the message.
        who: Party,
        /// How.
        kind: CrashKind,
        /// How long it stays dead.
        down: Duration,
    },
    /// A process stalls.
    Pause {
        /// Which end of the message.
        who: Party,
        /// For how long.
        lasts: Duration,
    },
    /// Connections between the two ends break.
    Reset,
}

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AimedFault {
    /// When it acts.
    pub when: Trigger,
    /// What it does.
    pub then: Action,
    /// How many messages have fitted so far.
    pub seen: u32,
    /// How often it was done.
    pub count: Count,
}

impl AimedFault {
    /// Does `then` when `when`.
    #[must_use]
    pub fn new(when: Trigger, then: Action) -> Self {
        Self { when, then, seen: 0, count: Count::default() }
    }
}

/// All rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Aimed {
    /// In the order in which they are tried.
    pub rules: Vec<AimedFault>,
}

/// Causes of rules are numbered from here.
const FIRST_CAUSE: u16 = 1_000;

impl Aimed {
    /// Forgets what was seen and counted.
    pub fn reset(&mut self) {
        for rule in &mut self.rules {
            (rule.seen, rule.count) = (0, Count::default());
        }
    }

    /// Every rule sees the message; the first fate decided counts. Most runs have no rules.
    #[inline]
    fn see<M: Described>(
        &mut self,
        cx: &mut FaultCx<'_>,
        moment: Moment,
        envelope: Envelope<'_, M>,
    ) -> Fate {
        if self.rules.is_empty() { Fate::Deliver } else { self.try_rules(cx, moment, envelope) }
    }

    #[inline(never)]
    fn try_rules<M: Described>(
        &mut self,
        cx: &mut FaultCx<'_>,
        moment: Moment,
        envelope: Envelope<'_, M>,
    ) -> Fate {
        let mut fate = Fate::Deliver;
        for (rule, cause) in self.rules.iter_mut().zip(FIRST_CAUSE..) {
            if rule.when.fits(moment, envelope) {
                rule.seen += 1;
                if rule.seen == rule.when.nth && fate == Fate::Deliver {
                    cx.cause = Cause(cause);
                    fate = rule.act(cx, envelope);
                }
            }
        }
        fate
    }
}

impl Trigger {
    fn fits<M: Described>(&self, moment: Moment, envelope: Envelope<'_, M>) -> bool {
        self.moment == moment
            && self.from.is_none_or(|from| from == envelope.from)
            && self.to.is_none_or(|to| to == envelope.to)
            && self.api.as_deref().is_none_or(|api| api == envelope.message.api())
    }
}

impl AimedFault {
    fn act<M>(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) -> Fate {
        let fate = match self.then {
            Action::Drop => Fate::Lose,
            Action::Silence => Fate::Silence,
            Action::Delay(by) => Fate::Delay(by),
            Action::Late(after) => Fate::Late(after, cx.cause),
            Action::Hold(key) => Fate::Hold(key),
            _ => Fate::Deliver,
        };
        self.count.apply(fate.is_effective_at_once() && envelope.awaited);
        self.order(cx, envelope);
        fate
    }

    fn order<M>(&self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) {
        let end = |who| if who == Party::Sender { envelope.from } else { envelope.to };
        match self.then {
            Action::Release(key) => cx.order(cx.now, Command::Release { key }),
            Action::Crash { who, kind, down } => {
                cx.order(cx.now, Command::Crash { actor: end(who), kind });
                cx.order(cx.now + down, Command::Restart { actor: end(who) });
            }
            Action::Pause { who, lasts } => {
                cx.order(cx.now, Command::Pause { actor: end(who) });
                cx.order(cx.now + lasts, Command::Resume { actor: end(who) });
            }
            Action::Reset => {
                let (from, to) = match envelope.way {
                    Way::Request => (envelope.from, envelope.to),
                    Way::Response => (envelope.to, envelope.from),
                };
                cx.order(cx.now, Command::Reset { from, to });
            }
            _ => {}
        }
    }
}

impl<M: Described> FaultHook<M> for Aimed {
    fn start(&mut self, _: &mut FaultCx<'_>) {}

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

    fn woken(&mut self, _: &mut FaultCx<'_>) {}

    fn took_effect(&mut self, Cause(cause): Cause) {
        if let Some(index) = cause.checked_sub(FIRST_CAUSE)
            && let Some(rule) = self.rules.get_mut(usize::from(index))
        {
            rule.count.effective += 1;
        }
    }
}
