//! The clock on the wall and the median: the only place of the runner where figures are floats,
//! because nothing here reaches a run.

use std::time::Instant;

/// How long `work` takes, nanoseconds.
#[allow(clippy::cast_precision_loss, reason = "a measurement of seconds needs no 53 bits")]
pub(super) fn nanoseconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// A count as a float.
#[allow(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// The middle one of `values`.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
