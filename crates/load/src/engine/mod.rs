//! The driver without I/O: releases exchanges on time, passes events to the client, keeps the book.
//!
//! It runs on whatever [`Wire`] it is given: sockets in a worker, a simulated network on a virtual clock in tests.

mod book;
mod choice;
mod counts;
#[cfg(test)]
mod pair_tests;
mod records;
mod sessions;
#[cfg(test)]
pub(crate) mod sim;
#[cfg(test)]
mod tests;
mod tickets;

use std::fmt;
use std::net::SocketAddr;

pub use book::Book;
pub use choice::Choice;
pub use counts::{Counts, Released, Stages, Waits};
pub use records::Records;
pub use sessions::SessionWindow;

use crate::arrivals::NEVER;
use crate::client::{
    Aged, Client, Closed, ConnId, Connected, Done, ErrorClass, Outlet, RecordsIn, Stamp,
    TIMERS_MAX, Ticket, TimerId, Within, Written,
};

/// Releases in one go before events are looked at again: a loop far behind must still read answers.
const RELEASES_MAX: u32 = 256;

/// Releases that share a stamp where exchanges go into batches: less than a microsecond's worth.
const RELEASES_A_STAMP: u32 = 8;

/// Connections as the driver sees them.
pub trait Wire {
    /// The time.
    fn now_ns(&self) -> u64;
    /// Begins to connect. A failure is told later, never from within.
    fn connect(&mut self, conn: ConnId, address: SocketAddr);
    /// Whom TLS has to meet; see [`Outlet::name`].
    fn name(&mut self, _conn: ConnId, _host: &str) {}
    /// Sends bytes behind those before. A failure is told later, never from within.
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written;
    /// Gives the kernel as many bytes as it takes now; see [`Outlet::pour`].
    fn pour(&mut self, conn: ConnId, bytes: &[u8]) -> usize;
    /// Ends our direction behind everything that was written.
    fn half_close(&mut self, conn: ConnId);
    /// Closes; nothing more is told of this connection.
    fn close(&mut self, conn: ConnId);
    /// Tells the other side that the end is near, if the transport has a word for it.
    fn farewell(&mut self, _conn: ConnId) {}
    /// Closes with a reset in place of an orderly end.
    fn abort(&mut self, conn: ConnId) {
        self.close(conn);
    }
}

/// What [`Book::hand_over`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// Tables that are full.
    Full,
    /// The current one too.
    Everything,
}

/// The driver of one worker around one client.
#[derive(Debug)]
pub struct Engine<C> {
    client: C,
    desk: Desk,
}

/// Everything but the client, so that the client can be called with the rest as its outlet.
#[derive(Debug)]
struct Desk {
    book: Book,
    timers: [u64; TIMERS_MAX],
    next_timer_ns: u64,
    /// Before this time no start is woken up for.
    held_until_ns: u64,
    links: Vec<Link>,
}

/// What the driver keeps of a connection slot.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    state: LinkState,
    opened_before: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LinkState {
    #[default]
    Closed,
    Connecting,
    Open,
}

/// The outlet of a client: a wire and the desk.
struct Desked<'a, W> {
    wire: &'a mut W,
    desk: &'a mut Desk,
}

impl<C: Client> Engine<C> {
    /// A driver that has not started.
    #[must_use]
    pub fn new(client: C, book: Book) -> Self {
        Self {
            client,
            desk: Desk {
                book,
                timers: [NEVER; TIMERS_MAX],
                next_timer_ns: NEVER,
                held_until_ns: 0,
                links: Vec::new(),
            },
        }
    }

    /// Opens the connections.
    pub fn open(&mut self, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        client.start(&mut Desked { wire, desk });
    }

    /// Whether the client has all its connections.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.client.is_open()
    }

    /// Fixes when the load starts.
    pub fn begin(&mut self, start_ns: u64) {
        self.desk.book.begin(start_ns);
    }

    /// The book.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.desk.book
    }

    /// The book, to cut the window or hand tables over.
    pub fn book_mut(&mut self) -> &mut Book {
        &mut self.desk.book
    }

    /// The protocol.
    #[must_use]
    pub fn client(&self) -> &C {
        &self.client
    }

    /// When something has to be done even if no event comes.
    #[inline]
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.next_timer_ns().min(self.next_start_ns())
    }

    /// The next intended start.
    #[inline]
    #[must_use]
    pub fn next_start_ns(&self) -> u64 {
        let next_ns = self.desk.book.arrivals().next_ns();
        match C::START_EVERY_NS {
            0 => next_ns,
            _ => next_ns.max(self.desk.held_until_ns),
        }
    }

    /// The client's next timer.
    #[inline]
    #[must_use]
    pub fn next_timer_ns(&self) -> u64 {
        self.desk.next_timer_ns
    }

    /// Does what is due: timers, then arrivals. Called between any two events, so that no start waits for a crowd of answers.
    #[inline]
    pub fn advance(&mut self, now_ns: u64, wire: &mut impl Wire) {
        if self.next_ns() <= now_ns {
            self.do_due(now_ns, wire);
            self.flush(wire);
        }
    }

    /// The same behind an event, whose consequences go out in one write with what is due.
    #[inline]
    fn follow(&mut self, now_ns: u64, wire: &mut impl Wire) {
        if self.next_ns() <= now_ns {
            self.do_due(now_ns, wire);
        }
        self.flush(wire);
    }

    #[inline]
    fn flush(&mut self, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        client.flush(&mut Desked { wire, desk });
    }

    fn do_due(&mut self, mut now_ns: u64, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        while let Some(timer) = desk.due_timer(now_ns) {
            client.timer(timer, &mut Desked { wire, desk });
        }
        if C::START_EVERY_NS > 0 && desk.book.arrivals().is_planned() {
            desk.held_until_ns = now_ns.saturating_add(C::START_EVERY_NS);
        }
        for turn in 1..=RELEASES_MAX {
            match desk.book.release(now_ns, C::RUN_MAX) {
                None => return,
                Some(None) => {}
                Some(Some(run)) if C::RUN_MAX == 1 => {
                    client.due(run.due, &mut Desked { wire, desk });
                }
                Some(Some(run)) => client.run(run, &mut Desked { wire, desk }),
            }
            if desk.book.arrivals().next_ns() > now_ns {
                return;
            }
            // Sending took time: the next release has its own stamp. What is only put into a batch takes next to none.
            if C::RUN_MAX == 1 || turn % RELEASES_A_STAMP == 0 {
                now_ns = wire.now_ns();
            }
        }
    }

    /// A connection is open.
    pub fn connected(&mut self, conn: ConnId, opening: &Connected, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        desk.link_opened(conn);
        desk.book.opened(opening);
        client.opened(conn, opening, &mut Desked { wire, desk });
        self.follow(wire.now_ns(), wire);
    }

    /// The server gave a session that can be resumed.
    pub fn resumable(&mut self, conn: ConnId, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        client.resumable(conn, &mut Desked { wire, desk });
        self.follow(wire.now_ns(), wire);
    }

    /// Bytes arrived.
    #[inline]
    pub fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, wire: &mut impl Wire) {
        // What became due while the event before was handled goes first.
        if self.next_ns() <= stamp.seen_ns {
            self.do_due(stamp.seen_ns, wire);
        }
        let Self { client, desk } = self;
        client.bytes(conn, bytes, stamp, &mut Desked { wire, desk });
        self.follow(stamp.seen_ns, wire);
    }

    /// The first byte of the oldest queued write went to the kernel.
    pub fn wrote(&mut self, conn: ConnId, at_ns: u64, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        client.wrote(conn, at_ns, &mut Desked { wire, desk });
        self.flush(wire);
    }

    /// A connection takes more bytes.
    pub fn room(&mut self, conn: ConnId, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        client.room(conn, &mut Desked { wire, desk });
        self.follow(wire.now_ns(), wire);
    }

    /// A connection ended, or could not be opened.
    pub fn closed(&mut self, conn: ConnId, why: Closed, wire: &mut impl Wire) {
        let Self { client, desk } = self;
        desk.link_closed(conn);
        client.closed(conn, why, &mut Desked { wire, desk });
        self.follow(wire.now_ns(), wire);
    }

    /// Whether every exchange is done and no more can come.
    #[must_use]
    pub fn is_drained(&self, now_ns: u64) -> bool {
        self.desk.book.under_way() == 0 && self.desk.book.arrivals().is_over(now_ns)
    }

    /// The drain is over: what is left is unfinished.
    pub fn abandon(&mut self, wire: &mut impl Wire) {
        let now_ns = wire.now_ns();
        let Self { client, desk } = self;
        desk.book.forsake(now_ns);
        client.abandon(&mut Desked { wire, desk });
        assert!(
            desk.book.under_way() == 0,
            "a client ends every exchange it was given, at the latest when it is abandoned"
        );
    }
}

impl Desk {
    fn due_timer(&mut self, now_ns: u64) -> Option<TimerId> {
        if self.next_timer_ns > now_ns {
            return None;
        }
        let at = self.timers.iter().position(|&at_ns| at_ns <= now_ns)?;
        self.timers[at] = NEVER;
        self.find_next_timer();
        Some(TimerId(at as u8))
    }

    fn find_next_timer(&mut self) {
        self.next_timer_ns = self.timers.iter().copied().min().unwrap_or(NEVER);
    }

    fn link(&mut self, conn: ConnId) -> &mut Link {
        let at = conn.0 as usize;
        if at >= self.links.len() {
            self.links.resize(at + 1, Link::default());
        }
        &mut self.links[at]
    }

    fn link_opened(&mut self, conn: ConnId) {
        let link = self.link(conn);
        link.state = LinkState::Open;
        let again = std::mem::replace(&mut link.opened_before, true);
        let counts = self.book.counts_mut();
        counts.open += 1;
        counts.connections.opened += 1;
        counts.connections.reconnects += u64::from(again);
        counts.connections.peak = counts.connections.peak.max(counts.open);
    }

    fn link_closed(&mut self, conn: ConnId) {
        let before = std::mem::take(&mut self.link(conn).state);
        let counts = self.book.counts_mut();
        match before {
            LinkState::Open => counts.open -= 1,
            LinkState::Connecting => counts.connections.failed += 1,
            LinkState::Closed => {}
        }
    }
}

impl<W: Wire> Outlet for Desked<'_, W> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.wire.now_ns()
    }

    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        self.desk.link(conn).state = LinkState::Connecting;
        self.wire.connect(conn, address);
    }

    fn name(&mut self, conn: ConnId, host: &str) {
        self.wire.name(conn, host);
    }

    #[inline]
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        self.wire.write(conn, bytes)
    }

    #[inline]
    fn pour(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        self.wire.pour(conn, bytes)
    }

    fn half_close(&mut self, conn: ConnId) {
        self.wire.half_close(conn);
    }

    fn close(&mut self, conn: ConnId) {
        self.desk.link_closed(conn);
        self.wire.close(conn);
    }

    fn farewell(&mut self, conn: ConnId) {
        self.wire.farewell(conn);
    }

    fn abort(&mut self, conn: ConnId) {
        self.desk.link_closed(conn);
        self.wire.abort(conn);
    }

    fn timer(&mut self, timer: TimerId, at_ns: u64) {
        let slot = usize::from(timer.0) % TIMERS_MAX;
        self.desk.timers[slot] = at_ns;
        self.desk.find_next_timer();
    }

    #[inline]
    fn first_byte(&mut self, ticket: Ticket, arrived_ns: u64) {
        self.desk.book.first_byte(ticket, arrived_ns);
    }

    #[inline]
    fn done(&mut self, ticket: Ticket, done: &Done<'_>) {
        self.desk.book.done(ticket, done);
    }

    #[inline]
    fn done_some(&mut self, ticket: Ticket, count: u32, done: &Done<'_>) {
        self.desk.book.done_some(ticket, count, done);
    }

    fn within(&mut self, within: &Within, done: &Done<'_>) {
        self.desk.book.within(within, done);
    }

    fn session(&mut self, ticket: Ticket, series: u16, done: &Done<'_>) {
        self.desk.book.session(ticket, series, done);
    }

    #[inline]
    fn records(&mut self, records: &RecordsIn) {
        self.desk.book.records(records);
    }

    #[inline]
    fn aged(&mut self, aged: &Aged) {
        self.desk.book.aged(aged);
    }

    fn withdraw(&mut self, ticket: Ticket) {
        self.desk.book.withdraw(ticket);
    }

    fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display) {
        self.desk.book.fault(class, example);
    }
}
