//! Batches as another reader reads them, however they were filled.

use bytes::Bytes;
use kafka_protocol::records::{Record as Read, RecordBatchDecoder};
use proptest::prelude::*;

use super::{EncodedRecord, Producer, RecordBatchBuilder, RecordHeader, ValuePrefix, layout};
use crate::compress::{Compression, Compressor, Decompressor};

const ROOM: usize = 32;

fn form(value_bytes: usize) -> EncodedRecord {
    let headers = [RecordHeader {
        key: "trace".into(),
        value: Some(b"1".to_vec()),
    }];
    EncodedRecord::new(None, Some(&vec![b'x'; value_bytes]), &headers)
}

/// By the reader of crate kafka-protocol, which checks nothing of the checksum's place: that is done here.
fn read(batch: &[u8]) -> Vec<Read> {
    let crc = u32::from_be_bytes(*batch[layout::CRC..].first_chunk().unwrap());
    assert_eq!(
        crc,
        crc32c::crc32c(&batch[layout::ATTRIBUTES..]),
        "checksum"
    );
    let mut bytes = Bytes::copy_from_slice(batch);
    RecordBatchDecoder::decode(&mut bytes).unwrap().records
}

proptest! {
    #[test]
    fn a_batch_filled_again_and_again_is_what_a_fresh_one_would_be(
        rounds in prop::collection::vec(prop::collection::vec((1..90_u32, 0..100_i64), 1..12), 1..5),
        value_bytes in 0..200_usize,
    ) {
        let mut used = RecordBatchBuilder::new(ROOM, 4000, form(value_bytes));
        for round in rounds {
            let mut fresh = RecordBatchBuilder::new(ROOM, 4000, form(value_bytes));
            used.clear();
            let mut at_ms = 1_700_000_000_000;
            for &(most, later_ms) in &round {
                at_ms += later_ms;
                prop_assert_eq!(used.repeat(most, at_ms, ValuePrefix::NONE), fresh.repeat(most, at_ms, ValuePrefix::NONE));
            }
            let producer = Producer { id: 7, epoch: 1, sequence: 42 };
            used.seal(producer);
            fresh.seal(producer);
            prop_assert_eq!(used.bytes(), fresh.bytes());
            if used.count() > 0 {
                let records = read(used.bytes());
                prop_assert_eq!(records.len() as u32, used.count());
                for (at, record) in (0..).zip(&records) {
                    prop_assert_eq!(record.offset, at);
                    prop_assert_eq!(record.sequence, 42 + at as i32);
                    prop_assert_eq!(record.value.as_ref().map(|value| value.len()), Some(value_bytes));
                    prop_assert_eq!(record.headers.len(), 1);
                }
            }
            used.frame(b"before", b"behind");
            prop_assert!(used.framed(6, 6).starts_with(b"before"));
            prop_assert!(used.framed(6, 6).ends_with(b"behind"));
        }
    }

    #[test]
    fn keys_values_headers_and_times_are_read_as_written(
        records in prop::collection::vec(
            (prop::option::of(prop::collection::vec(any::<u8>(), 0..40)),
             prop::option::of(prop::collection::vec(any::<u8>(), 0..300)), 0..70_000_i64), 1..80),
        codec in 0..Compression::ALL.len(),
    ) {
        let codec = Compression::ALL[codec];
        let headers = [RecordHeader { key: "a".into(), value: None }, RecordHeader { key: "b".into(), value: Some(vec![1]) }];
        let mut batch = RecordBatchBuilder::new(ROOM, 1 << 20, form(3));
        batch.repeat(3, 5, ValuePrefix::NONE);
        batch.clear();
        let mut at_ms = 1_700_000_000_000;
        for (key, value, later_ms) in &records {
            at_ms += later_ms;
            let record = EncodedRecord::new(key.as_deref(), value.as_deref(), &headers);
            prop_assert!(batch.push(&[record.bytes()], at_ms));
        }
        if codec != Compression::None {
            batch.compress(&mut Compressor::new(codec, None).unwrap()).unwrap();
        }
        batch.seal(Producer::NONE);
        batch.seal(Producer { id: 9, epoch: 0, sequence: 5 });
        let found = read(&unpacked(batch.bytes(), codec));
        prop_assert_eq!(found.len(), records.len());
        let mut at_ms = 1_700_000_000_000;
        for (found, (key, value, later_ms)) in found.iter().zip(&records) {
            at_ms += later_ms;
            prop_assert_eq!(found.key.as_deref(), key.as_deref());
            prop_assert_eq!(found.value.as_deref(), value.as_deref());
            prop_assert_eq!(found.timestamp, at_ms);
            prop_assert_eq!(found.producer_id, 9);
            prop_assert_eq!(found.headers.len(), 2);
        }
    }
}

/// The same batch with its records as they were: the other reader is built without codecs.
fn unpacked(batch: &[u8], codec: Compression) -> Vec<u8> {
    let attributes = i16::from_be_bytes(*batch[layout::ATTRIBUTES..].first_chunk().unwrap());
    assert_eq!(Compression::of_attributes(attributes).unwrap(), codec);
    let mut records = Vec::new();
    Decompressor::default()
        .decompress(codec, &batch[layout::RECORDS..], &mut records, 1 << 20)
        .unwrap();
    let mut plain = batch[..layout::RECORDS].to_vec();
    plain.extend_from_slice(&records);
    let length = (plain.len() - layout::LEADER_EPOCH) as u32;
    plain[layout::LENGTH..][..4].copy_from_slice(&length.to_be_bytes());
    plain[layout::ATTRIBUTES..][..2].copy_from_slice(&[0, 0]);
    let crc = crc32c::crc32c(&plain[layout::ATTRIBUTES..]);
    plain[layout::CRC..][..4].copy_from_slice(&crc.to_be_bytes());
    plain
}

#[test]
fn a_stamp_stands_at_the_front_of_each_value() {
    let mut batch = RecordBatchBuilder::new(0, 10_000, form(20));
    let stamped = |stamp| ValuePrefix {
        stamp: Some(stamp),
        serial: None,
    };
    for round in 0..2_u64 {
        batch.clear();
        assert_eq!(batch.repeat(3, 1000, stamped(100 + round)), 3);
        assert_eq!(batch.repeat(1, 1001, stamped(200 + round)), 1);
        batch.seal(Producer::NONE);
        let stamps: Vec<u64> = read(batch.bytes())
            .iter()
            .map(|record| {
                u64::from_be_bytes(*record.value.as_ref().unwrap().first_chunk().unwrap())
            })
            .collect();
        let first = 100 + round;
        assert_eq!(stamps, [first, first, first, 200 + round]);
    }
}

#[test]
fn a_batch_takes_one_record_of_any_size_and_no_second_beyond_its_own() {
    let mut batch = RecordBatchBuilder::new(0, 100, form(500));
    assert_eq!(batch.repeat(5, 0, ValuePrefix::NONE), 1);
    batch.seal(Producer::NONE);
    assert_eq!(read(batch.bytes()).len(), 1);
    let mut batch = RecordBatchBuilder::new(0, 1000, form(100));
    let many = batch.repeat(50, 0, ValuePrefix::NONE);
    assert!(
        batch.size_bytes() <= 1000 && batch.size_bytes() > 850,
        "{many}"
    );
    assert!(!batch.push(&[form(100).bytes()], 0));
}

#[test]
fn a_key_can_take_the_place_of_another() {
    let record = form(9).with_key(b"k-17");
    let again = record.with_key(b"another one");
    assert_eq!(again.behind_key(), form(9).behind_key());
    assert_eq!(&again.bytes()[again.value_at()..][..9], b"xxxxxxxxx");
    assert_eq!(&record.bytes()[..5], b"\x08k-17");
}
