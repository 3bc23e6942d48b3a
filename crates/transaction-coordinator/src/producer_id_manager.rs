//! Producer ids in blocks: one in use, one ahead.
//!
//! Kafka counterpart: `RPCProducerIdManager` and `ProducerIdsBlock`. Never waits: whoever meets an
//! empty block hears COORDINATOR_LOAD_IN_PROGRESS (C-PID-5). Both blocks die with the broker
//! (C-PID-7), so gaps are normal and no id is given twice.

use eosim_types::message::AllocateProducerIdsResponse;
use eosim_types::{Duration, ErrorCode, Instant, ProducerId, rule};

use crate::action::{Action, Ctx};

/// How often one call may move on to the next block.
const CLAIM_LIMIT: u32 = 4;
/// The pause after a refused request (`RETRY_BACKOFF_MS`).
const RETRY_BACKOFF: Duration = Duration::from_millis(50);

/// Ids `first` to `first + size - 1`, of which `claimed` are given out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct ProducerIdsBlock {
    first: i64,
    size: i32,
    claimed: i32,
}

impl ProducerIdsBlock {
    fn claim_next_id(&mut self) -> Option<i64> {
        if self.claimed >= self.size {
            return None;
        }
        self.claimed += 1;
        Some(self.first + i64::from(self.claimed) - 1)
    }

    fn last(&self) -> i64 {
        self.first + i64::from(self.size) - 1
    }

    /// The id whose claim asks for the next block: 90 % are used.
    fn prefetch_id(&self) -> i64 {
        self.first + i64::from(self.size) * 9 / 10
    }
}

/// The broker's supply of producer ids.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ProducerIdManager {
    current: ProducerIdsBlock,
    next: Option<ProducerIdsBlock>,
    request_in_flight: bool,
    backoff_until: Option<Instant>,
}

impl ProducerIdManager {
    /// A new id (C-PID-1).
    ///
    /// # Errors
    /// `COORDINATOR_LOAD_IN_PROGRESS` if no block is at hand; one is asked for.
    pub(crate) fn generate_producer_id(
        &mut self,
        cx: &mut Ctx<'_>,
    ) -> Result<ProducerId, ErrorCode> {
        rule!(cx.env, "C-PID-1");
        for _ in 0..CLAIM_LIMIT {
            if let Some(id) = self.current.claim_next_id() {
                if id == self.current.prefetch_id() {
                    self.maybe_request_next_block(cx);
                }
                return Ok(ProducerId(id));
            }
            if let Some(next) = self.next.take() {
                self.current = next;
                self.request_in_flight = false;
                self.backoff_until = None;
            } else {
                rule!(cx.env, "C-PID-5");
                self.maybe_request_next_block(cx);
                return Err(ErrorCode::CoordinatorLoadInProgress);
            }
        }
        Err(ErrorCode::CoordinatorLoadInProgress)
    }

    /// C-PID-2.
    fn maybe_request_next_block(&mut self, cx: &mut Ctx<'_>) {
        rule!(cx.env, "C-PID-2");
        let is_backing_off = self.backoff_until.is_some_and(|until| cx.env.now < until);
        if self.next.is_none() && !self.request_in_flight && !is_backing_off {
            self.request_in_flight = true;
            cx.actions.push(Action::AllocateProducerIds);
        }
    }

    /// The controller's answer (C-PID-3, C-PID-4); `None` if the channel gave up (C-PID-6).
    pub(crate) fn handle_response(
        &mut self,
        cx: &mut Ctx<'_>,
        response: Option<&AllocateProducerIdsResponse>,
    ) {
        let Some(response) = response else {
            rule!(cx.env, "C-PID-6");
            self.request_in_flight = false;
            return;
        };
        if let Some(block) = self.accepted_block(response) {
            rule!(cx.env, "C-PID-3");
            self.next = Some(block);
        } else {
            rule!(cx.env, "C-PID-4");
            self.backoff_until = Some(cx.env.now + RETRY_BACKOFF);
            self.request_in_flight = false;
        }
    }

    fn accepted_block(&self, response: &AllocateProducerIdsResponse) -> Option<ProducerIdsBlock> {
        let first = response.producer_id_start.0;
        let size = response.producer_id_len;
        let is_accepted = response.error.is_none()
            && first > self.current.last()
            && first >= 0
            && size >= 0
            && first <= i64::MAX - i64::from(size);
        is_accepted.then_some(ProducerIdsBlock { first, size, claimed: 0 })
    }
}
