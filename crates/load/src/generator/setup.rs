//! Distributes a plan over workers: connections, schedule and client of each.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use tare_record::load::{
    LoadPlan, LoadSpec, Order, Pacing, PathList, Stop, ThinkDistribution, Transport,
};
use tare_stats::random::Random;

use super::scripted::SESSIONS_MAX;
use super::start_timing::StartTiming;
use super::{LoadError, PlanError, WAITING_MAX};
use crate::arrivals::{ArrivalSchedule, Arrivals, ClosedLoop, OpenLoop, SharedCount};
use crate::classes::{ClassNumbers, Classes};
use crate::client::Client;
use crate::connection_pool::{OpenSchedule, PoolConfig};
use crate::control::Control;
use crate::engine::{Engine, ExchangeRecorder, RequestSelector, SessionWindow};
use crate::paths::PathIndex;
use crate::protocols::{Protocol, SocketKind};
use crate::tally::HistogramTable;
use crate::tls::TlsClient;
use crate::worker::{ConnectOptions, Worker, WorkerMessage, WorkerPlan};

/// A plan, prepared for the workers.
pub struct Setup {
    pub(crate) load: LoadSpec,
    pub seed: u64,
    pub workers: u32,
    pub(crate) connections: u32,
    pub addresses: Arc<[std::net::SocketAddr]>,
    dial: ConnectOptions,
    pub(crate) start_timing: StartTiming,
    shared: Arc<SharedCount>,
    tls: Option<TlsClient>,
    sockets: SocketKind,
    /// Schedule of an open loop; `None` for a closed one.
    schedule: Option<ArrivalSchedule>,
    /// Its most starts, over all workers: every one of them may wait.
    starts_max: Option<u64>,
    /// The list of paths, if the requests are from one.
    pub(crate) paths: Option<PathIndex>,
}

/// The connections of one worker.
#[derive(Debug, Clone, Copy)]
pub struct WorkerShare {
    pub worker: u32,
    /// Index of its first connection in the whole load.
    pub first: usize,
    pub connections: usize,
}

impl Setup {
    pub(crate) fn of(plan: &LoadPlan, protocol: &Protocol) -> Result<Self, LoadError> {
        let connections = plan.load.client.connections;
        // A worker without a connection or a client would be idle.
        let mut workers = plan.load.workers.min(connections);
        if let Pacing::Closed { clients, .. } = plan.load.pacing {
            workers = workers.min(clients);
        }
        let schedule = ArrivalSchedule::of_load(&plan.load, plan.seed).map_err(PlanError::from)?;
        let starts_max = schedule
            .as_ref()
            .map(|schedule| starts_max(schedule, &plan.load));
        let exchanges = match plan.load.stop {
            Stop::Count { exchanges } => exchanges,
            Stop::Duration { .. } | Stop::Interrupted => 0,
        };
        Ok(Self {
            load: plan.load.clone(),
            seed: plan.seed,
            workers,
            connections,
            addresses: plan.endpoint.addresses.clone().into(),
            dial: ConnectOptions {
                reach: plan.allowed_addresses,
                unix_socket: plan.load.connections.unix_socket.as_deref().map(Arc::from),
                proxy_protocol: plan.load.connections.proxy_protocol,
            },
            start_timing: StartTiming::of(plan, protocol, schedule.as_ref(), workers),
            shared: SharedCount::new(exchanges, workers),
            tls: match &plan.load.transport {
                Transport::Tcp => None,
                Transport::Tls(spec) => {
                    Some(TlsClient::new(spec, &plan.endpoint.host, protocol.alpn)?)
                }
            },
            sockets: protocol.sockets,
            schedule,
            starts_max,
            paths: match &plan.load.mix.paths {
                Some(list) => Some(open_paths(list, plan.load.requests.len())?),
                None => None,
            },
        })
    }

    /// The window as planned, from the start of the load.
    pub(crate) fn window(&self) -> Arrivals {
        self.arrivals(0, 1)
    }

    fn arrivals(&self, worker: u32, capacity: usize) -> Arrivals {
        let LoadSpec {
            warmup_ns, stop, ..
        } = self.load;
        let (clients, think_time_ns, spread) = match (&self.schedule, &self.load.pacing) {
            (Some(schedule), _) => {
                let open_loop =
                    OpenLoop::new(schedule.clone(), warmup_ns, stop, worker, self.workers);
                return Arrivals::OpenLoop(open_loop);
            }
            (
                None,
                &Pacing::Closed {
                    clients,
                    think_time_ns,
                    think_distribution,
                },
            ) => {
                let clients = share(clients, self.workers, worker) as usize;
                (clients, think_time_ns, think_distribution)
            }
            (None, _) => (capacity, 0, ThinkDistribution::None),
        };
        let closed_loop = ClosedLoop::new(clients, think_time_ns, warmup_ns, stop, &self.shared);
        Arrivals::ClosedLoop(match spread {
            ThinkDistribution::None => closed_loop,
            ThinkDistribution::Uniform | ThinkDistribution::Exponential => {
                let purpose = format!("pauses of worker {worker}");
                closed_loop.drawing(spread, Random::for_purpose(self.seed, &purpose))
            }
        })
    }

    /// Most sessions in flight in one worker. At a fixed rate it is the maximum: their length is not known.
    pub(crate) fn sessions_max(&self, worker: u32, capacity: usize) -> usize {
        match self.load.pacing {
            Pacing::Closed { .. } | Pacing::Max => self.exchanges_max(worker, capacity),
            _ => SESSIONS_MAX,
        }
    }

    /// Most releases of one worker's schedule that may be in flight.
    fn released_max(&self, worker: u32, capacity: usize) -> usize {
        match self.load.mix.session {
            Some(_) => self.sessions_max(worker, capacity),
            None => self.exchanges_max(worker, capacity),
        }
    }

    /// Most released exchanges of one worker: what can be in flight, and what may wait.
    #[must_use]
    pub fn exchanges_max(&self, worker: u32, capacity: usize) -> usize {
        if let Some(starts_max) = self.starts_max {
            return capacity + waiting_max(starts_max, self.workers);
        }
        match self.load.pacing {
            Pacing::Closed { clients, .. } => share(clients, self.workers, worker) as usize,
            _ => capacity,
        }
    }

    pub(crate) fn part(&self, worker: u32) -> WorkerShare {
        let before: u32 = (0..worker)
            .map(|worker| share(self.connections, self.workers, worker))
            .sum();
        WorkerShare {
            worker,
            first: before as usize,
            connections: share(self.connections, self.workers, worker) as usize,
        }
    }

    pub(crate) fn worker<C: Client>(
        &self,
        number: u32,
        client: C,
        control: &Arc<Control>,
        classes: &Classes,
        reports: Sender<WorkerMessage>,
        emptied: Receiver<HistogramTable>,
    ) -> Result<Worker<C>, LoadError> {
        let exchanges_max = self.released_max(number, client.capacity());
        let arrivals = self.arrivals(number, client.capacity());
        let weights: Vec<f64> = self
            .load
            .requests
            .iter()
            .map(|request| request.weight)
            .collect();
        let random = Random::for_purpose(self.seed, &format!("requests of worker {number}"));
        let turn = (number, self.workers);
        let request_selector = match (&self.paths, self.load.mix.order) {
            (Some(paths), _) => RequestSelector::listed(paths.reader(), turn),
            (None, Order::Weighted) => RequestSelector::new(&weights, random),
            (None, Order::RoundRobin) => RequestSelector::in_turn(weights.len(), turn),
        };
        let mut recorder = ExchangeRecorder::new(
            arrivals,
            request_selector,
            ClassNumbers::of(classes),
            exchanges_max,
        );
        recorder = recorder.with_timeout(self.load.timeout_ns);
        if let Some(after_ns) = self.start_timing.bunched_after_ns {
            recorder = recorder.counting_bunched(after_ns);
        }
        if self.load.mix.session.is_some() {
            recorder = recorder.for_sessions(match self.load.stop {
                Stop::Count { .. } => SessionWindow::Counted,
                Stop::Duration { .. } | Stop::Interrupted => SessionWindow::Timed,
            });
        }
        let plan = WorkerPlan {
            worker: number as usize,
            sample_every_ns: self.load.sample_every_ns,
            timeout_ns: self.load.timeout_ns,
            open_over_ns: self.load.connections.open_over_ns,
            spin: self.start_timing.spin,
            scheduling: self.start_timing.scheduling,
            connections: self.part(number).connections,
            sockets: self.sockets,
            tls: self.tls.as_ref().map(TlsClient::for_worker),
            dial: self.dial.clone(),
            control: Arc::clone(control),
            reports,
            emptied,
        };
        Worker::new(Engine::new(client, recorder), plan).map_err(|source| LoadError::System {
            what: "make an epoll",
            source,
        })
    }

    /// Connections of a worker's pool, for clients that can have this many exchanges in flight.
    pub(crate) fn pooled(&self, part: &WorkerShare, capacity: usize) -> PoolConfig {
        let waiting_max = self.exchanges_max(part.worker, capacity);
        self.connections_of(part, waiting_max)
    }

    /// The same for clients that make sessions or single exchanges.
    pub(crate) fn pooled_sessions(&self, part: &WorkerShare) -> PoolConfig {
        let waiting_max = self.released_max(part.worker, part.connections);
        self.connections_of(part, waiting_max)
    }

    fn connections_of(&self, part: &WorkerShare, waiting_max: usize) -> PoolConfig {
        let rules = &self.load.connections;
        PoolConfig {
            addresses: Arc::clone(&self.addresses),
            first: part.first,
            count: part.connections,
            exchanges_max: rules.exchanges_max.unwrap_or(u64::MAX),
            opening: OpenSchedule::spread(
                Duration::from_nanos(rules.open_over_ns),
                part.first,
                part.connections,
                self.connections as usize,
            ),
            timeout_ns: self.load.timeout_ns,
            waiting_max,
        }
    }
}

fn open_paths(list: &PathList, routes: usize) -> Result<PathIndex, PlanError> {
    PathIndex::open(list, routes).map_err(|error| {
        let PathList { name, file, .. } = list;
        let file = file.display();
        PlanError::Invalid(format!(
            "the paths of {name} cannot be read from {file}: {error}"
        ))
    })
}

/// Share `part` of `parts` when `all` are distributed evenly.
fn share(all: u32, parts: u32, part: u32) -> u32 {
    all / parts + u32::from(part < all % parts)
}

/// Most starts of a schedule, of all workers.
fn starts_max(schedule: &ArrivalSchedule, load: &LoadSpec) -> u64 {
    let within_ns = |ns: u64| schedule.peak_arrivals(ns);
    match load.stop {
        Stop::Duration { window_ns } => within_ns(load.warmup_ns.saturating_add(window_ns)),
        Stop::Count { exchanges } => within_ns(load.warmup_ns).saturating_add(exchanges),
        Stop::Interrupted => u64::MAX,
    }
}

/// Most exchanges of one worker that may wait for a connection: its share of all starts, up to a limit of memory. How long they
/// wait, and whether the target ever comes to them, is what is measured.
fn waiting_max(starts_max: u64, workers: u32) -> usize {
    let waiting = starts_max.div_ceil(u64::from(workers));
    usize::try_from(waiting).map_or(WAITING_MAX, |n| n.clamp(1, WAITING_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_exchanges_wait_than_the_limit_whatever_the_rate() {
        assert_eq!(waiting_max(0, 2), 1);
        assert_eq!(waiting_max(2001, 2), 1001);
        assert_eq!(waiting_max(u64::MAX, 1), WAITING_MAX);
    }

    #[test]
    fn all_starts_of_a_load_may_wait_whatever_its_timeout() {
        let schedule = ArrivalSchedule::even(400.0);
        let mut load = LoadSpec {
            timeout_ns: 200_000_000,
            stop: Stop::Duration {
                window_ns: 20_000_000_000,
            },
            ..LoadSpec::new(crate::protocols::http1::client(16))
        };
        assert_eq!(starts_max(&schedule, &load), 8000);
        load.stop = Stop::Count { exchanges: 77 };
        assert_eq!(starts_max(&schedule, &load), 77);
        load.stop = Stop::Interrupted;
        assert_eq!(starts_max(&schedule, &load), u64::MAX);
    }
}
