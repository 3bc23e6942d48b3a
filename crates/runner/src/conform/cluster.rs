//! The cluster on which recorded steps are run: the recording's settings, driven from outside,
//! settled between steps.

use std::sync::Arc;

use eosim_actor::{Correlation, CrashKind, Effect, Event, Lane, Quiet};
use eosim_sim::cluster::{ClusterPlan, ClusterShape, ClusterWorld, Populated};
use eosim_sim::cluster::{ControllerConfig, TopicSpec};
use eosim_sim::{Command, Latency, Limits, NoFaults, Stop};
use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::message::{Message, Request, Response};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{ActorId, BrokerId, DefectSet, Duration, Names, Topic};

use super::operation::Restart;

/// The only broker.
const BROKER: BrokerId = BrokerId(1);
/// The recorder.
const RECORDER: ActorId = ActorId(2);
/// Partitions of each internal topic in the recordings.
const INTERNAL_PARTITIONS: usize = 5;
/// How long the recorder waits for an answer.
const PATIENCE: Duration = Duration::from_millis(40_000);

/// One broker with its controller, and the recorder outside.
pub(crate) struct SingleBroker {
    world: ClusterWorld<Quiet, NoFaults, ()>,
    correlation: u32,
}

impl SingleBroker {
    /// A broker with these topics, as the recordings were made.
    pub(crate) fn new(names: Names, topics: &[(Topic, i32)], defects: DefectSet) -> Self {
        let shape = ClusterShape {
            names: Arc::new(names),
            controller: ControllerConfig {
                brokers: vec![BROKER],
                topics: topic_specs(topics),
                broker_config: broker_config(),
                transaction_version: TransactionVersion::Tv2,
            },
        };
        let plan = ClusterPlan {
            shape: Arc::new(shape),
            clients: Vec::new(),
            latency: Latency { min: Duration::from_micros(100), max: Duration::from_micros(100) },
            defects,
        };
        let mut world = ClusterWorld::new(Quiet, NoFaults, ());
        Populated::default().begin(&mut world, &plan, 1);
        world.advance(Duration::from_millis(1));
        let mut cluster = Self { world, correlation: 0 };
        cluster.settle();
        cluster
    }

    /// Virtual time, ms.
    pub(crate) fn now_ms(&self) -> i64 {
        self.world.now().as_millis()
    }

    /// Sends `request` and runs until it is answered; `None` if it never is.
    pub(crate) fn call(&mut self, request: Request) -> Option<Response> {
        self.correlation += 1;
        let correlation = Correlation(self.correlation);
        let to = ActorId::of_broker(BROKER);
        let message = Message::Request(request);
        let send = Effect::Send { to, lane: Lane(0), correlation, message };
        self.world.act_for(RECORDER, send);
        let limits = Limits::until(self.world.now() + PATIENCE);
        let mut answer = None;
        while answer.is_none() {
            let before = self.world.steps();
            let stop = self.world.run_until(limits, |world| world.steps() > before);
            let mail = self.world.take_mail().find_map(|(_, event)| own(event, correlation));
            match mail {
                Some(outcome) => answer = Some(outcome),
                None if stop != Stop::Reached => return None,
                None => {}
            }
        }
        answer.flatten()
    }

    /// Runs until nothing but timers is left to do.
    pub(crate) fn settle(&mut self) {
        self.world.settle(Limits::until(self.world.now() + PATIENCE));
    }

    /// Lets `time` pass.
    pub(crate) fn sleep(&mut self, time: Duration) {
        self.world.advance(time);
    }

    /// Takes the broker down, starts it again and waits until it serves.
    pub(crate) fn restart(&mut self, how: Restart) {
        let actor = ActorId::of_broker(BROKER);
        match how {
            Restart::Kill => {
                self.world.order(Command::Crash { actor, kind: CrashKind::Process });
                self.sleep(Duration::from_millis(100));
            }
            Restart::Stop => {
                self.world.order(Command::RequestStop { actor });
                let limits = Limits::until(self.world.now() + PATIENCE);
                self.world.run_until(limits, |world| !world.is_up(actor));
            }
        }
        self.world.order(Command::Restart { actor });
        self.sleep(Duration::from_millis(3_000));
        self.settle();
    }
}

/// What became of the recorder's own request: an answer, or a broken connection.
fn own(event: Event<Message>, correlation: Correlation) -> Option<Option<Response>> {
    match event {
        Event::Response { correlation: c, message: Message::Response(response) }
            if c == correlation =>
        {
            Some(Some(response))
        }
        Event::Disconnected { correlation: c } if c == correlation => Some(None),
        _ => None,
    }
}

fn topic_specs(topics: &[(Topic, i32)]) -> Vec<TopicSpec> {
    let internal = [Topic::TRANSACTION_STATE, Topic::CONSUMER_OFFSETS].map(|topic| TopicSpec {
        topic,
        replicas: vec![vec![BROKER]; INTERNAL_PARTITIONS],
        config: TopicConfig {
            cleanup_delete: false,
            cleanup_compact: true,
            ..TopicConfig::default()
        },
    });
    let user = topics.iter().map(|&(topic, partitions)| TopicSpec {
        topic,
        replicas: vec![vec![BROKER]; usize::try_from(partitions).unwrap_or(0)],
        config: TopicConfig::default(),
    });
    internal.into_iter().chain(user).collect()
}

fn broker_config() -> BrokerConfig {
    BrokerConfig {
        kafka: KafkaVersion::V4_4,
        abort_timed_out_transactions_interval: Duration::from_millis(500),
        ..BrokerConfig::default()
    }
}
