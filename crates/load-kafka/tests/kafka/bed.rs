//! One cluster of three brokers for all tests of this binary, and the plans of loads on it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::SocketAddr;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tare_kafka::audit::{DeliveryAudit, DeliveryReport};
use tare_kafka_admin::admin::{Admin, Mode, NewTopic, OffsetSpec, PartitionLayout};
use tare_kafka_admin::client::{Address, ClientSettings};
use tare_lab::LabError;
use tare_load::{LoadError, LoadOutcome, LoadProgress, StopHandle};
use tare_record::FORMAT_VERSION;
use tare_record::agent::{Acknowledged, Sample};
use tare_record::load::{
    AddressPolicy, Body, ClientOptions, ClientSpec, ConnectionRules, Cores, Endpoint, Expect,
    ExpectBody, ExpectStatus, FetchAssignment, FetchDecode, FetchFrom, FetchSpec, FetchUntil,
    LoadPlan, LoadSpec, LoginSpec, Mix, Pacing, ProduceSpec, RequestSpec, Resumption, Sched,
    SerialSpec, Spin, Stop, TlsSpec, TlsVersion, Transport, Trust,
};
use tare_test_cluster::Cluster;

/// Partitions of each topic: one a broker.
pub const PARTITIONS: i32 = 3;

/// Bytes of a record's value.
pub const VALUE_BYTES: u64 = 100;

/// The run in the numbers of records.
const SERIALS_OF: u64 = 4711;

pub const S: u64 = 1_000_000_000;

/// Longer than any load here; who waits for it has hung.
const LIMIT: Duration = Duration::from_secs(90);

/// A start that failed once is not tried again by every test.
static CLUSTER: OnceLock<Result<RwLock<Cluster>, String>> = OnceLock::new();

fn cluster() -> &'static RwLock<Cluster> {
    let started = CLUSTER.get_or_init(|| {
        let settings = BTreeMap::from([
            ("all_listeners".to_owned(), json!(true)),
            ("acls".to_owned(), json!(true)),
            ("min_insync_replicas".to_owned(), json!(2)),
            ("log_dir".to_owned(), json!("memory")),
            ("jit".to_owned(), json!("C1")),
        ]);
        let started = Cluster::start("kafka", 3, &settings);
        started.map(RwLock::new).map_err(|error| error.to_string())
    });
    match started {
        Ok(cluster) => cluster,
        Err(error) => panic!("{error}"),
    }
}

/// The cluster, beside other tests that leave its brokers alone.
pub fn bed() -> RwLockReadGuard<'static, Cluster> {
    cluster()
        .read()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The cluster, for a test that harms brokers. However the test ends, the next one finds all of them running again.
pub fn alone() -> Alone {
    let cluster = cluster().write();
    Alone {
        cluster: cluster.unwrap_or_else(|poisoned| poisoned.into_inner()),
        harmed: BTreeSet::new(),
    }
}

/// See [`alone`].
pub struct Alone {
    cluster: RwLockWriteGuard<'static, Cluster>,
    /// Brokers that are not as they were.
    harmed: BTreeSet<u32>,
}

impl Alone {
    pub fn at(&self, port: &str) -> Vec<SocketAddr> {
        self.cluster.at(port)
    }

    pub fn kill(&mut self, number: u32) {
        self.harmed.insert(number);
        self.cluster.kill(number).unwrap();
    }

    /// From now on files of this broker do not grow beyond so many bytes, as on a disk that is full.
    pub fn fill_disk(&mut self, number: u32, bytes: u64) {
        self.harmed.insert(number);
        let mut members = self.cluster.members().iter();
        let pid = members.find(|one| one.number == number).unwrap().pid;
        let limited = Command::new("prlimit")
            .args([format!("--pid={pid}"), format!("--fsize={bytes}")])
            .status();
        assert!(limited.unwrap().success());
    }

    /// Kills whatever is left of the harmed brokers and starts them again, on what they have.
    pub fn mend(&mut self) -> Result<(), LabError> {
        while let Some(number) = self.harmed.pop_first() {
            self.cluster.kill(number)?;
            self.cluster.start_again(number)?;
        }
        Ok(())
    }
}

impl Drop for Alone {
    #[expect(
        clippy::print_stderr,
        reason = "it cannot fail its test, which may have failed already"
    )]
    fn drop(&mut self) {
        if let Err(error) = self.mend() {
            eprintln!("the brokers are not as they were: {error}");
        }
    }
}

/// Topics: made, and asked how much is in them.
pub struct Stand {
    pub admin: Admin,
}

impl Stand {
    pub fn new(at: &[SocketAddr]) -> Self {
        let bootstrap: Vec<Address> = at
            .iter()
            .map(|at| at.to_string().parse().unwrap())
            .collect();
        Self {
            admin: Admin::connect(bootstrap, ClientSettings::default()).unwrap(),
        }
    }

    pub fn topic(&mut self, name: &str, configs: &[(&str, &str)]) {
        let topic = NewTopic {
            name: name.into(),
            shape: PartitionLayout::ByCluster {
                partitions: Some(PARTITIONS),
                replicas: Some(3),
            },
            configs: configs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        self.create(topic);
        self.admin.wait_until_in_sync(&[name], LIMIT).unwrap();
    }

    pub fn create(&mut self, topic: NewTopic) {
        let outcomes = self.admin.create_topics(&[topic], Mode::Apply).unwrap();
        assert!(
            outcomes.iter().all(|one| one.error.is_none()),
            "{outcomes:?}"
        );
    }

    /// Waits until a broker has files for so many partitions of these topics: a topic is announced before its brokers make them.
    pub fn until_stored(&mut self, broker: i32, topics: &[&str], partitions: usize) {
        let began = Instant::now();
        loop {
            let dirs = self.admin.log_dirs(Some(&[broker])).unwrap();
            let stored = dirs.iter().flat_map(|dir| &dir.partitions);
            let stored = stored.filter(|one| topics.contains(&one.topic.as_str()));
            if stored.count() == partitions {
                return;
            }
            assert!(began.elapsed() < LIMIT, "{dirs:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// All of so many records were acknowledged, and each is there once.
    pub fn holds_all(&mut self, topic: &str, outcome: &LoadOutcome, records: u64) {
        let result = &outcome.result;
        assert_eq!(result.ok, records, "{:?}", result.outcomes);
        let whole = DeliveryReport {
            acknowledged: records,
            read: records,
            ..DeliveryReport::default()
        };
        assert_eq!(self.read_back(topic, &result.acknowledged), whole);
    }

    /// What is there of what was acknowledged.
    fn read_back(&mut self, topic: &str, acknowledged: &[Acknowledged]) -> DeliveryReport {
        let mut account = DeliveryAudit::of_run(SERIALS_OF);
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
    pub fn records(&mut self, topic: &str) -> i64 {
        let all: Vec<(String, i32)> = (0..PARTITIONS).map(|at| (topic.to_owned(), at)).collect();
        let offsets = self.admin.offsets(&all, OffsetSpec::Latest).unwrap();
        assert_eq!(offsets.len(), all.len());
        offsets.values().sum()
    }
}

fn plan(at: &[SocketAddr], topic: &str, client: ClientSpec) -> LoadPlan {
    LoadPlan {
        version: FORMAT_VERSION,
        role: "client".into(),
        start_at_unix_us: None,
        start_lead_ns: None,
        seed: 1,
        endpoint: Endpoint {
            addresses: at.to_vec(),
            host: at[0].ip().to_string(),
        },
        allowed_addresses: AddressPolicy::Private,
        address_overrides: Vec::new(),
        cores: Cores::Shared,
        cpu_per_exchange_ns: None,
        load: LoadSpec {
            pacing: Pacing::Max,
            stop: Stop::Interrupted,
            warmup_ns: 0,
            timeout_ns: 120 * S,
            workers: 1,
            spin: Spin::Off,
            sched: Sched::Auto,
            sample_every_ns: S / 2,
            transport: Transport::Tcp,
            client,
            connections: ConnectionRules::default(),
            requests: vec![RequestSpec {
                name: "records".into(),
                weight: 1.0,
                method: "PRODUCE".into(),
                path: topic.into(),
                headers: vec![("trace".into(), "1".into())],
                body: Body::Filler { bytes: VALUE_BYTES },
                expect: Expect {
                    status: ExpectStatus::Any,
                    body: ExpectBody::Any,
                },
                template: Default::default(),
            }],
            mix: Mix::default(),
        },
    }
}

/// A producer of so many records.
pub fn producer(at: &[SocketAddr], topic: &str, pacing: Pacing, records: u64) -> LoadPlan {
    let client = ClientSpec::with(1, &ProduceSpec::default());
    let mut plan = plan(at, topic, client);
    plan.load.pacing = pacing;
    plan.load.stop = Stop::Count { exchanges: records };
    plan
}

/// Options of a client that are being changed.
pub struct Changed<'a, O: ClientOptions> {
    client: &'a mut ClientSpec,
    options: O,
}

impl<'a, O: ClientOptions> Changed<'a, O> {
    fn of(plan: &'a mut LoadPlan) -> Self {
        let client = &mut plan.load.client;
        let options = client.get().expect("options of this protocol");
        Self { client, options }
    }
}

impl<O: ClientOptions> Deref for Changed<'_, O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.options
    }
}

impl<O: ClientOptions> DerefMut for Changed<'_, O> {
    fn deref_mut(&mut self) -> &mut O {
        &mut self.options
    }
}

impl<O: ClientOptions> Drop for Changed<'_, O> {
    fn drop(&mut self) {
        self.client.set(&self.options);
    }
}

pub fn produce(plan: &mut LoadPlan) -> Changed<'_, ProduceSpec> {
    Changed::of(plan)
}

/// A consumer of all that is there.
pub fn consumer(at: &[SocketAddr], topic: &str) -> LoadPlan {
    let fetch = FetchSpec {
        topics: vec![topic.to_owned()],
        client_id: "tare".into(),
        in_flight_max: 8,
        assignment: FetchAssignment::Static,
        from: FetchFrom::Start,
        min_bytes: 1,
        max_wait_ms: 200,
        max_bytes: 50 << 20,
        partition_max_bytes: 1 << 20,
        check_crc: true,
        decode: FetchDecode::Batches,
        until: FetchUntil {
            records: None,
            backlog: true,
            idle_ns: None,
        },
        sasl: None,
        ..FetchSpec::default()
    };
    let client = ClientSpec::with(1, &fetch);
    let mut plan = plan(at, topic, client);
    let request = &mut plan.load.requests[0];
    request.name = "fetch".into();
    request.method = "FETCH".into();
    request.headers.clear();
    request.body = Body::None;
    plan
}

/// Numbers the records, so that they can be read back.
pub fn number(plan: &mut LoadPlan) {
    produce(plan).serials = Some(SerialSpec {
        run: SERIALS_OF,
        first_writer: 0,
    });
}

/// Has so many workers read, each with connections of its own.
pub fn by_workers(plan: &mut LoadPlan, workers: u32) {
    plan.load.workers = workers;
    plan.load.client.connections = workers;
}

pub fn fetch(plan: &mut LoadPlan) -> Changed<'_, FetchSpec> {
    Changed::of(plan)
}

/// A member of a group, which ends when it has read what was there.
pub fn member(at: &[SocketAddr], topic: &str, group: &str) -> LoadPlan {
    let mut plan = consumer(at, topic);
    fetch(&mut plan).assignment = FetchAssignment::Group {
        group: group.into(),
        assignors: vec!["range".into(), "sticky".into()],
        commit_every_ms: Some(1000),
        session_timeout_ms: 10_000,
    };
    plan
}

pub fn run(plan: &LoadPlan) -> Result<LoadOutcome, LoadError> {
    tare_load_kafka::install();
    let running = Running::start(plan.clone());
    running.outcome()
}

/// Writes so many records, all of which are taken.
pub fn written(at: &[SocketAddr], topic: &str, records: u64) {
    let outcome = run(&producer(at, topic, Pacing::Max, records)).unwrap();
    let result = &outcome.result;
    assert_eq!(result.ok, records, "{:?}", result.outcomes);
}

/// Records that arrived.
pub fn records(outcome: &LoadOutcome) -> u64 {
    outcome.result.records.map_or(0, |records| records.total)
}

pub fn count(outcome: &LoadOutcome, name: &str) -> u64 {
    outcome.result.protocol_counts[name]
}

pub fn refusal(plan: &LoadPlan) -> String {
    run(plan).expect_err("a refusal").to_string()
}

/// A load on a thread of its own. Waiting for it has a limit: a load that hangs fails its test.
pub struct Running {
    stop: StopHandle,
    told: Receiver<LoadProgress>,
    ended: Receiver<Result<LoadOutcome, LoadError>>,
    _thread: JoinHandle<()>,
}

impl Running {
    pub fn start(plan: LoadPlan) -> Self {
        let stop = StopHandle::new();
        let order = stop.clone();
        let (tell, told) = channel();
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            tare_load_kafka::install();
            let outcome = tare_load::run(&plan, &order, &mut |progress| {
                // Nobody may listen.
                let _ = tell.send(progress);
                ControlFlow::Continue(())
            });
            let _ = end.send(outcome);
        });
        Self {
            stop,
            told,
            ended,
            _thread: thread,
        }
    }

    /// Waits until its connections are open, its partitions known.
    pub fn ready(&self) {
        while !matches!(self.next(), LoadProgress::Ready { .. }) {}
    }

    /// Samples until one is as wanted.
    pub fn until(&self, mut wanted: impl FnMut(&Sample) -> bool) {
        loop {
            if let LoadProgress::Sample(sample) = self.next()
                && wanted(&sample)
            {
                return;
            }
        }
    }

    /// Samples until so many records have arrived.
    pub fn until_read(&self, records: u64) {
        let mut read = 0;
        self.until(|sample| {
            read += sample.records.map_or(0, |records| records.count);
            read >= records
        });
    }

    fn next(&self) -> LoadProgress {
        match self.told.recv_timeout(LIMIT) {
            Ok(progress) => progress,
            Err(error) => panic!("{error}: {:?}", self.ended.try_recv().map(|one| one.err())),
        }
    }

    /// All samples, and what is left when it has ended by itself.
    pub fn samples(self) -> (Vec<Sample>, LoadOutcome) {
        let outcome = self.ended.recv_timeout(LIMIT).expect("it hangs").unwrap();
        let samples = self.told.try_iter().filter_map(|progress| match progress {
            LoadProgress::Sample(sample) => Some(sample),
            LoadProgress::Ready { .. } => None,
        });
        (samples.collect(), outcome)
    }

    pub fn outcome(self) -> Result<LoadOutcome, LoadError> {
        self.ended.recv_timeout(LIMIT).expect("it hangs")
    }

    /// Ends it.
    pub fn end(self) -> LoadOutcome {
        self.stop.end();
        self.outcome().unwrap()
    }
}

pub fn tls(cluster: &Cluster) -> Transport {
    let authority = cluster.client().ca.display().to_string();
    trusting(Trust::File { path: authority })
}

pub fn trusting(trust: Trust) -> Transport {
    Transport::Tls(TlsSpec {
        trust,
        identity: None,
        server_name: None,
        alpn: None,
        oldest: TlsVersion::V1_2,
        newest: TlsVersion::V1_3,
        resumption: Resumption::Off,
    })
}

/// A login with this password, which stands in a file of the folder.
pub fn login(folder: &tempfile::TempDir, mechanism: &str, password: &str) -> Option<LoginSpec> {
    let password_file: PathBuf = folder.path().join(password);
    writeln!(std::fs::File::create(&password_file).unwrap(), "{password}").unwrap();
    Some(LoginSpec {
        mechanism: mechanism.into(),
        user: "tare".into(),
        password_file,
    })
}

pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}
