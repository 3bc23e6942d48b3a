//! A served cluster under test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use eosim_runner::{Plan, ScenarioFile, invariants};
use eosim_types::DefectSet;
use eosim_wire::serve::{GatewayLimits, Report, Serving, serve};

const SCENARIO: &str = r#"{
  "format": 1, "name": "served", "about": "One broker.", "kafka": "4.4",
  "cluster": {
    "brokers": 1,
    "topics": { "orders": {}, "bills": {} },
    "transaction_state": { "partitions": 5, "replication_factor": 1, "min_insync_replicas": 1 },
    "consumer_offsets": { "partitions": 5, "replication_factor": 1, "min_insync_replicas": 1 }
  },
  "network": { "latency_min_us": 20, "latency_max_us": 60 },
  "producers": [{ "name": "left-out", "workload": { "script": [{ "send": { "partition": "orders-0", "value": "a" } }] } }]
}"#;

fn plan() -> Plan {
    let names: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    let file = ScenarioFile::parse("served", SCENARIO, &[], &names).expect("a scenario");
    file.plan(&mut |_, _| 0).expect("a plan")
}

/// A cluster of one broker, served on ports of its own.
pub(crate) struct Cluster {
    pub(crate) address: String,
    control: String,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

impl Cluster {
    pub(crate) fn start(limits: GatewayLimits, record: Option<PathBuf>) -> Self {
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

    /// What its control endpoint answers to `request`.
    pub(crate) fn http(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.control).expect("somebody listens");
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    pub(crate) fn stop(self) -> Report {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().expect("it ends")
    }
}
