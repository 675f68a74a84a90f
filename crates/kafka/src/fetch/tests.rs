//! The codec against another implementation of the protocol, in whatever pieces the network makes.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, FetchableTopicResponse, PartitionData,
};
use kafka_protocol::messages::{
    BrokerId, FetchRequest as TheirRequest, FetchResponse, ProducerId, RequestHeader,
    ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};
use kafka_protocol::records::{
    Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use proptest::prelude::*;

use super::*;
use crate::records::BatchError;

const LIMITS: FetchLimits = FetchLimits {
    min_bytes: 1,
    max_wait_ms: 500,
    max_bytes: 50 << 20,
    partition_max_bytes: 1 << 20,
    isolation: Isolation::Committed,
};

fn batch(base_offset: i64, count: usize, value_bytes: usize) -> Vec<u8> {
    let records: Vec<Record> = (0..count as i32)
        .map(|at| Record {
            transactional: false,
            control: false,
            delete_horizon: false,
            partition_leader_epoch: 0,
            producer_id: -1,
            producer_epoch: -1,
            timestamp_type: TimestampType::Creation,
            offset: base_offset + i64::from(at),
            sequence: at,
            timestamp: 5,
            key: None,
            value: Some(Bytes::from(vec![b'v'; value_bytes])),
            headers: Default::default(),
        })
        .collect();
    let mut out = BytesMut::new();
    let options = RecordEncodeOptions {
        version: 2,
        compression: Compression::None,
    };
    RecordBatchEncoder::encode(&mut out, &records, &options).unwrap();
    out.to_vec()
}

fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

fn partition(index: i32, records: Vec<u8>) -> PartitionData {
    PartitionData::default()
        .with_partition_index(index)
        .with_high_watermark(1000 + i64::from(index))
        .with_log_start_offset(3)
        .with_preferred_read_replica(BrokerId(-1))
        .with_aborted_transactions(Some(vec![
            AbortedTransaction::default()
                .with_producer_id(ProducerId(7))
                .with_first_offset(1),
        ]))
        .with_records(Some(Bytes::from(records)))
}

fn frame(topics: Vec<(&str, Vec<PartitionData>)>) -> Vec<u8> {
    let topics = topics.into_iter().map(|(topic, partitions)| {
        FetchableTopicResponse::default()
            .with_topic(name(topic))
            .with_partitions(partitions)
    });
    let body = FetchResponse::default()
        .with_throttle_time_ms(2)
        .with_responses(topics.collect());
    let mut out = BytesMut::new();
    ResponseHeader::default()
        .with_correlation_id(99)
        .encode(&mut out, FetchResponse::header_version(VERSION))
        .unwrap();
    body.encode(&mut out, VERSION).unwrap();
    // The correlation is whoever finds the request's to read.
    assert_eq!(crate::frame::correlation(&out), Some(99));
    out[4..].to_vec()
}

/// What a scan tells, in words that can be compared.
fn told(frame: &[u8], pieces: &[usize], bodies: BodyMode) -> Result<Vec<String>, FetchError> {
    let mut scanner = FetchScanner::new(CrcCheck::On, bodies);
    scanner.begin(frame.len());
    let mut all = Vec::new();
    let mut rest = frame;
    let mut pieces = pieces.iter().cycle();
    while !rest.is_empty() {
        let length = pieces.next().copied().unwrap_or(1).clamp(1, rest.len());
        let (mut piece, behind) = rest.split_at(length);
        rest = behind;
        while let Some(event) = scanner.next(&mut piece)? {
            all.push(match event {
                Event::Answer(head) => format!("{head:?}"),
                Event::Partition(head) => format!(
                    "{} {} error {} high {} start {} replica {} bytes {}",
                    String::from_utf8_lossy(head.topic),
                    head.partition,
                    head.error,
                    head.high_watermark,
                    head.log_start,
                    head.preferred_replica,
                    head.records_bytes
                ),
                Event::Batch(batch) => {
                    let walked = batch.body.map(|body| {
                        let records = batch.header.records(body);
                        records
                            .map(Result::unwrap)
                            .map(|one| one.offset)
                            .collect::<Vec<_>>()
                    });
                    format!("{} {:?} {walked:?}", batch.header.records, batch.checked)
                }
                other => format!("{other:?}"),
            });
        }
        assert!(piece.is_empty() || scanner.is_over());
    }
    assert!(
        scanner.is_over(),
        "the end of the frame is the end of the answer"
    );
    Ok(all)
}

proptest! {
    #[test]
    fn another_implementation_reads_what_is_asked(
        client in "[a-z]{0,20}",
        topics in prop::collection::btree_map(
            "[a-z]{1,200}",
            prop::collection::vec((0..1000_i32, -1..9_i32, 0..i64::MAX), 0..150),
            0..4,
        ),
        correlation: i32,
        moved: i64,
    ) {
        let parts: Vec<(String, Vec<PartitionToFetch>)> = topics
            .into_iter()
            .map(|(name, all)| {
                let each = all.into_iter().map(|(partition, leader_epoch, offset)| {
                    PartitionToFetch { partition, leader_epoch, offset }
                });
                (name, each.collect())
            })
            .collect();
        let topics: Vec<TopicToFetch<'_>> = parts
            .iter()
            .map(|(name, partitions)| TopicToFetch { name, partitions })
            .collect();
        let mut ours = FetchRequest::new(&client, &LIMITS, &topics);
        let count = parts.iter().map(|(_, all)| all.len()).sum::<usize>();
        prop_assert_eq!(ours.partitions(), count);
        if count > 0 {
            ours.set_offset(count - 1, moved);
        }
        let bytes = ours.bytes(correlation);
        prop_assert_eq!(crate::frame::length(bytes, 1 << 24), Ok(Some(bytes.len() - 4)));
        let mut rest = Bytes::copy_from_slice(&bytes[4..]);
        let header = RequestHeader::decode(&mut rest, TheirRequest::header_version(VERSION)).unwrap();
        prop_assert_eq!(header.request_api_key, API_KEY);
        prop_assert_eq!(header.request_api_version, VERSION);
        prop_assert_eq!(header.correlation_id, correlation);
        prop_assert_eq!(header.client_id.unwrap().to_string(), client);
        let theirs = TheirRequest::decode(&mut rest, VERSION).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(theirs.replica_id, BrokerId(-1));
        prop_assert_eq!(
            (theirs.max_wait_ms, theirs.min_bytes, theirs.max_bytes, theirs.isolation_level),
            (500, 1, 50 << 20, 1)
        );
        prop_assert_eq!((theirs.session_id, theirs.session_epoch), (0, -1));
        let mut flat = Vec::new();
        for (topic, (known, _)) in theirs.topics.iter().zip(&parts) {
            prop_assert_eq!(topic.topic.0.as_str(), known);
            flat.extend(topic.partitions.iter().map(|one| {
                assert_eq!((one.partition_max_bytes, one.log_start_offset), (1 << 20, -1));
                (one.partition, one.current_leader_epoch, one.fetch_offset)
            }));
        }
        let mut known: Vec<_> = parts
            .iter()
            .flat_map(|(_, all)| all)
            .map(|one| (one.partition, one.leader_epoch, one.offset))
            .collect();
        if let Some(last) = known.last_mut() {
            last.2 = moved;
        }
        prop_assert_eq!(flat, known);
    }

    #[test]
    fn an_answer_is_told_alike_in_whatever_pieces_it_comes(
        batches in prop::collection::vec((1..40_usize, 0..300_usize), 0..6),
        pieces in prop::collection::vec(1..200_usize, 1..30),
        keep: bool,
    ) {
        let mut records = Vec::new();
        let mut offset = 0;
        for &(count, value_bytes) in &batches {
            records.extend(batch(offset, count, value_bytes));
            offset += count as i64;
        }
        let frame = frame(vec![
            ("first", vec![partition(0, records.clone()), partition(1, Vec::new())]),
            ("second", vec![partition(4, records)]),
        ]);
        let bodies = if keep { BodyMode::Keep } else { BodyMode::Skip };
        let whole = told(&frame, &[frame.len()], bodies).unwrap();
        prop_assert_eq!(told(&frame, &pieces, bodies).unwrap(), whole.clone());
        prop_assert_eq!(told(&frame, &[1], bodies).unwrap(), whole.clone());
        let count = batches.iter().map(|&(count, _)| count).sum::<usize>();
        let records: usize = whole
            .iter()
            .filter_map(|line| line.split_once(" Ok(()) ")?.0.parse::<usize>().ok())
            .sum();
        prop_assert_eq!(records, 2 * count);
        prop_assert!(whole[1].starts_with("first 0 error 0 high 1000 start 3 replica -1 bytes "));
        prop_assert!(whole.iter().any(|line| line == "first 1 error 0 high 1001 start 3 replica -1 bytes 0"));
        prop_assert_eq!(whole.last().unwrap(), "End");
    }

    #[test]
    fn an_answer_that_ends_too_early_or_too_late_is_refused(cut in 1..400_usize) {
        let whole = frame(vec![("first", vec![partition(0, batch(0, 3, 20))])]);
        let kept = whole.len().saturating_sub(cut).max(1);
        prop_assert!(told(&whole[..kept], &[7], BodyMode::Skip).is_err());
        let mut longer = whole;
        longer.push(0);
        prop_assert_eq!(told(&longer, &[7], BodyMode::Skip), Err(FetchError::Trailing(1)));
    }

    #[test]
    fn malformed_input_ends_and_panics_nowhere(data in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = fuzz_entry(&data);
    }

    #[test]
    fn a_bent_answer_ends_and_panics_nowhere(at in 0.0..1.0_f64, bend in 1..=255_u8, piece: u8) {
        let mut data = vec![piece, bend];
        data.extend(frame(vec![("first", vec![partition(0, batch(0, 3, 20)), partition(1, batch(0, 1, 9))])]));
        let at = 2 + ((data.len() - 2) as f64 * at) as usize;
        data[at] ^= bend;
        let _ = fuzz_entry(&data);
    }
}

#[test]
fn a_cut_last_batch_is_told_with_its_bytes_and_the_next_partition_is_read() {
    let mut records = batch(0, 3, 50);
    let more = batch(3, 2, 50);
    records.extend_from_slice(&more[..70]);
    let frame = frame(vec![(
        "first",
        vec![partition(0, records), partition(1, batch(9, 1, 4))],
    )]);
    for pieces in [&[frame.len()][..], &[1], &[61, 3]] {
        let all = told(&frame, pieces, BodyMode::Keep).unwrap();
        assert_eq!(all[2], "3 Ok(()) Some([0, 1, 2])");
        assert_eq!(all[3], "Partial(70)");
        assert_eq!(all[5], "1 Ok(()) Some([9])");
    }
}

#[test]
fn a_corrupt_batch_is_named_and_those_behind_it_are_read() {
    let mut records = batch(0, 3, 50);
    let last = records.len() - 1;
    records[last] ^= 1;
    records.extend(batch(3, 1, 5));
    let frame = frame(vec![("first", vec![partition(0, records)])]);
    let mut scanner = FetchScanner::new(CrcCheck::On, BodyMode::Skip);
    scanner.begin(frame.len());
    let mut rest = &frame[..];
    let mut checked = Vec::new();
    while let Some(event) = scanner.next(&mut rest).unwrap() {
        if let Event::Batch(batch) = event {
            checked.push(batch.checked);
        }
    }
    assert!(matches!(checked[0], Err(BatchError::Crc(0, ..))));
    assert_eq!(checked[1], Ok(()));
    assert_eq!(checked.len(), 2);
}

#[test]
fn what_is_no_batch_passes_unread_up_to_the_next_partition() {
    let mut records = batch(0, 1, 5);
    let old = records.len();
    records.extend(batch(1, 1, 5));
    records[old + 16] = 0;
    let frame = frame(vec![(
        "first",
        vec![partition(0, records), partition(1, batch(9, 1, 4))],
    )]);
    for pieces in [&[frame.len()][..], &[1], &[13]] {
        let all = told(&frame, pieces, BodyMode::Skip).unwrap();
        assert_eq!(all[2], "1 Ok(()) None");
        assert_eq!(all[3], "Invalid(OldMagic(1, 0))");
        assert!(all[4].starts_with("first 1 error 0"));
        assert_eq!(all[5], "1 Ok(()) None");
    }
}

#[test]
fn a_batch_too_large_to_be_kept_is_told_by_its_header_and_may_pass() {
    let mut huge = batch(0, 1, 5);
    huge[8..12].copy_from_slice(&(17_i32 << 20).to_be_bytes());
    let frame = frame(vec![("first", vec![partition(0, huge)])]);
    let all = told(&frame, &[frame.len()], BodyMode::Keep).unwrap();
    assert!(
        all[2].starts_with("Invalid(TooLarge(0, 17825804"),
        "{all:?}"
    );
    let all = told(&frame, &[frame.len()], BodyMode::Skip).unwrap();
    assert!(all[2].starts_with("Partial("), "{all:?}");
}

#[test]
fn an_answer_of_nothing_has_a_head_and_an_end() {
    let all = told(&frame(Vec::new()), &[3], BodyMode::Skip).unwrap();
    assert_eq!(all, ["AnswerHead { throttle_ms: 2, error: 0 }", "End"]);
}
