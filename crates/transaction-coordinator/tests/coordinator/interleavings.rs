//! Requests, appends, markers, elections and timers in any order: no assumption breaks, no two
//! instances get the same epoch, and nothing stays stuck once the log and the markers work again.

use std::collections::BTreeSet;

use eosim_transaction_coordinator::CoordinatorTimer;
use eosim_types::record::TransactionLogRecord;
use eosim_types::{DefectSet, ErrorCode};
use proptest::prelude::*;

use crate::harness::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Init,
    Resume,
    Add(usize),
    End(i16, bool),
    Append(ErrorCode),
    /// The append fails, and its record is durable nevertheless.
    AppendUnknown,
    Markers(ErrorCode),
    LoseMarkers,
    Fire(CoordinatorTimer),
    Elect,
    Resign,
    Metadata,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Init),
        2 => Just(Step::Resume),
        6 => (0usize..3).prop_map(Step::Add),
        6 => (prop_oneof![Just(0i16), Just(2)], any::<bool>()).prop_map(|(tv, c)| Step::End(tv, c)),
        12 => Just(Step::Append(ErrorCode::None)),
        1 => Just(Step::Append(ErrorCode::NotEnoughReplicas)),
        1 => Just(Step::Append(ErrorCode::NotLeaderOrFollower)),
        1 => Just(Step::AppendUnknown),
        8 => Just(Step::Markers(ErrorCode::None)),
        1 => Just(Step::Markers(ErrorCode::NotLeaderOrFollower)),
        1 => Just(Step::LoseMarkers),
        2 => prop::sample::select(&CoordinatorTimer::ALL[..]).prop_map(Step::Fire),
        1 => Just(Step::Elect),
        1 => Just(Step::Resign),
        1 => Just(Step::Metadata),
    ]
}

/// A world and what its producers know.
struct Run {
    world: World,
    epoch: i32,
    identity: (i64, i16),
    inits: Vec<u64>,
    ends: Vec<u64>,
}

impl Run {
    fn new(as_released: bool) -> Self {
        let mut world = World::new();
        if !as_released {
            world.defects = DefectSet::NONE;
        }
        world.hold_appends = true;
        world.hold_markers = true;
        Self { world, epoch: 0, identity: (-1, -1), inits: vec![], ends: vec![] }
    }

    fn take(&mut self, step: Step) {
        let (id, epoch) = self.identity;
        let world = &mut self.world;
        match step {
            Step::Init => self.inits.push(world.send(init_request(None))),
            Step::Resume if id >= 0 => drop(world.send(init_request(Some((id, epoch))))),
            Step::Add(n) => {
                let partition = [TOPIC1_0, TOPIC1_1, TOPIC2_0][n];
                world.send(add_request(2, id, epoch, &[partition]));
            }
            Step::End(tv, commit) => self.ends.push(world.send(end_request(tv, commit, id, epoch))),
            Step::Append(error) if !world.held_appends.is_empty() => world.finish_append(error),
            Step::AppendUnknown if !world.held_appends.is_empty() => {
                let partition = world.partition();
                let records = world.held_appends[0].records.clone();
                world.log.extend(records.iter().cloned().map(|record| (partition, record)));
                world.finish_append(ErrorCode::RequestTimedOut);
            }
            Step::Markers(error) if !world.markers.is_empty() => world.finish_markers(error),
            Step::LoseMarkers if !world.markers.is_empty() => world.lose_markers(),
            Step::Fire(timer) if world.timers.contains_key(&timer) => world.fire(timer),
            Step::Elect => self.elect(),
            Step::Resign => self.world.resign(Some(self.epoch + 1)),
            Step::Metadata => {
                world.call(eosim_transaction_coordinator::TransactionCoordinator::on_metadata);
            }
            _ => {}
        }
        self.learn();
    }

    fn elect(&mut self) {
        self.epoch += 2;
        let records: Vec<TransactionLogRecord> =
            self.world.log.iter().map(|(_, record)| record.clone()).collect();
        // A leader appends after what it has loaded: what is held belongs to the past.
        while !self.world.held_appends.is_empty() {
            self.world.finish_append(ErrorCode::NotLeaderOrFollower);
        }
        self.world.load(self.epoch, &records);
    }

    /// Producers go on with what the last answers gave them.
    fn learn(&mut self) {
        for token in self.inits.iter().chain(&self.ends) {
            if let Some((id, epoch)) = given_identity(&self.world.answer(*token)) {
                self.identity = self.identity.max((id, epoch));
            }
        }
    }

    fn heal(&mut self) {
        self.world.hold_appends = false;
        self.world.hold_markers = false;
        self.elect();
        while !self.world.markers.is_empty() {
            self.world.finish_markers(ErrorCode::None);
        }
    }

    /// Is a new producer given an epoch within a few attempts?
    fn is_usable(&mut self) -> bool {
        (0..4).any(|_| {
            self.take(Step::Fire(CoordinatorTimer::MarkerSender));
            self.world.init(None).starts_with("NONE")
        })
    }
}

fn given_identity(answer: &str) -> Option<(i64, i16)> {
    let (id, epoch) = answer.strip_prefix("NONE (")?.strip_suffix(')')?.split_once(',')?;
    Some((id.parse().ok()?, epoch.parse().ok()?))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_is_safe_and_heals(
        as_released in any::<bool>(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut run = Run::new(as_released);
        for step in steps {
            run.take(step);
        }
        let answers: Vec<_> =
            run.inits.iter().filter_map(|&token| given_identity(&run.world.answer(token))).collect();
        let distinct: BTreeSet<_> = answers.iter().collect();
        prop_assert_eq!(distinct.len(), answers.len(), "two instances share an epoch");
        run.heal();
        prop_assert!(run.is_usable(), "stuck in {:?}", run.world.known());
    }
}
