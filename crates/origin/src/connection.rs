//! One connection: its transport and protocol, what is unsent, and what it waits for.

use std::io;

use crate::protocol::{Next, Protocol, Standing};
use crate::service::Service;
use crate::transport::Transport;

/// Receives, and buffers sent, per turn, so that one busy connection does not starve the others.
const MOVES_PER_TURN: usize = 16;

/// Capacity that is kept of a buffer for unsent bytes.
const KEEP_BYTES: usize = 4096;

/// What the event loop has to do about a connection after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing until the next event.
    Sleep,
    /// Another turn soon, without an event.
    Again,
    /// A turn after so many nanoseconds.
    WakeAfter(u64),
    /// Everything is sent: wait for the client's end, but not for long.
    Lingers,
    /// The end: drop it.
    Gone,
}

/// Whether more input may be in the kernel than the last receive gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    MayBeThere,
    Drained,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Reading,
    /// Bytes are unsent; then comes this.
    Sending(Next),
    Waiting,
    Lingering,
}

/// Buffers of a worker, shared by its connections.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub input: Vec<u8>,
    pub out: Vec<u8>,
}

/// A connection of some transport and protocol.
#[derive(Debug)]
pub(crate) struct Connection<T, P> {
    pub transport: T,
    protocol: P,
    phase: Phase,
    unsent: Vec<u8>,
    sent: usize,
    input: Input,
    /// The client has closed its side: read on until the end, even if a receive was short.
    client_ended: bool,
    /// When something moved last, for the idle limit.
    pub active_ns: u64,
    /// When the pending wake-up is due; others are stale.
    pub wake_ns: Option<u64>,
}

/// What an event said about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// There is input, or room to send.
    Moves,
    /// The same, and the client has closed its side.
    ClientEnded,
}

impl<T: Transport, P: Protocol> Connection<T, P> {
    pub(crate) fn new(transport: T, now_ns: u64) -> Self {
        Self {
            transport,
            protocol: P::default(),
            phase: Phase::Reading,
            unsent: Vec::new(),
            sent: 0,
            input: Input::MayBeThere,
            client_ended: false,
            active_ns: now_ns,
            wake_ns: None,
        }
    }

    /// Between exchanges: may be closed without breaking one.
    pub(crate) fn is_idle(&self) -> bool {
        match self.phase {
            Phase::Reading => self.protocol.standing() == Standing::Idle,
            Phase::Sending(_) | Phase::Waiting => false,
            Phase::Lingering => true,
        }
    }

    /// A turn after an event.
    pub(crate) fn signalled(
        &mut self,
        signal: Signal,
        service: &mut Service,
        scratch: &mut Scratch,
    ) -> Turn {
        self.input = Input::MayBeThere;
        self.client_ended |= signal == Signal::ClientEnded;
        self.go_on(service, scratch)
    }

    /// A turn because the time has come that was asked for.
    pub(crate) fn woken(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        match self.phase {
            Phase::Waiting => {
                scratch.out.clear();
                let next = self.protocol.resume(service, &mut scratch.out);
                self.follow(next, service, scratch)
            }
            Phase::Lingering => Turn::Gone,
            Phase::Reading | Phase::Sending(_) => Turn::Sleep,
        }
    }

    /// Does what the phase allows.
    pub(crate) fn go_on(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        match self.phase {
            Phase::Reading => self.read(service, scratch),
            Phase::Waiting => Turn::Sleep,
            Phase::Lingering => self.discard(scratch),
            Phase::Sending(then) => {
                let sent = send(&mut self.transport, &self.unsent[self.sent..]);
                let Ok(sent) = sent else { return Turn::Gone };
                service.counters.sent_bytes.add(sent as u64);
                self.sent += sent;
                if self.sent < self.unsent.len() {
                    return Turn::Sleep;
                }
                self.unsent.clear();
                self.unsent.shrink_to(KEEP_BYTES);
                self.sent = 0;
                scratch.out.clear();
                self.follow(then, service, scratch)
            }
        }
    }

    fn read(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        self.phase = Phase::Reading;
        for _ in 0..MOVES_PER_TURN {
            if self.input == Input::Drained && !self.client_ended {
                return Turn::Sleep;
            }
            let received = match self.transport.receive(&mut scratch.input) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.input = Input::Drained;
                    return Turn::Sleep;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Turn::Gone,
            };
            if received.bytes == 0 {
                return Turn::Gone;
            }
            // A short receive emptied the socket: more would be a new edge (epoll(7)), so the call that would only say
            // "nothing there" is saved. The client's end may come without an edge of its own, hence `client_ended`.
            if received.bytes < scratch.input.len() {
                self.input = Input::Drained;
            }
            service.counters.received_bytes.add(received.bytes as u64);
            scratch.out.clear();
            let input = &scratch.input[..received.bytes];
            let next = self
                .protocol
                .receive(input, received.stamp_ns, service, &mut scratch.out);
            match self.deliver(next, service, scratch) {
                Delivered::Read => {}
                Delivered::Turn(turn) => return turn,
            }
        }
        Turn::Again
    }

    /// Sends what was written and does what comes next, in one turn if it can.
    fn follow(&mut self, next: Next, service: &mut Service, scratch: &mut Scratch) -> Turn {
        match self.deliver(next, service, scratch) {
            Delivered::Read => self.read(service, scratch),
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
            let Ok(sent) = send(&mut self.transport, &scratch.out) else {
                return Delivered::Turn(Turn::Gone);
            };
            service.counters.sent_bytes.add(sent as u64);
            if sent < scratch.out.len() {
                self.unsent.extend_from_slice(&scratch.out[sent..]);
                self.phase = Phase::Sending(next);
                return Delivered::Turn(Turn::Sleep);
            }
            scratch.out.clear();
            match next {
                Next::Read => return Delivered::Read,
                Next::Resume => next = self.protocol.resume(service, &mut scratch.out),
                Next::Wait(delay) => {
                    self.phase = Phase::Waiting;
                    let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
                    return Delivered::Turn(Turn::WakeAfter(delay_ns));
                }
                Next::Close => {
                    // Closing with input unread would reset the connection and take the answer with it.
                    self.phase = Phase::Lingering;
                    let ended = self.transport.finish().is_err();
                    return Delivered::Turn(if ended { Turn::Gone } else { Turn::Lingers });
                }
            }
        }
        self.unsent.extend_from_slice(&scratch.out);
        self.phase = Phase::Sending(next);
        Delivered::Turn(Turn::Again)
    }

    fn discard(&mut self, scratch: &mut Scratch) -> Turn {
        for _ in 0..MOVES_PER_TURN {
            match self.transport.receive(&mut scratch.input) {
                Ok(received) if received.bytes == 0 => return Turn::Gone,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Turn::Sleep,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Turn::Gone,
            }
        }
        Turn::Again
    }
}

enum Delivered {
    Read,
    Turn(Turn),
}

/// Sends until all is sent or the socket is full.
fn send(transport: &mut impl Transport, bytes: &[u8]) -> io::Result<usize> {
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
