//! Where to begin: brokers are asked for the offset of a time, of the oldest record, or behind the newest one.

use tare_kafka::bytes::Bytes;
use tare_kafka::frame;
use tare_kafka::kafka_protocol::messages::list_offsets_request::{
    ListOffsetsPartition, ListOffsetsTopic,
};
use tare_kafka::kafka_protocol::messages::{BrokerId, ListOffsetsRequest, TopicName};
use tare_kafka::kafka_protocol::protocol::StrBytes;

use super::source::{LATEST, Source};
use super::{Fetch, OFFSETS};
use crate::client::Outlet;
use crate::kafka::cluster::Answer;
use crate::kafka::errors::{Code, Remedy};

/// A consumer asks, which sees what is replicated: a replica would be told the end of the leader's log.
const NO_REPLICA: BrokerId = BrokerId(-1);

/// Pause before an offset is asked for again (`retry.backoff.ms`).
const PAUSE_NS: u64 = 100_000_000;

impl Fetch {
    /// Asks for the offsets that are not known, each of its leader.
    pub(super) fn place_all(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.reading.lost_place = false;
        for broker in 1..self.lanes.len() as u32 {
            let lane = &mut self.lanes[broker as usize];
            if !lane.placing.is_empty() || !self.cluster.is_usable(broker) {
                continue;
            }
            for (at, source) in self.reading.sources.iter_mut().enumerate() {
                if source.position.is_some() || source.broken || source.asked {
                    continue;
                }
                if source.hold_until_ns > now_ns {
                    self.reading.lost_place = true;
                    self.wake_ns = self.wake_ns.min(source.hold_until_ns);
                    continue;
                }
                let topic = &self.cluster.topics()[usize::from(source.topic)];
                let known = topic.partitions.get(source.partition as usize);
                if known.and_then(|known| known.leader) == Some(broker) {
                    source.asked = true;
                    lane.placing.push(at as u32);
                }
            }
            if lane.placing.is_empty() {
                continue;
            }
            let request = question(&lane.placing, &self.reading.sources, &self.spec.topics);
            let limit_ns = self.timeout_ns;
            if let Err(error) = self.cluster.send(broker, OFFSETS, &request, limit_ns, out) {
                self.problem.get_or_insert(error.to_string());
            }
        }
    }

    /// A broker told offsets.
    pub(super) fn placed(&mut self, answer: &Answer<'_>, out: &mut impl Outlet) {
        let bytes = Bytes::copy_from_slice(&answer.frame);
        let told = match frame::read::<ListOffsetsRequest>(bytes, answer.version) {
            Ok(told) => told,
            Err(error) => return self.cluster.distrust(answer.broker, &error, out),
        };
        let hold_until_ns = out.now_ns().saturating_add(PAUSE_NS);
        let placing = std::mem::take(&mut self.lanes[answer.broker as usize].placing);
        for at in placing {
            let Some(source) = self.reading.sources.get_mut(at as usize) else {
                continue;
            };
            source.asked = false;
            let name = &self.spec.topics[usize::from(source.topic)];
            let topic = told
                .topics
                .iter()
                .find(|topic| *topic.name.0 == *name.as_str());
            let partition = topic.and_then(|topic| {
                let mut all = topic.partitions.iter();
                all.find(|one| one.partition_index == source.partition)
            });
            let Some(partition) = partition else {
                source.hold_until_ns = hold_until_ns;
                self.reading.lost_place = true;
                continue;
            };
            let code = Code(partition.error_code);
            if !code.is_error() && partition.offset >= 0 {
                source.position = Some(partition.offset);
                source.begin.get_or_insert(partition.offset);
                self.layout_changed = true;
                continue;
            }
            self.reading.lost_place = true;
            if !code.is_error() {
                // Nothing of that time or later: what comes is.
                source.ask = LATEST;
                continue;
            }
            source.hold_until_ns = hold_until_ns;
            match code.remedy() {
                Remedy::Refresh => self.reading.lost_leader = true,
                Remedy::Retry => {}
                Remedy::GiveUp => {
                    let broker = self.cluster.name(answer.broker).to_string();
                    let (partition, name) = (source.partition, name.clone());
                    self.problem.get_or_insert_with(|| {
                        format!("{broker} tells no offset of {name}-{partition}: {code}")
                    });
                }
            }
        }
    }

    /// The question will not be answered.
    pub(super) fn unplaced(&mut self, broker: u32, now_ns: u64) {
        for at in std::mem::take(&mut self.lanes[broker as usize].placing) {
            if let Some(source) = self.reading.sources.get_mut(at as usize) {
                source.asked = false;
                source.hold_until_ns = now_ns.saturating_add(PAUSE_NS);
                self.reading.lost_place = true;
            }
        }
    }
}

fn question(placing: &[u32], sources: &[Source], topics: &[String]) -> ListOffsetsRequest {
    let mut named: Vec<ListOffsetsTopic> = Vec::new();
    for &at in placing {
        let source = &sources[at as usize];
        let name = &topics[usize::from(source.topic)];
        let partition = ListOffsetsPartition::default()
            .with_partition_index(source.partition)
            .with_timestamp(source.ask);
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
