//! The contract between the engine, which knows time and sockets, and a protocol, which knows neither.
//!
//! A [`Client`] is the protocol state of many connections. Events are passed to it; it acts through an [`Outlet`]. It never
//! blocks, reads a clock or touches a socket, so it also runs on a virtual clock and a simulated network.

use std::fmt;
use std::net::SocketAddr;

use tare_record::agent::{Acknowledged, ErrorSource};
use tare_record::load::AddressNotAllowed;

use crate::tls::TlsFailure;

/// A connection slot, numbered by the client from 0; free again when closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u32);

/// A timer slot of the client, below [`TIMERS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerId(pub u8);

/// Timer slots a client may use.
pub const TIMERS_MAX: usize = 16;

/// Id of an exchange, given by the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExchangeId(pub u32);

/// An exchange to start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueExchange {
    /// Passed back in [`Outlet::complete`], exactly once.
    pub ticket: ExchangeId,
    /// Index of the request in the plan; the number of the line in a list of paths.
    pub request: u32,
}

/// Limit of queued protocol replies (acknowledgements, window updates, TLS alerts) to a server that does not read them: nearly
/// 4000 PING acknowledgements, far more than a working server has in flight.
pub const REPLY_BYTES_MAX: usize = 64 * 1024;

/// Receive timestamp of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When the last byte arrived.
    pub arrived_ns: u64,
    /// When the generator read it.
    pub seen_ns: u64,
    /// Where `arrived_ns` is from.
    pub source: StampSource,
}

/// Source of a receive timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampSource {
    /// Kernel timestamp of the segment.
    Kernel,
    /// Our clock, because the kernel gave no timestamp.
    Own,
    /// Nothing arrived: the exchange was ended by the generator (a timeout, a reset).
    Event,
}

impl Stamp {
    /// End of an exchange without an arrival.
    #[must_use]
    pub fn event(now_ns: u64) -> Self {
        Self {
            arrived_ns: now_ns,
            seen_ns: now_ns,
            source: StampSource::Event,
        }
    }
}

/// A batch of exchanges of one request that are due together, with the same intended start and release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeBatch {
    /// One ticket for all of them.
    pub due: DueExchange,
    /// How many: at least 1, at most [`Client::BATCH_MAX`].
    pub count: u32,
    /// Intended start.
    pub intended_ns: u64,
    /// When the generator took them up.
    pub released_ns: u64,
}

/// How a connection was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connected {
    /// Start of the attempt.
    pub begun_ns: u64,
    /// From then until the loop saw the TCP connection: the kernel does not timestamp a SYN-ACK.
    pub connect_ns: u64,
    /// From the send of the ClientHello to the arrival of the last handshake byte; local computation after it is excluded.
    pub handshake_ns: Option<u64>,
    /// Arrival of the last handshake byte; over plain TCP, when the loop saw the connection.
    pub stamp: Stamp,
}

/// Whether a timestamp is the arrival of this exchange's last byte, or an upper bound of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampBound {
    /// Only one exchange in flight on the connection.
    Exact,
    /// Several in flight: the kernel coalesces segments and keeps the last timestamp.
    Upper,
}

/// Why a released exchange was not sent immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitCause {
    /// No free connection.
    Connection,
    /// No free stream.
    Stream,
    /// A flow-control window is full.
    Window,
    /// Waits for more to fill a batch (linger).
    Linger,
    /// The kernel took no more bytes.
    SocketBuffer,
    /// The server asked to send nothing for a time (a quota).
    Quota,
}

impl WaitCause {
    /// All of them, in the order of their discriminants.
    pub const ALL: [WaitCause; 6] = [
        WaitCause::Connection,
        WaitCause::Stream,
        WaitCause::Window,
        WaitCause::Linger,
        WaitCause::SocketBuffer,
        WaitCause::Quota,
    ];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WaitCause::Connection => "connection",
            WaitCause::Stream => "stream",
            WaitCause::Window => "window",
            WaitCause::Linger => "linger",
            WaitCause::SocketBuffer => "socket-buffer",
            WaitCause::Quota => "quota",
        }
    }
}

/// A class of errors: a name, the protocol's code where it has one (`status-503`), and who is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorClass {
    /// The name, without commas and spaces.
    pub name: &'static str,
    /// The protocol's code.
    pub code: Option<u16>,
    /// Who is to blame.
    pub error_source: ErrorSource,
}

impl ErrorClass {
    /// No complete response within the limit.
    pub const TIMEOUT: ErrorClass = ErrorClass::of("timeout", ErrorSource::Target);
    /// The body of the response is not the expected one.
    pub const WRONG_BODY: ErrorClass = ErrorClass::of("wrong-body", ErrorSource::Target);
    /// The response is not valid in the protocol.
    pub const MALFORMED: ErrorClass = ErrorClass::of("malformed", ErrorSource::Target);
    /// The head of the response has more bytes or fields than are read.
    pub const HEAD_TOO_LARGE: ErrorClass = ErrorClass::of("head-too-large", ErrorSource::OwnLimit);
    /// Not complete when the drain ended.
    pub const UNFINISHED: ErrorClass = ErrorClass::of("unfinished", ErrorSource::Target);
    /// Never sent: its start found the queue of waiting ones full, or its turn did not come before the load was aborted.
    pub const NEVER_SENT: ErrorClass = ErrorClass::of("never-sent", ErrorSource::Target);
    /// All errors beyond the maximum number of classes.
    pub const OTHER: ErrorClass = ErrorClass::of("other", ErrorSource::Target);

    /// A class without code.
    #[must_use]
    pub const fn of(name: &'static str, error_source: ErrorSource) -> Self {
        Self {
            name,
            code: None,
            error_source,
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

/// Why a connection ended, or could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The peer closed its direction.
    Eof,
    /// The peer reset the connection.
    Reset,
    /// Nothing listens at the address.
    Refused,
    /// No response to the attempt within the limit.
    ConnectTimeout,
    /// No route to the address.
    Unreachable,
    /// No free local port.
    NoPorts,
    /// No free file descriptor.
    NoDescriptors,
    /// The peer responded to a request not sent yet, or does not read our protocol replies.
    RepliesUnread,
    /// The plan does not allow connections to this address: no attempt was made.
    AddressNotAllowed(AddressNotAllowed),
    /// A TLS error, in the handshake or later.
    Tls(TlsFailure),
    /// Another error of the operating system, by its errno.
    Other(i32),
}

impl Closed {
    /// The error class of an exchange that it failed.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        match self {
            Closed::Eof => ErrorClass::of("closed", ErrorSource::Peer),
            Closed::Reset => ErrorClass::of("reset", ErrorSource::Peer),
            Closed::Refused => ErrorClass::of("refused", ErrorSource::Peer),
            Closed::ConnectTimeout => ErrorClass::of("connect-timeout", ErrorSource::Peer),
            Closed::Unreachable => ErrorClass::of("unreachable", ErrorSource::Network),
            Closed::NoPorts => ErrorClass::of("no-local-ports", ErrorSource::OwnLimit),
            Closed::NoDescriptors => ErrorClass::of("too-many-open-files", ErrorSource::OwnLimit),
            Closed::RepliesUnread => ErrorClass::MALFORMED,
            Closed::AddressNotAllowed(_) => {
                ErrorClass::of("address-not-allowed", ErrorSource::Configuration)
            }
            Closed::Tls(failure) => failure.class(),
            Closed::Other(_) => ErrorClass::of("os-error", ErrorSource::Environment),
        }
    }

    /// Maps an error of the operating system.
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
            Closed::RepliesUnread => f.write_str(
                "the server sends but does not read requests: check the server",
            ),
            Closed::AddressNotAllowed(refused) => refused.fmt(f),
            Closed::Tls(failure) => failure.fmt(f),
            Closed::Other(number) => write!(f, "{}", std::io::Error::from_raw_os_error(*number)),
        }
    }
}

/// Status code of a correct response: that of HTTP. Protocols without one have [`Status::NONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(u16);

impl Status {
    /// Larger ones count as this one: HTTP has three digits.
    pub const MAX: usize = 999;
    /// The protocol has none.
    pub const NONE: Status = Status(0);

    #[inline]
    #[must_use]
    pub const fn http(status: u16) -> Self {
        Self(status)
    }

    /// Index into a table of `MAX + 1`; 0 without a status.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0).min(Self::MAX)
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeOutcome {
    /// With the expected response.
    Ok(Status),
    /// With another response, or with none.
    Failed(ErrorClass),
    /// The drain ended first.
    Unfinished,
}

/// The end of one exchange, or of several alike.
#[derive(Clone, Copy)]
pub struct Completion<'a> {
    /// How it ended.
    pub outcome: ExchangeOutcome,
    /// When its first byte was sent; `None` if none was.
    pub sent_ns: Option<u64>,
    /// Arrival of its last byte, or when it was given up.
    pub ended: Stamp,
    /// Whether that is exact or an upper bound.
    pub bound: TimestampBound,
    /// Why it waited between release and send, if it did.
    pub waited: Option<WaitCause>,
    /// Error message; formatted once per class only.
    pub example: &'a dyn fmt::Display,
}

impl<'a> Completion<'a> {
    /// The end of an exchange of which nothing was sent.
    #[must_use]
    pub fn unsent(outcome: ExchangeOutcome, ended: Stamp, example: &'a dyn fmt::Display) -> Self {
        Self {
            outcome,
            sent_ns: None,
            ended,
            bound: TimestampBound::Exact,
            waited: None,
            example,
        }
    }
}

/// An exchange that a client started itself, within one that the engine released (a request of a session).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedExchange {
    /// Index of the request in the plan.
    pub request: u16,
    /// Its intended start.
    pub start: NestedStart,
}

/// Intended start of a nested exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedStart {
    /// That of the released exchange, whose first it is.
    Released(ExchangeId),
    /// Set by the client, after the previous one.
    Own {
        /// Intended start.
        intended_ns: u64,
        /// When the generator came to it.
        released_ns: u64,
    },
}

/// Records that arrived in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordArrivals {
    pub count: u64,
    pub bytes: u64,
    /// Arrival of the last of them.
    pub arrived_ns: u64,
}

/// Age of a record on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAge {
    /// Index of the request that fetched it.
    pub request: u16,
    /// What the age is measured from.
    pub age: AgeKind,
    /// Start of that age.
    pub since_ns: u64,
    /// The age; negative if clocks differ.
    pub age_ns: i64,
}

/// What an age is measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeKind {
    /// The intended send time, written by a producer with the clock of this machine, in nanoseconds.
    EndToEnd,
    /// The record's own timestamp, in milliseconds, by any clock.
    OfTimestamp,
}

/// Result of [`Outlet::write`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The first byte was sent at this time; the rest follows by itself.
    Sent(u64),
    /// The kernel takes none now: [`Client::on_write_started`] is called when the first byte is sent.
    Queued,
}

/// What a client can request of the engine.
pub trait Outlet {
    /// Current time.
    fn now_ns(&self) -> u64;
    /// Opens a connection in a free slot; [`Client::on_connected`] or [`Client::on_closed`] follows.
    fn connect(&mut self, conn: ConnId, address: SocketAddr);
    /// Sets the TLS server name for a slot, where the plan does not fix it.
    fn set_server_name(&mut self, _conn: ConnId, _host: &str) {}
    /// Sends bytes in order; only what the kernel does not take is copied. One write may be waiting unsent. A second one before
    /// it has begun closes the connection with [`Closed::RepliesUnread`]: the peer has responded to something that was not sent.
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written;
    /// Gives the kernel as many bytes as it takes now and buffers none; returns how many. After fewer than all, [`Client::on_writable`]
    /// is called when it takes more. Not to be mixed with [`Outlet::write`] on one connection.
    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize;
    /// Closes our direction after everything written; the other direction stays open.
    fn half_close(&mut self, conn: ConnId);
    /// Sends close_notify, with TLS, and leaves the connection open: the peer then closes first and holds the port in
    /// `TIME_WAIT`.
    fn close_notify(&mut self, _conn: ConnId) {}
    /// Closes a connection; no more events of it follow, and its slot is free.
    fn close(&mut self, conn: ConnId);
    /// Closes with a reset: unsent bytes are lost, and no local port stays in `TIME_WAIT`.
    fn abort(&mut self, conn: ConnId) {
        self.close(conn);
    }
    /// Sets a timer, replacing its previous time.
    fn set_timer(&mut self, timer: TimerId, at_ns: u64);
    /// First byte of a response whose last byte is not read yet. Only the first call counts; responses read in one piece need
    /// none.
    #[inline]
    fn record_first_byte(&mut self, _ticket: ExchangeId, _arrived_ns: u64) {}
    /// Ends an exchange.
    fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>);
    /// Ends `count` exchanges of a batch, all alike.
    #[inline]
    fn complete_some(&mut self, ticket: ExchangeId, count: u32, done: &Completion<'_>) {
        debug_assert_eq!(count, 1, "only clients that take batches end them in parts");
        self.complete(ticket, done);
    }
    /// Records the end of a nested exchange.
    fn complete_nested(&mut self, _within: &NestedExchange, _done: &Completion<'_>) {}
    /// Ends a session that was released as an exchange; `series` is the request number it is recorded under.
    fn complete_session(&mut self, ticket: ExchangeId, _series: u16, done: &Completion<'_>) {
        self.complete(ticket, done);
    }
    /// Records that arrived.
    fn record_arrivals(&mut self, _records: &RecordArrivals) {}
    /// Age of a record that arrived.
    fn record_age(&mut self, _aged: &RecordAge) {}
    /// Takes back an exchange that the client never started because the load is over.
    fn withdraw(&mut self, ticket: ExchangeId) {
        let _ = ticket;
    }
    /// Reports a connection error that belongs to no exchange.
    fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display);
}

/// A protocol client: the state of its connections.
pub trait Client {
    /// Largest batch passed to [`Client::on_batch`]. Clients that send batches set more than 1: equal exchanges are then handled
    /// together.
    const BATCH_MAX: u32 = 1;
    /// Shortest interval of wake-ups for starts that are fixed in advance. Each wake-up costs a system call; a client that
    /// batches loses nothing as long as this is far below its linger.
    const START_EVERY_NS: u64 = 0;

    /// Opens the connections.
    fn on_start(&mut self, out: &mut impl Outlet);
    /// Exchanges it can have in flight: what "as fast as possible" keeps going.
    fn capacity(&self) -> usize;
    /// Whether everything planned could be sent now without waiting for a connection.
    fn is_open(&self) -> bool;
    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet);
    /// Exchanges are due together; only called where [`Client::BATCH_MAX`] is more than 1.
    #[inline]
    fn on_batch(&mut self, batch: ExchangeBatch, out: &mut impl Outlet) {
        self.on_due(batch.due, out);
    }
    /// Why the load is impossible, as far as known while connections are opened; later, why it cannot go on.
    fn problem(&self) -> Option<String> {
        None
    }
    /// All events at hand were passed: writes what was gathered. Not needed by clients that write immediately.
    #[inline]
    fn flush(&mut self, _out: &mut impl Outlet) {}
    /// A connection is open, its TLS handshake done. Clients that need its times implement [`Client::on_connected_with`] instead.
    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet);
    /// The same with the times of connect and handshake; the engine calls only this one.
    fn on_connected_with(&mut self, conn: ConnId, _opening: &Connected, out: &mut impl Outlet) {
        self.on_connected(conn, out);
    }
    /// The server sent a TLS session ticket: a later connection can resume.
    fn on_session_ticket(&mut self, _conn: ConnId, _out: &mut impl Outlet) {}
    /// Bytes arrived; `stamp` is the arrival of the last one.
    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet);
    /// The first byte of the oldest queued write was sent.
    fn on_write_started(&mut self, _conn: ConnId, _at_ns: u64, _out: &mut impl Outlet) {}
    /// A connection that took fewer bytes than [`Outlet::try_write`] offered takes more now.
    fn on_writable(&mut self, _conn: ConnId, _out: &mut impl Outlet) {}
    /// A connection ended or could not be opened; its slot is free.
    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet);
    /// A timer fired.
    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet);
    /// Records on the servers that were not read yet; `None` where that is not known.
    fn backlog(&self) -> Option<u64> {
        None
    }
    /// Whether the load has reached an end that only the protocol knows: the window ends here.
    fn is_finished(&self) -> bool {
        false
    }
    /// Where the server sent the client with its first redirect, as it said.
    fn redirected_to(&self) -> Option<&[u8]> {
        None
    }
    /// Requests sent so far that may not have arrived, because the protocol does not repeat what the network loses.
    fn requests_lost(&self) -> u64 {
        0
    }
    /// Reports the protocol's own counters by name.
    fn counts(&self, _tell: &mut dyn FnMut(&'static str, u64)) {}
    /// Reports which numbered records were acknowledged.
    fn acknowledged(&self, _tell: &mut dyn FnMut(Acknowledged)) {}
    /// Every exchange has ended and none follows: ends what the protocol keeps beside them, such as a commit. Asked again after each
    /// event until it is true, or the drain is over.
    fn settle(&mut self, _out: &mut impl Outlet) -> bool {
        true
    }
    /// The drain is over: ends every exchange still held, as [`ExchangeOutcome::Unfinished`] unless it is known whose fault that is.
    fn abandon(&mut self, out: &mut impl Outlet);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::grpc::code_class;
    use crate::protocols::http1::ResponseMismatch;

    #[test]
    fn the_class_of_an_error_says_whose_it_is() {
        let closed = |why: Closed| why.class().error_source;
        assert_eq!(closed(Closed::Refused), ErrorSource::Peer);
        assert_eq!(closed(Closed::Unreachable), ErrorSource::Network);
        assert_eq!(closed(Closed::NoPorts), ErrorSource::OwnLimit);
        assert_eq!(closed(Closed::NoDescriptors), ErrorSource::OwnLimit);
        let status = |status| ResponseMismatch::Status(status).class().error_source;
        assert_eq!(status(503), ErrorSource::Target);
        assert_eq!(status(429), ErrorSource::Quota);
        let code = |code| code_class(code).error_source;
        assert_eq!(code(14), ErrorSource::Target);
        assert_eq!(code(8), ErrorSource::Quota);
    }
}
