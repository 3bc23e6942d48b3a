//! Sweeps over shares of the seeds become one: their lines are woven into the order in which one
//! sweep would have written them. On the way it shows what is missing, what is there twice, and
//! what contradicts itself.
//!
//! Invariant: a line is written once, and places only go up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use eosim_scenario::InputError;
use serde::Deserialize;

use crate::store::LinesReader;

/// So many gaps are told one by one.
const TOLD: usize = 5;

/// Where a line stands: seed, then scenario.
type Place = (u64, usize);

/// The lines of one sweep.
pub struct Source {
    /// What the sweep is called.
    pub name: String,
    /// Its lines.
    pub lines: LinesReader,
    /// Another source has all of these lines, if both are right: they are compared alone.
    pub is_repeat: bool,
}

/// What the whole should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole<'a> {
    /// The scenarios, in the order of the sweeps.
    pub scenarios: &'a [String],
    /// The first seed.
    pub first_seed: u64,
    /// The seed after the last, if there is an end.
    pub end: Option<u64>,
}

/// What came of the weaving.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Woven {
    /// How many lines there are.
    pub lines: u64,
    /// How many are missing.
    pub missing: u64,
    /// The first of those that are missing, as `seed 7 of mixed` or `seeds 7..12`.
    pub gaps: Vec<String>,
    /// The first line that is there twice, and how many are.
    pub overlap: Option<(Twice, u64)>,
}

/// A seed that two sweeps have run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Twice {
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The sweeps.
    pub sweeps: [String; 2],
    /// The digests of their runs.
    pub digests: [String; 2],
}

/// Why nothing comes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unmerged {
    /// One of the sweeps cannot be read.
    Input(Box<InputError>),
    /// Two runs of one seed differ.
    Conflict(Box<Twice>),
}

impl From<InputError> for Unmerged {
    fn from(error: InputError) -> Self {
        Self::Input(Box::new(error))
    }
}

/// What is read of a line.
#[derive(Deserialize)]
struct Line {
    scenario: String,
    seed: u64,
    digest: String,
}

/// Gives the lines of `sources` to `write`, in order.
///
/// # Errors
/// If one cannot be read, or two runs of one seed differ.
pub fn weave(
    sources: &mut [Source],
    whole: Whole<'_>,
    write: &mut dyn FnMut(&str),
) -> Result<Woven, Unmerged> {
    let mut heads: BinaryHeap<Reverse<(Place, bool, usize)>> = BinaryHeap::new();
    let mut texts = vec![String::new(); sources.len()];
    for at in 0..sources.len() {
        let place = advance(&mut sources[at], whole, None, &mut texts[at])?;
        heads.extend(place.map(|place| Reverse((place, sources[at].is_repeat, at))));
    }
    let mut woven = Woven::default();
    let mut expected = (whole.first_seed, 0);
    let mut last: Option<(Place, usize, String)> = None;
    while let Some(Reverse((place, is_repeat, at))) = heads.pop() {
        match &last {
            Some((before, other, text)) if *before == place => {
                let twice =
                    || twice(whole, place, [(&sources[*other], text), (&sources[at], &texts[at])]);
                if *text != texts[at] {
                    return Err(Unmerged::Conflict(Box::new(twice())));
                }
                if !is_repeat {
                    woven.overlap.get_or_insert_with(|| (twice(), 0)).1 += 1;
                }
            }
            _ => {
                woven.gap(expected, place, whole);
                woven.lines += 1;
                write(&texts[at]);
                expected = after(place, whole);
                last = Some((place, at, texts[at].clone()));
            }
        }
        let next = advance(&mut sources[at], whole, Some(place), &mut texts[at])?;
        heads.extend(next.map(|next| Reverse((next, is_repeat, at))));
    }
    if let Some(end) = whole.end {
        woven.gap(expected, (end, 0), whole);
    }
    Ok(woven)
}

/// The place after `place`.
fn after((seed, scenario): Place, whole: Whole<'_>) -> Place {
    if scenario + 1 < whole.scenarios.len() {
        (seed, scenario + 1)
    } else {
        (seed.saturating_add(1), 0)
    }
}

/// Reads the next line of `source` into `text`, and says where it belongs.
fn advance(
    source: &mut Source,
    whole: Whole<'_>,
    before: Option<Place>,
    text: &mut String,
) -> Result<Option<Place>, InputError> {
    text.clear();
    let Some(line) = source.lines.next_line()? else { return Ok(None) };
    text.push_str(line);
    let lines = &source.lines;
    let wrong = |place: &str, found: String, expected: &str| {
        let place = format!("line {}{place}", lines.number());
        InputError::new(lines.name(), place, found, expected)
    };
    let line: Line = serde_json::from_str(text)
        .map_err(|error| wrong("", error.to_string(), "the line of a seed"))?;
    let scenario = whole.scenarios.iter().position(|name| *name == line.scenario);
    let scenario = scenario.ok_or_else(|| {
        let found = format!("\"{}\"", line.scenario);
        let known = whole.scenarios.iter().map(String::as_str);
        wrong(": scenario", found, "a scenario of the sweep").with_nearest(&line.scenario, known)
    })?;
    let place = (line.seed, scenario);
    if before.is_some_and(|before| before >= place) {
        let found = format!("seed {} of {}", line.seed, line.scenario);
        return Err(wrong("", found, "a line that comes after the one before"));
    }
    Ok(Some(place))
}

fn twice(whole: Whole<'_>, place: Place, both: [(&Source, &String); 2]) -> Twice {
    let digest = |text: &String| {
        let line = serde_json::from_str::<Line>(text);
        line.map_or_else(|_| String::new(), |line| line.digest)
    };
    Twice {
        scenario: whole.scenarios[place.1].clone(),
        seed: place.0,
        sweeps: both.map(|(source, _)| source.name.clone()),
        digests: both.map(|(_, text)| digest(text)),
    }
}

impl Woven {
    /// Notes what is missing from `expected` on and before `place`, if anything is.
    fn gap(&mut self, expected: Place, place: Place, whole: Whole<'_>) {
        if place <= expected {
            return;
        }
        let scenarios = whole.scenarios.len() as u64;
        let rounds = (place.0 - expected.0).saturating_mul(scenarios);
        let missing = rounds.saturating_add(place.1 as u64).saturating_sub(expected.1 as u64);
        self.missing = self.missing.saturating_add(missing);
        if self.gaps.len() < TOLD {
            self.gaps.push(if scenarios > 1 && after(expected, whole) == place {
                format!("seed {} of {}", expected.0, whole.scenarios[expected.1])
            } else if place.0 - expected.0 <= 1 {
                format!("seed {}", expected.0)
            } else {
                format!("seeds {}..{}", expected.0, place.0)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Extent, RunFolder};

    fn line(seed: u64, scenario: &str, digest: &str) -> String {
        format!("{{\"digest\":\"{digest}\",\"scenario\":\"{scenario}\",\"seed\":{seed}}}\n")
    }

    /// Seed, scenario, digest.
    type Row<'a> = (u64, &'a str, &'a str);

    /// Weaves sweeps over a and b, each with whether it is a repeat.
    fn woven(name: &str, sweeps: &[(&[Row<'_>], bool)]) -> (Result<Woven, Unmerged>, String) {
        let path = std::env::temp_dir().join(format!("eosim-{name}-{}", std::process::id()));
        let mut sources = Vec::new();
        for (at, (rows, is_repeat)) in sweeps.iter().enumerate() {
            let folder = RunFolder::at(&path.join(at.to_string())).expect("a temporary folder");
            let mut lines = folder.begin("lines").expect("begins");
            rows.iter().for_each(|(seed, name, digest)| lines.add(&line(*seed, name, digest)));
            let extent: Extent = lines.flush().expect("writes");
            lines.finish().expect("writes");
            let lines = LinesReader::open(&folder.path().join("lines"), extent).expect("opens");
            sources.push(Source { name: at.to_string(), lines, is_repeat: *is_repeat });
        }
        let scenarios = ["b".to_string(), "a".to_string()];
        let whole = Whole { scenarios: &scenarios, first_seed: 0, end: Some(3) };
        let mut text = String::new();
        let woven = weave(&mut sources, whole, &mut |line| text += line);
        std::fs::remove_dir_all(&path).expect("removes");
        (woven, text)
    }

    const ODD: &[Row<'_>] = &[(1, "b", "3"), (1, "a", "4")];
    const EVEN: &[Row<'_>] = &[(0, "b", "1"), (0, "a", "2"), (2, "b", "5"), (2, "a", "6")];

    #[test]
    fn shares_become_the_whole_in_its_order() {
        let (found, text) = woven("shares", &[(ODD, false), (EVEN, false)]);
        let whole: String = [EVEN[0], EVEN[1], ODD[0], ODD[1], EVEN[2], EVEN[3]]
            .iter()
            .map(|(seed, name, digest)| line(*seed, name, digest))
            .collect();
        assert_eq!((found, text), (Ok(Woven { lines: 6, ..Woven::default() }), whole));
    }

    #[test]
    fn gaps_are_named() {
        let (found, _) = woven("gap", &[(EVEN, false)]);
        let found = found.expect("woven");
        assert_eq!((found.missing, found.gaps), (2, vec!["seed 1".to_string()]));
        let (found, _) = woven("tail", &[(&EVEN[..1], false)]);
        let found = found.expect("woven");
        assert_eq!((found.missing, found.gaps), (5, vec!["seeds 0..3".to_string()]));
        let (found, _) = woven("one", &[(&EVEN[..1], false), (ODD, false), (&EVEN[2..], false)]);
        assert_eq!(found.expect("woven").gaps, ["seed 0 of a"]);
    }

    #[test]
    fn repeats_are_compared_and_overlaps_are_told() {
        let (found, text) = woven("repeat", &[(EVEN, false), (&EVEN[..2], true), (ODD, false)]);
        assert_eq!(found.expect("woven").lines, 6);
        assert_eq!(text.lines().count(), 6);
        let (found, _) = woven("overlap", &[(EVEN, false), (&EVEN[2..], false), (ODD, false)]);
        let (twice, count) = found.expect("woven").overlap.expect("an overlap");
        assert_eq!((twice.seed, twice.scenario.as_str(), count), (2, "b", 2));
        for is_repeat in [false, true] {
            let other: &[_] = &[(0, "b", "1"), (0, "a", "7")];
            let (found, _) = woven("conflict", &[(EVEN, false), (other, is_repeat)]);
            let Err(Unmerged::Conflict(twice)) = found else { panic!("{found:?}") };
            assert_eq!((twice.seed, twice.scenario.as_str()), (0, "a"));
            assert_eq!(
                (twice.sweeps, twice.digests),
                (["0", "1"].map(Into::into), ["2", "7"].map(Into::into))
            );
        }
    }
}
