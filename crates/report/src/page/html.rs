//! One HTML file with its style in it; no script.

use eosim_types::visible::{is_unseen, visible};

use super::{Block, Mark, Page, PageLine, PagePart};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem;border-bottom:1px solid #ccc}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.15rem .6rem}
th{border-bottom:1px solid #ccc}tr:nth-child(even){background:#f6f6f6}
code,pre,.lines td{font-family:ui-monospace,monospace;font-size:13px}.number{text-align:right;white-space:nowrap}
pre{background:#f6f6f6;padding:.6rem;overflow:auto}.note{color:#555}
tr.fault{background:#fff1d6}tr.broken{background:#ffdcdc}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem}dt{font-weight:600}dd{margin:0}
.beside{display:grid;grid-template-columns:1fr 1fr;gap:1rem}.beside>div{overflow:auto}
@media(prefers-color-scheme:dark){:root{color-scheme:dark}body{color:#e6e6e6;background:#181818}
h2,th{border-color:#4a4a4a}pre,tr:nth-child(even){background:#232323}
tr.fault{background:#4a3a12}tr.broken{background:#5a1f1f}.note{color:#aaa}}";

pub(super) fn render(page: &Page) -> String {
    let title = escaped(&page.title);
    let blocks: String = page.blocks.iter().map(block).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n{blocks}</body>\n</html>\n"
    )
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(heading) => format!("<h2>{}</h2>\n", escaped(heading)),
        Block::Text(paragraph) => format!("<p>{}</p>\n", escaped(paragraph)),
        Block::Facts(facts) => {
            let fact = |(name, said): &(String, String)| {
                format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(said))
            };
            format!("<dl>\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
        }
        Block::Lines(lines) => self::lines(lines),
        Block::Parting(part) => parting(part),
        Block::Table { head, rows } => table(head, rows),
        Block::Commands(commands) => format!("<pre>{}</pre>\n", escaped(&commands.join("\n"))),
    }
}

fn lines(lines: &[PageLine]) -> String {
    let rows: String = lines.iter().map(row).collect();
    format!(
        "<table class=\"lines\">\n<tr><th class=\"number\">step</th><th class=\"number\">time</th>\
         <th>who</th><th>what</th></tr>\n{rows}</table>\n"
    )
}

fn row(line: &PageLine) -> String {
    let class = match line.mark {
        Mark::None => "",
        Mark::Fault => " class=\"fault\"",
        Mark::Broken => " class=\"broken\"",
    };
    let note = |note: &String| format!("<div class=\"note\">{}</div>", escaped(note));
    let notes: String = line.notes.iter().map(note).collect();
    let PageLine { step, time, actor, event, .. } = line;
    format!(
        "<tr{class}><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td>\
         <td>{}{notes}</td></tr>\n",
        escaped(step),
        escaped(time),
        escaped(actor),
        escaped(event)
    )
}

fn parting(part: &PagePart) -> String {
    let PagePart { before, first, second } = part;
    let side = |(name, lines): &(String, Vec<PageLine>)| {
        let lines = match lines.as_slice() {
            [] => "<p>has ended</p>\n".to_string(),
            lines => self::lines(lines),
        };
        format!("<div><h3>{}</h3>\n{lines}</div>\n", escaped(name))
    };
    let before = if before.is_empty() { String::new() } else { self::lines(before) };
    format!("{before}<div class=\"beside\">\n{}{}</div>\n", side(first), side(second))
}

fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String], tag: &str| {
        let cell = |cell: &String| format!("<{tag}>{}</{tag}>", escaped(cell));
        format!("<tr>{}</tr>\n", cells.iter().map(cell).collect::<String>())
    };
    let rows: String = rows.iter().map(|cells| row(cells, "td")).collect();
    format!("<table>\n{}{rows}</table>\n", row(head, "th"))
}

/// Text in which nothing is markup, in attributes neither.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\n' | '\t' => escaped.push(letter),
            _ if is_unseen(letter) => escaped += &visible(letter.encode_utf8(&mut [0; 4]), &[]),
            _ => escaped.push(letter),
        }
    }
    escaped
}
