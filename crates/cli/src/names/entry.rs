//! What there is to say of one name, as text, as a page (Markdown, HTML), or as JSON.

use eosim_report::{Block, Page};
use serde_json::{Map, Value, json};

/// One thing that has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What it is: `rule`, `defect` …
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Other names that it is known by.
    pub aliases: Vec<String>,
    /// What it says, promises or does.
    pub about: String,
    /// What else there is to say, by title: each a line or several.
    pub facts: Vec<(&'static str, Vec<String>)>,
    /// Commands that show it.
    pub commands: Vec<String>,
}

impl Entry {
    /// An entry with nothing but its text.
    #[must_use]
    pub fn new(kind: &'static str, name: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            aliases: Vec::new(),
            about: about.into(),
            facts: Vec::new(),
            commands: Vec::new(),
        }
    }

    /// The same, with another fact, unless there is nothing to say.
    #[must_use]
    pub fn with<T: Into<String>>(
        mut self,
        title: &'static str,
        lines: impl IntoIterator<Item = T>,
    ) -> Self {
        let lines: Vec<String> = lines.into_iter().map(Into::into).collect();
        if !lines.is_empty() {
            self.facts.push((title, lines));
        }
        self
    }

    /// The same, with commands that show it.
    #[must_use]
    pub fn shown_by(mut self, commands: impl IntoIterator<Item = String>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Is it called so? Case does not matter, nor whether words are joined by `-`, `_` or a space.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let name = plain(name);
        plain(&self.name) == name || self.aliases.iter().any(|alias| plain(alias) == name)
    }

    fn title(&self) -> String {
        let also = match self.aliases.as_slice() {
            [] => String::new(),
            aliases => format!(" ({})", aliases.join(", ")),
        };
        format!("{} · {}{also}", self.name, self.kind)
    }

    /// As text for a terminal, folded.
    #[must_use]
    pub fn text(&self) -> String {
        let widest = self.facts.iter().map(|(title, _)| title.len()).max().unwrap_or(0);
        let mut text = self.title() + "\n" + &indented(&folded(&self.about, WIDTH));
        for (title, lines) in &self.facts {
            text += &aligned(title, lines, widest);
        }
        if !self.commands.is_empty() {
            text += "\nCommands\n";
            text += &indented(&self.commands.join("\n"));
        }
        text
    }

    /// As a page for elsewhere.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut blocks = vec![Block::Text(self.about.clone())];
        let facts = self.facts.iter().flat_map(|(title, lines)| {
            lines.iter().map(|line| ((*title).to_string(), line.clone()))
        });
        blocks.push(Block::Facts(facts.collect()));
        if !self.commands.is_empty() {
            blocks.push(Block::Heading("Commands".into()));
            blocks.push(Block::Commands(self.commands.clone()));
        }
        Page { title: self.title(), blocks }
    }

    /// The same as a JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let facts: Map<String, Value> =
            self.facts.iter().map(|(title, lines)| ((*title).to_string(), json!(lines))).collect();
        json!({"kind": self.kind, "name": self.name, "aliases": self.aliases,
            "about": self.about, "facts": facts, "commands": self.commands})
    }
}

/// Text is folded at so many characters.
const WIDTH: usize = 98;

/// A fact, folded to the width that is left beside its title; only its first line has the title.
fn aligned(title: &str, lines: &[String], widest: usize) -> String {
    let width = WIDTH.saturating_sub(widest + 2);
    let lines: Vec<String> = lines.iter().map(|line| folded(line, width)).collect();
    let lines = lines.iter().flat_map(|line| line.lines());
    let titles = std::iter::once(title).chain(std::iter::repeat(""));
    titles.zip(lines).map(|(title, line)| format!("  {title:<widest$}  {line}\n")).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// `text` with line breaks between words, at most `width` characters a line where words allow it.
fn folded(text: &str, width: usize) -> String {
    let mut folded = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > width {
            folded.push('\n');
            length = 0;
        } else if length > 0 {
            folded.push(' ');
            length += 1;
        }
        folded += word;
        length += size;
    }
    folded
}

/// A name as it is compared.
pub(super) fn plain(name: &str) -> String {
    let joined = |c: char| if matches!(c, '_' | ' ') { '-' } else { c.to_ascii_lowercase() };
    name.trim().chars().map(joined).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_folded_and_aligned() {
        let entry = Entry::new("term", "x", "word ".repeat(30))
            .with("rules", ["L-SEQ-3", "L-SEQ-4"])
            .with("nothing", Vec::<String>::new())
            .with("see", ["y"])
            .shown_by(["eosim explain y".to_string()]);
        let line = |n: usize| format!("  {}\n", vec!["word"; n].join(" "));
        let expected = format!(
            "x · term\n{}{}  rules  L-SEQ-3\n         L-SEQ-4\n  see    y\n\nCommands\n  eosim explain y\n",
            line(19),
            line(11),
        );
        assert_eq!(entry.text(), expected);
    }

    #[test]
    fn names_are_compared_without_case_and_joints() {
        let mut entry = Entry::new("term", "last stable offset", "");
        entry.aliases.push("LSO".into());
        for name in ["lso", "Last-Stable-Offset", "last_stable_offset"] {
            assert!(entry.is_called(name), "{name}");
        }
        assert!(!entry.is_called("last stable"));
    }
}
