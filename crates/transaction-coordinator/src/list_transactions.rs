//! ListTransactions: all transactional ids that this coordinator owns.
//!
//! Kafka counterpart: `TransactionStateManager.listTransactionStates`.

use alloc::vec::Vec;

use eosim_types::message::{ListTransactionsRequest, ListTransactionsResponse};
use eosim_types::{ErrorCode, rule};

use crate::action::Ctx;
use crate::coordinator::TransactionCoordinator;
use crate::transaction_metadata::TransactionMetadata;

impl TransactionCoordinator {
    /// Handles ListTransactions.
    pub(crate) fn handle_list_transactions(
        &self,
        cx: &mut Ctx<'_>,
        request: &ListTransactionsRequest,
    ) -> ListTransactionsResponse {
        rule!(cx.env, "C-ADM-2");
        let refused = |error| ListTransactionsResponse { error, transactions: Vec::new() };
        if !self.state_manager.is_started() {
            return refused(ErrorCode::CoordinatorNotAvailable);
        }
        if !self.state_manager.loading_partitions.is_empty() {
            return refused(ErrorCode::CoordinatorLoadInProgress);
        }
        let now = cx.env.clock_ms();
        let entries = self.state_manager.transaction_metadata_cache.values();
        let mut transactions: Vec<_> = entries
            .flat_map(|entry| &entry.metadata_per_transactional_id)
            .filter(|(_, metadata)| matches(request, metadata, now))
            .map(|(&id, metadata)| (id, metadata.producer_id, metadata.state))
            .collect();
        transactions.sort_unstable();
        ListTransactionsResponse { error: ErrorCode::None, transactions }
    }
}

fn matches(request: &ListTransactionsRequest, metadata: &TransactionMetadata, now: i64) -> bool {
    let has_id =
        request.producer_ids.is_empty() || request.producer_ids.contains(&metadata.producer_id);
    let has_state = request.states.is_empty() || request.states.contains(&metadata.state);
    let age = now - metadata.transaction_start_timestamp;
    has_id && has_state && (request.duration_ms < 0 || age > request.duration_ms)
}
