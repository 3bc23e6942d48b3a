//! All house rules that a program can check.

mod arrows;
mod banned;
mod dead_files;
mod lengths;
mod paths;
mod readme;
mod scenarios;
mod supply;

use std::path::Path;

use crate::{library, rules, source};

/// Every complaint, each with file and line where there is one.
pub(crate) fn run(root: &Path) -> Vec<String> {
    let sources = source::rust_files(root);
    let mut complaints = arrows::check(root);
    complaints.extend(lengths::check(&sources));
    complaints.extend(dead_files::check(&sources));
    complaints.extend(banned::check(&sources));
    complaints.extend(rules::unknown_ids(&sources));
    complaints.extend(rules::wrong_marks(&sources));
    complaints.extend(paths::check(root));
    complaints.extend(scenarios::check(root));
    complaints.extend(library::check(root));
    complaints.extend(readme::check(root));
    complaints.extend(supply::check(root));
    complaints
}
