//! Pages in their three forms; what a run says is never taken for markup.

use eosim_report::{Block, Mark, Page, PageLine, PagePart};
use expect_test::expect;

fn line(step: &str, event: &str, mark: Mark) -> PageLine {
    PageLine {
        step: step.to_string(),
        time: "1.000000".to_string(),
        actor: "writer".to_string(),
        event: event.to_string(),
        notes: vec!["orders-0: high watermark 0 → 1".to_string()],
        mark,
    }
}

fn page() -> Page {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    Page {
        title: "VIOLATION a_b".to_string(),
        blocks: vec![
            Block::Facts(vec![("but".to_string(), "<b>*x*</b> & |y|".to_string())]),
            Block::Heading("What led to it".to_string()),
            Block::Lines(vec![
                line("7", "sends ``` to orders-0", Mark::Fault),
                line("8", "<script>", Mark::Broken),
            ]),
            Block::Text("No fault.".to_string()),
            Block::Parting(PagePart {
                before: Vec::new(),
                first: ("this run".to_string(), vec![line("9", "-> a", Mark::None)]),
                second: ("without it".to_string(), Vec::new()),
            }),
            Block::Table { head: texts(&["", "A"]), rows: vec![texts(&["x|y", "1"])] },
            Block::Commands(texts(&["eosim replay latest"])),
        ],
    }
}

#[test]
fn a_page_is_plain_text() {
    expect![[r#"
        VIOLATION a_b
          but  <b>*x*</b> & |y|

        What led to it
              7     1.000000 writer sends ``` to orders-0
                                         orders-0: high watermark 0 → 1
              8     1.000000 writer <script>
                                         orders-0: high watermark 0 → 1
          No fault.
          --- this run
          +++ without it
          -      9     1.000000 writer -> a
          -                                 orders-0: high watermark 0 → 1
          + (without it has ended)
               A
          x|y  1
          eosim replay latest
    "#]]
    .assert_eq(&page().text());
}

#[test]
fn a_page_is_markdown_without_markup_of_the_run() {
    expect![[r#"
        # VIOLATION a\_b

        - **but**: &lt;b&gt;\*x\*&lt;/b&gt; &amp; \|y\|

        ## What led to it

        ````text
              7     1.000000 writer sends ``` to orders-0
                                         orders-0: high watermark 0 → 1
              8     1.000000 writer <script>
                                         orders-0: high watermark 0 → 1
        ````

        No fault.

        ```diff
        --- this run
        +++ without it
        -      9     1.000000 writer -> a
        -                                 orders-0: high watermark 0 → 1
        + (without it has ended)
        ```

        |  | A |
        |---|---|
        | x\|y | 1 |

        ```sh
        eosim replay latest
        ```
    "#]]
    .assert_eq(&page().markdown());
}

#[test]
fn a_page_is_html_without_markup_of_the_run() {
    let html = page().html();
    let body = html.split_once("<body>").map(|(_, body)| body).unwrap_or_default();
    expect![[r#"

        <h1>VIOLATION a_b</h1>
        <dl>
        <dt>but</dt><dd>&lt;b&gt;*x*&lt;/b&gt; &amp; |y|</dd>
        </dl>
        <h2>What led to it</h2>
        <table class="lines">
        <tr><th class="number">step</th><th class="number">time</th><th>who</th><th>what</th></tr>
        <tr class="fault"><td class="number">7</td><td class="number">1.000000</td><td>writer</td><td>sends ``` to orders-0<div class="note">orders-0: high watermark 0 → 1</div></td></tr>
        <tr class="broken"><td class="number">8</td><td class="number">1.000000</td><td>writer</td><td>&lt;script&gt;<div class="note">orders-0: high watermark 0 → 1</div></td></tr>
        </table>
        <p>No fault.</p>
        <div class="beside">
        <div><h3>this run</h3>
        <table class="lines">
        <tr><th class="number">step</th><th class="number">time</th><th>who</th><th>what</th></tr>
        <tr><td class="number">9</td><td class="number">1.000000</td><td>writer</td><td>-&gt; a<div class="note">orders-0: high watermark 0 → 1</div></td></tr>
        </table>
        </div>
        <div><h3>without it</h3>
        <p>has ended</p>
        </div>
        </div>
        <table>
        <tr><th></th><th>A</th></tr>
        <tr><td>x|y</td><td>1</td></tr>
        </table>
        <pre>eosim replay latest</pre>
        </body>
        </html>
    "#]].assert_eq(body);
}

#[test]
fn a_long_page_is_short_enough_for_an_issue() {
    let long = "long ".repeat(10_000);
    let blocks = vec![Block::Text(long.clone()), Block::Text(long)];
    let markdown = Page { title: "t".to_string(), blocks }.markdown();
    assert!(markdown.chars().count() <= 60_100, "{}", markdown.len());
    assert!(markdown.ends_with("(what follows was too long)\n"));
}
