//! What `eosim list` prints.

use eosim::args::Format;
use eosim::list::{self, Table};
use expect_test::expect;
use serde_json::json;

fn table() -> Table {
    Table {
        name: "things",
        columns: vec!["name", "about", "kinds"],
        rows: vec![
            vec![json!("a"), json!("The first."), json!(["x", "y"])],
            vec![json!("long"), json!("The second one."), json!([])],
        ],
        shown: 2,
    }
}

#[test]
fn a_table_has_three_forms() {
    expect![[r#"
        a     The first.
        long  The second one.
    "#]]
    .assert_eq(&table().print(Format::Text, false));
    expect![[r#"
        a     The first.       x, y
        long  The second one.
    "#]]
    .assert_eq(&table().print(Format::Text, true));
    expect![[r#"
        {"format":1,"things":[{"about":"The first.","kinds":["x","y"],"name":"a"},{"about":"The second one.","kinds":[],"name":"long"}]}
    "#]].assert_eq(&table().print(Format::Json, false));
    expect![[r#"
        {"about":"The first.","kinds":["x","y"],"name":"a"}
        {"about":"The second one.","kinds":[],"name":"long"}
    "#]]
    .assert_eq(&table().print(Format::Jsonl, false));
}

#[test]
fn every_list_names_its_rows() {
    for table in [list::defects(), list::rules(), list::errors()] {
        assert!(!table.rows.is_empty(), "{}", table.name);
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.name);
    }
}
