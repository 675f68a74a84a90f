//! Batches against those that another implementation writes, cut, bent and old ones.

use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{
    Compression, Record as Theirs, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
struct Made {
    timestamp_ms: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

fn theirs(base_offset: i64, all: &[Made]) -> Vec<Theirs> {
    let bytes = |part: &Option<Vec<u8>>| part.clone().map(Bytes::from);
    let each = all.iter().zip(0_i32..);
    each.map(|(made, at)| Theirs {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: 3,
        producer_id: 7,
        producer_epoch: 1,
        timestamp_type: TimestampType::Creation,
        offset: base_offset + i64::from(at),
        sequence: 40 + at,
        timestamp: made.timestamp_ms,
        key: bytes(&made.key),
        value: bytes(&made.value),
        headers: made
            .headers
            .iter()
            .map(|(name, value)| (StrBytes::from_string(name.clone()), bytes(value)))
            .collect::<IndexMap<_, _>>(),
    })
    .collect()
}

fn encoded(records: &[Theirs]) -> Vec<u8> {
    let mut out = BytesMut::new();
    let options = RecordEncodeOptions {
        version: 2,
        compression: Compression::None,
    };
    RecordBatchEncoder::encode(&mut out, records, &options).unwrap();
    out.to_vec()
}

fn made(value: &[u8]) -> Made {
    Made {
        timestamp_ms: 1_700_000_000_000,
        key: None,
        value: Some(value.to_vec()),
        headers: Vec::new(),
    }
}

fn some_bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..200))
}

fn any_record() -> impl Strategy<Value = Made> {
    let headers = prop::collection::btree_map("[a-z]{0,12}", some_bytes(), 0..4);
    (
        0..4_000_000_000_000_i64,
        some_bytes(),
        some_bytes(),
        headers,
    )
        .prop_map(|(timestamp_ms, key, value, headers)| Made {
            timestamp_ms,
            key,
            value,
            headers: headers.into_iter().collect(),
        })
}

fn read(batch: &RecordBatch<'_>) -> Vec<Made> {
    let records = batch.header.records(batch.body());
    records
        .map(|record| {
            let record = record.unwrap();
            Made {
                timestamp_ms: record.timestamp_ms,
                key: record.key.map(<[u8]>::to_vec),
                value: record.value.map(<[u8]>::to_vec),
                headers: record
                    .headers()
                    .map(Result::unwrap)
                    .map(|header| {
                        let name = String::from_utf8(header.name.to_vec()).unwrap();
                        (name, header.value.map(<[u8]>::to_vec))
                    })
                    .collect(),
            }
        })
        .collect()
}

proptest! {
    #[test]
    fn what_another_implementation_writes_is_read_to_the_last_field(
        base_offset in 0..1_i64 << 60,
        all in prop::collection::vec(any_record(), 1..20),
    ) {
        let bytes = encoded(&theirs(base_offset, &all));
        let found: Vec<_> = Batches::new(&bytes).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(found.len(), 1);
        let batch = &found[0];
        prop_assert_eq!(batch.check(), Ok(()));
        let header = batch.header;
        prop_assert_eq!(header.base_offset, base_offset);
        prop_assert_eq!(header.records as usize, all.len());
        prop_assert_eq!(header.next_offset(), base_offset + all.len() as i64);
        prop_assert_eq!((header.leader_epoch, header.producer_id, header.base_sequence), (3, 7, 40));
        prop_assert_eq!(header.max_timestamp_ms, all.iter().map(|one| one.timestamp_ms).max().unwrap());
        let offsets: Vec<i64> =
            header.records(batch.body()).map(|record| record.unwrap().offset).collect();
        prop_assert_eq!(offsets, (base_offset..header.next_offset()).collect::<Vec<_>>());
        for (was, is) in all.iter().zip(read(batch)) {
            prop_assert_eq!(was.timestamp_ms, is.timestamp_ms);
            prop_assert_eq!(&was.key, &is.key);
            prop_assert_eq!(&was.value, &is.value);
            prop_assert_eq!(&was.headers, &is.headers);
        }
    }

    #[test]
    fn a_compressed_batch_has_the_same_records_under_every_codec(
        all in prop::collection::vec(any_record(), 1..20),
        codec in 0..5_usize,
    ) {
        let plain = encoded(&theirs(0, &all));
        let codec = crate::compress::Compression::ALL[codec];
        let mut packed = plain[..HEADER_BYTES].to_vec();
        crate::compress::Compressor::new(codec, None)
            .unwrap()
            .compress(&plain[HEADER_BYTES..], &mut packed)
            .unwrap();
        let length = u32::try_from(packed.len() - 12).unwrap();
        packed[8..12].copy_from_slice(&length.to_be_bytes());
        packed[22] |= u8::try_from(codec.attributes()).unwrap();
        let crc = crc32c::crc32c(&packed[CRC_FROM..]);
        packed[17..21].copy_from_slice(&crc.to_be_bytes());
        let batch = Batches::new(&packed).next().unwrap().unwrap();
        prop_assert_eq!(batch.check(), Ok(()));
        let mut unpacker = BatchDecompressor::default();
        let body = unpacker.unpack(&batch.header, batch.body()).unwrap();
        prop_assert_eq!(body, &plain[HEADER_BYTES..]);
        let mut tight = BatchDecompressor::new(body.len() - 1);
        let refused = tight.unpack(&batch.header, batch.body());
        prop_assert_eq!(refused.is_err(), batch.header.attributes.codec() != 0);
    }

    #[test]
    fn the_last_batch_may_be_cut_anywhere_and_those_before_are_read(
        first in prop::collection::vec(any_record(), 1..4),
        second in prop::collection::vec(any_record(), 1..4),
        cut in 0.0..1.0_f64,
    ) {
        let mut bytes = encoded(&theirs(0, &first));
        let whole = bytes.len();
        let behind = encoded(&theirs(first.len() as i64, &second));
        let kept = (behind.len() as f64 * cut) as usize;
        bytes.extend_from_slice(&behind[..kept]);
        let mut batches = Batches::new(&bytes);
        prop_assert_eq!(batches.next().unwrap().unwrap().bytes().len(), whole);
        prop_assert!(batches.next().is_none());
        prop_assert_eq!(batches.cut_bytes(), kept);
    }

    #[test]
    fn a_byte_that_was_bent_on_the_way_is_found(
        all in prop::collection::vec(any_record(), 1..4),
        at in 0.0..1.0_f64,
        bend in 1..=255_u8,
    ) {
        let mut bytes = encoded(&theirs(5, &all));
        let from = 17;
        let at = from + ((bytes.len() - from) as f64 * at) as usize;
        bytes[at] ^= bend;
        let found = Batches::new(&bytes).next().unwrap().and_then(|batch| batch.check());
        prop_assert!(found.is_err());
    }

    #[test]
    fn malformed_input_ends_and_panics_nowhere(data in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = fuzz_entry(&data);
    }

    #[test]
    fn malformed_input_behind_a_right_header_ends_and_panics_nowhere(
        count in 1..50_usize,
        body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = encoded(&theirs(0, &vec![made(b"x"); count]));
        bytes.truncate(HEADER_BYTES);
        bytes.extend_from_slice(&body);
        let length = u32::try_from(bytes.len() - 12).unwrap();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        match Batches::new(&bytes).next().unwrap() {
            Ok(batch) => {
                let found = batch.header.records(batch.body()).take(count + 2).count();
                prop_assert!(found <= count + 1);
            }
            // A record has seven bytes at least.
            Err(error) => {
                let told = BatchError::Records(0, count as u32, bytes.len());
                prop_assert_eq!(error, told);
                prop_assert!(body.len() < count * 7);
            }
        }
    }
}

#[test]
fn records_that_are_only_counted_are_no_more_than_the_bytes_can_hold() {
    let count = |attributes: u8, records: i32, body: usize| {
        let mut bytes = encoded(&theirs(0, &[made(b"x")]));
        bytes.resize(HEADER_BYTES + body, 0);
        let length = u32::try_from(bytes.len() - 12).unwrap();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        bytes[22] = attributes;
        bytes[23..27].copy_from_slice(&(records - 1).to_be_bytes());
        bytes[57..61].copy_from_slice(&records.to_be_bytes());
        Batches::new(&bytes)
            .next()
            .unwrap()
            .map(|batch| batch.header.records)
    };
    assert_eq!(count(0, 100, 700), Ok(100));
    assert!(matches!(
        count(0, 101, 700),
        Err(BatchError::Records(0, 101, 761))
    ));
    // Compressed: a thousand records of the same bytes are few, two thousand million are none.
    let zstd = 4;
    assert_eq!(count(zstd, 1000, 40), Ok(1000));
    assert!(count(zstd, i32::MAX, 40).is_err());
}

#[test]
fn an_old_format_is_refused_by_its_name() {
    let mut bytes = encoded(&theirs(9, &[made(b"old")]));
    bytes[16] = 1;
    let error = Batches::new(&bytes).next().unwrap().unwrap_err();
    assert_eq!(error, BatchError::OldMagic(9, 1));
    assert!(error.to_string().contains("before Kafka 0.11"), "{error}");
    bytes[16] = 3;
    let error = Batches::new(&bytes).next().unwrap().unwrap_err();
    assert_eq!(error, BatchError::Magic(9, 3));
}

#[test]
fn a_batch_shorter_than_its_header_or_with_impossible_numbers_is_refused_once() {
    let right = encoded(&theirs(0, &[made(b"x"), made(b"y")]));
    let bent = |at: usize, value: i32| {
        let mut bytes = right.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        let mut batches = Batches::new(&bytes);
        let first = batches.next().map(|batch| batch.map(|_| ()));
        assert!(batches.next().is_none(), "nothing follows an error");
        first
    };
    assert!(matches!(bent(8, 48), Some(Err(BatchError::Length(_, 48)))));
    assert!(matches!(bent(8, -1), Some(Err(BatchError::Length(..)))));
    assert!(matches!(bent(57, -1), Some(Err(BatchError::Numbers(..)))));
    assert!(matches!(
        bent(57, 3),
        Some(Err(BatchError::Numbers(_, 3, _)))
    ));
    assert!(matches!(bent(23, -1), Some(Err(BatchError::Numbers(..)))));
    // A compacted batch has fewer records than offsets.
    assert!(matches!(bent(23, 1000), Some(Ok(()))));
}

#[test]
fn records_that_do_not_fill_the_batch_or_do_not_fit_are_told() {
    let bytes = encoded(&theirs(0, &[made(b"x"), made(b"y")]));
    let batch = Batches::new(&bytes).next().unwrap().unwrap();
    let mut fewer = batch.header;
    fewer.records = 1;
    let last = fewer.records(batch.body()).last().unwrap();
    assert!(matches!(last, Err(RecordError::Trailing(_, 1))));
    let mut more = batch.header;
    more.records = 3;
    let last = more.records(batch.body()).last().unwrap();
    assert_eq!(last, Err(RecordError::Cut(2, 3)));
}

#[test]
fn times_are_the_brokers_when_the_batch_says_so() {
    let mut bytes = encoded(&theirs(0, &[made(b"x")]));
    bytes[22] |= 8;
    bytes[35..43].copy_from_slice(&77_i64.to_be_bytes());
    let batch = Batches::new(&bytes).next().unwrap().unwrap();
    assert_eq!(batch.header.attributes.timestamps(), Timestamps::Appended);
    let record = batch.header.records(batch.body()).next().unwrap().unwrap();
    assert_eq!(record.timestamp_ms, 77);
}

#[test]
fn the_end_of_a_transaction_is_no_data_and_says_what_became_of_it() {
    let mark = |kind: u8| Made {
        key: Some(vec![0, 0, 0, kind]),
        ..made(&[0, 0, 0, 0, 0, 0])
    };
    let mut bytes = encoded(&theirs(0, &[mark(1), mark(0), mark(2)]));
    bytes[22] |= 0x30;
    let batch = Batches::new(&bytes).next().unwrap().unwrap();
    assert!(batch.header.attributes.is_control());
    assert!(batch.header.attributes.is_transactional());
    let stored: Vec<_> = batch
        .header
        .records(batch.body())
        .map(|record| record.unwrap().control().unwrap())
        .collect();
    assert_eq!(stored, [Control::Commit, Control::Abort, Control::Other(2)]);
}

#[test]
fn a_header_is_found_by_its_name() {
    let one = Made {
        headers: vec![("a".into(), None), ("b".into(), Some(b"2".to_vec()))],
        ..made(b"x")
    };
    let bytes = encoded(&theirs(0, &[one]));
    let batch = Batches::new(&bytes).next().unwrap().unwrap();
    let record = batch.header.records(batch.body()).next().unwrap().unwrap();
    assert_eq!(record.header_count(), 2);
    assert_eq!(record.header(b"b"), Some(&b"2"[..]));
    assert_eq!(record.header(b"a"), None);
    assert_eq!(record.header(b"c"), None);
}
