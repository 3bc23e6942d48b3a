//! What comes from others: under which licence, from where, and how often. Known vulnerabilities are not
//! looked for here; `cargo deny check` does that, by `deny.toml`, which says the same of the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that go together with that of this repository.
const LICENCES: &[&str] = &["Apache-2.0", "MIT", "Unicode-3.0", "Zlib", "BSD-2-Clause"];

/// Crates of which two versions are part of the build, and why.
const TWICE: &[(&str, &str)] =
    &[("syn", "macros that derive are not of one mind; none of it is in the binary")];

/// What is wrong with the crates that others have made.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(root)
        .output()
        .expect("cargo metadata runs");
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(metadata) => of(&metadata),
        Err(_) => vec![String::from_utf8_lossy(&output.stderr).trim().to_string()],
    }
}

fn of(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut complaints: Vec<String> = packages.iter().filter_map(package).collect();
    complaints.extend(twice(packages, &built(metadata)));
    complaints
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn package(package: &Value) -> Option<String> {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let (licence, source) = (text(package, "license"), text(package, "source"));
    if !is_free(licence) {
        return Some(format!(
            "{name} {version}: the licence \"{licence}\" (xtask/src/tidy/supply.rs)"
        ));
    }
    let is_known = source.is_empty() || source.ends_with("/crates.io-index");
    (!is_known).then(|| format!("{name} {version}: comes from {source}"))
}

/// May it be used under licences that are known?
fn is_free(licence: &str) -> bool {
    let all = licence.replace('/', " OR ");
    all.split(" AND ").all(|part| {
        let mut choices = part.trim_matches(['(', ')', ' ']).split(" OR ");
        choices.any(|choice| LICENCES.contains(&choice.trim()))
    })
}

/// The ids of everything that the binary is built of, tests aside.
fn built(metadata: &Value) -> BTreeSet<&str> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let nodes: BTreeMap<&str, &Value> = nodes.map(|node| (text(node, "id"), node)).collect();
    let is_binary = |id: &&str| id.contains("/cli#");
    let mut open: Vec<&str> = nodes.keys().copied().filter(is_binary).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        let Some(node) = nodes.get(id).filter(|_| found.insert(id)) else { continue };
        for dependency in node["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            if kinds.into_iter().any(|kind| text(kind, "kind") != "dev") {
                open.push(text(dependency, "pkg"));
            }
        }
    }
    found
}

fn twice(packages: &[Value], built: &BTreeSet<&str>) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages.iter().filter(|package| built.contains(text(package, "id"))) {
        versions.entry(text(package, "name")).or_default().push(text(package, "version"));
    }
    let is_odd = |(name, versions): &(&str, Vec<&str>)| {
        versions.len() > 1 && !TWICE.iter().any(|(known, _)| known == name)
    };
    let odd = versions.into_iter().filter(is_odd);
    odd.map(|(name, versions)| format!("{name} is there as {}", versions.join(" and "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_licences_must_be_known() {
        for licence in ["MIT", "MIT/Apache-2.0", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
            assert!(is_free(licence), "{licence}");
        }
        for licence in ["", "GPL-3.0", "MIT AND GPL-3.0", "LGPL-2.1-or-later"] {
            assert!(!is_free(licence), "{licence}");
        }
    }

    #[test]
    fn the_crates_of_this_repository_are_looked_at() {
        let dependency =
            |id: &str, kind: Value| serde_json::json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let package = |id: &str, version: &str, licence: &str, source: &str| serde_json::json!({"id": id, "name": "a", "version": version, "license": licence, "source": source});
        let metadata = serde_json::json!({
            "packages": [
                package("1", "1.0", "MIT", "x/crates.io-index"),
                package("2", "2.0", "MIT", "git+x"),
                package("3", "3.0", "GPL-3.0", "x/crates.io-index"),
            ],
            "resolve": {"nodes": [
                {"id": "x/cli#eosim", "deps": [dependency("1", Value::Null), dependency("2", "build".into())]},
                {"id": "1", "deps": [dependency("3", "dev".into())]},
                {"id": "2", "deps": []},
            ]},
        });
        assert_eq!(
            of(&metadata),
            [
                "a 2.0: comes from git+x",
                "a 3.0: the licence \"GPL-3.0\" (xtask/src/tidy/supply.rs)",
                "a is there as 1.0 and 2.0",
            ]
        );
    }
}
