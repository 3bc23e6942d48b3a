//! A page for people: sections of text, facts, lines of a run, tables and commands; as plain text, as
//! Markdown that can be pasted, or as one HTML file.
//!
//! Invariant: nothing is loaded from elsewhere, and what a run says is never taken for markup.

mod html;
mod markdown;
mod text;

pub(crate) use html::escaped;

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// What it is about, in one line.
    pub title: String,
    /// What is on it.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// The heading of what follows.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Names and what is said of each.
    Facts(Vec<(String, String)>),
    /// Lines of a run.
    Lines(Vec<PageLine>),
    /// Where two runs part.
    Parting(PagePart),
    /// A table.
    Table {
        /// The names of the columns.
        head: Vec<String>,
        /// As many cells in each row.
        rows: Vec<Vec<String>>,
    },
    /// Commands to paste.
    Commands(Vec<String>),
}

/// A line of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageLine {
    /// The step; nothing for what the world does.
    pub step: String,
    /// Virtual time, seconds.
    pub time: String,
    /// To whom it happened.
    pub actor: String,
    /// What happened.
    pub event: String,
    /// What more there is to say.
    pub notes: Vec<String>,
    /// How it stands out.
    pub mark: Mark,
}

/// How a line stands out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mark {
    /// Not at all.
    #[default]
    None,
    /// A fault that is necessary.
    Fault,
    /// The promise is broken.
    Broken,
}

/// Where two runs part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PagePart {
    /// The last lines that they share.
    pub before: Vec<PageLine>,
    /// What the first run is called, and how it goes on.
    pub first: (String, Vec<PageLine>),
    /// The same of the second run.
    pub second: (String, Vec<PageLine>),
}

/// A line of a run is cut after so many characters.
const WIDTH: usize = 240;

impl Page {
    /// As plain text.
    #[must_use]
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// As Markdown, short enough for an issue.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// As one HTML file.
    #[must_use]
    pub fn html(&self) -> String {
        html::render(self)
    }
}

/// `text`, cut if it is too long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// The width of the widest, in characters; beyond some, nothing is aligned.
fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0).min(WIDTH)
}

/// Lines in columns, each behind `sign`; what else is said of one stands below it.
fn columns(lines: &[PageLine], sign: &str, width: usize) -> String {
    let mut text = String::new();
    for line in lines {
        let PageLine { step, time, actor, event, .. } = line;
        let row = format!("{sign}{step:>7} {time:>12} {actor:<width$} {}", cut(event));
        text += row.trim_end();
        text.push('\n');
        for note in &line.notes {
            let row = format!("{sign}{:>7} {:>12} {:<width$}      {}", "", "", "", cut(note));
            text += row.trim_end();
            text.push('\n');
        }
    }
    text
}

/// Where two runs part, as `diff` shows it.
fn unified(part: &PagePart) -> String {
    let PagePart { before, first, second } = part;
    let all = before.iter().chain(&first.1).chain(&second.1);
    let width = widest(all.map(|line| line.actor.as_str()));
    let ended = |sign: &str, (name, lines): &(String, Vec<PageLine>)| match lines.as_slice() {
        [] => format!("{sign} ({name} has ended)\n"),
        lines => columns(lines, sign, width),
    };
    let head = format!("--- {}\n+++ {}\n", first.0, second.0);
    head + &columns(before, " ", width) + &ended("-", first) + &ended("+", second)
}
