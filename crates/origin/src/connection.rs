//! One connection: its transport and protocol, unsent bytes, and what it waits for.

use std::io;

use crate::any_protocol::AnyProtocol;
use crate::counters::HandshakeFailure;
use crate::protocol::{Next, Protocol, Serve};
use crate::service::Service;
use crate::sys;
use crate::timers::{self, nanos};
use crate::transport::{Channel, ReceiveBuffers, Received};

/// Receives, and buffers sent, per turn, so that a busy connection does not starve the others.
const MOVES_PER_TURN: usize = 16;

/// Capacity that is kept of a buffer for unsent bytes.
const KEEP_BYTES: usize = 4096;

/// Unsent bytes at which a bidirectional connection is not read any more: bounds the memory of a client that does not read its
/// answers.
const UNSENT_BYTES_MAX: usize = 256 * 1024;

/// How long a client may take to close its side after everything is sent.
const LINGER_NS: u64 = 1_000_000_000;

/// What the event loop does with a connection after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing until the next event.
    Sleep,
    /// Another turn soon, without an event.
    Again,
    /// A turn after this many nanoseconds.
    WakeAfter(u64),
    /// A turn at this time of the monotonic clock, in nanoseconds.
    WakeAt(u64),
    /// Drop the connection.
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Reading,
    /// Bytes are unsent; this follows.
    Sending(Next),
    Waiting,
    /// Reading and sending concurrently.
    Serving(Serve),
    /// Everything is sent, and input is discarded until the client closes its side, up to this time of the monotonic clock.
    Lingering(u64),
}

/// Buffers of a worker, shared by its connections.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub buffers: ReceiveBuffers,
    pub out: Vec<u8>,
}

/// A connection of any transport and protocol.
#[derive(Debug)]
pub(crate) struct Connection {
    pub transport: Channel,
    protocol: AnyProtocol,
    phase: Phase,
    unsent: Vec<u8>,
    sent: usize,
    /// The kernel has no more input than the last receive gave.
    is_drained: bool,
    /// The client has closed its side: read on until the end, even if a receive was short.
    client_ended: bool,
    /// The protocol's `open` was called, which happens as soon as the transport is ready.
    is_open: bool,
    /// Capacity of its buffers when they were last counted.
    pub held_bytes: usize,
    /// Time of the last activity, for the idle limit.
    pub active_ns: u64,
    /// When the pending wake-up is due; others are stale.
    pub wake_ns: Option<u64>,
}

impl Connection {
    pub(crate) fn new(transport: Channel, protocol: AnyProtocol, now_ns: u64) -> Self {
        Self {
            transport,
            protocol,
            phase: Phase::Reading,
            unsent: Vec::new(),
            sent: 0,
            is_drained: false,
            client_ended: false,
            is_open: false,
            held_bytes: 0,
            active_ns: now_ns,
            wake_ns: None,
        }
    }

    /// Counts its buffers; returns whether it must go: the limit of all is exceeded by more than refusals need, and its own have
    /// grown.
    pub(crate) fn account(&mut self, service: &mut Service) -> bool {
        let was = self.held_bytes;
        self.held_bytes = self.unsent.capacity() + self.protocol.held_bytes();
        if self.held_bytes == was {
            return false;
        }
        service.held_bytes = service.held_bytes - was + self.held_bytes;
        let max_bytes = service.limits.buffer_bytes_max;
        self.held_bytes > was && service.held_bytes > max_bytes + max_bytes / 8
    }

    /// The first turn.
    pub(crate) fn begin(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        match self.open(service, scratch) {
            Some(next) => self.follow(next, service, scratch),
            None => Turn::Sleep,
        }
    }

    /// Calls the protocol's `open`, once; some protocols send first.
    fn open(&mut self, service: &mut Service, scratch: &mut Scratch) -> Option<Next> {
        scratch.out.clear();
        if self.is_open || self.transport.is_handshaking() {
            return None;
        }
        self.is_open = true;
        Some(self.protocol.open(service, &mut scratch.out))
    }

    /// Between exchanges: may be closed without breaking one.
    pub(crate) fn is_idle(&self) -> bool {
        match self.phase {
            Phase::Reading | Phase::Serving(_) => self.unsent.is_empty() && self.protocol.is_idle(),
            Phase::Sending(_) | Phase::Waiting => false,
            Phase::Lingering(_) => true,
        }
    }

    /// Announces to an idle client that the connection will be closed, as far as the socket takes it now.
    pub(crate) fn announce_idle_close(&mut self, scratch: &mut Scratch) {
        if matches!(self.phase, Phase::Reading | Phase::Serving(_)) {
            scratch.out.clear();
            self.protocol.announce_close(&mut scratch.out);
            let _ = send(&mut self.transport, &scratch.out);
            let _ = self.transport.finish();
        }
    }

    /// A turn after an event, which may say that the client has closed its side.
    pub(crate) fn signalled(
        &mut self,
        client_ended: bool,
        service: &mut Service,
        scratch: &mut Scratch,
    ) -> Turn {
        self.is_drained = false;
        self.client_ended |= client_ended;
        self.go_on(service, scratch)
    }

    /// A turn at the requested time.
    pub(crate) fn woken(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        if self.transport.is_handshaking() && !matches!(self.phase, Phase::Lingering(_)) {
            let counters = &service.counters;
            counters.handshake_failure(HandshakeFailure::Timeout);
            return Turn::Drop;
        }
        match self.phase {
            Phase::Waiting => {
                scratch.out.clear();
                let next = self.protocol.resume(service, &mut scratch.out);
                self.follow(next, service, scratch)
            }
            Phase::Serving(_) => self.serve(Serve::MORE, service, scratch),
            Phase::Lingering(_) => Turn::Drop,
            Phase::Reading | Phase::Sending(_) => Turn::Sleep,
        }
    }

    /// Does what the phase allows.
    pub(crate) fn go_on(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        let Ok(flushed) = self.flush(service) else {
            return Turn::Drop;
        };
        match self.phase {
            Phase::Reading => self.read(service, scratch),
            Phase::Waiting => Turn::Sleep,
            Phase::Lingering(until_ns) => self.discard(until_ns, service, scratch),
            Phase::Serving(serve) => self.serve(serve, service, scratch),
            Phase::Sending(_) if !flushed => Turn::Sleep,
            Phase::Sending(then) => {
                scratch.out.clear();
                self.follow(then, service, scratch)
            }
        }
    }

    fn read(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        self.phase = Phase::Reading;
        for _ in 0..MOVES_PER_TURN {
            match self.receive(service, scratch) {
                ReceiveResult::Next(next) => match self.deliver(next, service, scratch) {
                    Delivered::Read => {}
                    Delivered::Serve(serve) => return self.serve(serve, service, scratch),
                    Delivered::Turn(turn) => return turn,
                },
                ReceiveResult::Nothing => return Turn::Sleep,
                ReceiveResult::Again => {}
                ReceiveResult::Turn(turn) => return turn,
            }
        }
        Turn::Again
    }

    /// Reads and sends concurrently.
    fn serve(&mut self, mut serve: Serve, service: &mut Service, scratch: &mut Scratch) -> Turn {
        for _ in 0..MOVES_PER_TURN {
            let Ok(flushed) = self.flush(service) else {
                return Turn::Drop;
            };
            let mut moved = false;
            if self.unsent.len() - self.sent < UNSENT_BYTES_MAX {
                match self.receive(service, scratch) {
                    ReceiveResult::Nothing => {}
                    ReceiveResult::Again => moved = true,
                    ReceiveResult::Turn(turn) => return turn,
                    ReceiveResult::Next(next) => match self.deliver(next, service, scratch) {
                        Delivered::Serve(next) => (serve, moved) = (next, true),
                        Delivered::Read => return self.read(service, scratch),
                        Delivered::Turn(turn) => return turn,
                    },
                }
            }
            if serve.has_more && flushed && self.unsent.is_empty() {
                scratch.out.clear();
                let next = self.protocol.resume(service, &mut scratch.out);
                match self.deliver(next, service, scratch) {
                    Delivered::Serve(next) => (serve, moved) = (next, true),
                    Delivered::Read => return self.read(service, scratch),
                    Delivered::Turn(turn) => return turn,
                }
            }
            if !moved {
                self.phase = Phase::Serving(serve);
                return self.rest(serve);
            }
        }
        self.phase = Phase::Serving(serve);
        Turn::Again
    }

    /// Sleeps until the next event or the requested time.
    fn rest(&mut self, serve: Serve) -> Turn {
        match serve.wake_ns {
            Some(wake_ns) => Turn::WakeAt(wake_ns),
            None => {
                self.wake_ns = None;
                Turn::Sleep
            }
        }
    }

    /// Receives once and passes the input to the protocol.
    fn receive(&mut self, service: &mut Service, scratch: &mut Scratch) -> ReceiveResult {
        if self.is_drained && !self.client_ended {
            return ReceiveResult::Nothing;
        }
        let received = self
            .transport
            .receive(&mut scratch.buffers, &service.counters);
        let opened = self.open(service, scratch);
        match received {
            Ok(Received::Bytes {
                bytes,
                stamp_ns,
                is_drained,
            }) => {
                // The client's end may come without an edge of its own, hence `client_ended`.
                self.is_drained |= is_drained;
                service.counters.received_bytes.add(bytes as u64);
                let input = &scratch.buffers.input[..bytes];
                let protocol = &mut self.protocol;
                let next = protocol.receive(input, stamp_ns, service, &mut scratch.out);
                // A turn receives many times, and the protocol refuses by what is counted.
                match self.account(service) {
                    true => ReceiveResult::Turn(Turn::Drop),
                    false => ReceiveResult::Next(next),
                }
            }
            Ok(Received::Nothing) => {
                self.is_drained = true;
                opened.map_or(ReceiveResult::Nothing, ReceiveResult::Next)
            }
            Ok(Received::Again) => opened.map_or(ReceiveResult::Again, ReceiveResult::Next),
            Ok(Received::End) => match self.protocol.ended() {
                Some(next) => ReceiveResult::Next(next),
                None => ReceiveResult::Turn(Turn::Drop),
            },
            // A TLS error: the client needs time to read the alert.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                ReceiveResult::Turn(self.linger(service, scratch))
            }
            Err(_) => ReceiveResult::Turn(Turn::Drop),
        }
    }

    /// Sends bytes, or queues them after those that are unsent.
    fn write(&mut self, bytes: &[u8], service: &Service) -> io::Result<()> {
        let mut sent = 0;
        if self.unsent.is_empty() {
            sent = send(&mut self.transport, bytes)?;
            service.counters.sent_bytes.add(sent as u64);
        }
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends unsent bytes; `false` if the kernel's buffer is full.
    fn flush(&mut self, service: &Service) -> io::Result<bool> {
        if self.sent < self.unsent.len() {
            let sent = send(&mut self.transport, &self.unsent[self.sent..])?;
            service.counters.sent_bytes.add(sent as u64);
            self.sent += sent;
            if self.sent < self.unsent.len() {
                return Ok(false);
            }
            self.unsent.clear();
            self.unsent.shrink_to(service.kept(KEEP_BYTES));
            self.sent = 0;
        }
        self.transport.flush()
    }

    /// Sends what was written and does what is next, in one turn if possible.
    fn follow(&mut self, next: Next, service: &mut Service, scratch: &mut Scratch) -> Turn {
        match self.deliver(next, service, scratch) {
            Delivered::Read => self.read(service, scratch),
            Delivered::Serve(serve) => self.serve(serve, service, scratch),
            Delivered::Turn(turn) => turn,
        }
    }

    fn deliver(
        &mut self,
        mut next: Next,
        service: &mut Service,
        scratch: &mut Scratch,
    ) -> Delivered {
        for _ in 0..MOVES_PER_TURN {
            if next == Next::Reset {
                // Dropping the socket then sends RST and no FIN.
                let _ = sys::reset_on_close(self.transport.socket());
                return Delivered::Turn(Turn::Drop);
            }
            let Ok(flushed) = self
                .write(&scratch.out, service)
                .and_then(|()| self.transport.flush())
            else {
                return Delivered::Turn(Turn::Drop);
            };
            scratch.out.clear();
            if let Next::Serve(serve) = next {
                return Delivered::Serve(serve);
            }
            if !self.unsent.is_empty() || !flushed {
                self.phase = Phase::Sending(next);
                return Delivered::Turn(Turn::Sleep);
            }
            match next {
                Next::Read => return Delivered::Read,
                Next::Resume => next = self.protocol.resume(service, &mut scratch.out),
                Next::Wait(delay) => {
                    self.phase = Phase::Waiting;
                    return Delivered::Turn(Turn::WakeAfter(nanos(delay)));
                }
                Next::Close | Next::Serve(_) | Next::Reset => {
                    let turn = match self.transport.finish() {
                        Ok(()) => self.linger(service, scratch),
                        Err(_) => Turn::Drop,
                    };
                    return Delivered::Turn(turn);
                }
            }
        }
        if self.write(&scratch.out, service).is_err() {
            return Delivered::Turn(Turn::Drop);
        }
        scratch.out.clear();
        self.phase = Phase::Sending(next);
        Delivered::Turn(Turn::Again)
    }

    /// Discards input, so that a client that still sends comes to read the answer: closing with unread input would reset the
    /// connection, and the answer could be lost.
    fn linger(&mut self, service: &Service, scratch: &mut Scratch) -> Turn {
        let until_ns = timers::monotonic_ns().saturating_add(LINGER_NS);
        self.phase = Phase::Lingering(until_ns);
        // A pending wake-up would end it early.
        self.wake_ns = None;
        self.discard(until_ns, service, scratch)
    }

    fn discard(&mut self, until_ns: u64, service: &Service, scratch: &mut Scratch) -> Turn {
        for _ in 0..MOVES_PER_TURN {
            match self
                .transport
                .receive(&mut scratch.buffers, &service.counters)
            {
                Ok(Received::End) | Err(_) => return Turn::Drop,
                Ok(Received::Nothing) => return Turn::WakeAt(until_ns),
                Ok(Received::Bytes { .. } | Received::Again) => {}
            }
        }
        match timers::monotonic_ns() < until_ns {
            true => Turn::Again,
            false => Turn::Drop,
        }
    }
}

enum ReceiveResult {
    Next(Next),
    Nothing,
    Again,
    Turn(Turn),
}

enum Delivered {
    Read,
    Serve(Serve),
    Turn(Turn),
}

/// Sends until all is sent or the socket is full.
fn send(transport: &mut Channel, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match transport.send(&bytes[sent..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
