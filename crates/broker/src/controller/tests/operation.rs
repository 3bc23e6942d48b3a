//! Operations by chance.

use alloc::vec;

use eosim_actor::{Actor, Cx, Operation, Quiet};
use eosim_types::{ActorId, BrokerId, Instant, Marks};

use super::world::TP;
use crate::controller::fixture::{cluster, env};
use crate::controller::{Controller, Outbox};

#[test]
fn an_operation_is_effective_if_the_metadata_have_changed() {
    let mut controller = Controller::new(cluster(&[1, 2, 3], &[&[1, 2, 3]]));
    let mut marks = Marks::new();
    let mut operate = |operation| {
        let env = env(Instant::START, &mut marks);
        let mut cx = Cx { id: ActorId::CONTROLLER, env, choices: &mut Quiet };
        let is_effective = controller.operate(&mut cx, operation, &mut Outbox::new());
        let partition = &controller.image().partitions[&TP];
        (is_effective, partition.leader, partition.replicas.clone())
    };
    let brokers = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect::<vec::Vec<_>>();
    let reassign = |partition, replicas| Operation::Reassign { partition, replicas };
    let elect = Operation::ElectLeader { partition: 5, unclean: false };
    let leader = |id| Some(BrokerId(id));
    assert_eq!(operate(elect), (false, leader(1), brokers(&[1, 2, 3])), "it leads already");
    assert!(!operate(Operation::Housekeeping).0);
    assert_eq!(operate(reassign(7, 16 + 1)), (true, leader(1), brokers(&[3, 1, 2])));
    assert_eq!(operate(elect), (true, leader(3), brokers(&[3, 1, 2])));
    assert_eq!(operate(reassign(0, 1)), (true, leader(3), brokers(&[2, 3])));
}
