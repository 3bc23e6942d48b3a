//! Clients that make the usual mistakes, against a served cluster: the checker beside it must catch
//! each, and must say nothing of the client that does the same without the mistake.

mod cluster;
mod wrong;

use cluster::Cluster;
use eosim_wire::serve::GatewayLimits;
use wrong::{Client, Made};

/// Both ways of one story: with the mistake, and without.
fn told(story: impl Fn(&Cluster, bool)) -> [Vec<&'static str>; 2] {
    [true, false].map(|mistake| {
        let cluster = Cluster::start(GatewayLimits::default(), None);
        story(&cluster, mistake);
        let mut found: Vec<_> =
            cluster.stop().anomalies.iter().map(|anomaly| anomaly.invariant).collect();
        found.dedup();
        found
    })
}

#[test]
fn a_new_sequence_after_a_lost_answer_makes_a_duplicate_l_dup_1() {
    let found = told(|cluster, mistake| {
        let mut client = cluster.client();
        let mut producer = client.init("t");
        client.send_in_vain(cluster, &producer.batch("orders-0", 0, "a", None));
        let mut client = cluster.client();
        let sequence = i32::from(mistake);
        assert_eq!(client.produce(&producer.batch("orders-0", sequence, "a", None)), 0);
        client.end(&mut producer, true);
    });
    assert_eq!(found, [vec!["duplicate"], vec![]]);
}

#[test]
fn another_record_after_a_lost_answer_is_no_duplicate_and_neither_is_the_same_in_the_next_transaction()
 {
    let [found, _] = told(|cluster, _| {
        let mut client = cluster.client();
        let mut producer = client.init("t");
        client.send_in_vain(cluster, &producer.batch("orders-0", 0, "a", None));
        let mut client = cluster.client();
        client.produce(&producer.batch("orders-0", 1, "b", None));
        client.end(&mut producer, false);
        client.produce(&producer.batch("orders-0", 0, "a", None));
        client.end(&mut producer, true);
    });
    assert_eq!(found, Vec::<&str>::new());
}

#[test]
fn a_commit_over_a_send_that_failed_loses_a_record_p_err_1() {
    let found = told(|cluster, mistake| {
        let mut client = cluster.client();
        let mut producer = client.init("t");
        assert_eq!(client.produce(&producer.batch("orders-0", 0, "a", None)), 0);
        assert_ne!(client.produce(&producer.batch("orders-0", 7, "b", None)), 0, "a gap");
        client.end(&mut producer, mistake);
    });
    assert_eq!(found, [vec!["committed-lost", "torn-transaction"], vec![]]);
}

#[test]
fn a_commit_before_a_send_has_finished_loses_a_record_p_err_1() {
    let found = told(|cluster, mistake| {
        let mut client = cluster.client();
        let mut producer = client.init("t");
        assert_eq!(client.produce(&producer.batch("orders-0", 0, "a", None)), 0);
        let late = producer.batch("orders-0", 1, "b", None);
        if !mistake {
            assert_eq!(client.produce(&late), 0);
        }
        // The batch is sent, on another connection, and comes after the end of its transaction.
        let mut other = cluster.client();
        if mistake {
            cluster.faults(r#"[{"when": {"sent": "Produce"}, "do": {"delay_ms": 300}}]"#);
            other.send(&late);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        client.end(&mut producer, true);
        std::thread::sleep(std::time::Duration::from_millis(500));
    });
    assert_eq!(found, [vec!["committed-lost", "torn-transaction"], vec![]]);
}

/// A record in `orders-0`, and a consumer that writes its result to `bills-0`.
fn transformer(cluster: &Cluster, input_is_committed: bool) -> (Client, wrong::Producer) {
    cluster.transforms(r#"[{"group": "g", "input": "orders", "output": "bills"}]"#);
    let mut client = cluster.client();
    let mut feed = client.init("feed");
    assert_eq!(client.produce(&feed.batch("orders-0", 0, "order", None)), 0);
    client.end(&mut feed, input_is_committed);
    let producer = client.init("t");
    (client, producer)
}

const FIRST: Made = Some("orders-0@0");

#[test]
fn offsets_committed_outside_of_the_transaction_lose_an_effect_k_ctp_5() {
    let found = told(|cluster, mistake| {
        let (mut client, mut producer) = transformer(cluster, true);
        assert_eq!(client.produce(&producer.batch("bills-0", 0, "bill", FIRST)), 0);
        if mistake {
            client.commit_offset("g", "orders-0", 1);
        } else {
            client.send_offset(&producer, "g", "orders-0", 1);
        }
        client.end(&mut producer, false);
    });
    assert_eq!(found, [vec!["effect-lost"], vec![]]);
}

#[test]
fn a_consumer_that_processes_twice_has_two_effects_k_ctp_1() {
    let found = told(|cluster, mistake| {
        let (mut client, mut producer) = transformer(cluster, true);
        for attempt in 0..2 {
            let sequence = 0;
            assert_eq!(client.produce(&producer.batch("bills-0", sequence, "bill", FIRST)), 0);
            client.send_offset(&producer, "g", "orders-0", 1);
            // Without the mistake the first attempt is taken back.
            client.end(&mut producer, mistake || attempt == 1);
        }
    });
    assert_eq!(found, [vec!["processed-twice"], vec![]]);
}

#[test]
fn a_consumer_that_reads_uncommitted_builds_on_what_was_aborted_k_filt_2() {
    let found = told(|cluster, mistake| {
        let (mut client, mut producer) = transformer(cluster, !mistake);
        assert_eq!(client.produce(&producer.batch("bills-0", 0, "bill", FIRST)), 0);
        client.send_offset(&producer, "g", "orders-0", 1);
        client.end(&mut producer, true);
    });
    assert_eq!(found, [vec!["aborted-processed"], vec![]]);
}

#[test]
fn a_topic_that_was_deleted_is_not_judged_and_one_that_has_its_name_is_l_del_2() {
    let found = told(|cluster, mistake| {
        let mut client = cluster.client();
        let mut producer = client.init("t");
        let first = producer.batch("orders-0", 0, "a", None);
        assert_eq!(client.produce(&first), 0);
        client.end(&mut producer, true);
        client.delete_topic("orders");
        client.create_topic("orders");
        assert_eq!(client.produce(&producer.batch("orders-0", 0, "b", None)), 0);
        if mistake {
            client.send_in_vain(cluster, &producer.batch("orders-0", 1, "c", None));
            client = cluster.client();
            assert_eq!(client.produce(&producer.batch("orders-0", 2, "c", None)), 0);
        }
        client.end(&mut producer, true);
    });
    assert_eq!(found, [vec!["duplicate"], vec![]]);
}

#[test]
fn records_that_were_deleted_are_not_asked_for_and_the_others_are_l_del_1() {
    let found = told(|cluster, mistake| {
        let mut client = cluster.client();
        let mut producer = client.init("t");
        for sequence in 0..3 {
            assert_eq!(client.produce(&producer.batch("orders-0", sequence, "a", None)), 0);
        }
        client.end(&mut producer, true);
        client.delete_records("orders-0", 2);
        assert_eq!(client.produce(&producer.batch("orders-0", 0, "b", None)), 0);
        let refused = client.produce(&producer.batch("orders-0", 5, "c", None));
        assert_ne!(refused, 0);
        client.end(&mut producer, mistake);
    });
    assert_eq!(found, [vec!["committed-lost", "torn-transaction"], vec![]]);
}

#[test]
fn a_topic_that_a_client_created_outlives_the_death_of_its_broker_l_fo_5() {
    let [found, _] = told(|cluster, _| {
        let mut client = cluster.client();
        client.create_topic("made");
        let mut producer = client.init("t");
        assert_eq!(client.produce(&producer.batch("made-0", 0, "a", None)), 0);
        client.end(&mut producer, true);
        cluster.crash(1, 100);
        let client = (0..100).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            let mut client = cluster.client();
            let batch = producer.batch("made-0", 0, "b", None);
            (client.try_produce(&batch) == Some(0)).then_some(client)
        });
        client.expect("it leads again").end(&mut producer, true);
    });
    assert_eq!(found, Vec::<&str>::new());
}

#[test]
fn a_broker_that_starts_again_never_says_that_there_are_no_topics() {
    let cluster = Cluster::start(GatewayLimits::default(), None);
    cluster.client().create_topic("made");
    cluster.crash(1, 100);
    let mut answers = 0;
    for _ in 0..2_000 {
        let Some(topics) = cluster.client().try_topics(&[]) else { continue };
        assert!(topics.iter().any(|topic| topic == "made"), "{topics:?}");
        answers += 1;
    }
    assert!(answers > 0, "it came back");
    cluster.stop();
}

#[test]
fn bytes_behind_a_request_are_not_looked_at() {
    let cluster = Cluster::start(GatewayLimits::default(), None);
    let topics = cluster.client().try_topics(&[1, 0, 0]).expect("an answer");
    assert!(topics.iter().any(|topic| topic == "orders"), "{topics:?}");
    cluster.stop();
}
