//! The batches of several replicas of a partition side by side, as they come in.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::Serialize;

use crate::records::BatchHeader;

/// Differences that are kept: where replicas have parted, one is as good as a thousand.
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

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) batches: u64,
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// The offset up to which everything was compared.
    pub(super) at: i64,
    pub(super) differences: Vec<Difference>,
}

/// What one replica has still to be compared.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) waiting: VecDeque<BatchMark>,
    /// Nothing more comes.
    pub(super) is_over: bool,
}

/// Compares as far as every lane has something, or is over.
pub(super) fn compare(lanes: &mut BTreeMap<i32, Lane>, found: &mut Found) {
    while lanes
        .values()
        .all(|lane| lane.is_over || !lane.waiting.is_empty())
    {
        let fronts = lanes.values().filter_map(|lane| lane.waiting.front());
        let Some(lowest) = fronts.map(|front| front.offset).min() else {
            return;
        };
        // Only what begins first is compared: the others have nothing there.
        let here: BTreeMap<i32, Option<BatchMark>> = lanes
            .iter_mut()
            .map(|(&broker, lane)| {
                let is_here = lane
                    .waiting
                    .front()
                    .is_some_and(|front| front.offset == lowest);
                (
                    broker,
                    if is_here {
                        lane.waiting.pop_front()
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
            found.records += u64::from(mark.records);
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
        }
    }

    fn lane(marks: &[BatchMark], is_over: bool) -> Lane {
        Lane {
            waiting: marks.iter().copied().collect(),
            is_over,
        }
    }

    #[test]
    fn the_same_batches_are_counted_once() {
        let all = [mark(0, 1), mark(10, 2)];
        let mut lanes = BTreeMap::from([(1, lane(&all, true)), (2, lane(&all, true))]);
        let mut found = Found::default();
        compare(&mut lanes, &mut found);
        assert_eq!((found.batches, found.records, found.bytes), (2, 20, 200));
        assert_eq!((found.at, found.differences.len()), (20, 0));
    }

    #[test]
    fn a_lane_without_anything_yet_is_waited_for() {
        let mut lanes = BTreeMap::from([(1, lane(&[mark(0, 1)], false)), (2, lane(&[], false))]);
        let mut found = Found::default();
        compare(&mut lanes, &mut found);
        assert_eq!((found.batches, found.differences.len()), (0, 0));
        lanes.get_mut(&2).unwrap().waiting.push_back(mark(0, 1));
        compare(&mut lanes, &mut found);
        assert_eq!(found.batches, 1);
    }

    #[test]
    fn another_checksum_is_a_difference_and_what_follows_is_still_compared() {
        let (a, b) = ([mark(0, 1), mark(10, 2)], [mark(0, 9), mark(10, 2)]);
        let mut lanes = BTreeMap::from([(1, lane(&a, true)), (2, lane(&b, true))]);
        let mut found = Found::default();
        compare(&mut lanes, &mut found);
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
            let mut lanes = BTreeMap::from([(1, lane(&all, true)), (2, lane(&less, true))]);
            let mut found = Found::default();
            compare(&mut lanes, &mut found);
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
        let mut lanes = BTreeMap::from([(1, lane(&a, true)), (2, lane(&b, true))]);
        let mut found = Found::default();
        compare(&mut lanes, &mut found);
        assert_eq!(found.differences.len(), DIFFERENCES_MAX);
        assert!(lanes.values().all(|lane| lane.waiting.is_empty()));
    }
}
