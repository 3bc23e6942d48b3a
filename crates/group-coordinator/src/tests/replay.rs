//! Whatever is asked: the state that the log gives is the state that the coordinator has (G-MARK-5).

use alloc::vec;
use alloc::vec::Vec;

use eosim_types::message::{
    DeleteGroupsRequest, HeartbeatRequest, LeaveGroupRequest, OffsetDeleteRequest,
};
use eosim_types::record::TransactionResult;
use proptest::prelude::*;

use super::bench::{Bench, Commit, GROUP, beat, join, member, plain, sync, t, transactional};

#[derive(Clone, Copy, Debug)]
enum Command {
    Plain(i32, i64),
    Pending(i64, i32, i64),
    AsMember { slot: usize, transactional: bool },
    Marker(i64, bool),
    Join(usize),
    Sync(usize),
    Heartbeat(usize),
    Leave(usize),
    Beat { id: u32, owns: bool },
    LeaveConsumer(u32),
    DeleteOffset(i32),
    DeleteGroup,
    DeletePartition(i32),
    Pass(u64),
    FailOver,
    Hold(bool),
    Break(bool),
}

fn command() -> impl Strategy<Value = Command> {
    use Command as C;
    prop_oneof![
        1 => (0..2, 0..9i64).prop_map(|(p, o)| C::Plain(p, o)),
        1 => (5..7i64, 0..2, 0..9i64).prop_map(|(id, p, o)| C::Pending(id, p, o)),
        1 => (0..3usize, any::<bool>()).prop_map(|(slot, transactional)| C::AsMember { slot, transactional }),
        1 => (5..7i64, any::<bool>()).prop_map(|(id, commit)| C::Marker(id, commit)),
        3 => (0..3usize).prop_map(C::Join),
        3 => (0..3usize).prop_map(C::Sync),
        1 => (0..3usize).prop_map(C::Heartbeat),
        1 => (0..3usize).prop_map(C::Leave),
        4 => (1..4u32, any::<bool>()).prop_map(|(id, owns)| C::Beat { id, owns }),
        1 => (1..4u32).prop_map(C::LeaveConsumer),
        1 => (0..2).prop_map(C::DeleteOffset),
        1 => Just(C::DeleteGroup),
        1 => (0..2).prop_map(C::DeletePartition),
        1 => prop_oneof![Just(3_000u64), Just(20_000), Just(700_000_000)].prop_map(C::Pass),
        1 => Just(C::FailOver),
        1 => any::<bool>().prop_map(C::Hold),
        1 => any::<bool>().prop_map(C::Break),
    ]
}

/// The members that clients believe to be.
struct Players {
    bench: Bench,
    /// Member id and generation of classic members.
    classic: [Option<(u32, i32)>; 3],
    joining: [Option<u64>; 3],
    /// Epoch and partitions of KIP-848 members.
    consumer: [(i32, Vec<eosim_types::TopicPartition>); 4],
}

impl Players {
    fn new() -> Self {
        Self {
            bench: Bench::new(),
            classic: [None; 3],
            joining: [None; 3],
            consumer: Default::default(),
        }
    }

    fn who(&self, slot: usize) -> eosim_types::message::GroupMember {
        let (id, generation) = self.classic[slot].unwrap_or((slot_id(slot), self.consumer[slot].0));
        member(id, generation)
    }

    fn play(&mut self, command: Command) {
        use Command as C;
        let bench = &mut self.bench;
        match command {
            C::Plain(p, offset) => drop(bench.send(plain(&[(t(p), offset)]).request())),
            C::Pending(id, p, offset) => {
                bench.send(transactional(id, &[(t(p), offset)]).request());
            }
            C::AsMember { slot, transactional } => {
                let member = self.who(slot);
                let producer = transactional.then_some(5);
                let offsets = [(t(0), 4)];
                let commit = Commit { producer, version: 9, member, offsets: &offsets };
                self.bench.send(commit.request());
            }
            C::Marker(id, commit) => {
                bench.marker(id, 0, TransactionResult::from_committed(commit));
            }
            C::Join(slot) => self.join(slot),
            C::Sync(slot) => {
                let who = self.who(slot);
                let all = [t(0), t(1)];
                let own = who.member.map(|id| (id, &all[..]));
                self.bench.send(sync(who, own.as_slice()));
            }
            C::Heartbeat(slot) => {
                let member = self.who(slot);
                self.bench.send(HeartbeatRequest { group: GROUP, member });
            }
            C::Leave(slot) => {
                let members = [(self.who(slot).member, None)].to_vec();
                self.bench.send(LeaveGroupRequest { group: GROUP, members });
            }
            C::Beat { id, owns } => self.beat(id, owns),
            C::LeaveConsumer(id) => drop(bench.send(beat(id, -1, &[]))),
            C::DeleteOffset(p) => {
                bench.send(OffsetDeleteRequest { group: GROUP, partitions: [t(p)].to_vec() });
            }
            C::DeleteGroup => drop(bench.send(DeleteGroupsRequest { group: GROUP })),
            C::DeletePartition(p) => bench.delete_partitions(&[t(p)]),
            C::Pass(millis) => bench.pass(millis),
            C::FailOver => bench.fail_over(),
            C::Hold(held) => bench.held = held,
            C::Break(is_broken) => {
                bench.broken = is_broken.then_some(eosim_types::ErrorCode::NotEnoughReplicas);
            }
        }
    }

    fn join(&mut self, slot: usize) {
        use eosim_types::message::Response;
        if let Some(id) = self.joining[slot]
            && let Some(Response::JoinGroup(joined)) = self.bench.answer(id)
        {
            self.classic[slot] = joined.member.map(|id| (id, joined.generation));
        }
        let known = self.classic[slot].map(|(id, _)| id);
        self.joining[slot] = Some(self.bench.send(join(known)));
    }

    fn beat(&mut self, id: u32, owns: bool) {
        use eosim_types::message::Response;
        let slot = usize::try_from(id).unwrap();
        let (epoch, owned) = self.consumer[slot].clone();
        let owned = if owns { owned } else { Vec::new() };
        let asked = self.bench.send(beat(id, epoch, &owned));
        let Some(Response::ConsumerGroupHeartbeat(r)) = self.bench.answer(asked) else { return };
        let assignment = r.assignment.unwrap_or(owned);
        let next = (r.member_epoch.max(0), assignment);
        self.consumer[slot] = if r.error.is_none() { next } else { Default::default() };
    }

    /// No partition is held by two members.
    fn check_owners(&mut self) {
        for group in self.bench.rebuilt().groups.values() {
            if let crate::PersistedGroup::Consumer(group) = group {
                let mut held: Vec<_> = group
                    .members
                    .values()
                    .flat_map(|member| member.held_partitions().map(|(tp, _)| *tp))
                    .collect();
                let count = held.len();
                held.sort_unstable();
                held.dedup();
                assert_eq!(held.len(), count, "two owners");
            }
        }
    }
}

fn slot_id(slot: usize) -> u32 {
    u32::try_from(slot).unwrap()
}

proptest! {
    #[test]
    fn live_state_equals_rebuilt_state_g_mark_5(commands in prop::collection::vec(command(), 1..60)) {
        let mut players = Players::new();
        for command in commands {
            players.play(command);
            let rebuilt = players.bench.rebuilt();
            prop_assert_eq!(players.bench.coordinator.state(0), Some(&rebuilt));
            players.check_owners();
        }
        players.bench.held = false;
        players.bench.replicate();
        let rebuilt = players.bench.rebuilt();
        prop_assert_eq!(players.bench.coordinator.committed_state(0), Some(&rebuilt));
    }
}
