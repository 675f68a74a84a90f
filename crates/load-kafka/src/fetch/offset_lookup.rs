//! Looks up where to begin by ListOffsets: at a time, at the start or at the end of the log.

use tare_kafka::bytes::Bytes;
use tare_kafka::frame;
use tare_kafka::kafka_protocol::messages::list_offsets_request::{
    ListOffsetsPartition, ListOffsetsTopic,
};
use tare_kafka::kafka_protocol::messages::{BrokerId, ListOffsetsRequest, TopicName};
use tare_kafka::kafka_protocol::protocol::StrBytes;

use super::cursor::{LATEST, PartitionCursor};
use super::{Fetch, OFFSETS};
use crate::RETRY_BACKOFF_NS;
use crate::cluster::BrokerResponse;
use crate::errors::{ErrorCode, RetryAction};
use tare_load::client::Outlet;

/// The replica id of consumers: the end is then the high watermark; for a replica it is the end of the leader's log.
const NO_REPLICA: BrokerId = BrokerId(-1);

impl Fetch {
    /// Sends ListOffsets for partitions without a position to their leaders.
    pub(super) fn request_offsets(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.reader.needs_offsets = false;
        for broker in 1..self.broker_fetches.len() as u32 {
            let broker_fetch = &mut self.broker_fetches[broker as usize];
            if !broker_fetch.offset_lookup.is_empty() || !self.cluster.is_usable(broker) {
                continue;
            }
            for (at, cursor) in self.reader.cursors.iter_mut().enumerate() {
                if cursor.position.is_some() || cursor.broken || cursor.offset_requested {
                    continue;
                }
                if cursor.paused_until_ns > now_ns {
                    self.reader.needs_offsets = true;
                    self.wake_ns = self.wake_ns.min(cursor.paused_until_ns);
                    continue;
                }
                let topic = &self.cluster.topics()[usize::from(cursor.topic)];
                let known = topic.partitions.get(cursor.partition as usize);
                if known.and_then(|known| known.leader) == Some(broker) {
                    cursor.offset_requested = true;
                    broker_fetch.offset_lookup.push(at as u32);
                }
            }
            if broker_fetch.offset_lookup.is_empty() {
                continue;
            }
            let request = list_offsets_request(
                &broker_fetch.offset_lookup,
                &self.reader.cursors,
                &self.plan.spec.topics,
            );
            let limit_ns = self.plan.timeout_ns;
            if let Err(error) = self.cluster.send(broker, OFFSETS, &request, limit_ns, out) {
                self.problem.get_or_insert(error.to_string());
            }
        }
    }

    /// Handles a ListOffsets response.
    pub(super) fn on_offsets(&mut self, answer: &BrokerResponse<'_>, out: &mut impl Outlet) {
        let bytes = Bytes::copy_from_slice(&answer.frame);
        let response = match frame::read::<ListOffsetsRequest>(bytes, answer.version) {
            Ok(response) => response,
            Err(error) => return self.cluster.reject(answer.broker, &error, out),
        };
        let paused_until_ns = out.now_ns().saturating_add(RETRY_BACKOFF_NS);
        let offset_lookup =
            std::mem::take(&mut self.broker_fetches[answer.broker as usize].offset_lookup);
        for at in offset_lookup {
            let Some(cursor) = self.reader.cursors.get_mut(at as usize) else {
                continue;
            };
            cursor.offset_requested = false;
            let name = &self.plan.spec.topics[usize::from(cursor.topic)];
            let topic = response
                .topics
                .iter()
                .find(|topic| *topic.name.0 == *name.as_str());
            let partition = topic.and_then(|topic| {
                let mut all = topic.partitions.iter();
                all.find(|one| one.partition_index == cursor.partition)
            });
            let Some(partition) = partition else {
                cursor.paused_until_ns = paused_until_ns;
                self.reader.needs_offsets = true;
                continue;
            };
            let code = ErrorCode(partition.error_code);
            if !code.is_error() && partition.offset >= 0 {
                cursor.position = Some(partition.offset);
                cursor.begin.get_or_insert(partition.offset);
                self.layout_changed = true;
                continue;
            }
            self.reader.needs_offsets = true;
            if !code.is_error() {
                // No record of that time or later yet: begins at the end.
                cursor.offset_spec = LATEST;
                continue;
            }
            cursor.paused_until_ns = paused_until_ns;
            match code.retry_action() {
                RetryAction::Refresh => self.reader.needs_metadata = true,
                RetryAction::Retry => {}
                RetryAction::GiveUp => {
                    let broker = self.cluster.name(answer.broker).to_string();
                    let (partition, name) = (cursor.partition, name.clone());
                    self.problem.get_or_insert_with(|| {
                        format!("{broker} tells no offset of {name}-{partition}: {code}")
                    });
                }
            }
        }
    }

    /// A ListOffsets request was lost.
    pub(super) fn on_offsets_lost(&mut self, broker: u32, now_ns: u64) {
        for at in std::mem::take(&mut self.broker_fetches[broker as usize].offset_lookup) {
            if let Some(cursor) = self.reader.cursors.get_mut(at as usize) {
                cursor.offset_requested = false;
                cursor.paused_until_ns = now_ns.saturating_add(RETRY_BACKOFF_NS);
                self.reader.needs_offsets = true;
            }
        }
    }
}

fn list_offsets_request(
    offset_lookup: &[u32],
    cursors: &[PartitionCursor],
    topics: &[String],
) -> ListOffsetsRequest {
    let mut named: Vec<ListOffsetsTopic> = Vec::new();
    for &at in offset_lookup {
        let cursor = &cursors[at as usize];
        let name = &topics[usize::from(cursor.topic)];
        let partition = ListOffsetsPartition::default()
            .with_partition_index(cursor.partition)
            .with_timestamp(cursor.offset_spec);
        match named
            .iter_mut()
            .find(|topic| *topic.name.0 == *name.as_str())
        {
            Some(topic) => topic.partitions.push(partition),
            None => named.push(
                ListOffsetsTopic::default()
                    .with_name(TopicName(StrBytes::from_string(name.clone())))
                    .with_partitions(vec![partition]),
            ),
        }
    }
    ListOffsetsRequest::default()
        .with_replica_id(NO_REPLICA)
        .with_topics(named)
}
