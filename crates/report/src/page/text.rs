//! Plain text, indented by two below headings.

use super::{Block, Page, columns, unified, widest};

pub(super) fn render(page: &Page) -> String {
    let mut text = format!("{}\n", page.title);
    for block in &page.blocks {
        match block {
            Block::Heading(heading) => text += &format!("\n{heading}\n"),
            Block::Text(paragraph) => text += &indented(paragraph),
            Block::Facts(facts) => {
                let width = widest(facts.iter().map(|(name, _)| name.as_str()));
                for (name, said) in facts {
                    text += &indented(&format!("{name:<width$}  {said}"));
                }
            }
            Block::Lines(lines) => {
                let width = widest(lines.iter().map(|line| line.actor.as_str()));
                text += &columns(lines, "", width);
            }
            Block::Parting(part) => text += &indented(&unified(part)),
            Block::Table { head, rows } => text += &table(head, rows),
            Block::Commands(commands) => {
                commands.iter().for_each(|command| text += &indented(command));
            }
        }
    }
    text
}

fn indented(paragraph: &str) -> String {
    paragraph.lines().map(|line| format!("  {line}").trim_end().to_string() + "\n").collect()
}

fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..head.len())
        .map(|at| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(String::as_str);
            widest(cells.chain([head[at].as_str()]))
        })
        .collect();
    let row = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        indented(&padded.collect::<Vec<_>>().join("  "))
    };
    row(head) + &rows.iter().map(|cells| row(cells)).collect::<String>()
}
