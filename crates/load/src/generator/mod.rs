//! Runs a [`LoadPlan`] in this process: starts the workers, aggregates their reports, and returns the result.
//!
//! Only here pacing, stop, client and transport of a plan are combined.

mod check;
mod figures;
mod result;
mod scripted;
mod setup;
mod start_timing;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tare_record::agent::{LoadResult, Sample};
use tare_record::escape::escape_line;
use tare_record::load::{ClientOptions, LoadPlan, RequestSpec, SessionSpec};
use tare_stats::SparseHistogram;
use thiserror::Error;

pub use check::PlanError;
use check::check;
pub use check::{number, require};
pub use figures::{Tag, merged, spread};
use scripted::Session;
pub use scripted::dry_run_plan;
pub use setup::{Setup, WorkerShare};

use crate::aggregator::{AggregatedLoad, Aggregator};
use crate::classes::Classes;
use crate::client::{Client, Closed};
use crate::clock::{monotonic_ns, realtime_ns};
use crate::control::StopHandle;
use crate::protocols::http1::client::Http1Client;
use crate::protocols::http1::request::Prepared;
use crate::protocols::{Connects, Protocol};
use crate::session::Sessions;
use crate::tls::TlsError;
use crate::worker::{ConnectionsOpened, Worker, WorkerMessage};

/// Most exchanges that wait in one worker: 48 MB, which are touched only as they wait.
const WAITING_MAX: usize = 1 << 20;

/// Time beyond the timeout for which seconds accept late responses.
const HORIZON_EXTRA: Duration = Duration::from_secs(2);

/// How far beyond its lead a start may be: less than a clock that was set by hand or by a time zone, more than busy machines are late.
const START_TOLERANCE: Duration = Duration::from_secs(60);

/// Descriptors for everything but connections: epolls, wakers, standard streams, files.
const OTHER_DESCRIPTORS: u64 = 64;

/// Progress of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one a second, and a box could not be copied"
)]
pub enum LoadProgress {
    /// The connections are open and the start is fixed.
    Ready {
        /// Connections open.
        connections: u32,
        /// When the warm-up starts, µs since the epoch.
        start_unix_us: u64,
    },
    /// A sample has ended.
    Sample(Sample),
}

/// Receives the progress; its result decides whether the load continues.
pub type Observer<'a> = dyn FnMut(LoadProgress) -> ControlFlow<()> + Send + 'a;

/// Result of a load, with its histograms.
#[derive(Debug, Clone)]
pub struct LoadOutcome {
    /// As in a record.
    pub result: LoadResult,
    /// Histograms over the whole window, by tag.
    pub totals: BTreeMap<String, SparseHistogram>,
}

/// Why a load could not be run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("no connection to {address}: {why}")]
    NoConnection {
        /// All addresses that were tried.
        address: String,
        /// Error of the last attempt.
        why: String,
    },
    #[error("{0}")]
    Refused(String),
    /// The TLS settings of the plan cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(
        "{needed} connections need {needed_descriptors} file descriptors, but only {allowed} are allowed: use fewer connections, or raise the hard limit (ulimit -Hn)"
    )]
    Descriptors {
        needed: u64,
        /// Descriptors for them and for everything else.
        needed_descriptors: u64,
        allowed: u64,
    },
    #[error("cannot {what}: {source}")]
    System {
        /// What should have been done.
        what: &'static str,
        source: std::io::Error,
    },
    #[error("a worker thread failed: {0}; this is an error of tare, please report it")]
    Worker(String),
    #[error("the histograms cannot be written: {0}")]
    Histograms(String),
    /// The start is not by this clock.
    #[error(
        "its start is {seconds} s {direction} this machine's clock, which was set meanwhile or is not synchronised: see that it is (NTP)"
    )]
    Clock {
        seconds: u64,
        /// `ahead of` or `behind`.
        direction: &'static str,
    },
}

/// Runs a load to its end.
///
/// # Errors
/// When the plan is invalid, or the load could not be run at all. A load with errors is a result.
pub fn run(
    plan: &LoadPlan,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
) -> Result<LoadOutcome, LoadError> {
    launched(plan, stop, observer, |launch| {
        match &plan.load.mix.session {
            Some(spec) => launch.sessions(spec),
            None => launch.protocol.run(launch),
        }
    })
}

/// Runs an HTTP/1.1 load with a client around each worker's pool, to watch what passes between engine and pool.
///
/// # Errors
/// As [`run`].
pub fn run_over<C: Client + Send>(
    plan: &LoadPlan,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
    over: impl Fn(Http1Client) -> C,
) -> Result<LoadOutcome, LoadError> {
    launched(plan, stop, observer, |launch| {
        let (setup, requests) = (launch.setup, prepare(plan, Prepared::new)?);
        launch.clients(|part| {
            let connections = setup.pooled_sessions(&part);
            over(Http1Client::new(Arc::clone(&requests), &connections))
        })
    })
}

/// Checks and sets up a load, and runs it.
fn launched(
    plan: &LoadPlan,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
    run: impl FnOnce(Launch<'_, '_>) -> Result<LoadOutcome, LoadError>,
) -> Result<LoadOutcome, LoadError> {
    let protocol = check(plan)?;
    let setup = Setup::of(plan, protocol)?;
    raise_descriptors(u64::from(setup.connections))?;
    run(Launch {
        plan,
        setup: &setup,
        protocol,
        stop,
        observer,
    })
}

/// A checked load, ready to be run with the clients of its protocol.
pub struct Launch<'a, 'o> {
    pub plan: &'a LoadPlan,
    pub setup: &'a Setup,
    protocol: &'static Protocol,
    stop: &'a StopHandle,
    observer: &'a mut Observer<'o>,
}

impl Launch<'_, '_> {
    pub fn options<O: ClientOptions>(&self) -> Result<O, PlanError> {
        let options = self.plan.load.client.options();
        options.map_err(PlanError::Invalid)
    }

    /// Runs the load with one client for each worker.
    pub fn clients<C: Client + Send>(
        self,
        client: impl Fn(WorkerShare) -> C,
    ) -> Result<LoadOutcome, LoadError> {
        self.fallible_clients(|part| Ok(client(part)))
    }

    /// The same with clients whose construction can fail.
    pub fn fallible_clients<C: Client + Send>(
        self,
        client: impl Fn(WorkerShare) -> Result<C, LoadError>,
    ) -> Result<LoadOutcome, LoadError> {
        let Launch {
            plan, setup, stop, ..
        } = self;
        let control = stop.control();
        let (reports, inbox) = channel();
        let classes = Classes::default();
        let mut workers = Vec::new();
        let mut emptied = Vec::new();
        for number in 0..setup.workers {
            let (give, take) = channel();
            emptied.push(give);
            let client = client(setup.part(number))?;
            workers.push(setup.worker(
                number,
                client,
                &control,
                &classes,
                reports.clone(),
                take,
            )?);
        }
        drop(reports);
        let names = (plan.role.clone(), scripted::names(plan));
        let horizon = Duration::from_nanos(plan.load.timeout_ns) + HORIZON_EXTRA;
        let aggregator = Aggregator::new(names, classes, horizon, emptied)
            .map_err(|error| LoadError::Histograms(error.to_string()))?;
        self.run_threads(workers, aggregator, inbox)
    }

    fn sessions(self, spec: &SessionSpec) -> Result<LoadOutcome, LoadError> {
        let setup = self.setup;
        let session = Session::of(self.plan, spec)?;
        self.clients(|part| {
            let scripted = session.scripted(part.worker, setup.workers);
            let pool = Http1Client::new(scripted, &setup.pooled_sessions(&part));
            Sessions::new(pool, setup.sessions_max(part.worker, part.connections))
        })
    }

    /// Starts the threads and waits for them.
    fn run_threads<C: Client + Send>(
        self,
        workers: Vec<Worker<C>>,
        aggregator: Aggregator,
        inbox: Receiver<WorkerMessage>,
    ) -> Result<LoadOutcome, LoadError> {
        let Launch {
            plan, setup, stop, ..
        } = self;
        let count = workers.len();
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, worker) in workers.into_iter().enumerate() {
                let builder = thread::Builder::new().name(format!("worker-{number}"));
                match builder.spawn_scoped(scope, move || worker.run()) {
                    Ok(thread) => threads.push(thread),
                    Err(source) => {
                        stop.abort();
                        return Err(LoadError::System {
                            what: "start a worker thread",
                            source,
                        });
                    }
                }
            }
            let gathering =
                thread::Builder::new()
                    .name("ledger".into())
                    .spawn_scoped(scope, move || {
                        lower_priority();
                        self.aggregate(aggregator, &inbox, count)
                    });
            let gathered = match gathering {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|_| Err(LoadError::Worker("the ledger panicked".into()))),
                Err(source) => Err(LoadError::System {
                    what: "start the ledger thread",
                    source,
                }),
            };
            if gathered.is_err() {
                stop.abort();
            }
            for thread in threads {
                if thread.join().is_err() {
                    return Err(LoadError::Worker("it panicked".into()));
                }
            }
            let (gathered, start) = gathered?;
            if let Some(why) = gathered.ends.iter().find_map(|end| end.failure.clone()) {
                return Err(LoadError::Worker(why));
            }
            let permanent_failure = gathered
                .ends
                .iter()
                .find_map(|end| end.permanent_failure.clone());
            if let (Some(why), true) = (
                permanent_failure,
                gathered
                    .ends
                    .iter()
                    .all(|end| end.counts.exchanges().ok == 0),
            ) {
                return Err(LoadError::NoConnection {
                    address: server_of(plan),
                    why,
                });
            }
            result::assemble(plan, setup.window(), &start, &gathered)
        })
    }

    /// The aggregator's thread: waits until all workers are ready, fixes the start, aggregates.
    fn aggregate(
        self,
        mut aggregator: Aggregator,
        inbox: &Receiver<WorkerMessage>,
        workers: usize,
    ) -> Result<(AggregatedLoad, Start), LoadError> {
        let Launch {
            plan,
            stop,
            observer,
            ..
        } = self;
        let opened = wait_open(inbox, workers, &mut aggregator)?;
        if let Some(refusal) = opened.iter().find_map(|opened| opened.refusal.clone()) {
            stop.abort();
            return Err(LoadError::Refused(refusal));
        }
        let open: u32 = opened.iter().map(|opened| opened.open).sum();
        // Where connections are the exchanges, none is open before the start.
        let expects_open = self.protocol.connects == Connects::BeforeLoad;
        if open == 0 && expects_open && !stop.is_ended() {
            stop.abort();
            let why = opened.iter().find_map(|opened| opened.problem.clone());
            return Err(LoadError::NoConnection {
                address: server_of(plan),
                why: why.unwrap_or_else(|| Closed::ConnectTimeout.to_string()),
            });
        }
        let start = fix_start(plan).inspect_err(|_| stop.abort())?;
        stop.control().start_at(start.monotonic_ns);
        let mut tell = |progress| {
            if observer(progress).is_break() {
                stop.abort();
            }
        };
        tell(LoadProgress::Ready {
            connections: open,
            start_unix_us: start.unix_ns / 1000,
        });
        let gathered = aggregator
            .aggregate(inbox, &mut |sample| tell(LoadProgress::Sample(sample)))
            .map_err(|error| LoadError::Histograms(error.to_string()))?;
        if gathered.ends.len() < workers {
            return Err(LoadError::Worker("it left without a report".into()));
        }
        Ok((gathered, start))
    }
}

/// The addresses of the server, or its Unix socket, for messages.
fn server_of(plan: &LoadPlan) -> String {
    let addresses = plan.endpoint.addresses.iter().map(ToString::to_string);
    match &plan.load.connections.unix_socket {
        Some(path) => escape_line(path).into_owned(),
        None => addresses.collect::<Vec<_>>().join(" or "),
    }
}

/// Prepares all requests of a plan.
pub(crate) fn prepare<R, E: Display>(
    plan: &LoadPlan,
    ready: impl Fn(&RequestSpec, &str) -> Result<R, E>,
) -> Result<Arc<[R]>, PlanError> {
    let one = |spec: &RequestSpec| {
        ready(spec, &plan.endpoint.host).map_err(|why| PlanError::request(&spec.name, &why))
    };
    plan.load.requests.iter().map(one).collect()
}

/// When a load started, on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub monotonic_ns: u64,
    pub unix_ns: u64,
}

fn wait_open(
    inbox: &Receiver<WorkerMessage>,
    workers: usize,
    aggregator: &mut Aggregator,
) -> Result<Vec<ConnectionsOpened>, LoadError> {
    let mut opened = Vec::new();
    while opened.len() < workers {
        match inbox.recv() {
            Ok(WorkerMessage::ConnectionsOpened(one)) => opened.push(one),
            Ok(WorkerMessage::Ended(end)) => {
                // It ended before its connections were open: by `StopHandle`, or with an error.
                opened.push(ConnectionsOpened {
                    open: 0,
                    problem: end.failure.clone(),
                    refusal: None,
                });
                aggregator.ended(*end);
            }
            Ok(WorkerMessage::Table { .. } | WorkerMessage::Tick(_)) => {}
            Err(_) => return Err(LoadError::Worker("it panicked".into())),
        }
    }
    Ok(opened)
}

/// The planned start on the monotonic clock, even if it has passed: the delay then shows as lateness.
///
/// # Errors
/// When it is so far away that this clock is not the one by which it was planned.
fn fix_start(plan: &LoadPlan) -> Result<Start, LoadError> {
    /// Time for the workers to be woken.
    const NOTICE_NS: u64 = 2_000_000;
    let (now_ns, now_unix_ns) = (monotonic_ns(), realtime_ns());
    let unix_ns = match plan.start_at_unix_us {
        Some(at_us) => at_us.saturating_mul(1000),
        None => now_unix_ns + NOTICE_NS,
    };
    let ahead_ns = i128::from(unix_ns) - i128::from(now_unix_ns);
    check_start(ahead_ns, plan)?;
    let at_ns = (i128::from(now_ns) + ahead_ns).clamp(1, i128::from(u64::MAX / 2));
    Ok(Start {
        monotonic_ns: at_ns as u64,
        unix_ns,
    })
}

/// Refuses a start that only a clock that was set meanwhile, or another one, has at this distance.
fn check_start(ahead_ns: i128, plan: &LoadPlan) -> Result<(), LoadError> {
    let own_ns = plan.load.connections.open_over_ns;
    let lead_ns = i128::from(plan.start_lead_ns.unwrap_or(own_ns));
    let tolerated_ns = START_TOLERANCE.as_nanos() as i128;
    let (distance_ns, direction) = match ahead_ns {
        _ if ahead_ns > lead_ns + tolerated_ns => (ahead_ns, "ahead of"),
        _ if ahead_ns < -(lead_ns + tolerated_ns) => (-ahead_ns, "behind"),
        _ => return Ok(()),
    };
    Err(LoadError::Clock {
        seconds: (distance_ns / 1_000_000_000) as u64,
        direction,
    })
}

/// Raises the soft limit of file descriptors to what these connections need.
///
/// # Errors
/// When the hard limit is too low.
fn raise_descriptors(connections: u64) -> Result<(), LoadError> {
    let needed = connections + OTHER_DESCRIPTORS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` is unlimited.
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(allowed) = maximum.filter(|&allowed| allowed < needed) {
        return Err(LoadError::Descriptors {
            needed: connections,
            needed_descriptors: needed,
            allowed,
        });
    }
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(needed),
            maximum,
        },
    )
    .map_err(|error| LoadError::System {
        what: "raise the limit of file descriptors",
        source: error.into(),
    })
}

/// Lowers the priority of the calling thread below the workers.
fn lower_priority() {
    // On Linux niceness is per thread, in spite of the name. A refusal costs accuracy only on a fully loaded core.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}
