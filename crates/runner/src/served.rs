//! A cluster that others talk to: it has no clients of its own, and time is driven from outside.
//!
//! Invariant: what happens is a function of plan, seed, and the calls with their times. Whoever
//! repeats the calls repeats the run.

use std::collections::BTreeSet;
use std::sync::Arc;

use eosim_actor::{Correlation, Effect, Event, Lane, Operation};
use eosim_checker::{Anomaly, Checker, CheckerSetup, Transform};
use eosim_scenario::Plan;
use eosim_sim::cluster::{Broker, ClusterActor, ClusterWorld, Populated, ReplicaView, dump};
use eosim_sim::fault::Faults;
use eosim_sim::{Command, Limits, Listener, Seeded, Stamp};
use eosim_types::config::TopicConfig;
use eosim_types::message::{Message, Request, Response};
use eosim_types::metadata::MetadataImage;
use eosim_types::observation::{ClusterDump, Observed};
use eosim_types::{ActorId, BrokerId, DefectSet, Duration, Instant, Names, Topic, TopicPartition};

use crate::assemble::{aimed_rules, assemble};
use crate::run::Watch;

/// How many names others may have on the network.
pub const OUTSIDERS: u16 = 64;

/// Producers that promise nothing: without idempotence, or with acks below all.
pub const PLAIN: ActorId = ActorId(u16::MAX);

/// How long a healed cluster is given to come to rest before it is judged.
const REST: Duration = Duration::from_millis(120_000);

/// How long the checker remembers what it has judged.
const KEPT: Duration = Duration::from_millis(60_000);

/// What became of a request: its answer, or nothing because its connection broke.
pub type Fate = (Correlation, Option<Response>);

/// A cluster under way.
pub struct Served {
    world: ClusterWorld<Seeded, Faults, Watch>,
    plan: Plan,
    first_outsider: u16,
    fates: Vec<Fate>,
    /// Topics of which clients made the settings, and of which retention may take.
    retained: BTreeSet<Topic>,
}

impl Served {
    /// The cluster of `plan` under `seed`; clients that the plan has are left out. The strings that
    /// it knows come along.
    #[must_use]
    pub fn begin(mut plan: Plan, seed: u64, defects: DefectSet) -> (Self, Names) {
        plan.producers.clear();
        plan.consumers.clear();
        plan.group_consumers.clear();
        plan.transformers.clear();
        plan.operator.clear();
        let assembly = assemble(&plan, defects, &mut |_, _| 0);
        let names = assembly.cluster.shape.names.as_ref().clone();
        let setup = CheckerSetup {
            acks_below_all: vec![PLAIN],
            without_idempotence: vec![PLAIN],
            // An outsider's intentions are not known, only what it sends.
            late_requests: true,
            // Faults may be ordered as long as it is served.
            healed_at: None,
            longest_transaction_timeout: Duration::from_millis(900_000),
            shortest_transaction_timeout: Duration::from_millis(0),
            ..assembly.setup.as_ref().clone()
        };
        let watch = Watch::new(Checker::new(&setup));
        let mut world = ClusterWorld::new(Seeded::new(seed), assembly.faults, watch);
        Populated::default().begin(&mut world, &assembly.cluster, usize::from(OUTSIDERS));
        let first_outsider = assembly.cluster.client_id(0).0;
        let retained = BTreeSet::new();
        let mut served = Self { world, plan, first_outsider, fates: Vec::new(), retained };
        served.settle(Duration::from_millis(100));
        (served, names)
    }

    /// Virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// Events taken so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.world.steps()
    }

    /// Fingerprint of all that happened.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.world.digest()
    }

    /// The plan as it is served.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The network's name for the `index`-th outsider; there are [`OUTSIDERS`].
    #[must_use]
    pub const fn outsider(&self, index: u16) -> ActorId {
        ActorId(self.first_outsider + index % OUTSIDERS)
    }

    /// Lets time pass until `at`, if that is later than now.
    pub fn advance_to(&mut self, at: Instant) {
        if at > self.world.now() {
            self.world.advance(at.since(self.world.now()));
        }
        self.collect();
    }

    /// Runs until nothing but timers is left to do, for `within` at most.
    pub fn settle(&mut self, within: Duration) {
        self.world.settle(Limits::until(self.world.now() + within));
        self.collect();
    }

    fn collect(&mut self) {
        self.fates.extend(self.world.take_mail().filter_map(|(_, event)| match event {
            Event::Response { correlation, message: Message::Response(response) } => {
                Some((correlation, Some(response)))
            }
            Event::Disconnected { correlation } => Some((correlation, None)),
            _ => None,
        }));
    }

    /// What has become of requests since this was last asked.
    pub fn take_fates(&mut self) -> Vec<Fate> {
        std::mem::take(&mut self.fates)
    }

    /// Sends a request over the connection `lane` of the outsider `from`.
    pub fn send(
        &mut self,
        from: ActorId,
        to: BrokerId,
        lane: Lane,
        correlation: Correlation,
        request: Request,
    ) {
        let (to, message) = (ActorId::of_broker(to), Message::Request(request));
        self.world.act_for(from, Effect::Send { to, lane, correlation, message });
    }

    /// Closes a connection.
    pub fn close(&mut self, from: ActorId, to: BrokerId, lane: Lane) {
        let to = ActorId::of_broker(to);
        self.world.act_for(from, Effect::Close { to, lane });
    }

    fn broker(&self, id: BrokerId) -> Option<&Broker> {
        let actor = self.world.actors().get(usize::try_from(id.0).ok()?);
        actor.and_then(ClusterActor::as_broker)
    }

    /// The brokers, by number.
    pub fn brokers(&self) -> impl Iterator<Item = BrokerId> + '_ {
        self.world.actors().iter().filter_map(ClusterActor::as_broker).map(|b| b.spec().id)
    }

    /// What a broker knows of the cluster; nothing if it is down.
    #[must_use]
    pub fn image(&self, broker: BrokerId) -> Option<Arc<MetadataImage>> {
        let up = self.is_up(broker);
        self.broker(broker).filter(|_| up).map(|broker| Arc::clone(broker.image()))
    }

    /// Does its process run?
    #[must_use]
    pub fn is_up(&self, broker: BrokerId) -> bool {
        self.world.is_up(ActorId::of_broker(broker))
    }

    /// Does it answer clients? Brokers that start do not before they have caught up with the
    /// metadata (`initialCatchUpFuture`, behind which `enableRequestProcessing` comes): one that
    /// knows of nothing would tell clients that their topics do not exist.
    #[must_use]
    pub fn is_serving(&self, broker: BrokerId) -> bool {
        self.image(broker).is_some_and(|image| image.version > 0)
    }

    /// The newest metadata.
    #[must_use]
    pub fn newest_image(&self) -> Arc<MetadataImage> {
        let controller = self.world.actors().iter().find_map(ClusterActor::as_controller);
        Arc::clone(controller.expect("every cluster has a controller").image())
    }

    /// Has the controller create or delete a topic.
    pub fn operate(&mut self, operation: Operation) {
        self.world.order(Command::Operate { actor: ActorId::CONTROLLER, operation });
    }

    /// Has the controller create a topic with these settings.
    pub fn create(&mut self, topic: Topic, partitions: u32, replicas: u32, config: &TopicConfig) {
        for actor in self.world.actors_mut() {
            match actor {
                ClusterActor::Broker(broker) => broker.configure(topic, config.clone()),
                ClusterActor::Controller(controller) => {
                    controller.configure(topic, config.clone());
                }
                _ => {}
            }
        }
        let checker = &mut self.world.listener.checker;
        if config.cleanup_compact {
            checker.compacts(topic);
        }
        if config.unclean_leader_election_enable {
            checker.elects_unclean(topic);
        }
        if config.cleanup_delete {
            self.retained.insert(topic);
        }
        self.operate(Operation::CreateTopic { topic: topic.0, partitions, replicas });
    }

    /// What retention has deleted is not asked for.
    fn note_retention(&mut self) {
        let begins = |view: ReplicaView<'_>| (view.partition, view.offsets()[0]);
        let of =
            |(tp, start): &(TopicPartition, i64)| *start > 0 && self.retained.contains(&tp.topic);
        let begins: Vec<_> = self.replicas().map(begins).filter(of).collect();
        begins.into_iter().for_each(|(partition, offset)| self.deleted(partition, offset));
    }

    /// Does something to a process or the network.
    pub fn order(&mut self, command: Command) {
        self.world.order(command);
    }

    /// From now on everybody knows these strings; those that were known before stay as they were.
    pub fn know(&mut self, names: &Names) {
        let shared = Arc::new(names.clone());
        for actor in self.world.actors_mut() {
            if let ClusterActor::Broker(broker) = actor {
                broker.know(Arc::clone(&shared));
            }
        }
        self.world.listener.checker.know(names.clone());
    }

    /// Does something to a process or the network after `time`.
    pub fn order_after(&mut self, time: Duration, command: Command) {
        self.world.order_at(self.world.now() + time, command);
    }

    /// The rules of `plan` act from now on, in place of those that did.
    pub fn aim(&mut self, plan: &Plan, names: &mut Names) {
        self.world.faults.aimed = aimed_rules(plan, names);
    }

    /// Per rule how often it acted.
    pub fn aimed_counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.world.faults.aimed.rules.iter().map(|rule| rule.count.applied)
    }

    /// The checker hears what somebody did or learned.
    pub fn observe(&mut self, actor: ActorId, what: Observed) {
        let stamp = Stamp { at: self.world.now(), step: self.world.steps(), actor };
        self.world.listener.observed(stamp, what);
    }

    /// From now on `transform.group` is said to transform: the records that it commits the offsets
    /// of have committed results, once.
    pub fn expect(&mut self, transform: Transform) {
        self.world.listener.checker.expect(transform);
    }

    /// Does anybody transform `input` into `output`, as far as was said?
    #[must_use]
    pub fn is_result(&self, input: Topic, output: Topic) -> bool {
        let said = self.world.listener.checker.expected();
        said.iter().any(|transform| (transform.input, transform.output) == (input, output))
    }

    /// Is anybody said to write results to `output`?
    #[must_use]
    pub fn takes_results(&self, output: Topic) -> bool {
        self.world.listener.checker.expected().iter().any(|said| said.output == output)
    }

    /// Somebody ordered that what `partition` holds below `offset` be deleted; what was there is not
    /// judged any more.
    pub fn deleted(&mut self, partition: TopicPartition, offset: i64) {
        self.world.listener.checker.deleted(partition, offset);
    }

    /// The replicas, where they lie.
    pub fn replicas(&self) -> impl Iterator<Item = ReplicaView<'_>> {
        self.world.actors().iter().filter_map(ClusterActor::as_broker).flat_map(Broker::replicas)
    }

    /// Judges what brokers hold, and forgets what has been judged for long or is deleted.
    pub fn settle_facts(&mut self) {
        self.note_retention();
        let dump = self.dump();
        self.world.listener.checker.settle(&dump, KEPT);
    }

    /// How many facts the checker keeps.
    #[must_use]
    pub fn facts(&self) -> [usize; 4] {
        self.world.listener.checker.size()
    }

    /// What the brokers hold.
    #[must_use]
    pub fn dump(&self) -> ClusterDump {
        ClusterDump { at: self.world.now(), ..dump(self.world.actors()) }
    }

    /// What is broken, as far as it can be told while everything goes on.
    pub fn look(&mut self) -> &[Anomaly] {
        let dump = self.dump();
        self.world.listener.checker.look(&dump);
        self.world.listener.checker.anomalies()
    }

    /// Ends all faults, lets the cluster come to rest, and judges it.
    pub fn finish(&mut self) -> &[Anomaly] {
        self.world.faults = Faults::default();
        let brokers: Vec<BrokerId> = self.brokers().collect();
        for actor in brokers.into_iter().map(ActorId::of_broker) {
            self.world.order(Command::Resume { actor });
            self.world.order(Command::Restart { actor });
        }
        self.world.advance(REST);
        self.note_retention();
        let dump = ClusterDump { healed: true, ..self.dump() };
        self.world.listener.checker.finish(&dump);
        self.world.listener.checker.anomalies()
    }
}
