//! The state machines of the protocol as tables: states, the events that each takes, and why some
//! events never meet some states.
//!
//! A machine says in one line what it takes and what it becomes, with
//! [`Env::takes`](crate::Env::takes) and [`Env::enters`](crate::Env::enters);
//! [`Marks`](crate::Marks) counts both. The states themselves are those of the machines' own crates,
//! which implement [`MachineState`] for them.

use core::fmt;

mod coordinator;
mod entry;
mod group;
mod member;
mod producer;

pub use coordinator::CoordinatorEvent;
pub use entry::{EntryEvent, EntryState};
pub use group::GroupEvent;
pub use member::MemberEvent;
pub use producer::ProducerEvent;

/// A state machine.
#[derive(Debug)]
pub struct Machine {
    /// Its name: the first part of those of its states and cells.
    pub name: &'static str,
    /// What it is, with Kafka's class.
    pub about: &'static str,
    /// Its states.
    pub states: &'static [&'static str],
    /// The events that it takes.
    pub events: &'static [&'static str],
    /// Why some events never meet some states.
    pub unreached: &'static [Unreached],
}

/// Events that some states never see, and why.
#[derive(Debug)]
pub struct Unreached {
    /// The states; all if there are none.
    pub states: &'static [&'static str],
    /// The events; all if there are none.
    pub events: &'static [&'static str],
    /// Why.
    pub reason: &'static str,
}

const fn row(
    states: &'static [&'static str],
    events: &'static [&'static str],
    reason: &'static str,
) -> Unreached {
    Unreached { states, events, reason }
}

/// All machines, in the order of [`MachineId`].
pub const MACHINES: [&Machine; 5] =
    [&coordinator::MACHINE, &producer::MACHINE, &group::MACHINE, &member::MACHINE, &entry::MACHINE];

/// A machine of [`MACHINES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineId {
    /// A transactional id at its coordinator.
    Coordinator,
    /// A producer's transaction manager.
    Producer,
    /// A classic group at its coordinator.
    Group,
    /// A member of a KIP-848 group at its coordinator.
    Member,
    /// What the leader of a partition remembers of a producer.
    Entry,
}

/// States of all machines together.
pub const STATE_COUNT: usize = first_state(MACHINES.len());

/// Cells of all machines together.
pub const CELL_COUNT: usize = first_cell(MACHINES.len());

/// States of the first `machines` machines.
const fn first_state(machines: usize) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < machines {
        count += MACHINES[at].states.len();
        at += 1;
    }
    count
}

/// Cells of the first `machines` machines.
const fn first_cell(machines: usize) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < machines {
        count += MACHINES[at].states.len() * MACHINES[at].events.len();
        at += 1;
    }
    count
}

impl MachineId {
    /// Every machine's id, in the order of [`MACHINES`].
    const ALL: [Self; MACHINES.len()] =
        [Self::Coordinator, Self::Producer, Self::Group, Self::Member, Self::Entry];

    /// The machine called `name`.
    pub(crate) fn called(name: &str) -> Option<(Self, &'static Machine)> {
        let mut machines = Self::ALL.into_iter().zip(MACHINES);
        machines.find(|(_, machine)| machine.name == name)
    }

    /// The place of a state among those of all machines.
    #[inline]
    pub(crate) const fn state(self, state: usize) -> usize {
        first_state(self as usize) + state
    }

    /// The place of a cell among those of all machines.
    #[inline]
    pub(crate) const fn cell(self, state: usize, event: usize) -> usize {
        first_cell(self as usize) + state * MACHINES[self as usize].events.len() + event
    }
}

/// A state of a machine that is counted.
pub trait MachineState: Copy {
    /// The events that the machine takes.
    type Event: MachineEvent;
    /// Its place among the machine's states.
    fn place(self) -> usize;
}

/// An event that a machine takes.
pub trait MachineEvent: Copy {
    /// The machine.
    const MACHINE: MachineId;
    /// Its place among the machine's events.
    fn place(self) -> usize;
}

/// Declares the events of a machine with their names.
macro_rules! events {
    (
        $(#[$doc:meta])* $name:ident of $machine:ident as $names:ident {
            $($(#[$event_doc:meta])* $event:ident = $text:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$event_doc])* $event,)+
        }

        const $names: &[&str] = &[$($text),+];

        impl $crate::machine::MachineEvent for $name {
            const MACHINE: $crate::machine::MachineId = $crate::machine::MachineId::$machine;

            #[inline]
            fn place(self) -> usize {
                self as usize
            }
        }
    };
}
use events;

impl Machine {
    /// Why `event` never meets `state`, if it is known that it does not.
    #[must_use]
    pub fn why_unreached(&self, state: &str, event: &str) -> Option<&'static str> {
        let is_among = |list: &[&str], name: &str| list.is_empty() || list.contains(&name);
        let fits = |row: &&Unreached| is_among(row.states, state) && is_among(row.events, event);
        self.unreached.iter().find(fits).map(|row| row.reason)
    }

    /// The place of the state called `name`.
    pub(crate) fn place_of_state(&self, name: &str) -> Option<usize> {
        self.states.iter().position(|state| *state == name)
    }

    /// The place of the event called `name`.
    pub(crate) fn place_of_event(&self, name: &str) -> Option<usize> {
        self.events.iter().position(|event| *event == name)
    }

    pub(crate) fn state_names(&'static self) -> impl Iterator<Item = StateName> {
        self.states.iter().map(move |state| StateName { machine: self, state })
    }

    pub(crate) fn cell_names(&'static self) -> impl Iterator<Item = CellName> {
        self.states.iter().flat_map(move |state| {
            self.events.iter().map(move |event| CellName { machine: self, state, event })
        })
    }
}

/// A state, written `machine/state`.
#[derive(Clone, Copy, Debug)]
pub struct StateName {
    /// Whose state it is.
    pub machine: &'static Machine,
    /// Its name there.
    pub state: &'static str,
}

/// A state and an event, written `machine/state/event`.
#[derive(Clone, Copy, Debug)]
pub struct CellName {
    /// Whose they are.
    pub machine: &'static Machine,
    /// The state.
    pub state: &'static str,
    /// The event.
    pub event: &'static str,
}

impl StateName {
    /// The state that is written so.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let mut states = MACHINES.iter().flat_map(|machine| machine.state_names());
        states.find(|state| state.is_written(name))
    }

    fn is_written(&self, name: &str) -> bool {
        name.split_once('/') == Some((self.machine.name, self.state))
    }

    /// Why the state is never entered, if it is known that it is not.
    #[must_use]
    pub fn why_unreached(&self) -> Option<&'static str> {
        let mut rows = self.machine.unreached.iter().filter(|row| row.events.is_empty());
        rows.find(|row| row.states.contains(&self.state)).map(|row| row.reason)
    }
}

impl CellName {
    /// The cell that is written so.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let mut cells = MACHINES.iter().flat_map(|machine| machine.cell_names());
        cells.find(|cell| cell.is_written(name))
    }

    fn is_written(&self, name: &str) -> bool {
        let mut parts = name.splitn(3, '/');
        let parts = [parts.next(), parts.next(), parts.next()];
        parts == [Some(self.machine.name), Some(self.state), Some(self.event)]
    }

    /// Why the event never meets the state, if it is known that it does not.
    #[must_use]
    pub fn why_unreached(&self) -> Option<&'static str> {
        self.machine.why_unreached(self.state, self.event)
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.machine.name, self.state)
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.machine.name, self.state, self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_stand_at_the_places_of_their_ids() {
        let names = ["coordinator", "producer", "group", "member", "entry"];
        for (id, name) in MachineId::ALL.into_iter().zip(names) {
            assert_eq!(MACHINES[id as usize].name, name);
        }
    }

    #[test]
    fn what_is_said_of_cells_is_said_of_cells_that_exist() {
        for machine in MACHINES {
            for row in machine.unreached {
                assert!(row.states.iter().all(|state| machine.states.contains(state)), "{row:?}");
                assert!(row.events.iter().all(|event| machine.events.contains(event)), "{row:?}");
                assert!(!(row.states.is_empty() && row.events.is_empty()), "{row:?}");
            }
        }
    }

    #[test]
    fn every_cell_has_its_own_place() {
        let last = MACHINES[MachineId::Entry as usize];
        let place = MachineId::Entry.cell(last.states.len() - 1, last.events.len() - 1);
        assert_eq!(place, CELL_COUNT - 1);
        assert_eq!(MachineId::Producer.cell(0, 0), MachineId::Coordinator.cell(16, 0));
    }
}
