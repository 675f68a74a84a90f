//! A worker thread: its own epoll loop around an engine, with sockets, a sleeper and reports to the ledger.

mod meter;
mod phases;
mod precedence;
mod report;
mod secure;
mod sleep;
mod sockets;
mod telling;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use mio::{Poll, Token, Waker};
use tare_schema::load::Reach;

use meter::Meter;
pub use precedence::Precedence;
pub use report::{FromWorker, Opened, Tick, WorkerEnd};
pub use sleep::SpinRule;
use sleep::{EVENTS_MAX, Sleeper, Until};
use sockets::{Life, Sockets};

use crate::arrivals::NEVER;
use crate::client::{Client, Closed, Stamp, StampSource};
use crate::clock::{RealtimeOffset, monotonic_ns};
use crate::control::Control;
use crate::engine::Engine;
use crate::sys::{self, Event};
use crate::tally::Tally;
use crate::tls::TlsClient;

/// Bytes received at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// Receives in a row from one connection before others have their turn.
const RECEIVES_MAX: u32 = 16;

/// The token of the wake-up by order; no connection has so high a number.
const ORDER: u64 = u64::MAX;

/// Readable, writable, and all that says that the stream has an end.
const IN: u32 = libc::EPOLLIN as u32;
const OUT: u32 = libc::EPOLLOUT as u32;
const END: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

/// With no connection open, attempts are given up after this time: nobody is there.
const ALONE_NS: u64 = 1_000_000_000;

/// Without a single right answer, so many connections that ended for a reason that cannot go away end the load.
const FINAL_FAULTS_MAX: u32 = 5;

/// What a worker is made of.
pub struct WorkerPlan {
    /// Its number.
    pub worker: usize,
    /// Distance of two samples.
    pub sample_every_ns: u64,
    /// Limit of the drain, and of opening the connections.
    pub timeout_ns: u64,
    /// Time over which the connections are opened.
    pub open_over_ns: u64,
    /// Whether to spin before starts.
    pub spin: SpinRule,
    /// What it asks of the scheduler.
    pub precedence: Precedence,
    /// Connections it will have.
    pub connections: usize,
    /// How they speak TLS, if they do.
    pub tls: Option<TlsClient>,
    /// Which addresses they may go to.
    pub reach: Reach,
    /// Orders.
    pub(crate) control: Arc<Control>,
    /// Where reports go.
    pub reports: Sender<FromWorker>,
    /// Where emptied tables come from.
    pub emptied: Receiver<Tally>,
}

/// A worker before and while it runs.
pub struct Worker<C> {
    engine: Engine<C>,
    plan: WorkerPlan,
    poll: Poll,
    io: Io,
    sleeper: Sleeper,
    meter: Meter,
    phase: Phase,
    next_tick: u64,
    next_tick_ns: u64,
    start_ns: u64,
    tables_out: usize,
    problem: Option<Closed>,
    /// Connections that ended in a way in which all must end.
    final_faults: u32,
    hopeless: Option<Closed>,
    /// Why the load could not go on.
    broke_off: Option<String>,
}

/// What is needed to receive, apart from the engine so that both can be borrowed.
struct Io {
    sockets: Sockets,
    buffer: Box<[u8]>,
    offset: RealtimeOffset,
    bytes_received: u64,
    /// When this turn last received; 0 if it has not.
    seen_ns: u64,
    /// Connections with more to read than their turn allowed.
    again: Vec<(Life, Ending)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Opening { until_ns: u64, alone_until_ns: u64 },
    Armed,
    Running,
    Draining { until_ns: u64 },
    Over,
}

impl<C: Client> Worker<C> {
    /// Prepares a worker around an engine.
    ///
    /// # Errors
    /// When the system gives no epoll.
    pub fn new(engine: Engine<C>, mut plan: WorkerPlan) -> io::Result<Self> {
        let poll = Poll::new()?;
        plan.control
            .add(Waker::new(poll.registry(), Token(ORDER as usize))?);
        let registry = poll.registry().try_clone()?;
        let sockets = Sockets::new(registry, plan.connections, plan.tls.take(), plan.reach);
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
            meter: Meter::new(plan.worker),
            phase: Phase::Armed,
            next_tick: 0,
            next_tick_ns: NEVER,
            start_ns: NEVER,
            tables_out: 0,
            problem: None,
            final_faults: 0,
            hopeless: None,
            broke_off: None,
            plan,
            poll,
        })
    }

    /// Opens the connections, runs the load, drains, and reports.
    pub fn run(mut self) {
        // Without it the kernel rounds sleeps up by 50 µs. Refused only where timers are exact anyway (realtime classes).
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let scheduled = self.plan.precedence.take();
        let now_ns = monotonic_ns();
        self.phase = Phase::Opening {
            until_ns: now_ns
                .saturating_add(self.plan.open_over_ns)
                .saturating_add(self.plan.timeout_ns),
            alone_until_ns: now_ns.saturating_add(ALONE_NS),
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
        self.leave(failure, scheduled);
    }

    fn turn(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let now_ns = self.now_ns();
        // Before anything of the window is sent: what is read at its start must not contain it.
        self.follow_phase(now_ns);
        self.engine.advance(now_ns, &mut self.io.sockets);
        self.tell_failures();
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
        if self.phase == Phase::Over {
            return Ok(());
        }
        let until = if self.io.again.is_empty() {
            Until {
                start_ns: self.engine.next_start_ns(),
                other_ns: self.next_other_ns(),
            }
        } else {
            Until {
                start_ns: 0,
                other_ns: 0,
            }
        };
        self.sleeper
            .wait(sys::epoll_of(&self.poll), now_ns, until, events)?;
        for event in events.iter() {
            let (flags, data) = (event.events, event.u64);
            if data != ORDER {
                self.handle(Life::from_data(data), flags);
            }
        }
        let again = self.io.again.len();
        for at in 0..again {
            let (life, ending) = self.io.again[at];
            self.read(life, ending);
        }
        self.io.again.drain(..again);
        Ok(())
    }

    /// The time, for what is due now. While no start is known (a closed loop that waits for answers), the time of the last
    /// receive of the turn before serves: it is a few microseconds old, and a clock reading for each turn is saved.
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
                alone_until_ns,
            } => until_ns.min(alone_until_ns),
            Phase::Armed | Phase::Over => NEVER,
            Phase::Running => self.meter.next_mark_ns(),
            Phase::Draining { until_ns } => until_ns.min(self.meter.next_mark_ns()),
        };
        phase_ns
            .min(self.next_tick_ns)
            .min(self.engine.next_timer_ns())
    }

    fn tell_failures(&mut self) {
        while let Some((life, why)) = self.io.sockets.take_failed() {
            self.ended(life, why);
        }
    }

    fn ended(&mut self, life: Life, why: Closed) {
        // An attempt that failed before it had a socket has none to forget, and is told all the same.
        if self.io.sockets.forget(life) {
            self.problem = Some(why);
            self.despair(why);
            self.engine.closed(life.conn, why, &mut self.io.sockets);
        }
    }

    #[inline]
    fn handle(&mut self, life: Life, flags: u32) {
        let Some(socket) = self.io.sockets.live(life) else {
            return;
        };
        if socket.connecting {
            // A handshake takes as long as dozens of answers: what is due goes first.
            self.engine.advance(monotonic_ns(), &mut self.io.sockets);
            match self.io.sockets.settle(life) {
                None => return,
                Some(Err(why)) => return self.ended(life, why),
                Some(Ok(())) if self.io.sockets.tls.is_some() => {
                    if let Err(why) = self.io.sockets.shake(life) {
                        return self.ended(life, why);
                    }
                }
                Some(Ok(())) => {
                    if let Some(opening) = self.io.sockets.opening(life, None) {
                        self.engine
                            .connected(life.conn, &opening, &mut self.io.sockets);
                    }
                }
            }
        } else if flags & OUT != 0 && socket.wants_out() {
            self.flush(life);
            if self.io.sockets.take_room(life) {
                self.engine.room(life.conn, &mut self.io.sockets);
            }
        }
        if flags & (IN | END) != 0 {
            let ending = if flags & END != 0 {
                Ending::Certain
            } else {
                Ending::Maybe
            };
            self.read(life, ending);
        }
    }

    #[cold]
    fn flush(&mut self, life: Life) {
        if let Some(at_ns) = self.io.sockets.flush(life) {
            self.engine.wrote(life.conn, at_ns, &mut self.io.sockets);
        }
    }

    /// Receives until nothing is left. Registered edge-triggered: what is left unread would not be told again. A short read
    /// has emptied the socket, so the ordinary answer costs one call; an end that is certain is read to.
    #[inline]
    fn read(&mut self, life: Life, ending: Ending) {
        if self.io.sockets.tls.is_some() {
            return self.read_sealed(life, ending);
        }
        for _ in 0..RECEIVES_MAX {
            let io = &mut self.io;
            let Some((received, written_ns)) = io.sockets.receive(life, &mut io.buffer) else {
                return;
            };
            let received = match received {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.ended(life, Closed::from_io(&error)),
            };
            if received.bytes == 0 {
                return self.ended(life, Closed::Eof);
            }
            let stamp = io.stamp(&received, written_ns);
            io.bytes_received += received.bytes as u64;
            self.engine.bytes(
                life.conn,
                &io.buffer[..received.bytes],
                stamp,
                &mut io.sockets,
            );
            if received.bytes < BUFFER_BYTES && ending == Ending::Maybe {
                return;
            }
        }
        self.io.again.push((life, ending));
    }
}

/// Whether the end of the stream is known to be behind what is read.
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
