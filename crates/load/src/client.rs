//! The contract between the driver, which knows time and sockets, and a protocol, which knows neither.
//!
//! A [`Client`] is the logical state above many connections. It is told what happened and answers through an [`Outlet`].
//! Nothing in it blocks, reads a clock or touches a socket, so it runs as well on a virtual clock and a simulated network.

mod stamp;

use std::fmt;
use std::net::SocketAddr;

use tare_schema::agent::{Acknowledged, Fault};
use tare_schema::load::OutOfReach;

use crate::tls::TlsFault;

pub use stamp::{Stamp, StampSource};

/// A connection slot, numbered by the client from 0; free again once closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u32);

/// A timer slot of the client, from 0 to [`TIMERS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerId(pub u8);

/// Timer slots a client may use.
pub const TIMERS_MAX: usize = 16;

/// One exchange as the driver knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub u32);

/// An exchange to begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// To give back in [`Outlet::done`], exactly once.
    pub ticket: Ticket,
    /// Which of the plan's requests.
    pub request: u16,
}

/// Bytes that a server may make us keep of what it makes us say (acknowledgements, windows, answers of TLS) while it reads
/// none. Far more than an honest one has under way: nearly 4000 PINGs.
pub const ANSWERS_BYTES_MAX: usize = 64 * 1024;

/// Exchanges of one request that are due together: intended and released at the same times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// All of them under one ticket.
    pub due: Due,
    /// How many: at least 1, at most [`Client::RUN_MAX`].
    pub count: u32,
    /// When they should have started.
    pub intended_ns: u64,
    /// When our loop took them.
    pub released_ns: u64,
}

/// How a connection came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connected {
    /// When the attempt began.
    pub begun_ns: u64,
    /// From then until our loop saw that TCP was connected: the kernel stamps no answer to a SYN.
    pub connect_ns: u64,
    /// From sending our first word of TLS to the arrival of the last one that it takes; our own reckoning behind that is not
    /// in it.
    pub handshake_ns: Option<u64>,
    /// When the last thing it takes arrived.
    pub stamp: Stamp,
}

/// Whether a stamp is the arrival of this exchange's last byte or may be later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// One exchange in flight on the connection.
    Exact,
    /// Several: the kernel coalesces, and keeps the last stamp.
    Upper,
}

/// Why a released exchange was not sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitCause {
    /// No free connection.
    Connection,
    /// No free stream.
    Stream,
    /// No room in a flow-control window.
    Window,
    /// Configured to wait for more.
    Linger,
    /// The kernel took no more bytes.
    SocketBuffer,
}

impl WaitCause {
    /// All of them, in the order of their numbers.
    pub const ALL: [WaitCause; 5] = [
        WaitCause::Connection,
        WaitCause::Stream,
        WaitCause::Window,
        WaitCause::Linger,
        WaitCause::SocketBuffer,
    ];

    /// The word for it in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WaitCause::Connection => "connection",
            WaitCause::Stream => "stream",
            WaitCause::Window => "window",
            WaitCause::Linger => "linger",
            WaitCause::SocketBuffer => "socket-buffer",
        }
    }
}

/// A kind of failure: a word, with a code where the protocol has one (`status-503`), and whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorClass {
    /// The word, without commas and spaces.
    pub name: &'static str,
    /// The protocol's code.
    pub code: Option<u16>,
    /// Whose fault it is.
    pub fault: Fault,
}

impl ErrorClass {
    /// No answer within the limit.
    pub const TIMEOUT: ErrorClass = ErrorClass::of("timeout", Fault::Target);
    /// The answer's body is not the expected one.
    pub const WRONG_BODY: ErrorClass = ErrorClass::of("wrong-body", Fault::Target);
    /// The answer is not what the protocol allows.
    pub const RUBBISH: ErrorClass = ErrorClass::of("rubbish", Fault::Target);
    /// No end when the drain ended.
    pub const UNFINISHED: ErrorClass = ErrorClass::of("unfinished", Fault::Target);
    /// Everything beyond the number of classes that are told apart.
    pub const OTHER: ErrorClass = ErrorClass::of("other", Fault::Target);

    /// A class without code.
    #[must_use]
    pub const fn of(name: &'static str, fault: Fault) -> Self {
        Self {
            name,
            code: None,
            fault,
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{}-{code}", self.name),
            None => f.write_str(self.name),
        }
    }
}

/// Why a connection ended, or did not come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The other side closed its direction.
    Eof,
    /// The other side reset it.
    Reset,
    /// Nobody listens there.
    Refused,
    /// No answer to the attempt within the limit.
    ConnectTimeout,
    /// No way there.
    Unreachable,
    /// No free port of ours.
    NoPorts,
    /// No free file descriptor of ours.
    NoDescriptors,
    /// The other side answers what it was not sent yet, or has more said than it reads.
    Unread,
    /// The plan does not allow to call this address: no attempt was made.
    OutOfReach(OutOfReach),
    /// TLS was not to be spoken, or no longer.
    Tls(TlsFault),
    /// Another error of the system, by its number.
    Other(i32),
}

impl Closed {
    /// The class of an exchange that failed by it.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        match self {
            Closed::Eof => ErrorClass::of("closed", Fault::Peer),
            Closed::Reset => ErrorClass::of("reset", Fault::Peer),
            Closed::Refused => ErrorClass::of("refused", Fault::Peer),
            Closed::ConnectTimeout => ErrorClass::of("connect-timeout", Fault::Peer),
            Closed::Unreachable => ErrorClass::of("unreachable", Fault::Environment),
            Closed::NoPorts => ErrorClass::of("no-ports", Fault::Environment),
            Closed::NoDescriptors => ErrorClass::of("no-descriptors", Fault::Environment),
            Closed::Unread => ErrorClass::RUBBISH,
            Closed::OutOfReach(_) => ErrorClass::of("out-of-reach", Fault::Client),
            Closed::Tls(fault) => fault.class(),
            Closed::Other(_) => ErrorClass::of("system", Fault::Environment),
        }
    }

    /// What the system's error means for a connection.
    #[must_use]
    pub fn from_io(error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ECONNREFUSED) => Closed::Refused,
            Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED) => Closed::Reset,
            Some(libc::ETIMEDOUT) => Closed::ConnectTimeout,
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN) => Closed::Unreachable,
            Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => Closed::NoPorts,
            Some(libc::EMFILE | libc::ENFILE) => Closed::NoDescriptors,
            Some(number) => Closed::Other(number),
            None => Closed::Other(0),
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Closed::Eof => f.write_str("the server closed the connection"),
            Closed::Reset => f.write_str("the server reset the connection"),
            Closed::Refused => f.write_str(
                "connection refused: nothing listens there; start the server, or check the address",
            ),
            Closed::ConnectTimeout => f.write_str(
                "no answer to the connection attempt, or to its TLS handshake, within the timeout",
            ),
            Closed::Unreachable => f.write_str("no route to the address: check it, and the network"),
            Closed::NoPorts => f.write_str(
                "no free local port: use fewer new connections, or widen net.ipv4.ip_local_port_range",
            ),
            Closed::NoDescriptors => {
                f.write_str("no free file descriptor: raise the limit with ulimit -n")
            }
            Closed::Unread => f.write_str(
                "the server goes on talking without reading what it is sent: look at what it does with requests",
            ),
            Closed::OutOfReach(refused) => refused.fmt(f),
            Closed::Tls(fault) => fault.fmt(f),
            Closed::Other(number) => write!(f, "{}", std::io::Error::from_raw_os_error(*number)),
        }
    }
}

/// What a right answer says of itself by a number: the status of HTTP. Of a protocol without one it is [`Status::NONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(u16);

impl Status {
    /// Larger ones count as this one: three digits are all that HTTP has.
    pub const MAX: usize = 999;
    /// The protocol has none.
    pub const NONE: Status = Status(0);

    /// A status of HTTP.
    #[inline]
    #[must_use]
    pub const fn http(status: u16) -> Self {
        Self(status)
    }

    /// As a place in a table of `MAX + 1`; 0 where there is none.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0).min(Self::MAX)
    }
}

/// What became of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is the expected one.
    Right(Status),
    /// It is not, or there is none.
    Wrong(ErrorClass),
    /// The drain ended first.
    Unfinished,
}

/// The end of one exchange.
#[derive(Clone, Copy)]
pub struct Done<'a> {
    /// What became of it.
    pub outcome: Outcome,
    /// When its first byte went to the kernel; `None` if none did.
    pub sent_ns: Option<u64>,
    /// When its last byte came, or when it was given up.
    pub ended: Stamp,
    /// What the stamp is worth.
    pub bound: Bound,
    /// Why it waited between release and sending, if it did.
    pub waited: Option<WaitCause>,
    /// What was wrong, in words; formatted once per class only.
    pub example: &'a dyn fmt::Display,
}

/// An exchange that a client began itself, within one that the driver released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Within {
    /// Which of the plan's requests.
    pub request: u16,
    /// When it was to start.
    pub start: WithinStart,
}

/// When an exchange of a client's own was to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithinStart {
    /// With the exchange that it is the first of.
    Released(Ticket),
    /// At a time that follows from the one before.
    Own {
        /// When it should have started.
        intended_ns: u64,
        /// When our loop came to it.
        released_ns: u64,
    },
}

/// Records that arrived within an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordsIn {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the last of them arrived.
    pub arrived_ns: u64,
}

/// How old something was when it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aged {
    /// Which of the plan's requests brought it.
    pub request: u16,
    /// What the age is of.
    pub age: Age,
    /// When it began.
    pub since_ns: u64,
    /// How long ago that was; below zero by clocks that differ.
    pub age_ns: i64,
}

/// What an age is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// From the time at which it should have been sent, by the clock of this machine, to the nanosecond.
    EndToEnd,
    /// From the time that the record says, which is in milliseconds and by whoever's clock.
    OfTimestamp,
}

/// What became of bytes given to [`Outlet::write`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The first of them went to the kernel at this time; the rest follows by itself.
    Sent(u64),
    /// The kernel takes none now: [`Client::wrote`] will tell when the first one went.
    Queued,
}

/// What a client can ask for.
pub trait Outlet {
    /// The time.
    fn now_ns(&self) -> u64;
    /// Opens a connection in a free slot; answered by [`Client::connected`] or [`Client::closed`].
    fn connect(&mut self, conn: ConnId, address: SocketAddr);
    /// Whom TLS has to meet in this slot from now on, where the plan names nobody.
    fn name(&mut self, _conn: ConnId, _host: &str) {}
    /// Sends bytes, in order with those before; a copy is made only of what the kernel does not take. Not before the last write
    /// has begun: what is kept is bounded by that. Whoever has a reason to write again has had an answer to what never went,
    /// and the connection ends with [`Closed::Unread`].
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written;
    /// Gives the kernel as many of these bytes as it takes now and keeps none: how many. After fewer than all,
    /// [`Client::room`] tells when it takes more. Not to be mixed with [`Outlet::write`] on one connection.
    fn pour(&mut self, conn: ConnId, bytes: &[u8]) -> usize;
    /// Ends our direction of a connection behind everything that was written; the other one stays open.
    fn half_close(&mut self, conn: ConnId);
    /// Tells the other side that we are about to close, where the transport has a word for it (close_notify of TLS), and leaves
    /// the connection open: who hears it closes, and the port stays theirs.
    fn farewell(&mut self, _conn: ConnId) {}
    /// Closes a connection; nothing more is told of it, and its slot is free.
    fn close(&mut self, conn: ConnId);
    /// The same at once, without an orderly end: what is unsent is lost, and no port of ours stays taken (`TIME_WAIT`).
    fn abort(&mut self, conn: ConnId) {
        self.close(conn);
    }
    /// Sets a timer slot, replacing what it was set to.
    fn timer(&mut self, timer: TimerId, at_ns: u64);
    /// The first byte of an answer whose last one has not been read: the first call counts, and answers read at once need none.
    #[inline]
    fn first_byte(&mut self, _ticket: Ticket, _arrived_ns: u64) {}
    /// Ends an exchange.
    fn done(&mut self, ticket: Ticket, done: &Done<'_>);
    /// Ends so many of a run that it was given, all alike.
    #[inline]
    fn done_some(&mut self, ticket: Ticket, count: u32, done: &Done<'_>) {
        debug_assert_eq!(count, 1, "only who gives runs has them ended in parts");
        self.done(ticket, done);
    }
    /// Enters the end of an exchange that the client began itself, within one that it was given.
    fn within(&mut self, _within: &Within, _done: &Done<'_>) {}
    /// Ends a session that it was given as an exchange; `series` is the number of the request it is told under.
    fn session(&mut self, ticket: Ticket, _series: u16, done: &Done<'_>) {
        self.done(ticket, done);
    }
    /// Records arrived.
    fn records(&mut self, _records: &RecordsIn) {}
    /// Something that arrived says when it began.
    fn aged(&mut self, _aged: &Aged) {}
    /// Takes an exchange back that the client was given and never began, because the load is over.
    fn withdraw(&mut self, ticket: Ticket) {
        let _ = ticket;
    }
    /// Tells of a fault of a connection that no exchange can be blamed with.
    fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display);
}

/// A protocol: the state above its connections.
pub trait Client {
    /// Exchanges it takes at once, with [`Client::run`]. One that sends them in batches takes many: what is alike then is dealt
    /// with once.
    const RUN_MAX: u32 = 1;
    /// Starts that are fixed in advance are not woken up for more often than this. One that gathers them loses nothing by it
    /// as long as it is far below its linger, and each time costs a system call.
    const START_EVERY_NS: u64 = 0;

    /// Opens the connections.
    fn start(&mut self, out: &mut impl Outlet);
    /// Exchanges it can carry at once: what "as fast as possible" keeps under way.
    fn capacity(&self) -> usize;
    /// Whether exchanges could be sent now on everything that is planned, none waiting for a connection.
    fn is_open(&self) -> bool;
    /// An exchange is due.
    fn due(&mut self, due: Due, out: &mut impl Outlet);
    /// Exchanges are due together; only called where [`Client::RUN_MAX`] is more than 1.
    #[inline]
    fn run(&mut self, run: Run, out: &mut impl Outlet) {
        self.due(run.due, out);
    }
    /// Why the load cannot be carried at all, as far as that is known while the connections are opened; later, why it cannot go on.
    fn problem(&self) -> Option<String> {
        None
    }
    /// Everything at hand has been told: writes what was gathered. A client that writes at once needs none of it.
    #[inline]
    fn flush(&mut self, _out: &mut impl Outlet) {}
    /// A connection is open, its TLS handshake done. A client that wants to know how it came to be takes [`Client::opened`].
    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet);
    /// The same with what is known of how it came to be; only this one is called.
    fn opened(&mut self, conn: ConnId, _opening: &Connected, out: &mut impl Outlet) {
        self.connected(conn, out);
    }
    /// The server gave a session that a later connection can resume.
    fn resumable(&mut self, _conn: ConnId, _out: &mut impl Outlet) {}
    /// Bytes arrived; `stamp` is that of the last one.
    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet);
    /// The first byte of the oldest queued write went to the kernel.
    fn wrote(&mut self, conn: ConnId, at_ns: u64, out: &mut impl Outlet);
    /// A connection that took fewer bytes than [`Outlet::pour`] offered takes more.
    fn room(&mut self, _conn: ConnId, _out: &mut impl Outlet) {}
    /// A connection ended or could not be opened; its slot is free.
    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet);
    /// A timer went off.
    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet);
    /// What is there on the other side and has not been read, in records; `None` where that is not known.
    fn backlog(&self) -> Option<u64> {
        None
    }
    /// Whether the load has reached an end that only the protocol knows: its window ends here.
    fn is_finished(&self) -> bool {
        false
    }
    /// Tells what the protocol has counted of its own, by name.
    fn counts(&self, _tell: &mut dyn FnMut(&'static str, u64)) {}
    /// Tells which records were acknowledged, where they are numbered.
    fn acknowledged(&self, _tell: &mut dyn FnMut(Acknowledged)) {}
    /// The drain is over: ends every exchange still held as [`Outcome::Unfinished`].
    fn abandon(&mut self, out: &mut impl Outlet);
}
