//! Kafka's own console tools and Tare read what the other writes: keys, headers, values and times, with every codec.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_kafka::kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use tare_kafka::kafka_protocol::messages::{FetchRequest, TopicName};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka::records::{BatchDecompressor, Batches};
use tare_kafka_admin::admin::OffsetSpec;
use tare_lab::fetch::Fetcher;
use tare_lab::targets::Target;
use tare_record::load::{Codec, FetchDecode, Keys, Pacing, Payloads};

use crate::bed::{
    PARTITIONS, Stand, bed, consumer, count, fetch, produce, producer, records, run, unix_ms,
};

/// By the number that batches have for it, and its name in Kafka's tools.
const CODECS: [(Codec, &str); 5] = [
    (Codec::None, "none"),
    (Codec::Gzip, "gzip"),
    (Codec::Snappy, "snappy"),
    (Codec::Lz4, "lz4"),
    (Codec::Zstd, "zstd"),
];

/// Records of each codec.
const RECORDS: usize = 300;

/// The last version of fetch in which topics have names.
const FETCH_BY_NAME: i16 = 12;

/// The value of a record: long enough, and alike enough, that every codec does something.
fn value(codec: &str, number: usize) -> String {
    format!(
        "{codec} {number:03} {}",
        "what is written is read; ".repeat(8)
    )
}

fn key(number: usize) -> String {
    format!("key-{}", number % 7)
}

/// A tool with its words, on the first broker.
fn tool(class: &str, at: SocketAddr, words: &[&str]) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kafka/console/console");
    let target = Target::load(&folder).unwrap();
    let fetcher = Fetcher::from_env().unwrap();
    let software = fetcher.provide(&target, &mut |_| ()).unwrap();
    let mut command = Command::new("java");
    command
        .args([
            "-Xmx128m",
            "-XX:TieredStopAtLevel=1",
            "-Dlog4j2.level=ERROR",
        ])
        .arg("-cp")
        .arg(software.bin.join("jars/*"))
        .arg(class)
        .args(["--bootstrap-server", &at.to_string()])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn ended(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output
}

#[test]
fn what_tare_writes_kafkas_console_consumer_reads() {
    let cluster = bed();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    let from_ms = unix_ms();
    for (codec, name) in CODECS {
        let topic = format!("from-tare-{name}");
        stand.topic(&topic, &[]);
        let mut plan = producer(&plain, &topic, Pacing::Max, RECORDS as u64);
        plan.load.requests[0].headers =
            vec![("trace".into(), "1".into()), ("codec".into(), name.into())];
        let mut spec = produce(&mut plan);
        spec.compression = codec;
        spec.keys = Keys::RoundRobin { count: 7 };
        spec.payloads = Payloads::Given {
            base64: (0..RECORDS)
                .map(|number| STANDARD.encode(value(name, number)))
                .collect(),
        };
        drop(spec);
        assert_eq!(run(&plan).unwrap().result.ok, RECORDS as u64, "{name}");
    }
    let until_ms = unix_ms();
    let expected = RECORDS * CODECS.len();
    let mut words = vec![
        "--include",
        "from-tare-.*",
        "--from-beginning",
        "--timeout-ms",
        "60000",
    ];
    let most = expected.to_string();
    words.extend(["--max-messages", &most]);
    for property in [
        "print.timestamp=true",
        "print.headers=true",
        "print.key=true",
    ] {
        words.extend(["--formatter-property", property]);
    }
    let class = "org.apache.kafka.tools.consumer.ConsoleConsumer";
    let output = ended(tool(class, plain[0], &words).spawn().unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut read: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("CreateTime:")) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [time, headers, key, value] = cells[..] else {
            panic!("{line}");
        };
        let time_ms: i64 = time.strip_prefix("CreateTime:").unwrap().parse().unwrap();
        assert!((from_ms..=until_ms).contains(&time_ms), "{line}");
        let before = read.insert(value.to_owned(), format!("{headers} {key}"));
        assert_eq!(before, None, "read twice: {line}");
    }
    assert_eq!(read.len(), expected, "{text:.500}");
    for (_, name) in CODECS {
        for number in 0..RECORDS {
            let found = read.get(&value(name, number));
            let wanted = format!("trace:1,codec:{name} {}", key(number));
            assert_eq!(found, Some(&wanted), "{name} {number}");
        }
    }
}

/// What a topic holds: value → codec of its batch, headers, key and time.
fn held(stand: &mut Stand, topic: &str) -> BTreeMap<String, (u8, String, String, i64)> {
    let views = stand.admin.topics_named(&[topic.to_owned()]).unwrap();
    let mut unpacker = BatchDecompressor::default();
    let mut found = BTreeMap::new();
    for partition in 0..PARTITIONS {
        let end = stand
            .admin
            .offsets(&[(topic.to_owned(), partition)], OffsetSpec::Latest)
            .unwrap();
        let end = *end.values().next().unwrap();
        let leader = views[0].partitions[partition as usize].leader;
        let mut offset = 0;
        while offset < end {
            let asked = FetchPartition::default()
                .with_partition(partition)
                .with_current_leader_epoch(-1)
                .with_fetch_offset(offset)
                .with_partition_max_bytes(1 << 20);
            let asked = FetchTopic::default()
                .with_topic(TopicName(StrBytes::from_string(topic.to_owned())))
                .with_partitions(vec![asked]);
            let request = FetchRequest::default()
                .with_replica_id((-1).into())
                .with_max_bytes(1 << 20)
                .with_session_epoch(-1)
                .with_topics(vec![asked]);
            let leader = leader.expect("it is led");
            let brokers = stand.admin.cluster();
            let answer = brokers.request_to(leader, &request, FETCH_BY_NAME).unwrap();
            let data = &answer.responses[0].partitions[0];
            assert_eq!(data.error_code, 0);
            for batch in Batches::new(data.records.as_ref().unwrap()) {
                let batch = batch.unwrap();
                batch.check().unwrap();
                let codec = batch.header.attributes.codec();
                let body = unpacker.unpack(&batch.header, batch.body()).unwrap();
                for record in batch.header.records(body) {
                    let record = record.unwrap();
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let headers: Vec<String> = record
                        .headers()
                        .map(|header| header.unwrap())
                        .map(|one| format!("{}:{}", text(one.name), text(one.value.unwrap())))
                        .collect();
                    let held = (
                        codec,
                        headers.join(","),
                        text(record.key.unwrap()),
                        record.timestamp_ms,
                    );
                    let before = found.insert(text(record.value.unwrap()), held);
                    assert_eq!(before, None);
                }
                offset = batch.header.next_offset();
            }
        }
    }
    found
}

#[test]
fn what_kafkas_console_producer_writes_tare_reads() {
    let cluster = bed();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    let from_ms = unix_ms();
    let class = "org.apache.kafka.tools.ConsoleProducer";
    for two in CODECS.chunks(2) {
        // Two at a time: each takes a second of a core to start.
        let running: Vec<Child> = two
            .iter()
            .map(|(_, name)| {
                let topic = format!("from-java-{name}");
                stand.topic(&topic, &[]);
                let mut words = vec!["--topic", &topic, "--compression-codec", name];
                for property in ["parse.key=true", "parse.headers=true"] {
                    words.extend(["--reader-property", property]);
                }
                let mut child = tool(class, plain[0], &words).spawn().unwrap();
                let mut lines = child.stdin.take().unwrap();
                for number in 0..RECORDS {
                    let (key, value) = (key(number), value(name, number));
                    writeln!(lines, "trace:1,codec:{name}\t{key}\t{value}").unwrap();
                }
                child
            })
            .collect();
        running.into_iter().map(ended).for_each(drop);
    }
    let until_ms = unix_ms();
    for (number_of_codec, (_, name)) in (0_u8..).zip(CODECS) {
        let topic = format!("from-java-{name}");
        let found = held(&mut stand, &topic);
        assert_eq!(found.len(), RECORDS, "{name}");
        let mut bytes = 0;
        for number in 0..RECORDS {
            let (codec, headers, found_key, time_ms) = &found[&value(name, number)];
            assert_eq!(*codec, number_of_codec, "{name}");
            assert_eq!(*headers, format!("trace:1,codec:{name}"));
            assert_eq!(*found_key, key(number));
            assert!((from_ms..=until_ms).contains(time_ms), "{time_ms}");
            bytes += (key(number).len() + value(name, number).len()) as u64;
        }
        // And so does a load: by the heads of batches, and record by record.
        for decode in [FetchDecode::Batches, FetchDecode::Records] {
            let mut plan = consumer(&plain, &topic);
            fetch(&mut plan).decode = decode;
            let outcome = run(&plan).unwrap();
            assert_eq!(records(&outcome), RECORDS as u64, "{name}");
            assert_eq!(count(&outcome, "corrupt-batches"), 0, "{name}");
            assert_eq!(count(&outcome, "invalid-batches"), 0, "{name}");
            if decode == FetchDecode::Records {
                assert_eq!(outcome.result.records.unwrap().bytes_total, bytes, "{name}");
            }
        }
    }
}
