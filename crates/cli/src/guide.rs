//! The protocol in twelve steps, each with a scenario to run and what to look for in its output.
//!
//! Each step is a file beside this module, which is its documentation, and what `eosim guide STEP`
//! prints. A test runs every command of the guide and looks for the lines that follow it.
//!
//! | step | about |
//! |---|---|
//! | [`sequences`] | batches are numbered |
//! | [`lost_response`] | a retry is known again |
//! | [`dedup_window`] | five batches are remembered |
//! | [`producer_epoch`] | what is old is refused |
//! | [`fencing`] | one producer for each transactional id |
//! | [`transactions`] | what the coordinator writes down |
//! | [`markers`] | how partitions learn the outcome |
//! | [`read_committed`] | what readers may see |
//! | [`coordinator_failover`] | a decision outlives its coordinator |
//! | [`consume_transform_produce`] | input, results and position in one |
//! | [`hanging_transactions`] | what nobody ends |
//! | [`version_2`] | an epoch for each transaction |

use eosim_runner::InputError;

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its name, as users write it.
    pub name: &'static str,
    /// Its text, Markdown.
    pub text: &'static str,
}

impl Step {
    /// Its heading.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

/// Each step is a file `guide/NAME.md`, which documents a module.
macro_rules! guide {
    ($($module:ident = $name:literal),+ $(,)?) => {
        $(
            #[doc = include_str!(concat!("guide/", $name, ".md"))]
            pub mod $module {}
        )+

        /// The steps, in order.
        pub const STEPS: &[Step] = &[$(
            Step { name: $name, text: include_str!(concat!("guide/", $name, ".md")) }
        ),+];
    };
}

guide! {
    sequences = "sequences",
    lost_response = "lost-response",
    dedup_window = "dedup-window",
    producer_epoch = "producer-epoch",
    fencing = "fencing",
    transactions = "transactions",
    markers = "markers",
    read_committed = "read-committed",
    coordinator_failover = "coordinator-failover",
    consume_transform_produce = "consume-transform-produce",
    hanging_transactions = "hanging-transactions",
    version_2 = "version-2",
}

/// The step that a user means by its name or its number.
///
/// # Errors
/// If there is none.
pub fn step(asked: &str) -> Result<&'static Step, InputError> {
    let number = asked.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let named = || STEPS.iter().find(|step| step.name == asked);
    number.and_then(|at| STEPS.get(at)).or_else(named).ok_or_else(|| {
        let expected = format!("a step of the guide, 1 to {} or its name", STEPS.len());
        let names = STEPS.iter().map(|step| step.name);
        InputError::new("STEP", "", format!("\"{asked}\""), expected).with_nearest(asked, names)
    })
}

/// The headings of all steps, a line each.
#[must_use]
pub fn contents() -> String {
    let line = |(number, step): (usize, &Step)| {
        format!("{number:>3}  {:<27}{}\n", step.name, step.title())
    };
    (1..).zip(STEPS).map(line).collect()
}

/// The steps that name one of the rules `ids`, each as the command that prints it.
#[must_use]
pub fn steps_about(ids: &[&str]) -> Vec<String> {
    let words = |text: &'static str| text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let about = STEPS.iter().filter(|step| words(step.text).any(|word| ids.contains(&word)));
    about.map(|step| format!("eosim guide {}", step.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_by_number_and_name() {
        assert_eq!(STEPS.len(), 12);
        assert_eq!(step("5").map(|step| step.name), Ok("fencing"));
        assert_eq!(step("version-2").map(|step| step.name), Ok("version-2"));
        assert_eq!(step("fencin").expect_err("no step").nearest, Some("fencing".into()));
        assert!(step("0").is_err() && step("13").is_err());
    }

    #[test]
    fn every_step_has_a_heading_and_commands() {
        for step in STEPS {
            assert!(step.text.starts_with("# "), "{}", step.name);
            assert!(step.text.contains("```sh\neosim "), "{}", step.name);
            assert!(step.text.lines().all(|line| line.chars().count() <= 120), "{}", step.name);
        }
    }
}
