//! Runs a [`LoadPlan`] in this process: starts the workers, aggregates their reports, and returns the result.
//!
//! Only here pacing, stop, client and transport of a plan are combined.

mod check;
mod compiled_templates;
mod fetching;
mod figures;
mod limits;
mod pacing;
mod producing;
mod result;
mod scripted;
mod setup;
mod start_timing;

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
use compiled_templates::CompiledTemplates;
pub use figures::{Tag, spread};
use scripted::Session;
pub use scripted::rehearse_plan;
use setup::{Setup, WorkerShare};

use crate::aggregator::{AggregatedLoad, Aggregator, AggregatorPlan};
use crate::classes::Classes;
use crate::client::{Client, Closed};
use crate::clock::{monotonic_ns, realtime_ns};
use crate::control::StopHandle;
use crate::grpc::{Call, Grpc};
use crate::http1::pool::Pool;
use crate::http1::request::Prepared;
use crate::http2::dialect::Http;
use crate::http2::request::{Prepared as Http2Request, Scheme};
use crate::mongodb::Operation;
use crate::session::Sessions;
use crate::tls::TlsError;
use crate::worker::{ConnectionsOpened, Worker, WorkerMessage};

/// Most arrivals in flight or waiting in one worker, whatever rate × timeout is: 24 MB.
const WAITING_MAX: usize = 1 << 20;

/// Time beyond the timeout for which seconds accept late responses.
const HORIZON_EXTRA: Duration = Duration::from_secs(2);

/// Progress of a load.
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

/// Receives the progress; its result decides whether the load continues.
pub type Observer<'a> = dyn FnMut(Progress) -> ControlFlow<()> + Send + 'a;

/// Result of a load, with its histograms.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// As in a record.
    pub result: LoadResult,
    /// Histograms over the whole window, by tag.
    pub totals: BTreeMap<String, Latencies>,
}

/// Why a load could not be run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No connection could be opened.
    #[error("no connection to {address}: {why}")]
    NoConnection {
        /// The first address.
        address: std::net::SocketAddr,
        /// Error of the last attempt.
        why: String,
    },
    /// The server was reached, but the load is not possible with it.
    #[error("{0}")]
    Refused(String),
    /// The TLS settings of the plan cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Too few file descriptors.
    #[error(
        "{needed} connections need {needed_descriptors} file descriptors, but only {allowed} are allowed: use fewer connections, or raise the hard limit (ulimit -Hn)"
    )]
    Descriptors {
        /// Connections.
        needed: u64,
        /// Descriptors for them and for everything else.
        needed_descriptors: u64,
        /// The hard limit.
        allowed: u64,
    },
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What should have been done.
        what: &'static str,
        /// The error.
        source: std::io::Error,
    },
    /// A worker failed.
    #[error("a worker thread failed: {0}; this is an error of tare, please report it")]
    Worker(String),
    /// The histograms could not be encoded.
    #[error("the histograms cannot be written: {0}")]
    Histograms(String),
}

/// Runs a load to its end.
///
/// # Errors
/// When the plan is invalid, or the load could not be run at all. A load with errors is a result.
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
        ClientSpec::Http1 { .. } if compiled_templates::is_needed(&plan.load.requests) => {
            let compiled_templates = CompiledTemplates::of(plan)?;
            launch(plan, &setup, stop, observer, |part| {
                setup.pool(&part, compiled_templates.varied(part.worker, setup.workers))
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

/// Runs an HTTP/1.1 load with a client around each worker's pool, to watch what passes between driver and pool.
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
    client: impl Fn(WorkerShare) -> C,
) -> Result<Outcome, LoadError> {
    launch_fallible(plan, setup, stop, observer, |part| Ok(client(part)))
}

/// The same with clients whose construction can fail.
fn launch_fallible<C: Client + Send>(
    plan: &LoadPlan,
    setup: &Setup,
    stop: &StopHandle,
    observer: &mut Observer<'_>,
    client: impl Fn(WorkerShare) -> Result<C, LoadError>,
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
    let aggregator_plan = AggregatorPlan {
        role: plan.role.clone(),
        requests: scripted::names(plan),
        horizon: Duration::from_nanos(plan.load.timeout_ns) + HORIZON_EXTRA,
    };
    let aggregator = Aggregator::new(aggregator_plan, classes, emptied)
        .map_err(|error| LoadError::Histograms(error.to_string()))?;
    run_threads(plan, setup, stop, workers, (aggregator, inbox), observer)
}

/// Starts the threads and waits for them.
fn run_threads<C: Client + Send>(
    plan: &LoadPlan,
    setup: &Setup,
    stop: &StopHandle,
    workers: Vec<Worker<C>>,
    (aggregator, inbox): (Aggregator, Receiver<WorkerMessage>),
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
                    aggregate(plan, stop, aggregator, &inbox, count, observer)
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
            gathered.ends.iter().all(|end| end.counts.all.ok == 0),
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

/// The aggregator's thread: waits until all workers are ready, fixes the start, aggregates.
fn aggregate(
    plan: &LoadPlan,
    stop: &StopHandle,
    mut aggregator: Aggregator,
    inbox: &Receiver<WorkerMessage>,
    workers: usize,
    observer: &mut Observer<'_>,
) -> Result<(AggregatedLoad, Start), LoadError> {
    let opened = wait_open(inbox, workers, &mut aggregator)?;
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
    let gathered = aggregator
        .aggregate(inbox, &mut |sample| tell(Progress::Sample(sample)))
        .map_err(|error| LoadError::Histograms(error.to_string()))?;
    if gathered.ends.len() < workers {
        return Err(LoadError::Worker("it left without a report".into()));
    }
    Ok((gathered, start))
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
fn fix_start(start_at_unix_us: Option<u64>) -> Start {
    /// Time for the workers to be woken.
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
