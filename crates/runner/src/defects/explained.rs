//! Does the explanation of a caught defect name what it takes? Compared with what the catalogue of
//! historical defects says of each.
//!
//! Invariant: the explanation itself knows nothing of this.

use eosim_scenario::plan::{Action, Aimed, OperatorStep};
use eosim_scenario::{Plan, ScenarioFile};
use eosim_types::{Defect, DefectSet};

use crate::explain::{Explain, Explanation, Moment, RUNS};
use crate::recording::record;
use crate::run::Describe;
use crate::variant::Part;

/// What each defect takes, as the catalogue says; what is not in it, by its nature. `NONE`: ordinary
/// traffic suffices.
pub const TAKES: &[(&str, &[&str])] = &[
    ("cleaner.bound_by_segment_only", &["COMPACT", "TRUNC"]),
    ("client.abort.with_inflight", &["DELAYREQ", "LOSTRESP"]),
    ("client.batch.expiry_does_not_fail_txn", &["DELAYREQ", "LFAIL"]),
    ("client.batch.new_sequence_on_retry", &["LOSTRESP"]),
    ("client.commit.swallow_broker_error", &["PAUSE", "LFAIL", "TCFAIL"]),
    ("client.endtxn.send_when_empty", &["NONE"]),
    ("client.seq.missing_on_retry_buffer", &["LFAIL"]),
    ("group.expire.while_rebalancing", &["REBAL", "EXPIRE"]),
    ("group.load.fail_on_gap", &["GCFAIL", "COMPACT", "ZTC"]),
    ("group.txnoffset.skip_generation_check", &["PAUSE", "REBAL"]),
    ("group.unload.fails", &["GCFAIL", "COMPACT", "ZTC"]),
    ("k.election.unclean", &["UNCLEAN", "TRUNC", "LFAIL"]),
    ("k.pid.hand_out_current_block", &["MIXVER", "RESTART"]),
    ("leader.dedup.keep_after_abort", &["LOSTRESP"]),
    ("leader.dedup.window_0", &["LOSTRESP", "DUPREQ"]),
    ("leader.dedup.window_1", &["LOSTRESP", "DUPREQ"]),
    ("leader.dedup.window_4", &["LOSTRESP", "DUPREQ"]),
    ("leader.expire.ignore_marker_time", &["EXPIRE", "TXNTIMEOUT", "TCFAIL", "CLOCK"]),
    ("leader.fetch.aborted_range_relative", &["NONE"]),
    ("leader.fetch.aborted_snapshot_early", &["NONE"]),
    ("leader.fetch.hw_read_twice", &["NONE"]),
    ("leader.index.drop_abort_entry", &["NONE"]),
    ("leader.lso.ignore_open_txn", &["NONE"]),
    ("leader.marker.accept_equal_epoch", &["DUPREQ", "DELAYREQ", "LOSTRESP"]),
    ("leader.marker.wrong_error_when_not_leader", &["APPENDFAIL", "LFAIL", "REASSIGN"]),
    ("leader.open.accept_before_state_recovered", &["REASSIGN", "LFAIL", "DELAYREQ"]),
    ("leader.produce.no_txn_verification", &["DELAYREQ", "TXNTIMEOUT", "PAUSE"]),
    ("leader.seq.accept_any_when_empty", &["EXPIRE", "RETENTION", "DELAYREQ", "LFAIL"]),
    ("leader.state.drop_with_log_start", &["RETENTION", "EXPIRE"]),
    ("leader.verify.no_guard", &["DELAYREQ", "TXNTIMEOUT", "PAUSE"]),
    ("log.recover.second_state_instance", &["RESTART", "TRUNC"]),
    ("log.recover.snapshot_offset_wrong", &["RESTART", "TRUNC"]),
    ("marker.unknown_leader_means_deleted", &["META", "LFAIL"]),
    ("reader.filter.solitary_abort_breaks", &["NONE"]),
    ("seq.wrap.negative", &["NONE"]),
    ("tc.addpart.ack_before_replicated", &["TCFAIL", "LFAIL"]),
    ("tc.addpart.id_check_before_pending", &["EPOCHMAX"]),
    ("tc.append.clear_pending_on_retry", &["APPENDFAIL"]),
    ("tc.endtxn.ack_from_previous_complete", &["TCFAIL", "LOSTRESP", "META"]),
    ("tc.endtxn.answer_before_replicated", &["TCFAIL"]),
    ("tc.endtxn.empty_commit_judged_from_memory", &["ZTC", "TCFAIL"]),
    ("tc.endtxn.no_txn_identity", &["DELAYREQ", "PAUSE", "LOSTRESP"]),
    ("tc.endtxn.return_current_identity_on_overflow", &["EPOCHMAX"]),
    ("tc.expire.keep_pending_dead", &["EXPIRE", "APPENDFAIL"]),
    ("tc.init.abort_with_same_epoch", &["PAUSE", "RESTART"]),
    ("tc.load.on_partition_epoch_change", &["REASSIGN", "SLOWLOAD"]),
    ("tc.load.refuse_if_cached", &["TCFAIL", "ZTC"]),
    ("tc.load.skip_resume_prepare", &["TCFAIL"]),
    ("tc.timeout.no_epoch_bump", &["TXNTIMEOUT", "PAUSE"]),
];

/// How the explanation of one defect compares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// The defect.
    pub defect: &'static str,
    /// Where it was caught.
    pub scenario: String,
    /// At which seed.
    pub seed: u64,
    /// What it takes, as the catalogue says.
    pub takes: &'static [&'static str],
    /// What of that the explanation names.
    pub named: Vec<&'static str>,
    /// The necessary parts that the explanation finds, switches aside.
    pub necessary: Vec<String>,
    /// The promise that clients feel, if the one that is broken first is none of theirs, and what is
    /// necessary for that.
    pub felt: Option<(&'static str, Vec<String>)>,
}

impl Explained {
    /// Does the explanation name what it takes?
    #[must_use]
    pub fn is_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// A row of the table.
    #[must_use]
    pub fn row(&self) -> String {
        let list = |all: &[&str]| if all.is_empty() { "-".to_string() } else { all.join(", ") };
        let Self { defect, scenario, seed, .. } = self;
        let (takes, named) = (list(self.takes), list(&self.named));
        let necessary = parts(&self.necessary);
        let felt = self.felt.as_ref().map(|(what, needed)| format!("{what}: {}", parts(needed)));
        let felt = felt.unwrap_or_else(|| "-".to_string());
        format!("| `{defect}` | {takes} | {named} | {necessary} | {felt} | `{scenario}` {seed} |")
    }
}

/// So many parts are listed.
const PARTS: usize = 4;

fn parts(all: &[String]) -> String {
    let listed = all.iter().take(PARTS).map(|part| format!("`{part}`"));
    let more = all.len().saturating_sub(PARTS);
    let more = (more > 0).then(|| format!("{more} more"));
    let listed: Vec<String> = listed.chain(more).collect();
    if listed.is_empty() { "no fault".to_string() } else { listed.join(", ") }
}

/// Explains the first run of `scenarios` that breaks one of the invariants of `defect` within so many
/// seeds.
#[must_use]
pub fn explained(
    defect: Defect,
    scenarios: &[ScenarioFile],
    seeds: u64,
    describe: Describe,
) -> Option<Explained> {
    let takes = TAKES.iter().find(|(name, _)| *name == defect.name())?;
    let hit = super::first(defect, scenarios, seeds)?;
    let scenario = scenarios.iter().find(|file| file.head().name == hit.scenario)?;
    let defects = DefectSet::NONE.with(defect);
    let (recording, _) = record(scenario, hit.seed, defects, describe);
    let found = Explain { recording: &recording, runs: RUNS, describe }.run().ok()?;
    let shown = shown(&found, &recording.plan);
    let necessary: Vec<Part> = found.necessary().iter().map(|one| one.part).collect();
    let is_none = |takes: &&str| *takes == "NONE" && necessary.is_empty();
    let named = takes.1.iter().filter(|takes| shown.contains(takes) || is_none(takes));
    Some(Explained {
        defect: takes.0,
        scenario: hit.scenario,
        seed: hit.seed,
        takes: takes.1,
        named: named.copied().collect(),
        necessary: necessary.iter().map(ToString::to_string).collect(),
        felt: found.leads_to.as_ref().map(|felt| {
            let necessary = felt.necessary().into_iter().map(|one| one.part.to_string());
            (felt.broken.what, necessary.collect())
        }),
    })
}

/// Everything that the explanation shows, in the words of the catalogue.
fn shown(found: &Explanation, plan: &Plan) -> Vec<&'static str> {
    let of_parts = found.necessary().into_iter().flat_map(|one| of_part(one.part, plan));
    let of_story = found.story.iter().flat_map(of_moment).copied();
    let felt = found.leads_to.iter().flat_map(|felt| {
        let necessary = felt.necessary().into_iter();
        necessary.flat_map(|one| of_part(one.part, &felt.recording.plan))
    });
    of_parts.chain(of_story).chain(felt).collect()
}

const FAILOVER: &[&str] = &["RESTART", "TCFAIL", "LFAIL", "GCFAIL"];

/// Another leads, with what it coordinates.
const MOVED: &[&str] = &["REASSIGN", "TCFAIL", "LFAIL", "GCFAIL"];

fn of_part(part: Part, plan: &Plan) -> Vec<&'static str> {
    let words: &[&str] = match part {
        Part::Fault(kind) | Part::Strike(kind, _) => of_fault(kind),
        Part::Rule(at) => plan.aimed.get(at).map_or(&[], of_rule),
        Part::Operator(at) => match plan.operator.get(at) {
            Some(OperatorStep::Reassign(_) | OperatorStep::ElectLeader(_)) => MOVED,
            Some(OperatorStep::DeleteRecords(_)) => &["RETENTION"],
            Some(OperatorStep::UpdateFeatures(_)) => &["MIXVER"],
            _ => &[],
        },
        Part::Switch(_) => &[],
    };
    words.to_vec()
}

fn of_rule(rule: &Aimed) -> &'static [&'static str] {
    let answered = rule.when.answered.as_deref();
    match rule.r#do {
        Action::Drop | Action::Silence | Action::Reset if answered.is_some() => &["LOSTRESP"],
        Action::DelayMs(_) | Action::Hold(_) | Action::HoldUntil(_) => match answered {
            Some("FetchMetadata") => &["META", "ZTC"],
            _ => &["DELAYREQ"],
        },
        Action::LateMs(_) | Action::LateUntil(_) => &["DELAYREQ", "DUPREQ"],
        Action::AnswerWith(_) => &["APPENDFAIL"],
        Action::Crash(_) | Action::Stop(_) => FAILOVER,
        Action::Pause(_) => &["PAUSE"],
        _ => &[],
    }
}

fn of_fault(kind: &str) -> &'static [&'static str] {
    match kind {
        "lost_response" => &["LOSTRESP"],
        "late_request" | "slow_link" => &["DELAYREQ", "DUPREQ"],
        "crash" | "restart_loop" | "disk_error" => FAILOVER,
        "gc_pause" | "slow_actor" | "zombie" => &["PAUSE"],
        "stale_metadata" | "controller_away" => &["META", "ZTC"],
        "clock_jump" => &["CLOCK"],
        "load_error" => &["SLOWLOAD"],
        "reassignment" => MOVED,
        "leader_election" => &["LFAIL", "TCFAIL", "GCFAIL"],
        "replication_stall" => &["APPENDFAIL"],
        "housekeeping" => &["COMPACT", "EXPIRE", "RETENTION"],
        _ => &[],
    }
}

/// What a line of the story tells, by its rules and by what changes in it.
fn of_moment(moment: &Moment) -> Vec<&'static &'static str> {
    const RULES: &[(&str, &str)] = &[
        ("C-TMO-", "TXNTIMEOUT"),
        ("C-EXP-", "EXPIRE"),
        ("L-EXP-", "EXPIRE"),
        ("G-EXP-", "EXPIRE"),
    ];
    const TEXTS: &[(&str, &str)] = &[
        ("log start", "RETENTION"),
        ("log cut", "TRUNC"),
        ("compacted", "COMPACT"),
        ("could not be written", "APPENDFAIL"),
        ("forgotten", "EXPIRE"),
        ("leads __transaction_state", "TCFAIL"),
        ("leads __consumer_offsets", "GCFAIL"),
        ("leads ", "LFAIL"),
        ("COORDINATOR_LOAD_IN_PROGRESS", "SLOWLOAD"),
        ("NOT_ENOUGH_REPLICAS", "APPENDFAIL"),
        ("REBALANCE_IN_PROGRESS", "REBAL"),
        ("revoked", "REBAL"),
        ("assigned", "REBAL"),
        ("JoinGroup", "REBAL"),
        ("epoch 32766", "EPOCHMAX"),
        ("32766", "EPOCHMAX"),
        ("32767", "EPOCHMAX"),
    ];
    let rules = RULES.iter().filter(|(rule, _)| moment.rules.iter().any(|of| of.starts_with(rule)));
    let told = |text: &str| {
        moment.text.contains(text) || moment.changes.iter().any(|change| change.contains(text))
    };
    let texts = TEXTS.iter().filter(|(text, _)| told(text));
    rules.chain(texts).map(|(_, word)| word).collect()
}
