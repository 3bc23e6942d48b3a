//! `choices.json`: the head with versions and plan, then the choices as rows of numbers.

use std::path::Path;

use eosim_actor::Picked;
use eosim_scenario::{InputError, ScenarioFile, json};
use eosim_types::{ActorId, Defect, DefectSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Recording;

/// The version of the file's form.
pub const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    tool: String,
    model: u32,
    rng: u32,
    scenario: String,
    seed: u64,
    defects: Vec<String>,
    steps: u64,
    digest: String,
    verdict: String,
    plan: Value,
    /// The names of the sites, in the order of their first use.
    sites: Vec<String>,
    /// Each choice as site, entity, number of options, option picked.
    choices: Vec<(u32, u16, u32, u32)>,
}

impl Recording {
    /// The file's text.
    ///
    /// # Panics
    /// Never: every key is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut sites: Vec<String> = Vec::new();
        let mut choices = Vec::with_capacity(self.choices.len());
        for choice in &self.choices {
            let known = sites.iter().position(|site| *site == choice.site);
            let site = known.unwrap_or_else(|| {
                sites.push(choice.site.clone());
                sites.len() - 1
            });
            let site = u32::try_from(site).expect("few sites");
            choices.push((site, choice.entity.0, choice.n, choice.picked));
        }
        let file = File {
            format: FORMAT,
            tool: env!("CARGO_PKG_VERSION").to_string(),
            model: self.model,
            rng: self.rng,
            scenario: self.plan.name.clone(),
            seed: self.seed,
            defects: self.defects.iter().map(|defect| defect.name().to_string()).collect(),
            steps: self.steps,
            digest: format!("{:016x}", self.digest),
            verdict: self.verdict.clone(),
            plan: serde_json::to_value(&self.plan).expect("a plan is plain JSON"),
            sites,
            choices,
        };
        serde_json::to_string(&file).expect("a recording is plain JSON") + "\n"
    }
}

/// Reads a recording.
///
/// # Errors
/// If the file cannot be read or is no recording; what is wrong, and where.
pub fn read(path: &Path, invariants: &[&str]) -> Result<Recording, InputError> {
    let name = path.display().to_string();
    let error = |place: &str, found: String, expected: &str| {
        InputError::new(name.clone(), place, found, expected)
    };
    let text = json::read_text(path, json::FILE_MAX, "a readable choices.json")?;
    let file: File = serde_json::from_str(&text)
        .map_err(|e| error("", e.to_string(), "the choices of a run (format 1)"))?;
    if file.format != FORMAT {
        return Err(error("format", file.format.to_string(), "1"));
    }
    let digest = u64::from_str_radix(&file.digest, 16)
        .map_err(|_| error("digest", file.digest.clone(), "16 hexadecimal digits"))?;
    let defects = file.defects.iter().try_fold(DefectSet::NONE, |set, defect| {
        let known = Defect::from_name(defect).map(|known| set.with(known));
        known.ok_or_else(|| {
            let all = Defect::ALL.iter().map(|defect| defect.name());
            error("defects", format!("\"{defect}\""), "a defect").with_nearest(defect, all)
        })
    })?;
    let plan = ScenarioFile::parse(&name, &file.plan.to_string(), &[], invariants)?;
    if !plan.is_fixed() {
        return Err(error("plan", "what a seed draws".to_string(), "values, as a run has them"));
    }
    let plan = plan.head().clone();
    if file.scenario != plan.name {
        let expected = format!("\"{}\", as the plan is called", plan.name);
        return Err(error("scenario", format!("\"{}\"", file.scenario), &expected));
    }
    let choices = file.choices.iter().map(|&(site, entity, n, picked)| {
        let named = usize::try_from(site).ok().and_then(|site| file.sites.get(site));
        let site = named.ok_or_else(|| error("choices", format!("site {site}"), "a known site"))?;
        Ok(Picked { site: site.clone(), entity: ActorId(entity), n, picked })
    });
    Ok(Recording {
        model: file.model,
        rng: file.rng,
        seed: file.seed,
        defects,
        plan,
        choices: choices.collect::<Result<_, InputError>>()?,
        steps: file.steps,
        digest,
        verdict: file.verdict,
    })
}
