//! One event loop: its connections, their wake-ups, the stop.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::acceptor::{ConnectionQueue, ListenerKind};
use crate::any_protocol::AnyProtocol;
use crate::connection::{Connection, Scratch, Turn};
use crate::options::ServerProtocol;
use crate::service::Service;
use crate::stop::StopHandle;
use crate::timers::{self, Timers, Wake, nanos};
use crate::tls::{self, Tls, TlsServer};
use crate::transport::{Channel, ReceiveBuffers};

pub(crate) const WAKER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);
const TIMER: Token = Token(usize::MAX - 2);

/// The slot of wake-ups that check for idle connections.
const IDLE_SLOT: usize = usize::MAX - 3;

const EVENTS_PER_TURN: usize = 1024;
const INPUT_BYTES: usize = 64 * 1024;

/// A worker, for connections of every transport and protocol.
pub(crate) struct Worker {
    poll: Poll,
    connection_queue: Arc<ConnectionQueue>,
    service: Service,
    stop: StopHandle,
    timers: Timers,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    again: Vec<usize>,
    scratch: Scratch,
    protocol: ServerProtocol,
    tls: Option<TlsServer>,
}

impl Worker {
    pub(crate) fn new(
        poll: Poll,
        connection_queue: Arc<ConnectionQueue>,
        service: Service,
        stop: StopHandle,
        protocol: ServerProtocol,
        tls: Option<TlsServer>,
    ) -> io::Result<Self> {
        let timers = Timers::new()?;
        let registry = poll.registry();
        registry.register(&mut SourceFd(&timers.raw_fd()), TIMER, Interest::READABLE)?;
        registry.register(&mut SourceFd(&stop.raw_fd()), STOP, Interest::READABLE)?;
        Ok(Self {
            poll,
            connection_queue,
            service,
            stop,
            timers,
            connections: Vec::new(),
            free: Vec::new(),
            again: Vec::new(),
            scratch: Scratch {
                buffers: ReceiveBuffers {
                    input: vec![0; INPUT_BYTES],
                    cipher: vec![0; if tls.is_some() { tls::CIPHER_BYTES } else { 0 }],
                },
                out: Vec::with_capacity(INPUT_BYTES),
            },
            protocol,
            tls,
        })
    }

    /// Serves until stopped and drained.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        let mut end_ns = u64::MAX;
        self.wake_for_idle(timers::monotonic_ns());
        loop {
            self.timers.arm(timers::monotonic_ns())?;
            match self.poll.poll(&mut events, self.poll_timeout(end_ns)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            let mut now_ns = timers::monotonic_ns();
            if !self.service.is_ending {
                now_ns = self.service.stalls.wait_out(now_ns, &self.stop);
            }
            self.take_again(now_ns);
            for event in &events {
                match event.token() {
                    WAKER => self.take_in(now_ns),
                    STOP => {
                        end_ns = now_ns.saturating_add(nanos(self.service.limits.drain_max));
                        self.service.is_ending = true;
                    }
                    TIMER => now_ns = timers::monotonic_ns(),
                    Token(slot) => self.signalled(slot, event, now_ns),
                }
            }
            self.wake_due(now_ns);
            if self.service.is_ending && self.is_drained(now_ns, end_ns) {
                return Ok(());
            }
        }
    }

    /// Timeout of `poll`; timers have a descriptor of their own.
    fn poll_timeout(&self, end_ns: u64) -> Option<Duration> {
        if !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        self.service.is_ending.then(|| {
            let left_ns = end_ns.saturating_sub(timers::monotonic_ns());
            Duration::from_nanos(left_ns).min(Duration::from_millis(10))
        })
    }

    fn take_in(&mut self, now_ns: u64) {
        while let Some((stream, listener_kind)) = self.connection_queue.take() {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let (channel, protocol) = match (listener_kind, &self.tls) {
                (ListenerKind::Control, _) => (Channel::Plain(stream), ServerProtocol::Http1),
                (ListenerKind::Service, None) => (Channel::Plain(stream), self.protocol),
                (ListenerKind::Service, Some(server)) => match Tls::accept(server, stream) {
                    Ok(tls) => (Channel::Tls(Box::new(tls)), self.protocol),
                    Err(_) => {
                        self.free.push(slot);
                        self.connection_queue.closed();
                        self.service.counters.closed.add(1);
                        continue;
                    }
                },
            };
            let any_protocol = AnyProtocol::new(protocol, &self.service);
            let mut connection = Connection::new(channel, any_protocol, now_ns);
            let interest = Interest::READABLE | Interest::WRITABLE;
            let socket = connection.transport.socket();
            let registered = self.poll.registry().register(socket, Token(slot), interest);
            let handshaking = connection.transport.is_handshaking();
            let connection = self.connections[slot].insert(connection);
            if registered.is_err() {
                self.drop_connection(slot);
            } else if handshaking {
                self.wake(slot, nanos(self.service.limits.handshake_max));
            } else {
                let turn = connection.begin(&mut self.service, &mut self.scratch);
                self.follow(slot, turn);
            }
        }
    }

    fn signalled(&mut self, slot: usize, event: &Event, now_ns: u64) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        let ended = event.is_read_closed() || event.is_error();
        connection.active_ns = now_ns;
        let turn = connection.signalled(ended, &mut self.service, &mut self.scratch);
        self.follow(slot, turn);
    }

    /// Continues connections that had more to do than one turn allows.
    fn take_again(&mut self, now_ns: u64) {
        for _ in 0..self.again.len() {
            let Some(slot) = self.again.pop() else { return };
            let Some(Some(connection)) = self.connections.get_mut(slot) else {
                continue;
            };
            connection.active_ns = now_ns;
            let turn = connection.go_on(&mut self.service, &mut self.scratch);
            match turn {
                Turn::Again if connection.account(&mut self.service) => self.drop_connection(slot),
                Turn::Again => self.again.insert(0, slot),
                turn => self.follow(slot, turn),
            }
        }
    }

    fn wake_due(&mut self, now_ns: u64) {
        while let Some(wake) = self.timers.take_due(now_ns) {
            if wake.slot == IDLE_SLOT {
                self.drop_idle(now_ns);
                self.wake_for_idle(now_ns);
                continue;
            }
            let Some(Some(connection)) = self.connections.get_mut(wake.slot) else {
                continue;
            };
            if connection.wake_ns != Some(wake.due_ns) {
                continue;
            }
            connection.wake_ns = None;
            connection.active_ns = now_ns;
            let turn = connection.woken(&mut self.service, &mut self.scratch);
            self.follow(wake.slot, turn);
        }
    }

    fn follow(&mut self, slot: usize, turn: Turn) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return;
        };
        if connection.account(&mut self.service) {
            return self.drop_connection(slot);
        }
        match turn {
            Turn::Sleep => {}
            Turn::Again if self.again.contains(&slot) => {}
            Turn::Again => self.again.push(slot),
            Turn::WakeAfter(delay_ns) => self.wake(slot, delay_ns),
            Turn::WakeAt(due_ns) => self.wake_at(slot, due_ns),
            Turn::Drop => self.drop_connection(slot),
        }
    }

    fn wake(&mut self, slot: usize, delay_ns: u64) {
        self.wake_at(slot, timers::monotonic_ns().saturating_add(delay_ns));
    }

    fn wake_at(&mut self, slot: usize, due_ns: u64) {
        if let Some(Some(connection)) = self.connections.get_mut(slot)
            && connection.wake_ns != Some(due_ns)
        {
            connection.wake_ns = Some(due_ns);
            self.timers.add(Wake { due_ns, slot });
        }
    }

    fn drop_connection(&mut self, slot: usize) {
        if let Some(mut connection) = self.connections[slot].take() {
            // Closing the descriptor removes it from the poll as well.
            let _ = self
                .poll
                .registry()
                .deregister(connection.transport.socket());
            self.service.held_bytes -= connection.held_bytes;
            self.free.push(slot);
            self.connection_queue.closed();
            self.service.counters.closed.add(1);
        }
    }

    fn wake_for_idle(&mut self, now_ns: u64) {
        let due_ns = now_ns.saturating_add(nanos(self.service.limits.idle_max / 4));
        self.timers.add(Wake {
            due_ns,
            slot: IDLE_SLOT,
        });
    }

    fn drop_idle(&mut self, now_ns: u64) {
        let idle_ns = nanos(self.service.limits.idle_max);
        for slot in 0..self.connections.len() {
            // A connection with a pending wake-up is not idle.
            let idle = self.connections[slot].as_ref().is_some_and(|connection| {
                connection.wake_ns.is_none()
                    && now_ns.saturating_sub(connection.active_ns) >= idle_ns
            });
            if idle {
                self.drop_connection(slot);
            }
        }
    }

    /// Closes connections between exchanges; true when none is left or the drain limit has passed.
    fn is_drained(&mut self, now_ns: u64, end_ns: u64) -> bool {
        for slot in 0..self.connections.len() {
            if let Some(connection) = &mut self.connections[slot]
                && connection.is_idle()
            {
                connection.announce_idle_close(&mut self.scratch);
                self.drop_connection(slot);
            }
        }
        now_ns >= end_ns || self.connections.iter().all(Option::is_none)
    }
}
