//! What faults did in a run and what applications asked for, in the terms of a scenario: the n-th
//! message of its kind, a time, a call.

use std::collections::BTreeMap;

use eosim_sim::fault::{Cause, Command, Envelope, Fate, Way};
use eosim_types::message::Message;
use eosim_types::observation::{Observation, Observed};
use eosim_types::{ActorId, Instant, TopicPartition};

/// Messages that are counted together, as rules of `aimed` count them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Kind {
    /// Request or response.
    pub(crate) way: Way,
    /// Kafka's name of the API.
    pub(crate) api: &'static str,
    /// Who sends it.
    pub(crate) from: ActorId,
    /// Who gets it.
    pub(crate) to: ActorId,
}

/// Something that befell the `nth` message of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Strike {
    pub(crate) kind: Kind,
    pub(crate) nth: u32,
    pub(crate) fate: Fate,
    pub(crate) cause: Cause,
}

/// Something that was ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    pub(crate) at: Instant,
    pub(crate) cause: Cause,
    pub(crate) command: Command,
    /// Of a reset, the last request on the way that is reset.
    pub(crate) after: Option<(Kind, u32)>,
}

/// A call of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) at: Instant,
    pub(crate) actor: ActorId,
    pub(crate) asked: Asked,
}

/// What it asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    Init,
    Begin,
    Send(TopicPartition),
    End { commit: bool },
}

/// Everything of one run, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Story {
    counts: BTreeMap<Kind, u32>,
    last: BTreeMap<(ActorId, ActorId), (Kind, u32)>,
    pub(crate) strikes: Vec<Strike>,
    pub(crate) orders: Vec<Order>,
    pub(crate) calls: Vec<Call>,
}

impl Kind {
    fn of(envelope: &Envelope<'_, Message>) -> Self {
        let Envelope { way, from, to, message, .. } = *envelope;
        Self { way, api: message.api().name(), from, to }
    }
}

impl Story {
    pub(super) fn sent(&mut self, envelope: &Envelope<'_, Message>) {
        let kind = Kind::of(envelope);
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if kind.way == Way::Request {
            self.last.insert((kind.from, kind.to), (kind, *count));
        }
    }

    pub(super) fn befell(&mut self, envelope: &Envelope<'_, Message>, fate: Fate, cause: Cause) {
        let kind = Kind::of(envelope);
        let nth = self.counts.get(&kind).copied().unwrap_or_default();
        self.strikes.push(Strike { kind, nth, fate, cause });
    }

    pub(super) fn obeyed(&mut self, at: Instant, cause: Cause, command: &Command) {
        let after = match command {
            Command::Wake | Command::Heal | Command::Release { .. } => return,
            Command::Reset { from, to } => self.last.get(&(*from, *to)).copied(),
            _ => None,
        };
        self.orders.push(Order { at, cause, command: *command, after });
    }

    pub(super) fn observed(&mut self, observation: &Observation) {
        let asked = match &observation.what {
            Observed::TransactionsInitialized { .. } => Asked::Init,
            Observed::TransactionBegun { .. } => Asked::Begin,
            Observed::SendCalled { partition, .. } => Asked::Send(*partition),
            Observed::EndCalled { commit, .. } => Asked::End { commit: *commit },
            _ => return,
        };
        self.calls.push(Call { at: observation.at, actor: observation.actor, asked });
    }
}
