//! One cluster of three brokers for all tests of this binary, the command run against it, and records written to it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::process::Output;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tare_kafka::batch::{EncodedRecord, Producer, RecordBatchBuilder, ValuePrefix};
use tare_kafka::bytes::Bytes;
use tare_kafka::kafka_protocol::messages::produce_request::{
    PartitionProduceData, TopicProduceData,
};
use tare_kafka::kafka_protocol::messages::{ProduceRequest, TopicName};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka_admin::client::{Address, ClientSettings, Cluster as Brokers};
use tare_test_cluster::Cluster;

use crate::rig::{finish, stderr, stdout, tare, wait_for};
use crate::telling::Telling;

pub const LIMIT: Duration = Duration::from_secs(60);

/// Records in a batch of [`Bed::produce`], and bytes in a record.
const BATCH_RECORDS: u32 = 100;
const RECORD_BYTES: usize = 1000;

/// The newest version of produce that names topics.
const PRODUCE_NEWEST: i16 = 12;

/// The cluster, for one test at a time.
pub struct Bed {
    pub cluster: Cluster,
    /// What brokers tell besides what the target has them tell.
    pub telling: Telling,
    config: tempfile::TempDir,
}

/// Waits for the cluster's turn.
pub fn bed() -> MutexGuard<'static, Bed> {
    static BED: OnceLock<Mutex<Bed>> = OnceLock::new();
    let bed = BED.get_or_init(|| {
        let settings = BTreeMap::from([
            ("all_listeners".to_owned(), json!(true)),
            ("log_dir".to_owned(), json!("memory")),
            ("jit".to_owned(), json!("C1")),
            ("min_insync_replicas".to_owned(), json!(2)),
            // Only what a test makes a rule for is refused.
            ("acls".to_owned(), json!(true)),
        ]);
        let telling = Telling::new();
        let env = |number| telling.env(number);
        Mutex::new(Bed {
            cluster: Cluster::start_with("kafka", 3, &settings, env).unwrap(),
            telling,
            config: tempfile::tempdir().unwrap(),
        })
    });
    bed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A broker that was killed. It is started again when this goes, however the test ends: the next one finds all of them.
pub struct Killed<'a> {
    bed: &'a mut Bed,
    number: u32,
}

impl Deref for Killed<'_> {
    type Target = Bed;

    fn deref(&self) -> &Bed {
        self.bed
    }
}

impl Drop for Killed<'_> {
    #[expect(
        clippy::print_stderr,
        reason = "it cannot fail its test, which may have failed already"
    )]
    fn drop(&mut self) {
        if let Err(error) = self.bed.cluster.start_again(self.number) {
            eprintln!("broker {} is not there again: {error}", self.number);
        }
    }
}

impl Bed {
    pub fn kill(&mut self, number: u32) -> Killed<'_> {
        self.cluster.kill(number).unwrap();
        Killed { bed: self, number }
    }

    /// Where the brokers listen in a way, as `--bootstrap` takes it.
    pub fn at(&self, port: &str) -> String {
        let all: Vec<String> = self
            .cluster
            .at(port)
            .iter()
            .map(SocketAddr::to_string)
            .collect();
        all.join(",")
    }

    /// `tare kafka` with these words and a home of its own.
    pub fn command(&self, words: &[&str]) -> std::process::Command {
        let words: Vec<&str> = ["kafka"].iter().chain(words).copied().collect();
        let mut command = tare(&words);
        command
            .env("XDG_CONFIG_HOME", self.config.path())
            .env("COLUMNS", "80");
        command
    }

    /// Runs it without saying which cluster.
    pub fn bare(&self, words: &[&str]) -> Output {
        finish(&mut self.command(words), LIMIT)
    }

    /// Runs it on the plain listeners.
    pub fn kafka(&self, words: &[&str]) -> Output {
        let at = self.at("plain");
        let words: Vec<&str> = words.iter().copied().chain(["--bootstrap", &at]).collect();
        self.bare(&words)
    }

    /// What it prints, when it goes well.
    pub fn text(&self, words: &[&str]) -> String {
        let output = self.kafka(words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Its JSON, when it goes well.
    pub fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json", "--yes"]).collect();
        serde_json::from_str(&self.text(&words)).unwrap()
    }

    /// What it says when it must not go well, and with which exit code.
    pub fn refused(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = self.kafka(words);
        assert!(!output.status.success(), "{words:?}: {}", stdout(&output));
        (output.status.code(), stderr(&output))
    }

    /// The brokers, for requests that no command makes.
    pub fn brokers(&self) -> Brokers {
        let at: Vec<Address> = self
            .at("plain")
            .split(',')
            .map(|word| word.parse().unwrap())
            .collect();
        Brokers::connect(at, ClientSettings::default()).unwrap()
    }

    /// Writes so many batches of a hundred records of a kilobyte to a partition, acknowledged by all.
    pub fn produce(&self, topic: &str, partition: i32, batches: usize) {
        let place = usize::try_from(partition).unwrap();
        let leader = || -> Option<i32> {
            let views = self.json(&["topics", "describe", topic]);
            let leader = views[0]["partitions"][place]["leader"].as_i64()?;
            i32::try_from(leader).ok()
        };
        let mut led_by = leader();
        let mut brokers = self.brokers();
        let record = EncodedRecord::new(None, Some(&[7; RECORD_BYTES]), &[]);
        let mut batch = RecordBatchBuilder::new(0, 1 << 20, record);
        // Records of long ago are deleted by the broker's next look for what is older than is kept.
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now_ms = i64::try_from(now_ms.as_millis()).unwrap();
        assert_eq!(
            batch.repeat(BATCH_RECORDS, now_ms, ValuePrefix::NONE),
            BATCH_RECORDS
        );
        batch.seal(Producer::NONE);
        let name = TopicName(StrBytes::from_string(topic.to_owned()));
        let mut send = |leader: Option<i32>| {
            let records = Bytes::copy_from_slice(batch.bytes());
            let data = PartitionProduceData::default()
                .with_index(partition)
                .with_records(Some(records));
            let topic = TopicProduceData::default()
                .with_name(name.clone())
                .with_partition_data(vec![data]);
            let request = ProduceRequest::default()
                .with_acks(-1)
                .with_timeout_ms(30_000)
                .with_topic_data(vec![topic]);
            let answer = brokers
                .request_to(leader?, &request, PRODUCE_NEWEST)
                .unwrap();
            Some(answer.responses[0].partition_responses[0].error_code)
        };
        for _ in 0..batches {
            wait_for(LIMIT, "a batch to be taken", || match send(led_by) {
                Some(0) => Some(()),
                // It has no leader, another one, or too few copies, or its leader has not heard of a new topic yet (3): on a slow
                // machine brokers lose each other for a while.
                None | Some(3 | 5 | 6 | 19) => {
                    led_by = leader();
                    None
                }
                Some(code) => panic!("{topic}: error {code}"),
            });
        }
    }
}

/// Every line fits a narrow terminal.
pub fn assert_narrow(text: &str) {
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "{text}");
}
