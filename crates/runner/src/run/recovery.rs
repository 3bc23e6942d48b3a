//! Progress after healing: when a run is over, and what is stuck if it never is.
//!
//! Everything must come to rest: applications finished, transactions decided and complete, data
//! replicated and stable, readers at the end of what they may see.

use eosim_checker::Stuck;
use eosim_sim::cluster::producer::State;
use eosim_sim::cluster::{
    Broker, Client, ClientSpec, ClusterActor, GroupConsumerApplication, GroupConsumerSpec,
    TransformerApplication, TransformerSpec, Unfinished,
};
use eosim_types::message::IsolationLevel;
use eosim_types::observation::TransactionDump;
use eosim_types::record::TransactionState;
use eosim_types::{Instant, Names, TopicPartition};

/// The cluster of a run and what its clients were asked to do.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) actors: &'a [ClusterActor],
    pub(super) clients: &'a [ClientSpec],
    pub(super) names: &'a Names,
}

impl Scene<'_> {
    /// Every application has done what it was asked to.
    pub(super) fn clients_are_finished(&self) -> bool {
        self.actors.iter().filter_map(ClusterActor::as_client).all(Client::is_finished)
    }

    /// Nothing is left to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.clients_are_finished()
            && self.brokers().all(|broker| broker.unfinished().is_empty())
            && self.leaderless().next().is_none()
            && self.behind().next().is_none()
            && self.unread().next().is_none()
            && self.untransformed().next().is_none()
    }

    /// Everything that does not move; the actors are called `called`.
    pub(super) fn stuck(&self, called: &[String], since: Instant) -> Vec<Stuck> {
        let name = |at: usize| called.get(at).map_or("successor", String::as_str);
        let stuck = |what, waiting_for, rule| Stuck { what, waiting_for, since, rule };
        let clients = self.actors.iter().enumerate().filter_map(|(at, actor)| {
            let client = actor.as_client().filter(|client| !client.is_finished())?;
            let waiting = client.waits_for().unwrap_or_else(|| "its own next step".into());
            Some(stuck(format!("application {}", name(at)), waiting, frees_client(client)))
        });
        let leaderless = self.leaderless().map(|tp| {
            stuck(format!("partition {}", self.names.partition(tp)), "a leader".into(), "L-FO-1")
        });
        let unfinished = self.brokers().flat_map(|broker| {
            let at = broker.spec().id;
            let unfinished = broker.unfinished().into_iter();
            unfinished.map(move |one| (at, one))
        });
        let unfinished = unfinished.map(|(at, one)| self.describe(at.0, &one, since));
        let behind = self.behind().map(|(reader, tp, position, bound)| {
            let what = format!("reader {} of {}", name(reader), self.names.partition(tp));
            stuck(what, format!("records from {position} up to {bound}"), "K-POS-2")
        });
        let untransformed = self.untransformed().map(|(tp, bound)| {
            let members = self.transformers().filter_map(|(at, _, application)| {
                Some(format!("{}: {}", name(at), application.waits_for()?))
            });
            let what = format!("records of {} below {bound}", self.names.partition(tp));
            let members = members.collect::<Vec<_>>().join("; ");
            let waiting = format!("a member of the group to transform them ({members})");
            stuck(what, waiting, "K-COM-3")
        });
        let unread = self.unread().map(|(tp, bound)| {
            let members = self.group_consumers().filter_map(|(at, _, application)| {
                Some(format!("{}: {}", name(at), application.waits_for()?))
            });
            let what = format!("records of {} below {bound}", self.names.partition(tp));
            let members = members.collect::<Vec<_>>().join("; ");
            let waiting = format!("a member of the group to read them ({members})");
            stuck(what, waiting, "K-COM-3")
        });
        let readers = behind.chain(unread).chain(untransformed);
        clients.chain(leaderless).chain(unfinished).chain(readers).collect()
    }

    pub(super) fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.actors.iter().filter_map(ClusterActor::as_broker)
    }

    /// Every client as (actor, what it was asked to do, itself); they come behind the brokers.
    fn clients(&self) -> impl Iterator<Item = (usize, &ClientSpec, &Client)> {
        let first = self.actors.len() - self.clients.len();
        let actors = (first..).zip(self.clients.iter().zip(&self.actors[first..]));
        actors.filter_map(|(at, (spec, actor))| Some((at, spec, actor.as_client()?)))
    }

    /// The partitions that the controller knows.
    fn partitions(&self) -> impl Iterator<Item = TopicPartition> + '_ {
        let controller = self.actors.iter().find_map(ClusterActor::as_controller);
        controller.into_iter().flat_map(|c| c.image().partitions.keys().copied())
    }

    /// Partitions that nobody leads, as the controller knows and the leader itself believes.
    fn leaderless(&self) -> impl Iterator<Item = TopicPartition> + '_ {
        self.partitions().filter(|&tp| !self.brokers().any(|broker| broker.leads(tp)))
    }

    /// Readers that have not reached the end of what they may see: (actor, partition, position,
    /// bound).
    fn behind(&self) -> impl Iterator<Item = (usize, TopicPartition, i64, i64)> + '_ {
        let readers = self.clients().filter_map(|client| match client {
            (at, ClientSpec::Consumer(spec), Client::Consumer(reader)) => Some((at, spec, reader)),
            _ => None,
        });
        readers.flat_map(move |(at, spec, application)| {
            spec.partitions.iter().filter_map(move |&tp| {
                let bound = self.bound(tp, spec.config.isolation_level)?;
                let position = application.position(tp).unwrap_or(0);
                (position < bound).then_some((at, tp, position, bound))
            })
        })
    }

    fn transformers(
        &self,
    ) -> impl Iterator<Item = (usize, &TransformerSpec, &TransformerApplication)> {
        self.clients().filter_map(|client| match client {
            (at, ClientSpec::Transformer(spec), Client::Transformer(member)) => {
                Some((at, spec, member))
            }
            _ => None,
        })
    }

    /// Input partitions that no member of their group has committed up to the end: (partition,
    /// end). A group whose members have all stopped for good is not waited for.
    fn untransformed(&self) -> impl Iterator<Item = (TopicPartition, i64)> + '_ {
        let alive = || self.transformers().filter(|(_, _, member)| !member.has_stopped());
        let mut inputs: Vec<_> =
            alive().map(|(_, spec, _)| (spec.consumer.group, spec.input)).collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.into_iter().flat_map(move |(group, input)| {
            let partitions = self.partitions().filter(move |tp| tp.topic == input);
            partitions.filter_map(move |tp| {
                let bound = self.bound(tp, IsolationLevel::ReadCommitted)?;
                let members =
                    || self.transformers().filter(move |(_, spec, _)| spec.consumer.group == group);
                let done = members().any(|(_, _, member)| member.has_transformed(tp, bound));
                (!done).then_some((tp, bound))
            })
        })
    }

    fn group_consumers(
        &self,
    ) -> impl Iterator<Item = (usize, &GroupConsumerSpec, &GroupConsumerApplication)> {
        self.clients().filter_map(|client| match client {
            (at, ClientSpec::GroupConsumer(spec), Client::GroupConsumer(member)) => {
                Some((at, spec, member))
            }
            _ => None,
        })
    }

    /// Partitions that no member of a group has read up to the end: (partition, end).
    fn unread(&self) -> impl Iterator<Item = (TopicPartition, i64)> + '_ {
        let mut groups: Vec<_> = self.group_consumers().map(|(_, spec, _)| spec).collect();
        groups.dedup_by_key(|spec| (spec.config.group, spec.topic));
        groups.into_iter().flat_map(move |of| {
            let partitions = self.partitions().filter(|tp| tp.topic == of.topic);
            partitions.filter_map(move |tp| {
                let bound = self.bound(tp, of.config.isolation_level)?;
                let mut members = self
                    .group_consumers()
                    .filter(move |(_, spec, _)| spec.config.group == of.config.group);
                let done = members.any(|(_, _, member)| member.has_read(tp, bound));
                (!done).then_some((tp, bound))
            })
        })
    }

    fn bound(&self, tp: TopicPartition, isolation_level: IsolationLevel) -> Option<i64> {
        let leader = self.brokers().find(|broker| broker.leads(tp))?;
        let (high_watermark, last_stable_offset) = leader.bounds(tp)?;
        Some(match isolation_level {
            IsolationLevel::ReadUncommitted => high_watermark,
            IsolationLevel::ReadCommitted => last_stable_offset,
        })
    }

    fn describe(&self, broker: i32, unfinished: &Unfinished, since: Instant) -> Stuck {
        let (what, waiting_for, rule) = match unfinished {
            Unfinished::Transaction(t) => {
                let id = self.names.transactional_id(t.transactional_id);
                let list = t.partitions.iter().map(|tp| self.names.partition(*tp));
                let list = list.collect::<Vec<String>>().join(", ");
                let (waiting_for, rule) = frees_transaction(t, &list);
                let what = format!("transaction of {id} in {} at broker {broker}", t.state.name());
                (what, waiting_for, rule)
            }
            Unfinished::Partition {
                partition,
                high_watermark,
                last_stable_offset,
                log_end_offset,
            } => (
                format!("partition {} led by broker {broker}", self.names.partition(*partition)),
                format!(
                    "{}: log end {log_end_offset}, high watermark {high_watermark}, \
                     last stable offset {last_stable_offset}",
                    if high_watermark < log_end_offset { "its replicas" } else { "a marker" }
                ),
                if high_watermark < log_end_offset { "L-HW-2" } else { "L-MRK-5" },
            ),
        };
        Stuck { what, waiting_for, since, rule }
    }
}

/// What an undecided or incomplete transaction with the partitions `list` waits for, and the rule
/// that gives it.
fn frees_transaction(transaction: &TransactionDump, list: &str) -> (String, &'static str) {
    use TransactionState::{CompleteAbort, CompleteCommit};
    match transaction.pending_state {
        Some(CompleteCommit | CompleteAbort) if !transaction.partitions.is_empty() => {
            (format!("its markers in [{list}]"), "C-MRK-10")
        }
        Some(pending @ (CompleteCommit | CompleteAbort)) => {
            (format!("the record of {} to be replicated", pending.name()), "C-MRK-12")
        }
        Some(pending) => (format!("the record of {} to be replicated", pending.name()), "C-APP-6"),
        None => (format!("its end, or its time-out; partitions [{list}]"), "C-TMO-2"),
    }
}

/// The rule by which the call that an application waits for returns.
fn frees_client(client: &Client) -> &'static str {
    let Client::Producer(application) = client else { return "L-TOOL-3" };
    match application.producer_state() {
        Some(State::Uninitialized | State::Initializing) => "P-REQ-5",
        Some(State::CommittingTransaction | State::AbortingTransaction) => "P-REQ-8",
        Some(State::AbortableError | State::FatalError) => "P-API-8",
        _ => "P-ACC-10",
    }
}
