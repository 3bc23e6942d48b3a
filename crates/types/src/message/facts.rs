//! What a message says that a rule of a scenario may ask for.

use super::{Message, Request};
use crate::ids::{GroupId, ProducerEpoch, ProducerId, Sequence, TopicPartition, TransactionalId};
use crate::record::TransactionResult;

/// What one entry of a request says: a batch, a marker, a partition of a transaction. As a
/// question, `None` asks for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Facts {
    /// Version of the request.
    pub api_version: Option<i16>,
    /// Whose transaction.
    pub transactional_id: Option<TransactionalId>,
    /// Which group.
    pub group: Option<GroupId>,
    /// Producer id.
    pub producer_id: Option<ProducerId>,
    /// Producer epoch.
    pub producer_epoch: Option<ProducerEpoch>,
    /// Which partition.
    pub partition: Option<TopicPartition>,
    /// Sequence of the first record of a batch.
    pub base_sequence: Option<Sequence>,
    /// COMMIT or ABORT.
    pub committed: Option<bool>,
}

fn agrees<T: Copy + PartialEq>(wanted: Option<T>, said: Option<T>) -> bool {
    wanted.is_none() || wanted == said
}

impl Facts {
    /// Does an entry that says `said` give everything that is asked for?
    #[must_use]
    pub fn ask_no_more_than(&self, said: &Self) -> bool {
        agrees(self.api_version, said.api_version)
            && agrees(self.transactional_id, said.transactional_id)
            && agrees(self.group, said.group)
            && agrees(self.producer_id, said.producer_id)
            && agrees(self.producer_epoch, said.producer_epoch)
            && agrees(self.partition, said.partition)
            && agrees(self.base_sequence, said.base_sequence)
            && agrees(self.committed, said.committed)
    }

    fn of_producer(producer_id: ProducerId, producer_epoch: ProducerEpoch) -> Self {
        let (producer_id, producer_epoch) = (Some(producer_id), Some(producer_epoch));
        Self { producer_id, producer_epoch, ..Self::default() }
    }

    fn at(self, partition: TopicPartition) -> Self {
        Self { partition: Some(partition), ..self }
    }
}

impl Message {
    /// Is it a request of which an entry gives everything that `wanted` asks for?
    #[must_use]
    pub fn says(&self, wanted: &Facts) -> bool {
        let Self::Request(request) = self else { return false };
        let mut found = false;
        request.entries(&mut |said| found |= wanted.ask_no_more_than(said));
        found
    }
}

impl Request {
    /// Tells what each entry says; once for a request without entries.
    fn entries(&self, tell: &mut dyn FnMut(&Facts)) {
        let facts = self.head();
        match self {
            Self::Produce(request) => {
                for (partition, batch) in &request.partitions {
                    tell(&Facts {
                        producer_id: Some(batch.producer_id),
                        producer_epoch: Some(batch.producer_epoch),
                        base_sequence: Some(batch.base_sequence),
                        ..facts.at(*partition)
                    });
                }
            }
            Self::AddPartitionsToTxn(request) => {
                for transaction in &request.transactions {
                    let own = Facts {
                        transactional_id: Some(transaction.transactional_id),
                        api_version: Some(request.version),
                        ..Facts::of_producer(transaction.producer_id, transaction.producer_epoch)
                    };
                    transaction.partitions.iter().for_each(|tp| tell(&own.at(*tp)));
                }
            }
            Self::WriteTxnMarkers(request) => {
                for marker in &request.markers {
                    let own = Facts {
                        committed: Some(marker.transaction_result == TransactionResult::Commit),
                        api_version: Some(request.version),
                        ..Facts::of_producer(marker.producer_id, marker.producer_epoch)
                    };
                    marker.partitions.iter().for_each(|tp| tell(&own.at(*tp)));
                }
            }
            _ => self.plain_entries(facts, tell),
        }
    }

    /// The entries of a request that are partitions and nothing else.
    fn plain_entries(&self, facts: Facts, tell: &mut dyn FnMut(&Facts)) {
        let mut each = |partitions: &mut dyn Iterator<Item = TopicPartition>| {
            partitions.for_each(|partition| tell(&facts.at(partition)));
        };
        match self {
            Self::Fetch(request) => {
                each(&mut request.partitions.iter().map(|asked| asked.partition));
            }
            Self::ListOffsets(request) => {
                each(&mut request.partitions.iter().map(|asked| asked.partition));
            }
            Self::OffsetForLeaderEpoch(request) => {
                each(&mut request.partitions.iter().map(|asked| asked.partition));
            }
            Self::TxnOffsetCommit(request) => {
                each(&mut request.offsets.iter().map(|offset| offset.partition));
            }
            Self::OffsetCommit(request) => {
                each(&mut request.offsets.iter().map(|offset| offset.partition));
            }
            Self::DescribeProducers(request) => each(&mut [request.partition].into_iter()),
            Self::DeleteRecords(request) => each(&mut [request.partition].into_iter()),
            Self::AlterPartition(request) => each(&mut [request.partition].into_iter()),
            _ => tell(&facts),
        }
    }

    /// What a request says as a whole.
    fn head(&self) -> Facts {
        match self {
            Self::Produce(request) => Facts {
                api_version: Some(request.version),
                transactional_id: request.transactional_id,
                ..Facts::default()
            },
            Self::Fetch(request) => {
                Facts { api_version: Some(request.version), ..Facts::default() }
            }
            Self::InitProducerId(request) => Facts {
                api_version: Some(request.version),
                transactional_id: request.transactional_id,
                ..Facts::of_producer(request.producer_id, request.producer_epoch)
            },
            Self::AddOffsetsToTxn(request) => Facts {
                api_version: Some(request.version),
                transactional_id: Some(request.transactional_id),
                group: Some(request.group),
                ..Facts::of_producer(request.producer_id, request.producer_epoch)
            },
            Self::EndTxn(request) => Facts {
                api_version: Some(request.version),
                transactional_id: Some(request.transactional_id),
                committed: Some(request.committed),
                ..Facts::of_producer(request.producer_id, request.producer_epoch)
            },
            Self::TxnOffsetCommit(request) => Facts {
                api_version: Some(request.version),
                transactional_id: Some(request.transactional_id),
                group: Some(request.group),
                ..Facts::of_producer(request.producer_id, request.producer_epoch)
            },
            _ => self.group().map_or_else(Facts::default, |group| Facts {
                group: Some(group),
                ..Facts::default()
            }),
        }
    }

    /// The group that a request of the group coordinator concerns.
    const fn group(&self) -> Option<GroupId> {
        match self {
            Self::OffsetCommit(request) => Some(request.group),
            Self::OffsetFetch(request) => Some(request.group),
            Self::OffsetDelete(request) => Some(request.group),
            Self::DeleteGroups(request) => Some(request.group),
            Self::JoinGroup(request) => Some(request.group),
            Self::SyncGroup(request) => Some(request.group),
            Self::Heartbeat(request) => Some(request.group),
            Self::LeaveGroup(request) => Some(request.group),
            Self::ConsumerGroupHeartbeat(request) => Some(request.group),
            _ => None,
        }
    }
}
