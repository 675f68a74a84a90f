//! Producing to real brokers: over every listener, with every codec, through the death of a broker, and what goes wrong in words.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tare_kafka::admin::{Admin, Mode, NewTopic, Shape, When};
use tare_kafka::audit::{Account, Found};
use tare_kafka::link::{Address, Patience, Settings};
use tare_lab::cluster::Cluster;
use tare_load::{LoadError, Outcome, Progress, StopHandle};
use tare_schema::FORMAT_VERSION;
use tare_schema::agent::Acknowledged;
use tare_schema::load::{
    Body, ClientSpec, Codec, ConnectionRules, Endpoint, Expect, ExpectBody, ExpectStatus, Keys,
    LoadPlan, LoadSpec, LoginSpec, Mix, Pacing, ProduceSpec, RequestSpec, Resumption, SerialSpec,
    Spin, Stop, TlsSpec, TlsVersion, Transport, Trust,
};

const PARTITIONS: i32 = 3;

/// The run in the numbers of records.
const RUN: u64 = 4711;

fn plan(at: &[SocketAddr], topic: &str, pacing: Pacing, records: u64) -> LoadPlan {
    LoadPlan {
        version: FORMAT_VERSION,
        role: "client".into(),
        start_at_unix_us: None,
        seed: 1,
        endpoint: Endpoint {
            addresses: at.to_vec(),
            host: at[0].ip().to_string(),
        },
        load: LoadSpec {
            pacing,
            stop: Stop::Count { exchanges: records },
            warmup_ns: 0,
            timeout_ns: 30_000_000_000,
            workers: 1,
            spin: Spin::Off,
            sample_every_ns: 1_000_000_000,
            transport: Transport::Tcp,
            client: ClientSpec::KafkaProduce {
                connections: 1,
                produce: Box::default(),
            },
            connections: ConnectionRules::default(),
            requests: vec![RequestSpec {
                name: "records".into(),
                weight: 1.0,
                method: "PRODUCE".into(),
                path: topic.into(),
                headers: vec![("trace".into(), "1".into())],
                body: Body::Filler { bytes: 100 },
                expect: Expect {
                    status: ExpectStatus::Any,
                    body: ExpectBody::Any,
                },
                parts: Default::default(),
            }],
            mix: Mix::default(),
        },
    }
}

fn produce(plan: &mut LoadPlan) -> &mut ProduceSpec {
    match &mut plan.load.client {
        ClientSpec::KafkaProduce { produce, .. } => produce,
        other => panic!("{other:?} is no producer"),
    }
}

fn run(plan: &LoadPlan) -> Result<Outcome, LoadError> {
    tare_load::run(plan, &StopHandle::new(), &mut |_| ControlFlow::Continue(()))
}

fn refusal(plan: &LoadPlan) -> String {
    run(plan).expect_err("a refusal").to_string()
}

fn tls(cluster: &Cluster) -> Transport {
    Transport::Tls(TlsSpec {
        trust: Trust::File {
            path: cluster.client().authority.display().to_string(),
        },
        identity: None,
        server_name: None,
        alpn: None,
        oldest: TlsVersion::V1_2,
        newest: TlsVersion::V1_3,
        resumption: Resumption::Off,
    })
}

struct Stand {
    admin: Admin,
}

impl Stand {
    fn new(at: &[SocketAddr]) -> Self {
        let bootstrap: Vec<Address> = at
            .iter()
            .map(|at| at.to_string().parse().unwrap())
            .collect();
        Self {
            admin: Admin::connect(bootstrap, Settings::default()).unwrap(),
        }
    }

    fn topic(&mut self, name: &str, configs: &[(&str, &str)]) {
        let topic = NewTopic {
            name: name.into(),
            shape: Shape::Even {
                partitions: Some(PARTITIONS),
                replicas: Some(3),
            },
            configs: configs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let outcomes = self.admin.create_topics(&[topic], Mode::Do).unwrap();
        assert!(
            outcomes.iter().all(|one| one.refusal.is_none()),
            "{outcomes:?}"
        );
        self.admin
            .wait_until_in_sync(&[name], Patience::of(Duration::from_secs(30)), 30)
            .unwrap();
    }

    /// What is there of what was acknowledged.
    fn read_back(&mut self, topic: &str, acknowledged: &[Acknowledged]) -> Found {
        let mut account = Account::of_run(RUN);
        for one in acknowledged.iter().filter(|one| one.topic == topic) {
            for &[from, count] in &one.ranges {
                let told = account.acknowledged(one.partition, one.writer, (from, count));
                told.unwrap();
            }
        }
        let within = Duration::from_secs(60);
        self.admin.read_back(topic, &mut account, within).unwrap();
        account.close()
    }

    /// Records of a topic, by what its partitions say.
    fn records(&mut self, topic: &str) -> i64 {
        let all: Vec<(String, i32)> = (0..PARTITIONS).map(|at| (topic.to_owned(), at)).collect();
        let offsets = self.admin.offsets(&all, When::Latest).unwrap();
        assert_eq!(offsets.len(), all.len());
        offsets.values().sum()
    }
}

fn password(folder: &Path, word: &str) -> std::path::PathBuf {
    let path = folder.join(word);
    writeln!(std::fs::File::create(&path).unwrap(), "{word}").unwrap();
    path
}

#[test]
fn records_reach_real_brokers_once_and_what_goes_wrong_is_told_in_words() {
    let settings = BTreeMap::from([
        ("all_listeners".to_owned(), json!(true)),
        ("min_insync_replicas".to_owned(), json!(2)),
        ("log_dir".to_owned(), json!("memory")),
    ]);
    let mut cluster = Cluster::start("kafka", 3, &settings).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);

    every_codec_is_taken(&mut stand, &plain);
    every_listener_is_spoken_to(&mut stand, &cluster, folder.path());
    what_goes_wrong_names_the_broker(&mut stand, &cluster, folder.path());
    a_killed_broker_loses_and_doubles_nothing(&mut stand, &mut cluster);
}

fn every_codec_is_taken(stand: &mut Stand, plain: &[SocketAddr]) {
    stand.topic("codecs", &[]);
    let mut expected = 0;
    for codec in [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ] {
        let mut plan = plan(plain, "codecs", Pacing::Max, 20_000);
        let spec = produce(&mut plan);
        spec.compression = codec;
        spec.keys = Keys::Random { count: 50 };
        let outcome = run(&plan).unwrap();
        assert_eq!(
            outcome.result.right, 20_000,
            "{codec:?}: {:?}",
            outcome.result.outcomes
        );
        expected += 20_000;
        assert_eq!(stand.records("codecs"), expected, "{codec:?}");
    }
}

fn every_listener_is_spoken_to(stand: &mut Stand, cluster: &Cluster, folder: &Path) {
    stand.topic("listeners", &[]);
    let login = || {
        Some(LoginSpec {
            mechanism: "PLAIN".into(),
            user: "tare".into(),
            password_file: password(folder, "tare-secret"),
        })
    };
    let mut expected = 0;
    for (port, secure, login) in [
        ("tls", true, None),
        ("sasl", false, login()),
        ("sasl-tls", true, login()),
    ] {
        let pacing = Pacing::Constant { rate_per_s: 5000.0 };
        let mut plan = plan(&cluster.at(port), "listeners", pacing, 2000);
        if secure {
            plan.load.transport = tls(cluster);
        }
        produce(&mut plan).login = login;
        let outcome = run(&plan).unwrap_or_else(|error| panic!("{port}: {error}"));
        assert_eq!(
            outcome.result.right, 2000,
            "{port}: {:?}",
            outcome.result.outcomes
        );
        expected += 2000;
        assert_eq!(stand.records("listeners"), expected, "{port}");
    }
}

fn what_goes_wrong_names_the_broker(stand: &mut Stand, cluster: &Cluster, folder: &Path) {
    let plain = cluster.at("plain");
    let few = |at: &[SocketAddr], topic: &str| plan(at, topic, Pacing::Max, 10);
    let said = refusal(&few(&plain, "nowhere"));
    assert!(
        said.contains("create the topic first") && said.contains(" at "),
        "{said}"
    );
    let said = refusal(&few(&cluster.at("tls"), "listeners"));
    assert!(
        said.contains("kafka+tls://") || said.contains("not the Kafka protocol"),
        "{said}"
    );
    let mut other = few(&plain, "listeners");
    other.load.transport = tls(cluster);
    other.load.timeout_ns = 3_000_000_000;
    let said = refusal(&other);
    assert!(said.contains(&plain[0].to_string()), "{said}");
    let mut wrong = few(&cluster.at("sasl"), "listeners");
    produce(&mut wrong).login = Some(LoginSpec {
        mechanism: "PLAIN".into(),
        user: "tare".into(),
        password_file: password(folder, "wrong"),
    });
    let said = refusal(&wrong);
    assert!(said.contains("refuses the login of \"tare\""), "{said}");
    let said = refusal(&few(&cluster.at("sasl"), "listeners"));
    assert!(said.contains("--sasl-user"), "{said}");
    stand.topic("small", &[("max.message.bytes", "2000")]);
    let outcome = run(&few(&plain, "small")).unwrap();
    assert_eq!(
        outcome.result.right, 10,
        "ten small records are one small batch"
    );
    let outcome = run(&plan(&plain, "small", Pacing::Max, 5000)).unwrap();
    let refused = outcome
        .result
        .outcomes
        .iter()
        .find(|one| one.class == "message-too-large");
    let example = refused.and_then(|one| one.example.clone()).unwrap();
    assert!(
        example.contains("max.message.bytes") && example.contains("broker "),
        "{example}"
    );
}

fn a_killed_broker_loses_and_doubles_nothing(stand: &mut Stand, cluster: &mut Cluster) {
    stand.topic("killed", &[]);
    let plain = cluster.at("plain");
    let pacing = Pacing::Constant { rate_per_s: 2000.0 };
    let mut plan = plan(&plain, "killed", pacing, 16_000);
    produce(&mut plan).serials = Some(SerialSpec {
        run: RUN,
        first_writer: 0,
    });
    let mut samples = 0;
    let outcome = tare_load::run(&plan, &StopHandle::new(), &mut |progress| {
        if let Progress::Sample(_) = progress {
            samples += 1;
            if samples == 2 {
                cluster.kill(3).unwrap();
            }
        }
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    assert_eq!(
        outcome.result.right, 16_000,
        "{:?}",
        outcome.result.outcomes
    );
    assert!(outcome.result.protocol_counts["retries"] > 0);
    cluster.start_again(3).unwrap();
    let found = stand.read_back("killed", &outcome.result.acknowledged);
    let whole = Found {
        acknowledged: 16_000,
        read: 16_000,
        ..Found::default()
    };
    assert_eq!(found, whole);
}
