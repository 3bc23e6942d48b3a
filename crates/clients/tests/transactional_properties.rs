//! What holds for every sequence of calls and every list of answers of a transactional producer.

mod harness;

use std::collections::BTreeMap;

use eosim_clients::producer::{Call, CallId, State};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, CommittableOffset, EndTxnResponse,
    GroupMember, InitProducerIdResponse, ProducePartitionResponse, ProduceResponse, Request,
    Response, TxnOffsetCommitResponse,
};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    ActorId, DefectSet, Duration, ErrorCode as E, GroupId, Instant, LeaderEpoch, ProducerEpoch,
    ProducerId, TransactionalId,
};
use harness::{Harness, Sent, config, t};
use proptest::prelude::*;
use proptest::sample::select;

/// How long a call waits at most.
const MAX_BLOCK: Duration = Duration::from_millis(400);

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Call(u8),
    Send(i32),
    /// The oldest request on the connection to a broker is answered.
    Answer(u16, E),
    Disconnect(u16),
    Pass(u64),
}

const FREQUENT: [E; 10] = [
    E::NotLeaderOrFollower,
    E::NotCoordinator,
    E::ConcurrentTransactions,
    E::OutOfOrderSequenceNumber,
    E::UnknownProducerId,
    E::DuplicateSequenceNumber,
    E::InvalidProducerEpoch,
    E::TransactionAbortable,
    E::TopicAuthorizationFailed,
    E::MessageTooLarge,
];

fn happening() -> impl Strategy<Value = Happening> {
    let error = prop_oneof![
        12 => Just(E::None),
        3 => select(&FREQUENT[..]),
        1 => select(E::ALL),
    ];
    prop_oneof![
        5 => (0..6u8).prop_map(Happening::Call),
        4 => (0..4).prop_map(Happening::Send),
        12 => (1..3u16, error).prop_map(|(broker, error)| Happening::Answer(broker, error)),
        1 => (1..3u16).prop_map(Happening::Disconnect),
        4 => (1..500u64).prop_map(Happening::Pass),
    ]
}

/// A producer, the calls that were made and the transaction that is open.
struct Played {
    h: Harness,
    /// Calls that wait, with when they were made.
    calls: BTreeMap<CallId, Instant>,
    sends: Vec<CallId>,
    /// The records of the open transaction.
    open: Vec<CallId>,
    last_epoch: i16,
}

impl Played {
    fn new(version: TransactionVersion, defects: DefectSet) -> Self {
        let config = ProducerConfig {
            transaction_version: version,
            max_block: MAX_BLOCK,
            request_timeout: Duration::from_millis(700),
            ..config()
        };
        let mut h = Harness::new(&config, Some(1));
        h.defects = defects;
        Self { h, calls: BTreeMap::new(), sends: vec![], open: vec![], last_epoch: -1 }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Call(number) => self.call(number),
            Happening::Send(partition) => {
                let send = self.h.send(partition);
                self.calls.insert(send, self.h.now);
                self.sends.push(send);
                self.open.push(send);
            }
            Happening::Answer(broker, error) => self.answer(broker, error),
            Happening::Disconnect(broker) => self.h.disconnect(broker),
            Happening::Pass(millis) => self.h.sleep(millis),
        }
    }

    fn call(&mut self, number: u8) {
        let offset =
            CommittableOffset { partition: t(0), offset: 1, leader_epoch: LeaderEpoch::NONE };
        let call = match number {
            0 => Call::InitTransactions,
            1 | 2 => Call::BeginTransaction,
            3 => Call::CommitTransaction,
            4 => Call::AbortTransaction,
            _ => Call::SendOffsetsToTransaction {
                group: GroupId(1),
                member: GroupMember::NONE,
                offsets: vec![offset],
            },
        };
        let begins = call == Call::BeginTransaction;
        let id = self.h.call(call);
        self.calls.insert(id, self.h.now);
        if begins && self.h.returned.get(&id) == Some(&Ok(())) {
            self.open.clear();
        }
    }

    fn answer(&mut self, broker: u16, error: E) {
        let found = self.h.wire.iter().position(|sent| sent.to == ActorId(broker));
        let Some(place) = found else { return };
        let sent = self.h.wire.remove(place);
        let response = self.response(&sent, error);
        self.h.hand(&sent, response);
        self.h.run();
    }

    fn response(&mut self, sent: &Sent, error: E) -> Response {
        let none = (ProducerId::NONE, ProducerEpoch::NONE);
        match &sent.request {
            Request::InitProducerId(_) => {
                self.last_epoch += i16::from(error.is_none());
                let next = (ProducerId(13131), ProducerEpoch(self.last_epoch));
                let (producer_id, producer_epoch) = if error.is_none() { next } else { none };
                InitProducerIdResponse::new(error, producer_id, producer_epoch).into()
            }
            Request::EndTxn(request) => {
                let bumps = error.is_none() && request.version >= 5;
                self.last_epoch += i16::from(bumps);
                let next = (ProducerId(13131), ProducerEpoch(self.last_epoch));
                let (producer_id, producer_epoch) = if bumps { next } else { none };
                EndTxnResponse { error, producer_id, producer_epoch }.into()
            }
            Request::AddPartitionsToTxn(request) => {
                let each = request.transactions[0].partitions.iter().map(|tp| (*tp, error));
                let results = [(TransactionalId(1), each.collect())].into();
                AddPartitionsToTxnResponse { error: E::None, results }.into()
            }
            Request::AddOffsetsToTxn(_) => AddOffsetsToTxnResponse { error }.into(),
            Request::TxnOffsetCommit(request) => {
                let each = request.offsets.iter().map(|offset| (offset.partition, error));
                TxnOffsetCommitResponse { partitions: each.collect() }.into()
            }
            Request::Produce(request) => {
                let answer = |(tp, _): &(_, _)| ProducePartitionResponse {
                    partition: *tp,
                    error,
                    base_offset: if error.is_none() { 7 } else { -1 },
                    log_append_time: -1,
                    log_start_offset: if error.is_none() { 0 } else { -1 },
                    record_errors: Vec::new(),
                    current_leader: None,
                };
                ProduceResponse { partitions: request.partitions.iter().map(answer).collect() }
                    .into()
            }
            other => panic!("not asked for: {other:?}"),
        }
    }

    /// A commit is on the wire only when every record of the transaction has succeeded.
    fn commits_what_succeeded(&self) -> Result<(), TestCaseError> {
        let commits = self.h.on_wire().iter().any(|line| line.contains("commit"));
        let sent = self.open.iter().filter(|send| self.h.returned.get(send) == Some(&Ok(())));
        for send in sent.filter(|_| commits) {
            prop_assert!(self.h.is_complete(*send) && self.h.failure(*send).is_none(), "P-REQ-9");
        }
        Ok(())
    }

    fn no_call_is_late(&self) -> Result<(), TestCaseError> {
        for (call, made) in &self.calls {
            let late = self.h.now.since(*made) > MAX_BLOCK;
            prop_assert!(!late || self.h.returned.contains_key(call), "{call:?}");
        }
        Ok(())
    }

    /// P-ST-2, and the table of P-ST-1: a turn takes at most two steps of it.
    fn keeps_to_the_table(&self) -> Result<(), TestCaseError> {
        let is_error = |state: State| state.is_error();
        let state = self.h.producer.state().expect("it has a manager");
        prop_assert_eq!(is_error(state), self.h.producer.last_error().is_some());
        for (from, to) in &self.h.transitions {
            let mut between = eosim_clients::producer::TRANSITIONS.iter().map(|(state, _)| *state);
            let steps = from.may_become(*to)
                || between.any(|mid| from.may_become(mid) && mid.may_become(*to));
            prop_assert!(steps, "{from} {to}");
        }
        Ok(())
    }

    /// No batch goes out under an older epoch than one before it, and the numbers of a partition
    /// in an epoch begin at 0 and leave none out.
    fn epochs_and_numbers(&self, gapless: bool) -> Result<(), TestCaseError> {
        let mut ends: BTreeMap<_, i32> = BTreeMap::new();
        let mut newest = -1;
        for (tp, batch) in &self.h.produced {
            let epoch = batch.producer_epoch.0;
            prop_assert!(epoch >= newest, "e{epoch} after e{newest}");
            newest = epoch;
            let end = ends.entry((*tp, epoch)).or_default();
            prop_assert!(!gapless || batch.base_sequence.0 <= *end, "a gap in {tp:?}");
            *end = (*end).max(batch.last_sequence().0 + 1);
        }
        Ok(())
    }

    /// Answers everything well until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..40 {
            self.answer(1, E::None);
            self.answer(2, E::None);
            self.h.sleep(100);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn whatever_is_called_and_answered_the_rules_hold(
        happenings in prop::collection::vec(happening(), 1..60),
        version in select(&[TransactionVersion::Tv1, TransactionVersion::Tv2][..]),
        released in any::<bool>(),
    ) {
        let defects = if released { DefectSet::as_released() } else { DefectSet::NONE };
        let mut played = Played::new(version, defects);
        played.call(0);
        played.h.sleep(100);
        played.answer(2, E::None);
        for happening in happenings {
            played.happen(happening);
            played.keeps_to_the_table()?;
            played.no_call_is_late()?;
            if !released {
                played.commits_what_succeeded()?;
            }
        }
        played.settle();
        played.no_call_is_late()?;
        prop_assert!(played.h.completed_twice.is_empty());
        for send in &played.sends {
            let returned = played.h.returned.get(send);
            prop_assert!(returned.is_some(), "send() waits for metadata at most");
            let has_future = returned == Some(&Ok(()));
            prop_assert_eq!(has_future, played.h.is_complete(*send));
        }
        let failed = played.h.records.values().any(|record| record.result.is_err());
        played.epochs_and_numbers(!failed)?;
    }
}
