//! What application threads wait for (`TransactionalRequestResult`).

use alloc::vec::Vec;

use crate::exception::Exception;

/// The name of a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ResultId(u32);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct TransactionalRequestResult {
    id: ResultId,
    outcome: Option<Result<(), Exception>>,
    acked: bool,
}

/// Results that somebody may still ask for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Results {
    next: u32,
    live: Vec<TransactionalRequestResult>,
}

impl Results {
    /// A new result.
    pub(super) fn create(&mut self) -> ResultId {
        let id = ResultId(self.next);
        self.next += 1;
        self.live.push(TransactionalRequestResult { id, outcome: None, acked: false });
        id
    }

    fn find_mut(&mut self, id: ResultId) -> Option<&mut TransactionalRequestResult> {
        self.live.iter_mut().find(|result| result.id == id)
    }

    /// Completes a result: an error takes the place of what was there, success does not.
    pub(super) fn complete(&mut self, id: ResultId, outcome: Result<(), Exception>) {
        if let Some(result) = self.find_mut(id)
            && (outcome.is_err() || result.outcome.is_none())
        {
            result.outcome = Some(outcome);
        }
    }

    /// The outcome, if it is there.
    pub(super) fn outcome(&self, id: ResultId) -> Option<&Result<(), Exception>> {
        self.live.iter().find(|result| result.id == id)?.outcome.as_ref()
    }

    /// A caller's wait on it returned.
    pub(super) fn ack(&mut self, id: ResultId) {
        if let Some(result) = self.find_mut(id) {
            result.acked = true;
        }
    }

    /// Has a caller's wait on it returned?
    pub(super) fn is_acked(&self, id: ResultId) -> bool {
        self.live.iter().find(|result| result.id == id).is_none_or(|result| result.acked)
    }

    /// Nobody will ask for it again.
    pub(super) fn forget(&mut self, id: ResultId) {
        self.live.retain(|result| result.id != id);
    }
}
