//! AddOffsetsToTxn: the offsets partition of a group joins a transaction.
//!
//! Kafka counterpart: `KafkaApis.handleAddOffsetsToTxnRequest`. Clients of transaction version 2 do
//! not send it.

use eosim_types::machine::CoordinatorEvent;
use eosim_types::message::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use eosim_types::version::TransactionVersion;
use eosim_types::{ErrorCode, Topic, TopicPartition, rule};

use crate::action::{Ctx, ReplyTo};
use crate::add_partitions_to_txn::Adder;
use crate::coordinator::TransactionCoordinator;
use crate::response_callback::ResponseCallback;

impl TransactionCoordinator {
    /// Handles AddOffsetsToTxn.
    pub(crate) fn handle_add_offsets_to_txn(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        request: &AddOffsetsToTxnRequest,
    ) {
        rule!(cx.env, "C-OFF-1");
        let partitions = cx.metadata.partition_count(Topic::CONSUMER_OFFSETS);
        if partitions == 0 {
            let error = ErrorCode::CoordinatorNotAvailable;
            return cx.reply(to, AddOffsetsToTxnResponse { error });
        }
        let partition = cx.names.group_partition(request.group, partitions);
        let adder = Adder {
            transactional_id: request.transactional_id,
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            event: CoordinatorEvent::AddOffsetsToTxn,
        };
        let added = [TopicPartition::new(Topic::CONSUMER_OFFSETS, partition)];
        let callback = ResponseCallback::AddOffsetsToTxn { to, version: request.version };
        self.add_partitions(cx, adder, &added, TransactionVersion::Tv0, callback);
    }
}
