//! What a rule does.

use eosim_actor::CrashKind;
use eosim_types::{ActorId, Duration, ErrorCode};

use crate::fault::{Command, Envelope, Fate, FaultCx, HoldKey, Way};

/// Who is struck.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Whom {
    /// Who sends the message.
    Sender,
    /// Who gets it.
    Receiver,
    /// Whatever the message, this one.
    Actor(ActorId),
    /// Who entered the state.
    It,
}

/// What to do. What lasts ends after a while or, where there is no length, when the rule says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// The connection breaks and the message is lost.
    Drop,
    /// The message and all that follows is lost in silence.
    Silence,
    /// The message arrives later.
    Delay(Duration),
    /// The connection breaks, the message arrives later all the same.
    Late(Option<Duration>),
    /// The message waits, under a key for [`Action::Release`], or until the rule's end.
    Hold(HoldKey),
    /// What was held under the key goes on.
    Release(HoldKey),
    /// A request is answered with an error and has no effect, or a response turns into one.
    Refuse(ErrorCode),
    /// A process dies and begins again later.
    Crash {
        /// Who.
        who: Whom,
        /// How.
        kind: CrashKind,
        /// How long it stays dead.
        down: Option<Duration>,
    },
    /// A process is asked to stop in good order and begins again later.
    Stop {
        /// Who.
        who: Whom,
        /// How long it stays down once it has ended.
        down: Option<Duration>,
    },
    /// A process stalls.
    Pause {
        /// Who.
        who: Whom,
        /// For how long.
        lasts: Option<Duration>,
    },
    /// Connections between the two ends break.
    Reset,
}

impl Action {
    /// What becomes of the message. `key` is the rule's own.
    pub(super) fn fate(self, cx: &FaultCx<'_>, key: HoldKey) -> Fate {
        match self {
            Self::Drop => Fate::Lose,
            Self::Silence => Fate::Silence,
            Self::Delay(by) => Fate::Delay(by),
            Self::Late(Some(after)) => Fate::Late(after, cx.cause),
            Self::Late(None) => Fate::LateHold(key, cx.cause),
            Self::Hold(key) => Fate::Hold(key),
            Self::Refuse(error) => Fate::Refuse(error),
            _ => Fate::Deliver,
        }
    }

    /// Gives its orders; what ends it with the rule's end is added to `ends`.
    pub(super) fn order<M>(
        self,
        cx: &mut FaultCx<'_>,
        occasion: Occasion<'_, M>,
        key: HoldKey,
        ends: &mut Vec<Command>,
    ) {
        match self {
            Self::Release(key) => cx.order(cx.now, Command::Release { key }),
            Self::Hold(key) => ends.push(Command::Release { key }),
            Self::Late(None) => ends.push(Command::Release { key }),
            Self::Crash { who, kind, down } => {
                let Some(actor) = who.among(occasion) else { return };
                cx.order(cx.now, Command::Crash { actor, kind });
                last(cx, down, Command::Restart { actor }, ends);
            }
            Self::Stop { who, down } => {
                let Some(actor) = who.among(occasion) else { return };
                cx.order(cx.now, Command::RequestStop { actor, down });
                if down.is_none() {
                    ends.push(Command::Restart { actor });
                }
            }
            Self::Pause { who, lasts } => {
                let Some(actor) = who.among(occasion) else { return };
                cx.order(cx.now, Command::Pause { actor });
                last(cx, lasts, Command::Resume { actor }, ends);
            }
            Self::Reset => {
                if let Occasion::Message(envelope) = occasion {
                    let (from, to) = opener_and_receiver(envelope);
                    cx.order(cx.now, Command::Reset { from, to });
                }
            }
            _ => {}
        }
    }
}

/// `end` comes after `length`, or with the rule's end.
fn last(cx: &mut FaultCx<'_>, length: Option<Duration>, end: Command, ends: &mut Vec<Command>) {
    match length {
        Some(length) => cx.order(cx.now + length, end),
        None => ends.push(end),
    }
}

fn opener_and_receiver<M>(envelope: Envelope<'_, M>) -> (ActorId, ActorId) {
    match envelope.way {
        Way::Request => (envelope.from, envelope.to),
        Way::Response => (envelope.to, envelope.from),
    }
}

/// What a rule acts upon.
#[derive(Debug)]
pub(super) enum Occasion<'a, M> {
    /// A message.
    Message(Envelope<'a, M>),
    /// A state that this actor has entered.
    State(ActorId),
    /// A time.
    Time,
}

impl<M> Clone for Occasion<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Occasion<'_, M> {}

impl Whom {
    /// Who that is, if the occasion knows.
    fn among<M>(self, occasion: Occasion<'_, M>) -> Option<ActorId> {
        match (self, occasion) {
            (Self::Sender, Occasion::Message(envelope)) => Some(envelope.from),
            (Self::Receiver, Occasion::Message(envelope)) => Some(envelope.to),
            (Self::It, Occasion::State(actor)) | (Self::Actor(actor), _) => Some(actor),
            _ => None,
        }
    }
}
