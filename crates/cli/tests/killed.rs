//! A sweep that is killed at two hundred instants, wherever they strike, and resumed: nothing that has
//! its name is half written, and in the end everything is as if nothing had happened, byte for byte.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{Folder, library};

/// So many sweeps are killed, each so often before it may come to its end.
const SWEEPS: usize = 8;
const KILLS: u64 = 25;

/// What is swept: some seeds fail, so that kills strike while failures are kept, too.
fn sweep(out: &str) -> Vec<String> {
    let words = ["sweep", "--defect", "leader.index.drop_abort_entry", "--count", "24"];
    let rest = ["--jobs", "1", "--progress", "none", "--checkpoint-interval", "10ms", "--resume"];
    let all = [&words[..], &rest, &["--out", out]].concat();
    let all = all.into_iter().map(String::from);
    all.chain([library("idempotence/lost-responses.json")]).collect()
}

/// How long the `nth` life of a sweep lasts, milliseconds.
fn life(sweep: usize, nth: u64) -> u64 {
    let mixed = (nth * 7919 + sweep as u64 * 104_729 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // Most are short; some see more of what comes late.
    (mixed >> 32) % if nth.is_multiple_of(5) { 450 } else { 110 }
}

/// Runs it, and kills it after `millis`; has it come to its end before?
fn killed_after(folder: &Folder, out: &str, millis: u64) -> bool {
    let words = sweep(out);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = folder.command(&words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    std::thread::sleep(Duration::from_millis(millis));
    let _is_over = child.kill();
    child.wait().expect("ends").code().is_some()
}

/// Every file below `root`, by its path there.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.into_iter().map(|path| path.strip_prefix(root).expect("below").to_path_buf()).collect()
}

/// The folder of the only run in the store `out`, once it has begun: others were killed before they had
/// said what they are.
fn only(folder: &Folder, out: &str) -> Option<PathBuf> {
    let names = folder.list(out);
    let runs = names.iter().filter(|name| *name != "latest");
    let runs = runs.map(|name| folder.path().join(out).join(name));
    let mut runs = runs.filter(|run| run.join("manifest.json").is_file());
    let run = runs.next();
    assert_eq!(runs.next(), None, "a sweep was begun anew: {names:?}");
    run
}

/// What has its name is whole: it is what the undisturbed sweep has written, or can be read.
fn assert_whole(run: &Path, undisturbed: &Path) {
    for file in files(run) {
        let name = file.to_string_lossy();
        if name.ends_with(".part") || name.starts_with('.') {
            continue;
        }
        let text = fs::read_to_string(run.join(&file)).expect("reads");
        if name == "manifest.json" || name == "progress.json" {
            let value = serde_json::from_str::<serde_json::Value>(&text);
            assert!(value.is_ok_and(|value| value["format"] == 1), "{name}: {text}");
        } else {
            let whole = fs::read_to_string(undisturbed.join(&file)).expect(&name);
            assert!(text == whole, "{name} is not whole");
        }
    }
}

/// What a killed sweep has is the beginning of the undisturbed one, for `merge`, too.
fn assert_begins(folder: &Folder, run: &Path, undisturbed: &Path) {
    if !run.join("progress.json").exists() {
        return;
    }
    let out = format!("merged-{}", run.file_name().expect("a name").to_string_lossy());
    let _none_yet = fs::remove_dir_all(folder.path().join(&out));
    let code = folder.eosim(&["merge", &run.display().to_string(), "-o", &out]).code;
    assert!([Some(10), Some(12)].contains(&code), "{code:?}");
    let lines = folder.read(&format!("{out}/summary.jsonl"));
    let whole = fs::read_to_string(undisturbed.join("summary.jsonl")).expect("reads");
    assert!(whole.starts_with(&lines), "{lines}");
}

#[test]
fn a_sweep_killed_at_two_hundred_instants_ends_as_if_nothing_had_happened() {
    let folder = Folder::new();
    let ends = |out: &str| {
        let words = sweep(out);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        folder.ends(&words, 10).out
    };
    ends("whole");
    let whole = only(&folder, "whole").expect("a run");
    let (next, kills) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let killed = |number: usize| {
        let out = format!("killed-{number}");
        for nth in 0..KILLS {
            let is_over = killed_after(&folder, &out, life(number, nth));
            kills.fetch_add(usize::from(!is_over), Ordering::Relaxed);
            let Some(run) = only(&folder, &out) else { continue };
            assert_whole(&run, &whole);
            if nth % 8 == 0 {
                assert_begins(&folder, &run, &whole);
            }
        }
        ends(&out);
        let run = only(&folder, &out).expect("a run");
        assert_whole(&run, &whole);
        let names = |root: &Path| {
            let mut names = files(root);
            names.sort();
            names
        };
        assert_eq!(names(&run), names(&whole));
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= SWEEPS {
                        break;
                    }
                    killed(number);
                }
            });
        }
    });
    // A sweep that is at its end before it is killed is told again, and that may be quick.
    let kills = kills.into_inner();
    assert!(kills * 2 > SWEEPS * usize::try_from(KILLS).expect("few"), "{kills} kills alone");
}
