//! How a long command says how far it is: a bar on a terminal, else a line every ten seconds.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use eosim_types::visible::visible;

use crate::args::ProgressMode;

/// The time between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// The progress of one command.
pub struct Progress {
    form: Form,
    done: u64,
    failures: u64,
    total: Option<u64>,
    /// Units that were done before it began.
    before: u64,
    began: Instant,
}

enum Form {
    Bar(ProgressBar),
    Plain { last: Instant },
    None,
}

impl Progress {
    /// Progress towards `total` units, if their number is known.
    #[must_use]
    pub fn new(mode: ProgressMode, total: Option<u64>) -> Self {
        let began = Instant::now();
        let mode = match mode {
            ProgressMode::Auto if io::stderr().is_terminal() => ProgressMode::Bar,
            ProgressMode::Auto => ProgressMode::Plain,
            mode => mode,
        };
        let form = match mode {
            ProgressMode::Bar => Form::Bar(bar(total)),
            ProgressMode::Plain | ProgressMode::Auto => Form::Plain { last: began },
            ProgressMode::None => Form::None,
        };
        Self { form, done: 0, failures: 0, total, before: 0, began }
    }

    /// So much was done, and so much failed, before.
    pub fn begin_at(&mut self, done: u64, failures: u64) {
        (self.done, self.before, self.failures) = (done, done, failures);
        if let Form::Bar(bar) = &self.form {
            bar.set_position(done);
            bar.reset_eta();
        }
    }

    /// Another unit is done.
    pub fn advance(&mut self, failed: bool) {
        self.done += 1;
        self.failures += u64::from(failed);
        if let Form::Bar(bar) = &self.form {
            bar.inc(1);
            if failed {
                bar.set_message(failures(self.failures));
            }
        }
        self.tick();
    }

    /// Time has passed.
    pub fn tick(&mut self) {
        match &mut self.form {
            Form::Plain { last } if last.elapsed() >= PLAIN_INTERVAL => {
                *last = Instant::now();
                let line = self.line(self.began.elapsed());
                // Progress is talk; who does not listen misses nothing.
                let _ = writeln!(io::stderr(), "{line}");
            }
            _ => {}
        }
    }

    /// Prints `text` above the bar, or as it is.
    pub fn say(&self, text: &str) {
        match &self.form {
            Form::Bar(bar) => bar.suspend(|| eprint_all(text)),
            _ => eprint_all(text),
        }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Form::Bar(bar) = self.form {
            bar.finish_and_clear();
        }
    }

    /// A plain line after `elapsed`.
    fn line(&self, elapsed: Duration) -> String {
        let total = self.total.map_or_else(String::new, |total| format!("/{total}"));
        let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = (self.done - self.before).saturating_mul(1000) / millis;
        let left = self.total.filter(|_| rate > 0).map_or_else(String::new, |total| {
            format!(", {} s left", total.saturating_sub(self.done) / rate)
        });
        let done = self.done;
        format!("{done}{total} seeds, {rate}/s, {}{left}", failures(self.failures))
    }
}

fn eprint_all(text: &str) {
    // Talk; who does not listen misses nothing.
    let _ = io::stderr().write_all(visible(text, &['\n', '\t']).as_bytes());
}

fn failures(count: u64) -> String {
    if count == 1 { "1 failure".to_string() } else { format!("{count} failures") }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match total {
        Some(_) => "{bar:30} {pos}/{len} seeds  {per_sec}  {msg}  {eta} left",
        None => "{spinner} {pos} seeds  {per_sec}  {msg}  {elapsed}",
    };
    let style = ProgressStyle::with_template(template).expect("a template that is known");
    bar.set_style(style);
    bar.set_message(failures(0));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_say_how_far_and_how_fast() {
        let mut progress = Progress::new(ProgressMode::None, Some(1000));
        for n in 0..250 {
            progress.advance(n == 7);
        }
        let line = progress.line(Duration::from_secs(5));
        assert_eq!(line, "250/1000 seeds, 50/s, 1 failure, 15 s left");
        progress.total = None;
        assert_eq!(progress.line(Duration::ZERO), "250 seeds, 250000/s, 1 failure");
    }
}
