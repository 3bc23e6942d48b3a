//! The known word that a mistyped one most likely stands for.

/// Longer words are not compared.
const LONGEST: usize = 120;

/// The first of the `known` words with the smallest edit distance to `word`, if a third of its
/// letters at most differ; or else the first that begins with it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length == 0 || length > LONGEST {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    let allowed = (length / 3).max(1);
    let distances = known.iter().map(|candidate| (distance(word, candidate), *candidate));
    let near = distances.filter(|(d, _)| *d <= allowed).min_by_key(|(d, _)| *d);
    let longer = || known.iter().copied().find(|known| length > 2 && known.starts_with(word));
    near.map(|(_, word)| word).or_else(longer)
}

/// Letters to insert, remove, replace or swap with the next to make `a` into `b` (Damerau's optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            rows[i][j] = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[a.len()][b.len()]
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
            ("cuont", Some("count")),
            ("repl", Some("replication_factor")),
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
        for (a, b, d) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("ä", "a", 1),
            ("sned", "send", 1),
        ] {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }
}
