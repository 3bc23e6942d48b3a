//! A state machine as a graph for Graphviz.
//!
//! No counterpart in Kafka.

use std::fmt::Write;

/// The graph called `name`. A state with a note gets a second line, a transition with a note is
/// dashed and labelled; both come in the order given.
#[must_use]
pub fn dot(
    name: &str,
    states: &[(&str, Option<&str>)],
    transitions: &[(&str, &str, Option<&str>)],
) -> String {
    let mut text = format!("digraph {name} {{\n  rankdir=LR;\n  node [shape=box];\n");
    for (state, note) in states {
        let label = note.map(|note| format!(" [label=\"{state}\\n{note}\"]"));
        let _ = writeln!(text, "  {state}{};", label.unwrap_or_default());
    }
    for (from, to, note) in transitions {
        let label = note.map(|note| format!(" [style=dashed, label=\"{note}\"]"));
        let _ = writeln!(text, "  {from} -> {to}{};", label.unwrap_or_default());
    }
    text + "}\n"
}
