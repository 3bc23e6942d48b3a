//! DescribeTransactions: one transactional id as memory has it.
//!
//! Kafka counterpart: `TransactionCoordinator.handleDescribeTransactions`.

use eosim_types::message::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TransactionDescription,
};
use eosim_types::{ErrorCode, TransactionalId, rule};

use crate::action::Ctx;
use crate::coordinator::TransactionCoordinator;

impl TransactionCoordinator {
    /// Handles DescribeTransactions.
    pub(crate) fn handle_describe_transactions(
        &mut self,
        cx: &mut Ctx<'_>,
        request: DescribeTransactionsRequest,
    ) -> DescribeTransactionsResponse {
        rule!(cx.env, "C-ADM-1");
        match self.describe(cx, request.transactional_id) {
            Ok(description) => DescribeTransactionsResponse {
                error: ErrorCode::None,
                transaction: Some(description),
            },
            Err(error) => DescribeTransactionsResponse { error, transaction: None },
        }
    }

    fn describe(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
    ) -> Result<TransactionDescription, ErrorCode> {
        if !self.state_manager.is_started() {
            rule!(cx.env, "C-LK-3");
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        if transactional_id == TransactionalId::EMPTY {
            return Err(ErrorCode::InvalidRequest);
        }
        let owned = self.state_manager.get_transaction_state(cx, transactional_id)?;
        let metadata = owned.metadata.ok_or(ErrorCode::TransactionalIdNotFound)?;
        Ok(TransactionDescription {
            transactional_id,
            state: metadata.state,
            producer_id: metadata.producer_id,
            producer_epoch: metadata.producer_epoch,
            transaction_timeout_ms: metadata.transaction_timeout_ms,
            transaction_start_time_ms: metadata.transaction_start_timestamp,
            partitions: metadata.topic_partitions.clone(),
        })
    }
}
