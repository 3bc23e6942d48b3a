//! What decides the lines of a sweep: build, scenarios, switches, seeds. It stands in the manifest,
//! so that a sweep is resumed, and sweeps are merged, only if they belong together.

use std::fmt;
use std::path::Path;

use eosim_runner::recording::MODEL_VERSION;
use eosim_runner::store::MANIFEST;
use eosim_runner::sweep::Sweep;
use eosim_runner::{InputError, RNG_VERSION, json};
use serde_json::{Value, json};

use crate::args::Partition;
use crate::artefacts;

/// What decides the lines of a sweep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Versions of tool, model and random streams.
    build: [String; 3],
    /// Name, file and digest of each scenario.
    pub scenarios: Vec<[String; 3]>,
    /// The switches that are on.
    defects: Vec<String>,
    /// The first seed.
    pub first_seed: u64,
    /// How many seeds of each scenario, if there is an end.
    pub count: Option<u64>,
    /// The share.
    pub partition: Partition,
    /// How often a run is done twice.
    verify_every: u64,
}

/// In what two sweeps differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The place in the manifest.
    pub place: String,
    /// What the first has there.
    pub first: String,
    /// What the second has.
    pub second: String,
    /// They are not of one build.
    pub is_build: bool,
}

/// The names of the build's parts in the manifest.
const BUILD: [&str; 3] = ["tool", "model", "rng"];

impl Settings {
    /// Of a sweep of this build.
    #[must_use]
    pub fn of(sweep: &Sweep<'_>) -> Self {
        let (part, of) = sweep.partition;
        let scenario = |file| {
            let value = artefacts::scenario(file);
            ["name", "file", "digest"].map(|key| text(&value[key]))
        };
        Self {
            build: this_build(),
            scenarios: sweep.scenarios.iter().map(scenario).collect(),
            defects: sweep.defects.iter().map(|defect| defect.name().to_string()).collect(),
            first_seed: sweep.first_seed,
            count: sweep.count,
            partition: Partition { part: part + 1, of },
            verify_every: sweep.verify_every,
        }
    }

    /// What stands in the manifest besides build and scenarios.
    #[must_use]
    pub fn manifest(&self) -> Value {
        json!({
            "seeds": {"first": self.first_seed, "count": self.count},
            "partition": self.partition.to_string(),
            "defects": self.defects,
            "verify_every": self.verify_every,
        })
    }

    /// Those of the sweep in `folder`.
    ///
    /// # Errors
    /// If there is no manifest of a sweep; what is wrong with it, and where.
    pub fn read(folder: &Path) -> Result<Self, InputError> {
        let (name, manifest) = read_manifest(folder)?;
        let wrong = |place: &str, value: &Value| {
            let found = if value.is_null() { "nothing".to_string() } else { value.to_string() };
            InputError::new(&name, place, found, "what the manifest of a sweep says there")
        };
        let number = |place: &str, value: &Value| value.as_u64().ok_or_else(|| wrong(place, value));
        let list = |key: &str| manifest[key].as_array().ok_or_else(|| wrong(key, &manifest[key]));
        let partition = &manifest["partition"];
        let seeds = &manifest["seeds"];
        let count = &seeds["count"];
        let scenario = |value: &Value| ["name", "file", "digest"].map(|key| text(&value[key]));
        let format = number("format", &manifest["format"])?;
        if format != 1 {
            return Err(wrong("format", &manifest["format"]));
        }
        Ok(Self {
            build: BUILD.map(|key| plain(&manifest[key])),
            scenarios: list("scenarios")?.iter().map(scenario).collect(),
            first_seed: number("seeds.first", &seeds["first"])?,
            count: if count.is_null() { None } else { Some(number("seeds.count", count)?) },
            partition: text(partition).parse().map_err(|_| wrong("partition", partition))?,
            defects: list("defects")?.iter().map(text).collect(),
            verify_every: number("verify_every", &manifest["verify_every"])?,
        })
    }

    /// The seed after the last, if there is an end.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.count.map(|count| self.first_seed.saturating_add(count))
    }

    /// How many runs there are in all, if there is an end.
    #[must_use]
    pub fn runs(&self) -> Option<u64> {
        let own =
            |count: u64| count.saturating_sub(self.partition.part - 1).div_ceil(self.partition.of);
        let scenarios = self.scenarios.len() as u64;
        self.count.map(|count| own(count).saturating_mul(scenarios))
    }

    /// Do both have the same share of the same seeds?
    #[must_use]
    pub fn is_same_share(&self, other: &Self) -> bool {
        (self.first_seed, self.partition) == (other.first_seed, other.partition)
    }

    /// The first thing in which `second` differs; seeds and share are looked at if asked for.
    #[must_use]
    pub fn difference(&self, second: &Self, with_seeds: bool) -> Option<Difference> {
        let (own, others) = (self.facts(with_seeds), second.facts(with_seeds));
        let nothing = |facts: &[(String, String)], at: usize| {
            facts
                .get(at)
                .cloned()
                .unwrap_or_else(|| ("scenarios".to_string(), "nothing".to_string()))
        };
        let pairs =
            (0..own.len().max(others.len())).map(|at| (nothing(&own, at), nothing(&others, at)));
        let ((place, first), (_, second)) = pairs.into_iter().find(|(own, other)| own != other)?;
        let is_build = BUILD.contains(&place.as_str());
        Some(Difference { place, first, second, is_build })
    }

    /// Is it of this build? If not, in what not.
    #[must_use]
    pub fn other_build(&self) -> Option<Difference> {
        let here = Self { build: this_build(), ..self.clone() };
        self.difference(&here, false)
    }

    /// Places of the manifest, and what stands there.
    fn facts(&self, with_seeds: bool) -> Vec<(String, String)> {
        let build = BUILD.iter().zip(&self.build).map(|(key, value)| (*key, value.clone()));
        let mut facts: Vec<(&str, String)> = build.collect();
        facts.push(("defects", format!("[{}]", self.defects.join(", "))));
        facts.push(("verify_every", self.verify_every.to_string()));
        if with_seeds {
            let end = self.end().map_or_else(String::new, |end| end.to_string());
            facts.push(("seeds", format!("{}..{end}", self.first_seed)));
            facts.push(("partition", self.partition.to_string()));
        }
        let facts = facts.into_iter().map(|(key, value)| (key.to_string(), value));
        let scenarios = (0..).zip(&self.scenarios).map(|(at, [name, _, digest]): (u64, _)| {
            (format!("scenarios[{at}]"), format!("{name} with digest {digest}"))
        });
        facts.chain(scenarios).collect()
    }
}

/// The manifest in `folder`, and what it is called.
///
/// # Errors
/// If it cannot be read.
pub fn read_manifest(folder: &Path) -> Result<(String, Value), InputError> {
    let path = folder.join(MANIFEST);
    let name = path.display().to_string();
    let expected = "the manifest of a sweep";
    let wrong = |found: String| InputError::new(&name, "", found, expected);
    let text = json::read_text(&path, json::FILE_MAX, expected)?;
    let manifest = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    Ok((name, manifest))
}

fn this_build() -> [String; 3] {
    [env!("CARGO_PKG_VERSION").to_string(), MODEL_VERSION.to_string(), RNG_VERSION.to_string()]
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// A value without the quotation marks of a string.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToString::to_string)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, expected {}", self.place, self.first, self.second)
    }
}
