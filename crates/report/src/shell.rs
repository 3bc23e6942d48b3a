//! Commands to paste: words as a shell reads them.

use eosim_types::visible::is_unseen;

/// `word`, quoted if a shell would take it for something else.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    if word.chars().any(is_unseen) {
        return format!("$'{}'", word.chars().map(spelled).collect::<String>());
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A letter between `$'` and `'`.
fn spelled(letter: char) -> String {
    match letter {
        '\'' | '\\' => format!("\\{letter}"),
        letter if is_unseen(letter) => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        for (word, text) in [
            ("scenarios/a.json", "scenarios/a.json"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("~", "'~'"),
            ("", "''"),
            ("a\nb'", r"$'a\u000ab\''"),
        ] {
            assert_eq!(quoted(word), text);
        }
    }
}
