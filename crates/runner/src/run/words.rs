//! What the world does, in words: what befalls a message, and what is ordered.

use eosim_actor::{CrashKind, DiskError, Operation};
use eosim_sim::fault::{Cause, Command, Fate, Side, rule_of};
use eosim_types::{ActorId, Duration};

use crate::FAULTS;

/// What befalls a message.
pub(super) fn fate(fate: Fate) -> String {
    match fate {
        Fate::Deliver => "arrives".to_string(),
        Fate::Delay(by) => format!("delayed by {}", length(by)),
        Fate::Lose => "lost, the connection breaks".to_string(),
        Fate::Silence => "lost in silence, as all behind it".to_string(),
        Fate::Late(by, _) => format!("late by {}, the connection breaks", length(by)),
        Fate::LateHold(..) => "late until a rule lets it go, the connection breaks".to_string(),
        Fate::Hold(_) => "held back, and all behind it".to_string(),
        Fate::Refuse(error) => format!("answered with {error}"),
        Fate::Twice(by, _) => format!("delivered twice, again after {}", length(by)),
        Fate::Overtaken(by) => format!("overtaken, arrives {} later", length(by)),
    }
}

/// What the world obeys.
pub(super) fn command(command: &Command) -> String {
    match *command {
        Command::Crash { actor, kind } => format!("{} dies ({})", name(actor), death(kind)),
        Command::Restart { actor } => format!("{} is started again", name(actor)),
        Command::RequestStop { actor, .. } => format!("{} is told to stop", name(actor)),
        Command::Pause { actor } => format!("{} stalls", name(actor)),
        Command::Resume { actor } => format!("{} goes on", name(actor)),
        Command::Reset { from, to } => {
            format!("connections of {} to {} break", name(from), name(to))
        }
        Command::Release { .. } => "what was held back goes on".to_string(),
        Command::Cut { from, to, both_ways } => {
            format!("network cut {}", between(from, to, both_ways))
        }
        Command::Mend { from, to, both_ways } => {
            format!("network whole again {}", between(from, to, both_ways))
        }
        Command::Slow { from, to, by } if by == Duration::ZERO => {
            format!("network as fast as before {}", between(from, to, true))
        }
        Command::Slow { from, to, by } => {
            format!("network slower by {} {}", length(by), between(from, to, true))
        }
        Command::SetClock { actor, off_by_ms } => {
            format!("clock of {} is off by {off_by_ms}ms", name(actor))
        }
        Command::BreakDisk { actor, error } => {
            format!("disk of {} fails: {}", name(actor), disk(error))
        }
        Command::MendDisk { actor, .. } => format!("disk of {} is sound again", name(actor)),
        Command::Operate { actor, operation } => format!("{}: {}", name(actor), done(operation)),
        Command::Heal => "everything heals".to_string(),
        Command::Wake => "a fault looks whom it may hit".to_string(),
    }
}

/// Behind what a fault does, in parentheses: which one it is.
pub(super) fn cause(cause: Cause) -> String {
    let fault = FAULTS.get(usize::from(cause.0)).map(ToString::to_string);
    let rule = rule_of(cause).map(|rule| format!("aimed.{rule}"));
    fault.or(rule).map_or_else(String::new, |name| format!(" ({name})"))
}

fn name(actor: ActorId) -> String {
    format!("[{actor}]")
}

fn length(time: Duration) -> String {
    time.to_string()
}

const fn death(kind: CrashKind) -> &'static str {
    match kind {
        CrashKind::Process => "process",
        CrashKind::PowerLoss => "power loss",
        CrashKind::Stopped => "stopped in good order",
    }
}

fn side(side: Side) -> String {
    match side {
        Side::ALL => "everybody".to_string(),
        Side { first, last } if first == last => name(first),
        Side { first, last: ActorId(u16::MAX) } => format!("all from {} on", name(first)),
        Side { first, last } => format!("all from {} to {}", name(first), name(last)),
    }
}

fn between(from: Side, to: Side, both_ways: bool) -> String {
    let (from, to) = (side(from), side(to));
    if both_ways { format!("between {from} and {to}") } else { format!("from {from} to {to}") }
}

fn disk(error: DiskError) -> String {
    match error {
        DiskError::BeforeWrite => "the next append writes nothing".to_string(),
        DiskError::AfterWrite => "the next append is written and fails".to_string(),
        DiskError::Load { percent } => format!("the next load reads {percent}% of the log"),
    }
}

fn done(operation: Operation) -> String {
    match operation {
        Operation::ElectLeader { unclean: false, .. } => "a leader is elected".to_string(),
        Operation::ElectLeader { .. } => "a leader is elected, in sync or not".to_string(),
        Operation::Reassign { .. } => "a partition is moved".to_string(),
        Operation::ChangeFeature => "transaction.version is lowered or raised".to_string(),
        Operation::Housekeeping => "periodic tasks run now".to_string(),
        Operation::CreateTopic { .. } => "a topic is created".to_string(),
        Operation::DeleteTopic { .. } => "a topic is deleted".to_string(),
    }
}

/// `text` with the names of actors in the place of their numbers.
#[must_use]
pub fn named(text: &str, actors: &[String]) -> String {
    let mut told = String::new();
    let mut rest = text.trim_start();
    while let Some(open) = rest.find('[') {
        told += &rest[..open];
        let behind = &rest[open..];
        let close = behind.find(']').unwrap_or(0);
        let number = behind.get(1..close).and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| actors.get(number)).filter(|_| is_before_actor(&told)) {
            Some(name) => {
                told += name;
                rest = &behind[close + 1..];
            }
            None => {
                told.push('[');
                rest = &behind[1..];
            }
        }
    }
    told + rest
}

/// Does an actor follow? Lists of records and replicas are in brackets, too.
fn is_before_actor(told: &str) -> bool {
    let begins_with = |sign: &str| told.starts_with(sign);
    match told {
        "<- " | "-> " | "! " => true,
        _ => begins_with("! ") && !told.ends_with('['),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_are_named_and_records_stay() {
        let actors = ["controller", "broker-1", "writer"].map(String::from);
        let rows = [
            ("<- [2] Produce orders-0 [1]", "<- writer Produce orders-0 [1]"),
            ("   -> [1] #3 Fetch", "-> broker-1 #3 Fetch"),
            ("   * reads [1@0]", "* reads [1@0]"),
            ("   ! network cut between [1] and [2]", "! network cut between broker-1 and writer"),
            ("   ! [7] stalls", "! [7] stalls"),
        ];
        for (text, told) in rows {
            assert_eq!(named(text, &actors), told);
        }
    }
}
