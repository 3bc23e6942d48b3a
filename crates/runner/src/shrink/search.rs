//! Takes away what can be taken away: proposals are tried in order, by several workers at once, and
//! the first that still fails becomes the best run. What comes out, and what it costs, does not
//! depend on how many workers there are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::trial::{Best, Proposal, Terms, Tried};

/// How much may be spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budget {
    /// Steps of all runs together.
    pub steps: Option<u64>,
    /// By the clock on the wall.
    pub deadline: Option<Instant>,
}

/// A search under way.
pub(super) struct Search<'a> {
    pub(super) terms: Terms,
    pub(super) best: Best,
    pub(super) jobs: usize,
    pub(super) budget: Budget,
    /// Somebody asks for an end.
    pub(super) stop: &'a AtomicBool,
    pub(super) runs: u64,
    pub(super) steps: u64,
    pub(super) on_run: &'a mut dyn FnMut(),
}

impl Search<'_> {
    /// Nothing more may be tried.
    pub(super) fn is_spent(&self) -> bool {
        self.budget.steps.is_some_and(|steps| self.steps >= steps)
            || self.budget.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.stop.load(Ordering::Relaxed)
    }

    /// Tries all of `pass`, which is asked anew after each success. Was there any?
    pub(super) fn greedy(&mut self, pass: &dyn Fn(&Best) -> Vec<Proposal>) -> bool {
        let mut proposals = pass(&self.best);
        let (mut at, mut any) = (0, false);
        while at < proposals.len() && !self.is_spent() {
            let end = proposals.len().min(at + self.jobs.max(1));
            let tried = self.attempt_all(&proposals[at..end]);
            match self.first_success(tried) {
                Some((offset, best)) => {
                    (self.best, any) = (best, true);
                    proposals = pass(&self.best);
                    at += offset;
                }
                None => at = end,
            }
        }
        any
    }

    /// Counts what one worker alone would have tried, up to the first success.
    fn first_success(&mut self, tried: Vec<Option<Tried>>) -> Option<(usize, Best)> {
        for (offset, tried) in tried.into_iter().enumerate() {
            if self.is_spent() {
                return None;
            }
            let Some(tried) = tried else { continue };
            self.runs += 1;
            self.steps += tried.steps;
            (self.on_run)();
            if let Some(best) = tried.found {
                return Some((offset, best));
            }
        }
        None
    }

    fn attempt_all(&self, proposals: &[Proposal]) -> Vec<Option<Tried>> {
        let (terms, best) = (&self.terms, &self.best);
        if let [only] = proposals {
            return vec![terms.attempt(best, only)];
        }
        std::thread::scope(|scope| {
            let work = |proposal| scope.spawn(move || terms.attempt(best, proposal));
            let workers: Vec<_> = proposals.iter().map(work).collect();
            workers.into_iter().map(|worker| worker.join().expect("a trial ends")).collect()
        })
    }
}
