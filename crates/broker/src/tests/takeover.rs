//! The gap between a broker's replicas and its transaction coordinator after a start.

use eosim_actor::CrashKind;
use eosim_types::config::BrokerConfig;
use eosim_types::message::{DescribeTransactionsRequest, Response};
use eosim_types::{Duration, ErrorCode as E, TransactionalId};

use super::cluster::{Cluster, Setup, t};
use super::requests::{batch, produce_to, produced_one};

fn described(cluster: &mut Cluster) -> E {
    let transactional_id = TransactionalId(1);
    let request = DescribeTransactionsRequest { transactional_id };
    let Response::DescribeTransactions(answer) = cluster.ask(1, request) else { panic!() };
    answer.error
}

#[test]
fn data_is_served_before_the_coordinator_has_taken_over_c_lk_4() {
    let transaction_state_election_delay = Duration::from_millis(20_000);
    let config = BrokerConfig { transaction_state_election_delay, ..BrokerConfig::default() };
    let mut cluster = Setup { config, ..Setup::default() }.build();
    cluster.run_for(10);
    assert_eq!(described(&mut cluster), E::TransactionalIdNotFound, "the run begins settled");
    cluster.kill(1, CrashKind::Process);
    cluster.restart(1);
    cluster.run_for(5_000);
    let batch = produce_to(t(0), batch(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, batch)), (E::None, 0));
    assert_eq!(described(&mut cluster), E::NotCoordinator);
    cluster.run_for(20_000);
    assert_eq!(described(&mut cluster), E::TransactionalIdNotFound);
}
