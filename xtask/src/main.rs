//! House rules of this repository, as a command: `cargo run -p xtask -- tidy`.

mod library;
mod rules;
mod source;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- COMMAND

  tidy     check the house rules: crate arrows, lengths, dead files, banned names,
           rule ids, scenario files and their list, the READMEs' commands
  rules    list the protocol rules without code or without a test
  library  make the list in scenarios/README.md anew";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let root = source::root();
    let complaints = match command.as_str() {
        "tidy" => tidy::run(&root),
        "rules" => rules::report(&root),
        "library" => library::write(&root),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() {
        println!("{command}: fine");
        ExitCode::SUCCESS
    } else {
        eprintln!("{command}: {} complaints", complaints.len());
        ExitCode::FAILURE
    }
}
