//! Members that commit what they were given: what they may leave, and what must not be passed over.

use eosim_types::ActorId;

use crate::GroupReader;
use crate::testing::{COMMITTED, GROUP, History, ID, OFFSETS, P0, Producer, UNCOMMITTED};

const MEMBERS: [u16; 2] = [9, 10];

/// Two members of a group, and who commits for them.
fn story() -> (History, Producer) {
    let mut history = History::new();
    for member in MEMBERS {
        let reader = GroupReader { group: GROUP, actor: ActorId(member), topic: P0.topic };
        history.setup.group_readers.push(reader);
    }
    let committer = history.producer(8, None);
    history.log(OFFSETS);
    (history, committer)
}

#[test]
fn what_two_members_were_given_together_may_be_committed() {
    let (mut history, mut committer) = story();
    let mut source = history.producer(4, None);
    history.write(&mut source, P0);
    history.read(9, P0, COMMITTED);
    history.append_offset(&mut committer, P0, 1);
    history.write(&mut source, P0);
    history.write(&mut source, P0);
    history.is_sound();
    history.read(10, P0, COMMITTED);
    history.append_offset(&mut committer, P0, 3);
    // A late commit of the first member: what lies between is given once more.
    history.append_offset(&mut committer, P0, 1);
    history.is_sound();
}

#[test]
fn an_offset_behind_an_unread_record_is_reported() {
    let (mut history, mut committer) = story();
    let mut source = history.producer(4, None);
    history.write(&mut source, P0);
    history.read(9, P0, COMMITTED);
    history.write(&mut source, P0);
    history.append_offset(&mut committer, P0, 2);
    // Somebody outside of the group has read it.
    history.read(20, P0, COMMITTED);
    history.breaks("committed-unread");
    history.read(10, P0, UNCOMMITTED);
    history.is_sound();
}

#[test]
fn aborted_records_and_markers_may_be_passed_over() {
    let (mut history, mut committer) = story();
    let mut source = history.producer(5, Some(ID));
    history.begin(&mut source);
    history.write(&mut source, P0);
    history.abort(&mut source, &[P0]);
    history.append_offset(&mut committer, P0, 2);
    history.is_sound();
}

#[test]
fn records_that_may_be_deleted_are_not_asked_for() {
    let (mut history, mut committer) = story();
    let mut source = history.producer(4, None);
    history.write(&mut source, P0);
    history.append_offset(&mut committer, P0, 1);
    history.breaks("committed-unread");
    history.setup.deletable.push(P0.topic);
    history.is_sound();
}
