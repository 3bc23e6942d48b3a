//! The one port for chance: loss, delay, the instant of a crash, tie-breaks, jitter, workload.
//!
//! 0 is always the quiet choice, so that zeroing a list of choices simplifies a run.

use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use eosim_types::ActorId;

/// Which stream of random words a site draws from; one per purpose and entity, so that adding a
/// site does not shift the draws of another purpose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stream {
    /// Latencies.
    Network,
    /// Whether, when and whom a fault hits.
    Fault,
    /// What applications do.
    Workload,
    /// What an actor decides by itself (jitter, tie-breaks).
    Actor,
    /// What the scenario leaves to the seed.
    Plan,
}

/// A place in the code where something is left to chance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    /// Its name, unique, such as `network.latency`.
    pub name: &'static str,
    /// The stream that it draws from.
    pub stream: Stream,
}

impl Site {
    /// The site called `name`.
    #[must_use]
    pub const fn new(name: &'static str, stream: Stream) -> Self {
        Self { name, stream }
    }
}

/// A source of choices.
pub trait Choices {
    /// One of 0 … `n` − 1 for `entity` at `site`. `n` is at least 2.
    fn choose(&mut self, site: Site, entity: ActorId, n: u32) -> u32;
}

/// Always the quiet choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Quiet;

impl Choices for Quiet {
    fn choose(&mut self, _: Site, _: ActorId, _: u32) -> u32 {
        0
    }
}

/// A script of picks per site, for tests: the picks of a site in their order, then the quiet
/// choice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scripted {
    picks: Vec<(&'static str, VecDeque<u32>)>,
}

impl Scripted {
    /// Adds picks for the site called `name`.
    #[must_use]
    pub fn with(mut self, name: &'static str, picks: &[u32]) -> Self {
        self.picks.push((name, picks.iter().copied().collect()));
        self
    }
}

impl Choices for Scripted {
    fn choose(&mut self, site: Site, _: ActorId, n: u32) -> u32 {
        let script = self.picks.iter_mut().find(|(name, _)| *name == site.name);
        let pick = script.and_then(|(_, picks)| picks.pop_front()).unwrap_or(0);
        assert!(pick < n, "script of {}: {pick} is not below {n}", site.name);
        pick
    }
}

/// One choice that was made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Picked<S> {
    /// The site's name.
    pub site: S,
    /// For whom.
    pub entity: ActorId,
    /// Out of how many.
    pub n: u32,
    /// What was picked.
    pub picked: u32,
}

impl Picked<&'static str> {
    /// The same, to be kept longer than the program.
    #[must_use]
    pub fn owned(&self) -> Picked<String> {
        let Self { site, entity, n, picked } = *self;
        Picked { site: site.to_string(), entity, n, picked }
    }
}

/// Passes choices through and keeps a list of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorder<C> {
    inner: C,
    list: Vec<Picked<&'static str>>,
}

impl<C> Recorder<C> {
    /// Records what `inner` picks.
    pub const fn new(inner: C) -> Self {
        Self { inner, list: Vec::new() }
    }

    /// The choices made so far.
    #[must_use]
    pub fn list(&self) -> &[Picked<&'static str>] {
        &self.list
    }

    /// The source that is recorded.
    pub fn inner(&self) -> &C {
        &self.inner
    }

    /// The same, to be changed.
    pub fn inner_mut(&mut self) -> &mut C {
        &mut self.inner
    }
}

impl<C: Choices> Choices for Recorder<C> {
    fn choose(&mut self, site: Site, entity: ActorId, n: u32) -> u32 {
        let picked = self.inner.choose(site, entity, n);
        self.list.push(Picked { site: site.name, entity, n, picked });
        picked
    }
}

/// Where a run left its recording.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReplayError {
    /// Index of the choice in the list.
    pub at: usize,
    /// What the recording holds there: site, entity, number of options.
    pub recorded: Option<(alloc::string::String, ActorId, u32)>,
    /// What the run asked for.
    pub asked: (&'static str, ActorId, u32),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (site, entity, n) = &self.asked;
        write!(f, "choice {}: the run asks {site} of actor {entity} among {n}, ", self.at)?;
        match &self.recorded {
            Some((site, entity, n)) => {
                write!(f, "the recording has {site} of actor {entity} among {n}")
            }
            None => f.write_str("the recording has ended"),
        }
    }
}

/// Follows a recorded list; after the first difference, which it keeps, only quiet choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded<S> {
    list: Vec<Picked<S>>,
    next: usize,
    left: Option<ReplayError>,
}

impl<S: AsRef<str>> Recorded<S> {
    /// Follows `list`.
    #[must_use]
    pub const fn new(list: Vec<Picked<S>>) -> Self {
        Self { list, next: 0, left: None }
    }

    /// Where the run left the recording, if it did.
    #[must_use]
    pub const fn left(&self) -> Option<&ReplayError> {
        self.left.as_ref()
    }

    /// How many choices of the list were not asked for.
    #[must_use]
    pub fn unused(&self) -> usize {
        self.list.len() - self.next
    }
}

impl<S: AsRef<str>> Choices for Recorded<S> {
    fn choose(&mut self, site: Site, entity: ActorId, n: u32) -> u32 {
        if self.left.is_some() {
            return 0;
        }
        let at = self.next;
        let recorded = self.list.get(at);
        if let Some(r) = recorded
            && r.site.as_ref() == site.name
            && r.entity == entity
            && r.n == n
            && r.picked < n
        {
            self.next += 1;
            return r.picked;
        }
        let recorded = recorded.map(|r| (r.site.as_ref().into(), r.entity, r.n));
        self.left = Some(ReplayError { at, recorded, asked: (site.name, entity, n) });
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const LATENCY: Site = Site::new("network.latency", Stream::Network);
    const LOSS: Site = Site::new("fault.loss", Stream::Fault);
    const A: ActorId = ActorId(3);

    #[test]
    fn a_recording_is_followed_until_the_first_difference() {
        let mut recorder = Recorder::new(Scripted::default().with("network.latency", &[4, 2]));
        assert_eq!(recorder.choose(LATENCY, A, 9), 4);
        assert_eq!(recorder.choose(LATENCY, A, 9), 2);
        let mut replay = Recorded::new(recorder.list().to_vec());
        assert_eq!(replay.choose(LATENCY, A, 9), 4);
        assert_eq!(replay.choose(LOSS, A, 2), 0);
        assert_eq!(
            replay.left().expect("left the recording").to_string(),
            "choice 1: the run asks fault.loss of actor 3 among 2, \
             the recording has network.latency of actor 3 among 9"
        );
        assert_eq!((replay.choose(LATENCY, A, 9), replay.unused()), (0, 1));
    }

    #[test]
    fn a_run_longer_than_its_recording_leaves_it() {
        let mut replay = Recorded::<&str>::new(Vec::new());
        assert_eq!(replay.choose(LOSS, A, 2), 0);
        assert!(replay.left().is_some_and(|left| left.recorded.is_none()));
    }
}
