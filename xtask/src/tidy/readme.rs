//! The READMEs' commands: each names a verb and flags that exist.

use std::fs;
use std::path::Path;
use std::process::Command;

const RUN: &str = "cargo run --release -- ";

/// Files whose commands are to be pasted.
const FILES: [&str; 2] = ["README.md", "scenarios/README.md"];

/// Commands of the READMEs that the binary does not understand.
pub(crate) fn check(root: &Path) -> Vec<String> {
    FILES.iter().flat_map(|file| check_file(root, file)).collect()
}

fn check_file(root: &Path, file: &str) -> Vec<String> {
    let text = fs::read_to_string(root.join(file)).unwrap_or_default();
    let commands: Vec<&str> = commands(&text).collect();
    if commands.is_empty() {
        return vec![format!("{file}: no command in a ```sh block")];
    }
    let wrong = commands.into_iter().filter_map(|command| check_command(root, command));
    wrong.map(|complaint| format!("{file}: {complaint}")).collect()
}

/// The lines of ```sh blocks.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        if line.starts_with("```") {
            inside = line.trim() == "```sh";
            return false;
        }
        inside && !line.trim().is_empty() && !line.starts_with('#')
    })
}

/// Asks the binary for the help of the command's verb and looks for each of its flags there.
fn check_command(root: &Path, command: &str) -> Option<String> {
    let command = command.split('#').next().unwrap_or_default().trim();
    let arguments = command.strip_prefix(RUN).or_else(|| command.strip_prefix("eosim "))?;
    let verb = arguments.split_whitespace().next().unwrap_or_default();
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--", verb, "--help"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        return Some(format!("`{command}`: no verb {verb}"));
    }
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let flags = arguments.split_whitespace().filter(|word| word.starts_with("--"));
    let unknown = flags.map(|flag| flag.split('=').next().unwrap_or(flag));
    let unknown: Vec<&str> = unknown.filter(|flag| !help.contains(flag)).collect();
    (!unknown.is_empty()).then(|| format!("`{command}`: no flag {unknown:?}"))
}
