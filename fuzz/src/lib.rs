//! What both targets do: the inputs of `crates/cli/tests/malformed.rs`, as a fuzzer finds them.
#![forbid(unsafe_code)]

#[path = "../../crates/cli/tests/spoiled/mod.rs"]
mod spoiled;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Parser;
use eosim::args::Cli;
use spoiled::{Good, KINDS};

/// Spoils a good input as `data` says, and uses it.
pub fn spoil(data: &[u8]) {
    let Some((kind, tape)) = data.split_first() else { return };
    let numbers: Vec<u64> = tape
        .chunks(4)
        .map(|chunk| chunk.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        .collect();
    good().spoil(KINDS[usize::from(*kind) % KINDS.len()], &numbers);
}

/// Uses `data` behind its first byte, which says what it is taken for.
pub fn take(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    good().take(KINDS[usize::from(*kind) % KINDS.len()], bytes);
}

/// Good inputs, in a temporary store of two sweeps that are shares of one.
fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let scenario = root.join("scenarios/examples/example-2-window-of-five.json");
        let folder = std::env::temp_dir().join(format!("eosim-fuzz-{}", std::process::id()));
        let made = |verb: &[&str], out: &str| -> PathBuf {
            let (scenario, out) = (scenario.display().to_string(), folder.join(out));
            let place = out.display().to_string();
            let words = [&["eosim"], verb, &[&scenario, "--out", &place, "--format", "json"]].concat();
            eosim::commands::run(&Cli::parse_from(words)).expect("a good run");
            fs::canonicalize(out.join("latest")).expect("a kept run")
        };
        let sweep = |share: &str, out: &str| {
            made(&["sweep", "--count", "6", "--partition", share, "--progress", "none"], out)
        };
        let run = folder.join("store/20260101T000000Z-run-000001");
        fs::create_dir_all(folder.join("store")).expect("a folder");
        fs::rename(sweep("1/2", "a"), &run).expect("moves");
        fs::rename(sweep("2/2", "b"), folder.join("store/other")).expect("moves");
        let single = made(&["run"], "c");
        for name in ["choices.json", "history.jsonl"] {
            fs::copy(single.join(name), run.join(name)).expect("copies");
        }
        let case = root.join("crates/runner/tests/conformance");
        let text = |path: &Path| fs::read_to_string(path).expect("reads");
        let case = text(&first_json(&case).expect("a case"));
        Good::new(&run, &[text(&scenario)], &[case])
    })
}

/// The first recorded case in the folder or below it.
fn first_json(folder: &Path) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.into_iter().find_map(|path| match path.is_dir() {
        true => first_json(&path),
        false => path.extension().is_some_and(|end| end == "json").then_some(path),
    })
}
