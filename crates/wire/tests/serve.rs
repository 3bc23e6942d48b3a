//! A served cluster over loopback, with the client of `conform`, and with bytes that are no requests.

mod cluster;

use std::io::Write;
use std::net::TcpStream;
use std::thread;

use eosim_runner::conform::{Case, Outcome};
use eosim_wire::live::LiveBroker;
use eosim_wire::serve::{GatewayLimits, again};

use cluster::Cluster;

/// What a real broker answers to this, in words of the recordings.
const CASE: &str = r#"{
  "name": "commit-and-abort", "topics": { "a": 2 },
  "steps": [
    { "op": "init_producer_id", "as": "p", "transactional_id": "t", "timeout_ms": 60000,
      "expect": { "error": "NONE", "producer": "P0", "epoch": 0 } },
    { "op": "produce", "producer": "p", "partition": "a-0", "sequence": 0, "records": 2, "transactional_id": "t",
      "expect": { "error": "NONE", "base_offset": 0 } },
    { "op": "produce", "producer": "p", "partition": "a-0", "sequence": 5, "records": 1, "transactional_id": "t",
      "expect": { "error": "OUT_OF_ORDER_SEQUENCE_NUMBER", "base_offset": -1 } },
    { "op": "produce", "producer": "p", "partition": "a-0", "sequence": 0, "records": 2, "transactional_id": "t",
      "expect": { "error": "NONE", "base_offset": 0 } },
    { "op": "list_offsets", "partition": "a-0", "isolation": "read_committed",
      "expect": { "error": "NONE", "offset": 0 } },
    { "op": "txn_offset_commit", "producer": "p", "transactional_id": "t", "group": "g", "offsets": { "a-1": 7 },
      "expect": { "error": "NONE", "results": { "a-1": "NONE" } } },
    { "op": "end_txn", "producer": "p", "transactional_id": "t", "commit": false, "adopt": true,
      "expect": { "error": "NONE", "producer": "P0", "epoch": 1 } },
    { "op": "fetch", "partition": "a-0", "offset": 0, "isolation": "read_committed",
      "expect": { "error": "NONE", "high_watermark": 3, "last_stable_offset": 3, "log_start_offset": 0,
        "aborted": [{ "producer": "P0", "first_offset": 0 }],
        "batches": [
          { "base_offset": 0, "last_offset": 1, "records": 2, "base_sequence": 0, "producer": "P0", "epoch": 0,
            "transactional": true, "values": ["s1.0", "s1.1"] },
          { "base_offset": 2, "last_offset": 2, "records": 1, "base_sequence": -1, "producer": "P0", "epoch": 1,
            "transactional": true, "control": "ABORT", "coordinator_epoch": 0 }
        ] } }
  ],
  "final": {
    "transactions": { "t": { "error": "NONE", "state": "CompleteAbort", "producer": "P0", "epoch": 1,
      "timeout_ms": 60000, "partitions": [] } },
    "partitions": {},
    "groups": { "g": { "error": "NONE", "offsets": { "a-1": { "offset": -1, "error": "NONE" } } } }
  }
}"#;

fn case() -> Case {
    serde_json::from_str(CASE).expect("a case")
}

#[test]
fn a_recorded_case_asked_over_a_socket_is_equal_and_the_session_can_be_played_again() {
    let record = std::env::temp_dir().join(format!("eosim-session-{}.jsonl", std::process::id()));
    let cluster = Cluster::start(GatewayLimits::default(), Some(record.clone()));
    let mut broker = LiveBroker::connect(&cluster.address, None).expect("somebody listens");
    let (_, outcome) = broker.ask_case(&case()).expect("nothing is missing");
    assert_eq!(outcome, Outcome::Equal);
    let transactions = cluster.http("GET /transactions HTTP/1.1\r\n\r\n");
    assert!(transactions.contains("CompleteAbort"), "{transactions}");
    let report = cluster.stop();
    // The case sends other records under a sequence that was used: a wrong client, and caught.
    let found: Vec<_> = report.anomalies.iter().map(|found| found.invariant).collect();
    assert_eq!(found, ["acknowledged-lost", "acknowledged-lost"]);
    let file = std::fs::File::open(&record).expect("it was recorded");
    let replayed = again(std::io::BufReader::new(file)).expect("it is the same");
    assert_eq!((replayed.digest, replayed.steps), (report.digest, report.steps));
    std::fs::remove_file(record).expect("it is there");
}

#[test]
fn strangers_with_garbage_half_requests_and_many_connections_do_no_harm() {
    let limits = GatewayLimits { connections: 40, frame: 1 << 20, ..GatewayLimits::default() };
    let cluster = Cluster::start(limits, None);
    let mut open = Vec::new();
    for n in 0..200u32 {
        let Ok(mut stream) = TcpStream::connect(&cluster.address) else { continue };
        let bytes: Vec<u8> = match n % 5 {
            0 => b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            1 => vec![0xff; 64],
            2 => [&[0, 0, 0, 20][..], &[0, 0, 0, 9, 1, 2, 3, 4], &[0xff; 12]].concat(),
            3 => vec![0, 0, 1, 0, 0],
            _ => Vec::new(),
        };
        // The other side may have closed already.
        drop(stream.write_all(&bytes));
        if n % 5 >= 3 && open.len() < 30 {
            open.push(stream);
        }
    }
    drop(open);
    let answered = (0..100).any(|_| {
        thread::sleep(std::time::Duration::from_millis(20));
        LiveBroker::connect(&cluster.address, None).is_ok()
    });
    assert!(answered, "the broker serves as before");
    let state = cluster.http("GET /state HTTP/1.1\r\n\r\n");
    assert!(state.contains("\"up\":true"), "{state}");
    assert_eq!(cluster.stop().anomalies, []);
}
