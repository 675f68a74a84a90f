//! Runs a [`LoadPlan`] in this process: starts the workers, gathers, and gives the result.
//!
//! This is the one place where pacing, stop, client and transport of a plan meet.

mod check;
mod fetching;
mod figures;
mod filled;
mod limits;
mod producing;
mod punctuality;
mod result;
mod schedule;
mod scripted;
mod setup;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use tare_schema::agent::{LoadResult, Sample};
use tare_schema::load::{ClientSpec, LoadPlan, RequestSpec, Transport};
use tare_stats::Latencies;
use thiserror::Error;

use check::check;
pub use check::{PlanError, connections};
pub use figures::{Tag, spread};
use filled::Filled;
use scripted::Session;
pub use scripted::rehearse_plan;
use setup::{Part, Setup};

use crate::classes::Classes;
use crate::client::{Client, Closed};
use crate::clock::{monotonic_ns, realtime_ns};
use crate::control::StopHandle;
use crate::grpc::{Call, Grpc};
use crate::http1::pool::Pool;
use crate::http1::request::Prepared;
use crate::http2::dialect::Http;
use crate::http2::request::{Prepared as Http2Request, Scheme};
use crate::ledger::{Gathered, Ledger, LedgerPlan};
use crate::mongodb::Operation;
use crate::session::Sessions;
use crate::tls::TlsError;
use crate::worker::{FromWorker, Opened, Worker};

/// Arrivals that may be under way or wait in one worker, whatever rate × timeout says: 24 MB.
const WAITING_MAX: usize = 1 << 20;

/// Seconds stay open for late answers this long beyond the timeout.
const HORIZON_EXTRA: Duration = Duration::from_secs(2);

/// What is told while a load runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
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

/// Told what happens; what it returns decides whether the load goes on.
pub type Observer<'a> = dyn FnMut(Progress) -> ControlFlow<()> + Send + 'a;

/// What a load leaves.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// As it goes into a record.
    pub result: LoadResult,
    /// Histograms over the whole window, by tag.
    pub totals: BTreeMap<String, Latencies>,
}

/// Why a load was not run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Nobody answered.
    #[error("no connection to {address}: {why}")]
    NoConnection {
        /// The first address.
        address: std::net::SocketAddr,
        /// Of the last attempt.
        why: String,
    },
    /// Somebody answered, and the load cannot be carried there.
    #[error("{0}")]
    Refused(String),
    /// TLS cannot be spoken as the plan says.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Too few file descriptors.
    #[error(
        "{needed} connections need {needed_descriptors} file descriptors, but only {allowed} are allowed: use fewer connections, or raise the hard limit (ulimit -Hn)"
    )]
    Descriptors {
        /// Connections.
        needed: u64,
        /// Descriptors for them and for the rest.
        needed_descriptors: u64,
        /// The hard limit.
        allowed: u64,
    },
    /// The system refused something basic.
    #[error("cannot {what}: {source}")]
    System {
        /// What was wanted.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// A worker broke off.
    #[error("a worker broke off: {0}; this is an error of tare, please report it")]
    Worker(String),
    /// The histograms could not be put together.
    #[error("the histograms cannot be written: {0}")]
    Histograms(String),
}

/// Runs a load to its end.
///
/// # Errors
/// When the plan is wrong, or the load could not be run at all. A load that ran badly is a result.
pub fn run(
    plan: &LoadPlan,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
) -> Result<Outcome, LoadError> {
    check(plan)?;
    let setup = Setup::of(plan)?;
    limits::raise_descriptors(u64::from(setup.connections))?;
    let scheme = match plan.load.transport {
        Transport::Tcp => Scheme::Http,
        Transport::Tls(_) => Scheme::Https,
    };
    if let Some(spec) = &plan.load.mix.session {
        let session = Session::of(plan, spec)?;
        return launch(plan, &setup, stop, observer, |part| {
            let scripted = session.scripted(part.worker, setup.workers);
            let pool = setup.pool(&part, scripted);
            Sessions::new(pool, setup.sessions_max(part.worker, part.connections))
        });
    }
    match plan.load.client {
        ClientSpec::Http1 { .. } if filled::is_needed(&plan.load.requests) => {
            let filled = Filled::of(plan)?;
            launch(plan, &setup, stop, observer, |part| {
                setup.pool(&part, filled.varied(part.worker, setup.workers))
            })
        }
        ClientSpec::Http1 { .. } | ClientSpec::Planned { .. } => {
            let requests = prepare(plan, Prepared::new, |name, source| PlanError::Request {
                name,
                source,
            })?;
            launch(plan, &setup, stop, observer, |part| {
                setup.pool(&part, Arc::clone(&requests))
            })
        }
        ClientSpec::Tcp { exchange, .. } => launch(plan, &setup, stop, observer, |part| {
            setup.tcp(&part, exchange)
        }),
        ClientSpec::KafkaProduce { ref produce, .. } => {
            let producing = producing::Producing::of(plan, produce)?;
            launch_fallible(plan, &setup, stop, observer, |part| {
                Ok(producing.producer(&setup, &part)?)
            })
        }
        ClientSpec::KafkaFetch { ref fetch, .. } => {
            let fetching = fetching::Fetching::of(plan, fetch)?;
            launch(plan, &setup, stop, observer, |part| {
                fetching.consumer(&setup, &part)
            })
        }
        ClientSpec::Mongodb { ref data, .. } => {
            let one = |spec: &RequestSpec| {
                Operation::of(&spec.method).ok_or_else(|| PlanError::Operation {
                    name: spec.name.clone(),
                    method: spec.method.clone(),
                })
            };
            let operations: Arc<[Operation]> = plan
                .load
                .requests
                .iter()
                .map(one)
                .collect::<Result<_, _>>()?;
            launch(plan, &setup, stop, observer, |part| {
                setup.mongodb(&part, &operations, data)
            })
        }
        ClientSpec::Connect { .. } => {
            launch(plan, &setup, stop, observer, |part| setup.connect(&part))
        }
        ClientSpec::Http2 { streams, .. } => {
            let ready = |spec: &RequestSpec, host: &str| Http2Request::new(spec, host, scheme);
            let requests = prepare(plan, ready, |name, source| PlanError::Http2Request {
                name,
                source,
            })?;
            launch(plan, &setup, stop, observer, |part| {
                setup.http2::<Http>(&part, streams, &requests)
            })
        }
        ClientSpec::Grpc { streams, calls, .. } => {
            let timeout = Duration::from_nanos(plan.load.timeout_ns);
            let ready =
                |spec: &RequestSpec, host: &str| Call::new(spec, &calls, host, scheme, timeout);
            let requests = prepare(plan, ready, |name, source| PlanError::Http2Request {
                name,
                source,
            })?;
            launch(plan, &setup, stop, observer, |part| {
                setup.http2::<Grpc>(&part, streams, &requests)
            })
        }
    }
}

/// Runs an HTTP/1.1 load with a client of the caller's over each worker's pool: to watch what passes between driver and pool.
///
/// # Errors
/// As [`run`].
pub fn run_over<C: Client + Send>(
    plan: &LoadPlan,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
    over: impl Fn(Pool) -> C,
) -> Result<Outcome, LoadError> {
    check(plan)?;
    let setup = Setup::of(plan)?;
    limits::raise_descriptors(u64::from(setup.connections))?;
    let requests = prepare(plan, Prepared::new, |name, source| PlanError::Request {
        name,
        source,
    })?;
    launch(plan, &setup, stop, observer, |part| {
        over(setup.pool(&part, Arc::clone(&requests)))
    })
}

/// Prepares all requests of a plan.
fn prepare<R, E>(
    plan: &LoadPlan,
    ready: impl Fn(&RequestSpec, &str) -> Result<R, E>,
    wrong: impl Fn(String, E) -> PlanError,
) -> Result<Arc<[R]>, PlanError> {
    let one = |spec: &RequestSpec| {
        ready(spec, &plan.endpoint.host).map_err(|source| wrong(spec.name.clone(), source))
    };
    plan.load.requests.iter().map(one).collect()
}

/// Runs the load with one client for each worker.
fn launch<C: Client + Send>(
    plan: &LoadPlan,
    setup: &Setup,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
    client: impl Fn(Part) -> C,
) -> Result<Outcome, LoadError> {
    launch_fallible(plan, setup, stop, observer, |part| Ok(client(part)))
}

/// The same with clients that cannot be made of every plan.
fn launch_fallible<C: Client + Send>(
    plan: &LoadPlan,
    setup: &Setup,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
    client: impl Fn(Part) -> Result<C, LoadError>,
) -> Result<Outcome, LoadError> {
    let control = stop.control();
    let (reports, inbox) = channel();
    let classes = Classes::default();
    let mut workers = Vec::new();
    let mut emptied = Vec::new();
    for number in 0..setup.workers {
        let (give, take) = channel();
        emptied.push(give);
        let client = client(setup.part(number))?;
        workers.push(setup.worker(number, client, &control, &classes, reports.clone(), take)?);
    }
    drop(reports);
    let ledger_plan = LedgerPlan {
        role: plan.role.clone(),
        requests: scripted::names(plan),
        horizon: Duration::from_nanos(plan.load.timeout_ns) + HORIZON_EXTRA,
    };
    let ledger = Ledger::new(ledger_plan, classes, emptied)
        .map_err(|error| LoadError::Histograms(error.to_string()))?;
    conduct(plan, setup, stop, workers, (ledger, inbox), observer)
}

/// Starts the threads and waits for them.
fn conduct<C: Client + Send>(
    plan: &LoadPlan,
    setup: &Setup,
    stop: &StopHandle,
    workers: Vec<Worker<C>>,
    (ledger, inbox): (Ledger, Receiver<FromWorker>),
    observer: &mut Observer<'_>,
) -> Result<Outcome, LoadError> {
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
                    limits::lower_priority();
                    gather(plan, stop, ledger, &inbox, count, observer)
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
        let hopeless = gathered.ends.iter().find_map(|end| end.hopeless.clone());
        if let (Some(why), true) = (
            hopeless,
            gathered.ends.iter().all(|end| end.counts.all.right == 0),
        ) {
            return Err(LoadError::NoConnection {
                address: plan.endpoint.addresses[0],
                why,
            });
        }
        result::assemble(plan, setup.window(), &start, &gathered)
    })
}

/// When a load started, on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub monotonic_ns: u64,
    pub unix_ns: u64,
}

/// The ledger's thread: waits until all are ready, fixes the start, gathers.
fn gather(
    plan: &LoadPlan,
    stop: &StopHandle,
    mut ledger: Ledger,
    inbox: &Receiver<FromWorker>,
    workers: usize,
    observer: &mut Observer<'_>,
) -> Result<(Gathered, Start), LoadError> {
    let opened = wait_open(inbox, workers, &mut ledger)?;
    if let Some(refusal) = opened.iter().find_map(|opened| opened.refusal.clone()) {
        stop.abort();
        return Err(LoadError::Refused(refusal));
    }
    let open: u32 = opened.iter().map(|opened| opened.open).sum();
    // Where connections are the exchanges, none is open before the start.
    let expects_open = !matches!(plan.load.client, ClientSpec::Connect { .. });
    if open == 0 && expects_open && !stop.is_ended() {
        stop.abort();
        let why = opened.iter().find_map(|opened| opened.problem.clone());
        return Err(LoadError::NoConnection {
            address: plan.endpoint.addresses[0],
            why: why.unwrap_or_else(|| Closed::ConnectTimeout.to_string()),
        });
    }
    let start = fix_start(plan.start_at_unix_us);
    stop.control().start_at(start.monotonic_ns);
    let mut tell = |progress| {
        if observer(progress).is_break() {
            stop.abort();
        }
    };
    tell(Progress::Ready {
        connections: open,
        start_unix_us: start.unix_ns / 1000,
    });
    let gathered = ledger
        .gather(inbox, &mut |sample| tell(Progress::Sample(sample)))
        .map_err(|error| LoadError::Histograms(error.to_string()))?;
    if gathered.ends.len() < workers {
        return Err(LoadError::Worker("it left without a report".into()));
    }
    Ok((gathered, start))
}

fn wait_open(
    inbox: &Receiver<FromWorker>,
    workers: usize,
    ledger: &mut Ledger,
) -> Result<Vec<Opened>, LoadError> {
    let mut opened = Vec::new();
    while opened.len() < workers {
        match inbox.recv() {
            Ok(FromWorker::Opened(one)) => opened.push(one),
            Ok(FromWorker::Ended(end)) => {
                // Ended by order, or by a failure, before it had its connections.
                opened.push(Opened {
                    open: 0,
                    problem: end.failure.clone(),
                    refusal: None,
                });
                ledger.ended(*end);
            }
            Ok(FromWorker::Table { .. } | FromWorker::Tick(_)) => {}
            Err(_) => return Err(LoadError::Worker("it panicked".into())),
        }
    }
    Ok(opened)
}

/// The planned start on the monotonic clock, even if it has passed: what is late is shown as lateness.
fn fix_start(start_at_unix_us: Option<u64>) -> Start {
    /// Time for the workers to hear of it.
    const NOTICE_NS: u64 = 2_000_000;
    let (now_ns, now_unix_ns) = (monotonic_ns(), realtime_ns());
    let unix_ns = match start_at_unix_us {
        Some(at_us) => at_us.saturating_mul(1000),
        None => now_unix_ns + NOTICE_NS,
    };
    let ahead_ns = i128::from(unix_ns) - i128::from(now_unix_ns);
    let at_ns = (i128::from(now_ns) + ahead_ns).clamp(1, i128::from(u64::MAX / 2));
    Start {
        monotonic_ns: at_ns as u64,
        unix_ns,
    }
}
