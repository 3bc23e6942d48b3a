//! Responses.

use eosim_types::message::{FetchPartitionResponse, OffsetFetchResponse, Response};

use super::{Words, joined, producer};

impl Words<'_> {
    pub(super) fn response(self, response: &Response) -> String {
        match response {
            Response::Produce(r) => joined(r.partitions.iter().map(|p| {
                format!("{} {} @{}", self.partition(p.partition), p.error.name(), p.base_offset)
            })),
            Response::Fetch(r) if !r.error.is_none() => r.error.name().to_string(),
            Response::Fetch(r) => joined(r.partitions.iter().map(|p| self.fetched(p))),
            Response::ListOffsets(r) => joined(r.partitions.iter().map(|p| {
                format!("{} {} @{}", self.partition(p.partition), p.error.name(), p.offset)
            })),
            Response::OffsetForLeaderEpoch(r) => joined(r.partitions.iter().map(|p| {
                let (partition, error) = (self.partition(p.partition), p.error.name());
                let (epoch, end) = (p.leader_epoch, p.end_offset);
                format!("{partition} {error} leader epoch {epoch} ends @{end}")
            })),
            Response::DescribeProducers(r) => {
                let count = r.producers.len();
                format!("{} {} {count} producers", self.partition(r.partition), r.error.name())
            }
            Response::DeleteRecords(r) => {
                let partition = self.partition(r.partition);
                format!("{partition} {} low watermark {}", r.error.name(), r.low_watermark)
            }
            Response::ApiVersions(r) => format!(
                "features {} transaction.version {}",
                r.finalized_features_epoch,
                r.transaction_version.level()
            ),
            Response::Metadata(r) => format!("metadata {}", r.image.version),
            Response::OffsetCommit(r) => self.errors(&r.partitions),
            Response::OffsetFetch(r) => self.offsets_fetched(r),
            _ => self.transaction_response(response),
        }
    }

    fn transaction_response(self, response: &Response) -> String {
        match response {
            Response::FindCoordinator(r) => {
                let node = r.node.map_or_else(|| "none".to_string(), |node| node.to_string());
                format!("{} broker {node}", r.error.name())
            }
            Response::InitProducerId(r) => {
                format!("{} {}", r.error.name(), producer(r.producer_id, r.producer_epoch))
            }
            Response::AddPartitionsToTxn(r) if r.results.is_empty() => r.error.name().to_string(),
            Response::AddPartitionsToTxn(r) => joined(
                r.results
                    .iter()
                    .map(|(id, errors)| format!("{} {}", self.id(*id), self.errors(errors))),
            ),
            Response::AddOffsetsToTxn(r) => r.error.name().to_string(),
            Response::EndTxn(r) => {
                format!("{} {}", r.error.name(), producer(r.producer_id, r.producer_epoch))
            }
            Response::WriteTxnMarkers(r) => joined(
                r.results
                    .iter()
                    .map(|(id, errors)| format!("producer id {id} {}", self.errors(errors))),
            ),
            Response::TxnOffsetCommit(r) => self.errors(&r.partitions),
            Response::DescribeTransactions(r) => match &r.transaction {
                Some(t) => {
                    let of = producer(t.producer_id, t.producer_epoch);
                    format!("{} {of} {}", self.id(t.transactional_id), t.state.name())
                }
                None => r.error.name().to_string(),
            },
            Response::ListTransactions(r) => {
                format!("{} {} transactions", r.error.name(), r.transactions.len())
            }
            _ => self.membership_response(response),
        }
    }

    pub(super) fn cluster_response(self, response: &Response) -> String {
        match response {
            Response::AllocateProducerIds(r) => {
                format!("{} {} from {}", r.error.name(), r.producer_id_len, r.producer_id_start)
            }
            Response::AlterPartition(r) => {
                let isr: Vec<_> = r.isr.iter().map(ToString::to_string).collect();
                let partition = self.partition(r.partition);
                format!("{partition} {} ISR [{}]", r.error.name(), isr.join(" "))
            }
            Response::BrokerRegistration(r) => {
                format!("{} broker epoch {}", r.error.name(), r.broker_epoch)
            }
            Response::BrokerHeartbeat(r) => {
                let fenced = if r.is_fenced { " fenced" } else { "" };
                let stop = if r.should_shut_down { " may stop" } else { "" };
                format!("{}{fenced}{stop}", r.error.name())
            }
            Response::FetchMetadata(r) => format!("metadata {}", r.image.version),
            Response::ElectLeaders(r) => self.errors(&r.partitions),
            Response::AlterPartitionReassignments(r) => self.errors(&r.partitions),
            Response::UpdateFeatures(r) => r.error.name().to_string(),
            _ => String::new(),
        }
    }

    fn fetched(self, answer: &FetchPartitionResponse) -> String {
        let FetchPartitionResponse { high_watermark, last_stable_offset, .. } = answer;
        let mut text = format!(
            "{} {} HW {high_watermark} LSO {last_stable_offset}",
            self.partition(answer.partition),
            answer.error.name()
        );
        let batches = joined(answer.batches.iter().map(|batch| {
            let n = batch.record_count();
            let kind = batch.marker().map_or("", |marker| marker.result.name());
            format!("{n}@{}{}{kind}", batch.base_offset, if kind.is_empty() { "" } else { " " })
        }));
        if !batches.is_empty() {
            text += &format!(" [{batches}]");
        }
        if !answer.aborted_transactions.is_empty() {
            let aborted = answer.aborted_transactions.iter();
            let aborted = aborted.map(|a| format!("{} from {}", a.producer_id, a.first_offset));
            text += &format!(" aborted [{}]", joined(aborted));
        }
        if let Some((epoch, end)) = answer.diverging_epoch {
            text += &format!(" diverging at leader epoch {epoch} ends @{end}");
        }
        text
    }

    fn offsets_fetched(self, response: &OffsetFetchResponse) -> String {
        let offsets = response.partitions.iter().map(|(tp, result)| {
            format!("{}@{} {}", self.partition(*tp), result.offset, result.error.name())
        });
        format!("{} {}", response.error.name(), joined(offsets))
    }
}
