//! TLS on a worker's sockets: performs the handshake, then encrypts writes and decrypts reads.

use std::collections::BTreeMap;
use std::io;

use rustls::pki_types::ServerName;
use tare_record::agent::{HandshakeKind, NegotiatedTls, TlsCount};

use super::sockets::{SocketKey, Sockets};
use super::{BUFFER_BYTES, Ending, RECEIVES_MAX, Worker};
use crate::client::{Client, Closed, ConnId, Stamp, Written};
use crate::tls::{
    Decrypted, Handshake, HandshakeProgress, HandshakeResult, PostHandshake, RECORD_MAX, Session,
    TlsClient, TlsFailure,
};

const _: () = assert!(
    BUFFER_BYTES > 2 * RECORD_MAX,
    "behind the beginning of a record there is room to receive"
);

/// TLS of one socket.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is boxed as a whole, and lives nearly all its life as the large one"
)]
pub enum TlsLayer {
    /// During the handshake.
    Handshaking(Handshake),
    /// After it.
    Established(Session),
}

/// TLS of all sockets of a worker.
#[derive(Debug)]
pub struct TlsState {
    client: TlsClient,
    /// Server names by slot, where they differ.
    named: BTreeMap<u32, ServerName<'static>>,
    /// Buffer for encrypted records to send.
    sealed: Vec<u8>,
    counts: Vec<TlsCount>,
}

/// Result of decrypting received bytes.
enum TlsRead {
    /// Data for the client in `from..to` of the buffer; `used` bytes are consumed.
    Data { from: usize, to: usize, used: usize },
    /// A TLS message without data.
    Nothing { used: usize, told: PostHandshake },
    /// The handshake is complete; `early` is data that came with its end.
    HandshakeDone { early: Vec<u8> },
    /// Needs more bytes; an incomplete record is kept.
    Waiting,
    /// The connection has ended, or must.
    Ended(Closed),
}

impl TlsState {
    /// Before any connection.
    pub fn new(client: TlsClient) -> Self {
        Self {
            client,
            named: BTreeMap::new(),
            sealed: Vec::with_capacity(BUFFER_BYTES),
            counts: Vec::with_capacity(4),
        }
    }

    /// Sets the server name of a slot. For a host that cannot be in a certificate, the plan's name is used.
    pub fn set_server_name(&mut self, conn: ConnId, host: &str) {
        match self.client.name_of(host) {
            Some(name) => self.named.insert(conn.0, name),
            None => self.named.remove(&conn.0),
        };
    }

    fn count(&mut self, seen: NegotiatedTls, kind: HandshakeKind) {
        let at = self.counts.iter().position(|count| count.seen == seen);
        let at = at.unwrap_or_else(|| {
            self.counts.push(TlsCount {
                seen,
                full: 0,
                resumed: 0,
            });
            self.counts.len() - 1
        });
        match kind {
            HandshakeKind::Full => self.counts[at].full += 1,
            HandshakeKind::Resumed => self.counts[at].resumed += 1,
        }
    }
}

impl Sockets {
    /// Handshakes in which our certificate was requested and sent.
    pub fn certificates_shown(&self) -> u64 {
        let tls = self.tls.as_ref();
        tls.map_or(0, |tls_state| tls_state.client.certificates_shown())
    }

    /// TLS parameters of the handshakes.
    pub fn take_tls_counts(&mut self) -> Vec<TlsCount> {
        self.tls
            .as_mut()
            .map(|tls_state| std::mem::take(&mut tls_state.counts))
            .unwrap_or_default()
    }

    /// Sends the ClientHello over a connection that was just opened.
    pub fn start_handshake(&mut self, key: SocketKey) -> Result<(), Closed> {
        let Some(tls_state) = &mut self.tls else {
            return Ok(());
        };
        let mut handshake = Handshake::begin(&tls_state.client, tls_state.named.get(&key.conn.0))
            .map_err(Closed::Tls)?;
        let mut out = std::mem::take(&mut tls_state.sealed);
        out.clear();
        let begun = handshake.proceed(&[], &mut out);
        if let Some(socket) = self.live(key) {
            socket.layer = Some(Box::new(TlsLayer::Handshaking(handshake)));
        }
        self.write_control(key, &out);
        if let Some(socket) = self.live(key) {
            socket.hello_ns = Some(socket.written_ns);
        }
        self.keep_sealed(out);
        begun.map(|_| ()).map_err(Closed::Tls)
    }

    /// Encrypts and sends.
    pub(super) fn write_tls(&mut self, key: SocketKey, bytes: &[u8]) -> Written {
        let mut out = self.take_sealed();
        let sealed = match self.layer(key) {
            Some(TlsLayer::Established(session)) => session.seal(bytes, &mut out),
            // The client writes only on connections reported as open, after their handshake.
            Some(TlsLayer::Handshaking(_)) | None => return Written::Queued,
        };
        let written = match sealed {
            Ok(()) => self.write_or_buffer(key, &out),
            Err(failure) => {
                self.fail(key, Closed::Tls(failure));
                Written::Queued
            }
        };
        self.keep_sealed(out);
        written
    }

    /// Sends close_notify after everything written (RFC 8446 §6.1); the other direction stays open.
    pub(super) fn queue_close_notify(&mut self, key: SocketKey) {
        let mut out = self.take_sealed();
        if let Some(TlsLayer::Established(session)) = self.layer(key) {
            session.seal_close(&mut out);
            self.write_control(key, &out);
        }
        self.keep_sealed(out);
    }

    /// Sends close_notify if nothing is unsent, otherwise drops it.
    pub(super) fn send_close_notify(&mut self, key: SocketKey) {
        let mut out = self.take_sealed();
        if let Some(TlsLayer::Established(session)) = self.layer(key) {
            session.seal_close(&mut out);
            if self.live(key).is_some_and(|socket| !socket.has_unsent()) {
                self.write_control(key, &out);
            }
        }
        self.keep_sealed(out);
    }

    /// Puts the kept start of a record at the front of the buffer; returns its length.
    #[inline]
    fn put_held(&mut self, key: SocketKey, buffer: &mut [u8]) -> usize {
        match self.layer(key) {
            Some(TlsLayer::Established(session)) => session.put_held(buffer),
            _ => 0,
        }
    }

    /// Decrypts the record at the front.
    #[inline]
    fn open(&mut self, key: SocketKey, wire: &mut [u8]) -> Option<TlsRead> {
        let mut out = self.take_sealed();
        let (opened, finished) = match self.layer(key)? {
            TlsLayer::Established(session) => (open(session, wire, &mut out), false),
            TlsLayer::Handshaking(handshake) => match handshake.proceed(wire, &mut out) {
                Ok(HandshakeProgress::Waiting) => (TlsRead::Waiting, false),
                Ok(HandshakeProgress::Done) => (TlsRead::Waiting, true),
                Err(failure) => (TlsRead::Ended(Closed::Tls(failure)), false),
            },
        };
        if !out.is_empty() {
            self.write_control(key, &out);
        }
        self.keep_sealed(out);
        if finished {
            return self.finish(key);
        }
        Some(opened)
    }

    /// Switches from the handshake to the session.
    fn finish(&mut self, key: SocketKey) -> Option<TlsRead> {
        let socket = self.live(key)?;
        let Some(TlsLayer::Handshaking(handshake)) = socket.layer.take().map(|layer| *layer) else {
            return None;
        };
        let HandshakeResult {
            session,
            early,
            seen,
            kind,
        } = match handshake.finish() {
            Ok(shaken) => shaken,
            Err(failure) => return Some(TlsRead::Ended(Closed::Tls(failure))),
        };
        socket.layer = Some(Box::new(TlsLayer::Established(session)));
        if let Some(tls_state) = &mut self.tls {
            tls_state.count(seen, kind);
        }
        Some(TlsRead::HandshakeDone { early })
    }

    /// Meaning of the end of the stream: without a close_notify it was truncated.
    fn end_of_stream(&mut self, key: SocketKey) -> Closed {
        match self.layer(key) {
            Some(TlsLayer::Handshaking(_)) => Closed::Tls(TlsFailure::ClosedInHandshake),
            _ => Closed::Tls(TlsFailure::Truncated),
        }
    }

    #[inline]
    fn layer(&mut self, key: SocketKey) -> Option<&mut TlsLayer> {
        self.live(key)?.layer.as_deref_mut()
    }

    #[inline]
    fn take_sealed(&mut self) -> Vec<u8> {
        match &mut self.tls {
            Some(tls_state) => std::mem::take(&mut tls_state.sealed),
            None => Vec::new(),
        }
    }

    #[inline]
    fn keep_sealed(&mut self, mut sealed: Vec<u8>) {
        if let Some(tls_state) = &mut self.tls {
            sealed.clear();
            tls_state.sealed = sealed;
        }
    }
}

#[inline]
fn open(session: &mut Session, wire: &mut [u8], out: &mut Vec<u8>) -> TlsRead {
    match session.open(wire, out) {
        Ok(Decrypted::Data { from, to, used }) => TlsRead::Data { from, to, used },
        Ok(Decrypted::Nothing { used, told }) => TlsRead::Nothing { used, told },
        Ok(Decrypted::Incomplete) => {
            session.hold(wire);
            TlsRead::Waiting
        }
        Ok(Decrypted::Closed) => TlsRead::Ended(Closed::Eof),
        Err(failure) => TlsRead::Ended(Closed::Tls(failure)),
    }
}

impl<C: Client> Worker<C> {
    /// [`Worker::read`] with TLS: received records are decrypted in place.
    pub(super) fn read_tls(&mut self, key: SocketKey, ending: Ending) {
        for _ in 0..RECEIVES_MAX {
            let io = &mut self.io;
            let held = io.sockets.put_held(key, &mut io.buffer);
            let Some((received, written_ns)) = io.sockets.receive(key, &mut io.buffer[held..])
            else {
                return;
            };
            let received = match received {
                Ok(received) => received,
                Err(error) => {
                    self.hold(key, 0..held);
                    match error.kind() {
                        io::ErrorKind::WouldBlock => return,
                        io::ErrorKind::Interrupted => continue,
                        _ => return self.ended(key, Closed::from_io(&error)),
                    }
                }
            };
            if received.bytes == 0 {
                let why = io.sockets.end_of_stream(key);
                return self.ended(key, why);
            }
            let stamp = io.stamp(&received, written_ns);
            io.bytes_received += received.bytes as u64;
            let all = held + received.bytes;
            if self.open_all(key, all, stamp).is_none() {
                return;
            }
            if all < BUFFER_BYTES && ending == Ending::Maybe {
                return;
            }
        }
        self.io.again.push((key, ending));
    }

    /// Decrypts `all` bytes of the buffer and passes them to the client; `None` when that ended the connection.
    #[inline]
    fn open_all(&mut self, key: SocketKey, all: usize, stamp: Stamp) -> Option<()> {
        let mut at = 0;
        while at < all {
            let io = &mut self.io;
            match io.sockets.open(key, &mut io.buffer[at..all])? {
                TlsRead::Data { from, to, used } => {
                    let data = &io.buffer[at + from..at + to];
                    self.engine.on_bytes(key.conn, data, stamp, &mut io.sockets);
                    at += used;
                }
                TlsRead::Nothing { used, told } => {
                    if told == PostHandshake::Ticket {
                        self.engine.on_session_ticket(key.conn, &mut io.sockets);
                    }
                    at += used;
                }
                TlsRead::HandshakeDone { early } => {
                    let opening = io.sockets.opening(key, Some(stamp))?;
                    self.engine
                        .on_connected(key.conn, &opening, &mut io.sockets);
                    if !early.is_empty() {
                        io.sockets.live(key)?;
                        self.engine
                            .on_bytes(key.conn, &early, stamp, &mut io.sockets);
                    }
                    at = all;
                }
                TlsRead::Waiting => at = all,
                TlsRead::Ended(why) => {
                    io.sockets.send_close_notify(key);
                    self.ended(key, why);
                    return None;
                }
            }
        }
        Some(())
    }

    fn hold(&mut self, key: SocketKey, part: std::ops::Range<usize>) {
        let io = &mut self.io;
        if let Some(TlsLayer::Established(session)) = io.sockets.layer(key) {
            session.hold(&io.buffer[part]);
        }
    }
}
