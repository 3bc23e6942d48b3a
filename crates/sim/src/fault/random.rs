//! Faults that strike by chance while the fault phase lasts.
//!
//! What begins in the phase ends with it: a stall, an outage, a message under way is cut short at
//! the end, and the world is ordered to heal. Each fault draws from the stream of the actor that
//! it may hit, and only if it is switched on.

use eosim_types::{Duration, ErrorCode, Instant};

use super::{
    ByChance, Cause, ClockJump, Command, ConnectionReset, ControllerAway, Count, Crash, Described,
    DiskError, Envelope, Fate, Fault, FaultCx, FaultHook, FeatureChange, GcPause, Housekeeping,
    ImpossibleDuplicate, ImpossibleReorder, LateRequest, LeaderElection, LoadError, LostRequest,
    LostResponse, Partition, Reassignment, ReplicationStall, RestartLoop, SlowActor, SlowLink,
    StaleMetadata, Way, Zombie,
};

/// When faults may strike: from `start` on and before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Phase {
    /// The first instant.
    pub start: Instant,
    /// The instant of healing.
    pub end: Instant,
}

impl Phase {
    /// Is `at` within it?
    #[inline]
    #[must_use]
    pub fn contains(self, at: Instant) -> bool {
        self.start <= at && at < self.end
    }

    /// `length` from `now` on, cut short at the end.
    #[must_use]
    pub fn cut(self, now: Instant, length: Duration) -> Duration {
        length.min(self.end.since(now))
    }
}

/// Which faults may hit messages that travel one way or the other, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Scope {
    requests: u32,
    responses: u32,
}

impl Scope {
    fn add(&mut self, way: Option<Way>, number: u32) {
        match way {
            Some(Way::Request) => self.requests |= 1 << number,
            Some(Way::Response) => self.responses |= 1 << number,
            None => {}
        }
    }

    /// May any fault hit what travels that way?
    #[inline]
    pub(super) fn has(self, way: Way) -> bool {
        self.of(way) != 0
    }

    #[inline]
    fn of(self, way: Way) -> u32 {
        match way {
            Way::Request => self.requests,
            Way::Response => self.responses,
        }
    }
}

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident: $Fault:ident),+ $(,)?) => {
        /// Every kind of fault with its parameters; the default is all off.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct Random {
            /// When they may strike.
            pub phase: Phase,
            $($(#[$doc])* pub $name: ByChance<$Fault>,)+
            /// Which of them are on; worked out when a run begins.
            pub scope: Scope,
        }

        #[derive(Clone, Copy)]
        enum Number { $($Fault),+ }

        impl Random {
            /// Every fault's name and counts.
            pub fn counts(&self) -> Vec<(&'static str, Count)> {
                vec![$(($Fault::NAME, self.$name.count)),+]
            }

            /// Forgets the counts.
            pub fn reset(&mut self) {
                $(self.$name.count = Count::default();)+
            }

            /// Offers a message to those faults that may hit it; the first fate decided counts.
            fn strike<M: Described>(
                &mut self,
                may_hit: u32,
                cx: &mut FaultCx<'_>,
                envelope: Envelope<'_, M>,
            ) -> Fate {
                if !self.phase.contains(cx.now) {
                    return Fate::Deliver;
                }
                $(
                    if may_hit & (1 << Number::$Fault as u32) != 0 {
                        cx.cause = Cause(Number::$Fault as u16);
                        let fate = self.$name.sent(cx, self.phase, envelope);
                        if fate != Fate::Deliver {
                            return fate;
                        }
                    }
                )+
                Fate::Deliver
            }
        }

        impl<M: Described> FaultHook<M> for Random {
            fn start(&mut self, cx: &mut FaultCx<'_>) {
                self.scope = Scope::default();
                $(
                    if self.$name.is_on() {
                        self.scope.add($Fault::WAY, Number::$Fault as u32);
                    }
                )+
                if self.phase.end > self.phase.start {
                    cx.order(self.phase.end, Command::Heal);
                }
                $(
                    cx.cause = Cause(Number::$Fault as u16);
                    self.$name.start(cx, self.phase);
                )+
            }

            #[inline(always)]
            fn sent(&mut self, cx: &mut FaultCx<'_>, envelope: Envelope<'_, M>) -> Fate {
                match self.scope.of(envelope.way) {
                    0 => Fate::Deliver,
                    may_hit => self.strike(may_hit, cx, envelope),
                }
            }

            #[inline]
            fn received(&mut self, _: &mut FaultCx<'_>, _: Envelope<'_, M>) {}

            fn refusal(&self, _: &M, _: ErrorCode) -> Option<M> {
                None
            }

            fn woken(&mut self, cx: &mut FaultCx<'_>) {
                $(
                    if cx.cause == Cause(Number::$Fault as u16) {
                        self.$name.woken(cx, self.phase);
                    }
                )+
            }

            fn took_effect(&mut self, cause: Cause) {
                $(
                    if cause == Cause(Number::$Fault as u16) {
                        self.$name.count.effective += 1;
                    }
                )+
            }
        }
    };
}

faults! {
    /// A request took effect, its answer never arrives.
    lost_response: LostResponse,
    /// A request never arrives.
    lost_request: LostRequest,
    /// A request arrives after its sender gave it up.
    late_request: LateRequest,
    /// A connection breaks.
    connection_reset: ConnectionReset,
    /// A process dies and begins again.
    crash: Crash,
    /// A process stalls.
    gc_pause: GcPause,
    /// A producer stalls while a successor takes its transactional id.
    zombie: Zombie,
    /// The network is cut in two.
    partition: Partition,
    /// Messages between two actors take longer.
    slow_link: SlowLink,
    /// A process stalls again and again.
    slow_actor: SlowActor,
    /// A process dies several times in a row.
    restart_loop: RestartLoop,
    /// A wall clock jumps.
    clock_jump: ClockJump,
    /// Nobody reaches the controller.
    controller_away: ControllerAway,
    /// Brokers do not reach each other.
    replication_stall: ReplicationStall,
    /// Metadata come late.
    stale_metadata: StaleMetadata,
    /// An append fails, and the broker halts.
    disk_error: DiskError,
    /// A coordinator cannot read its log to the end.
    load_error: LoadError,
    /// A partition is moved.
    reassignment: Reassignment,
    /// A leader is elected.
    leader_election: LeaderElection,
    /// Periodic tasks run out of their time.
    housekeeping: Housekeeping,
    /// `transaction.version` goes down and up.
    feature_change: FeatureChange,
    /// A request is delivered twice.
    impossible_duplicate: ImpossibleDuplicate,
    /// A request is overtaken on its connection.
    impossible_reorder: ImpossibleReorder,
}
