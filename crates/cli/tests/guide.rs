//! Every command of the guide is run, and what a step tells its reader to look for is there.

mod support;

use eosim::guide::STEPS;
use support::{Folder, blocks, missing, words};

/// The exit code that a command is to end with: the number behind `#`, or 0.
fn exit_code(command: &str) -> i32 {
    let number = command.split(" # ").nth(1).map(|code| code.trim().parse());
    number.map_or(0, |code| code.expect("an exit code behind #"))
}

/// What the commands print, one behind the other.
fn run(folder: &Folder, commands: &[&str]) -> String {
    let mut output = String::new();
    for command in commands {
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words.first(), Some(&"eosim"), "{command}");
        let ended = folder.ends(&words[1..], exit_code(command));
        output += &(ended.out + &ended.err);
    }
    output
}

/// Runs the steps from `first` on, up to `last`.
fn steps(first: usize, last: usize) {
    for step in &STEPS[first - 1..last] {
        let folder = Folder::new();
        folder.copy_library("");
        let mut output = String::new();
        for (language, lines) in blocks(step.text) {
            match language {
                "sh" => output = run(&folder, &lines),
                _ => assert_eq!(missing(&output, &lines), None, "{}: {output}", step.name),
            }
        }
    }
}

#[test]
fn steps_about_idempotence_show_what_they_say() {
    steps(1, 4);
}

#[test]
fn steps_about_transactions_show_what_they_say() {
    steps(5, 8);
}

#[test]
fn steps_about_what_can_go_wrong_show_what_they_say() {
    steps(9, 12);
}

#[test]
fn the_terminal_shows_the_documentation() {
    let folder = Folder::new();
    let contents = folder.ends(&["guide"], 0).out;
    assert_eq!(contents.lines().count(), STEPS.len());
    for (number, step) in (1..).zip(STEPS) {
        assert!(contents.contains(step.title()), "{contents}");
        let number: i32 = number;
        assert_eq!(folder.ends(&["guide", &number.to_string()], 0).out, step.text);
        assert_eq!(folder.ends(&["guide", step.name], 0).out, step.text);
    }
    let error = folder.ends(&["guide", "transaction"], 2).err;
    assert!(error.contains("did you mean \"transactions\"?"), "{error}");
}

/// What a step says can be looked up can be.
#[test]
fn the_names_at_the_end_of_each_step_have_pages() {
    let folder = Folder::new();
    folder.copy_library("");
    for step in STEPS {
        let named =
            step.text.split("`eosim explain ").skip(1).filter_map(|rest| rest.split('`').next());
        for name in named.map(|name| name.trim_matches('"')) {
            folder.ends(&["explain", name], 0);
        }
    }
}
