//! One connection: its transport and protocol, what is unsent, and what it waits for.

use std::io;

use crate::counters::Failure;
use crate::protocol::{More, Next, Protocol, Serve, Standing};
use crate::service::Service;
use crate::sys;
use crate::transport::{Flushed, Left, Readiness, Received, Room, Transport};

/// Receives, and buffers sent, per turn, so that one busy connection does not starve the others.
const MOVES_PER_TURN: usize = 16;

/// Capacity that is kept of a buffer for unsent bytes.
const KEEP_BYTES: usize = 4096;

/// Bytes unsent at which nothing more is read of a connection that goes both ways: bounds what a client that does not read its
/// answers can make the origin keep.
const UNSENT_BYTES_MAX: usize = 256 * 1024;

/// What the event loop has to do about a connection after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing until the next event.
    Sleep,
    /// Another turn soon, without an event.
    Again,
    /// A turn after so many nanoseconds.
    WakeAfter(u64),
    /// A turn at this time of the monotonic clock, in nanoseconds.
    WakeAt(u64),
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
    /// Reading and sending at the same time.
    Serving(Serve),
    Lingering,
}

/// Buffers of a worker, shared by its connections.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub room: Room,
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
    opening: Opening,
    /// When something moved last, for the idle limit.
    pub active_ns: u64,
    /// When the pending wake-up is due; others are stale.
    pub wake_ns: Option<u64>,
}

/// Whether the protocol was told of the connection: as soon as the transport is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Due,
    Done,
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
    pub(crate) fn new(transport: T, protocol: P, now_ns: u64) -> Self {
        Self {
            transport,
            protocol,
            phase: Phase::Reading,
            unsent: Vec::new(),
            sent: 0,
            input: Input::MayBeThere,
            client_ended: false,
            opening: Opening::Due,
            active_ns: now_ns,
            wake_ns: None,
        }
    }

    /// The first turn.
    pub(crate) fn begin(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        match self.open(service, scratch) {
            Some(next) => self.follow(next, service, scratch),
            None => Turn::Sleep,
        }
    }

    /// Tells the protocol of the connection, once; some speak first.
    fn open(&mut self, service: &mut Service, scratch: &mut Scratch) -> Option<Next> {
        scratch.out.clear();
        if self.opening == Opening::Done || self.transport.readiness() == Readiness::Handshaking {
            return None;
        }
        self.opening = Opening::Done;
        Some(self.protocol.open(service, &mut scratch.out))
    }

    /// Between exchanges: may be closed without breaking one.
    pub(crate) fn is_idle(&self) -> bool {
        match self.phase {
            Phase::Reading | Phase::Serving(_) => {
                self.unsent.is_empty() && self.protocol.standing() == Standing::Idle
            }
            Phase::Sending(_) | Phase::Waiting => false,
            Phase::Lingering => true,
        }
    }

    /// Tells an idle client that the connection will be closed, as far as that goes at once.
    pub(crate) fn say_farewell(&mut self, scratch: &mut Scratch) {
        if matches!(self.phase, Phase::Reading | Phase::Serving(_)) {
            scratch.out.clear();
            self.protocol.farewell(&mut scratch.out);
            let _ = send(&mut self.transport, &scratch.out);
            let _ = self.transport.finish();
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
        let handshaking = self.transport.readiness() == Readiness::Handshaking;
        if handshaking && self.phase != Phase::Lingering {
            service.counters.handshake_failures.add(Failure::Timeout);
            return Turn::Gone;
        }
        match self.phase {
            Phase::Waiting => {
                scratch.out.clear();
                let next = self.protocol.resume(service, &mut scratch.out);
                self.follow(next, service, scratch)
            }
            Phase::Serving(_) => {
                let more = More::Waits;
                let wake_ns = None;
                self.serve(Serve { more, wake_ns }, service, scratch)
            }
            Phase::Lingering => Turn::Gone,
            Phase::Reading | Phase::Sending(_) => Turn::Sleep,
        }
    }

    /// Does what the phase allows.
    pub(crate) fn go_on(&mut self, service: &mut Service, scratch: &mut Scratch) -> Turn {
        let Ok(flushed) = self.flush(service) else {
            return Turn::Gone;
        };
        match self.phase {
            Phase::Reading => self.read(service, scratch),
            Phase::Waiting => Turn::Sleep,
            Phase::Lingering => self.discard(service, scratch),
            Phase::Serving(serve) => self.serve(serve, service, scratch),
            Phase::Sending(_) if flushed == Flushed::Full => Turn::Sleep,
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
                Got::Next(next) => match self.deliver(next, service, scratch) {
                    Delivered::Read => {}
                    Delivered::Serve(serve) => return self.serve(serve, service, scratch),
                    Delivered::Turn(turn) => return turn,
                },
                Got::Nothing => return Turn::Sleep,
                Got::Again => {}
                Got::Turn(turn) => return turn,
            }
        }
        Turn::Again
    }

    /// Reads and sends at the same time.
    fn serve(&mut self, mut serve: Serve, service: &mut Service, scratch: &mut Scratch) -> Turn {
        for _ in 0..MOVES_PER_TURN {
            let Ok(flushed) = self.flush(service) else {
                return Turn::Gone;
            };
            let mut moved = false;
            if self.unsent.len() - self.sent < UNSENT_BYTES_MAX {
                match self.receive(service, scratch) {
                    Got::Nothing => {}
                    Got::Again => moved = true,
                    Got::Turn(turn) => return turn,
                    Got::Next(next) => match self.deliver(next, service, scratch) {
                        Delivered::Serve(next) => (serve, moved) = (next, true),
                        Delivered::Read => return self.read(service, scratch),
                        Delivered::Turn(turn) => return turn,
                    },
                }
            }
            if serve.more == More::Waits && flushed == Flushed::All && self.unsent.is_empty() {
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

    /// Sleeps until the next event or the time asked for.
    fn rest(&mut self, serve: Serve) -> Turn {
        match serve.wake_ns {
            // Already set.
            Some(wake_ns) if self.wake_ns == Some(wake_ns) => Turn::Sleep,
            Some(wake_ns) => Turn::WakeAt(wake_ns),
            None => {
                self.wake_ns = None;
                Turn::Sleep
            }
        }
    }

    /// Receives once and gives it to the protocol.
    fn receive(&mut self, service: &mut Service, scratch: &mut Scratch) -> Got {
        if self.input == Input::Drained && !self.client_ended {
            return Got::Nothing;
        }
        let received = self.transport.receive(&mut scratch.room, &service.counters);
        let opened = self.open(service, scratch);
        match received {
            Ok(Received::Bytes {
                bytes,
                stamp_ns,
                left,
            }) => {
                // The client's end may come without an edge of its own, hence `client_ended`.
                if left == Left::Nothing {
                    self.input = Input::Drained;
                }
                service.counters.received_bytes.add(bytes as u64);
                let input = &scratch.room.input[..bytes];
                let protocol = &mut self.protocol;
                Got::Next(protocol.receive(input, stamp_ns, service, &mut scratch.out))
            }
            Ok(Received::Nothing) => {
                self.input = Input::Drained;
                opened.map_or(Got::Nothing, Got::Next)
            }
            Ok(Received::Again) => opened.map_or(Got::Again, Got::Next),
            Ok(Received::End) => match self.protocol.ended() {
                Some(next) => Got::Next(next),
                None => Got::Turn(Turn::Gone),
            },
            // What the client sent was refused above TCP, and it is being told: it should be able to read that.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.phase = Phase::Lingering;
                Got::Turn(Turn::Lingers)
            }
            Err(_) => Got::Turn(Turn::Gone),
        }
    }

    /// Takes bytes for sending, behind those that wait already.
    fn write(&mut self, bytes: &[u8], service: &Service) -> io::Result<()> {
        let mut sent = 0;
        if self.unsent.is_empty() {
            sent = send(&mut self.transport, bytes)?;
            service.counters.sent_bytes.add(sent as u64);
        }
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends what waits.
    fn flush(&mut self, service: &Service) -> io::Result<Flushed> {
        if self.sent < self.unsent.len() {
            let sent = send(&mut self.transport, &self.unsent[self.sent..])?;
            service.counters.sent_bytes.add(sent as u64);
            self.sent += sent;
            if self.sent < self.unsent.len() {
                return Ok(Flushed::Full);
            }
            self.unsent.clear();
            self.unsent.shrink_to(KEEP_BYTES);
            self.sent = 0;
        }
        self.transport.flush()
    }

    /// Sends what was written and does what comes next, in one turn if it can.
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
                return Delivered::Turn(Turn::Gone);
            }
            let Ok(flushed) = self
                .write(&scratch.out, service)
                .and_then(|()| self.transport.flush())
            else {
                return Delivered::Turn(Turn::Gone);
            };
            scratch.out.clear();
            if let Next::Serve(serve) = next {
                return Delivered::Serve(serve);
            }
            if !self.unsent.is_empty() || flushed == Flushed::Full {
                self.phase = Phase::Sending(next);
                return Delivered::Turn(Turn::Sleep);
            }
            match next {
                Next::Read => return Delivered::Read,
                Next::Resume => next = self.protocol.resume(service, &mut scratch.out),
                Next::Wait(delay) => {
                    self.phase = Phase::Waiting;
                    let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
                    return Delivered::Turn(Turn::WakeAfter(delay_ns));
                }
                Next::Close | Next::Serve(_) | Next::Reset => {
                    // Closing with input unread would reset the connection and take the answer with it.
                    self.phase = Phase::Lingering;
                    let ended = self.transport.finish().is_err();
                    return Delivered::Turn(if ended { Turn::Gone } else { Turn::Lingers });
                }
            }
        }
        if self.write(&scratch.out, service).is_err() {
            return Delivered::Turn(Turn::Gone);
        }
        scratch.out.clear();
        self.phase = Phase::Sending(next);
        Delivered::Turn(Turn::Again)
    }

    fn discard(&mut self, service: &Service, scratch: &mut Scratch) -> Turn {
        for _ in 0..MOVES_PER_TURN {
            match self.transport.receive(&mut scratch.room, &service.counters) {
                Ok(Received::End) | Err(_) => return Turn::Gone,
                Ok(Received::Nothing) => return Turn::Sleep,
                Ok(Received::Bytes { .. } | Received::Again) => {}
            }
        }
        Turn::Again
    }
}

/// What a receive led to.
enum Got {
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
