//! Connections to a peer, one after the other: heartbeats, round trips, and the messages of its session, of which none is
//! lost or received twice when a connection is cut.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustls::ClientConfig;
use tare_record::clock::ClockOffset;

use super::clock::{self, ROUND_TRIPS, RoundTrip};
use super::frame::{Frame, Frames, Kind, MESSAGE_BYTES_MAX, encoded};
use super::greeting::{Hello, NotConnected, TlsLink, failed, greet};
use super::session::{Novelty, Session};
use crate::keeper::lock;
use crate::process;

/// Interval of heartbeats.
const BEAT: Duration = Duration::from_secs(5);
/// A connection without a word for so long is given up.
const DEAF_AFTER: Duration = Duration::from_secs(15);
/// Interval of attempts to connect.
const RETRY: Duration = Duration::from_millis(100);
/// Bytes of messages that are encrypted before the socket has taken them.
const AHEAD_BYTES: usize = 256 << 10;

/// A peer with its session, connected or not.
pub(crate) struct Peer {
    state: Mutex<State>,
    changed: Condvar,
    /// Readable when there is something to send.
    wake: OwnedFd,
    /// Held by the thread that serves the connection: messages are delivered by one at a time.
    serving: Mutex<()>,
}

struct State {
    session: Session,
    /// Number of the newest connection.
    connection: u64,
    /// When the peer was last heard.
    contact: Instant,
    /// Why the session is over.
    ended: Option<String>,
    trips: Vec<RoundTrip>,
    trips_wanted: usize,
}

impl Peer {
    pub(crate) fn new() -> io::Result<Arc<Peer>> {
        Ok(Arc::new(Peer {
            state: Mutex::new(State {
                session: Session::default(),
                connection: 0,
                contact: Instant::now(),
                ended: None,
                trips: Vec::new(),
                trips_wanted: 0,
            }),
            changed: Condvar::new(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            serving: Mutex::new(()),
        }))
    }

    /// Sends a message, now or when there is a connection.
    pub(crate) fn send(&self, message: Vec<u8>) -> Result<(), String> {
        if message.len() > MESSAGE_BYTES_MAX {
            return Err(format!("a message of {} bytes", message.len()));
        }
        let mut state = lock(&self.state);
        if let Some(reason) = &state.ended {
            return Err(reason.clone());
        }
        let pushed = state.session.push(message).map(drop);
        drop(state);
        self.wake();
        pushed
    }

    /// Ends the session; the peer is told if it is connected.
    pub(crate) fn end(&self, reason: &str) {
        let mut state = lock(&self.state);
        state.ended.get_or_insert_with(|| reason.to_owned());
        drop(state);
        self.changed.notify_all();
        self.wake();
    }

    /// Why the session is over.
    pub(crate) fn ended(&self) -> Option<String> {
        lock(&self.state).ended.clone()
    }

    /// Time since the peer was last heard.
    pub(crate) fn silent_for(&self) -> Duration {
        lock(&self.state).contact.elapsed()
    }

    /// The last received message.
    pub(crate) fn received(&self) -> u64 {
        lock(&self.state).session.received()
    }

    /// Measures how far the peer's clock is ahead of this one's.
    pub(crate) fn clock(&self, within: Duration) -> Result<ClockOffset, String> {
        let mut state = lock(&self.state);
        state.trips.clear();
        state.trips_wanted = ROUND_TRIPS;
        self.wake();
        let waited = self.changed.wait_timeout_while(state, within, |state| {
            state.ended.is_none() && state.trips.len() < ROUND_TRIPS
        });
        let (mut state, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        state.trips_wanted = 0;
        let found = clock::offset(&state.trips);
        found.ok_or_else(|| String::from("no round trip of the clocks was answered"))
    }

    /// Whether the peer has everything, or this time has passed.
    pub(crate) fn wait_sent(&self, within: Duration) {
        let state = lock(&self.state);
        let wait = |state: &mut State| state.ended.is_none() && !state.session.is_empty();
        drop(self.changed.wait_timeout_while(state, within, wait));
    }

    fn wake(&self) {
        // A full counter wakes as well.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Serves a connection until it is cut or replaced, or the session is over.
    pub(crate) fn serve(&self, link: TlsLink, deliver: &mut dyn FnMut(Vec<u8>)) {
        let connection = {
            let mut state = lock(&self.state);
            state.connection += 1;
            state.contact = Instant::now();
            state.connection
        };
        self.wake();
        let _serving = lock(&self.serving);
        let mut serving = Serving {
            peer: self,
            connection,
            sent: link.acknowledged,
            link,
            acknowledged: 0,
            frames: Frames::default(),
            asked_ns: None,
            last_ping: Instant::now(),
            heard: Instant::now(),
        };
        if let Err(Cut::Wrong(reason)) = serving.run(deliver) {
            self.end(&reason);
        }
        let _ = serving.link.socket.shutdown(std::net::Shutdown::Both);
    }
}

/// Why a connection is over.
enum Cut {
    /// Another one may follow.
    Lost,
    /// The peer does not follow the protocol.
    Wrong(String),
}

impl From<io::Error> for Cut {
    fn from(_: io::Error) -> Cut {
        Cut::Lost
    }
}

struct Serving<'a> {
    peer: &'a Peer,
    connection: u64,
    link: TlsLink,
    /// The last message that was sent over this connection.
    sent: u64,
    /// The last message whose receipt was acknowledged over this connection.
    acknowledged: u64,
    frames: Frames,
    /// When the unanswered ping was sent.
    asked_ns: Option<u64>,
    last_ping: Instant,
    heard: Instant,
}

impl Serving<'_> {
    fn run(&mut self, deliver: &mut dyn FnMut(Vec<u8>)) -> Result<(), Cut> {
        {
            let mut state = lock(&self.peer.state);
            let acknowledged = self.link.acknowledged;
            let known = state.session.acknowledge(acknowledged);
            known.map_err(Cut::Wrong)?;
        }
        self.link.socket.set_nonblocking(true)?;
        self.link.tls.set_buffer_limit(None);
        loop {
            let has_more = self.fill()?;
            self.flush()?;
            if self.heard.elapsed() > DEAF_AFTER {
                return Err(Cut::Lost);
            }
            // The greeting may have been followed by more in the same packet: read before waiting.
            if !self.read(deliver)? {
                self.wait(has_more);
            }
        }
    }

    /// Encrypts what there is to send, up to a limit; whether there is more.
    fn fill(&mut self) -> Result<bool, Cut> {
        let state = lock(&self.peer.state);
        if state.connection != self.connection {
            return Err(Cut::Lost);
        }
        if let Some(reason) = state.ended.clone() {
            drop(state);
            self.write(&encoded(Kind::End, 0, reason.as_bytes()))?;
            self.link.socket.set_nonblocking(false)?;
            self.flush()?;
            return Err(Cut::Lost);
        }
        let received = state.session.received();
        let mut frames = Vec::new();
        let mut bytes = 0;
        let mut has_more = false;
        let is_free = !self.link.tls.wants_write();
        while let Some((number, message)) = state.session.after(self.sent) {
            if bytes > AHEAD_BYTES || !is_free {
                has_more = is_free;
                break;
            }
            bytes += message.len();
            frames.push(encoded(Kind::Data, number, &message));
            self.sent = number;
        }
        let is_measuring = state.trips_wanted > 0;
        drop(state);
        for frame in frames {
            self.write(&frame)?;
        }
        if received > self.acknowledged {
            self.acknowledged = received;
            self.write(&encoded(Kind::Acknowledgement, received, &[]))?;
        }
        let is_due = self.last_ping.elapsed() >= BEAT;
        if is_due || (is_measuring && self.asked_ns.is_none()) {
            self.last_ping = Instant::now();
            let now_ns = clock::now_ns();
            self.asked_ns = Some(now_ns);
            self.write(&encoded(Kind::Ping, now_ns, &[]))?;
        }
        Ok(has_more)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.link.tls.writer().write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.link.tls.wants_write() {
            match self.link.tls.write_tls(&mut self.link.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&self, has_more: bool) {
        let mut interest = PollFlags::IN;
        if self.link.tls.wants_write() {
            interest |= PollFlags::OUT;
        }
        let mut fds = [
            PollFd::from_borrowed_fd(self.link.socket.as_fd(), interest),
            PollFd::from_borrowed_fd(self.peer.wake.as_fd(), PollFlags::IN),
        ];
        let limit = match has_more {
            true => Duration::ZERO,
            false => BEAT.saturating_sub(self.last_ping.elapsed()),
        };
        let limit = process::timespec(limit.max(Duration::from_millis(u64::from(!has_more))));
        // An error is an interruption: the caller checks everything anyway.
        let _ = poll(&mut fds, Some(&limit));
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.peer.wake, &mut count);
    }

    /// Takes what has arrived; whether there was something.
    fn read(&mut self, deliver: &mut dyn FnMut(Vec<u8>)) -> Result<bool, Cut> {
        let mut is_something = false;
        match self.link.tls.read_tls(&mut self.link.socket) {
            Ok(0) => return Err(Cut::Lost),
            Ok(_) => self.heard = Instant::now(),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Err(Cut::Lost),
        }
        // Not the peer: bytes changed on the way.
        let processed = self.link.tls.process_new_packets();
        processed.map_err(|_| Cut::Lost)?;
        let mut chunk = [0; 64 << 10];
        loop {
            match self.link.tls.reader().read(&mut chunk) {
                Ok(0) => return Err(Cut::Lost),
                Ok(count) => {
                    is_something = true;
                    self.frames.0.extend_from_slice(&chunk[..count]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Err(Cut::Lost),
            }
        }
        while let Some(frame) = self.frames.next().map_err(Cut::Wrong)? {
            self.take(frame, deliver)?;
        }
        Ok(is_something)
    }

    fn take(&mut self, frame: Frame, deliver: &mut dyn FnMut(Vec<u8>)) -> Result<(), Cut> {
        let mut state = lock(&self.peer.state);
        state.contact = Instant::now();
        match frame.kind {
            Kind::Data => {
                let novelty = state.session.receive(frame.number).map_err(Cut::Wrong)?;
                drop(state);
                if novelty == Novelty::New {
                    deliver(frame.payload);
                }
            }
            Kind::Acknowledgement => {
                let known = state.session.acknowledge(frame.number);
                known.map_err(Cut::Wrong)?;
                self.peer.changed.notify_all();
            }
            Kind::Ping => {
                drop(state);
                let now = clock::now_ns().to_be_bytes();
                self.write(&encoded(Kind::Pong, frame.number, &now))?;
                self.flush()?;
            }
            Kind::Pong => {
                let answered_ns = frame.payload.try_into().map(u64::from_be_bytes);
                let sent_ns = self.asked_ns.take().filter(|sent| *sent == frame.number);
                if let (Some(sent_ns), Ok(answered_ns)) = (sent_ns, answered_ns)
                    && state.trips_wanted > 0
                {
                    state.trips.push(RoundTrip {
                        sent_ns,
                        received_ns: clock::now_ns(),
                        answered_ns,
                    });
                    state.trips_wanted -= 1;
                    self.peer.changed.notify_all();
                }
            }
            Kind::End => {
                let reason = String::from_utf8_lossy(&frame.payload).into_owned();
                state.ended.get_or_insert(reason);
                self.peer.changed.notify_all();
                return Err(Cut::Lost);
            }
            Kind::Hello | Kind::Welcome => {
                return Err(Cut::Wrong(String::from("a greeting after the greeting")));
            }
        }
        Ok(())
    }
}

/// Small messages must not wait for the acknowledgement of those before them.
fn without_delay(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Opens a connection to a run keeper.
pub type Dial = Box<dyn FnMut() -> io::Result<TcpStream> + Send>;

/// How a run keeper is called.
pub(crate) struct Caller {
    pub dial: Dial,
    pub config: Arc<ClientConfig>,
    pub token: String,
    pub name: String,
    /// Without a word for so long the run keeper is gone.
    pub silence: Duration,
}

impl Caller {
    /// Connects again and again until the session is over; for a thread of its own.
    pub(crate) fn run(mut self, peer: &Peer, mut deliver: impl FnMut(Vec<u8>)) {
        let instance = clock::now_ns() ^ u64::from(std::process::id()) << 32;
        let mut known: Option<u64> = None;
        let mut last = String::from("it was never reached");
        while peer.ended().is_none() {
            let hello = Hello {
                token: self.token.clone(),
                name: self.name.clone(),
                instance,
                received: peer.received(),
            };
            let socket = (self.dial)().and_then(without_delay).map_err(failed);
            match socket.and_then(|socket| greet(socket, &self.config, &hello)) {
                Ok((_, other)) if known.is_some_and(|known| known != other) => {
                    peer.end("the run keeper was started again, and what it had is lost");
                }
                Ok((link, instance)) => {
                    known = Some(instance);
                    last = String::from("the connection was cut");
                    peer.serve(link, &mut deliver);
                }
                Err(NotConnected::Refused(reason)) => peer.end(&reason),
                Err(NotConnected::Failed(reason)) => last = reason,
            }
            if peer.silent_for() > self.silence {
                let seconds = self.silence.as_secs_f64();
                let reason =
                    format!("nothing was heard of the run keeper for {seconds:.0} s ({last})");
                peer.end(&reason);
            }
            process::pause(RETRY);
        }
    }
}
