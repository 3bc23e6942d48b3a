//! Manual pages and completions: of the whole and of every verb.

mod support;

use clap::CommandFactory;
use eosim::args::Cli;
use support::Folder;

#[test]
fn every_verb_has_a_manual_page() {
    let folder = Folder::new();
    folder.ends(&["man", "--out", "man1"], 0);
    let pages = folder.list("man1");
    let cli = Cli::command();
    assert!(pages.contains(&"eosim.1".to_string()), "{pages:?}");
    for verb in cli.get_subcommands().map(clap::Command::get_name) {
        let page = format!("eosim-{verb}.1");
        assert!(pages.contains(&page), "no {page} in {pages:?}");
        let text = folder.read(&format!("man1/{page}"));
        assert!(text.contains(".SH SYNOPSIS") && text.contains("Example"), "{page}: {text}");
    }
    let whole = folder.ends(&["man"], 0).out;
    assert_eq!(whole, folder.read("man1/eosim.1"));
}

#[test]
fn pages_of_nothing_and_pages_in_no_folder_are_refused() {
    let folder = Folder::new();
    let error = folder.ends(&["man", "swep"], 2).err;
    assert!(error.contains("did you mean \"sweep\"?"), "{error}");
    folder.write("taken", "");
    let error = folder.ends(&["man", "--out", "taken/man1"], 2).err;
    assert!(error.contains("--out") && error.contains("expected a folder"), "{error}");
}

#[test]
fn every_shell_has_completions_of_every_verb() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.ends(&["completions", shell], 0).out;
        assert!(script.contains("guide") && script.contains("coverage"), "{shell}");
    }
}
