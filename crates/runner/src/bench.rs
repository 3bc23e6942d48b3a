//! The bars of performance as rows: ratios taken side by side in one run, medians of several
//! rounds. Absolute figures are for orientation.
#![expect(clippy::float_arithmetic, reason = "figures of wall time, never part of a run")]

mod cluster;
mod timing;

use eosim_sim::bench::{ROUND_TRIPS, RoundTrips, Yardstick};

use cluster::{full_protocol, seed_start};
use timing::{median, nanoseconds};

/// One figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What was measured.
    pub name: &'static str,
    /// The median.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// The bar, if there is one.
    pub bar: Option<Bar>,
}

/// What a figure must reach.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bar {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Row {
    /// Does it hold? Figures without a bar do.
    #[must_use]
    pub fn is_met(&self) -> bool {
        match self.bar {
            None => true,
            Some(Bar::AtMost(bar)) => self.value <= bar,
            Some(Bar::AtLeast(bar)) => self.value >= bar,
        }
    }
}

/// Seeds of W1 in one measurement.
const SEEDS: u64 = 30;

/// Measures every row, each in `rounds` rounds.
#[must_use]
pub fn run(rounds: u16, progress: &mut dyn FnMut(&'static str)) -> Vec<Row> {
    progress("W1 on the general scheduler and on the loop by hand");
    let (general, yardstick) = w1(rounds);
    let ratios: Vec<f64> = general.iter().zip(&yardstick).map(|(g, y)| g / y).collect();
    let yardstick = median(yardstick);
    let mut rows = vec![
        row("w1-general-over-yardstick", median(ratios), "ratio", Some(Bar::AtMost(1.0))),
        row("w1-general", median(general), "ns/event", None),
        row("w1-yardstick", yardstick, "ns/event", None),
    ];
    progress("two workers over one");
    let scaling = median((0..rounds).map(|_| two_workers_over_one()).collect());
    rows.push(row("two-workers-over-one", scaling, "ratio", Some(Bar::AtLeast(1.9))));
    progress("start of a seed");
    rows.push(row("seed-start", seed_start(rounds), "µs", Some(Bar::AtMost(10.0))));
    progress("the full protocol");
    let full = full_protocol(rounds);
    let over = full.ns_per_message / yardstick;
    rows.push(row("full-protocol-over-yardstick", over, "ratio", Some(Bar::AtMost(4.0))));
    rows.push(row("full-protocol", full.ns_per_message, "ns/message", None));
    rows.push(row(
        "virtual-over-wall",
        full.virtual_over_wall,
        "ratio",
        Some(Bar::AtLeast(8000.0)),
    ));
    rows.push(row("seeds-per-second", full.seeds_per_second, "1/s on one core", None));
    rows
}

fn row(name: &'static str, value: f64, unit: &'static str, bar: Option<Bar>) -> Row {
    Row { name, value, unit, bar }
}

/// Nanoseconds per event on the general scheduler and on the yardstick, round by round.
fn w1(rounds: u16) -> (Vec<f64>, Vec<f64>) {
    let (mut general, mut yardstick) = (RoundTrips::new(), Yardstick::new());
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        times.0.push(per_event(|seed| general.run(seed)));
        times.1.push(per_event(|seed| yardstick.run(seed)));
    }
    times
}

fn per_event(mut run: impl FnMut(u64) -> eosim_sim::bench::Outcome) -> f64 {
    let mut events = 0;
    let time = nanoseconds(|| {
        for seed in 0..SEEDS {
            let outcome = run(seed);
            assert_eq!(outcome.applied, ROUND_TRIPS, "W1 applies every id once");
            events += outcome.events;
        }
    });
    time / timing::float(events)
}

/// How much more two threads do than one in the same time. Each has a world of its own, and enough
/// to do that neither their start nor a short disturbance counts.
fn two_workers_over_one() -> f64 {
    let work = || {
        let mut world = RoundTrips::new();
        for seed in 0..20 * SEEDS {
            world.run(seed);
        }
    };
    let one = nanoseconds(work);
    let two = nanoseconds(|| {
        std::thread::scope(|scope| {
            scope.spawn(work);
            scope.spawn(work);
        });
    });
    2.0 * one / two
}
