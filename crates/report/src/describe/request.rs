//! Requests.

use eosim_types::message::{
    CommittableOffset, FetchMetadata, FetchRequest, ListOffsetsAsker, ListOffsetsRequest,
    ListOffsetsTimestamp, Request, WritableTxnMarker,
};
use eosim_types::record::TransactionResult;

use super::{Words, joined, producer};
use crate::dump_log::isolation;

impl Words<'_> {
    pub(super) fn request(self, request: &Request) -> String {
        match request {
            Request::Produce(r) => {
                let batches = r.partitions.iter().map(|(tp, batch)| self.batch(*tp, batch));
                format!("v{} acks={} {}", r.version, r.acks, joined(batches))
            }
            Request::Fetch(r) => self.fetch(r),
            Request::ListOffsets(r) => self.list_offsets(r),
            Request::OffsetForLeaderEpoch(r) => joined(r.partitions.iter().map(|p| {
                format!("{} leader epoch {}", self.partition(p.partition), p.leader_epoch)
            })),
            Request::DescribeProducers(r) => self.partition(r.partition),
            Request::DeleteRecords(r) => {
                format!("{} before {}", self.partition(r.partition), r.offset)
            }
            Request::ApiVersions(_) | Request::Metadata(_) => String::new(),
            Request::OffsetCommit(r) => {
                let group = self.names.group(r.group);
                format!("v{} \"{group}\" {}", r.version, self.offsets(&r.offsets))
            }
            Request::OffsetFetch(r) => {
                let stable = if r.require_stable { " stable" } else { "" };
                let partitions = r.partitions.as_deref().map(|list| self.partitions(list));
                let partitions = partitions.as_deref().unwrap_or("all partitions");
                format!("\"{}\" {partitions}{stable}", self.names.group(r.group))
            }
            _ => self.transaction_request(request),
        }
    }

    fn transaction_request(self, request: &Request) -> String {
        match request {
            Request::FindCoordinator(r) => self.key(r.key),
            Request::InitProducerId(r) => {
                let resumed = producer(r.producer_id, r.producer_epoch);
                let two_phase = if r.enable_2pc { " two-phase" } else { "" };
                let keep = if r.keep_prepared_txn { " keep prepared" } else { "" };
                let id = self.optional_id(r.transactional_id);
                format!("v{} {id} {resumed}{two_phase}{keep}", r.version)
            }
            Request::AddPartitionsToTxn(r) => joined(r.transactions.iter().map(|transaction| {
                let verify = if transaction.verify_only { "verify " } else { "" };
                let id = self.id(transaction.transactional_id);
                let of = producer(transaction.producer_id, transaction.producer_epoch);
                format!("{verify}{id} {of} {}", self.partitions(&transaction.partitions))
            })),
            Request::AddOffsetsToTxn(r) => {
                let of = producer(r.producer_id, r.producer_epoch);
                let group = self.names.group(r.group);
                format!("v{} {} {of} group \"{group}\"", r.version, self.id(r.transactional_id))
            }
            Request::EndTxn(r) => {
                let result = TransactionResult::from_committed(r.committed).name();
                let of = producer(r.producer_id, r.producer_epoch);
                format!("v{} {} {of} {result}", r.version, self.id(r.transactional_id))
            }
            Request::WriteTxnMarkers(r) => joined(r.markers.iter().map(|m| self.marker(m))),
            Request::TxnOffsetCommit(r) => {
                let of = producer(r.producer_id, r.producer_epoch);
                let group = self.names.group(r.group);
                let offsets = self.offsets(&r.offsets);
                let id = self.id(r.transactional_id);
                format!("v{} {id} {of} group \"{group}\" {offsets}", r.version)
            }
            Request::DescribeTransactions(r) => self.id(r.transactional_id),
            _ => self.membership_request(request),
        }
    }

    pub(super) fn cluster_request(self, request: &Request) -> String {
        match request {
            Request::AllocateProducerIds(r) => format!("broker {}", r.broker),
            Request::AlterPartition(r) => {
                let isr = r.new_isr.iter().map(|(broker, _)| broker.to_string());
                let isr = isr.collect::<Vec<_>>().join(" ");
                format!(
                    "{} leader epoch {} ISR [{isr}]",
                    self.partition(r.partition),
                    r.leader_epoch
                )
            }
            Request::BrokerRegistration(r) => {
                format!("broker {} incarnation {}", r.broker, r.incarnation)
            }
            Request::BrokerHeartbeat(r) => {
                let stop = if r.want_shut_down { " wants to stop" } else { "" };
                format!("broker {} metadata {}{stop}", r.broker, r.current_metadata_version)
            }
            Request::FetchMetadata(r) => {
                format!("broker {} knows {}", r.broker, r.known_version)
            }
            Request::ElectLeaders(r) => {
                let unclean = if r.unclean { "unclean " } else { "" };
                format!("{unclean}{}", self.partitions(&r.partitions))
            }
            Request::AlterPartitionReassignments(r) => {
                joined(r.partitions.iter().map(|(tp, replicas)| {
                    let replicas: Vec<_> = replicas.iter().map(ToString::to_string).collect();
                    format!("{} to [{}]", self.partition(*tp), replicas.join(" "))
                }))
            }
            Request::UpdateFeatures(r) => {
                format!("transaction.version {}", r.transaction_version.level())
            }
            _ => String::new(),
        }
    }

    fn fetch(self, request: &FetchRequest) -> String {
        let who = match request.replica {
            Some((broker, _)) => format!("follower {broker}"),
            None => isolation(request.isolation_level).to_string(),
        };
        let partitions = request.partitions.iter();
        let from =
            partitions.map(|p| format!("{}@{}", self.partition(p.partition), p.fetch_offset));
        let mut text = format!("{who} {}", joined(from));
        if request.metadata != FetchMetadata::LEGACY {
            let FetchMetadata { session_id, epoch } = request.metadata;
            text += &format!(" session {session_id} epoch {epoch}");
        }
        if !request.forgotten.is_empty() {
            let forgotten = request.forgotten.iter().map(|tp| self.partition(*tp));
            text += &format!(" forgets {}", joined(forgotten));
        }
        text
    }

    fn list_offsets(self, request: &ListOffsetsRequest) -> String {
        let who = match request.asker {
            ListOffsetsAsker::Consumer(level) => isolation(level),
            ListOffsetsAsker::Debug => "debug",
        };
        let each = request.partitions.iter().map(|asked| {
            let what = match asked.timestamp {
                ListOffsetsTimestamp::Latest => "latest".to_string(),
                ListOffsetsTimestamp::Earliest => "earliest".to_string(),
                ListOffsetsTimestamp::At(timestamp) => format!("at {timestamp}"),
            };
            format!("{} {what}", self.partition(asked.partition))
        });
        format!("{who} {}", joined(each))
    }

    fn marker(self, marker: &WritableTxnMarker) -> String {
        let of = producer(marker.producer_id, marker.producer_epoch);
        let WritableTxnMarker { transaction_result, coordinator_epoch, .. } = marker;
        let partitions = self.partitions(&marker.partitions);
        let result = transaction_result.name();
        format!("{result} {of} coordinator epoch {coordinator_epoch} to {partitions}")
    }

    fn offsets(self, offsets: &[CommittableOffset]) -> String {
        joined(offsets.iter().map(|o| format!("{}@{}", self.partition(o.partition), o.offset)))
    }
}
