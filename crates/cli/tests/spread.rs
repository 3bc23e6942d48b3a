//! Sweeps larger than one process: killed and resumed, spread and merged, they find what one sweep
//! finds, byte for byte.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{Folder, library};

/// Breaks promises now and then.
const DEFECT: &str = "leader.index.drop_abort_entry";

/// What is swept: two scenarios, seeds that do not begin with 0.
fn sweep(out: &str, more: &[&str]) -> Vec<String> {
    let scenarios = ["idempotence/lost-responses.json", "fencing/zombie-fencing.json"];
    let mut words = vec!["sweep".to_string()];
    words.extend(scenarios.map(library));
    let rest = ["--defect", DEFECT, "--seeds", "5..47", "--progress", "none", "--out", out];
    words.extend(rest.iter().chain(more).map(ToString::to_string));
    words
}

fn run(folder: &Folder, words: &[String], code: i32) -> support::Ended {
    folder.ends(&words.iter().map(String::as_str).collect::<Vec<_>>(), code)
}

/// Everything below `name` but the manifest, as (path, text).
fn files(folder: &Folder, name: &str) -> Vec<(PathBuf, String)> {
    let root = fs::canonicalize(folder.path().join(name)).expect("a folder");
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("reads") {
            let path = entry.expect("reads").path();
            if path.is_dir() {
                open.push(path);
            } else if !path.ends_with("manifest.json") && !path.ends_with("progress.json") {
                let name = path.strip_prefix(&root).expect("below").to_path_buf();
                found.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

fn assert_same(folder: &Folder, one: &str, other: &str) {
    let (one, mut other) = (files(folder, one), files(folder, other));
    // A share may have explained a failure that is not the first of its kind in the whole.
    other.retain(|(name, _)| {
        !name.ends_with("explain.md") || one.iter().any(|(known, _)| known == name)
    });
    let names = |files: &[(PathBuf, String)]| -> Vec<PathBuf> {
        files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&one), names(&other));
    for ((name, text), (_, other)) in one.iter().zip(&other) {
        assert!(text == other, "{} differs", name.display());
    }
}

/// Recipes are files that shells and schedulers read: at least the shell must be able to.
#[test]
fn recipes_are_good_scripts() {
    let folder = Folder::new();
    let print = |kind: &str| {
        let words = ["recipe", kind, "--partitions", "3", "--image", "a/b:1", "--", "a b.json"];
        let text = folder.ends(&[&words[..], &["--count", "7"]].concat(), 0).out;
        for left in ["@SHARES", "@SWEEP", "@QUOTED", "@IMAGE", "@LIST", "@RETRIES"] {
            assert!(!text.contains(left), "{text}");
        }
        assert!(text.contains("merge ") && text.contains(" report "), "{text}");
        folder.write(kind, &text);
        text
    };
    let kinds = ["slurm", "parallel", "kubernetes", "github", "gitlab"];
    let [slurm, _, kubernetes, github, gitlab] = kinds.map(print);
    for script in ["slurm", "parallel"] {
        let bash = Command::new("bash").args(["-n", script]).current_dir(folder.path()).status();
        assert!(bash.is_ok_and(|status| status.success()), "{script}");
    }
    assert!(
        slurm.contains("--array=1-3 ") && slurm.contains("sweep 'a b.json' --count 7"),
        "{slurm}"
    );
    assert!(kubernetes.contains("completions: 3\n") && kubernetes.contains("image: \"a/b:1\""));
    assert!(github.contains("share: [1, 2, 3]\n") && github.contains("\"$SHARE/3\""), "{github}");
    assert!(gitlab.contains("parallel: 3\n") && gitlab.contains("junit: junit.xml"), "{gitlab}");
    for (at, script) in shells(&github).chain(shells(&gitlab)).enumerate() {
        folder.write("part", &script);
        let bash = Command::new("bash").args(["-n", "part"]).current_dir(folder.path()).status();
        assert!(bash.is_ok_and(|status| status.success()), "{at}: {script}");
    }
    for kind in ["github", "gitlab"] {
        let gate = folder.ends(&["recipe", kind], 0).out;
        assert!(gate.contains("sweep scenarios --profile ci "), "{gate}");
    }
    for text in [&kubernetes, &github, &gitlab] {
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            assert!(indent % 2 == 0 && !line.contains('\t') && !line.ends_with(' '), "{line:?}");
        }
    }
    assert_eq!(github.matches("${{ ").count(), github.matches(" }}").count());
    for text in [&kubernetes, &github, &gitlab] {
        assert!(text.contains("case $code in 3|10|11|12|13) exit 0 ;; esac"), "{text}");
    }
    folder.ends(&["recipe", "slurm", "--", "a", "--partition", "1/2"], 2);
    folder.ends(&["recipe", "slurm", "--partitions", "0"], 2);
}

/// The shell scripts in a YAML file, which stand below a line that ends with `|`.
fn shells(yaml: &str) -> impl Iterator<Item = String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = yaml.lines().collect();
    let begins = |at: &usize| lines[*at].ends_with("run: |") || lines[*at].ends_with("- |");
    let starts: Vec<usize> = (0..lines.len()).filter(begins).collect();
    let script = |at: &usize| {
        let depth = indent(lines[*at]);
        let inside = lines[at + 1..].iter().take_while(|line| indent(line) > depth);
        inside.map(|line| format!("{line}\n")).collect()
    };
    let scripts: Vec<String> = starts.iter().map(script).collect();
    assert_eq!(scripts.len(), 2, "{yaml}");
    scripts.into_iter()
}

/// The job of a recipe that merges, with an `eosim` that does nothing but end with `code`, and makes
/// the merged folder or not.
fn merge_job(folder: &Folder, words: &[&str], (code, makes): (i32, bool)) -> Option<i32> {
    let makes = if makes { "mkdir -p \"$4\"" } else { "true" };
    let stub = format!(
        "#!/bin/sh\ncase $1 in\nmerge) {makes}; exit {code} ;;\n\
         report) [ -d \"$2\" ] || exit 2 ;;\nesac\n"
    );
    folder.write("stub", &stub);
    let mut command = Command::new("bash");
    let command = command.args(words).current_dir(folder.path());
    let command = command
        .env("EOSIM", "./stub")
        .env("OUT", "out")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Command::new("chmod").arg("+x").arg(folder.path().join("stub")).status().expect("runs");
    command.status().expect("runs").code()
}

#[test]
fn recipes_end_with_the_code_of_the_merge() {
    let folder = Folder::new();
    let recipe = |kind: &str| folder.ends(&["recipe", kind, "--partitions", "2"], 0).out;
    folder.write("slurm", &recipe("slurm"));
    // There may be no GNU parallel here.
    let parallel = recipe("parallel").replace("| parallel ", "| true ");
    folder.write("parallel", &parallel);
    folder.write("out/merged.1.part/file", "");
    for words in [&["slurm", "merge"][..], &["parallel"]] {
        for end in [(0, true), (10, true), (12, true), (2, false), (3, false), (14, false)] {
            assert_eq!(merge_job(&folder, words, end), Some(end.0), "{words:?} {end:?}");
        }
    }
    assert_eq!(folder.list("out").iter().filter(|name| name.contains("part")).count(), 0);
}

/// Starts what `words` say, and kills it after `millis`, if it still runs.
fn killed_after(folder: &Folder, words: &[String], millis: u64) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = folder.command(&words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    std::thread::sleep(Duration::from_millis(millis));
    // It may have come to its end meanwhile.
    let _ = child.kill();
    child.wait().expect("ends");
}

/// The instants are no matter of chance here, so that a failure comes again; where they strike is.
fn instants(salt: u64) -> impl Iterator<Item = u64> {
    (1u64..).map(move |n| (n * 7919 + salt * 104_729).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55)
}

#[test]
fn shares_killed_and_resumed_and_merged_are_one_sweep() {
    const SHARES: usize = 7;
    let folder = Folder::new();
    let whole = run(&folder, &sweep("whole", &[]), 10).out;
    assert!(whole.contains("VIOLATION"), "{whole}");
    let next = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let share = next.fetch_add(1, Ordering::Relaxed);
                    if share > SHARES {
                        break;
                    }
                    let partition = format!("{share}/{SHARES}");
                    let out = format!("shares/{share}");
                    let more = ["--partition", &partition, "--jobs", "1", "--resume"];
                    let more = [&more[..], &["--checkpoint-interval", "20ms"]].concat();
                    let words = sweep(&out, &more);
                    for millis in instants(share as u64).take(3) {
                        killed_after(&folder, &words, millis);
                    }
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let code = folder.eosim(&words).code;
                    assert!([Some(0), Some(10), Some(12)].contains(&code), "{code:?}");
                }
            });
        }
    });
    let merged = folder.ends(&["merge", "shares", "-o", "merged"], 10);
    assert_same(&folder, "whole/latest", "merged");
    assert!(merged.out.contains("84 seeds, "), "{}", merged.out);
    let line = merged.out.lines().find_map(|line| line.trim().strip_prefix("reproduce: eosim "));
    let replay: Vec<&str> = line.expect("a command to paste").split(' ').collect();
    folder.ends(&[&replay[..], &["--expect-recorded"]].concat(), 10);
    let coverage = |run: &str| folder.ends(&["coverage", run], 0).out;
    assert_eq!(coverage("whole/latest"), coverage("merged"));
    for form in ["text", "html", "junit", "json"] {
        folder.ends(&["report", "merged", "--as", form], 0);
    }
}

#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let folder = Folder::new();
    run(&folder, &sweep("whole", &[]), 10);
    let words = sweep("runs", &["--resume", "--checkpoint-interval", "20ms", "--jobs", "1"]);
    for millis in [350, 120, 500, 200] {
        killed_after(&folder, &words, millis);
    }
    let ended = run(&folder, &words, 10);
    assert_eq!(folder.list("runs").len(), 2, "{:?}", folder.list("runs"));
    let left = folder.list("runs/latest").into_iter().filter(|name| name.ends_with(".part"));
    assert_eq!(left.count(), 0);
    assert_same(&folder, "whole/latest", "runs/latest");
    let is_told = ["goes on after", "has come to its end already"];
    let is_told = is_told.iter().any(|told| ended.err.contains(told)) || ended.err.is_empty();
    assert!(is_told, "{}", ended.err);
    // It has ended: nothing is run again.
    let again = run(&folder, &["sweep", "--resume=runs/latest"].map(String::from), 10);
    assert!(again.err.contains("goes on after 84 seeds"), "{}", again.err);
    assert_same(&folder, "whole/latest", "runs/latest");
    let told = run(&folder, &words, 10);
    assert!(told.err.contains("has come to its end already: runs/"), "{}", told.err);
    assert!(told.out.contains("reproduce: eosim replay runs/"), "{}", told.out);
    let table = |text: &str| text.lines().filter(|line| line.contains("fencing")).count();
    assert_eq!(table(&told.out), table(&again.out), "{}", told.out);
    let lines = run(&folder, &[&words[..], &["--format".into(), "jsonl".into()]].concat(), 10);
    assert_eq!(lines.out, folder.read("whole/latest/summary.jsonl"));
    assert_same(&folder, "whole/latest", "runs/latest");
    assert_eq!(folder.list("runs").len(), 2);
}

#[test]
fn a_sweep_that_stopped_early_goes_on() {
    let folder = Folder::new();
    run(&folder, &sweep("whole", &[]), 10);
    run(&folder, &sweep("runs", &["--max-fail", "1"]), 10);
    let early = folder.read("runs/latest/summary.jsonl");
    let merged = folder.ends(&["merge", "runs/latest", "-o", "early"], 10);
    assert!(merged.err.contains("runs are missing: "), "{}", merged.err);
    run(&folder, &sweep("runs", &["--resume"]), 10);
    assert!(folder.read("runs/latest/summary.jsonl").starts_with(&early));
    assert_same(&folder, "whole/latest", "runs/latest");
    let lines = run(&folder, &sweep("runs", &["--resume=runs/latest", "--format", "jsonl"]), 10);
    assert_eq!(lines.out, folder.read("whole/latest/summary.jsonl"));
    // A run that is named has its own arguments, but for the one that has stopped it.
    run(&folder, &sweep("named", &["--max-fail", "1"]), 10);
    let resume = "--resume=named/latest";
    let refused = |more: &[&str], message: &str| {
        let ended = folder.ends(&[&["sweep", resume], more].concat(), 2);
        assert!(ended.err.contains(message), "{message}: {}", ended.err);
        assert!(folder.read("named/latest/summary.jsonl") == early);
    };
    refused(&["--seeds", "0..500"], "--seeds: found 0..500, expected 5..47, as the sweep has it");
    refused(&["--defect", "x"], "--defect: found x, expected leader.index.drop_abort_entry");
    refused(&["--verify-every", "3"], "--verify-every: found 3, expected 20");
    refused(&["--count", "3"], "--count: found 3, expected none beside --resume=RUN");
    refused(&["--as-released"], "--as-released: found true, expected ");
    folder.ends(&["sweep", resume, "--seeds", "5..47", "--jobs", "2", "--progress", "none"], 10);
    assert_same(&folder, "whole/latest", "named/latest");
}

/// A short sweep of one scenario without failures.
fn short<'a>(scenario: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    // Few seeds may well be vacuous, which does not matter here.
    let words = ["sweep", scenario, "--progress", "none", "--set", "requires=[]", "--out", out];
    [&words[..], more].concat()
}

#[test]
fn only_the_same_sweep_is_resumed() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    folder.ends(&short(&lost, "runs", &["--count", "4"]), 0);
    let latest = &["--resume=runs/latest"];
    let refused = |more: &[&str], code, message: &str| {
        let words = short(&lost, "runs", &[&latest[..], more].concat());
        let ended = folder.ends(&words, code);
        assert!(ended.err.contains(message), "{message}: {}", ended.err);
        assert_eq!(folder.list("runs").len(), 2);
    };
    refused(&["--count", "5"], 2, "manifest.json: seeds: found 0..4, expected 0..5");
    refused(&["--count", "4", "--defect", DEFECT], 2, "manifest.json: defects: found []");
    let share = ["--count", "4", "--partition", "1/2"];
    refused(&share, 2, "partition: found 1/1, expected 1/2");
    let limits = ["--count", "4", "--steps-max", "77"];
    refused(&limits, 2, "scenarios[0]: found lost-responses with digest ");
    let changes = |file: &str, from: &str, to: &str, code, message: &str| {
        let path = format!("runs/latest/{file}");
        let text = folder.read(&path);
        assert!(text.contains(from), "{from}");
        fs::write(folder.path().join(&path), text.replacen(from, to, 1)).expect("writes");
        refused(&["--count", "4"], code, message);
        fs::write(folder.path().join(&path), text).expect("writes");
    };
    changes("manifest.json", "\"model\": ", "\"model\": 1", 14, "manifest.json: model: found 1");
    changes("manifest.json", "\"seeds\"", "\"sedes\"", 2, "seeds.first: found nothing, expected");
    changes("manifest.json", "{", "", 2, "manifest.json: found trailing characters");
    changes("summary.jsonl", "steps", "stops", 2, "expected ");
    changes("progress.json", "\"format\":1", "\"format\":2", 2, "progress.json: format: found 2");
    changes("progress.json", "\"rules\":{\"", "\"rules\":{\"X-", 2, "which is unknown");
    let path = folder.path().join("runs/latest/summary.jsonl");
    let text = fs::read_to_string(&path).expect("reads");
    fs::write(&path, &text[..text.len() / 2]).expect("writes");
    refused(&["--count", "4"], 2, "of which progress.json tells");
    folder.ends(&["sweep", "--resume=nowhere"], 2);
    folder.ends(&["sweep", "--resume"], 2);
    let begun = folder.ends(&short(&lost, "none", &["--count", "1", "--resume"]), 0);
    assert!(!begun.err.contains("goes on"), "{}", begun.err);
}

#[test]
fn what_does_not_belong_together_is_not_merged() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let gc = library("transactions/gc-stall.json");
    let sweep = |scenario: &str, out: &str, more: &[&str]| {
        folder.ends(&short(scenario, out, more), 0);
    };
    sweep(&lost, "a", &["--seeds", "0..6", "--partition", "1/2"]);
    sweep(&lost, "b", &["--seeds", "0..6", "--partition", "2/2"]);
    sweep(&lost, "over", &["--seeds", "2..4"]);
    sweep(&gc, "gc", &["--seeds", "0..6"]);
    sweep(&lost, "set", &["--seeds", "0..6", "--set", "limits.steps_max=12345"]);
    let merge = |dirs: &[&str], code, message: &str| {
        let words = [&["merge"], dirs, &["-o", "merged"]].concat();
        let ended = folder.ends(&words, code);
        assert!(ended.err.contains(message), "{}", ended.err);
        let is_left = folder.list(".").iter().any(|name| name.ends_with(".part"));
        assert_eq!(is_left, folder.path().join("merged.part").exists());
        let is_there = folder.path().join("merged").exists();
        assert_eq!(is_there, ended.err.is_empty() || ended.err.contains("missing"));
        let _ = fs::remove_dir_all(folder.path().join("merged"));
    };
    // What a merge that was killed has left gets into no other.
    folder.write("merged.part/failures/99/choices.json", "{}");
    let merged = folder.ends(&["merge", "a", "b", "-o", "merged"], 0);
    assert!(!folder.path().join("merged/failures").exists(), "{merged:?}");
    fs::remove_dir_all(folder.path().join("merged")).expect("removes");
    merge(&["a", "b"], 0, "");
    fs::remove_dir_all(folder.path().join("merged.part")).expect("removes");
    merge(&["b", "a", "a/latest"], 0, "");
    merge(&["a"], 12, "3 runs are missing: seed 1, seed 3, seed 5");
    merge(&["a", "b", "over"], 2, "seed 2 of lost-responses, which a/");
    merge(&["a", "gc"], 2, "scenarios[0]: found gc-stall with digest ");
    merge(&["a", "set"], 2, "scenarios[0]: found lost-responses with digest ");
    merge(&["a", "nowhere"], 2, "nowhere: found no such folder");
    merge(&["a", "bb"], 2, "did you mean \"b\"?");
    merge(&["a", "a/latest/failures"], 2, "found no such folder");
    folder.write("empty/readme.txt", "");
    merge(&["empty"], 2, "empty: found a folder without a sweep in it");
    folder.write("half/manifest.json", "{");
    merge(&["half"], 2, "half/manifest.json: found EOF while parsing");
    // Another attempt at the first share comes out otherwise.
    sweep(&lost, "again", &["--seeds", "0..6", "--partition", "1/2", "--max-fail", "1"]);
    merge(&["a", "b", "again"], 0, "");
    let lines = folder.read("again/latest/summary.jsonl");
    let digest = &lines[lines.find("\"digest\":\"").expect("a digest") + 10..][..16];
    let other = lines.replacen(digest, "0123456789abcdef", 1);
    let progress = folder.read("again/latest/progress.json");
    let progress = progress.replacen(&digest_of(&lines), &digest_of(&other), 1);
    for (name, text) in [("summary.jsonl", other), ("progress.json", progress)] {
        fs::write(folder.path().join("again/latest").join(name), text).expect("writes");
    }
    merge(&["a", "b", "again"], 3, "NONDETERMINISM   scenario=lost-responses seed=0: found digest");
    let manifest = folder.read("b/latest/manifest.json").replace("\"model\": ", "\"model\": 1");
    fs::write(folder.path().join("b/latest/manifest.json"), manifest).expect("writes");
    merge(&["a", "b"], 14, "manifest.json: model: found 1");
    folder.write("used/file", "");
    let used = folder.ends(&["merge", "a", "-o", "used"], 2);
    assert!(used.err.contains("--out: found used, which is not empty"), "{}", used.err);
}

/// The digest that goes with `lines`.
fn digest_of(lines: &str) -> String {
    use std::hash::Hasher;
    let mut digest = eosim_types::digest::Digest::new();
    lines.split_inclusive('\n').for_each(|line| digest.write(line.as_bytes()));
    format!("{:016x}", digest.finish())
}

#[test]
fn schedulers_say_which_share_is_swept() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let mut seeds: Vec<String> = Vec::new();
    for index in 0..3 {
        let (name, number) = match index {
            0 => ("JOB_COMPLETION_INDEX", index),
            _ => ("SLURM_ARRAY_TASK_ID", index + 1),
        };
        let out = format!("{index}");
        let mut command = folder.command(&short(&lost, &out, &["--count", "8"]));
        let command = command.env("EOSIM_PARTITIONS", "3").env(name, number.to_string());
        command.output().expect("runs");
        let lines = folder.read(&format!("{out}/latest/summary.jsonl"));
        seeds.extend(lines.lines().map(String::from));
    }
    let all = folder.ends(&short(&lost, "all", &["--count", "8", "--format", "jsonl"]), 0).out;
    let mut all: Vec<&str> = all.lines().collect();
    all.sort_unstable();
    seeds.sort_unstable();
    assert_eq!(seeds, all);
    let refused = folder.ends(&short(&lost, "none", &["--count", "8", "--partitions", "3"]), 2);
    assert!(refused.err.contains("nothing that says which"), "{}", refused.err);
    for wrong in ["0/4", "5/4", "1/0", "x", "1/9223372036854775807"] {
        folder.ends(&short(&lost, "none", &["--partition", wrong]), 2);
    }
    folder.ends(&short(&lost, "none", &["--partition", "1/4", "--partitions", "3"]), 2);
    let all_bits = "18446744073709551615";
    let mut command =
        folder.command(&short(&lost, "none", &["--count", "8", "--partitions", all_bits]));
    let output = command.env("SLURM_ARRAY_TASK_ID", "1").output().expect("runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("not in 1..=1000000"), "{told}");
    assert_eq!(folder.list("none"), Vec::<String>::new());
    let longest = ["--count", "2", "--checkpoint-interval", "18446744073709551615ms"];
    folder.ends(&short(&lost, "long", &longest), 0);
    folder.ends(&short(&lost, "most", &["--count", "2", "--partition", "1/1000000"]), 0);
}

#[test]
fn two_sweeps_at_once_do_not_disturb_each_other() {
    let folder = Folder::new();
    let words = sweep("runs", &["--jobs", "1"]);
    std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| run(&folder, &words, 10)));
        for one in both {
            one.join().expect("ends");
        }
    });
    let runs = folder.list("runs");
    assert_eq!(runs.len(), 3, "{runs:?}");
    assert_same(&folder, &format!("runs/{}", runs[0]), &format!("runs/{}", runs[1]));
}

#[test]
fn a_running_sweep_is_not_resumed_by_another() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let words = short(&lost, "runs", &["--for", "60s", "--checkpoint-interval", "200ms"]);
    let mut child = folder.command(&words);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let has_begun =
        || folder.list("runs").iter().any(|run| folder.list(&format!("runs/{run}")).len() > 3);
    while !has_begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = folder.eosim(&[&words[..], &["--resume"]].concat());
    child.kill().expect("is killed");
    child.wait().expect("ends");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("found a sweep that is still running"), "{}", refused.err);
}

#[test]
fn known_failures_are_told_from_new_ones() {
    let folder = Folder::new();
    let first = run(&folder, &sweep("runs", &[]), 10).out;
    assert!(!first.contains("NEW ") && !first.contains("known "), "{first}");
    let again = run(&folder, &sweep("runs", &[]), 10).out;
    assert!(again.contains("known      aborted-") && !again.contains("NEW "), "{again}");
    folder.ends(&short(&library("idempotence/lost-responses.json"), "other", &["--count", "1"]), 0);
    let new = run(&folder, &sweep("runs", &["--known", "other"]), 10).out;
    assert!(new.contains("NEW        aborted-"), "{new}");
    let before = folder.list("runs");
    run(&folder, &sweep("runs", &["--known", "nowhere"]), 2);
    assert_eq!(folder.list("runs"), before);
}

#[test]
fn kept_runs_are_listed_pruned_and_exported() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    for _ in 0..3 {
        folder.ends(&short(&lost, "sim-runs", &["--count", "1"]), 0);
    }
    folder.write("sim-runs/mine/file", "not a run");
    let list = || -> serde_json::Value {
        let text = folder.ends(&["store", "list", "--format", "json"], 0).out;
        serde_json::from_str(&text).expect("JSON")
    };
    let runs = list()["runs"].as_array().expect("runs").clone();
    assert_eq!(runs.len(), 3);
    assert_eq!((&runs[2]["seeds"], &runs[2]["state"]), (&1.into(), &"ended".into()));
    assert_eq!(runs.iter().filter(|run| run["latest"] == true).count(), 1);
    let text = folder.ends(&["store", "list"], 0).out;
    assert!(text.contains("  ended  1 seeds  0 failed  0."), "{text}");
    folder.ends(&["store", "prune"], 2);
    folder.ends(&["store", "prune", "--keep", "1", "--dry-run"], 0);
    folder.ends(&["store", "prune", "--age-max", "1d", "--size-max", "1GiB"], 0);
    assert_eq!(list()["runs"].as_array().map(Vec::len), Some(3));
    // A run whose removal was broken off goes with the next, and nothing else.
    folder.write("sim-runs/.pruned-20260101T000000Z-mixed-000001/file", "");
    folder.write("sim-runs/.pruned-mine/file", "");
    folder.ends(&["store", "prune", "--keep", "3", "--dry-run"], 0);
    assert_eq!(folder.list("sim-runs").iter().filter(|name| name.starts_with('.')).count(), 2);
    folder.ends(&["store", "prune", "--keep", "1"], 0);
    assert_eq!(folder.list("sim-runs")[0], ".pruned-mine");
    let left = list()["runs"].clone();
    assert_eq!((left.as_array().map(Vec::len), &left[0]["latest"]), (Some(1), &true.into()));
    assert_eq!(folder.read("sim-runs/mine/file"), "not a run");
    folder.ends(&["store", "export", "latest", "-o", "run.tar"], 0);
    let bytes = fs::read(folder.path().join("run.tar")).expect("an archive");
    assert_eq!((bytes.len() % 512, &bytes[257..262]), (0, &b"ustar"[..]));
    folder.ends(&["store", "export", "latest", "-o", "again.tar"], 0);
    assert_eq!(fs::read(folder.path().join("again.tar")).expect("an archive"), bytes);
    let name = fs::canonicalize(folder.path().join("sim-runs/latest")).expect("a run");
    let export = ["store", "export", ".", "-o", "../../here.tar"];
    let status = folder.command(&export).current_dir(&name).status().expect("runs");
    assert!(status.success());
    assert_eq!(fs::read(folder.path().join("here.tar")).expect("an archive"), bytes);
    let start = format!("{}/", name.file_name().expect("a name").to_string_lossy());
    assert!(bytes.starts_with(start.as_bytes()));
    folder.ends(&["store", "export", "nowhere", "-o", "run.tar"], 2);
    folder.ends(&["store", "list", "--store", "nowhere"], 2);
}

#[test]
fn limits_of_a_run_can_be_set() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let steps = folder.ends(&short(&lost, "a", &["--count", "2", "--steps-max", "10"]), 12);
    assert!(folder.read("a/latest/summary.jsonl").contains("\"steps\":10"), "{}", steps.out);
    folder.ends(&short(&lost, "b", &["--count", "1", "--virtual-time-max", "1ms"]), 11);
    assert!(folder.read("b/latest/summary.jsonl").contains("\"verdict\":\"stuck\""));
}

#[test]
fn latest_means_for_resume_what_was_begun_last() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    folder.ends(&short(&lost, "sim-runs", &["--count", "1"]), 0);
    let ended = folder.list("sim-runs");
    let more = ["--count", "120", "--jobs", "1", "--checkpoint-interval", "20ms"];
    let mut command = folder.command(&short(&lost, "sim-runs", &more));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let begun = loop {
        let begun = folder.list("sim-runs").into_iter().find(|name| !ended.contains(name));
        let progress = begun.as_ref().map(|begun| format!("sim-runs/{begun}/progress.json"));
        if progress.is_some_and(|progress| folder.path().join(progress).exists()) {
            break begun.expect("a sweep");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    child.kill().expect("is killed");
    child.wait().expect("ends");
    for latest in ["--resume=latest", "--resume=sim-runs/latest"] {
        let told = folder.ends(&["sweep", latest, "--progress", "none"], 0);
        assert!(told.err.contains(&format!("in sim-runs/{begun}")), "{}", told.err);
    }
    assert_eq!(folder.read("sim-runs/latest/summary.jsonl").lines().count(), 120);
}

#[test]
fn a_run_that_was_killed_before_its_manifest_is_pruned() {
    let folder = Folder::new();
    folder.write("sim-runs/20260101T000000Z-mixed-000001/manifest.json.part", "{");
    folder.write("sim-runs/20260101T000000Z-mine/file", "is no run");
    let listed = folder.ends(&["store", "list"], 0).out;
    assert!(listed.contains("-mixed-000001  unfinished  not begun"), "{listed}");
    folder.ends(&["store", "prune", "--keep", "0"], 0);
    assert_eq!(folder.list("sim-runs"), ["20260101T000000Z-mine"]);
}

#[test]
fn a_defect_that_was_put_back_and_is_seen_by_no_run_has_survived() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let defect = ["--defect", "cleaner.drop_last_batch", "--count", "4"];
    let whole = folder.ends(&short(&lost, "whole", &defect), 13);
    let told = "survived   cleaner.drop_last_batch: no run shows it";
    assert!(whole.out.contains(told), "{}", whole.out);
    for partition in ["1/2", "2/2"] {
        let more = [&defect[..], &["--partition", partition]].concat();
        folder.ends(&short(&lost, "shares", &more), 13);
    }
    let merged = folder.ends(&["merge", "shares", "-o", "merged"], 13);
    assert!(merged.out.contains(told), "{}", merged.out);
    folder.ends(&short(&lost, "sound", &["--count", "4"]), 0);
}

#[test]
fn a_sweep_that_had_its_time_was_not_stopped() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let timed = folder.ends(&short(&lost, "timed", &["--for", "300ms"]), 0);
    assert!(!timed.out.contains("stopped before the end"), "{}", timed.out);
    let both = folder.ends(&short(&lost, "timed", &["--for", "300ms", "--profile", "ci"]), 2);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn what_to_do_with_a_sweep_that_was_killed_is_said() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    folder.ends(&short(&lost, "kept", &["--count", "4"]), 0);
    // As if it had been killed before its end.
    std::fs::remove_file(folder.path().join("kept/latest/summary.json")).expect("a file");
    let refused = folder.ends(&["report", "kept/latest"], 2).err;
    assert!(refused.contains("a sweep that was killed before its end"), "{refused}");
    assert!(refused.contains("eosim sweep --resume=kept/"), "{refused}");
    let spaced = folder.ends(&["sweep", "--resume", "latest"], 2).err;
    assert!(spaced.contains("--resume: found \"latest\" behind a space"), "{spaced}");
    let again = folder.ends(&["sweep", "--out", "kept", "--resume=latest"], 0);
    assert!(again.err.contains("goes on after 4 seeds"), "{}", again.err);
    folder.ends(&["report", "kept/latest"], 0);
}
