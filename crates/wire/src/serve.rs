//! The simulated cluster behind real sockets (`eosim serve`).
//!
//! One thread has the cluster; each connection has a thread that reads and one that writes. Virtual
//! time follows the clock.

mod control;
mod front;
mod gateway;
mod http;
mod record;
mod session;
mod versions;
mod watch;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{self, SystemTime};

use eosim_runner::{Anomaly, Plan};
use eosim_types::{BrokerId, DefectSet, Duration};

use gateway::Gateway;
pub use gateway::GatewayLimits;
pub use record::again;
pub use session::{ConnectionId, Input, Output, Session};
pub use versions::spoken;

/// How often the clock is looked at when nothing comes in.
const TICK: time::Duration = time::Duration::from_millis(1);
/// How many inputs are taken before answers are looked at.
const BATCH: usize = 256;

/// What is served, where, and for how long.
pub struct Serving {
    /// The cluster.
    pub plan: Plan,
    /// Its chance.
    pub seed: u64,
    /// Switches.
    pub defects: DefectSet,
    /// Where the first broker listens; the others follow, or have free ports if this is port 0.
    pub listen: SocketAddr,
    /// What strangers may use.
    pub limits: GatewayLimits,
    /// Where somebody may look at it and act on it over HTTP.
    pub control: Option<SocketAddr>,
    /// Where everything that comes in is kept.
    pub record: Option<PathBuf>,
    /// How long, if not until it is told to end.
    pub lasts: Option<time::Duration>,
}

/// How it came out.
pub struct Report {
    /// What is broken.
    pub anomalies: Vec<Anomaly>,
    /// Events taken.
    pub steps: u64,
    /// Fingerprint.
    pub digest: u64,
}

/// Serves until `ends` says so. `tell` is given lines for the log; the first say where the brokers
/// listen.
///
/// # Errors
///
/// If a port cannot be had.
pub fn serve(
    serving: Serving,
    ends: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
) -> io::Result<Report> {
    let Serving { plan, seed, defects, listen, limits, control, record, lasts } = serving;
    let mut gateway = Gateway::open(listen, plan.cluster.brokers, limits, control, tell)?;
    let endpoints: BTreeMap<BrokerId, (String, u16)> = gateway.endpoints();
    for (broker, (host, port)) in &endpoints {
        tell(&format!("broker-{broker} listens on {host}:{port}"));
    }
    let clock_ms = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let clock_ms = clock_ms.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0));
    let mut kept = record.map(File::create).transpose()?.map(BufWriter::new);
    if let Some(kept) = &mut kept {
        record::write(kept, &record::header(&plan, seed, defects, &endpoints, clock_ms))?;
    }
    let mut session = Session::begin(plan, seed, defects, endpoints, clock_ms);
    let brokers: Vec<BrokerId> = session.served.brokers().collect();
    let began = time::Instant::now();
    let first = session.served.now();
    while !ends() && lasts.is_none_or(|lasts| began.elapsed() < lasts) {
        let mut inputs = Vec::new();
        match gateway.next(TICK) {
            Ok(input) => inputs.push(input),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        inputs.extend(gateway.ready().take(BATCH));
        let passed = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let at = first + Duration::from_micros(passed);
        session.advance_to(at);
        for &broker in &brokers {
            gateway.set_up(broker, session.served.is_serving(broker));
        }
        if !inputs.is_empty() {
            if let Some(kept) = &mut kept {
                record::write(kept, &record::moment(at, &inputs))?;
            }
            inputs.into_iter().for_each(|input| session.take(input));
            session.settle();
        }
        for output in session.take_outputs() {
            gateway.put(output, tell);
        }
        gateway.tell_lines(tell);
    }
    let at = session.served.now();
    let report = session.finish();
    if let Some(kept) = &mut kept {
        record::write(kept, &record::end(at, &report))?;
        kept.flush()?;
    }
    Ok(report)
}
