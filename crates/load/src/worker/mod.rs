//! A worker thread: an epoll loop around an engine, with sockets, a sleeper and reports to the aggregator.

mod meter;
mod permanent;
mod phases;
mod reporting;
mod sleep;
mod sockets;
mod tls_state;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use mio::{Poll, Token, Waker};

#[cfg(test)]
pub use meter::Usage;
use meter::UsageMeter;
use permanent::PermanentErrors;
pub use reporting::{ConnectionsOpened, Tick, WorkerEnd, WorkerMessage};
use sleep::{EVENTS_MAX, Sleeper, WakeTimes};
pub use sleep::{SchedulingPolicy, SpinRule};
pub use sockets::ConnectOptions;
use sockets::{SocketKey, Sockets};

use crate::arrivals::NEVER;
use crate::client::{Client, Closed, Stamp, StampSource};
use crate::clock::{RealtimeOffset, monotonic_ns};
use crate::control::Control;
use crate::engine::Engine;
use crate::protocols::SocketKind;
use crate::sys::{self, Event};
use crate::tally::HistogramTable;
use crate::tls::TlsClient;

/// Size of the receive buffer.
const BUFFER_BYTES: usize = 64 * 1024;

/// Receives in a row from one connection before others are served.
const RECEIVES_MAX: u32 = 16;

/// Token of the control waker; no connection has so high a number.
const ORDER: u64 = u64::MAX;

/// epoll flags: readable, writable, end of stream or error.
const IN: u32 = libc::EPOLLIN as u32;
const OUT: u32 = libc::EPOLLOUT as u32;
const END: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

/// Opening is given up after this time if no connection is open and attempts have failed.
const NO_CONNECTION_TIMEOUT_NS: u64 = 1_000_000_000;

/// Configuration of a worker.
pub struct WorkerPlan {
    /// Index of the worker.
    pub worker: usize,
    /// Interval of samples.
    pub sample_every_ns: u64,
    /// Timeout of the drain, and of opening the connections.
    pub timeout_ns: u64,
    /// Time over which the connections are opened.
    pub open_over_ns: u64,
    /// Whether to spin before starts.
    pub spin: SpinRule,
    pub scheduling: SchedulingPolicy,
    pub connections: usize,
    /// Sockets of its connections.
    pub(crate) sockets: SocketKind,
    /// TLS, if it is used.
    pub tls: Option<TlsClient>,
    /// Where its connections lead.
    pub dial: ConnectOptions,
    /// Start, end and abort.
    pub(crate) control: Arc<Control>,
    /// Channel for messages to the aggregator.
    pub reports: Sender<WorkerMessage>,
    /// Channel for emptied tables.
    pub emptied: Receiver<HistogramTable>,
}

/// A worker, before and while it runs.
pub struct Worker<C> {
    engine: Engine<C>,
    plan: WorkerPlan,
    poll: Poll,
    io: Io,
    sleeper: Sleeper,
    meter: UsageMeter,
    phase: Phase,
    next_tick: u64,
    next_tick_ns: u64,
    start_ns: u64,
    tables_out: usize,
    problem: Option<Closed>,
    permanent_errors: PermanentErrors,
    permanent_failure: Option<Closed>,
    /// Why the load was aborted.
    abort_reason: Option<String>,
    /// Whether its schedule came to its end.
    is_complete: bool,
}

/// What receiving needs, apart from the engine so that both can be borrowed.
struct Io {
    sockets: Sockets,
    buffer: Box<[u8]>,
    offset: RealtimeOffset,
    bytes_received: u64,
    /// Last receive of this turn; 0 for none.
    seen_ns: u64,
    /// Connections with more to read than one turn allows.
    again: Vec<(SocketKey, Ending)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Opening {
        until_ns: u64,
        no_connection_until_ns: u64,
    },
    Armed,
    Running,
    Draining {
        until_ns: u64,
    },
    Over,
}

impl<C: Client> Worker<C> {
    /// A worker around an engine.
    ///
    /// # Errors
    /// When no epoll can be made.
    pub fn new(engine: Engine<C>, mut plan: WorkerPlan) -> io::Result<Self> {
        let poll = Poll::new()?;
        plan.control
            .add(Waker::new(poll.registry(), Token(ORDER as usize))?);
        let registry = poll.registry().try_clone()?;
        let (kind, tls) = (plan.sockets, plan.tls.take());
        let sockets = Sockets::new(registry, kind, plan.connections, tls, plan.dial.clone());
        Ok(Self {
            engine,
            io: Io {
                sockets,
                buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
                offset: RealtimeOffset::measure(),
                bytes_received: 0,
                seen_ns: 0,
                again: Vec::with_capacity(EVENTS_MAX),
            },
            sleeper: Sleeper::new(plan.spin),
            meter: UsageMeter::new(plan.worker),
            phase: Phase::Armed,
            next_tick: 0,
            next_tick_ns: NEVER,
            start_ns: NEVER,
            tables_out: 0,
            problem: None,
            permanent_errors: PermanentErrors::default(),
            permanent_failure: None,
            abort_reason: None,
            is_complete: false,
            plan,
            poll,
        })
    }

    /// Opens the connections, runs the load, drains, and reports.
    pub fn run(mut self) {
        // The default timer slack lets the kernel add 50 µs to sleeps. Refused only in real-time classes, where timers are exact
        // anyway.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let sched_policy = self.plan.scheduling.take();
        let now_ns = monotonic_ns();
        self.phase = Phase::Opening {
            until_ns: now_ns
                .saturating_add(self.plan.open_over_ns)
                .saturating_add(self.plan.timeout_ns),
            no_connection_until_ns: now_ns.saturating_add(NO_CONNECTION_TIMEOUT_NS),
        };
        self.engine.open(&mut self.io.sockets);
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut failure = None;
        while self.phase != Phase::Over {
            if let Err(error) = self.turn(&mut events) {
                failure = Some(format!("waiting for events failed: {error}"));
                break;
            }
        }
        self.finish(failure, sched_policy);
    }

    fn turn(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let now_ns = self.now_ns();
        // Before anything of the window is sent: the first reading must not contain it.
        self.advance_phase(now_ns);
        self.engine.advance(now_ns, &mut self.io.sockets);
        self.report_failures();
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
        if self.phase == Phase::Over {
            return Ok(());
        }
        let until = if self.io.again.is_empty() {
            WakeTimes {
                start_ns: self.engine.next_start_ns(),
                other_ns: self.next_other_ns(),
            }
        } else {
            WakeTimes {
                start_ns: 0,
                other_ns: 0,
            }
        };
        self.sleeper
            .wait(sys::epoll_of(&self.poll), now_ns, until, events)?;
        for event in events.iter() {
            let (flags, data) = (event.events, event.u64);
            if data != ORDER {
                self.handle(SocketKey::from_data(data), flags);
            }
        }
        let again = self.io.again.len();
        for at in 0..again {
            let (key, ending) = self.io.again[at];
            self.read(key, ending);
        }
        self.io.again.drain(..again);
        Ok(())
    }

    /// Current time. While no start is known (a closed loop waiting for responses), the last receive of the previous turn serves:
    /// it is a few microseconds old, and saves a clock reading per turn.
    #[inline]
    fn now_ns(&mut self) -> u64 {
        match std::mem::take(&mut self.io.seen_ns) {
            seen_ns if seen_ns != 0 && self.engine.next_start_ns() == NEVER => seen_ns,
            _ => monotonic_ns(),
        }
    }

    fn next_other_ns(&self) -> u64 {
        let phase_ns = match self.phase {
            Phase::Opening {
                until_ns,
                no_connection_until_ns,
            } => until_ns.min(no_connection_until_ns),
            Phase::Armed | Phase::Over => NEVER,
            Phase::Running => self.meter.next_reading_ns(),
            Phase::Draining { until_ns } => until_ns.min(self.meter.next_reading_ns()),
        };
        phase_ns
            .min(self.next_tick_ns)
            .min(self.engine.next_timer_ns())
    }

    fn report_failures(&mut self) {
        while let Some((key, why)) = self.io.sockets.take_failed() {
            self.ended(key, why);
        }
    }

    fn ended(&mut self, key: SocketKey, why: Closed) {
        // An attempt that failed without a socket is reported, too.
        if self.io.sockets.remove(key) {
            self.problem = Some(why);
            self.abort_if_permanent(why);
            self.engine.on_closed(key.conn, why, &mut self.io.sockets);
        }
    }

    #[inline]
    fn handle(&mut self, key: SocketKey, flags: u32) {
        let Some(socket) = self.io.sockets.live(key) else {
            return;
        };
        if socket.connecting {
            // A handshake takes as long as dozens of responses: what is due goes first.
            self.engine.advance(monotonic_ns(), &mut self.io.sockets);
            let connected = self.io.sockets.finish_connect(key);
            if let Some(Ok(())) = connected {
                self.plan.control.set_reached();
            }
            match connected {
                None => return,
                Some(Err(why)) => return self.ended(key, why),
                Some(Ok(())) if self.io.sockets.tls.is_some() => {
                    if let Err(why) = self.io.sockets.start_handshake(key) {
                        return self.ended(key, why);
                    }
                }
                Some(Ok(())) => {
                    if let Some(opening) = self.io.sockets.opening(key, None) {
                        self.engine
                            .on_connected(key.conn, &opening, &mut self.io.sockets);
                    }
                }
            }
        } else if flags & OUT != 0 && socket.awaits_writable() {
            self.flush(key);
            if self.io.sockets.take_writable(key) {
                self.engine.on_writable(key.conn, &mut self.io.sockets);
            }
        }
        if flags & (IN | END) != 0 {
            let ending = if flags & END != 0 {
                Ending::Certain
            } else {
                Ending::Maybe
            };
            self.read(key, ending);
        }
    }

    #[cold]
    fn flush(&mut self, key: SocketKey) {
        if let Some(at_ns) = self.io.sockets.flush(key) {
            self.engine
                .on_write_started(key.conn, at_ns, &mut self.io.sockets);
        }
    }

    /// Receives until nothing is left: with edge-triggered epoll no further event would report it. A short read has emptied a TCP
    /// socket, so an ordinary response costs one call; a certain end of stream is read to. A read of UDP is one datagram.
    #[inline]
    fn read(&mut self, key: SocketKey, ending: Ending) {
        if self.io.sockets.tls.is_some() {
            return self.read_tls(key, ending);
        }
        let is_stream = self.io.sockets.kind == SocketKind::Stream;
        for _ in 0..RECEIVES_MAX {
            let io = &mut self.io;
            let Some((received, written_ns)) = io.sockets.receive(key, &mut io.buffer) else {
                return;
            };
            let received = match received {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.ended(key, Closed::from_io(&error)),
            };
            if received.bytes == 0 && is_stream {
                return self.ended(key, Closed::Eof);
            }
            let stamp = io.stamp(&received, written_ns);
            io.bytes_received += received.bytes as u64;
            self.engine.on_bytes(
                key.conn,
                &io.buffer[..received.bytes],
                stamp,
                &mut io.sockets,
            );
            if received.bytes < BUFFER_BYTES && ending == Ending::Maybe && is_stream {
                return;
            }
        }
        self.io.again.push((key, ending));
    }
}

/// Whether the end of the stream is known to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Certain,
    Maybe,
}

impl Io {
    #[inline]
    fn stamp(&mut self, received: &sys::Received, written_ns: u64) -> Stamp {
        let seen_ns = monotonic_ns();
        self.seen_ns = seen_ns;
        let arrived = received
            .stamp_realtime_ns
            .and_then(|stamp_ns| self.offset.convert(stamp_ns, written_ns, seen_ns));
        match arrived {
            Some(arrived_ns) => Stamp {
                arrived_ns,
                seen_ns,
                source: StampSource::Kernel,
            },
            None => Stamp {
                arrived_ns: seen_ns,
                seen_ns,
                source: StampSource::Own,
            },
        }
    }
}
