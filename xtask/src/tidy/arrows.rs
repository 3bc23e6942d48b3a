//! The table of crates and what each may depend on, against `cargo metadata`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Crate, its own crates, other crates. Development dependencies are free among the test tools.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("eosim-types", &[], &["serde"]),
    ("eosim-actor", &["types"], &[]),
    ("eosim-storage", &["types"], &[]),
    ("eosim-clients", &["types", "actor"], &[]),
    ("eosim-transaction-coordinator", &["types", "actor"], &[]),
    ("eosim-group-coordinator", &["types", "actor"], &[]),
    (
        "eosim-broker",
        &["types", "actor", "storage", "transaction-coordinator", "group-coordinator"],
        &[],
    ),
    ("eosim-sim", &["types", "actor", "broker", "clients"], &["rand", "rand_chacha"]),
    ("eosim-checker", &["types"], &[]),
    ("eosim-scenario", &["types"], &["serde", "serde_json", "serde_path_to_error", "schemars"]),
    (
        "eosim-runner",
        &["types", "actor", "sim", "checker", "scenario"],
        &["serde", "serde_json", "schemars"],
    ),
    ("eosim-report", &["types", "checker"], &["serde", "serde_json"]),
    (
        "eosim-wire",
        &["types", "actor", "sim", "scenario", "runner"],
        &["anyhow", "bytes", "crc32c", "kafka-protocol", "serde_json", "uuid"],
    ),
    (
        "eosim",
        &["types", "runner", "report", "wire"],
        &["clap", "clap_complete", "clap_mangen", "indicatif", "serde", "serde_json", "ctrlc"],
    ),
    ("xtask", &[], &["serde_json"]),
];

const TEST_TOOLS: &[&str] = &["expect-test", "goldenscript", "proptest", "proptest-state-machine"];

/// Dependencies that the table does not allow.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .expect("cargo metadata runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, own, others)) = ARROWS.iter().find(|(known, ..)| *known == name) else {
        return vec![format!("{name}: not in the table of crates (xtask/src/tidy/arrows.rs)")];
    };
    let mut complaints = Vec::new();
    for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
        let to = dependency["name"].as_str().unwrap_or_default();
        let for_tests = dependency["kind"].as_str() == Some("dev");
        let allowed = match to.strip_prefix("eosim-") {
            Some(crate_folder) => for_tests || own.contains(&crate_folder),
            None => others.contains(&to) || (for_tests && is_test_tool(to)),
        };
        if !allowed {
            complaints.push(format!("{name} must not depend on {to}"));
        }
    }
    complaints
}

fn is_test_tool(name: &str) -> bool {
    TEST_TOOLS.contains(&name) || name == "serde_json"
}
