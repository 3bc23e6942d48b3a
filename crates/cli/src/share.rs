//! Which share of the seeds is swept: said by the user, or by what has started the process.

use eosim_runner::InputError;

use crate::args::Partition;

/// Set by Kubernetes for each pod of an Indexed Job, from 0 on.
const KUBERNETES: &str = "JOB_COMPLETION_INDEX";

/// Set by Slurm for each task of a job array; recipes count from 1.
const SLURM: &str = "SLURM_ARRAY_TASK_ID";

/// The share that `partition` names, or one of `partitions` of which `variable` says the number.
///
/// # Errors
/// If they contradict each other, or it is not said which.
pub fn share(
    partition: Option<Partition>,
    partitions: Option<u64>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Partition, InputError> {
    match (partition, partitions) {
        (None, None) => Ok(Partition::WHOLE),
        (Some(partition), None) => Ok(partition),
        (Some(partition), Some(of)) if partition.of == of => Ok(partition),
        (Some(partition), Some(of)) => {
            let expected = format!("one of the {of} shares that --partitions asks for");
            Err(InputError::new("--partition", "", partition.to_string(), expected))
        }
        (None, Some(of)) => scheduled(of, variable),
    }
}

fn scheduled(of: u64, variable: &dyn Fn(&str) -> Option<String>) -> Result<Partition, InputError> {
    let index = |name: &str, text: &str, first: u64| {
        let last = first.saturating_add(of.saturating_sub(1));
        let number = text.parse::<u64>().ok().filter(|number| (first..=last).contains(number));
        let part = number.map(|number| Partition { part: number - first + 1, of });
        let expected = format!("a number from {first} to {last}, for {of} shares");
        part.ok_or_else(|| InputError::new(name, "", format!("\"{text}\""), expected))
    };
    match (variable(KUBERNETES), variable(SLURM)) {
        (Some(text), None) => index(KUBERNETES, &text, 0),
        (None, Some(text)) => index(SLURM, &text, 1),
        (Some(_), Some(_)) => {
            let found = format!("both {KUBERNETES} and {SLURM}");
            Err(InputError::new("--partitions", "", found, "one of them, or --partition"))
        }
        (None, None) => {
            let found = format!("{of} shares, and nothing that says which");
            let expected = format!("--partition, or one of the variables {KUBERNETES} and {SLURM}");
            Err(InputError::new("--partitions", "", found, expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for, which variables are set, what comes of it.
    type Row = (
        Option<&'static str>,
        Option<u64>,
        &'static [(&'static str, &'static str)],
        Result<&'static str, &'static str>,
    );

    #[test]
    fn schedulers_say_which_share_it_is() {
        let rows: &[Row] = &[
            (None, None, &[(SLURM, "3")], Ok("1/1")),
            (Some("2/4"), None, &[(SLURM, "3")], Ok("2/4")),
            (Some("2/4"), Some(4), &[(KUBERNETES, "0")], Ok("2/4")),
            (None, Some(4), &[(KUBERNETES, "0")], Ok("1/4")),
            (None, Some(4), &[(KUBERNETES, "3")], Ok("4/4")),
            (None, Some(4), &[(SLURM, "1")], Ok("1/4")),
            (None, Some(4), &[(SLURM, "4")], Ok("4/4")),
            (
                Some("2/4"),
                Some(5),
                &[],
                Err(
                    "--partition: found 2/4, expected one of the 5 shares that --partitions asks for",
                ),
            ),
            (
                None,
                Some(4),
                &[(KUBERNETES, "4")],
                Err(
                    "JOB_COMPLETION_INDEX: found \"4\", expected a number from 0 to 3, for 4 shares",
                ),
            ),
            (
                None,
                Some(4),
                &[(SLURM, "0")],
                Err(
                    "SLURM_ARRAY_TASK_ID: found \"0\", expected a number from 1 to 4, for 4 shares",
                ),
            ),
            (
                None,
                Some(4),
                &[(SLURM, "1"), (KUBERNETES, "0")],
                Err("--partitions: found both JOB_COMPLETION_INDEX and SLURM_ARRAY_TASK_ID, \
                     expected one of them, or --partition"),
            ),
            (
                None,
                Some(4),
                &[],
                Err("--partitions: found 4 shares, and nothing that says which, expected \
                     --partition, or one of the variables JOB_COMPLETION_INDEX and \
                     SLURM_ARRAY_TASK_ID"),
            ),
        ];
        for (partition, partitions, variables, expected) in rows {
            let partition = partition.map(|text| text.parse().expect("a share"));
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.to_string())
            };
            let found = share(partition, *partitions, &variable);
            let found = found.map(|share| share.to_string()).map_err(|error| error.to_string());
            assert_eq!(found, expected.map(Into::into).map_err(Into::into));
        }
    }
}
