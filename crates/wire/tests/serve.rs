//! A served cluster over loopback, with the client of `conform`, and with bytes that are no requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use eosim_runner::conform::{Case, Outcome};
use eosim_runner::{Plan, ScenarioFile, invariants};
use eosim_types::DefectSet;
use eosim_wire::live::LiveBroker;
use eosim_wire::serve::{GatewayLimits, Report, Serving, again, serve};

const SCENARIO: &str = r#"{
  "format": 1, "name": "served", "about": "One broker.", "kafka": "4.4",
  "cluster": {
    "brokers": 1,
    "topics": { "orders": {} },
    "transaction_state": { "partitions": 5, "replication_factor": 1, "min_insync_replicas": 1 },
    "consumer_offsets": { "partitions": 5, "replication_factor": 1, "min_insync_replicas": 1 }
  },
  "network": { "latency_min_us": 20, "latency_max_us": 60 },
  "producers": [{ "name": "left-out", "workload": { "script": [{ "send": { "partition": "orders-0", "value": "a" } }] } }]
}"#;

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

fn plan() -> Plan {
    let names: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    let file = ScenarioFile::parse("served", SCENARIO, &[], &names).expect("a scenario");
    file.plan(&mut |_, _| 0).expect("a plan")
}

struct Cluster {
    address: String,
    control: String,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

impl Cluster {
    fn start(limits: GatewayLimits, record: Option<std::path::PathBuf>) -> Self {
        let (lines, told) = channel::<String>();
        let ends = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let anywhere = "127.0.0.1:0".parse().expect("an address");
            let serving = Serving {
                plan: plan(),
                seed: 7,
                defects: DefectSet::NONE,
                listen: anywhere,
                limits,
                control: Some(anywhere),
                record,
                lasts: None,
            };
            let ends = move || asked.load(Ordering::Relaxed);
            // Nobody reads what comes after the first lines.
            serve(serving, &ends, &mut |line| drop(lines.send(line.to_string())))
                .expect("a free port")
        });
        let place = |start: &str| {
            let line = told.recv().expect("where it listens");
            line.split(start).nth(1).expect("an address").to_string()
        };
        let control = place("control at http://");
        let address = place("listens on ");
        Self { address, control, ends, thread }
    }

    fn stop(self) -> Report {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().expect("it ends")
    }

    fn http(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.control).expect("somebody listens");
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }
}

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
