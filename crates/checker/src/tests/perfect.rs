//! Property: histories of a perfect log are never reported.

use eosim_types::TransactionalId;
use eosim_types::observation::Observed;
use proptest::prelude::*;

use crate::testing::{COMMITTED, History, P0, P1, Producer, UNCOMMITTED, UNKNOWN_SEND};

#[derive(Clone, Debug)]
enum Step {
    /// Writes, in a transaction if the producer has an id.
    Write {
        producer: usize,
        partition: bool,
    },
    /// A send that may or may not reach the log.
    Unknown {
        producer: usize,
        partition: bool,
        logged: bool,
    },
    /// Ends the open transaction.
    End {
        producer: usize,
        commit: bool,
    },
    /// A successor takes the transactional id.
    Replace {
        producer: usize,
    },
    Read {
        reader: u16,
        partition: bool,
        committed: bool,
    },
    /// A reader goes back to the start.
    Rewind {
        reader: u16,
        partition: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let producer = 0..4usize;
    prop_oneof![
        4 => (producer.clone(), any::<bool>())
            .prop_map(|(producer, partition)| Step::Write { producer, partition }),
        1 => (producer.clone(), any::<bool>(), any::<bool>()).prop_map(
            |(producer, partition, logged)| Step::Unknown { producer, partition, logged }
        ),
        3 => (producer.clone(), any::<bool>())
            .prop_map(|(producer, commit)| Step::End { producer, commit }),
        1 => producer.prop_map(|producer| Step::Replace { producer }),
        3 => (0..2u16, any::<bool>(), any::<bool>()).prop_map(|(reader, partition, committed)| {
            Step::Read { reader, partition, committed }
        }),
        1 => (0..2u16, any::<bool>())
            .prop_map(|(reader, partition)| Step::Rewind { reader, partition }),
    ]
}

const BOTH: [eosim_types::TopicPartition; 2] = [P0, P1];

/// Producers 0 to 2 are transactional, 3 is not.
fn id_of(producer: usize) -> Option<TransactionalId> {
    (producer < 3).then(|| TransactionalId(u16::try_from(producer).unwrap() + 1))
}

fn begin(h: &mut History, p: &mut Producer, producer: usize) {
    if id_of(producer).is_some() && !p.in_transaction {
        h.begin(p);
    }
}

fn take(h: &mut History, producers: &mut [Producer], failed: &mut [bool], step: &Step) {
    match *step {
        Step::Write { producer, partition } => {
            let p = &mut producers[producer];
            begin(h, p, producer);
            h.write(p, BOTH[usize::from(partition)]);
        }
        Step::Unknown { producer, partition, logged } => {
            let (p, at) = (&mut producers[producer], BOTH[usize::from(partition)]);
            begin(h, p, producer);
            let value = h.send(p, at);
            if logged {
                h.append(p, at, &[value]);
            }
            h.answer(p, at, value, UNKNOWN_SEND);
            failed[producer] = true;
        }
        Step::End { producer, commit } => {
            let p = &mut producers[producer];
            if p.in_transaction {
                // A failed send forbids a commit (P-ERR-1).
                h.end(p, &BOTH, commit && !failed[producer]);
                failed[producer] = false;
            }
        }
        Step::Replace { producer } => {
            replace(h, &mut producers[producer], &mut failed[producer], producer);
        }
        Step::Read { reader, partition, committed } => {
            let level = if committed { COMMITTED } else { UNCOMMITTED };
            // One isolation level for each reader.
            h.read(10 + reader * 2 + u16::from(committed), BOTH[usize::from(partition)], level);
        }
        Step::Rewind { reader, partition } => {
            let (reader, partition) = (10 + reader * 2, BOTH[usize::from(partition)]);
            h.see(eosim_types::ActorId(reader), Observed::PositionSet { partition, offset: 0 });
            h.poll(reader, (partition, UNCOMMITTED), (0, 0), &[]);
        }
    }
}

/// The successor's initialization aborts what is open, under the next epoch, and gets the one after.
fn replace(h: &mut History, p: &mut Producer, failed: &mut bool, producer: usize) {
    let Some(id) = id_of(producer) else { return };
    if p.in_transaction {
        h.bump(p);
        for partition in BOTH {
            h.marker(p.id, p.epoch, partition, eosim_types::record::TransactionResult::Abort);
        }
    }
    h.bump(p);
    *p = h.session(p.actor, p.session + 1, Some(id), (p.id, p.epoch));
    *failed = false;
}

proptest! {
    #[test]
    fn a_perfect_log_is_never_reported(steps in prop::collection::vec(step(), 0..120)) {
        let mut h = History::new();
        let mut producers: Vec<Producer> =
            (0..4).map(|at| h.producer(20 + u16::try_from(at).unwrap(), id_of(at))).collect();
        let mut failed = vec![false; 4];
        for step in &steps {
            take(&mut h, &mut producers, &mut failed, step);
        }
        for producer in 0..3 {
            let end = Step::End { producer, commit: true };
            take(&mut h, &mut producers, &mut failed, &end);
        }
        for (partition, committed) in [(true, true), (true, false), (false, true), (false, false)] {
            let read = Step::Read { reader: 1, partition, committed };
            take(&mut h, &mut producers, &mut failed, &read);
        }
        prop_assert_eq!(h.anomalies(), vec![]);
    }
}
