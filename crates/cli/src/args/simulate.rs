//! Verbs that run simulations: `run`, `sweep`, `replay`, `shrink`, `verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use eosim_types::version::KafkaVersion;

use super::parse::{Partition, Seed, SeedRange, WallTime, kafka_version};

/// What is simulated, besides the scenario.
#[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
pub struct ModelArgs {
    /// The release of all brokers and clients, 3.9 to 4.5, in place of the scenario's
    #[arg(long, value_name = "VERSION", env = "EOSIM_KAFKA", value_parser = kafka_version())]
    pub kafka: Option<KafkaVersion>,
    /// The level of transaction.version, 0 to 2, in place of the scenario's
    #[arg(long, value_name = "LEVEL", env = "EOSIM_TRANSACTION_VERSION",
          value_parser = clap::value_parser!(u8).range(0..=2))]
    pub transaction_version: Option<u8>,
    /// Replaces a value of the scenario, such as faults.lost_response=1/100
    #[arg(long = "set", value_name = "PATH=VALUE", env = "EOSIM_SET", value_delimiter = ';')]
    pub sets: Vec<String>,
    /// Puts a historical bug back; see: eosim list defects
    #[arg(long = "defect", value_name = "NAME", env = "EOSIM_DEFECT", value_delimiter = ',')]
    pub defects: Vec<String>,
    /// Kafka as released: turns all upstream findings on
    #[arg(long, env = "EOSIM_AS_RELEASED")]
    pub as_released: bool,
    /// Repairs a finding that is known, so that others come to light
    #[arg(
        long = "repair",
        value_name = "NAME",
        env = "EOSIM_REPAIR",
        value_delimiter = ',',
        requires = "as_released"
    )]
    pub repairs: Vec<String>,
}

/// One run.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim run scenarios/examples/example-1-commit-abort-commit.json
  eosim run scenarios/transactions/mixed.json --seed 0x2a --print-plan
  eosim run scenarios/idempotence/lost-responses.json --set faults.lost_response=1/10
  eosim run scenarios/fencing/zombie-fencing.json --defect leader.marker.accept_equal_epoch")]
pub struct RunArgs {
    /// A scenario file
    pub scenario: PathBuf,
    /// A number, 0x…, or a commit id of 40 digits
    #[arg(long, default_value_t, env = "EOSIM_SEED")]
    pub seed: Seed,
    /// What is simulated besides.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Prints every value that the seed drew
    #[arg(long, env = "EOSIM_PRINT_PLAN")]
    pub print_plan: bool,
    /// Where the artefacts are kept
    #[arg(short, long, value_name = "FOLDER", default_value = "sim-runs", env = "EOSIM_OUT")]
    pub out: PathBuf,
}

/// How thorough a sweep is, where no number of seeds is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Profile {
    /// About a minute on two cores.
    #[default]
    Quick,
    /// Up to five minutes on two cores.
    Ci,
    /// Hours.
    Nightly,
    /// Until it is stopped.
    Soak,
}

/// Many seeds over many scenarios.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim sweep scenarios
  eosim sweep scenarios/transactions/mixed.json --seeds 1000..2000 --max-fail 1
  eosim sweep scenarios --tag fencing --for 10m --jobs 2
  eosim sweep scenarios --profile ci --partition 2/4 --out sim-runs/ci
  eosim sweep scenarios --profile nightly --resume
  eosim sweep --resume=latest

Scenarios below a folder `regressions` are run first. Of each kind of failure it is said whether an
earlier run of the store, or of what --known names, has met it.

Larger than one machine: see eosim recipe and eosim merge.")]
pub struct SweepArgs {
    /// Scenario files, or folders of them
    #[arg(required_unless_present = "resume", value_name = "SCENARIO")]
    pub scenarios: Vec<PathBuf>,
    /// These seeds of every scenario
    #[arg(long, value_name = "FIRST..END", group = "extent", env = "EOSIM_SEEDS")]
    pub seeds: Option<SeedRange>,
    /// So many seeds of every scenario, from 0 on
    #[arg(long, value_name = "NUMBER", group = "extent", env = "EOSIM_COUNT")]
    pub count: Option<u64>,
    /// As many seeds as there is time for
    #[arg(long = "for", value_name = "TIME", group = "extent", env = "EOSIM_FOR")]
    pub time: Option<WallTime>,
    /// How thorough, in place of --seeds, --count or --for
    #[arg(long, value_enum, default_value_t, env = "EOSIM_PROFILE", conflicts_with = "extent")]
    pub profile: Profile,
    /// Only scenarios with one of these tags
    #[arg(long = "tag", value_name = "TAG", env = "EOSIM_TAG", value_delimiter = ',')]
    pub tags: Vec<String>,
    /// Workers; as many as there are processors if not given
    #[arg(short, long, value_name = "NUMBER", env = "EOSIM_JOBS",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Only one share of the seeds, such as 2/4
    #[arg(long, value_name = "PART/OF", env = "EOSIM_PARTITION")]
    pub partition: Option<Partition>,
    /// Only one of so many shares; which of them is said by JOB_COMPLETION_INDEX, from 0 on, as
    /// Kubernetes sets it, or SLURM_ARRAY_TASK_ID, from 1 on
    #[arg(long, value_name = "NUMBER", env = "EOSIM_PARTITIONS",
          value_parser = clap::value_parser!(u64).range(1..=Partition::MOST))]
    pub partitions: Option<u64>,
    /// Goes on with a sweep that was killed or stopped: with RUN, or else with the last one of the
    /// same arguments in --out, if there is one; the end is that of a sweep without a break. One that
    /// has come to its end already is told again
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, env = "EOSIM_RESUME")]
    pub resume: Option<Option<PathBuf>>,
    /// How much work is lost at most if the sweep is killed
    #[arg(long, value_name = "TIME", default_value = "1s", env = "EOSIM_CHECKPOINT_INTERVAL")]
    pub checkpoint_interval: WallTime,
    /// Gives up each run after so many steps, in place of what its scenario says
    #[arg(long, value_name = "NUMBER", env = "EOSIM_STEPS_MAX",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub steps_max: Option<u64>,
    /// By this virtual time each run must have come to its end, in place of what its scenario says
    #[arg(long, value_name = "TIME", env = "EOSIM_VIRTUAL_TIME_MAX")]
    pub virtual_time_max: Option<WallTime>,
    /// A run, or a store of runs, whose failures are known; the store --out if not given
    #[arg(long, value_name = "FOLDER", env = "EOSIM_KNOWN", value_delimiter = ',')]
    pub known: Vec<PathBuf>,
    /// Stops after so many failing seeds; goes on whatever happens if not given
    #[arg(long, value_name = "NUMBER", env = "EOSIM_MAX_FAIL",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub max_fail: Option<u64>,
    /// One run in so many is done twice and compared; 0 for none
    #[arg(long, value_name = "NUMBER", default_value_t = 20, env = "EOSIM_VERIFY_EVERY")]
    pub verify_every: u64,
    /// What is simulated besides.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Where the artefacts are kept
    #[arg(short, long, value_name = "FOLDER", default_value = "sim-runs", env = "EOSIM_OUT")]
    pub out: PathBuf,
}

/// The same run again.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim replay sim-runs/latest/failures/8812
  eosim replay sim-runs/latest/failures/8812/choices.json --expect-recorded")]
pub struct ReplayArgs {
    /// The folder of a run, or its choices.json
    pub path: PathBuf,
    /// Fails unless the run ends as it was recorded
    #[arg(long, env = "EOSIM_EXPECT_RECORDED")]
    pub expect_recorded: bool,
    /// Replays with another model too, and says where it leaves the recording
    #[arg(long, env = "EOSIM_FORCE")]
    pub force: bool,
}

/// The smallest run that fails in the same way.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim shrink latest
  eosim shrink sim-runs/latest/failures/8812 --for 5m
  eosim shrink latest --steps 20000000 --out regression")]
pub struct ShrinkArgs {
    /// The folder of a failing run, or its choices.json
    pub path: PathBuf,
    /// How long at most; 60s if neither this nor --steps is given
    #[arg(long = "for", value_name = "TIME", env = "EOSIM_FOR")]
    pub time: Option<WallTime>,
    /// How many steps at most, of all runs that it takes; what comes out depends on nothing else
    #[arg(long, value_name = "NUMBER", env = "EOSIM_STEPS",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,
    /// Workers; as many as there are processors if not given
    #[arg(short, long, value_name = "NUMBER", env = "EOSIM_JOBS",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Where the scenario and the run are kept; the folder `shrunk` beside the choices.json if not
    /// given
    #[arg(short, long, value_name = "FOLDER", env = "EOSIM_OUT")]
    pub out: Option<PathBuf>,
}

/// A run twice, compared step by step.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "Example:\n  eosim verify scenarios/transactions/mixed.json --seed 8812")]
pub struct VerifyArgs {
    /// A scenario file
    pub scenario: PathBuf,
    /// A number, 0x…, or a commit id of 40 digits
    #[arg(long, default_value_t, env = "EOSIM_SEED")]
    pub seed: Seed,
    /// What is simulated besides.
    #[command(flatten)]
    pub model: ModelArgs,
}
