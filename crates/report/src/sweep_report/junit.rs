//! JUnit's XML, as test runners write it and CI servers read it: one suite, a test case for each
//! scenario.

use std::fmt::Write;

use eosim_types::visible::visible;

use super::{ReportedFailure, SweepReport, reason};
use crate::shell::quoted;
use crate::summary::ScenarioSummary;

/// So many failures are told of each scenario.
const TOLD: usize = 10;

pub(super) fn junit(report: &SweepReport) -> String {
    let lacks = report.lacks();
    let count = report.scenarios.len() + usize::from(lacks.is_some());
    let failed = report.scenarios.iter().filter(|(one, _)| is_failure(one)).count();
    let undecided = report.scenarios.iter().filter(|(one, _)| is_error(one)).count();
    let undecided = undecided + usize::from(lacks.is_some());
    let counts = format!("tests=\"{count}\" failures=\"{failed}\" errors=\"{undecided}\"");
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = attribute(&report.name);
    let _ = writeln!(text, "<testsuites {counts}>");
    let _ = writeln!(text, "  <testsuite name=\"{name}\" {counts} skipped=\"0\">");
    for (scenario, _) in &report.scenarios {
        text += &case(report, scenario);
    }
    if let Some(lacks) = lacks {
        let lacks = attribute(&lacks);
        let _ = writeln!(text, "    <testcase classname=\"eosim\" name=\"every run was made\">");
        let _ = writeln!(text, "      <error type=\"MISSING\" message=\"{lacks}\"/>");
        let _ = writeln!(text, "    </testcase>");
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// Nothing can be said: neither passed nor failed.
fn is_error(scenario: &ScenarioSummary) -> bool {
    matches!(scenario.verdict(), "INCONCLUSIVE" | "NONDETERMINISTIC")
}

fn is_failure(scenario: &ScenarioSummary) -> bool {
    !scenario.passed() && !is_error(scenario)
}

fn case(report: &SweepReport, scenario: &ScenarioSummary) -> String {
    let name = attribute(&scenario.name);
    let head = format!("    <testcase classname=\"eosim\" name=\"{name}\"");
    if scenario.passed() {
        return head + "/>\n";
    }
    let tag = if is_error(scenario) { "error" } else { "failure" };
    let (kind, message) = (attribute(scenario.verdict()), attribute(&reason(scenario)));
    let of_it = report.failures.iter().filter(|one| one.scenario == scenario.name);
    let told: String = of_it.take(TOLD).map(told).collect();
    format!(
        "{head}>\n      <{tag} type=\"{kind}\" message=\"{message}\">{}</{tag}>\n    \
         </testcase>\n",
        content(&told)
    )
}

fn told(failure: &ReportedFailure) -> String {
    let ReportedFailure { seed, what, summary, rule, .. } = failure;
    let folder = quoted(&failure.folder);
    format!("{what} at seed {seed}: {summary}\nrule {rule}\neosim replay {folder}\n")
}

fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\n', "&#10;")
}

/// Text between tags; what cannot be seen is spelled out, and what XML 1.0 has no place for left out.
fn content(text: &str) -> String {
    let is_legal = |c: &char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let legal: String = visible(text, &['\n', '\t']).chars().filter(is_legal).collect();
    legal.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
