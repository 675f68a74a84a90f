//! The real [`Wire`]: non-blocking TCP sockets of one worker, plain or under TLS (its part is in [`super::secure`]).

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustix::net::SendFlags;
use tare_schema::load::Reach;

use super::secure::{Layer, Secure};
use crate::client::{ANSWERS_BYTES_MAX, Closed, ConnId, Connected, Stamp, StampSource, Written};
use crate::clock::monotonic_ns;
use crate::engine::Wire;
use crate::sys;
use crate::tls::TlsClient;

/// One connection.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    /// Until the attempt succeeded, nothing is read.
    pub connecting: bool,
    /// What the kernel did not take yet, from `unsent_from` on.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// Where in `unsent` the write stands whose first byte has not gone.
    start: Option<usize>,
    /// Bytes that the other side made us say, of those kept since `unsent` was last empty.
    owed: usize,
    /// Whether fewer bytes were taken than were poured: the next room is told.
    pub wants_room: bool,
    /// Our direction ends when nothing is unsent any more.
    ending: bool,
    /// When a write last began: no answer to it can be older.
    pub written_ns: u64,
    /// When the attempt began.
    begun_ns: u64,
    /// When it was seen to have succeeded.
    connected_ns: u64,
    /// When the first word of TLS went.
    pub(super) hello_ns: Option<u64>,
    /// What is spoken over it; nothing over plain TCP and before it is connected.
    pub(super) layer: Option<Box<Layer>>,
}

/// A socket as events name it: its slot, and which life of the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// The slot.
    pub conn: ConnId,
    generation: u32,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    socket: Option<Socket>,
}

/// The sockets of one worker.
#[derive(Debug)]
pub struct Sockets {
    registry: Registry,
    slots: Vec<Slot>,
    failed: Vec<(Life, Closed)>,
    reach: Reach,
    pub(super) tls: Option<Secure>,
    /// Bytes given to the kernel.
    pub bytes_sent: u64,
}

impl Sockets {
    /// No sockets yet, and none ever to an address beyond this reach.
    #[must_use]
    pub fn new(
        registry: Registry,
        connections: usize,
        tls: Option<TlsClient>,
        reach: Reach,
    ) -> Self {
        Self {
            registry,
            slots: Vec::with_capacity(connections),
            failed: Vec::with_capacity(64),
            reach,
            tls: tls.map(Secure::new),
            bytes_sent: 0,
        }
    }

    /// The socket an event is for, if it still lives.
    #[inline]
    pub fn live(&mut self, life: Life) -> Option<&mut Socket> {
        let slot = self.slots.get_mut(life.conn.0 as usize)?;
        if slot.generation != life.generation {
            return None;
        }
        slot.socket.as_mut()
    }

    /// A failure to tell.
    pub fn take_failed(&mut self) -> Option<(Life, Closed)> {
        self.failed.pop()
    }

    /// Ends a life, of a socket or of an attempt that never had one; false when it had ended before.
    pub fn forget(&mut self, life: Life) -> bool {
        let lived = self.life(life.conn) == life;
        if lived {
            self.drop_socket(life.conn);
        }
        lived
    }

    /// Sends what waits; when the write whose first byte had not gone began, if it did.
    pub fn flush(&mut self, life: Life) -> Option<u64> {
        let mut sent = 0;
        let socket = self.live(life)?;
        let (mut went, mut failure) = (None, None);
        while socket.unsent_from < socket.unsent.len() {
            let at_ns = monotonic_ns();
            match send(&socket.stream, &socket.unsent[socket.unsent_from..]) {
                Ok(count) => {
                    socket.unsent_from += count;
                    sent += count as u64;
                    let end = socket.unsent_from;
                    went = socket
                        .start
                        .take_if(|start| *start < end)
                        .map(|_| at_ns)
                        .or(went);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    failure = Some(Closed::from_io(&error));
                    break;
                }
            }
        }
        socket.forget_sent();
        if !socket.has_unsent() && socket.ending {
            socket.end_direction();
        }
        self.bytes_sent += sent;
        if let Some(why) = failure {
            self.failed.push((life, why));
        }
        went
    }

    /// Gives bytes to the kernel, or keeps them behind those that wait.
    #[inline]
    pub(super) fn give(&mut self, life: Life, bytes: &[u8]) -> Written {
        let Some(socket) = self.live(life) else {
            return Written::Queued;
        };
        let at_ns = monotonic_ns();
        socket.written_ns = at_ns;
        if socket.has_unsent() {
            if socket.start.is_some() {
                // What the last write asks for has not gone: nobody who waited for its answer would write again.
                self.fail(life, Closed::Unread);
            } else {
                socket.start = Some(socket.unsent.len());
                socket.unsent.extend_from_slice(bytes);
            }
            return Written::Queued;
        }
        match send(&socket.stream, bytes) {
            Ok(count) => {
                if count < bytes.len() {
                    socket.unsent.extend_from_slice(&bytes[count..]);
                }
                self.bytes_sent += count as u64;
                Written::Sent(at_ns)
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    socket.start = Some(0);
                    socket.unsent.extend_from_slice(bytes);
                } else {
                    self.failed.push((life, Closed::from_io(&error)));
                }
                Written::Queued
            }
        }
    }

    /// Gives bytes to the kernel that belong to no write of the client: what TLS says, and answers when it is asked. The other
    /// side cannot have more of them kept than it may.
    pub(super) fn give_own(&mut self, life: Life, bytes: &[u8]) {
        let Some(socket) = self.live(life).filter(|_| !bytes.is_empty()) else {
            return;
        };
        if !socket.has_unsent() {
            if let (Written::Queued, Some(socket)) = (self.give(life, bytes), self.live(life)) {
                socket.start = None;
            }
        } else if socket.owed + bytes.len() > ANSWERS_BYTES_MAX {
            self.fail(life, Closed::Unread);
        } else {
            socket.owed += bytes.len();
            socket.unsent.extend_from_slice(bytes);
        }
    }

    /// Notes a failure, to be told later: once, for what comes of it before that is the same again.
    pub(super) fn fail(&mut self, life: Life, why: Closed) {
        if self.failed.last() != Some(&(life, why)) {
            self.failed.push((life, why));
        }
    }

    /// Whether a connection that waited for room has it: told once.
    pub fn take_room(&mut self, life: Life) -> bool {
        self.live(life).is_some_and(Socket::take_room)
    }

    /// Receives into a buffer; see [`sys::receive`].
    #[inline]
    pub fn receive(
        &mut self,
        life: Life,
        buffer: &mut [u8],
    ) -> Option<(io::Result<sys::Received>, u64)> {
        let socket = self.live(life)?;
        let written_ns = socket.written_ns;
        Some((sys::receive(socket.stream.as_fd(), buffer), written_ns))
    }

    /// Settles an attempt to connect after its event: `None` while it is undecided.
    pub fn settle(&mut self, life: Life) -> Option<Result<(), Closed>> {
        let socket = self.live(life)?;
        match socket.stream.take_error() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => return Some(Err(Closed::from_io(&error))),
        }
        match socket.stream.peer_addr() {
            Ok(_) => {
                socket.connecting = false;
                socket.connected_ns = monotonic_ns();
                Some(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected => None,
            Err(error) => Some(Err(Closed::from_io(&error))),
        }
    }

    /// How a connection came to be that is open now; `stamp` is that of the last bytes of its handshake, if there was one.
    pub fn opening(&mut self, life: Life, stamp: Option<Stamp>) -> Option<Connected> {
        let socket = self.live(life)?;
        let stamp = stamp.unwrap_or(Stamp {
            arrived_ns: socket.connected_ns,
            seen_ns: socket.connected_ns,
            source: StampSource::Own,
        });
        Some(Connected {
            begun_ns: socket.begun_ns,
            connect_ns: socket.connected_ns.saturating_sub(socket.begun_ns),
            handshake_ns: socket
                .hello_ns
                .map(|hello_ns| stamp.arrived_ns.saturating_sub(hello_ns)),
            stamp,
        })
    }

    fn begin(&mut self, life: Life, address: SocketAddr) -> io::Result<Socket> {
        let begun_ns = monotonic_ns();
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // A kernel without stamps is no failure: answers are then stamped by our clock, and counted so.
        let _ = sys::stamp_arrivals(stream.as_fd());
        self.registry.register(
            &mut stream,
            life.token(),
            Interest::READABLE | Interest::WRITABLE,
        )?;
        Ok(Socket {
            stream,
            connecting: true,
            unsent: Vec::new(),
            unsent_from: 0,
            start: None,
            owed: 0,
            wants_room: false,
            ending: false,
            written_ns: 0,
            begun_ns,
            connected_ns: 0,
            hello_ns: None,
            layer: None,
        })
    }

    pub(super) fn life(&self, conn: ConnId) -> Life {
        let generation = self
            .slots
            .get(conn.0 as usize)
            .map_or(0, |slot| slot.generation);
        Life { conn, generation }
    }

    fn drop_socket(&mut self, conn: ConnId) {
        if let Some(slot) = self.slots.get_mut(conn.0 as usize) {
            // Closing the descriptor takes it out of epoll.
            slot.socket = None;
            slot.generation = slot.generation.wrapping_add(1);
        }
    }
}

/// Without the C library: its wrapper is a cancellation point.
#[inline]
fn send(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(stream, bytes, SendFlags::NOSIGNAL)?)
}

impl Socket {
    /// Ends our direction. Fails only when the connection is gone, and that is told as its end.
    fn end_direction(&mut self) {
        self.ending = false;
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Gives the room back of what the kernel has taken, also while a rest waits: a server that always reads less than all would
    /// otherwise have everything kept that ever went. The rest is moved once it is no longer than that, so that moving costs no
    /// more than sending.
    fn forget_sent(&mut self) {
        let sent = self.unsent_from;
        let rest = self.unsent.len() - sent;
        if sent < rest {
            return;
        }
        self.unsent.drain(..sent);
        self.unsent_from = 0;
        self.start = self.start.map(|start| start - sent);
        if rest == 0 {
            self.owed = 0;
        }
    }

    /// Whether room in the kernel is waited for.
    #[inline]
    #[must_use]
    pub fn wants_out(&self) -> bool {
        self.wants_room || self.has_unsent()
    }

    /// Whether there is room that was waited for.
    fn take_room(&mut self) -> bool {
        !self.has_unsent() && std::mem::take(&mut self.wants_room)
    }

    /// Whether bytes wait for room in the kernel.
    #[inline]
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }
}

impl Life {
    /// As a token of mio.
    #[must_use]
    pub fn token(self) -> Token {
        Token((self.generation as usize) << 32 | self.conn.0 as usize)
    }

    /// From the data of an event.
    #[inline]
    #[must_use]
    pub fn from_data(data: u64) -> Self {
        Self {
            conn: ConnId(data as u32),
            generation: (data >> 32) as u32,
        }
    }
}

impl Wire for Sockets {
    #[inline]
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        let at = conn.0 as usize;
        if at >= self.slots.len() {
            self.slots.resize_with(at + 1, Slot::default);
        }
        let life = self.life(conn);
        // Here because every protocol comes by here, wherever it learnt the address.
        if let Err(refused) = self.reach.check(address.ip()) {
            return self.fail(life, Closed::OutOfReach(refused));
        }
        match self.begin(life, address) {
            Ok(socket) => self.slots[at].socket = Some(socket),
            Err(error) => self.fail(life, Closed::from_io(&error)),
        }
    }

    fn name(&mut self, conn: ConnId, host: &str) {
        if let Some(secure) = &mut self.tls {
            secure.name(conn, host);
        }
    }

    #[inline]
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        let life = self.life(conn);
        match self.tls {
            None => self.give(life, bytes),
            Some(_) => self.write_sealed(life, bytes),
        }
    }

    fn pour(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        let life = self.life(conn);
        let is_sealed = self.tls.is_some();
        let Some(socket) = self.live(life) else {
            return 0;
        };
        if socket.has_unsent() {
            socket.wants_room = true;
            return 0;
        }
        if is_sealed {
            // What is sealed has to be kept: one piece at most waits for the kernel.
            self.write_sealed(life, bytes);
            return bytes.len();
        }
        socket.written_ns = monotonic_ns();
        let taken = match send(&socket.stream, bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => {
                self.failed.push((life, Closed::from_io(&error)));
                return 0;
            }
        };
        socket.wants_room = taken < bytes.len();
        self.bytes_sent += taken as u64;
        taken
    }

    fn half_close(&mut self, conn: ConnId) {
        let life = self.life(conn);
        if self.tls.is_some() {
            self.end_sealed(life);
        }
        let Some(socket) = self.live(life) else {
            return;
        };
        if socket.has_unsent() {
            socket.ending = true;
        } else {
            socket.end_direction();
        }
    }

    fn close(&mut self, conn: ConnId) {
        if self.tls.is_some() {
            self.say_goodbye(self.life(conn));
        }
        self.drop_socket(conn);
    }

    fn farewell(&mut self, conn: ConnId) {
        if self.tls.is_some() {
            self.say_goodbye(self.life(conn));
        }
    }

    fn abort(&mut self, conn: ConnId) {
        let life = self.life(conn);
        if self.tls.is_some() {
            self.say_goodbye(life);
        }
        if let Some(socket) = self.live(life) {
            // Refused by no socket; without it the end is an orderly one.
            let _ = rustix::net::sockopt::set_socket_linger(&socket.stream, Some(Duration::ZERO));
        }
        self.drop_socket(conn);
    }
}

#[cfg(test)]
mod tests;
