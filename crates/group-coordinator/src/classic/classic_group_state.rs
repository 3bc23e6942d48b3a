//! The phases of a classic group and which may follow which, as data, so that the machine can also
//! be printed (`ClassicGroupState`).

use eosim_types::machine::{GroupEvent, MachineState};

use ClassicGroupState as S;

/// The phase of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ClassicGroupState {
    /// No members.
    Empty,
    /// Members are asked to join (again).
    PreparingRebalance,
    /// The leader is asked to share out.
    CompletingRebalance,
    /// Everybody knows what it has.
    Stable,
}

/// Each phase with those from which it may be entered (`validPreviousStates`). A deleted group is
/// gone at once, so that DEAD is never seen.
pub const CLASSIC_GROUP_TRANSITIONS: [(ClassicGroupState, &[ClassicGroupState]); 4] = [
    (S::Empty, &[S::PreparingRebalance]),
    (S::PreparingRebalance, &[S::Empty, S::CompletingRebalance, S::Stable]),
    (S::CompletingRebalance, &[S::PreparingRebalance]),
    (S::Stable, &[S::CompletingRebalance]),
];

impl ClassicGroupState {
    /// May `self` be followed by `target`?
    pub(crate) fn may_become(self, target: Self) -> bool {
        CLASSIC_GROUP_TRANSITIONS[target as usize].1.contains(&self)
    }

    /// Kafka's spelling.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

impl MachineState for ClassicGroupState {
    type Event = GroupEvent;

    #[inline]
    fn place(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_types::machine::{MACHINES, MachineId};

    #[test]
    fn states_are_counted_under_their_names() {
        let names = MACHINES[MachineId::Group as usize].states;
        assert_eq!(names, CLASSIC_GROUP_TRANSITIONS.map(|(state, _)| state.name()));
    }

    #[test]
    fn every_row_stands_at_its_own_place() {
        for (place, (target, _)) in CLASSIC_GROUP_TRANSITIONS.iter().enumerate() {
            assert_eq!(*target as usize, place);
        }
    }
}
