//! Faults: what the world asks at each message, and what it can be ordered to do.
//!
//! The world knows no fault by name. It asks a [`FaultHook`] what becomes of each message, and
//! obeys [`Command`]s. [`Random`] holds the faults that strike by chance, one file each;
//! [`Aimed`] those that a rule aims at certain messages; [`Faults`] is both.
//!
//! Faults are *applied* when they are done and *effective* when they made a difference: a response
//! that nobody waited for any more is lost without effect.

mod aimed;
mod by_chance;
mod clock_jump;
mod connection_reset;
mod controller_away;
mod crash;
mod disk_error;
mod feature_change;
mod gc_pause;
mod housekeeping;
mod impossible_duplicate;
mod impossible_reorder;
mod late_request;
mod leader_election;
mod load_error;
mod lost_request;
mod lost_response;
mod partition;
mod random;
mod rate;
mod reassignment;
mod replication_stall;
mod restart_loop;
mod side;
mod slow_actor;
mod slow_link;
mod stale_metadata;
mod zombie;

pub use aimed::{
    Action, Aimed, AimedFault, Cue, Described, MessageCue, Moment, Trigger, Watch, Which, Whom,
    rule_of,
};
pub use by_chance::{ByChance, Fault};
pub use clock_jump::ClockJump;
pub use connection_reset::ConnectionReset;
pub use controller_away::ControllerAway;
pub use crash::Crash;
pub use disk_error::DiskError;
pub use feature_change::FeatureChange;
pub use gc_pause::GcPause;
pub use housekeeping::Housekeeping;
pub use impossible_duplicate::ImpossibleDuplicate;
pub use impossible_reorder::ImpossibleReorder;
pub use late_request::LateRequest;
pub use leader_election::LeaderElection;
pub use load_error::LoadError;
pub use lost_request::LostRequest;
pub use lost_response::LostResponse;
pub use partition::Partition;
pub use random::{Phase, Random, Scope};
pub use rate::{Count, Range, Rate, Times};
pub use reassignment::Reassignment;
pub use replication_stall::ReplicationStall;
pub use restart_loop::RestartLoop;
pub use side::{Peers, Side};
pub use slow_actor::SlowActor;
pub use slow_link::SlowLink;
pub use stale_metadata::StaleMetadata;
pub use zombie::{Stall, Zombie};

use eosim_actor::{Choices, CrashKind, DiskError as DiskErrorKind, Lane, Operation, Site};
use eosim_types::{ActorId, Duration, ErrorCode, Instant, Marks};

/// Which way a message travels on its connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// From the side that opened the connection.
    Request,
    /// Back to it.
    Response,
}

/// A message as the network sees it.
#[derive(Debug)]
pub struct Envelope<'a, M> {
    /// Request or response.
    pub way: Way,
    /// The sender of this message.
    pub from: ActorId,
    /// Its receiver.
    pub to: ActorId,
    /// Which connection between the two.
    pub lane: Lane,
    /// Counts requests; an answer has the number of its request.
    pub number: u32,
    /// The side that asks still has the connection: somebody waits for the answer.
    pub awaited: bool,
    /// What it says.
    pub message: &'a M,
}

impl<M> Clone for Envelope<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Envelope<'_, M> {}

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Fate {
    /// It arrives after the usual latency.
    #[default]
    Deliver,
    /// It arrives so much later, and what follows on the connection no earlier.
    Delay(Duration),
    /// It is lost and the connection breaks, which the side that asks learns after a latency.
    Lose,
    /// It is lost, and so is all that follows in this direction, while the connection seems fine:
    /// who waits must give up by itself.
    Silence,
    /// The connection breaks, but the message is still under way and arrives so much later, as on
    /// an old connection; an answer to it is dropped.
    Late(Duration, Cause),
    /// As [`Self::Late`], but it waits for [`Command::Release`].
    LateHold(HoldKey, Cause),
    /// It waits, and with it all that follows in this direction, for [`Command::Release`].
    Hold(HoldKey),
    /// A request arrives and is answered with this error in the name of its receiver, which never
    /// sees it; a response arrives with this error in the place of what it said.
    Refuse(ErrorCode),
    /// It arrives, and so much later a copy of it, whose answer is dropped. No network of Kafka's.
    Twice(Duration, Cause),
    /// It arrives so much later, what follows does not wait for it. No network of Kafka's.
    Overtaken(Duration),
}

impl Fate {
    /// Lost: the connection breaks, or goes dead in silence and who waits must time out.
    #[must_use]
    pub const fn lost(silent: bool) -> Self {
        if silent { Self::Silence } else { Self::Lose }
    }

    /// Does it make a difference at once, if anybody waits? Of what is late, and of what was
    /// ordered while the message passed, the world tells later ([`FaultHook::took_effect`]).
    #[inline]
    pub(crate) const fn is_effective_at_once(self) -> bool {
        !matches!(self, Self::Late(..) | Self::LateHold(..) | Self::Twice(..) | Self::Deliver)
    }
}

/// Names messages that are held back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HoldKey(pub u16);

/// Which fault is behind something; the world reports its effect to the hook under this number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cause(pub u16);

impl Cause {
    /// The caller of the world itself.
    pub const OUTSIDE: Self = Self(u16::MAX);
}

/// What the world can be ordered to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// A process dies; without effect if it is dead.
    Crash {
        /// Who.
        actor: ActorId,
        /// How.
        kind: CrashKind,
    },
    /// A dead process begins again; one that is told to stop, as soon as it has ended; without
    /// effect on any other.
    Restart {
        /// Who.
        actor: ActorId,
    },
    /// The operator asks for a stop in good order.
    RequestStop {
        /// Who.
        actor: ActorId,
        /// How long after it has ended it begins again, if it does so by itself.
        down: Option<Duration>,
    },
    /// A process stalls (GC): its events are withheld, in order, while the clock goes on.
    Pause {
        /// Who.
        actor: ActorId,
    },
    /// A stalled process goes on and hears what it missed.
    Resume {
        /// Who.
        actor: ActorId,
    },
    /// Every connection from the one to the other breaks.
    Reset {
        /// Who opened them.
        from: ActorId,
        /// To whom.
        to: ActorId,
    },
    /// Messages that are held back under a key go on their way.
    Release {
        /// Which.
        key: HoldKey,
    },
    /// The network between two sides is cut: nothing passes, which nobody is told.
    Cut {
        /// Whose messages do not arrive.
        from: Side,
        /// Where they do not arrive.
        to: Side,
        /// Nothing comes back either.
        both_ways: bool,
    },
    /// A cut ends, as it was ordered.
    Mend {
        /// As in the cut.
        from: Side,
        /// As in the cut.
        to: Side,
        /// As in the cut.
        both_ways: bool,
    },
    /// What travels between two sides takes so much longer; 0 ends it.
    Slow {
        /// The one.
        from: Side,
        /// The other.
        to: Side,
        /// How much.
        by: Duration,
    },
    /// A wall clock is off by so much from now on.
    SetClock {
        /// Whose.
        actor: ActorId,
        /// How far it is ahead, in milliseconds.
        off_by_ms: i64,
    },
    /// A disk begins to fail.
    BreakDisk {
        /// Whose.
        actor: ActorId,
        /// How.
        error: DiskErrorKind,
    },
    /// A disk is sound again.
    MendDisk {
        /// Whose.
        actor: ActorId,
        /// How it failed.
        error: DiskErrorKind,
    },
    /// Somebody does this to a process that runs.
    Operate {
        /// To whom.
        actor: ActorId,
        /// What.
        operation: Operation,
    },
    /// Everything held back goes on, the network is whole and fast, every stalled process resumes,
    /// every dead one restarts, every clock is right. Disks are mended by whoever broke them.
    Heal,
    /// The hook wants to be woken.
    Wake,
}

/// What a fault may know and order.
pub struct FaultCx<'a> {
    /// Virtual time.
    pub now: Instant,
    /// In whose name orders are given.
    pub cause: Cause,
    pub(crate) choices: &'a mut dyn Choices,
    pub(crate) orders: &'a mut Vec<Order>,
}

/// A command, by whom, and when to obey it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Order {
    pub(crate) at: Instant,
    pub(crate) cause: Cause,
    pub(crate) command: Command,
}

impl FaultCx<'_> {
    /// Orders `command` for `at`. What is due now is obeyed when the step under way is over.
    pub fn order(&mut self, at: Instant, command: Command) {
        self.orders.push(Order { at, cause: self.cause, command });
    }

    /// One of 0 … `n` − 1; 0 is the quiet choice. `n` = 1 draws nothing.
    #[inline]
    pub fn choose(&mut self, site: Site, entity: ActorId, n: u32) -> u32 {
        if n <= 1 { 0 } else { self.choices.choose(site, entity, n) }
    }
}

/// Decides what befalls messages and processes. Every method may give orders.
pub trait FaultHook<M> {
    /// The run begins.
    fn start(&mut self, cx: &mut FaultCx<'_>);

    /// May it do anything about messages that leave this way? Of others it need not hear.
    #[inline]
    fn minds_sent(&self, _: Way) -> bool {
        true
    }

    /// May it do anything about messages that arrive? If not, it need not hear of them.
    #[inline]
    fn minds_received(&self) -> bool {
        true
    }

    /// A request leaves its sender, or a response its receiver ([`Envelope::way`]).
    fn sent(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) -> Fate;

    /// A message is about to be taken by its receiver; orders due now are obeyed first.
    fn received(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>);

    /// The answer that refuses the request `message` with `error`, or the response `message` turned
    /// into one; `None` if there is none.
    fn refusal(&self, message: &M, error: ErrorCode) -> Option<M>;

    /// Does it want to hear of every step of an actor? Asked when a run begins.
    fn looks_at_states(&self) -> bool {
        false
    }

    /// `actor` has taken a step, and `marks` say what was reached until now.
    fn stepped(&mut self, _: &mut FaultCx<'_>, _actor: ActorId, _marks: &Marks) {}

    /// A [`Command::Wake`] of `cx.cause` is due.
    fn woken(&mut self, cx: &mut FaultCx<'_>);

    /// Something that was done for `cause` has made a difference.
    fn took_effect(&mut self, cause: Cause);
}

/// Nothing ever goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoFaults;

impl<M> FaultHook<M> for NoFaults {
    #[inline]
    fn start(&mut self, _: &mut FaultCx<'_>) {}
    #[inline]
    fn sent(&mut self, _: &mut FaultCx<'_>, _: Envelope<'_, M>) -> Fate {
        Fate::Deliver
    }
    #[inline]
    fn received(&mut self, _: &mut FaultCx<'_>, _: Envelope<'_, M>) {}
    fn refusal(&self, _: &M, _: ErrorCode) -> Option<M> {
        None
    }
    #[inline]
    fn woken(&mut self, _: &mut FaultCx<'_>) {}
    #[inline]
    fn took_effect(&mut self, _: Cause) {}
}

/// Random and aimed faults together; a message that one has hit is not offered to the other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// By chance.
    pub random: Random,
    /// By rule.
    pub aimed: Aimed,
}

impl<M: Described> FaultHook<M> for Faults {
    fn start(&mut self, cx: &mut FaultCx<'_>) {
        FaultHook::<M>::start(&mut self.aimed, cx);
        FaultHook::<M>::start(&mut self.random, cx);
    }

    #[inline]
    fn minds_sent(&self, way: Way) -> bool {
        !self.aimed.rules.is_empty() || self.random.scope.has(way)
    }

    #[inline]
    fn minds_received(&self) -> bool {
        !self.aimed.rules.is_empty()
    }

    #[inline]
    fn sent(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) -> Fate {
        match self.aimed.sent(cx, envelope) {
            Fate::Deliver => self.random.sent(cx, envelope),
            fate => fate,
        }
    }

    #[inline]
    fn received(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) {
        self.aimed.received(cx, envelope);
    }

    fn refusal(&self, message: &M, error: ErrorCode) -> Option<M> {
        self.aimed.refusal(message, error)
    }

    fn looks_at_states(&self) -> bool {
        FaultHook::<M>::looks_at_states(&self.aimed)
    }

    fn stepped(&mut self, cx: &mut FaultCx<'_>, actor: ActorId, marks: &Marks) {
        FaultHook::<M>::stepped(&mut self.aimed, cx, actor, marks);
    }

    fn woken(&mut self, cx: &mut FaultCx<'_>) {
        FaultHook::<M>::woken(&mut self.aimed, cx);
        FaultHook::<M>::woken(&mut self.random, cx);
    }

    fn took_effect(&mut self, cause: Cause) {
        FaultHook::<M>::took_effect(&mut self.aimed, cause);
        FaultHook::<M>::took_effect(&mut self.random, cause);
    }
}
