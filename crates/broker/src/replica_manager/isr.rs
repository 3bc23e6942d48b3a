//! The in-sync replicas of a partition as its leader holds them.
//!
//! Kafka counterpart: `PartitionState` (`CommittedPartitionState`, `PendingExpandIsr`,
//! `PendingShrinkIsr`). Invariant: at most one change is under way (L-ISR-1).

use alloc::vec::Vec;

use eosim_types::BrokerId;

/// A change of the ISR that the controller has not answered yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PendingIsr {
    /// The ISR proposed, sorted.
    pub(crate) proposed: Vec<BrokerId>,
    /// A replica that joins; `None` if replicas leave.
    pub(crate) joining: Option<BrokerId>,
}

/// `PartitionState`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Isr {
    /// As the controller decided, sorted.
    pub(crate) committed: Vec<BrokerId>,
    /// The change under way.
    pub(crate) pending: Option<PendingIsr>,
}

impl Isr {
    /// Is `broker` in the maximal ISR (L-ISR-1)? A replica that joins belongs to it at once, a
    /// replica that leaves belongs to it until the controller agrees.
    pub(crate) fn maximal_contains(&self, broker: BrokerId) -> bool {
        self.committed.contains(&broker) || self.joining() == Some(broker)
    }

    /// Size of the maximal ISR.
    pub(crate) fn maximal_len(&self) -> usize {
        self.committed.len() + usize::from(self.joining().is_some())
    }

    fn joining(&self) -> Option<BrokerId> {
        self.pending.as_ref().and_then(|pending| pending.joining)
    }

    /// Proposes that `broker` joins.
    pub(crate) fn expand(&mut self, broker: BrokerId) {
        let mut proposed = self.committed.clone();
        proposed.push(broker);
        proposed.sort_unstable();
        self.pending = Some(PendingIsr { proposed, joining: Some(broker) });
    }

    /// Proposes that `leaving` leave.
    pub(crate) fn shrink(&mut self, leaving: &[BrokerId]) {
        let mut proposed = self.committed.clone();
        proposed.retain(|broker| !leaving.contains(broker));
        self.pending = Some(PendingIsr { proposed, joining: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn joining_counts_at_once_leaving_counts_until_confirmed_l_isr_1() {
        let [one, two, three] = [1, 2, 3].map(BrokerId);
        let mut isr = Isr { committed: vec![one, two], pending: None };
        isr.expand(three);
        assert!(isr.maximal_contains(three));
        assert_eq!((isr.committed.len(), isr.maximal_len()), (2, 3));
        let mut isr = Isr { committed: vec![one, two], pending: None };
        isr.shrink(&[two]);
        assert!(isr.maximal_contains(two));
        assert_eq!(isr.maximal_len(), 2);
        assert_eq!(isr.pending.map(|pending| pending.proposed), Some(vec![one]));
    }
}
