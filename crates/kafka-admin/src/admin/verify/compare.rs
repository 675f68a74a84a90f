//! Compares the batches of several replicas of a partition as they are read.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use tare_kafka::records::BatchHeader;
use tare_record::schemas::JsonSchema;

/// Differences kept in the report; further ones are not recorded.
pub(super) const DIFFERENCES_MAX: usize = 10;

/// What is compared of a batch: all of its bytes are under the checksum but these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BatchMark {
    /// Offset of its first record.
    pub offset: i64,
    /// The offset after it.
    pub next_offset: i64,
    /// Epoch of the leader that appended it.
    pub leader_epoch: i32,
    /// Its checksum.
    pub crc: u32,
    /// Its length.
    pub size_bytes: u64,
    /// Its records.
    pub records: u32,
    /// Whether it holds a transaction marker, which no consumer sees, instead of records.
    pub is_marker: bool,
}

impl BatchMark {
    pub(super) fn of(header: &BatchHeader) -> BatchMark {
        BatchMark {
            offset: header.base_offset,
            next_offset: header.next_offset(),
            leader_epoch: header.leader_epoch,
            crc: header.crc,
            size_bytes: header.batch_bytes as u64,
            records: header.records,
            is_marker: header.attributes.is_control(),
        }
    }
}

/// A place where replicas do not have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The first offset that is not the same.
    pub offset: i64,
    /// What each broker has there; nothing where it has no batch that begins there.
    pub batches: BTreeMap<i32, Option<BatchMark>>,
}

/// The state of a comparison.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) batches: u64,
    pub(super) records: u64,
    pub(super) markers: u64,
    pub(super) bytes: u64,
    /// The offset up to which everything was compared.
    pub(super) at: i64,
    pub(super) differences: Vec<Difference>,
}

/// Batches of one replica that are not compared yet.
#[derive(Debug, Default)]
pub(super) struct ReplicaQueue {
    pub(super) pending: VecDeque<BatchMark>,
    /// The replica has no further batches.
    pub(super) is_done: bool,
}

/// Compares as far as every replica has a pending batch or is done.
pub(super) fn compare(queues: &mut BTreeMap<i32, ReplicaQueue>, found: &mut Comparison) {
    while queues
        .values()
        .all(|queue| queue.is_done || !queue.pending.is_empty())
    {
        let fronts = queues.values().filter_map(|queue| queue.pending.front());
        let Some(lowest) = fronts.map(|front| front.offset).min() else {
            return;
        };
        // Only the batches with the lowest offset are compared: the other replicas have nothing there.
        let here: BTreeMap<i32, Option<BatchMark>> = queues
            .iter_mut()
            .map(|(&broker, queue)| {
                let is_here = queue
                    .pending
                    .front()
                    .is_some_and(|front| front.offset == lowest);
                (
                    broker,
                    if is_here {
                        queue.pending.pop_front()
                    } else {
                        None
                    },
                )
            })
            .collect();
        let mut all = here.values();
        let first = all.next().copied().flatten();
        if let Some(mark) = first
            && all.all(|other| *other == first)
        {
            found.batches += 1;
            match mark.is_marker {
                true => found.markers += u64::from(mark.records),
                false => found.records += u64::from(mark.records),
            }
            found.bytes += mark.size_bytes;
            found.at = mark.next_offset;
        } else {
            if found.differences.len() < DIFFERENCES_MAX {
                found.differences.push(Difference {
                    offset: lowest,
                    batches: here,
                });
            }
            found.at = lowest + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(offset: i64, crc: u32) -> BatchMark {
        BatchMark {
            offset,
            next_offset: offset + 10,
            leader_epoch: 0,
            crc,
            size_bytes: 100,
            records: 10,
            is_marker: false,
        }
    }

    fn queue(marks: &[BatchMark], is_done: bool) -> ReplicaQueue {
        ReplicaQueue {
            pending: marks.iter().copied().collect(),
            is_done,
        }
    }

    #[test]
    fn the_same_batches_are_counted_once() {
        let all = [mark(0, 1), mark(10, 2)];
        let mut queues = BTreeMap::from([(1, queue(&all, true)), (2, queue(&all, true))]);
        let mut found = Comparison::default();
        compare(&mut queues, &mut found);
        assert_eq!((found.batches, found.records, found.bytes), (2, 20, 200));
        assert_eq!((found.at, found.differences.len()), (20, 0));
    }

    #[test]
    fn markers_of_transactions_are_compared_and_are_no_records() {
        let marker = BatchMark {
            records: 1,
            is_marker: true,
            ..mark(10, 2)
        };
        let all = [mark(0, 1), marker];
        let mut queues = BTreeMap::from([(1, queue(&all, true)), (2, queue(&all, true))]);
        let mut found = Comparison::default();
        compare(&mut queues, &mut found);
        assert_eq!((found.batches, found.records, found.markers), (2, 10, 1));
    }

    #[test]
    fn a_lane_without_anything_yet_is_waited_for() {
        let mut queues = BTreeMap::from([(1, queue(&[mark(0, 1)], false)), (2, queue(&[], false))]);
        let mut found = Comparison::default();
        compare(&mut queues, &mut found);
        assert_eq!((found.batches, found.differences.len()), (0, 0));
        queues.get_mut(&2).unwrap().pending.push_back(mark(0, 1));
        compare(&mut queues, &mut found);
        assert_eq!(found.batches, 1);
    }

    #[test]
    fn another_checksum_is_a_difference_and_what_follows_is_still_compared() {
        let (a, b) = ([mark(0, 1), mark(10, 2)], [mark(0, 9), mark(10, 2)]);
        let mut queues = BTreeMap::from([(1, queue(&a, true)), (2, queue(&b, true))]);
        let mut found = Comparison::default();
        compare(&mut queues, &mut found);
        assert_eq!(found.batches, 1);
        assert_eq!(found.differences.len(), 1);
        assert_eq!(found.differences[0].offset, 0);
        assert_eq!(found.differences[0].batches[&2].unwrap().crc, 9);
    }

    #[test]
    fn a_batch_that_one_replica_lacks_is_a_difference() {
        for at in 0..3 {
            let all = [mark(0, 1), mark(10, 2), mark(20, 3)];
            let mut less = all.to_vec();
            less.remove(at);
            let mut queues = BTreeMap::from([(1, queue(&all, true)), (2, queue(&less, true))]);
            let mut found = Comparison::default();
            compare(&mut queues, &mut found);
            assert_eq!(found.batches, 2, "without batch {at}");
            assert_eq!(found.differences.len(), 1, "without batch {at}");
            let difference = &found.differences[0];
            assert_eq!(difference.offset, all[at].offset);
            assert!(difference.batches[&1].is_some() && difference.batches[&2].is_none());
        }
    }

    #[test]
    fn differences_have_a_limit() {
        let (a, b): (Vec<_>, Vec<_>) = (0..100).map(|n| (mark(n * 10, 1), mark(n * 10, 2))).unzip();
        let mut queues = BTreeMap::from([(1, queue(&a, true)), (2, queue(&b, true))]);
        let mut found = Comparison::default();
        compare(&mut queues, &mut found);
        assert_eq!(found.differences.len(), DIFFERENCES_MAX);
        assert!(queues.values().all(|queue| queue.pending.is_empty()));
    }
}
