//! The partitions that are produced to: who leads each, what is open, what waits, what is under way.

use std::collections::VecDeque;

use tare_kafka::audit::Ranges;
use tare_schema::agent::Acknowledged;

use super::Produce;
use crate::client::Outlet;

/// Gaps among what was acknowledged that are kept: each is a batch that was given up.
const GAPS_MAX: usize = 1 << 16;

/// A partition.
#[derive(Debug)]
pub(super) struct Partition {
    /// Number of its topic.
    pub topic: usize,
    /// Its number in the topic.
    pub index: i32,
    /// The broker that leads it.
    pub leader: Option<u32>,
    /// The batch that is being filled.
    pub open: Option<u32>,
    /// Closed ones that are to be sent, in order.
    pub queue: VecDeque<u32>,
    /// Batches under way.
    pub flying: u32,
    /// Batches that came back to be sent again; until all under way have come back nothing is sent.
    pub returned: Vec<u32>,
    /// Whether a batch is under way behind which nothing goes until it is settled: one that is sent again, since a broker remembers
    /// the last five batches only; and the first under a number, since a broker that knows none takes any as the first.
    pub alone: bool,
    /// Nothing is sent before this time.
    pub paused_until_ns: u64,
    /// Number of the next record, with idempotence.
    pub sequence: i32,
    /// Records that were put into batches.
    pub filled: u64,
    /// Those of them that were acknowledged, by their place in that order; kept where records are numbered.
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
            flying: 0,
            returned: Vec::new(),
            alone: false,
            paused_until_ns: 0,
            sequence: 0,
            filled: 0,
            acknowledged: Ranges::new(GAPS_MAX),
        }
    }

    /// Whether what has to be repeated is being waited for.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.alone || !self.returned.is_empty()
    }

    /// A batch under way has come back or is over.
    pub fn landed(&mut self) {
        self.flying -= 1;
        self.alone &= self.flying > 0;
    }
}

/// The number behind a record's by so many: they come round, as Kafka has it.
pub(super) fn sequence_after(sequence: i32, count: u32) -> i32 {
    ((i64::from(sequence) + i64::from(count)) & i64::from(i32::MAX)) as i32
}

impl Produce {
    /// The cluster has told who leads what.
    pub(super) fn learn_leaders(&mut self, out: &mut impl Outlet) {
        for (topic, told) in self.cluster.topics().iter().enumerate() {
            let known = &mut self.topics[topic];
            for index in known.len()..told.partitions.len() {
                known.push(self.partitions.len() as u32);
                self.partitions.push(Partition::new(topic, index as i32));
            }
            for (&at, partition) in known.iter().zip(&told.partitions) {
                self.partitions[at as usize].leader = partition.leader;
            }
        }
        self.stirred = true;
        self.settle_waiting(out);
    }

    /// Tells which records were acknowledged, where they are numbered.
    pub(super) fn tell_acknowledged(&self, tell: &mut dyn FnMut(Acknowledged)) {
        let Some(serials) = self.plan.serials else {
            return;
        };
        for partition in self.partitions.iter().filter(|one| one.filled > 0) {
            let ranges = partition.acknowledged.all().iter();
            tell(Acknowledged {
                topic: self.plan.cluster.topics[partition.topic].clone(),
                partition: partition.index,
                writer: serials.writer(),
                ranges: ranges.map(|&(from, to)| [from, to - from]).collect(),
            });
        }
    }

    /// A batch that came back is to be sent again. When all of its partition are back, they go to the front in their order.
    pub(super) fn settle_returned(&mut self, at: usize) {
        let partition = &mut self.partitions[at];
        if partition.flying > 0 || partition.returned.is_empty() {
            return;
        }
        let store = &mut self.store;
        partition
            .returned
            .sort_unstable_by_key(|&batch| std::cmp::Reverse(store.slot(batch).order));
        if self.identity.is_idempotent() {
            // What stands behind a batch that gets another number cannot have been written: it gets one too.
            let mut renumbered = false;
            for &batch in partition.returned.iter().rev() {
                let slot = store.slot_mut(batch);
                renumbered |= slot.sequence.is_none();
                if renumbered && slot.sequence.take().is_some() {
                    self.identity.settled();
                }
            }
        }
        for batch in partition.returned.drain(..) {
            partition.queue.push_front(batch);
        }
        self.stirred = true;
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
