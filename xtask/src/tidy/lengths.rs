//! Lengths: a function has at most 70 lines, a file at most 800.

use crate::source::Source;

const FUNCTION_MAX: usize = 70;
const FILE_MAX: usize = 800;

/// Functions and files that are too long.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let path = &source.path;
    let mut complaints = Vec::new();
    if lines.len() > FILE_MAX {
        complaints.push(format!("{path}: {} lines, at most {FILE_MAX}", lines.len()));
    }
    for (start, line) in lines.iter().enumerate() {
        if !begins_function(line) {
            continue;
        }
        let length = function_length(&lines[start..]);
        if length > FUNCTION_MAX {
            let at = start + 1;
            complaints.push(format!("{path}:{at}: function of {length} lines, at most 70"));
        }
    }
    complaints
}

fn begins_function(line: &str) -> bool {
    let mut before = line.split_whitespace().take_while(|word| *word != "fn");
    let modifiers = ["pub", "const", "async", "extern", "pub(crate)", "pub(super)"];
    let only_modifiers = before.all(|word| modifiers.contains(&word));
    only_modifiers && line.contains("fn ")
}

/// Formatted code closes a function at the indentation at which it began.
fn function_length(lines: &[&str]) -> usize {
    let indent = lines[0].len() - lines[0].trim_start().len();
    let closes = |line: &&str| {
        let own = line.len() - line.trim_start().len();
        own == indent && (line.trim_start().starts_with('}') || line.ends_with(';'))
    };
    if closes(&lines[0]) || lines[0].trim_end().ends_with('}') {
        return 1;
    }
    lines[1..].iter().position(closes).map_or(1, |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_measured_from_its_head_to_its_closing_brace() {
        let body = "    x;\n".repeat(69);
        let text = format!("pub(crate) const fn long() {{\n{body}}}\nfn short() {{}}\n");
        let source = Source { path: "a.rs".into(), text };
        assert_eq!(check_file(&source), ["a.rs:1: function of 71 lines, at most 70"]);
    }
}
