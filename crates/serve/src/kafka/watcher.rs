//! Reads a cluster while somebody looks: every two seconds, less often where reading takes long.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tare_export::metrics;
use tare_kafka_admin::admin::reassign::ThrottleMemory;
use tare_kafka_admin::admin::{Admin, AdminError};
use tare_kafka_admin::api::{
    ClusterEntry, ClusterOrigin, ClusterOverview, ClusterProblem, MetricsLive,
};
use tare_kafka_admin::client::{ClientSettings, bootstrap};
use tare_kafka_admin::reading::{ClusterReading, ClusterView, ReadingScope};
use tare_lab::metrics::{MetricsReader, MetricsReading};
use tare_lab::targets::Targets;
use tare_lab_kafka::broker_metrics;
use tare_record::text::word_of;
use tokio::sync::watch;

use super::definition::Definitions;
use super::{TARGET, refusal, test_beds};
use crate::error::{Refusal, Reply};

/// Interval between the starts of two readings.
const EVERY: Duration = Duration::from_secs(2);
/// Part of the time that is spent reading, at most: its inverse.
const REST: u32 = 4;
/// Age at which a reading answers one more request.
const FRESH: Duration = Duration::from_millis(1500);
/// Ages between which a reading is a base for rates.
const BASE_MIN: Duration = Duration::from_secs(1);
const BASE_MAX: Duration = Duration::from_secs(60);
/// How long a cluster is read on after the last request or stream.
const LINGER: Duration = Duration::from_secs(300);
/// Longest pause between two readings.
const PAUSE_MAX: Duration = Duration::from_secs(45);
/// Age of metrics of brokers beyond which they are not shown.
const METRICS_AGE_MAX_MS: u64 = 15_000;
/// Timeout of a request of a reading, and of a change.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of reading the metrics of brokers.
const METRICS_TIMEOUT: Duration = Duration::from_secs(10);

/// What a stream shows beside the overview.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionScope {
    pub scope: ReadingScope,
    pub metrics: bool,
}

/// The last reading with the one before it.
#[derive(Debug, Clone)]
pub struct ClusterSnapshot {
    pub now: Arc<ClusterReading>,
    before: Option<Arc<ClusterReading>>,
    pub metrics: Option<Arc<MetricsLive>>,
    lag_limit: Option<u64>,
}

impl ClusterSnapshot {
    pub fn view(&self) -> ClusterView<'_> {
        ClusterView {
            now: &self.now,
            before: self.before.as_deref(),
            lag_limit: self.lag_limit,
        }
    }

    /// The overview, with the bytes that brokers tell.
    pub fn overview(&self) -> ClusterOverview {
        let mut overview = self.view().overview();
        let figures = self.metrics.iter().flat_map(|live| &live.brokers);
        for figures in figures.filter_map(|broker| broker.metrics.as_ref()) {
            let add = |sum: &mut Option<f64>, more: Option<f64>| {
                if let Some(more) = more {
                    *sum = Some(sum.unwrap_or(0.0) + more);
                }
            };
            let per_s = |rate: Option<tare_kafka_admin::metrics::Rate>| rate?.per_s;
            add(&mut overview.bytes_in_per_s, per_s(figures.bytes_in));
            add(&mut overview.bytes_out_per_s, per_s(figures.bytes_out));
        }
        overview
    }
}

/// What is known: the last reading, or why there is none.
pub type SnapshotState = Option<Result<ClusterSnapshot, ClusterProblem>>;

/// A cluster and its reading.
pub struct ClusterWatcher {
    pub entry: ClusterEntry,
    targets: PathBuf,
    /// Where throttles that are set here are noted.
    pub throttles: ThrottleMemory,
    /// Whether a thread follows reassignments, to remove their throttle.
    is_following: AtomicBool,
    reader: Mutex<Reader>,
    metrics: Mutex<Option<Metrics>>,
    changer: Mutex<Option<Admin>>,
    subscriptions: Mutex<Subscriptions>,
    state: watch::Sender<SnapshotState>,
    /// Ends the pause between two readings.
    woken: Condvar,
}

#[derive(Default)]
struct Reader {
    admin: Option<Admin>,
    last: Option<ClusterSnapshot>,
    /// When the last reading ended, and what it had.
    read: Option<(Instant, ReadingScope)>,
    /// When the last reading failed, and why.
    failed: Option<(Instant, Arc<AdminError>)>,
}

/// Metrics of brokers.
struct Metrics {
    reader: Result<MetricsReader, String>,
    last: Vec<MetricsReading>,
}

#[derive(Default)]
struct Subscriptions {
    open: BTreeMap<u64, SubscriptionScope>,
    number: u64,
    touched: Option<Instant>,
    is_running: bool,
}

impl ClusterWatcher {
    pub fn new(entry: ClusterEntry, definitions: &Definitions) -> ClusterWatcher {
        ClusterWatcher {
            entry,
            targets: definitions.targets.clone(),
            throttles: ThrottleMemory::new(definitions.throttles.clone()),
            is_following: AtomicBool::new(false),
            reader: Mutex::default(),
            metrics: Mutex::default(),
            changer: Mutex::default(),
            subscriptions: Mutex::default(),
            state: watch::Sender::new(None),
            woken: Condvar::new(),
        }
    }

    /// Whether nobody follows reassignments yet: who asked does from now on.
    pub fn begin_following(&self) -> bool {
        !self.is_following.swap(true, Ordering::SeqCst)
    }

    pub fn end_following(&self) {
        self.is_following.store(false, Ordering::SeqCst);
    }

    fn connect(&self, timeout: Duration) -> Result<Admin, AdminError> {
        let input = |reason: String| AdminError::Input(reason);
        let mut settings =
            ClientSettings::of_cluster(&self.entry.definition.cluster, timeout).map_err(input)?;
        if self.entry.origin == ClusterOrigin::TestBed {
            let mut beds = test_beds::all().into_iter();
            let bed = beds.find(|bed| bed.entry.definition.name == self.entry.definition.name);
            let bed = bed.ok_or_else(|| input("this test bed has ended".to_owned()))?;
            settings.connector = bed.connector();
        }
        let addresses = bootstrap(&self.entry.definition.cluster).map_err(input)?;
        Ok(Admin::connect(addresses, settings)?)
    }

    /// A reading that is young and has this scope: the last one, or a new one.
    pub fn read(&self, scope: &ReadingScope) -> Reply<ClusterSnapshot> {
        self.read_at(scope, FRESH).map_err(|error| refusal(&error))
    }

    /// A new reading, with the sizes of now.
    pub fn read_anew(&self, scope: &ReadingScope) -> Reply<ClusterSnapshot> {
        locked(&self.reader).read = None;
        self.read(scope)
    }

    fn read_at(
        &self,
        scope: &ReadingScope,
        age: Duration,
    ) -> Result<ClusterSnapshot, Arc<AdminError>> {
        let asked = Instant::now();
        let mut reader = locked(&self.reader);
        // Requests that waited for a reading that failed do not each wait for another one.
        if let Some((at, error)) = &reader.failed
            && (*at >= asked || at.elapsed() < age)
        {
            return Err(Arc::clone(error));
        }
        if let (Some((at, read)), Some(last)) = (&reader.read, &reader.last) {
            let has_all =
                scope.groups.is_subset(&read.groups) && (read.progress || !scope.progress);
            if at.elapsed() < age && has_all {
                return Ok(last.clone());
            }
        }
        let done = self.read_now(&mut reader, scope);
        done.map_err(|error| {
            // A new connection reads passwords and addresses anew.
            reader.admin = None;
            let error = Arc::new(error);
            reader.failed = Some((Instant::now(), Arc::clone(&error)));
            error
        })
    }

    fn read_now(
        &self,
        reader: &mut Reader,
        scope: &ReadingScope,
    ) -> Result<ClusterSnapshot, AdminError> {
        let Reader {
            admin,
            last,
            read,
            failed,
        } = reader;
        let admin = match admin {
            Some(admin) => admin,
            none => none.insert(self.connect(READ_TIMEOUT)?),
        };
        // What changes slowly is read again after a change, which takes the last reading's time away.
        let kept = last.as_ref().filter(|_| read.is_some());
        let now = ClusterReading::read(admin, scope, kept.map(|last| &*last.now))?;
        *failed = None;
        let before = last.take();
        // Growth over some milliseconds is no rate.
        let base = before
            .as_ref()
            .and_then(|one| match one.now.age() >= BASE_MIN {
                true => Some(Arc::clone(&one.now)),
                false => one.before.clone(),
            });
        let is_young =
            |live: &Arc<MetricsLive>| unix_ms().saturating_sub(live.at_ms) < METRICS_AGE_MAX_MS;
        let published = ClusterSnapshot {
            now: Arc::new(now),
            before: base.filter(|base| base.age() < BASE_MAX),
            metrics: before.and_then(|one| one.metrics).filter(is_young),
            lag_limit: self.entry.definition.lag_limit,
        };
        *last = Some(published.clone());
        *read = Some((Instant::now(), scope.clone()));
        Ok(published)
    }

    /// Looks something up over a connection that ends with it: it may take long, and keeps nothing else waiting.
    pub fn look_up<T>(&self, look: impl FnOnce(&mut Admin) -> Result<T, AdminError>) -> Reply<T> {
        let connected = self.connect(READ_TIMEOUT);
        connected
            .and_then(|mut admin| look(&mut admin))
            .map_err(|error| refusal(&error))
    }

    /// Does something over a connection of its own, and has everything read again afterwards.
    pub fn change<T>(&self, change: impl FnOnce(&mut Admin) -> Result<T, AdminError>) -> Reply<T> {
        let done = self.with(change);
        let mut reader = locked(&self.reader);
        (reader.read, reader.failed) = (None, None);
        drop(reader);
        self.woken.notify_all();
        done
    }

    /// Does something over a connection of its own.
    pub fn with<T>(&self, work: impl FnOnce(&mut Admin) -> Result<T, AdminError>) -> Reply<T> {
        let mut changer = locked(&self.changer);
        let connected = match changer.take() {
            Some(admin) => Ok(admin),
            None => self.connect(CHANGE_TIMEOUT),
        };
        let mut admin = connected.map_err(|error| refusal(&error))?;
        let done = work(&mut admin);
        if !matches!(done, Err(AdminError::Client(_))) {
            *changer = Some(admin);
        }
        done.map_err(|error| refusal(&error))
    }

    /// A connection for work that takes long.
    pub fn own_connection(&self) -> Reply<Admin> {
        self.connect(CHANGE_TIMEOUT)
            .map_err(|error| refusal(&error))
    }

    /// The last reading, and those to come.
    pub fn subscribe(self: &Arc<Self>, wanted: SubscriptionScope) -> Subscription {
        let mut subscriptions = locked(&self.subscriptions);
        subscriptions.number += 1;
        let number = subscriptions.number;
        subscriptions.open.insert(number, wanted);
        self.run(&mut subscriptions);
        self.woken.notify_all();
        Subscription {
            watcher: Arc::clone(self),
            number,
            state: self.state.subscribe(),
        }
    }

    /// Has the cluster read for a while.
    fn keep_reading(self: &Arc<Self>) {
        let mut subscriptions = locked(&self.subscriptions);
        subscriptions.touched = Some(Instant::now());
        self.run(&mut subscriptions);
    }

    fn run(self: &Arc<Self>, subscriptions: &mut Subscriptions) {
        if subscriptions.is_running {
            return;
        }
        let watcher = Arc::clone(self);
        let spawned = std::thread::Builder::new()
            .name("kafka".into())
            .spawn(move || {
                let round = || watcher.read_and_pause();
                let is_wanted = || {
                    catch_unwind(AssertUnwindSafe(round)).unwrap_or_else(|_| {
                        std::thread::sleep(EVERY);
                        false
                    })
                };
                while is_wanted() {}
                // Also after a panic, and for those who came meanwhile.
                let mut subscriptions = locked(&watcher.subscriptions);
                subscriptions.is_running = false;
                if !subscriptions.open.is_empty() {
                    watcher.run(&mut subscriptions);
                }
            });
        subscriptions.is_running = spawned.is_ok();
    }

    /// One reading and the pause after it; whether somebody still looks.
    fn read_and_pause(&self) -> bool {
        let wanted = {
            let subscriptions = locked(&self.subscriptions);
            let lingers = subscriptions
                .touched
                .is_some_and(|at| at.elapsed() < LINGER);
            if subscriptions.open.is_empty() && !lingers {
                drop(subscriptions);
                // The page that opens next waits for a new reading.
                self.state.send_replace(None);
                locked(&self.reader).admin = None;
                return false;
            }
            let mut all = SubscriptionScope::default();
            for wanted in subscriptions.open.values() {
                all.scope.progress |= wanted.scope.progress;
                all.scope.groups.extend(wanted.scope.groups.iter().cloned());
                all.metrics |= wanted.metrics;
            }
            all
        };
        let began = Instant::now();
        let read = self.read_at(&wanted.scope, Duration::ZERO).map(|mut read| {
            if wanted.metrics {
                read.metrics = Some(Arc::new(self.read_metrics()));
                if let Some(last) = &mut locked(&self.reader).last {
                    last.metrics.clone_from(&read.metrics);
                }
            }
            read
        });
        let took = began.elapsed();
        self.state.send_replace(Some(
            read.map_err(|error| ClusterProblem::unreachable(error.to_string())),
        ));
        let least = EVERY.saturating_sub(took);
        let paused = Instant::now();
        // Who comes or changes something does not wait for the end of a long pause.
        let pause = least.max(took * (REST - 1)).min(PAUSE_MAX);
        drop(self.woken.wait_timeout(locked(&self.subscriptions), pause));
        std::thread::sleep(least.saturating_sub(paused.elapsed()));
        true
    }

    fn read_metrics(&self) -> MetricsLive {
        let mut metrics = locked(&self.metrics);
        let mut live = MetricsLive {
            at_ms: unix_ms(),
            brokers: Vec::new(),
            problem: None,
        };
        // What was missing, such as the file of the password, may be there now.
        metrics.take_if(|metrics| metrics.reader.is_err());
        let metrics = metrics.get_or_insert_with(|| Metrics {
            reader: self.metrics_reader(),
            last: Vec::new(),
        });
        match &metrics.reader {
            Err(problem) => live.problem = Some(problem.clone()),
            Ok(source) => {
                let now = source.read(|_| true, METRICS_TIMEOUT);
                live.brokers = now
                    .iter()
                    .map(
                        |one| match metrics.last.iter().find(|last| last.at == one.at) {
                            Some(before)
                                if before.readings.is_ok()
                                    && one.when.duration_since(before.when) < BASE_MAX =>
                            {
                                broker_metrics(before, Some(one))
                            }
                            _ => broker_metrics(one, Some(one)),
                        },
                    )
                    .collect();
                metrics.last = now;
            }
        }
        live
    }

    fn metrics_reader(&self) -> Result<MetricsReader, String> {
        let cluster = &self.entry.definition.cluster;
        let source = cluster.metrics.as_ref().ok_or_else(|| {
            "no metrics are read: name a Jolokia, Prometheus or JMX address of each broker in the settings of the cluster"
                .to_owned()
        })?;
        let targets = Targets::load(&self.targets, &[]).map_err(|error| error.to_string())?;
        let target = targets.get(TARGET).map_err(|error| error.to_string())?;
        MetricsReader::open(target, source, cluster.allow_public_target.into())
            .map_err(|error| error.to_string())
    }

    /// Lines of `/metrics`.
    pub fn write_metrics(self: &Arc<Self>, page: &mut metrics::Metrics) {
        self.keep_reading();
        let name = self.entry.definition.name.as_str();
        let state = self.state.borrow().clone();
        let labels = [("cluster", name)];
        match state {
            None => {}
            Some(Err(_)) => page.set(&metrics::KAFKA_UP, &labels, 0.0),
            Some(Ok(published)) => {
                page.set(&metrics::KAFKA_UP, &labels, 1.0);
                let overview = published.overview();
                if let Some(rate) = overview.records_in_per_s {
                    page.set(&metrics::KAFKA_RECORDS_IN, &labels, rate);
                }
                let mut problems: BTreeMap<String, u64> = BTreeMap::new();
                for problem in &overview.problems {
                    *problems.entry(word_of(&problem.kind)).or_default() += problem.count;
                }
                for (kind, count) in problems {
                    let labels = [("cluster", name), ("kind", kind.as_str())];
                    page.set(&metrics::KAFKA_PROBLEMS, &labels, count as f64);
                }
                for group in published.view().groups().groups {
                    if let Some(lag) = group.lag {
                        let labels = [("cluster", name), ("group", group.name.as_str())];
                        page.set(&metrics::KAFKA_GROUP_LAG, &labels, lag as f64);
                    }
                    for (position, count) in [
                        ("beyond-end", group.beyond_end),
                        ("before-start", group.before_start),
                    ] {
                        let group = group.name.as_str();
                        let labels = [("cluster", name), ("group", group), ("position", position)];
                        if count > 0 {
                            page.set(&metrics::KAFKA_OUTSIDE_LOG, &labels, count as f64);
                        }
                    }
                }
            }
        }
    }
}

/// A stream that is open.
pub struct Subscription {
    watcher: Arc<ClusterWatcher>,
    number: u64,
    pub state: watch::Receiver<SnapshotState>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        locked(&self.watcher.subscriptions)
            .open
            .remove(&self.number);
    }
}

fn unix_ms() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(0)
}

/// What a lock guards is sound after a panic: it is only replaced as a whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of a topic or group that is not there.
pub fn gone(what: &str, name: &str) -> Refusal {
    let name: String = name.chars().take(250).collect();
    Refusal::not_found(format!("the cluster has no {what} {name}"))
}
