//! A run that was watched, in words.

use std::fmt::Write;

use eosim_report::dump_log::{dump_log, dump_transaction_index};
use eosim_report::{describe, describe_observed, transactions};
use eosim_runner::recording::Observed;
use eosim_runner::run::{Describe, Line};
use eosim_types::ActorId;
use eosim_types::observation::ReplicaDump;

/// How messages and observations are put into words.
pub const DESCRIBE: Describe = Describe { message: describe, observed: describe_observed };

/// Who did what when; of one actor if one is given.
#[must_use]
pub fn transcript(run: &Observed, of: Option<ActorId>) -> String {
    let shown = run.lines.iter().filter(|line| of.is_none_or(|actor| line.actor == actor));
    let line = |line: &Line| eosim_report::Line {
        at: line.at,
        step: line.step,
        actor: line.actor,
        event: line.text.clone(),
    };
    eosim_report::transcript(&run.actors, &shown.map(line).collect::<Vec<_>>())
}

/// A replica's log and, if there is anything in it, its index of aborted transactions.
#[must_use]
pub fn replica(run: &Observed, replica: &ReplicaDump) -> String {
    let mut text = dump_log(replica, &run.names);
    if !replica.aborted_transactions.is_empty() {
        text += &dump_transaction_index(replica, &run.names);
    }
    text
}

/// Everything that brokers hold.
#[must_use]
pub fn dump(run: &Observed) -> String {
    let mut text = transactions::describe(&run.dump, &run.names);
    for one in run.dump.replicas.iter().filter(|replica| !replica.batches.is_empty()) {
        let role = if one.is_leader { "leader" } else { "follower" };
        let ReplicaDump { high_watermark, last_stable_offset, log_end_offset, .. } = one;
        let _ = writeln!(
            text,
            "\n# broker {}, {role}, high watermark {high_watermark}, \
             last stable offset {last_stable_offset}, log end offset {log_end_offset}",
            one.broker
        );
        text += &replica(run, one);
    }
    text
}
