//! The broker's own open requests: to whom, over which connection, and what their answer is for.
//!
//! Kafka counterpart: `NetworkClient`, `NodeToControllerChannelManager`. Each purpose has a
//! connection of its own, so that a long poll holds nothing else back.

use alloc::vec::Vec;

use eosim_actor::{Correlation, Lane};
use eosim_types::{ActorId, BrokerId, Instant, TopicPartition};

/// Connections between brokers and to the controller, by purpose.
pub(crate) mod lane {
    use eosim_actor::Lane;

    /// Replica fetches.
    pub(crate) const REPLICA_FETCHER: Lane = Lane(1);
    /// `WriteTxnMarkers` of the transaction coordinator.
    pub(crate) const TRANSACTION_MARKERS: Lane = Lane(2);
    /// `AddPartitionsToTxn` of the leader.
    pub(crate) const ADD_PARTITIONS_TO_TXN: Lane = Lane(3);
    /// The long poll for metadata.
    pub(crate) const METADATA: Lane = Lane(4);
    /// Registration and heartbeats.
    pub(crate) const HEARTBEAT: Lane = Lane(5);
    /// `AlterPartition` and `AllocateProducerIds`.
    pub(crate) const CONTROLLER: Lane = Lane(6);
}

/// Which end of a leader's log is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LeaderOffset {
    /// Its end.
    End,
    /// Its start.
    Start,
}

/// What an open request is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Call {
    /// A follower's fetch.
    ReplicaFetch {
        /// From whom.
        leader: BrokerId,
    },
    /// A follower out of range asks for the leader's end or start.
    LeaderOffset {
        /// Which leader.
        leader: BrokerId,
        /// Which partition.
        partition: TopicPartition,
        /// Which of the two.
        which: LeaderOffset,
    },
    /// Partitions to be verified or added.
    AddPartitionsToTxn {
        /// The coordinator's broker.
        node: BrokerId,
    },
    /// Markers.
    WriteTxnMarkers {
        /// To whom.
        broker: BrokerId,
        /// The coordinator's name for it.
        correlation: u32,
    },
    /// A block of producer ids.
    AllocateProducerIds,
    /// A proposal of a new ISR.
    AlterPartition {
        /// Which partition.
        partition: TopicPartition,
    },
    /// A new life is announced.
    BrokerRegistration,
    /// A sign of life.
    BrokerHeartbeat,
    /// The long poll for metadata.
    FetchMetadata,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OpenRequest {
    correlation: Correlation,
    to: ActorId,
    lane: Lane,
    deadline: Instant,
    call: Call,
}

/// Requests that wait for an answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct NetworkClient {
    next: u32,
    open: Vec<OpenRequest>,
}

impl NetworkClient {
    /// Notes a request that is being sent.
    pub(crate) fn open(
        &mut self,
        to: ActorId,
        lane: Lane,
        deadline: Instant,
        call: Call,
    ) -> Correlation {
        self.next = self.next.wrapping_add(1);
        let correlation = Correlation(self.next);
        self.open.push(OpenRequest { correlation, to, lane, deadline, call });
        correlation
    }

    /// The request called `correlation` has ended; what was it for?
    pub(crate) fn close(&mut self, correlation: Correlation) -> Option<Call> {
        let at = self.open.iter().position(|open| open.correlation == correlation)?;
        Some(self.open.remove(at).call)
    }

    /// Takes one request whose time has passed, with the connection that must be closed.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<(ActorId, Lane, Vec<Call>)> {
        let late = self.open.iter().find(|open| open.deadline <= now)?;
        let (to, lane) = (late.to, late.lane);
        let mut calls = Vec::new();
        self.open.retain(|open| {
            let same = open.to == to && open.lane == lane;
            if same {
                calls.push(open.call);
            }
            !same
        });
        Some((to, lane, calls))
    }

    /// The earliest deadline of an open request.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.open.iter().map(|open| open.deadline).min()
    }
}
