//! Tests of the log: round trips, logs of other tools, malformed logs and the line of their error.

use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::prelude::*;

use super::*;
use crate::latencies::{Latencies, Quantile, Range};

const STARTED: Duration = Duration::from_millis(1_763_680_000_250);

fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
    let mut latencies = Latencies::new(Range::default()).unwrap();
    values.into_iter().for_each(|v| latencies.record(v));
    latencies
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn written(intervals: &[(&str, u64, Latencies)]) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), STARTED, &["one\n[two: 2]"]).unwrap();
    for (tag, start, latencies) in intervals {
        writer
            .interval(tag, seconds(*start), seconds(1), latencies)
            .unwrap();
    }
    writer.finish().unwrap()
}

fn with_censored() -> Latencies {
    let mut latencies = of((1..=500).map(|i| i * 1_000));
    latencies.record_unfinished(400_000);
    latencies.record_unfinished(700_000_000);
    latencies.record(u64::MAX);
    latencies
}

#[test]
fn what_is_written_comes_back_with_what_was_unfinished() {
    let log = written(&[
        ("client.get.latency", 0, with_censored()),
        ("client.get.service", 0, of([5_000_000])),
        ("client.get.latency", 1, of([])),
    ]);
    let mut reader = Reader::new(log.as_slice());
    let read: Vec<LogInterval> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(reader.started(), Some(STARTED));
    assert_eq!(read.len(), 3);
    assert_eq!(
        (read[0].tag.as_str(), read[0].start),
        ("client.get.latency", seconds(0))
    );
    let (back, gone) = (&read[0].latencies, with_censored());
    assert!(back.buckets().eq(gone.buckets()));
    assert_eq!((back.unfinished(), back.out_of_range()), (2, 1));
    assert_eq!(back.youngest_unfinished_ns(), Some(400_000));
    assert!((1..100).all(|p| {
        let q = f64::from(p) / 100.0;
        back.quantile(q) == gone.quantile(q)
    }));
    assert!(matches!(back.quantile(0.9), Quantile::Above(_)));
    assert_eq!(read[2].latencies.count(), 0);
    assert_eq!((read[2].start, read[2].length), (seconds(1), seconds(1)));
}

#[test]
fn the_log_is_read_by_the_librarys_own_parser() {
    let log = written(&[("a", 0, with_censored()), ("b", 2, of([1]))]);
    let entries: Vec<LogEntry> = IntervalLogIterator::new(&log).map(Result::unwrap).collect();
    assert!(matches!(entries[0], LogEntry::StartTime(t) if t == STARTED));
    assert!(matches!(entries[1], LogEntry::BaseTime(t) if t == STARTED));
    let LogEntry::Interval(last) = &entries[3] else {
        panic!("{entries:?}")
    };
    assert_eq!(last.tag().unwrap().as_str(), "b");
    assert_eq!(last.start_timestamp(), seconds(2));
    assert_eq!(entries.len(), 4);
}

#[test]
fn a_log_of_another_implementation_is_read() {
    let log = include_bytes!("../../reference/foreign.hlog");
    let mut reader = Reader::new(&log[..]);
    let read: Vec<LogInterval> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(reader.started(), Some(STARTED));
    let starts: Vec<u128> = read.iter().map(|i| i.start.as_millis()).collect();
    assert_eq!(starts, [500, 1500, 2500]);
    for (i, interval) in read.iter().enumerate() {
        let expected = of((1..=1000).map(|n| (i as u64 + 1) * n * 1000));
        assert!(interval.latencies.buckets().eq(expected.buckets()));
    }
    let merged = read_merged(&log[..], ..).unwrap();
    assert_eq!(merged[""].count(), 3000);
}

#[test]
fn intervals_of_a_tag_merge_within_a_window() {
    let log = written(&[
        ("a", 0, of([1])),
        ("b", 0, of([2])),
        ("a", 1, of([3])),
        ("a", 2, of([4])),
    ]);
    let merged = read_merged(log.as_slice(), seconds(1)..seconds(2)).unwrap();
    assert_eq!(merged.len(), 1);
    assert_eq!(
        (merged["a"].count(), merged["a"].max()),
        (1, Some(Quantile::Exact(3)))
    );
    let all = read_merged(log.as_slice(), ..).unwrap();
    assert_eq!((all["a"].count(), all["b"].count()), (3, 1));
}

#[test]
fn the_writer_refuses_bad_tags_and_wrong_order() {
    let mut writer = Writer::begin(Vec::new(), STARTED, &[]).unwrap();
    for tag in ["", "a,b", "a b", "a\nb", &"x".repeat(257)] {
        let error = writer
            .interval(tag, seconds(0), seconds(1), &of([1]))
            .unwrap_err();
        assert!(matches!(error, WriteError::Tag(_)), "{tag:?}");
    }
    writer
        .interval("a", seconds(2), seconds(1), &of([1]))
        .unwrap();
    writer
        .interval("b", seconds(2), seconds(1), &of([1]))
        .unwrap();
    let error = writer
        .interval("a", seconds(1), seconds(1), &of([1]))
        .unwrap_err();
    assert!(matches!(error, WriteError::Order { .. }));
}

/// The line and message of the first error in a log whose first two lines are fine.
fn error_of(line: &[u8]) -> (u64, String) {
    let log = [b"# fine\n\n".as_slice(), line, b"\n"].concat();
    let error = Reader::new(log.as_slice())
        .find_map(Result::err)
        .expect("an error");
    (error.line, error.kind.to_string())
}

/// A log line with a histogram of this header, V2 without compression.
fn header(length: u32, digits: u32, low: u64, high: u64) -> Vec<u8> {
    use base64::Engine as _;
    let mut bytes = Vec::new();
    bytes.extend(0x1c84_9313_u32.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(digits.to_be_bytes());
    bytes.extend(low.to_be_bytes());
    bytes.extend(high.to_be_bytes());
    bytes.extend(1.0_f64.to_be_bytes());
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    format!("0,1,1,{text}").into_bytes()
}

#[test]
fn malformed_input_is_an_error_that_names_its_line() {
    for (line, message) in [
        (b"hello".to_vec(), "expected start"),
        (b"Tag=a".to_vec(), "expected start"),
        (b"Tag=a b,0,1,1,x".to_vec(), "the tag"),
        (b"0,1,x,y".to_vec(), "expected start"),
        (b"0,1,1,!!!".to_vec(), "broken"),
        (b"0,1,1,AAAA".to_vec(), "broken"),
        (b"\xff\xfe".to_vec(), "UTF-8"),
        (b"#[Censored: unfinished=1]".to_vec(), "censored"),
        (
            b"#[Censored: unfinished=1 youngest_ns=5 out_of_range=0]".to_vec(),
            "censored",
        ),
        (b"#[StartTime: -5 (seconds)]".to_vec(), "not a time"),
        (header(4_000_000_000, 3, 1, 1000), "shorter"),
        (header(0, 9, 1, 1000), "impossible"),
        (header(0, 3, 0, 1000), "impossible"),
        (header(0, 3, 600, 1000), "impossible"),
        (header(0, 5, 1, u64::MAX), "too wide"),
    ] {
        let (number, text) = error_of(&line);
        let shown = String::from_utf8_lossy(&line).into_owned();
        assert!(text.contains(message), "{shown}: {text}");
        // A comment without its interval is found where the interval should be.
        let expected = if shown.contains("out_of_range=0]") {
            4
        } else {
            3
        };
        assert_eq!(number, expected, "{shown}");
    }
    let log = String::from_utf8(written(&[("a", 0, of([1]))])).unwrap();
    let negative = log.replace("Tag=a,0.000", "Tag=a,-1");
    let error = Reader::new(negative.as_bytes())
        .find_map(Result::err)
        .unwrap();
    assert!(matches!(error.kind, HlogErrorKind::Time(_)), "{error}");
    let too_many = log.replace(
        "Tag=",
        "#[Censored: unfinished=2 youngest_ns=5 out_of_range=0]\nTag=",
    );
    let error = Reader::new(too_many.as_bytes())
        .find_map(Result::err)
        .unwrap();
    assert!(matches!(error.kind, HlogErrorKind::Censored), "{error}");
}

#[test]
fn a_compressed_bomb_is_refused_before_it_unfolds() {
    use base64::Engine as _;
    use std::io::Write as _;
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend(0_u32.to_be_bytes());
    let mut encoder = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::best());
    encoder.write_all(&vec![0; 40 << 20]).unwrap();
    encoder.finish().unwrap();
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let (_, message) = error_of(format!("0,1,1,{text}").as_bytes());
    assert!(message.contains("larger than any"), "{message}");
}

#[test]
fn what_lies_behind_a_small_histogram_is_not_unfolded_line_by_line() {
    use base64::Engine as _;
    use std::io::{Read as _, Write as _};
    let engine = base64::engine::general_purpose::STANDARD;
    let log = String::from_utf8(written(&[("a", 0, of([1]))])).unwrap();
    let (head, encoded) = log.trim_end().rsplit_once(',').unwrap();
    let bytes = engine.decode(encoded).unwrap();
    let mut plain = Vec::new();
    flate2::read::ZlibDecoder::new(&bytes[8..])
        .read_to_end(&mut plain)
        .unwrap();
    plain.resize(10 << 20, 0);
    let mut longer = bytes[..8].to_vec();
    let mut encoder = flate2::write::ZlibEncoder::new(&mut longer, flate2::Compression::best());
    encoder.write_all(&plain).unwrap();
    encoder.finish().unwrap();
    let (_, message) = error_of(format!("{head},{}\n", engine.encode(longer)).as_bytes());
    assert!(message.contains("longer than its range needs"), "{message}");
}

#[test]
fn a_line_without_end_is_given_up() {
    let (line, message) = error_of(&vec![b'x'; 33 << 20]);
    assert_eq!(line, 3);
    assert!(message.contains("longer than 32 MiB"), "{message}");
}

#[test]
fn more_tags_than_any_load_has_are_no_log() {
    let empty = String::from_utf8(header(0, 1, 1, 2)).unwrap();
    let line = |tag: usize| format!("Tag=t{tag},{empty}\n");
    let mut log: String = (0..4096).map(line).collect();
    assert_eq!(read_merged(log.as_bytes(), ..).unwrap().len(), 4096);
    log += &line(4096);
    let error = read_merged(log.as_bytes(), ..).unwrap_err();
    assert!(matches!(error.kind, HlogErrorKind::Tags), "{error}");
}

#[test]
fn a_reader_ends_after_an_error() {
    let mut log = b"rubbish\n".to_vec();
    log.extend(written(&[("a", 0, of([1]))]));
    let mut reader = Reader::new(log.as_slice());
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
}

proptest! {
    #[test]
    fn any_observations_survive_the_log(
        values in prop::collection::vec(0_u64..5_000_000_000_000, 0..200),
        ages in prop::collection::vec(1_u64..10_000_000_000, 0..5),
    ) {
        let mut gone = of(values);
        ages.into_iter().for_each(|age| gone.record_unfinished(age));
        let log = written(&[("t", 3, gone.clone())]);
        let back = read_merged(log.as_slice(), ..).unwrap().remove("t").unwrap();
        prop_assert!(back.buckets().eq(gone.buckets()));
        prop_assert_eq!(back.count(), gone.count());
        prop_assert_eq!(back.out_of_range(), gone.out_of_range());
        prop_assert_eq!(back.youngest_unfinished_ns(), gone.youngest_unfinished_ns());
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut log = written(&[("a", 0, with_censored()), ("b", 1, of([7]))]);
        for (at, byte) in damage {
            let at = at.index(log.len());
            log[at] = byte;
        }
        log.truncate(cut.index(log.len()) + 1);
        let lines = log.split(|&b| b == b'\n').count() as u64;
        for interval in Reader::new(log.as_slice()) {
            if let Err(error) = interval {
                prop_assert!((1..=lines + 1).contains(&error.line));
            }
        }
    }

    #[test]
    fn damaged_histograms_inside_intact_wrapping_make_no_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        use base64::Engine as _;
        use hdrhistogram::serialization::{Serializer as _, V2Serializer};
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(with_censored().histogram(), &mut bytes).unwrap();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
        if let Ok(histogram) = decode::histogram(&text) {
            prop_assert!(histogram.len() <= crate::latencies::COUNT_MAX);
            let latencies = Latencies::from_parts(histogram, Default::default());
            let _ = (latencies.curve(5), latencies.mean_ns(), latencies.buckets().count());
        }
    }

    #[test]
    fn merging_is_the_same_as_recording_all_in_one(
        left in prop::collection::vec(0_u64..4_000_000_000_000, 0..200),
        right in prop::collection::vec(0_u64..4_000_000_000_000, 0..200),
        ages in prop::collection::vec(1_u64..10_000_000_000, 0..4),
    ) {
        let mut merged = of(left.iter().copied());
        let mut other = of(right.iter().copied());
        ages.iter().for_each(|&age| other.record_unfinished(age));
        merged.merge(&other).unwrap();
        let mut all = of(left.into_iter().chain(right));
        ages.into_iter().for_each(|age| all.record_unfinished(age));
        prop_assert_eq!(&merged, &all);
        prop_assert_eq!(merged.max(), all.max());
        prop_assert_eq!(merged.min_ns(), all.min_ns());
    }

    #[test]
    fn a_quantile_is_never_below_the_true_one_of_its_rank(
        mut values in prop::collection::vec(1_u64..1_000_000_000, 20..300),
        q in 0.5_f64..0.99,
    ) {
        let latencies = of(values.iter().copied());
        values.sort_unstable();
        if let Quantile::Exact(got) = latencies.quantile(q) {
            let rank = ((q * values.len() as f64) - 1e-9).ceil() as usize;
            let truth = values[rank - 1];
            prop_assert!(got >= truth);
            prop_assert!(got as f64 <= truth as f64 * (1.0 + Latencies::RESOLUTION) + 1.0);
        } else {
            prop_assert!(((1.0 - q) * values.len() as f64) < 11.0);
        }
    }
}
