//! A message or an observation in one short line, Kafka's names.
//!
//! No Kafka counterpart; the closest is the request log. A producer is written `id/epoch`.

use eosim_types::message::{CoordinatorKey, Message, PerPartition};
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{ErrorCode, Names, ProducerEpoch, ProducerId, TopicPartition, TransactionalId};

mod membership;
mod observation;
mod request;
mod response;

pub use observation::describe_observed;

/// The API and what matters of the contents.
#[must_use]
pub fn describe(message: &Message, names: &Names) -> String {
    let words = Words { names };
    let (api, contents) = match message {
        Message::Request(request) => (request.api(), words.request(request)),
        Message::Response(response) => (response.api(), words.response(response)),
    };
    if contents.is_empty() { api.name().to_string() } else { format!("{} {contents}", api.name()) }
}

/// Names, to be put into sentences.
#[derive(Clone, Copy)]
struct Words<'a> {
    names: &'a Names,
}

impl Words<'_> {
    fn partition(self, tp: TopicPartition) -> String {
        self.names.partition(tp)
    }

    fn partitions(self, partitions: &[TopicPartition]) -> String {
        joined(partitions.iter().map(|tp| self.partition(*tp)))
    }

    fn id(self, id: TransactionalId) -> String {
        format!("\"{}\"", self.names.transactional_id(id))
    }

    fn optional_id(self, id: Option<TransactionalId>) -> String {
        id.map_or_else(|| "no transactional id".to_string(), |id| self.id(id))
    }

    fn key(self, key: CoordinatorKey) -> String {
        match key {
            CoordinatorKey::Transaction(id) => format!("of transaction {}", self.id(id)),
            CoordinatorKey::Group(group) => format!("of group \"{}\"", self.names.group(group)),
        }
    }

    /// Errors by partition; one word if they are all the same.
    fn errors(self, results: &PerPartition<ErrorCode>) -> String {
        match results.as_slice() {
            [] => "nothing".to_string(),
            [(_, first), rest @ ..] if rest.iter().all(|(_, error)| error == first) => {
                first.name().to_string()
            }
            all => {
                joined(all.iter().map(|(tp, e)| format!("{} {}", self.partition(*tp), e.name())))
            }
        }
    }

    /// `topic-0 seq 3 3 records of 0/1 transactional`.
    fn batch(self, tp: TopicPartition, batch: &RecordBatch) -> String {
        let kind = if batch.is_transactional { " transactional" } else { "" };
        let contents = match &batch.payload {
            Payload::Records(records) => {
                let values = records.iter().map(|record| self.names.value(record.value));
                format!("[{}]", values.collect::<Vec<_>>().join(" "))
            }
            Payload::Control(marker) => marker.result.name().to_string(),
            _ => format!("{} records", batch.record_count()),
        };
        let of = producer(batch.producer_id, batch.producer_epoch);
        format!("{} seq {} {contents} of {of}{kind}", self.partition(tp), batch.base_sequence)
    }
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

fn producer(id: ProducerId, epoch: ProducerEpoch) -> String {
    format!("{id}/{epoch}")
}
