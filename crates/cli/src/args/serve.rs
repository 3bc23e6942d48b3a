//! `serve`: the simulated cluster behind real sockets.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::ModelArgs;
use super::parse::{Seed, WallTime};

/// The simulated cluster behind real sockets.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Brokers listen on the port that is given and those after it. Time follows the clock. Any Kafka client
may come, unmodified; it is the only client: those of the scenario are left out. Everybody who can
reach a port may do everything, so give no address but one of this machine.

Examples:
  eosim serve --for 2s --listen 127.0.0.1:0
  eosim serve scenarios/idempotence/lost-responses.json --for 2s --listen 127.0.0.1:0")]
pub struct ServeArgs {
    /// A scenario file: cluster and faults; three brokers and no faults if not given
    pub scenario: Option<PathBuf>,
    /// Where the first broker listens; port 0 stands for free ports
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "EOSIM_LISTEN",
        default_value = "127.0.0.1:9092"
    )]
    pub listen: SocketAddr,
    /// How many brokers, in place of the scenario's
    #[arg(long, value_name = "COUNT", env = "EOSIM_BROKERS", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub brokers: Option<u8>,
    /// Chance: latencies and faults
    #[arg(long, default_value_t, env = "EOSIM_SEED")]
    pub seed: Seed,
    /// What is simulated besides.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Answers HTTP there: GET /state, /transactions, /verdict; POST /faults, /transforms, /pause, /crash
    #[arg(long, value_name = "ADDRESS:PORT", env = "EOSIM_CONTROL")]
    pub control: Option<SocketAddr>,
    /// Keeps all that comes in, so that the session can be played again
    #[arg(long, value_name = "FILE", env = "EOSIM_RECORD")]
    pub record: Option<PathBuf>,
    /// Plays a recorded session again, without sockets
    #[arg(long, value_name = "FILE", env = "EOSIM_AGAIN", exclusive = true)]
    pub again: Option<PathBuf>,
    /// Ends by itself after so long, such as 30s or 10m
    #[arg(long = "for", value_name = "TIME", env = "EOSIM_FOR")]
    pub lasts: Option<WallTime>,
}
