//! `eosim recipe`: scripts that spread a sweep over machines, ready to be used. Each is a file beside
//! this one, in which a few words are filled in.

use clap::Parser;
use eosim_report::shell::quoted;
use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_types::visible::is_unseen;

use super::Failure;
use crate::args::{Cli, RecipeArgs, RecipeKind};
use crate::output;

/// Flags that the recipes give themselves.
const OWN: [&str; 4] = ["--partition", "--partitions", "--resume", "--out"];

pub(super) fn run(args: &RecipeArgs) -> Result<ExitCode, Failure> {
    let args = with_sweep(args);
    check(&args.sweep)?;
    output::print(&recipe(&args))?;
    Ok(ExitCode::Fine)
}

/// The same, with what is swept if the user does not say.
fn with_sweep(args: &RecipeArgs) -> RecipeArgs {
    let mut args = args.clone();
    if args.sweep.is_empty() {
        let is_gate = matches!(args.kind, RecipeKind::Github | RecipeKind::Gitlab);
        let profile = if is_gate { "ci" } else { "nightly" };
        args.sweep = ["scenarios", "--profile", profile].map(String::from).into();
    }
    args
}

/// The words must be those of a sweep, without what the recipe adds.
fn check(sweep: &[String]) -> Result<(), Failure> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_string();
    let is_own = |word: &&String| OWN.contains(&name(word).as_str()) || word.starts_with("-o");
    if let Some(word) = sweep.iter().find(is_own) {
        let expected = "what each share sweeps; the recipe adds this itself";
        return Err(InputError::new("SWEEP", "", format!("\"{word}\""), expected).into());
    }
    if let Some(word) = sweep.iter().find(|word| word.chars().any(is_unseen)) {
        let found = format!("{word:?}");
        return Err(
            InputError::new("SWEEP", "", found, "words of one line that can be seen").into()
        );
    }
    let words = ["eosim", "sweep"].into_iter().chain(sweep.iter().map(String::as_str));
    Cli::try_parse_from(words).map(drop).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let found = first.trim_end_matches(" found").to_string();
        InputError::new("SWEEP", "", found, "the arguments of eosim sweep").into()
    })
}

fn recipe(args: &RecipeArgs) -> String {
    let template = match args.kind {
        RecipeKind::Slurm => include_str!("recipe/slurm.sh"),
        RecipeKind::Kubernetes => include_str!("recipe/kubernetes.yaml"),
        RecipeKind::Github => include_str!("recipe/github.yml"),
        RecipeKind::Gitlab => include_str!("recipe/gitlab.yml"),
        RecipeKind::Parallel => include_str!("recipe/parallel.sh"),
    };
    let words: Vec<String> = args.sweep.iter().map(|word| guarded(args.kind, word)).collect();
    // GNU parallel has a shell read the words once more.
    let twice: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let shares: Vec<String> = (1..=args.partitions).map(|share| share.to_string()).collect();
    with_merge(template)
        .replace("@SHARES@", &args.partitions.to_string())
        .replace("@RETRIES@", &args.partitions.saturating_mul(10).to_string())
        .replace("@LIST@", &shares.join(", "))
        .replace("@IMAGE@", &args.image.replace(['"', '\\', '\n'], ""))
        .replace("@QUOTED@", &twice.join(" "))
        .replace("@SWEEP@", &words.join(" "))
}

/// `word` as the shell reads it once the scheduler has: `${{` begins an expression on GitHub, `$(` a
/// variable on Kubernetes, `$[[` an input on GitLab.
fn guarded(kind: RecipeKind, word: &str) -> String {
    let word = quoted(word);
    match kind {
        RecipeKind::Github => word.replace("${{", "$''{{"),
        RecipeKind::Kubernetes => word.replace("$(", "$$("),
        RecipeKind::Gitlab => word.replace("$[[", "$''[["),
        RecipeKind::Slurm | RecipeKind::Parallel => word,
    }
}

/// What all recipes do alike, filled in as far to the right as its place stands.
fn with_merge(template: &str) -> String {
    let mut text = String::new();
    for line in template.lines() {
        match line.strip_suffix("@MERGE@") {
            Some(indent) => {
                for line in include_str!("recipe/merge.sh").lines() {
                    text += &format!("{indent}{line}\n");
                }
            }
            None => text += &format!("{line}\n"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_to_a_scheduler_what_they_say() {
        let guarded = |kind, word| super::guarded(kind, word);
        assert_eq!(guarded(RecipeKind::Github, "${{ secrets.X }}"), "'$''{{ secrets.X }}'");
        assert_eq!(guarded(RecipeKind::Gitlab, "$[[ inputs.X ]]"), "'$''[[ inputs.X ]]'");
        assert_eq!(guarded(RecipeKind::Kubernetes, "$(HOME)"), "'$$(HOME)'");
        assert_eq!(guarded(RecipeKind::Slurm, "${{ a }}"), "'${{ a }}'");
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            check(&words).err().map(|failure| failure.to_string()).unwrap_or_default()
        };
        assert_eq!(refused(&["scenarios", "--count", "5"]), "");
        assert!(refused(&["scenarios", "--out", "x"]).contains("the recipe adds this itself"));
        assert!(refused(&["scenarios", "--partition=1/2"]).contains("the recipe adds this itself"));
        assert!(refused(&["a\nb"]).contains("found \"a\\nb\", expected words of one line"));
        let wrong = refused(&["scenarios", "--cuont", "5"]);
        assert!(wrong.starts_with("SWEEP: found unexpected argument '--cuont'"), "{wrong}");
    }
}
