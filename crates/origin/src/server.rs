//! Binds an origin and runs it until stopped: one acceptor and a number of workers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use mio::net::TcpListener;
use mio::{Poll, Waker};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::acceptor::{Acceptor, ConnectionQueue, ListenerKind};
use crate::counters::{AllCounters, Counters, Totals};
use crate::delay::Rng;
use crate::error::OriginError;
use crate::mongodb::SharedDatabase;
use crate::options::{OriginOptions, ReceiveTimestamps, ServerProtocol};
use crate::service::Service;
use crate::stall::Stalls;
use crate::stop::StopHandle;
use crate::sys;
use crate::tls::{self, TlsServer};
use crate::udp::UdpEcho;
use crate::worker::{WAKER, Worker};

/// Backlog of the listener; the kernel limits it to net.core.somaxconn.
const BACKLOG: i32 = 4096;

/// An origin that listens. Connections wait in the kernel until [`Origin::run`].
#[derive(Debug)]
pub struct Origin {
    listeners: Vec<(TcpListener, ListenerKind)>,
    udp: Option<UdpEcho>,
    local_addr: SocketAddr,
    control_addr: Option<SocketAddr>,
    tls: Option<TlsServer>,
    options: OriginOptions,
}

/// Listens on the given address. Raises the process's limit of open files if the connection limit needs it, as far as permitted.
///
/// # Errors
/// An option out of range, or an address that cannot be listened on.
pub fn bind(options: OriginOptions) -> Result<Origin, OriginError> {
    options.check()?;
    allow_open_files(options.limits.connections_max as u64 + 64);
    let tls = match &options.tls {
        Some(wanted) => Some(tls::server(wanted, options.protocol)?),
        None => None,
    };
    let listen_at = |address| {
        listen(address, options.receive_timestamps)
            .map_err(|error| OriginError::Bind(address, error))
    };
    let mut listeners = Vec::new();
    let mut udp = None;
    let local_addr = if options.protocol == ServerProtocol::Udp {
        let address = options.listen;
        let bound = UdpEcho::bind(address).map_err(|error| OriginError::Bind(address, error))?;
        udp.insert(bound).local_addr
    } else {
        let (listener, local_addr) = listen_at(options.listen)?;
        listeners.push((listener, ListenerKind::Service));
        local_addr
    };
    let mut control_addr = None;
    if let Some(address) = options.control {
        let (listener, address) = listen_at(address)?;
        listeners.push((listener, ListenerKind::Control));
        control_addr = Some(address);
    }
    Ok(Origin {
        listeners,
        udp,
        local_addr,
        control_addr,
        tls,
        options,
    })
}

fn listen(
    address: SocketAddr,
    receive_timestamps: ReceiveTimestamps,
) -> io::Result<(TcpListener, SocketAddr)> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // Accepted sockets inherit both, so that a connection costs no further call, and data that arrives before it is accepted
    // has timestamps too.
    sockopt::set_tcp_nodelay(&socket, true)?;
    if receive_timestamps == ReceiveTimestamps::Kernel {
        sys::stamp_arrivals(&socket)?;
    }
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    let listener = TcpListener::from_std(std::net::TcpListener::from(socket));
    let local_addr = listener.local_addr()?;
    Ok((listener, local_addr))
}

/// Raises the limit of open files, if permitted; otherwise fewer connections are accepted.
fn allow_open_files(wanted: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < wanted) {
        let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(raised),
                maximum,
            },
        );
    }
}

impl Origin {
    /// Where it listens, with the port that was free.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The separate address of counters and control, with the port that was free.
    #[must_use]
    pub fn control_addr(&self) -> Option<SocketAddr> {
        self.control_addr
    }

    /// Serves until stopped, then finishes answers in progress within the drain limit.
    ///
    /// # Errors
    /// When a worker cannot be set up or ends early; the others are stopped then.
    pub fn run(self, stop: StopHandle) -> Result<Totals, OriginError> {
        let stalls = Arc::new(Stalls::new());
        for &stall in &self.options.stalls {
            stalls.plan(stall);
        }
        // The last two are those of the acceptor and of UDP.
        let counters = (0..self.options.workers + 2)
            .map(|_| Arc::new(Counters::default()))
            .collect();
        let all = AllCounters(counters);
        let database = SharedDatabase::new();
        let setup = |what| move |error| OriginError::Setup(what, error);
        let mut workers = Vec::with_capacity(self.options.workers);
        let mut connection_queues = Vec::with_capacity(self.options.workers);
        for index in 0..self.options.workers {
            let poll = Poll::new().map_err(setup("create an event loop"))?;
            let waker =
                Waker::new(poll.registry(), WAKER).map_err(setup("create a worker's waker"))?;
            let connection_queue = Arc::new(ConnectionQueue::new(waker));
            let service = Service {
                limits: self.options.limits,
                overrides: self.options.overrides.clone(),
                rng: Rng::new(self.options.seed, index as u64),
                counters: Arc::clone(&all.0[index]),
                all: all.clone(),
                stalls: Arc::clone(&stalls),
                database: database.clone(),
                held_bytes: 0,
                is_ending: false,
            };
            let (protocol, tls) = (self.options.protocol, self.tls.clone());
            let worker = Worker::new(
                poll,
                Arc::clone(&connection_queue),
                service,
                stop.clone(),
                protocol,
                tls,
            )
            .map_err(setup("create a worker's timer"))?;
            connection_queues.push(connection_queue);
            workers.push(worker);
        }
        let counters = Arc::clone(&all.0[self.options.workers]);
        let connections_max = self.options.limits.connections_max;
        let acceptor = Acceptor::new(
            self.listeners,
            connection_queues,
            counters,
            connections_max,
            &stop,
        )
        .map_err(setup("create the accepting event loop"))?;
        let mut jobs: Vec<(String, Job)> = Vec::with_capacity(workers.len() + 2);
        for (index, worker) in workers.into_iter().enumerate() {
            jobs.push((format!("origin-{index}"), Box::new(move || worker.run())));
        }
        jobs.push(("origin-accept".to_owned(), Box::new(move || acceptor.run())));
        if let Some(udp) = self.udp {
            let counters = Arc::clone(&all.0[self.options.workers + 1]);
            let (stop, stalls) = (stop.clone(), Arc::clone(&stalls));
            let echo = move || udp.run(&stop, &stalls, &counters);
            jobs.push(("origin-udp".to_owned(), Box::new(echo)));
        }
        run_threads(jobs, &stop)?;
        Ok(all.totals())
    }
}

/// Runs each loop in a thread of its own and joins them all; the first that fails stops the others.
fn run_threads(jobs: Vec<(String, Job)>, stop: &StopHandle) -> Result<(), OriginError> {
    let mut threads = Vec::with_capacity(jobs.len());
    let mut first_error = None;
    for (name, job) in jobs {
        let stop_others = stop.clone();
        let spawned = thread::Builder::new().name(name).spawn(move || {
            // A panic stops the others as well.
            let _guard = StopOnDrop(stop_others);
            job()
        });
        match spawned {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                stop.stop();
                first_error.get_or_insert(OriginError::Setup("start a thread", error));
            }
        }
    }
    for (worker, thread) in threads.into_iter().enumerate() {
        let error = match thread.join() {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => OriginError::Wait(worker, error),
            Err(_) => OriginError::Panicked(worker),
        };
        first_error.get_or_insert(error);
    }
    first_error.map_or(Ok(()), Err)
}

type Job = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Stops the other loops when one ends, by a stop or by a failure.
struct StopOnDrop(StopHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
