//! The real [`ConnectionIo`]: non-blocking sockets of one worker: TCP, plain or with TLS (see [`super::tls_state`]), or UDP.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType,
    sockopt,
};
use tare_record::load::{AddressPolicy, ProxyProtocol};

use super::tls_state::{TlsLayer, TlsState};
use crate::client::{Closed, ConnId, Connected, REPLY_BYTES_MAX, Stamp, StampSource, Written};
use crate::clock::monotonic_ns;
use crate::engine::ConnectionIo;
use crate::protocols::SocketKind;
use crate::proxy_protocol;
use crate::sys;
use crate::tls::TlsClient;

/// Receive buffer of a UDP socket: 50 ms of 10,000 large datagrams a second. Half of it, where it is limited, is the default.
const DATAGRAM_BUFFER_BYTES: usize = 8 << 20;

/// One connection.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// Nothing is read before the attempt has succeeded.
    pub connecting: bool,
    /// Bytes that the kernel has not taken, from `unsent_from` on.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// Start in `unsent` of the write whose first byte has not been sent.
    start: Option<usize>,
    /// Protocol replies among the unsent bytes, since `unsent` was last empty.
    reply_bytes: usize,
    /// Whether `try_write` took fewer bytes than offered: the client is told when there is space.
    pub wants_writable: bool,
    /// Our direction closes when nothing is unsent.
    ending: bool,
    /// Start of the last write: no response to it can be older.
    pub written_ns: u64,
    /// Start of the attempt.
    begun_ns: u64,
    /// When its success was seen.
    connected_ns: u64,
    /// When the ClientHello was sent.
    pub(super) hello_ns: Option<u64>,
    /// TLS; `None` without it, and before the connection is open.
    pub(super) layer: Option<Box<TlsLayer>>,
}

/// A socket in events: its slot, and the generation of the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketKey {
    /// The slot.
    pub conn: ConnId,
    generation: u32,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    socket: Option<Socket>,
}

/// Where connections lead, and what they begin with.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// Addresses that may be connected to.
    pub reach: AddressPolicy,
    /// Connections are made to this Unix socket, whatever the address.
    pub unix_socket: Option<Arc<str>>,
    /// Each connection begins with this header.
    pub proxy_protocol: Option<ProxyProtocol>,
}

/// The sockets of one worker.
#[derive(Debug)]
pub struct Sockets {
    registry: Registry,
    slots: Vec<Slot>,
    failed: Vec<(SocketKey, Closed)>,
    dial: ConnectOptions,
    pub(super) kind: SocketKind,
    pub(super) tls: Option<TlsState>,
    pub bytes_sent: u64,
    /// Datagrams that closed sockets had no space for.
    dropped_datagrams: u64,
}

impl Sockets {
    /// No sockets yet, and never one to an address that may not be connected to.
    #[must_use]
    pub fn new(
        registry: Registry,
        kind: SocketKind,
        connections: usize,
        tls: Option<TlsClient>,
        dial: ConnectOptions,
    ) -> Self {
        Self {
            registry,
            kind,
            slots: Vec::with_capacity(connections),
            failed: Vec::with_capacity(64),
            dial,
            tls: tls.map(TlsState::new),
            bytes_sent: 0,
            dropped_datagrams: 0,
        }
    }

    /// The socket of an event, if it still exists.
    #[inline]
    pub fn live(&mut self, key: SocketKey) -> Option<&mut Socket> {
        let slot = self.slots.get_mut(key.conn.0 as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        slot.socket.as_mut()
    }

    /// A failure to report.
    pub fn take_failed(&mut self) -> Option<(SocketKey, Closed)> {
        self.failed.pop()
    }

    /// Removes a socket, or an attempt that never had one; false if it was removed before.
    pub fn remove(&mut self, key: SocketKey) -> bool {
        let lived = self.key(key.conn) == key;
        if lived {
            self.drop_socket(key.conn);
        }
        lived
    }

    /// Sends unsent bytes. Returns when the waiting write began, if it did.
    pub fn flush(&mut self, key: SocketKey) -> Option<u64> {
        let mut sent = 0;
        let socket = self.live(key)?;
        let (mut went, mut failure) = (None, None);
        while socket.unsent_from < socket.unsent.len() {
            let at_ns = monotonic_ns();
            match send(&socket.fd, &socket.unsent[socket.unsent_from..]) {
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
        socket.discard_sent();
        if !socket.has_unsent() && socket.ending {
            socket.end_direction();
        }
        self.bytes_sent += sent;
        if let Some(why) = failure {
            self.failed.push((key, why));
        }
        went
    }

    /// Sends bytes, or buffers what the kernel does not take.
    #[inline]
    pub(super) fn write_or_buffer(&mut self, key: SocketKey, bytes: &[u8]) -> Written {
        let Some(socket) = self.live(key) else {
            return Written::Queued;
        };
        let at_ns = monotonic_ns();
        socket.written_ns = at_ns;
        if socket.has_unsent() {
            if socket.start.is_some() {
                // The last write has not begun, so the client cannot have had a response to it.
                self.fail(key, Closed::RepliesUnread);
            } else {
                socket.start = Some(socket.unsent.len());
                socket.unsent.extend_from_slice(bytes);
            }
            return Written::Queued;
        }
        match send(&socket.fd, bytes) {
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
                    self.failed.push((key, Closed::from_io(&error)));
                }
                Written::Queued
            }
        }
    }

    /// Sends bytes that belong to no write of the client: TLS messages and replies. Limits what is buffered for a peer that does
    /// not read.
    pub(super) fn write_control(&mut self, key: SocketKey, bytes: &[u8]) {
        let Some(socket) = self.live(key).filter(|_| !bytes.is_empty()) else {
            return;
        };
        if !socket.has_unsent() {
            if let (Written::Queued, Some(socket)) =
                (self.write_or_buffer(key, bytes), self.live(key))
            {
                socket.start = None;
            }
        } else if socket.reply_bytes + bytes.len() > REPLY_BYTES_MAX {
            self.fail(key, Closed::RepliesUnread);
        } else {
            socket.reply_bytes += bytes.len();
            socket.unsent.extend_from_slice(bytes);
        }
    }

    /// Records a failure, to be reported later; repeated ones once.
    pub(super) fn fail(&mut self, key: SocketKey, why: Closed) {
        if self.failed.last() != Some(&(key, why)) {
            self.failed.push((key, why));
        }
    }

    /// Whether a connection that waited for space can be written to again; true once.
    pub fn take_writable(&mut self, key: SocketKey) -> bool {
        self.live(key).is_some_and(Socket::take_writable)
    }

    /// Receives into a buffer; see [`sys::receive`].
    #[inline]
    pub fn receive(
        &mut self,
        key: SocketKey,
        buffer: &mut [u8],
    ) -> Option<(io::Result<sys::Received>, u64)> {
        let socket = self.live(key)?;
        let written_ns = socket.written_ns;
        Some((sys::receive(socket.fd.as_fd(), buffer), written_ns))
    }

    /// Completes a connection attempt after its event; `None` while it is undecided.
    pub fn finish_connect(&mut self, key: SocketKey) -> Option<Result<(), Closed>> {
        let proxy_protocol = self.dial.proxy_protocol;
        let socket = self.live(key)?;
        match sockopt::socket_error(&socket.fd) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => return Some(Err(Closed::from_io(&error.into()))),
        }
        match rustix::net::getpeername(&socket.fd) {
            Ok(peer) => {
                socket.connecting = false;
                socket.connected_ns = monotonic_ns();
                if let Some(version) = proxy_protocol {
                    let from = rustix::net::getsockname(&socket.fd).ok();
                    let ends = from.and_then(|from| Some((of_ip(from)?, of_ip(peer?)?)));
                    self.write_control(key, &proxy_protocol::header(version, ends));
                }
                Some(Ok(()))
            }
            Err(Errno::NOTCONN) => None,
            Err(error) => Some(Err(Closed::from_io(&error.into()))),
        }
    }

    /// Times of a connection that has just opened; `stamp` is that of the last handshake bytes, if there was a handshake.
    pub fn opening(&mut self, key: SocketKey, stamp: Option<Stamp>) -> Option<Connected> {
        let socket = self.live(key)?;
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

    fn begin(&mut self, key: SocketKey, address: SocketAddr) -> io::Result<Socket> {
        let begun_ns = monotonic_ns();
        let fd = match (&self.dial.unix_socket, self.kind) {
            (Some(path), SocketKind::Stream) => open_unix(path)?,
            _ => open(self.kind, address)?,
        };
        self.registry.register(
            &mut SourceFd(&fd.as_raw_fd()),
            key.token(),
            Interest::READABLE | Interest::WRITABLE,
        )?;
        Ok(Socket {
            fd,
            connecting: true,
            unsent: Vec::new(),
            unsent_from: 0,
            start: None,
            reply_bytes: 0,
            wants_writable: false,
            ending: false,
            written_ns: 0,
            begun_ns,
            connected_ns: 0,
            hello_ns: None,
            layer: None,
        })
    }

    pub(super) fn key(&self, conn: ConnId) -> SocketKey {
        let generation = self
            .slots
            .get(conn.0 as usize)
            .map_or(0, |slot| slot.generation);
        SocketKey { conn, generation }
    }

    /// Datagrams that the kernel dropped because the generator had not read earlier ones; `None` for TCP.
    pub fn dropped_datagrams(&self) -> Option<u64> {
        let open = self.slots.iter().filter_map(|slot| slot.socket.as_ref());
        let of_open: u64 = open.map(Socket::dropped_datagrams).sum();
        (self.kind == SocketKind::Datagram).then_some(self.dropped_datagrams + of_open)
    }

    fn drop_socket(&mut self, conn: ConnId) {
        if let Some(slot) = self.slots.get_mut(conn.0 as usize) {
            if let (SocketKind::Datagram, Some(socket)) = (self.kind, &slot.socket) {
                self.dropped_datagrams += socket.dropped_datagrams();
            }
            // Closing the descriptor removes it from epoll.
            slot.socket = None;
            slot.generation = slot.generation.wrapping_add(1);
        }
    }
}

/// A raw system call: the C library's wrapper is a cancellation point.
#[inline]
fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL)?)
}

/// An address as IP has it; `None` for a Unix socket.
fn of_ip(address: SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address).ok()
}

/// A connection to a Unix socket. It has no kernel timestamps.
fn open_unix(path: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&fd, &SocketAddrUnix::new(path)?) {
        Ok(()) => Ok(fd),
        // No such socket is as a port where nothing listens.
        Err(Errno::NOENT) => Err(Errno::CONNREFUSED.into()),
        Err(error) => Err(error.into()),
    }
}

/// A socket that connects, or is connected: to connect UDP only sets the address of the peer.
fn open(kind: SocketKind, address: SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket_type = match kind {
        SocketKind::Stream => SocketType::STREAM,
        SocketKind::Datagram => SocketType::DGRAM,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(family, socket_type, flags, None)?;
    match kind {
        SocketKind::Stream => sockopt::set_tcp_nodelay(&fd, true)?,
        // Only root may exceed the system's limit. Datagrams that find the buffer full are counted.
        SocketKind::Datagram => {
            if sockopt::set_socket_recv_buffer_size_force(&fd, DATAGRAM_BUFFER_BYTES).is_err() {
                let _ = sockopt::set_socket_recv_buffer_size(&fd, DATAGRAM_BUFFER_BYTES);
            }
        }
    }
    // Without kernel timestamps, responses are timestamped by our clock, and counted as such.
    let _ = sys::stamp_arrivals(fd.as_fd());
    match rustix::net::connect(&fd, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(fd),
        Err(error) => Err(error.into()),
    }
}

impl Socket {
    /// Closes our direction. Fails only when the connection is gone, which is reported as its end.
    fn end_direction(&mut self) {
        self.ending = false;
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Write);
    }

    fn dropped_datagrams(&self) -> u64 {
        sys::dropped_datagrams(self.fd.as_fd()).map_or(0, u64::from)
    }

    /// Frees sent bytes while others are unsent; otherwise a slow reader makes the buffer grow without limit. The rest is moved
    /// when it is no longer than the sent part, so that moving costs no more than sending.
    fn discard_sent(&mut self) {
        let sent = self.unsent_from;
        let rest = self.unsent.len() - sent;
        if sent < rest {
            return;
        }
        self.unsent.drain(..sent);
        self.unsent_from = 0;
        self.start = self.start.map(|start| start - sent);
        if rest == 0 {
            self.reply_bytes = 0;
        }
    }

    /// Whether it waits for the kernel to take more bytes.
    #[inline]
    #[must_use]
    pub fn awaits_writable(&self) -> bool {
        self.wants_writable || self.has_unsent()
    }

    /// Whether there is space that was waited for.
    fn take_writable(&mut self) -> bool {
        !self.has_unsent() && std::mem::take(&mut self.wants_writable)
    }

    /// Whether bytes wait to be sent.
    #[inline]
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }
}

impl SocketKey {
    /// As a mio token.
    #[must_use]
    pub fn token(self) -> Token {
        Token((self.generation as usize) << 32 | self.conn.0 as usize)
    }

    /// From the data of an epoll event.
    #[inline]
    #[must_use]
    pub fn from_data(data: u64) -> Self {
        Self {
            conn: ConnId(data as u32),
            generation: (data >> 32) as u32,
        }
    }
}

impl ConnectionIo for Sockets {
    #[inline]
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        let at = conn.0 as usize;
        if at >= self.slots.len() {
            self.slots.resize_with(at + 1, Slot::default);
        }
        let key = self.key(conn);
        // Checked here because every protocol connects through this function, wherever the address is from.
        if let (None, Err(refused)) = (&self.dial.unix_socket, self.dial.reach.check(address.ip()))
        {
            return self.fail(key, Closed::AddressNotAllowed(refused));
        }
        match self.begin(key, address) {
            Ok(socket) => self.slots[at].socket = Some(socket),
            Err(error) => self.fail(key, Closed::from_io(&error)),
        }
    }

    fn set_server_name(&mut self, conn: ConnId, host: &str) {
        if let Some(tls_state) = &mut self.tls {
            tls_state.set_server_name(conn, host);
        }
    }

    #[inline]
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        let key = self.key(conn);
        match self.tls {
            None => self.write_or_buffer(key, bytes),
            Some(_) => self.write_tls(key, bytes),
        }
    }

    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        let key = self.key(conn);
        let is_sealed = self.tls.is_some();
        let Some(socket) = self.live(key) else {
            return 0;
        };
        if socket.has_unsent() {
            socket.wants_writable = true;
            return 0;
        }
        if is_sealed {
            // Encrypted records must be buffered: at most one piece waits for the kernel.
            self.write_tls(key, bytes);
            return bytes.len();
        }
        socket.written_ns = monotonic_ns();
        let taken = match send(&socket.fd, bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => {
                self.failed.push((key, Closed::from_io(&error)));
                return 0;
            }
        };
        socket.wants_writable = taken < bytes.len();
        self.bytes_sent += taken as u64;
        taken
    }

    fn half_close(&mut self, conn: ConnId) {
        let key = self.key(conn);
        if self.tls.is_some() {
            self.queue_close_notify(key);
        }
        let Some(socket) = self.live(key) else {
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
            self.send_close_notify(self.key(conn));
        }
        self.drop_socket(conn);
    }

    fn close_notify(&mut self, conn: ConnId) {
        if self.tls.is_some() {
            self.send_close_notify(self.key(conn));
        }
    }

    fn abort(&mut self, conn: ConnId) {
        let key = self.key(conn);
        if self.tls.is_some() {
            self.send_close_notify(key);
        }
        if let Some(socket) = self.live(key) {
            // No socket refuses it; without it the close would be an orderly one.
            let _ = sockopt::set_socket_linger(&socket.fd, Some(Duration::ZERO));
        }
        self.drop_socket(conn);
    }
}

#[cfg(test)]
mod tests;
