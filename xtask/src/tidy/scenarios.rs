//! Every scenario file parses.

use std::path::Path;
use std::process::Command;

/// What `eosim list scenarios` says of the library, if it refuses a file.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--", "list", "scenarios"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    if output.status.success() {
        return Vec::new();
    }
    vec![format!("eosim list scenarios: {}", String::from_utf8_lossy(&output.stderr).trim())]
}
