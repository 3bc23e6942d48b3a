//! `eosim dot`.

mod support;

use expect_test::expect;
use support::Folder;

#[test]
fn a_machine_is_printed_for_graphviz() {
    let folder = Folder::new();
    expect![[r#"
        digraph group {
          rankdir=LR;
          node [shape=box];
          Empty;
          PreparingRebalance;
          CompletingRebalance;
          Stable;
          PreparingRebalance -> Empty;
          Empty -> PreparingRebalance;
          CompletingRebalance -> PreparingRebalance;
          Stable -> PreparingRebalance;
          PreparingRebalance -> CompletingRebalance;
          CompletingRebalance -> Stable;
        }
    "#]]
    .assert_eq(&folder.ends(&["dot", "group"], 0).out);
    expect![[r#"
        digraph coordinator {
          rankdir=LR;
          node [shape=box];
          Empty [label="Empty\nmay expire"];
          Ongoing;
          PrepareCommit;
          PrepareAbort;
          CompleteCommit [label="CompleteCommit\nmay expire"];
          CompleteAbort [label="CompleteAbort\nmay expire"];
          Dead [label="Dead\nonly ever pending"];
          PrepareEpochFence [label="PrepareEpochFence\nonly ever pending"];
          Empty -> Empty;
          CompleteCommit -> Empty;
          CompleteAbort -> Empty;
          Ongoing -> Ongoing;
          Empty -> Ongoing;
          CompleteCommit -> Ongoing;
          CompleteAbort -> Ongoing;
          Ongoing -> PrepareCommit;
          Empty -> PrepareCommit [style=dashed, label="from 4.5 on"];
          CompleteCommit -> PrepareCommit [style=dashed, label="from 4.5 on"];
          CompleteAbort -> PrepareCommit [style=dashed, label="from 4.5 on"];
          Ongoing -> PrepareAbort;
          PrepareEpochFence -> PrepareAbort;
          Empty -> PrepareAbort;
          CompleteCommit -> PrepareAbort;
          CompleteAbort -> PrepareAbort;
          PrepareCommit -> CompleteCommit;
          PrepareAbort -> CompleteAbort;
          Empty -> Dead;
          CompleteAbort -> Dead;
          CompleteCommit -> Dead;
          Ongoing -> PrepareEpochFence;
        }
    "#]]
    .assert_eq(&folder.ends(&["dot", "coordinator"], 0).out);
    let lines = folder.ends(&["dot", "producer"], 0).out;
    assert!(lines.contains("  READY -> IN_TRANSACTION;"), "{lines}");
    let json = folder.ends(&["dot", "producer", "--format", "json"], 0).out;
    assert!(json.starts_with("{\"format\":1,\"machine\":\"producer\""), "{json}");
}

#[test]
fn an_unknown_machine_is_refused_with_the_nearest_name() {
    let folder = Folder::new();
    let refused = folder.ends(&["dot", "cordinator"], 2).err;
    assert!(refused.contains("'cordinator'") && refused.contains("'coordinator'"), "{refused}");
}
