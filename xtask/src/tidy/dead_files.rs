//! Every Rust file belongs to a crate: it is a root, or some `mod` names it.

use crate::source::Source;

/// Files that the module above them does not name, with `mod` or in a list of modules.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let alive = |source: &&Source| is_root(&source.path) || parents(&source.path, sources);
    let dead = sources.iter().filter(|source| !alive(source));
    dead.map(|source| format!("{}: the module above does not name it", source.path)).collect()
}

/// Does a file that may declare the module of `path` do so?
fn parents(path: &str, sources: &[Source]) -> bool {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let (folder, name) = match file {
        "mod.rs" => folder.rsplit_once('/').unwrap_or(("", folder)),
        _ => (folder, file.trim_end_matches(".rs")),
    };
    let candidates = ["lib.rs", "main.rs", "mod.rs"].map(|root| format!("{folder}/{root}"));
    let declares = |source: &&Source| {
        let above = source.path == format!("{folder}.rs") || candidates.contains(&source.path);
        above || (is_root(&source.path) && source.path.starts_with(&format!("{folder}/")))
    };
    sources.iter().filter(declares).any(|source| names(source, name))
}

/// Is there a line that is nothing but the module's name, with or without `mod`?
fn names(source: &Source, name: &str) -> bool {
    source.text.lines().any(|line| {
        let line = line.trim().trim_end_matches([',', ';']);
        let line = line.rsplit_once("mod ").map_or(line, |(before, name)| {
            if before.is_empty() || before.starts_with("pub") { name } else { line }
        });
        line == name
    })
}

fn is_root(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    matches!(file, "lib.rs" | "main.rs" | "build.rs")
        || matches!(folder, "tests" | "benches" | "examples" | "bin" | "fuzz_targets")
}
