//! No path of a machine in a tracked file.

use std::fs;
use std::path::Path;

use crate::source;

/// Below the root of a file system; written without it, so that this file passes, too.
const PLACES: &[&str] = &["home/", "root/", "work/", "tmp/bash", "Users/"];

/// Lines that name a place on somebody's machine.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let places: Vec<String> = PLACES.iter().map(|place| format!("/{place}")).collect();
    let mut complaints = Vec::new();
    for path in source::tracked(root) {
        let Ok(text) = fs::read_to_string(root.join(&path)) else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            for place in places.iter().filter(|place| line.contains(place.as_str())) {
                complaints.push(format!("{path}:{number}: names {place}"));
            }
        }
    }
    complaints
}
