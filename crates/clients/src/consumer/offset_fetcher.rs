//! Look-ups of starts and ends (`OffsetFetcher`, K-OFF).

use eosim_actor::Cx;
use eosim_types::message::{
    ListOffsetsAsker, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTimestamp, Response,
};
use eosim_types::{TopicPartition, rule};

use super::{Assigned, Consumer, ConsumerOutcome, InFlight};
use crate::network_client::{Answer, ClientOut};

/// Version of ListOffsets requests.
const LIST_OFFSETS_VERSION: i16 = 5;

impl Consumer {
    /// Asks for the start of each partition without a position, and for ends that are owed.
    pub(super) fn send_list_offsets(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        for index in 0..self.assigned.len() {
            let assigned = &self.assigned[index];
            let resets = assigned.position.is_none() && !assigned.resetting;
            if assigned.retry_at > cx.now() {
                continue;
            }
            if resets {
                rule!(cx.env, "K-POS-7");
                self.list_offsets(index, ListOffsetsTimestamp::Earliest, cx, out);
            }
            if self.assigned[index].end_offset_wanted {
                self.list_offsets(index, ListOffsetsTimestamp::Latest, cx, out);
            }
        }
    }

    fn list_offsets(
        &mut self,
        index: usize,
        timestamp: ListOffsetsTimestamp,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let partition = self.assigned[index].partition;
        let Some((node, current_leader_epoch)) = self.metadata.leader(partition) else {
            return self.metadata.request_update();
        };
        if self.client.backing_off(node, cx.now()).is_some() {
            return;
        }
        rule!(cx.env, "K-OFF-1");
        let asker = ListOffsetsAsker::Consumer(self.config.isolation_level);
        let version = LIST_OFFSETS_VERSION;
        let request =
            ListOffsetsRequest { version, asker, partition, current_leader_epoch, timestamp };
        let in_flight = if timestamp == ListOffsetsTimestamp::Latest {
            self.assigned[index].end_offset_wanted = false;
            InFlight::EndOffset(partition)
        } else {
            self.assigned[index].resetting = true;
            InFlight::Reset(partition)
        };
        self.client.send(node, request.into(), in_flight, cx.now(), out);
    }

    /// The offset, or `None` after arranging for another attempt.
    fn listed_offset(
        &mut self,
        partition: TopicPartition,
        answer: &Answer,
        cx: &mut Cx<'_>,
    ) -> Option<i64> {
        if let Answer::Response(Response::ListOffsets(ListOffsetsResponse {
            error, offset, ..
        })) = answer
            && error.is_none()
        {
            return Some(*offset);
        }
        self.metadata.request_update();
        self.retry_later(partition, cx);
        None
    }

    /// A position was looked up; it counts only if there is none yet (K-POS-7).
    pub(super) fn offset_found(
        &mut self,
        partition: TopicPartition,
        answer: &Answer,
        cx: &mut Cx<'_>,
    ) {
        let offset = self.listed_offset(partition, answer, cx);
        let Some(assigned) = self.assigned_mut(partition) else { return };
        assigned.resetting = false;
        if let Some(offset) = offset.filter(|_| assigned.position.is_none()) {
            rule!(cx.env, "K-OFF-4");
            assigned.position = Some(offset);
            self.outcomes.push_back(ConsumerOutcome::PositionSet { partition, offset });
        }
    }

    pub(super) fn end_found(
        &mut self,
        partition: TopicPartition,
        answer: &Answer,
        cx: &mut Cx<'_>,
    ) {
        let offset = self.listed_offset(partition, answer, cx);
        let Some(assigned) = self.assigned_mut(partition) else { return };
        match offset {
            Some(offset) => {
                rule!(cx.env, "K-OFF-2");
                remember_bound(assigned, offset);
                self.outcomes.push_back(ConsumerOutcome::EndOffset { partition, offset });
            }
            None => assigned.end_offset_wanted = true,
        }
    }
}

/// K-OFF-2: the answer takes the place of the bound remembered from the last Fetch.
const fn remember_bound(assigned: &mut Assigned, offset: i64) {
    assigned.high_watermark = offset;
    assigned.last_stable_offset = offset;
}
