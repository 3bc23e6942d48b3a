//! What happens to an actor.

use eosim_types::ActorId;

/// The sender's name for a request in flight; unique among the requests that the actor has open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Correlation(pub u32);

/// The world's name for a request at the receiver; unique within a run. An answer to a token whose
/// connection is gone is dropped by the world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RequestToken(pub u64);

/// Which of several connections between the same two actors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lane(pub u8);

/// Which of an actor's timers; small numbers, the world keeps a slot for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TimerKey(pub u16);

/// How a process dies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CrashKind {
    /// The process alone (SIGKILL): everything handed to the file system survives (L-FO-6).
    Process,
    /// The machine: only what was flushed survives.
    PowerLoss,
    /// It exited by itself after [`Event::StopRequested`]; logs were closed in good order.
    Stopped,
}

/// How the disk of a machine fails.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DiskError {
    /// The next append fails before anything is written.
    BeforeWrite,
    /// The next append fails when all of it is written.
    AfterWrite,
    /// The next load of a coordinator's partition ends early.
    Load {
        /// How much of the log it reads, in percent of its batches.
        percent: u8,
    },
}

/// What an operator, or a process by itself, does at a moment that nobody planned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// A leader is elected.
    ElectLeader {
        /// A pick of the partition.
        partition: u32,
        /// It may be one that is not in sync.
        unclean: bool,
    },
    /// A partition is given other replicas.
    Reassign {
        /// A pick of the partition.
        partition: u32,
        /// A pick of its replicas.
        replicas: u32,
    },
    /// `transaction.version` is lowered from 2 to 1, or raised to 2.
    ChangeFeature,
    /// What is done from time to time is done now.
    Housekeeping,
    /// A topic comes into being, by its number, with replicas on neighbouring brokers.
    CreateTopic {
        /// Which; without effect if it is there.
        topic: u16,
        /// How many partitions.
        partitions: u32,
        /// How many replicas each has.
        replicas: u32,
    },
    /// A topic and everything in it is gone.
    DeleteTopic {
        /// Which.
        topic: u16,
    },
}

impl Operation {
    /// Out of how many a pick is drawn; who carries it out takes it modulo what there is.
    pub const PICKS: u32 = 1 << 16;
}

/// What happens to an actor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Event<M> {
    /// The process begins, at the start of the run or after a crash.
    Started,
    /// A request has been read from a connection. The next one of the same connection is read
    /// only after this one is answered (L-PIPE-7).
    Request {
        /// Who sent it.
        from: ActorId,
        /// By which name to answer.
        token: RequestToken,
        /// The request.
        message: M,
    },
    /// The answer to an own request.
    Response {
        /// Which request.
        correlation: Correlation,
        /// The answer.
        message: M,
    },
    /// The connection of an own request broke before its answer came: it may have taken effect,
    /// now or later, or not at all.
    Disconnected {
        /// Which request.
        correlation: Correlation,
    },
    /// A timer has run out.
    Timer(TimerKey),
    /// The operator asks the process to stop in good order (SIGTERM).
    StopRequested,
}
