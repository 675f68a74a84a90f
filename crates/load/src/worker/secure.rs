//! TLS on the sockets of a worker: shakes hands once a connection is there, then seals what is written and opens what is read.

use std::collections::BTreeMap;
use std::io;

use rustls::pki_types::ServerName;
use tare_schema::agent::{Handshaken, TlsCount, TlsSeen};

use super::sockets::{Life, Sockets};
use super::{BUFFER_BYTES, Ending, RECEIVES_MAX, Worker};
use crate::client::{Client, Closed, ConnId, Stamp, Written};
use crate::tls::{
    Handshake, Progress, RECORD_MAX, Session, Shaken, Step, TlsClient, TlsFault, Told,
};

const _: () = assert!(
    BUFFER_BYTES > 2 * RECORD_MAX,
    "behind the beginning of a record there is room to receive"
);

/// What is spoken over one socket.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is boxed as a whole, and lives nearly all its life as the large one"
)]
pub enum Layer {
    /// The handshake is under way.
    Shaking(Handshake),
    /// It is done.
    Open(Session),
}

/// What all sockets of a worker share for TLS.
#[derive(Debug)]
pub struct Secure {
    client: TlsClient,
    /// Whom to meet, by slot, where that is not the same for all.
    named: BTreeMap<u32, ServerName<'static>>,
    /// Sealed records on their way to the kernel.
    sealed: Vec<u8>,
    counts: Vec<TlsCount>,
}

/// What became of received bytes.
enum Opened {
    /// Data for the client, in the buffer from here to there; so many bytes are done with.
    Data { from: usize, to: usize, used: usize },
    /// Something of TLS alone.
    Nothing { used: usize, told: Told },
    /// The handshake is done; this came with its end.
    Shaken { early: Vec<u8> },
    /// All that can be read was read; the rest is kept.
    Waiting,
    /// No more comes, or can come.
    Ended(Closed),
}

impl Secure {
    /// Nothing connected yet.
    pub fn new(client: TlsClient) -> Self {
        Self {
            client,
            named: BTreeMap::new(),
            sealed: Vec::with_capacity(BUFFER_BYTES),
            counts: Vec::with_capacity(4),
        }
    }

    /// Meets this one in a slot. A host that cannot be one of a certificate is not taken: then the plan's is expected.
    pub fn name(&mut self, conn: ConnId, host: &str) {
        match self.client.name_of(host) {
            Some(name) => self.named.insert(conn.0, name),
            None => self.named.remove(&conn.0),
        };
    }

    fn count(&mut self, seen: TlsSeen, kind: Handshaken) {
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
            Handshaken::Full => self.counts[at].full += 1,
            Handshaken::Resumed => self.counts[at].resumed += 1,
        }
    }
}

impl Sockets {
    /// Handshakes in which our certificate was asked for and shown.
    pub fn certificates_shown(&self) -> u64 {
        let tls = self.tls.as_ref();
        tls.map_or(0, |secure| secure.client.certificates_shown())
    }

    /// What the handshakes agreed on.
    pub fn take_tls_counts(&mut self) -> Vec<TlsCount> {
        self.tls
            .as_mut()
            .map(|secure| std::mem::take(&mut secure.counts))
            .unwrap_or_default()
    }

    /// Sends the first words of the handshake over a connection that has just come to be.
    pub fn shake(&mut self, life: Life) -> Result<(), Closed> {
        let Some(secure) = &mut self.tls else {
            return Ok(());
        };
        let mut handshake = Handshake::begin(&secure.client, secure.named.get(&life.conn.0))
            .map_err(Closed::Tls)?;
        let mut out = std::mem::take(&mut secure.sealed);
        out.clear();
        let begun = handshake.proceed(&[], &mut out);
        if let Some(socket) = self.live(life) {
            socket.layer = Some(Box::new(Layer::Shaking(handshake)));
        }
        self.give_own(life, &out);
        if let Some(socket) = self.live(life) {
            socket.hello_ns = Some(socket.written_ns);
        }
        self.keep_sealed(out);
        begun.map(|_| ()).map_err(Closed::Tls)
    }

    /// Seals and sends.
    pub(super) fn write_sealed(&mut self, life: Life, bytes: &[u8]) -> Written {
        let mut out = self.take_sealed();
        let sealed = match self.layer(life) {
            Some(Layer::Open(session)) => session.seal(bytes, &mut out),
            // The client writes only on connections it was told of, and those have shaken hands.
            Some(Layer::Shaking(_)) | None => return Written::Queued,
        };
        let written = match sealed {
            Ok(()) => self.give(life, &out),
            Err(fault) => {
                self.fail(life, Closed::Tls(fault));
                Written::Queued
            }
        };
        self.keep_sealed(out);
        written
    }

    /// Says close_notify behind everything that was written (RFC 8446 §6.1); the other direction stays open.
    pub(super) fn end_sealed(&mut self, life: Life) {
        let mut out = self.take_sealed();
        if let Some(Layer::Open(session)) = self.layer(life) {
            session.seal_close(&mut out);
            self.give_own(life, &out);
        }
        self.keep_sealed(out);
    }

    /// Tells the other side that the connection ends with intent, if the kernel takes the word at once.
    pub(super) fn say_goodbye(&mut self, life: Life) {
        let mut out = self.take_sealed();
        if let Some(Layer::Open(session)) = self.layer(life) {
            session.seal_close(&mut out);
            if self.live(life).is_some_and(|socket| !socket.has_unsent()) {
                self.give_own(life, &out);
            }
        }
        self.keep_sealed(out);
    }

    /// Puts the beginning of a record that came before in front; how long it is.
    #[inline]
    fn put_held(&mut self, life: Life, buffer: &mut [u8]) -> usize {
        match self.layer(life) {
            Some(Layer::Open(session)) => session.put_held(buffer),
            _ => 0,
        }
    }

    /// Opens what stands at the front.
    #[inline]
    fn open(&mut self, life: Life, wire: &mut [u8]) -> Option<Opened> {
        let mut out = self.take_sealed();
        let (opened, finished) = match self.layer(life)? {
            Layer::Open(session) => (open(session, wire, &mut out), false),
            Layer::Shaking(handshake) => match handshake.proceed(wire, &mut out) {
                Ok(Progress::Waiting) => (Opened::Waiting, false),
                Ok(Progress::Done) => (Opened::Waiting, true),
                Err(fault) => (Opened::Ended(Closed::Tls(fault)), false),
            },
        };
        if !out.is_empty() {
            self.give_own(life, &out);
        }
        self.keep_sealed(out);
        if finished {
            return self.finish(life);
        }
        Some(opened)
    }

    /// Goes over from the handshake to the session.
    fn finish(&mut self, life: Life) -> Option<Opened> {
        let socket = self.live(life)?;
        let Some(Layer::Shaking(handshake)) = socket.layer.take().map(|layer| *layer) else {
            return None;
        };
        let Shaken {
            session,
            early,
            seen,
            kind,
        } = match handshake.finish() {
            Ok(shaken) => shaken,
            Err(fault) => return Some(Opened::Ended(Closed::Tls(fault))),
        };
        socket.layer = Some(Box::new(Layer::Open(session)));
        if let Some(secure) = &mut self.tls {
            secure.count(seen, kind);
        }
        Some(Opened::Shaken { early })
    }

    /// What the end of the stream means here: without a word before it, it was cut off.
    fn end_of_stream(&mut self, life: Life) -> Closed {
        match self.layer(life) {
            Some(Layer::Shaking(_)) => Closed::Tls(TlsFault::ClosedInHandshake),
            _ => Closed::Tls(TlsFault::Truncated),
        }
    }

    #[inline]
    fn layer(&mut self, life: Life) -> Option<&mut Layer> {
        self.live(life)?.layer.as_deref_mut()
    }

    #[inline]
    fn take_sealed(&mut self) -> Vec<u8> {
        match &mut self.tls {
            Some(secure) => std::mem::take(&mut secure.sealed),
            None => Vec::new(),
        }
    }

    #[inline]
    fn keep_sealed(&mut self, mut sealed: Vec<u8>) {
        if let Some(secure) = &mut self.tls {
            sealed.clear();
            secure.sealed = sealed;
        }
    }
}

#[inline]
fn open(session: &mut Session, wire: &mut [u8], out: &mut Vec<u8>) -> Opened {
    match session.open(wire, out) {
        Ok(Step::Data { from, to, used }) => Opened::Data { from, to, used },
        Ok(Step::Nothing { used, told }) => Opened::Nothing { used, told },
        Ok(Step::Part) => {
            session.hold(wire);
            Opened::Waiting
        }
        Ok(Step::Closed) => Opened::Ended(Closed::Eof),
        Err(fault) => Opened::Ended(Closed::Tls(fault)),
    }
}

impl<C: Client> Worker<C> {
    /// [`Worker::read`] with TLS: what is received is opened record by record where it lies.
    pub(super) fn read_sealed(&mut self, life: Life, ending: Ending) {
        for _ in 0..RECEIVES_MAX {
            let io = &mut self.io;
            let held = io.sockets.put_held(life, &mut io.buffer);
            let Some((received, written_ns)) = io.sockets.receive(life, &mut io.buffer[held..])
            else {
                return;
            };
            let received = match received {
                Ok(received) => received,
                Err(error) => {
                    self.hold(life, 0..held);
                    match error.kind() {
                        io::ErrorKind::WouldBlock => return,
                        io::ErrorKind::Interrupted => continue,
                        _ => return self.ended(life, Closed::from_io(&error)),
                    }
                }
            };
            if received.bytes == 0 {
                let why = io.sockets.end_of_stream(life);
                return self.ended(life, why);
            }
            let stamp = io.stamp(&received, written_ns);
            io.bytes_received += received.bytes as u64;
            let all = held + received.bytes;
            if self.open_all(life, all, stamp).is_none() {
                return;
            }
            if all < BUFFER_BYTES && ending == Ending::Maybe {
                return;
            }
        }
        self.io.again.push((life, ending));
    }

    /// Opens so many bytes of the buffer and tells the client; `None` when the connection has ended over it.
    #[inline]
    fn open_all(&mut self, life: Life, all: usize, stamp: Stamp) -> Option<()> {
        let mut at = 0;
        while at < all {
            let io = &mut self.io;
            match io.sockets.open(life, &mut io.buffer[at..all])? {
                Opened::Data { from, to, used } => {
                    let data = &io.buffer[at + from..at + to];
                    self.engine.bytes(life.conn, data, stamp, &mut io.sockets);
                    at += used;
                }
                Opened::Nothing { used, told } => {
                    if told == Told::Ticket {
                        self.engine.resumable(life.conn, &mut io.sockets);
                    }
                    at += used;
                }
                Opened::Shaken { early } => {
                    let opening = io.sockets.opening(life, Some(stamp))?;
                    self.engine.connected(life.conn, &opening, &mut io.sockets);
                    if !early.is_empty() {
                        io.sockets.live(life)?;
                        self.engine.bytes(life.conn, &early, stamp, &mut io.sockets);
                    }
                    at = all;
                }
                Opened::Waiting => at = all,
                Opened::Ended(why) => {
                    io.sockets.say_goodbye(life);
                    self.ended(life, why);
                    return None;
                }
            }
        }
        Some(())
    }

    fn hold(&mut self, life: Life, part: std::ops::Range<usize>) {
        let io = &mut self.io;
        if let Some(Layer::Open(session)) = io.sockets.layer(life) {
            session.hold(&io.buffer[part]);
        }
    }
}
