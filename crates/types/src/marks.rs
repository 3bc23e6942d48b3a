//! What a run has reached: rules, states of the state machines, and events in each of them.
//!
//! Invariant: counting allocates nothing and decides nothing.

use core::fmt;

use crate::machine::{
    CELL_COUNT, CellName, MACHINES, MachineEvent, MachineId, MachineState, STATE_COUNT, StateName,
};
use crate::rules::RULES;

/// Something that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mark {
    /// A rule, by its place in [`RULES`].
    Rule(usize),
    /// A state, by its place among those of all machines.
    State(usize),
    /// A cell, by its place among those of all machines.
    Cell(usize),
}

impl Mark {
    /// The rule `id`, if there is one.
    #[must_use]
    pub fn rule(id: &str) -> Option<Self> {
        RULES.iter().position(|rule| *rule == id).map(Self::Rule)
    }

    /// The state written `machine/state`, if there is one.
    #[must_use]
    pub fn state(name: &str) -> Option<Self> {
        let (machine, state) = name.split_once('/')?;
        let (id, machine) = MachineId::called(machine)?;
        Some(Self::State(id.state(machine.place_of_state(state)?)))
    }

    /// The cell written `machine/state/event`, if there is one.
    #[must_use]
    pub fn cell(name: &str) -> Option<Self> {
        let (machine, cell) = name.split_once('/')?;
        let (state, event) = cell.split_once('/')?;
        let (id, machine) = MachineId::called(machine)?;
        let (state, event) = (machine.place_of_state(state)?, machine.place_of_event(event)?);
        Some(Self::Cell(id.cell(state, event)))
    }
}

/// How often each rule, state and cell was reached.
#[derive(Clone, PartialEq, Eq)]
pub struct Marks {
    rules: [u64; RULES.len()],
    states: [u64; STATE_COUNT],
    cells: [u64; CELL_COUNT],
}

impl Marks {
    /// Nothing reached yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { rules: [0; RULES.len()], states: [0; STATE_COUNT], cells: [0; CELL_COUNT] }
    }

    /// Counts one arrival at the rule at `index` of [`RULES`]. Rules are marked by the dozen in
    /// every step, and no run is long enough for 64 bits: overflow is not looked for.
    #[inline]
    pub fn hit(&mut self, index: usize) {
        self.rules[index] = self.rules[index].wrapping_add(1);
    }

    /// A machine is about to take `event` in `state`.
    #[inline]
    pub fn takes<S: MachineState>(&mut self, state: S, event: S::Event) {
        let cell = &mut self.cells[S::Event::MACHINE.cell(state.place(), event.place())];
        *cell = cell.wrapping_add(1);
    }

    /// A machine has entered `state`.
    #[inline]
    pub fn enters<S: MachineState>(&mut self, state: S) {
        let entered = &mut self.states[S::Event::MACHINE.state(state.place())];
        *entered = entered.wrapping_add(1);
    }

    /// How often `mark` was reached.
    #[must_use]
    pub const fn count(&self, mark: Mark) -> u64 {
        match mark {
            Mark::Rule(place) => self.rules[place],
            Mark::State(place) => self.states[place],
            Mark::Cell(place) => self.cells[place],
        }
    }

    /// Adds `count` arrivals at `mark`.
    pub fn add(&mut self, mark: Mark, count: u64) {
        let sum = match mark {
            Mark::Rule(place) => &mut self.rules[place],
            Mark::State(place) => &mut self.states[place],
            Mark::Cell(place) => &mut self.cells[place],
        };
        *sum = sum.saturating_add(count);
    }

    /// Every rule with its count, in the order of [`RULES`].
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        RULES.iter().copied().zip(self.rules.iter().copied())
    }

    /// Every state of every machine with how often it was entered.
    pub fn states(&self) -> impl Iterator<Item = (StateName, u64)> + '_ {
        let names = MACHINES.iter().flat_map(|machine| machine.state_names());
        names.zip(self.states.iter().copied())
    }

    /// Every cell of every machine with how often its event was taken in its state.
    pub fn cells(&self) -> impl Iterator<Item = (CellName, u64)> + '_ {
        let names = MACHINES.iter().flat_map(|machine| machine.cell_names());
        names.zip(self.cells.iter().copied())
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.rules, &other.rules);
        add(&mut self.states, &other.states);
        add(&mut self.cells, &other.cells);
    }
}

fn add(sums: &mut [u64], counts: &[u64]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum = sum.saturating_add(*count);
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.counts().filter(|(_, n)| *n > 0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{EntryEvent, EntryState};
    use crate::rule;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn marks_count_and_merge() {
        struct Env {
            marks: Marks,
        }
        let mut env = Env { marks: Marks::new() };
        rule!(env, "L-SEQ-3");
        rule!(env, "L-SEQ-3");
        env.marks.takes(EntryState::Open, EntryEvent::Abort);
        env.marks.enters(EntryState::Idle);
        let mut sum = Marks::new();
        sum.merge(&env.marks);
        sum.merge(&env.marks);
        let hit: Vec<_> = sum.counts().filter(|(_, n)| *n > 0).collect();
        assert_eq!(hit, [("L-SEQ-3", 4)]);
        let cells = sum.cells().filter(|(_, n)| *n > 0);
        let cells: Vec<_> = cells.map(|(cell, n)| (cell.to_string(), n)).collect();
        assert_eq!(cells, [("entry/open/ABORT".to_string(), 2)]);
        let states = sum.states().filter(|(_, n)| *n > 0);
        let states: Vec<_> = states.map(|(state, n)| (state.to_string(), n)).collect();
        assert_eq!(states, [("entry/idle".to_string(), 2)]);
        for mark in
            [Mark::rule("L-SEQ-3"), Mark::state("entry/idle"), Mark::cell("entry/open/ABORT")]
        {
            let mark = mark.expect("it exists");
            let count = sum.count(mark);
            sum.add(mark, 3);
            assert!(count > 0 && sum.count(mark) == count + 3, "{mark:?}");
        }
        assert_eq!(
            [Mark::rule("no such rule"), Mark::state("entry"), Mark::cell("entry/idle")],
            [None; 3]
        );
    }

    #[test]
    fn every_name_leads_to_its_own_place() {
        let marks = Marks::new();
        for (place, (state, _)) in marks.states().enumerate() {
            assert_eq!(Mark::state(&state.to_string()), Some(Mark::State(place)), "{state}");
        }
        for (place, (cell, _)) in marks.cells().enumerate() {
            assert_eq!(Mark::cell(&cell.to_string()), Some(Mark::Cell(place)), "{cell}");
        }
    }
}
