//! Every verb, flag and example of the command line.

use clap::{Args, Command, CommandFactory, FromArgMatches};
use eosim::args::{
    BenchArgs, CheckArgs, Cli, CompletionsArgs, ConformArgs, DefectsArgs, DiffArgs, DotArgs,
    ExplainArgs, GuideArgs, ListArgs, ManArgs, MergeArgs, RecipeArgs, ReplayArgs, RunArgs,
    SchemaArgs, ShowArgs, ShrinkArgs, StoreArgs, SweepArgs, VerifyArgs,
};
use expect_test::{Expect, expect};

/// All verbs, each as a command of its own.
fn verbs() -> Vec<Command> {
    fn verb<A: Args>(name: &'static str) -> Command {
        A::augment_args(Command::new(name))
    }
    vec![
        verb::<RunArgs>("run"),
        verb::<SweepArgs>("sweep"),
        verb::<MergeArgs>("merge"),
        verb::<RecipeArgs>("recipe"),
        verb::<StoreArgs>("store"),
        verb::<ReplayArgs>("replay"),
        verb::<ShrinkArgs>("shrink"),
        verb::<ExplainArgs>("explain"),
        verb::<DiffArgs>("diff"),
        verb::<VerifyArgs>("verify"),
        verb::<ShowArgs>("show"),
        verb::<CheckArgs>("check"),
        verb::<ListArgs>("list"),
        verb::<ConformArgs>("conform"),
        verb::<DefectsArgs>("defects"),
        verb::<DotArgs>("dot"),
        verb::<SchemaArgs>("schema"),
        verb::<CompletionsArgs>("completions"),
        verb::<ManArgs>("man"),
        verb::<GuideArgs>("guide"),
        verb::<BenchArgs>("bench"),
    ]
}

/// Flags that choose between two forms of one command, and so have no variable.
const WITHOUT_VARIABLE: &[&str] = &["list", "run"];

#[test]
fn every_flag_has_a_variable() {
    for verb in verbs().iter().chain([&Cli::command()]) {
        for flag in verb.get_arguments().filter(|arg| arg.get_long().is_some()) {
            let name = flag.get_long().expect("a long name");
            let variable = flag.get_env().and_then(|name| name.to_str()).unwrap_or("");
            let excused = WITHOUT_VARIABLE.contains(&name);
            assert!(excused || variable.starts_with("EOSIM_"), "{}: --{name}", verb.get_name());
        }
    }
}

#[test]
fn flags_are_long_nouns_with_few_short_forms() {
    for verb in verbs().iter().chain([&Cli::command()]) {
        for short in verb.get_arguments().filter_map(clap::Arg::get_short) {
            assert!("joqv".contains(short), "{}: -{short}", verb.get_name());
        }
    }
}

/// The commands in `help`, without `eosim` and without what a shell does with the output.
fn examples(help: &str) -> Vec<Vec<String>> {
    let lines = help.lines().filter_map(|line| line.trim().strip_prefix("eosim "));
    let words = |line: &str| {
        let command = line.split("  ").next().unwrap_or("");
        let words = command.split_whitespace().take_while(|word| *word != ">");
        words.map(String::from).collect()
    };
    lines.map(words).collect()
}

/// Flags of the whole, which the verbs alone do not know.
const GLOBAL: &[&str] = &["--format", "--verbose"];

#[test]
fn every_verb_has_examples_that_can_be_typed() {
    let all = Command::new("eosim").subcommands(verbs()).subcommand_required(true);
    for verb in verbs() {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{} has no example", verb.get_name());
        for example in examples {
            let words = ["eosim".to_string()].into_iter().chain(example);
            let words: Vec<String> =
                words.filter(|word| !GLOBAL.contains(&word.as_str())).collect();
            let words: Vec<&String> = words.iter().filter(|word| *word != "json").collect();
            if let Err(error) = all.clone().try_get_matches_from(words) {
                panic!("{error}");
            }
        }
    }
}

#[test]
fn the_examples_of_the_whole_can_be_typed() {
    let command = Cli::command();
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples = examples(&help);
    assert!(!examples.is_empty());
    for example in examples {
        let words = ["eosim".to_string()].into_iter().chain(example);
        command.clone().try_get_matches_from(words).expect("an example that can be typed");
    }
}

fn parse<A: Args + FromArgMatches>(words: &[&str]) -> Result<A, String> {
    let command = A::augment_args(Command::new("eosim").no_binary_name(true).term_width(100));
    let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
    A::from_arg_matches(&matches).map_err(|error| error.to_string())
}

#[test]
fn seeds_count_and_time_exclude_each_other() {
    let sweep = parse::<SweepArgs>(&["scenarios", "--seeds", "5..9", "-j", "2"]).expect("good");
    let seeds = sweep.seeds.map(|range| (range.first, range.end));
    assert_eq!((seeds, sweep.jobs), (Some((5, 9)), Some(2)));
    assert!(parse::<SweepArgs>(&["scenarios", "--count", "5", "--for", "1m"]).is_err());
}

#[test]
fn what_cannot_be_read_is_explained() {
    let check = |error: Result<(), String>, expected: Expect| {
        let text = error.expect_err("refused");
        expected.assert_eq(&(text.lines().next().unwrap_or("").to_string() + "\n"));
    };
    check(
        parse::<RunArgs>(&["a.json", "--seed", "12x"]).map(drop),
        expect![[r#"
        error: invalid value '12x' for '--seed <SEED>': expected a number below 2^64, 0x…, or a commit id of 40 digits
    "#]],
    );
    check(
        parse::<SweepArgs>(&["a", "--for", "10"]).map(drop),
        expect![[r#"
        error: invalid value '10' for '--for <TIME>': expected a number and a unit, such as 500ms, 90s, 10m or 2h
    "#]],
    );
    check(
        parse::<SweepArgs>(&["a", "--partition", "3/2"]).map(drop),
        expect![[r#"
        error: invalid value '3/2' for '--partition <PART/OF>': expected PART/OF, with PART from 1 to OF, and OF at most 1000000
    "#]],
    );
    check(
        parse::<SweepArgs>(&["a", "--jobs", "0"]).map(drop),
        expect![[r#"
        error: invalid value '0' for '--jobs <NUMBER>': 0 is not in 1..=1024
    "#]],
    );
    check(
        parse::<ShowArgs>(&["a", "--as", "transcrip"]).map(drop),
        expect![[r#"
        error: invalid value 'transcrip' for '--as <FORM>'
    "#]],
    );
}

#[test]
fn the_command_is_consistent() {
    Cli::command().debug_assert();
    for verb in verbs() {
        verb.debug_assert();
    }
}
