//! The known word that a mistyped one most likely stands for.

/// Longer words are not compared.
const LONGEST: usize = 120;

/// The first of the `known` words with the smallest edit distance to `word`, if a third of its
/// letters at most differ.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length == 0 || length > LONGEST {
        return None;
    }
    let allowed = (length / 3).max(1);
    let distances = known.into_iter().map(|candidate| (distance(word, candidate), candidate));
    distances.filter(|(d, _)| *d <= allowed).min_by_key(|(d, _)| *d).map(|(_, word)| word)
}

/// Letters to insert, remove or replace to make `a` into `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_within_a_third() {
        let known = ["partitions", "replication_factor", "settings", "count"];
        let cases = [
            ("partitons", Some("partitions")),
            ("partitions", Some("partitions")),
            ("cuont", None),
            ("coun", Some("count")),
            ("replication_faktor", Some("replication_factor")),
            ("zebra", None),
            ("", None),
        ];
        for (word, found) in cases {
            assert_eq!(nearest(word, known), found, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(10_000), known), None);
    }

    #[test]
    fn distance_counts_single_letters() {
        for (a, b, d) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ä", "a", 1)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }
}
