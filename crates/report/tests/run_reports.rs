//! Every form in which one run is shown or reported, on a run of a few lines: a commit is asked for,
//! its answer is lost, and what the application learns is markup.

use std::sync::Arc;

use eosim_report::RunReport;
use eosim_report::run_report::{FORMS, Filter, diagram, diagram_json, timeline, timeline_json};
use eosim_report::transcript;
use eosim_types::look::{
    Change, ClientStanding, Moment, MomentKind, Order, ProducerStanding, ReplicaStanding, Turn,
    Turned,
};
use eosim_types::observation::TransactionRef;
use eosim_types::record::{AbortedTxn, Payload, Record, RecordBatch};
use eosim_types::{
    ActorId, BrokerId, Instant, LeaderEpoch, Names, ProducerEpoch, ProducerId, Sequence,
    TopicPartition,
};
use expect_test::{expect, expect_file};

const BROKER: ActorId = ActorId(1);
const WRITER: ActorId = ActorId(2);

fn moment(step: u64, at: u64, actor: ActorId, kind: MomentKind, text: &str) -> Moment {
    let (at, text) = (Instant(at), text.to_string());
    Moment { at, step, actor, text, kind, from: None, rules: Vec::new(), concern: 0 }
}

fn moments() -> Vec<Moment> {
    use MomentKind::{Befalls, Commanded, Observes, Sends, Starts, TakesAnswer, TakesRequest};
    let sends = |request| Sends { request: Some(request) };
    let mut moments = vec![
        moment(1, 0, BROKER, Starts, "starts"),
        moment(2, 0, WRITER, Starts, "starts"),
        moment(2, 0, WRITER, sends(1), "-> broker-1 #1 Metadata"),
        moment(3, 900, BROKER, TakesRequest { request: 1 }, "<- writer Metadata"),
        moment(
            4,
            1_800,
            WRITER,
            TakesAnswer { request: Some(1), is_disconnect: false },
            "<- #1 Metadata NONE",
        ),
        moment(5, 2_000, WRITER, Observes, "* sends <b>&\"x to orders-0 in transaction 0.1"),
        moment(5, 2_000, WRITER, sends(2), "-> broker-1 #2 Produce orders-0 [<b>&\"x] of 0/3"),
        moment(6, 3_000, BROKER, TakesRequest { request: 2 }, "<- writer Produce orders-0 of 0/3"),
        moment(
            0,
            3_000,
            BROKER,
            Befalls { request: 2, is_answer: true, is_lost: true },
            "! Produce response to writer: lost, the connection breaks (lost_response)",
        ),
        moment(
            7,
            4_000,
            WRITER,
            TakesAnswer { request: Some(2), is_disconnect: true },
            "<- #2 disconnected",
        ),
        moment(0, 5_000, ActorId(0), Commanded(Order::Dies(BROKER)), "! broker-1 dies (process)"),
        moment(8, 6_000, WRITER, Observes, "* session 0 has failed; %%<script>alert(1)</script>"),
    ];
    for (at, from) in [(2, 1), (3, 2), (4, 3), (6, 5), (7, 6), (8, 7), (9, 6)] {
        moments[at].from = Some(from);
    }
    moments[7].rules = vec!["L-SEQ-1"];
    for at in [5, 6, 7, 11] {
        moments[at].concern = 4;
    }
    moments
}

fn turns(names: &mut Names) -> (TopicPartition, Vec<Turn>) {
    let partition = TopicPartition::new(names.add_topic("orders"), 0);
    let value = names.add_value("<b>&\"x");
    let standing = |stable, end| ReplicaStanding {
        is_leader: true,
        is_hosted: true,
        leader_epoch: LeaderEpoch(2),
        isr: vec![BrokerId(1)],
        offsets: [0, end, stable, end],
    };
    let batch = RecordBatch {
        base_offset: 0,
        last_offset_delta: 0,
        partition_leader_epoch: LeaderEpoch(2),
        is_transactional: true,
        max_timestamp: 0,
        producer_id: ProducerId(0),
        producer_epoch: ProducerEpoch(3),
        base_sequence: Sequence(0),
        payload: Payload::Records(Arc::from([Record { value, key: None, value_bytes: 2 }])),
    };
    let client = ClientStanding {
        producer: Some(ProducerStanding {
            state: Some("IN_TRANSACTION"),
            producer_id: ProducerId(0),
            producer_epoch: ProducerEpoch(3),
            transaction: Some(TransactionRef { producer: WRITER, session: 0, number: 1 }),
        }),
        ..ClientStanding::default()
    };
    let turn = |step, actor, what| Turn { step, actor, what };
    let turns = vec![
        turn(1, BROKER, Turned::Replica(partition, standing(0, 0))),
        turn(4, WRITER, Turned::Client(client)),
        turn(6, BROKER, Turned::Appended(partition, batch)),
        turn(6, BROKER, Turned::Replica(partition, standing(0, 1))),
    ];
    (partition, turns)
}

fn run() -> RunReport {
    let mut names = Names::default();
    let (_, turns) = turns(&mut names);
    let change = |step, text: &str| Change { step, text: text.to_string() };
    RunReport {
        scenario: "a-story".to_string(),
        seed: 7,
        verdict: "committed-lost".to_string(),
        broken: vec![(8, "committed-lost: <b>&\"x is lost".to_string())],
        steps: 8,
        at: None,
        actors: ["controller", "broker-1", "writer"].map(String::from).to_vec(),
        names,
        moments: moments(),
        turns,
        changes: vec![
            change(1, "leads orders-0, leader epoch 2"),
            change(6, "orders-0: + [<b>&\"x] at 0 of 0/3"),
            change(6, "orders-0: high watermark 0 → 1"),
        ],
    }
}

#[test]
fn a_diagram_has_what_concerns_the_promise_and_no_routine() {
    expect![[r#"
        sequenceDiagram
            %% a-story seed 7: committed-lost
            %% 2 lines are left out; --at STEP shows those before a step
            participant a1 as broker-1
            participant a2 as writer
            Note over a2: 5 sends #lt;b#gt;&"x to orders-0 in transaction 0.1
            a2->>a1: 6 Produce orders-0 of 0/3 (sent 5)
            Note over a1: orders-0: + [#lt;b#gt;&"x] at 0 of 0/3<br/>orders-0: high watermark 0 → 1
            a1-xa2: 0.003000 ⚡ Produce response to writer: lost, the connection breaks (lost_response)
            Note over a2: 7 Produce disconnected
            Note over a1: 0.005000 ⚡ broker-1 dies (process)
            Note over a2: 8 session 0 has failed#59; #37;#37;#lt;script#gt;alert(1)#lt;/script#gt;
            Note over a2: ✗ committed-lost: #lt;b#gt;&"x is lost
    "#]]
    .assert_eq(&diagram(&run(), &Filter::default()));
}

#[test]
fn a_diagram_is_json_too() {
    let only = Filter { partition: Some("orders-0".to_string()), ..Filter::default() };
    expect![[r#"
        {"format":1,"scenario":"a-story","seed":7,"verdict":"committed-lost","actors":["broker-1","writer"],"left_out":0,"lines":[{"step":5,"at_us":2000,"actor":"writer","text":"sends <b>&\"x to orders-0 in transaction 0.1","changes":[]},{"step":6,"at_us":3000,"actor":"broker-1","from":"writer","text":"Produce orders-0 of 0/3 (sent 5)","changes":["orders-0: + [<b>&\"x] at 0 of 0/3","orders-0: high watermark 0 → 1"]},{"step":0,"at_us":3000,"actor":"broker-1","lost_to":"writer","text":"Produce response to writer: lost, the connection breaks (lost_response)","changes":[]},{"step":7,"at_us":4000,"actor":"writer","text":"Produce disconnected","changes":[]}]}
    "#]]
    .assert_eq(&diagram_json(&run(), &only));
}

#[test]
fn a_transcript_of_a_partition_has_its_requests_with_what_befell_them() {
    let run = run();
    let only = Filter { partition: Some("orders-0".to_string()), ..Filter::default() };
    let text = transcript(&run.actors, &run.lines(&only));
    let lines = text.lines().skip_while(|line| line.starts_with('#'));
    let lines: String = lines.map(|line| format!("|{line}\n")).collect();
    expect![[r#"
        |
        |   step         time actor      event
        |      5     0.002000 writer        * sends <b>&"x to orders-0 in transaction 0.1
        |      5     0.002000 writer        -> broker-1 #2 Produce orders-0 [<b>&"x] of 0/3
        |      6     0.003000 broker-1   <- writer Produce orders-0 of 0/3
        |      0     0.003000 broker-1      ! Produce response to writer: lost, the connection breaks (lost_response)
        |      7     0.004000 writer     <- #2 disconnected
    "#]]
    .assert_eq(&lines);
}

#[test]
fn what_the_world_does_to_an_actor_is_among_its_lines() {
    let run = run();
    let dies = |actor| {
        let lines = run.lines(&Filter { actor: Some(actor), ..Filter::default() });
        lines.iter().any(|line| line.event.contains("broker-1 dies"))
    };
    assert!(dies(BROKER) && !dies(ActorId(0)));
}

/// What stands before a window is what the earlier changes leave, compaction among them.
#[test]
fn a_timeline_begins_with_what_compaction_and_truncation_left() {
    let mut run = long(12_000);
    let (partition, turns) = turns(&mut run.names);
    let Some(Turned::Appended(_, first)) = turns.get(2).map(|turn| turn.what.clone()) else {
        panic!("a batch")
    };
    let entry = |last_offset| AbortedTxn {
        producer_id: ProducerId(0),
        first_offset: last_offset - 1,
        last_offset,
        last_stable_offset: last_offset,
    };
    let at = |base_offset| RecordBatch { base_offset, ..first.clone() };
    let left = RecordBatch { payload: Payload::EmptyControl, ..at(3) };
    let mut what: Vec<Turned> = (0..7).map(|base| Turned::Appended(partition, at(base))).collect();
    what.extend([
        Turned::Aborted(partition, entry(2)),
        Turned::Aborted(partition, entry(4)),
        Turned::Trimmed(partition, 1),
        Turned::Dropped(partition, vec![2, 4]),
        Turned::Replaced(partition, left),
        Turned::Cut(partition, 6),
        Turned::Index(partition, vec![entry(4)]),
        Turned::Aborted(partition, entry(6)),
    ]);
    run.turns = what.into_iter().map(|what| Turn { step: 1, actor: BROKER, what }).collect();
    let told = timeline_json(&run, &Filter::default());
    let state = told.split("\"batches\":").nth(1).unwrap_or_default();
    expect![[r#"
        [[1,1,"transactional","<b>&\"x",0,3,0,2],[3,3,"control","",0,3,0,2],[5,5,"transactional","<b>&\"x",0,3,0,2]],"turns":[[0,1,"b",0,0],[0,1,"b",0,1],[0,1,"b",0,2],[0,1,"i",0,[[0,3,4]]],[0,1,"x",0,0,5,6]]}
    "#]].assert_eq(state);
}

#[test]
fn forms_for_other_tools_are_as_they_were() {
    for form in FORMS {
        let text = (form.render)(&run());
        expect_file![format!("golden/run.{}.txt", form.name)].assert_eq(&text);
    }
}

#[test]
fn a_timeline_is_text_in_order_and_takes_nothing_for_markup() {
    let page = timeline(&run(), &Filter::default());
    let style = page.find("<style>").expect("a style");
    let body = page.find("<body>").expect("a body");
    let script = page.rfind("<script>").expect("a script");
    let golden = page[..style].to_string() + &page[body..script];
    expect_file!["golden/run.timeline.html"].assert_eq(&golden);
    assert!(!golden.contains("<b>&\""), "text is text");
    assert_eq!(page.matches("</script>").count(), 2, "data cannot end their own script");
    for elsewhere in ["http://www.w3.org/2000/svg", "src=", "@import", "fetch(", "url("] {
        let count = page.matches(elsewhere).count();
        assert_eq!(count, usize::from(elsewhere.starts_with("http")), "{elsewhere}");
    }
    expect_file!["golden/run.timeline.json"].assert_eq(&timeline_json(&run(), &Filter::default()));
}

/// A run of so many steps, every third of which is routine.
fn long(steps: u64) -> RunReport {
    let mut run = run();
    run.moments = (1..=steps)
        .map(|step| {
            let kind = if step % 3 == 0 { MomentKind::Timer } else { MomentKind::Observes };
            let text = if step % 3 == 0 { "timer 1" } else { "* sends a to orders-0" };
            moment(step, step * 10, WRITER, kind, text)
        })
        .collect();
    run.broken = vec![(6_001, "lost".to_string())];
    run.changes.clear();
    run
}

#[test]
fn a_long_timeline_is_bounded_and_says_what_it_leaves_out() {
    let page = timeline(&long(30_000), &Filter::default());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let extent = page.split("id=\"extent\">").nth(1).and_then(|rest| rest.split('<').next());
    expect!["2000 of 30000 lines; left out: 10000 routine, 2061 earlier, 15939 later. Others: eosim show RUN --as timeline --at STEP. The run has 8 steps."]
    .assert_eq(extent.unwrap_or_default());
    assert!(page.contains("<b>step </b>6001<"), "the broken promise is there");
    let run = RunReport { at: Some(20), ..long(30_000) };
    assert!(timeline(&run, &Filter::default()).contains("<b>step </b>20<"));
    let lines = diagram(&run, &Filter::default()).lines().count();
    assert!(lines < 60, "{lines} lines");
}
