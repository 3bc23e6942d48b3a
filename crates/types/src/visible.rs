//! Text that shows what is in it: what a terminal would obey, or nobody would see, is spelled out.

use alloc::format;
use alloc::string::String;

/// Control characters, separators of lines and paragraphs, and what turns the direction of text.
#[must_use]
pub fn is_unseen(letter: char) -> bool {
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || turns || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// `text` with everything spelled out that [`is_unseen`], but for those that are `kept`: as `\u001b`,
/// which JSON reads as the character itself.
#[must_use]
pub fn visible(text: &str, kept: &[char]) -> String {
    let mut visible = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unseen(letter) && !kept.contains(&letter) {
            visible += &format!("\\u{:04x}", u32::from(letter));
        } else {
            visible.push(letter);
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_spelled_out() {
        assert_eq!(visible("a\u{1b}[2Jb\r\n", &['\n']), "a\\u001b[2Jb\\u000d\n");
        assert_eq!(visible("ä … \u{85}\u{202e}x", &[]), "ä … \\u0085\\u202ex");
    }
}
