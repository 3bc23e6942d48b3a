//! What a run allows: the legal oddities that follow from its configuration and workload.
//!
//! No Kafka counterpart. Everything defaults to Kafka's full promise; each field takes a part of
//! it away for those whom it concerns.

use std::collections::BTreeMap;

use eosim_types::{
    ActorId, Duration, ErrorCode, GroupId, Instant, Names, Topic, TopicPartition, TransactionalId,
};

/// A group whose members consume, transform and produce: each record of the input has results in
/// the output, committed together with the group's offsets (K-CTP).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Transform {
    /// The group, which begins at the start of its input.
    pub group: GroupId,
    /// What it reads.
    pub input: Topic,
    /// Where its results go.
    pub output: Topic,
}

/// A member of a group that commits what it was given, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GroupReader {
    /// The group, which begins at the start of its topic.
    pub group: GroupId,
    /// The application.
    pub actor: ActorId,
    /// What it reads.
    pub topic: Topic,
}

/// What the checker must know of a run besides its history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckerSetup {
    /// How topics, transactional ids, groups and values are printed.
    pub names: Names,
    /// How actors are printed, by number; who is not among them is printed as his number.
    pub actors: Vec<String>,
    /// `offsets.topic.num.partitions`, if the partitions of `__consumer_offsets` that are dumped
    /// may not be all; otherwise they are.
    pub offsets_partitions: Option<i32>,
    /// The logs may hold records whose `send()` was not observed.
    pub unobserved_sends: bool,
    /// Applications whose producers use `acks` below all: their acknowledgements promise nothing.
    pub acks_below_all: Vec<ActorId>,
    /// Applications whose producers run without idempotence: no order, no deduplication.
    pub without_idempotence: Vec<ActorId>,
    /// Topics on which unclean elections may happen; nothing of what they lose is reported.
    pub unclean_elections: Vec<Topic>,
    /// Topics whose head may be deleted, by retention or by DeleteRecords.
    pub deletable: Vec<Topic>,
    /// Up to where single partitions were deleted by somebody's order, exclusive; what was there
    /// below is not asked for again.
    pub deleted_to: BTreeMap<TopicPartition, i64>,
    /// Topics that are compacted.
    pub compacted: Vec<Topic>,
    /// Transactional ids that several live applications use; each may be fenced at any time.
    pub shared_transactional_ids: Vec<TransactionalId>,
    /// Fatal errors that this run may show to any producer.
    pub legal_fatal_errors: Vec<ErrorCode>,
    /// Requests may be handled long after their sender gave up on them: a late InitProducerId can
    /// fence a healthy producer.
    pub late_requests: bool,
    /// Clocks of coordinators may jump: a transaction may expire at any time.
    pub clock_jumps: bool,
    /// Every input record's effect is to be committed at most once (consume–transform–produce
    /// with the group's metadata in the transaction).
    pub exactly_once_inputs: bool,
    /// Who reads what as a member of which group.
    pub group_readers: Vec<GroupReader>,
    /// Who transforms what into what.
    pub transforms: Vec<Transform>,
    /// The shortest `transaction.timeout.ms` of any producer.
    pub shortest_transaction_timeout: Duration,
    /// The longest `transaction.timeout.ms` of any producer.
    pub longest_transaction_timeout: Duration,
    /// How long after its timeout a transaction may stay open in a healed cluster: the interval
    /// of the timeout task (C-TMO-3) and the time for its markers.
    pub abort_grace: Duration,
    /// `producer.id.expiration.ms` (L-EXP-1).
    pub producer_id_expiration: Duration,
    /// `transactional.id.expiration.ms` (C-EXP-1).
    pub transactional_id_expiration: Duration,
    /// The brokers' `request.timeout.ms`: how long a coordinator waits for a tombstone (C-EXP-2).
    pub request_timeout: Duration,
    /// Idempotent producers that try again without end within their `delivery.timeout.ms`.
    pub delivery_timeouts: Vec<(ActorId, Duration)>,
    /// When nothing strikes any more, if that is known.
    pub healed_at: Option<Instant>,
    /// Every broker writes the last producer epoch to `__transaction_state` (KAFKA-20357).
    pub last_epoch_is_persisted: bool,
}

impl Default for CheckerSetup {
    fn default() -> Self {
        Self {
            names: Names::default(),
            actors: Vec::new(),
            offsets_partitions: None,
            unobserved_sends: false,
            acks_below_all: Vec::new(),
            without_idempotence: Vec::new(),
            unclean_elections: Vec::new(),
            deletable: Vec::new(),
            deleted_to: BTreeMap::new(),
            compacted: Vec::new(),
            shared_transactional_ids: Vec::new(),
            legal_fatal_errors: Vec::new(),
            late_requests: false,
            clock_jumps: false,
            exactly_once_inputs: true,
            group_readers: Vec::new(),
            transforms: Vec::new(),
            shortest_transaction_timeout: Duration::from_millis(60_000),
            longest_transaction_timeout: Duration::from_millis(60_000),
            abort_grace: Duration::from_millis(15_000),
            producer_id_expiration: Duration::from_millis(86_400_000),
            transactional_id_expiration: Duration::from_millis(604_800_000),
            request_timeout: Duration::from_millis(30_000),
            delivery_timeouts: Vec::new(),
            healed_at: None,
            last_epoch_is_persisted: true,
        }
    }
}

impl CheckerSetup {
    /// Must everything below the high watermark of `topic` stay as it is?
    pub(crate) fn is_durable(&self, topic: Topic) -> bool {
        !self.unclean_elections.contains(&topic)
    }

    /// May the head of `partition` be gone?
    pub(crate) fn may_lose_head(&self, partition: TopicPartition) -> bool {
        self.deletable.contains(&partition.topic) || self.deleted_to.contains_key(&partition)
    }

    /// May something of `topic` be gone?
    pub(crate) fn is_deletable(&self, topic: Topic) -> bool {
        let first = TopicPartition { topic, partition: 0 };
        let mut ordered = self.deleted_to.range(first..);
        self.deletable.contains(&topic) || ordered.next().is_some_and(|(tp, _)| tp.topic == topic)
    }

    /// Does an acknowledgement to `actor` promise that the record stays?
    pub(crate) fn acknowledges_all(&self, actor: ActorId) -> bool {
        !self.acks_below_all.contains(&actor)
    }

    /// How `actor` is printed.
    pub(crate) fn actor(&self, actor: ActorId) -> String {
        self.actors
            .get(usize::from(actor.0))
            .map_or_else(|| format!("actor {actor}"), String::clone)
    }

    /// Is `actor`'s producer idempotent?
    pub(crate) fn is_idempotent(&self, actor: ActorId) -> bool {
        !self.without_idempotence.contains(&actor)
    }
}
