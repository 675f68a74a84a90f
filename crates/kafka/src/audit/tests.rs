//! Accounts of records that were lost, doubled and reordered on purpose.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{DeliveryAudit, DeliveryReport, Insertion, Ranges, SERIAL_AT, Serial, Serials};
use crate::batch::{EncodedRecord, Producer, RecordBatchBuilder, ValuePrefix};

proptest! {
    #[test]
    fn ranges_are_the_set_of_their_numbers(
        adds in prop::collection::vec((0..60_u64, 1..6_u64), 0..40),
        others in prop::collection::vec((0..60_u64, 1..6_u64), 0..40),
    ) {
        let mut ranges = Ranges::new(1000);
        let mut set = BTreeSet::new();
        for &(from, count) in &adds {
            let again = (from..from + count).any(|number| set.contains(&number));
            let noted = ranges.add_range(from, count);
            prop_assert_eq!(noted == Insertion::Duplicate, again);
            set.extend(from..from + count);
        }
        prop_assert_eq!(ranges.count(), set.len() as u64);
        for number in 0..70 {
            prop_assert_eq!(ranges.has(number), set.contains(&number));
        }
        prop_assert!(ranges.all().windows(2).all(|two| two[0].1 < two[1].0));
        let mut other = Ranges::new(1000);
        let mut other_set = BTreeSet::new();
        for &(number, _) in &others {
            prop_assert_eq!(other.add(number) == Insertion::New, other_set.insert(number));
        }
        prop_assert_eq!(ranges.without(&other), set.difference(&other_set).count() as u64);
    }

    #[test]
    fn a_serial_is_read_as_it_was_written_and_by_its_run_alone(run: u64, writer in 0..4096_u32, number in 0..1_u64 << 36) {
        let mut value = vec![0; SERIAL_AT];
        value.extend_from_slice(&Serials::of(run, writer).write(number).to_be_bytes());
        prop_assert_eq!(Serial::of_value(run, &value), Some(Serial { writer, number }));
        prop_assert_eq!(Serial::of_value(run ^ 0x8000, &value).is_some(), super::folded(run ^ 0x8000) == super::folded(run));
        prop_assert_eq!(Serial::of_value(run, &value[..15]), None);
    }
}

#[test]
fn a_set_with_too_many_gaps_says_so() {
    let mut ranges = Ranges::new(2);
    assert_eq!(ranges.add(1), Insertion::New);
    assert_eq!(ranges.add(3), Insertion::New);
    assert_eq!(ranges.add(5), Insertion::Full);
    assert_eq!(ranges.add(2), Insertion::New, "it closes a gap");
    assert_eq!(ranges.all(), [(1, 4)]);
}

/// A batch at an offset with these numbers, as a broker would send it.
fn batch(offset: i64, numbers: &[u64]) -> Vec<u8> {
    let form = EncodedRecord::new(None, Some(&[b'x'; 20]), &[]);
    let mut batch = RecordBatchBuilder::new(0, 10_000, form);
    for &number in numbers {
        let marks = ValuePrefix {
            stamp: None,
            serial: Some(Serials::of(7, 3).write(number)),
        };
        assert_eq!(batch.repeat(1, 1000, marks), 1);
    }
    batch.seal(Producer::NONE);
    let mut bytes = batch.bytes().to_vec();
    bytes[..8].copy_from_slice(&offset.to_be_bytes());
    bytes
}

#[test]
fn what_is_lost_doubled_or_out_of_order_is_counted_exactly() {
    let mut account = DeliveryAudit::of_run(7);
    account.acknowledged(0, 3, (0, 10)).unwrap();
    account.acknowledged(1, 3, (0, 2)).unwrap();
    // 4 and 5 are lost, 2 is there three times, 11 was never acknowledged, 7 comes before 6.
    let first = batch(0, &[0, 1, 2, 3, 2]);
    let second = batch(5, &[7, 6, 8, 9, 2, 11]);
    let next = account.read(0, 0, &first).unwrap();
    assert_eq!(next, 5);
    let both = [first, second].concat();
    assert_eq!(
        account.read(0, next, &both).unwrap(),
        11,
        "the first one is passed over"
    );
    assert_eq!(account.read(0, 11, &[]).unwrap(), 11);
    assert_eq!(account.read(1, 0, &batch(0, &[0, 1])).unwrap(), 2);
    let found = account.close();
    assert_eq!(
        found,
        DeliveryReport {
            acknowledged: 12,
            read: 13,
            lost: 2,
            duplicated: 2,
            unacknowledged: 1,
            reordered: 1,
            foreign: 0,
        }
    );
}

#[test]
fn records_of_another_run_are_foreign_and_corrupt_ones_an_error() {
    let mut account = DeliveryAudit::of_run(8);
    account.read(0, 0, &batch(0, &[0, 1])).unwrap();
    assert_eq!(account.close().foreign, 2);
    let mut bytes = batch(2, &[2]);
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    let error = account.read(0, 2, &bytes).unwrap_err().to_string();
    assert!(
        error.contains("partition 0") && error.contains("corrupt"),
        "{error}"
    );
}

#[test]
fn serials_in_a_batch_that_is_filled_again_count_up() {
    let form = EncodedRecord::new(None, Some(&[b'x'; 40]), &[]);
    let mut batch = RecordBatchBuilder::new(0, 10_000, form);
    let serials = Serials::of(9, 0);
    for round in 0..3_u64 {
        batch.clear();
        let mut marks = ValuePrefix {
            stamp: Some(round),
            serial: Some(serials.write(round * 100)),
        };
        assert_eq!(batch.repeat(80, 1000, marks), 80);
        marks.serial = Some(serials.write(round * 100 + 80));
        assert_eq!(batch.repeat(5, 1100, marks), 5);
        batch.seal(Producer::NONE);
        let mut account = DeliveryAudit::of_run(9);
        account.acknowledged(0, 0, (round * 100, 85)).unwrap();
        account.read(0, 0, batch.bytes()).unwrap();
        let found = account.close();
        assert_eq!((found.read, found.lost, found.unacknowledged), (85, 0, 0));
    }
}
