//! Reading from real brokers: every record once and no other, from where and in what pieces the plan says.

use std::fs;
use std::path::{Path, PathBuf};

use tare_record::agent::LoadEnd;
use tare_record::load::{Codec, FetchDecode, FetchFrom, FetchUntil, Keys, Pacing, Stop};
use tare_test_cluster::Cluster;

use crate::bed::{
    PARTITIONS, Running, S, Stand, VALUE_BYTES, bed, by_workers, consumer, count, fetch, produce,
    producer, records, run, unix_ms, written,
};

#[test]
fn a_backlog_is_read_once_in_whatever_way_it_is_looked_at() {
    let cluster = bed();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    stand.topic("backlog", &[]);
    for codec in [Codec::None, Codec::Lz4] {
        let mut plan = producer(&plain, "backlog", Pacing::Max, 30_000);
        produce(&mut plan).compression = codec;
        // "key-0" to "key-9".
        produce(&mut plan).keys = Keys::RoundRobin { count: 10 };
        let outcome = run(&plan).unwrap();
        assert_eq!(outcome.result.ok, 30_000);
    }
    for (decode, workers) in [
        (FetchDecode::Batches, 1),
        (FetchDecode::Batches, 2),
        (FetchDecode::Records, 1),
    ] {
        let mut plan = consumer(&plain, "backlog");
        by_workers(&mut plan, workers);
        fetch(&mut plan).decode = decode;
        let (samples, outcome) = Running::start(plan).samples();
        let words = format!("{decode:?} by {workers}: {:?}", outcome.result.outcomes);
        assert_eq!(records(&outcome), 60_000, "{words}");
        assert_eq!(count(&outcome, "records"), 60_000, "{words}");
        assert_eq!(count(&outcome, "corrupt-batches"), 0, "{words}");
        assert_eq!(outcome.result.errors, 0, "{words}");
        let last = samples.last().and_then(|sample| sample.records).unwrap();
        assert_eq!(last.consumer_lag, Some(0), "{words}");
        if decode == FetchDecode::Records {
            let bytes = outcome.result.records.unwrap().bytes_total;
            assert_eq!(bytes, 60_000 * (VALUE_BYTES + 5), "keys and values");
        }
    }
}

#[test]
fn fewer_records_than_were_asked_for_end_the_load_when_none_comes_any_more() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("fewer", &[]);
    written(&plain, "fewer", 500);
    let mut plan = consumer(&plain, "fewer");
    fetch(&mut plan).until = FetchUntil {
        records: Some(10_000),
        backlog: false,
        idle_ns: Some(2 * S),
    };
    let outcome = run(&plan).unwrap();
    assert_eq!(outcome.result.ended, LoadEnd::Aborted);
    let why = outcome.result.abort_reason.clone().unwrap();
    assert!(why.starts_with("500 of 10000 records came"), "{why}");
    assert_eq!(records(&outcome), 500);
    assert_eq!(outcome.result.errors, 0);
}

#[test]
fn from_the_end_only_what_comes_is_read() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("end", &[]);
    written(&plain, "end", 2000);
    let mut plan = consumer(&plain, "end");
    fetch(&mut plan).from = FetchFrom::End;
    fetch(&mut plan).until = FetchUntil::default();
    let reading = Running::start(plan);
    reading.ready();
    written(&plain, "end", 700);
    reading.until_read(700);
    assert_eq!(records(&reading.end()), 700);
}

#[test]
fn from_a_time_only_later_records_are_read_and_none_of_a_time_to_come() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("time", &[]);
    written(&plain, "time", 2000);
    let before = unix_ms() + 1;
    // Times are whole milliseconds: the next one is another.
    while unix_ms() <= before {
        std::thread::yield_now();
    }
    written(&plain, "time", 900);
    for (unix_ms, expected) in [(before, 900), (unix_ms() + 3_600_000, 0)] {
        let mut plan = consumer(&plain, "time");
        fetch(&mut plan).from = FetchFrom::Time { unix_ms };
        let outcome = run(&plan).unwrap();
        assert_eq!(records(&outcome), expected, "from {unix_ms}");
    }
}

#[test]
fn the_limits_of_a_fetch_decide_how_much_comes_at_a_time() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("limits", &[]);
    let mut small = producer(&plain, "limits", Pacing::Max, 6000);
    produce(&mut small).batch_bytes = 2000;
    assert_eq!(run(&small).unwrap().result.ok, 6000);
    let read = |max_bytes, partition_max_bytes| {
        let mut plan = consumer(&plain, "limits");
        fetch(&mut plan).max_bytes = max_bytes;
        fetch(&mut plan).partition_max_bytes = partition_max_bytes;
        let outcome = run(&plan).unwrap();
        assert_eq!(records(&outcome), 6000);
        let fetches = outcome.result.by_request["fetch"].ok;
        (fetches, count(&outcome, "record-batches"))
    };
    // The first batch comes whatever the limit is, and nothing else beside.
    let (fetches, batches) = read(1, 1 << 20);
    assert!(
        fetches >= batches && batches >= 300,
        "{fetches} for {batches}"
    );
    let (by_partition, _) = read(50 << 20, 10_000);
    let (at_once, _) = read(50 << 20, 1 << 20);
    assert!(
        at_once < by_partition && by_partition < fetches,
        "{at_once}, {by_partition}, {fetches}"
    );
}

#[test]
fn a_broker_asked_for_many_bytes_waits_for_them() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("patient", &[]);
    let trickle = Pacing::Constant { rate_per_s: 500.0 };
    let mut writing = producer(&plain, "patient", trickle, 1000);
    produce(&mut writing).linger_ns = 0;
    let reading = [1, 1 << 20].map(|min_bytes| {
        let mut plan = consumer(&plain, "patient");
        fetch(&mut plan).from = FetchFrom::End;
        fetch(&mut plan).min_bytes = min_bytes;
        fetch(&mut plan).max_wait_ms = 500;
        fetch(&mut plan).until = FetchUntil {
            records: Some(1000),
            backlog: false,
            idle_ns: None,
        };
        let reading = Running::start(plan);
        reading.ready();
        reading
    });
    assert_eq!(run(&writing).unwrap().result.ok, 1000);
    let [eager_ns, patient_ns] = reading.map(|one| {
        let outcome = one.outcome().unwrap();
        assert_eq!(records(&outcome), 1000);
        outcome
            .service()
            .and_then(|service| service.min_ns())
            .unwrap()
    });
    // Nobody brings a mebibyte: each answer comes when the broker may wait no longer.
    assert!(patient_ns > 450_000_000, "{patient_ns}");
    assert!(eager_ns < 450_000_000, "{eager_ns}: a record is enough");
}

#[test]
fn what_is_left_to_read_is_told_over_time() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("lag", &[]);
    let mut small = producer(&plain, "lag", Pacing::Max, 6000);
    produce(&mut small).batch_bytes = 2000;
    assert_eq!(run(&small).unwrap().result.ok, 6000);
    let mut plan = consumer(&plain, "lag");
    // A batch of twenty records a fetch: some 300 fetches, in two or three seconds.
    plan.load.pacing = Pacing::Constant { rate_per_s: 120.0 };
    fetch(&mut plan).max_bytes = 1;
    let (samples, outcome) = Running::start(plan).samples();
    assert_eq!(records(&outcome), 6000);
    let lag: Vec<u64> = samples
        .iter()
        .filter_map(|sample| sample.records?.consumer_lag)
        .collect();
    assert!(lag.len() >= 3 && lag.is_sorted_by(|a, b| a >= b), "{lag:?}");
    assert!(lag.iter().any(|left| (1..6000).contains(left)), "{lag:?}");
    assert_eq!(lag.last(), Some(&0), "{lag:?}");
    let read: u64 = samples
        .iter()
        .filter_map(|one| Some(one.records?.count))
        .sum();
    assert_eq!(read, 6000, "samples leave nothing out");
}

#[test]
fn a_load_of_some_seconds_or_records_ends_there() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("bounded", &[]);
    written(&plain, "bounded", 20_000);
    let mut plan = consumer(&plain, "bounded");
    fetch(&mut plan).until = FetchUntil::default();
    plan.load.stop = Stop::Duration { window_ns: S };
    let outcome = run(&plan).unwrap();
    assert_eq!(records(&outcome), 20_000);
    assert_eq!(outcome.result.window_ns, S);
    fetch(&mut plan).until.records = Some(5000);
    fetch(&mut plan).partition_max_bytes = 1;
    plan.load.stop = Stop::Interrupted;
    let outcome = run(&plan).unwrap();
    let read = records(&outcome);
    assert!((5000..20_000).contains(&read), "{read}");
}

/// The file that holds a partition's records: the brokers of this test have them in memory.
fn log(cluster: &Cluster, topic: &str, partition: i32) -> Vec<PathBuf> {
    let members = cluster.members().iter();
    let files = members.map(|member| {
        let bed = member.folder.parent().and_then(Path::file_name).unwrap();
        let folder = Path::new("/dev/shm")
            .join(bed)
            .join(member.folder.file_name().unwrap());
        folder.join(format!("data/{topic}-{partition}/00000000000000000000.log"))
    });
    files.collect()
}

#[test]
fn a_batch_that_rotted_on_disk_is_named_counted_and_not_taken() {
    let cluster = bed();
    let plain = cluster.at("plain");
    Stand::new(&plain).topic("rotten", &[]);
    let mut small = producer(&plain, "rotten", Pacing::Max, 3000);
    produce(&mut small).batch_bytes = 2000;
    assert_eq!(run(&small).unwrap().result.ok, 3000);
    // Every replica: whoever leads reads its own.
    for file in log(&cluster, "rotten", 1) {
        let mut bytes = fs::read(&file).unwrap();
        // Within the records of the first batch, whose head is 61 bytes.
        bytes[200] ^= 1;
        fs::write(&file, bytes).unwrap();
    }
    let outcome = run(&consumer(&plain, "rotten")).unwrap();
    assert_eq!(count(&outcome, "corrupt-batches"), 1);
    let read = records(&outcome);
    assert!((2900..3000).contains(&read), "{read}: one batch is missing");
    let corrupt = outcome
        .result
        .outcomes
        .iter()
        .find(|one| one.class == "corrupt-batch");
    let example = corrupt.and_then(|one| one.example.clone()).unwrap();
    assert!(
        example.contains("rotten-1 on broker ") && example.contains("offset 0"),
        "{example}"
    );
    let mut blind = consumer(&plain, "rotten");
    fetch(&mut blind).check_crc = false;
    assert_eq!(records(&run(&blind).unwrap()), 3000);
    assert_eq!(PARTITIONS, 3, "partition 1 is there");
}
