//! The simulated cluster behind real sockets (`eosim serve`).
//!
//! One thread has the cluster; each connection has a thread that reads and one that writes. Virtual
//! time follows the clock.

mod front;
mod gateway;
mod session;
mod versions;
mod watch;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::RecvTimeoutError;
use std::time;

use eosim_runner::{Anomaly, Plan};
use eosim_types::{BrokerId, DefectSet, Duration, Instant};

use gateway::Gateway;
pub use gateway::GatewayLimits;
pub use session::{ConnectionId, Input, Output, Session};

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
    let brokers = serving.plan.cluster.brokers;
    let gateway = Gateway::open(serving.listen, brokers, serving.limits)?;
    let endpoints: BTreeMap<BrokerId, (String, u16)> = gateway.endpoints();
    for (broker, (host, port)) in &endpoints {
        tell(&format!("broker-{broker} listens on {host}:{port}"));
    }
    let mut session = Session::begin(serving.plan, serving.seed, serving.defects, endpoints);
    let began = time::Instant::now();
    let first = session.served.now();
    let mut gateway = gateway;
    while !ends() && serving.lasts.is_none_or(|lasts| began.elapsed() < lasts) {
        let input = match gateway.next(TICK) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let passed = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        session.advance_to(first + Duration::from_micros(passed));
        if let Some(input) = input {
            session.take(input);
            for input in gateway.ready().take(BATCH).collect::<Vec<_>>() {
                session.take(input);
            }
            session.settle();
        }
        for output in session.take_outputs() {
            gateway.put(output, tell);
        }
    }
    let anomalies = session.served.finish().to_vec();
    let (steps, digest) = (session.served.steps(), session.served.digest());
    Ok(Report { anomalies, steps, digest })
}

/// The time that has passed.
#[must_use]
pub fn elapsed(session: &Session) -> Duration {
    session.served.now().since(Instant::START)
}
