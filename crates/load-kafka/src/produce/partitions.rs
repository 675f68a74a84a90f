//! The partitions that are produced to: leader, open batch, queue, batches in flight.

use std::collections::VecDeque;

use tare_kafka::audit::Ranges;
use tare_record::agent::Acknowledged;

use super::Produce;
use tare_load::client::Outlet;

/// Limit of gaps among acknowledged records; each is a batch that failed.
const GAPS_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Partition {
    /// Index of its topic.
    pub topic: usize,
    /// Its index in the topic.
    pub index: i32,
    /// The broker that leads it.
    pub leader: Option<u32>,
    /// The batch that is being filled.
    pub open: Option<u32>,
    /// Closed batches to send, in order.
    pub queue: VecDeque<u32>,
    pub in_flight_batches: u32,
    /// Batches to retry; nothing is sent until all in flight have returned.
    pub returned: Vec<u32>,
    /// Whether nothing else is sent until the batch in flight is settled: a retry, since brokers deduplicate the last five only;
    /// or the first batch of a producer id, since a broker that knows none of its batches accepts any as the first.
    pub exclusive: bool,
    /// Backoff: nothing is sent before this time.
    pub paused_until_ns: u64,
    /// Sequence of the next record, with idempotence.
    pub sequence: i32,
    /// Records that were put into batches.
    pub filled: u64,
    /// Those of them that were acknowledged, by their index; kept only with serials.
    pub acknowledged: Ranges,
}

impl Partition {
    fn new(topic: usize, index: i32) -> Self {
        Self {
            topic,
            index,
            leader: None,
            open: None,
            queue: VecDeque::with_capacity(16),
            in_flight_batches: 0,
            returned: Vec::new(),
            exclusive: false,
            paused_until_ns: 0,
            sequence: 0,
            filled: 0,
            acknowledged: Ranges::new(GAPS_MAX),
        }
    }

    /// Whether nothing may be sent until batches in flight have returned.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.exclusive || !self.returned.is_empty()
    }

    /// A batch in flight has ended or is to be retried.
    pub fn batch_returned(&mut self) {
        self.in_flight_batches -= 1;
        self.exclusive &= self.in_flight_batches > 0;
    }
}

/// The sequence `count` records later; it wraps to 0 after `i32::MAX`, as in Kafka.
pub(super) fn sequence_after(sequence: i32, count: u32) -> i32 {
    ((i64::from(sequence) + i64::from(count)) & i64::from(i32::MAX)) as i32
}

impl Produce {
    /// Takes partitions and leaders from metadata.
    pub(super) fn update_leaders(&mut self, out: &mut impl Outlet) {
        for (topic, metadata) in self.cluster.topics().iter().enumerate() {
            let known = &mut self.topics[topic];
            for index in known.len()..metadata.partitions.len() {
                known.push(self.partitions.len() as u32);
                self.partitions.push(Partition::new(topic, index as i32));
            }
            for (&at, partition) in known.iter().zip(&metadata.partitions) {
                self.partitions[at as usize].leader = partition.leader;
            }
        }
        self.send_due = true;
        self.fill_waiting(out);
    }

    /// Reports which records were acknowledged, if they have serials.
    pub(super) fn report_acknowledged(&self, report: &mut dyn FnMut(Acknowledged)) {
        let Some(serials) = self.serials else {
            return;
        };
        for partition in self.partitions.iter().filter(|one| one.filled > 0) {
            let ranges = partition.acknowledged.all().iter();
            report(Acknowledged {
                topic: self.plan.cluster.topics[partition.topic].clone(),
                partition: partition.index,
                writer: serials.writer(),
                ranges: ranges.map(|&(from, to)| [from, to - from]).collect(),
            });
        }
    }

    /// Once none of a partition's batches is in flight, puts those to retry to the front of its queue, in their order.
    pub(super) fn requeue_returned(&mut self, at: usize) {
        let partition = &mut self.partitions[at];
        if partition.in_flight_batches > 0 || partition.returned.is_empty() {
            return;
        }
        let batch_pool = &mut self.batch_pool;
        partition
            .returned
            .sort_unstable_by_key(|&batch| std::cmp::Reverse(batch_pool.slot(batch).order));
        if self.producer_id.is_idempotent() {
            // Batches after one that gets a new sequence cannot have been written: they get new ones too.
            let mut renumbered = false;
            for &batch in partition.returned.iter().rev() {
                let slot = batch_pool.slot_mut(batch);
                renumbered |= slot.sequence.is_none();
                if renumbered && slot.sequence.take().is_some() {
                    self.producer_id.batch_settled();
                }
            }
        }
        for batch in partition.returned.drain(..) {
            partition.queue.push_front(batch);
        }
        self.send_due = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_records_come_round_behind_the_largest() {
        assert_eq!(sequence_after(0, 5), 5);
        assert_eq!(sequence_after(i32::MAX - 1, 1), i32::MAX);
        assert_eq!(sequence_after(i32::MAX - 1, 2), 0);
        assert_eq!(sequence_after(i32::MAX, 10), 9);
    }
}
