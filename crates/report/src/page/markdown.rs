//! Markdown as GitHub reads it, no longer than an issue may be.

use eosim_types::visible::visible;

use super::{Block, Page, columns, cut, unified, widest};

/// An issue of GitHub has at most 65,536 characters; some are left for whoever pastes it.
const LENGTH: usize = 60_000;

pub(super) fn render(page: &Page) -> String {
    let mut text = format!("# {}\n", escaped(&page.title));
    for block in &page.blocks {
        let more = self::block(block);
        if text.chars().count() + more.chars().count() > LENGTH {
            text += "\n(what follows was too long)\n";
            break;
        }
        text += &more;
    }
    text
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(heading) => format!("\n## {}\n", escaped(heading)),
        Block::Text(paragraph) => format!("\n{}\n", escaped(paragraph)),
        Block::Facts(facts) => {
            let fact = |(name, said): &(String, String)| {
                format!("- **{}**: {}\n", escaped(name), escaped(&cut(said)))
            };
            "\n".to_string() + &facts.iter().map(fact).collect::<String>()
        }
        Block::Lines(lines) => {
            let width = widest(lines.iter().map(|line| line.actor.as_str()));
            fenced("text", &columns(lines, "", width))
        }
        Block::Parting(part) => fenced("diff", &unified(part)),
        Block::Table { head, rows } => table(head, rows),
        Block::Commands(commands) => fenced("sh", &(commands.join("\n") + "\n")),
    }
}

/// A block of code; its fence is longer than any in it.
fn fenced(kind: &str, code: &str) -> String {
    let mut ticks = 3;
    while code.contains(&"`".repeat(ticks)) {
        ticks += 1;
    }
    let fence = "`".repeat(ticks);
    let code = visible(code, &['\n']);
    format!("\n{fence}{kind}\n{code}{fence}\n")
}

fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String]| {
        let cells = cells.iter().map(|cell| escaped(&cut(cell)).replace('\n', " "));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    "\n".to_string() + &row(head) + &rule + &rows.iter().map(|cells| row(cells)).collect::<String>()
}

/// Text in which nothing is markup.
fn escaped(text: &str) -> String {
    let text = visible(text, &['\n']);
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '@' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            _ => escaped.push(letter),
        }
    }
    escaped
}
