//! Verbs for more than one sweep and more than one machine: `merge`, `recipe`, `store`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::parse::{Size, WallTime};

/// Sweeps over shares of the seeds become one.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim merge sim-runs/part-1 sim-runs/part-2 sim-runs/part-3 -o sim-runs/merged
  eosim merge parts -o merged --format json

The result is a sweep like any other, for eosim report, coverage, replay and merge; its
summary.jsonl is, byte for byte, that of one sweep over the same seeds. All sweeps must be of this
build, of the same scenarios and switches. Two attempts at one share are one: the longer counts,
the other is compared with it. A sweep that was stopped or killed counts as far as it came.

Exit codes: those of the sweep; 12 too if seeds are missing, 3 if two runs of one seed differ,
2 if seeds are there twice or the sweeps do not belong together, 14 if they are of another build.")]
pub struct MergeArgs {
    /// Folders of sweeps, or stores, of which all sweeps are taken
    #[arg(required = true, value_name = "DIR")]
    pub sweeps: Vec<PathBuf>,
    /// Where the whole is kept; a folder that is not there yet
    #[arg(short, long, value_name = "FOLDER", env = "EOSIM_OUT")]
    pub out: PathBuf,
}

/// What runs the shares of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RecipeKind {
    /// A job array and the job that merges what it leaves.
    Slurm,
    /// An Indexed Job, and a Job that merges.
    Kubernetes,
    /// A workflow with a matrix.
    Github,
    /// A pipeline with parallel jobs.
    Gitlab,
    /// One machine, or several by ssh, with GNU parallel.
    Parallel,
}

/// How to spread a sweep over machines.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim recipe slurm --partitions 64 > sweep.sh
  eosim recipe kubernetes --partitions 20 --image eosim:1 > sweep.yaml
  eosim recipe github > .github/workflows/sweep.yml
  eosim recipe gitlab > .gitlab-ci.yml
  eosim recipe parallel --partitions 8 -- scenarios --count 100000 > sweep.sh

What follows -- is what each share is told to sweep; --partition and --out are added, and --resume where
a job that was killed is begun again in the same place.
Each recipe ends with eosim merge and a report, and with the exit code of the merged sweep.")]
pub struct RecipeArgs {
    /// For what
    #[arg(value_enum)]
    pub kind: RecipeKind,
    /// Into how many shares the seeds are divided
    #[arg(long, value_name = "NUMBER", default_value_t = 8, env = "EOSIM_PARTITIONS",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub partitions: u64,
    /// The image that holds eosim and the scenarios, for Kubernetes
    #[arg(long, value_name = "NAME", default_value = "eosim:latest", env = "EOSIM_IMAGE")]
    pub image: String,
    /// What to sweep; scenarios --profile ci if not given, for Slurm, Kubernetes and GNU parallel
    /// --profile nightly
    #[arg(last = true, value_name = "SWEEP")]
    pub sweep: Vec<String>,
}

/// What is kept.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim store list
  eosim store prune --keep 20 --age-max 30d
  eosim store export latest -o run.tar")]
pub struct StoreArgs {
    /// What to do
    #[command(subcommand)]
    pub verb: StoreVerb,
}

/// What can be done with what is kept.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum StoreVerb {
    /// Every run: how it ended, how many seeds it has, how many failed, how large it is
    List(StoreListArgs),
    /// Removes runs that are too many, too large or too old
    Prune(PruneArgs),
    /// One run as one file, a tar archive
    Export(ExportArgs),
}

/// Every kept run.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(
    after_help = "Examples:\n  eosim store list\n  eosim store list --store sim-runs/ci --format json"
)]
pub struct StoreListArgs {
    /// Where runs are kept
    #[arg(long, value_name = "FOLDER", default_value = "sim-runs", env = "EOSIM_STORE")]
    pub store: PathBuf,
}

/// Removes runs.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "\
Examples:
  eosim store prune --keep 20
  eosim store prune --size-max 20GiB --age-max 30d --dry-run

What is beyond any of the bounds goes, the oldest first. The run that latest means is kept, and so
is a sweep that is still running.")]
#[command(group(clap::ArgGroup::new("bound").required(true).multiple(true)))]
pub struct PruneArgs {
    /// Keeps so many runs, the newest
    #[arg(long, value_name = "NUMBER", group = "bound", env = "EOSIM_KEEP")]
    pub keep: Option<u64>,
    /// Keeps no more than this
    #[arg(long, value_name = "SIZE", group = "bound", env = "EOSIM_SIZE_MAX")]
    pub size_max: Option<Size>,
    /// Keeps what began within this time, such as 30d
    #[arg(long, value_name = "TIME", group = "bound", env = "EOSIM_AGE_MAX")]
    pub age_max: Option<WallTime>,
    /// Names what would go, and keeps it
    #[arg(long, env = "EOSIM_DRY_RUN")]
    pub dry_run: bool,
    /// Where runs are kept
    #[arg(long, value_name = "FOLDER", default_value = "sim-runs", env = "EOSIM_STORE")]
    pub store: PathBuf,
}

/// One run as one file.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = "Example:\n  eosim store export latest -o run.tar")]
pub struct ExportArgs {
    /// The folder of a run
    pub run: PathBuf,
    /// The archive
    #[arg(short, long, value_name = "FILE.tar", env = "EOSIM_OUT")]
    pub out: PathBuf,
}
