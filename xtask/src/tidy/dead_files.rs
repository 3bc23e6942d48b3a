//! Every Rust file belongs to a crate: it is a root, or some `mod` names it.

use std::collections::BTreeSet;

use crate::source::Source;

/// Files that no `mod` names.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let named: BTreeSet<String> = sources.iter().flat_map(modules).collect();
    let dead = |source: &&Source| !is_root(&source.path) && !named.contains(&source.path);
    sources.iter().filter(dead).map(|s| format!("{}: no `mod` names it", s.path)).collect()
}

fn is_root(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    matches!(file, "lib.rs" | "main.rs" | "build.rs")
        || matches!(folder, "tests" | "benches" | "examples" | "bin" | "fuzz_targets")
}

/// Paths of the modules that `source` declares.
fn modules(source: &Source) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.trim_end_matches(".rs");
    let own = if is_root(&source.path) || stem == "mod" {
        folder.to_string()
    } else {
        format!("{folder}/{stem}")
    };
    let declared = source.text.lines().filter_map(|line| {
        let line = line.trim();
        let name = line.strip_suffix(';')?.rsplit_once("mod ")?;
        (name.0.is_empty() || name.0.starts_with("pub")).then_some(name.1)
    });
    declared.flat_map(|m| [format!("{own}/{m}.rs"), format!("{own}/{m}/mod.rs")]).collect()
}
