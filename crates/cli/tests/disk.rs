//! Disks that are full, folders that vanish, clocks that are set back: what went wrong is named, nothing
//! is half written, and the sweep goes on once there is room.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use support::{Folder, library};

/// What is swept: some seeds fail, so that much is kept.
fn sweep(out: &str) -> Vec<String> {
    let words = ["sweep", "--defect", "leader.index.drop_abort_entry", "--count", "12"];
    let rest = ["--jobs", "1", "--progress", "none", "--checkpoint-interval", "10ms", "--resume"];
    let all = [&words[..], &rest, &["--out", out]].concat();
    all.into_iter().map(String::from).chain([library("idempotence/lost-responses.json")]).collect()
}

fn ends(folder: &Folder, out: &str, code: i32) -> support::Ended {
    let words = sweep(out);
    folder.ends(&words.iter().map(String::as_str).collect::<Vec<_>>(), code)
}

/// The same where no file may have more than `kib` KiB, which is what a full disk is like: the end of a
/// file cannot be written.
fn full(folder: &Folder, out: &str, kib: u32) -> Output {
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_eosim")]).args(sweep(out));
    command.current_dir(folder.path()).stdin(Stdio::null()).output().expect("bash runs")
}

/// The only run in the store `out`.
fn only(folder: &Folder, out: &str) -> PathBuf {
    let names = folder.list(out).into_iter().filter(|name| name != "latest");
    let mut runs = names.map(|name| folder.path().join(out).join(name));
    let run = runs.find(|run| run.join("manifest.json").is_file()).expect("a run");
    assert_eq!(runs.find(|run| run.join("manifest.json").is_file()), None);
    run
}

/// Every file below `root` that has its name, by its path there; what tells how far it is, aside.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(next) = open.pop() {
        for path in fs::read_dir(next).expect("reads").flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(root).expect("below").to_path_buf();
            let is_part = path.extension().is_some_and(|end| end == "part");
            let is_own = ["manifest.json", "progress.json", ".running"]
                .iter()
                .any(|own| name.ends_with(own));
            if path.is_dir() {
                open.push(path);
            } else if !is_part && !is_own {
                found.push((name, fs::read(path).expect("reads")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_full_disk_is_named_and_the_sweep_goes_on_once_there_is_room() {
    let folder = Folder::new();
    ends(&folder, "whole", 10);
    let whole = files(&only(&folder, "whole"));
    let mut refused = 0;
    for kib in [0, 8, 40, 1_000] {
        let out = format!("full-{kib}");
        let ended = full(&folder, &out, kib);
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        if ended.status.code() != Some(10) {
            refused += 1;
            assert!(matches!(ended.status.code(), Some(1 | 2)), "{kib}: {ended:?}");
            assert!(said.contains(&out) && said.contains("File too large"), "{kib}: {said}");
            assert_eq!(said.lines().count(), 1, "{kib}: {said}");
        }
        if kib > 0 {
            for file in files(&only(&folder, &out)) {
                assert!(whole.contains(&file), "{kib}: {} is not whole", file.0.display());
            }
        }
        ends(&folder, &out, 10);
        assert_eq!(files(&only(&folder, &out)), whole, "{kib}");
    }
    assert!(refused > 2, "only {refused} were refused");
}

#[test]
fn a_folder_that_vanishes_is_named() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let words = ["sweep", &lost, "--count", "1000000", "--progress", "none", "--out", "gone"];
    let mut command = folder.command(&[&words[..], &["--checkpoint-interval", "10ms"]].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
    let begun = || {
        folder
            .list("gone")
            .iter()
            .any(|name| folder.path().join("gone").join(name).join("progress.json").exists())
    };
    while !begun() {
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::rename(folder.path().join("gone"), folder.path().join("elsewhere")).expect("moves");
    let ended = child.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("gone/") && said.contains("the folder is gone"), "{said}");
    assert!(!folder.path().join("gone").exists(), "nothing is made anew");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    ends(&folder, "runs", 10);
    let run = only(&folder, "runs");
    let set = |mode: &str| {
        let status =
            Command::new("chmod").args(["-R", mode]).arg(folder.path().join("runs")).status();
        assert!(status.expect("runs").success());
    };
    set("a-w");
    // Who may write everywhere cannot be refused.
    let is_refused = fs::write(run.join("probe"), "").is_err();
    if is_refused {
        let refused = folder.ends(&["sweep", "--resume=runs/latest"], 1);
        assert!(
            refused.err.contains("runs/") && refused.err.contains("Permission denied"),
            "{}",
            refused.err
        );
    }
    set("u+w");
}

#[test]
fn a_clock_that_is_set_back_hides_nothing() {
    let folder = Folder::new();
    ends(&folder, "sim-runs", 10);
    let run = only(&folder, "sim-runs");
    let name = run.file_name().expect("a name").to_string_lossy().into_owned();
    let later = format!("2099{}", &name[4..]);
    fs::rename(&run, run.with_file_name(&later)).expect("moves");
    // The same sweep is found, though it seems to begin in the future.
    let told = ends(&folder, "sim-runs", 10);
    assert!(
        told.err.contains(&format!("has come to its end already: sim-runs/{later}")),
        "{}",
        told.err
    );
    let example = library("examples/example-2-window-of-five.json");
    folder.ends(&["sweep", &example, "--count", "2"], 0);
    // What was made last is the latest, whatever the names say.
    let told = folder.ends(&["sweep", "--resume=latest", "--progress", "none"], 0);
    assert!(
        told.err.contains("goes on after 2 seeds") && !told.err.contains("2099"),
        "{}",
        told.err
    );
    assert!(folder.ends(&["report", "latest"], 0).out.contains("example-2-window-of-five"));
    folder.ends(&["store", "prune", "--age-max", "1d"], 0);
    assert_eq!(folder.list("sim-runs").len(), 3);
}
