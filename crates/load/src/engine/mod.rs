//! The engine, without I/O: releases exchanges on time, passes events to the client, records every exchange.
//!
//! It runs on any [`ConnectionIo`]: sockets in a worker, a simulated network on a virtual clock in tests.

mod counts;
mod exchanges;
#[cfg(test)]
mod pair_tests;
mod recorder;
mod request_selector;
mod sessions;
pub mod sim;
#[cfg(test)]
pub(crate) mod sum_tests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;

pub use counts::{ArrivalKind, ExchangeCounts, FailedAttempts, Waits, WorkerCounts};
pub use recorder::ExchangeRecorder;
pub use request_selector::RequestSelector;
pub use sessions::SessionWindow;

use crate::arrivals::NEVER;
use crate::client::{
    Client, Closed, Completion, ConnId, Connected, ErrorClass, ExchangeId, NestedExchange, Outlet,
    RecordAge, RecordArrivals, Stamp, TIMERS_MAX, TimerId, Written,
};

/// Most releases before events are looked at again: a late loop must still read responses.
const RELEASES_MAX: u32 = 256;

/// Releases that share a clock reading where exchanges are batched: less than a microsecond's worth.
const RELEASES_A_STAMP: u32 = 8;

/// I/O of connections, as the engine needs it.
pub trait ConnectionIo {
    /// Current time.
    fn now_ns(&self) -> u64;
    /// Starts to connect. A failure is reported later, never from within this call.
    fn connect(&mut self, conn: ConnId, address: SocketAddr);
    /// Sets the TLS server name; see [`Outlet::set_server_name`].
    fn set_server_name(&mut self, _conn: ConnId, _host: &str) {}
    /// Sends bytes in order. A failure is reported later, never from within this call.
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written;
    /// Gives the kernel as many bytes as it takes now; see [`Outlet::try_write`].
    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize;
    /// Closes our direction after everything written.
    fn half_close(&mut self, conn: ConnId);
    /// Closes; no more events of this connection follow.
    fn close(&mut self, conn: ConnId);
    /// Sends close_notify, with TLS; see [`Outlet::close_notify`].
    fn close_notify(&mut self, _conn: ConnId) {}
    /// Closes with a reset.
    fn abort(&mut self, conn: ConnId) {
        self.close(conn);
    }
}

/// Which tables [`ExchangeRecorder::hand_over`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// Full tables.
    Full,
    /// The current one, too.
    Everything,
}

/// The engine of one worker, around one client.
#[derive(Debug)]
pub struct Engine<C> {
    client: C,
    state: EngineState,
}

/// Everything but the client, so that the client can be called with the rest as its [`Outlet`].
#[derive(Debug)]
struct EngineState {
    recorder: ExchangeRecorder,
    timers: [u64; TIMERS_MAX],
    next_timer_ns: u64,
    /// No wake-up for a start before this time.
    held_until_ns: u64,
    slots: Vec<ConnectionSlot>,
}

/// State of a connection slot.
#[derive(Debug, Clone, Copy, Default)]
struct ConnectionSlot {
    state: SlotState,
    opened_before: bool,
    /// Of the last attempt.
    address: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SlotState {
    #[default]
    Closed,
    Connecting,
    Open,
}

/// The outlet of a client: I/O and the engine's state.
struct EngineOutlet<'a, W> {
    io: &'a mut W,
    state: &'a mut EngineState,
}

impl<C: Client> Engine<C> {
    /// An engine that has not started.
    #[must_use]
    pub fn new(client: C, recorder: ExchangeRecorder) -> Self {
        Self {
            client,
            state: EngineState {
                recorder,
                timers: [NEVER; TIMERS_MAX],
                next_timer_ns: NEVER,
                held_until_ns: 0,
                slots: Vec::new(),
            },
        }
    }

    pub fn open(&mut self, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        client.on_start(&mut EngineOutlet { io, state });
    }

    /// Whether the client has opened all its connections.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.client.is_open()
    }

    /// Fixes when the load starts.
    pub fn begin(&mut self, start_ns: u64) {
        self.state.recorder.begin(start_ns);
    }

    #[must_use]
    pub fn recorder(&self) -> &ExchangeRecorder {
        &self.state.recorder
    }

    /// The recorder, to end the window or to hand over tables.
    pub fn recorder_mut(&mut self) -> &mut ExchangeRecorder {
        &mut self.state.recorder
    }

    /// The protocol client.
    #[must_use]
    pub fn client(&self) -> &C {
        &self.client
    }

    /// Next time at which something is due even without an event.
    #[inline]
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.next_timer_ns().min(self.next_start_ns())
    }

    /// The next intended start.
    #[inline]
    #[must_use]
    pub fn next_start_ns(&self) -> u64 {
        let next_ns = self.state.recorder.arrivals().next_ns();
        match C::START_EVERY_NS {
            0 => next_ns,
            _ => next_ns.max(self.state.held_until_ns),
        }
    }

    /// The next timer of the client.
    #[inline]
    #[must_use]
    pub fn next_timer_ns(&self) -> u64 {
        self.state.next_timer_ns
    }

    /// Runs what is due: timers, then starts. Called between any two events, so that no start waits for a burst of responses.
    #[inline]
    pub fn advance(&mut self, now_ns: u64, io: &mut impl ConnectionIo) {
        if self.next_ns() <= now_ns {
            self.do_due(now_ns, io);
            self.flush(io);
        }
    }

    /// The same after an event; what the event causes is written together with what is due.
    #[inline]
    fn advance_after_event(&mut self, now_ns: u64, io: &mut impl ConnectionIo) {
        if self.next_ns() <= now_ns {
            self.do_due(now_ns, io);
        }
        self.flush(io);
    }

    #[inline]
    fn flush(&mut self, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        client.flush(&mut EngineOutlet { io, state });
    }

    fn do_due(&mut self, mut now_ns: u64, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        while let Some(timer) = state.due_timer(now_ns) {
            client.on_timer(timer, &mut EngineOutlet { io, state });
        }
        if C::START_EVERY_NS > 0 && state.recorder.arrivals().is_open_loop() {
            state.held_until_ns = now_ns.saturating_add(C::START_EVERY_NS);
        }
        for turn in 1..=RELEASES_MAX {
            match state.recorder.release(now_ns, C::BATCH_MAX) {
                None => return,
                Some(None) => {}
                Some(Some(batch)) if C::BATCH_MAX == 1 => {
                    client.on_due(batch.due, &mut EngineOutlet { io, state });
                }
                Some(Some(batch)) => client.on_batch(batch, &mut EngineOutlet { io, state }),
            }
            if state.recorder.arrivals().next_ns() > now_ns {
                return;
            }
            // Sending took time: the next release gets a clock reading of its own. Putting into a batch takes next to none.
            if C::BATCH_MAX == 1 || turn % RELEASES_A_STAMP == 0 {
                now_ns = io.now_ns();
            }
        }
    }

    pub fn on_connected(&mut self, conn: ConnId, opening: &Connected, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        state.slot_opened(conn);
        state.recorder.opened(opening);
        client.on_connected_with(conn, opening, &mut EngineOutlet { io, state });
        self.advance_after_event(io.now_ns(), io);
    }

    /// The server sent a TLS session ticket.
    pub fn on_session_ticket(&mut self, conn: ConnId, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        client.on_session_ticket(conn, &mut EngineOutlet { io, state });
        self.advance_after_event(io.now_ns(), io);
    }

    /// Bytes arrived.
    #[inline]
    pub fn on_bytes(
        &mut self,
        conn: ConnId,
        bytes: &[u8],
        stamp: Stamp,
        io: &mut impl ConnectionIo,
    ) {
        // What became due during the previous event goes first.
        if self.next_ns() <= stamp.seen_ns {
            self.do_due(stamp.seen_ns, io);
        }
        let Self { client, state } = self;
        client.on_bytes(conn, bytes, stamp, &mut EngineOutlet { io, state });
        self.advance_after_event(stamp.seen_ns, io);
    }

    /// The first byte of the oldest queued write was sent.
    pub fn on_write_started(&mut self, conn: ConnId, at_ns: u64, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        client.on_write_started(conn, at_ns, &mut EngineOutlet { io, state });
        self.flush(io);
    }

    /// A connection takes more bytes.
    pub fn on_writable(&mut self, conn: ConnId, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        client.on_writable(conn, &mut EngineOutlet { io, state });
        self.advance_after_event(io.now_ns(), io);
    }

    /// A connection ended, or could not be opened.
    pub fn on_closed(&mut self, conn: ConnId, why: Closed, io: &mut impl ConnectionIo) {
        let Self { client, state } = self;
        state.slot_closed(conn, why);
        client.on_closed(conn, why, &mut EngineOutlet { io, state });
        self.advance_after_event(io.now_ns(), io);
    }

    /// Whether every exchange has ended and no more can start.
    #[must_use]
    pub fn is_drained(&self, now_ns: u64) -> bool {
        self.state.is_drained(now_ns)
    }

    /// Whether every exchange has ended, and with them what the protocol keeps beside them.
    pub fn is_settled(&mut self, now_ns: u64, io: &mut impl ConnectionIo) -> bool {
        let Self { client, state } = self;
        state.is_drained(now_ns) && client.settle(&mut EngineOutlet { io, state })
    }

    /// The drain is over: the remaining exchanges are unfinished.
    pub fn abandon(&mut self, io: &mut impl ConnectionIo) {
        let now_ns = io.now_ns();
        let Self { client, state } = self;
        state.recorder.count_unreleased(now_ns);
        client.abandon(&mut EngineOutlet { io, state });
        assert!(
            state.recorder.under_way() == 0,
            "a client ends every exchange it was given, at the latest when it is abandoned"
        );
    }
}

impl EngineState {
    fn is_drained(&self, now_ns: u64) -> bool {
        self.recorder.under_way() == 0 && self.recorder.arrivals().is_over(now_ns)
    }

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

    fn slot(&mut self, conn: ConnId) -> &mut ConnectionSlot {
        let at = conn.0 as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, ConnectionSlot::default());
        }
        &mut self.slots[at]
    }

    fn slot_opened(&mut self, conn: ConnId) {
        let slot = self.slot(conn);
        slot.state = SlotState::Open;
        let again = std::mem::replace(&mut slot.opened_before, true);
        let counts = &mut self.recorder.counts;
        counts.open += 1;
        counts.connections.opened += 1;
        counts.connections.reconnects += u64::from(again);
        counts.connections.peak = counts.connections.peak.max(counts.open);
    }

    fn slot_closed(&mut self, conn: ConnId, why: Closed) {
        let slot = self.slot(conn);
        let (before, address) = (std::mem::take(&mut slot.state), slot.address);
        match before {
            SlotState::Open => self.recorder.counts.open -= 1,
            SlotState::Connecting => self.recorder.failed_attempt(address, why),
            SlotState::Closed => {}
        }
    }

    /// The client closes a connection. It gives up an attempt only when its time is over.
    fn slot_given_up(&mut self, conn: ConnId) {
        self.slot_closed(conn, Closed::ConnectTimeout);
    }
}

impl<W: ConnectionIo> Outlet for EngineOutlet<'_, W> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.io.now_ns()
    }

    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        let slot = self.state.slot(conn);
        slot.state = SlotState::Connecting;
        slot.address = Some(address);
        self.io.connect(conn, address);
    }

    fn set_server_name(&mut self, conn: ConnId, host: &str) {
        self.io.set_server_name(conn, host);
    }

    #[inline]
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        self.io.write(conn, bytes)
    }

    #[inline]
    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        self.io.try_write(conn, bytes)
    }

    fn half_close(&mut self, conn: ConnId) {
        self.io.half_close(conn);
    }

    fn close(&mut self, conn: ConnId) {
        self.state.slot_given_up(conn);
        self.io.close(conn);
    }

    fn close_notify(&mut self, conn: ConnId) {
        self.io.close_notify(conn);
    }

    fn abort(&mut self, conn: ConnId) {
        self.state.slot_given_up(conn);
        self.io.abort(conn);
    }

    fn set_timer(&mut self, timer: TimerId, at_ns: u64) {
        let slot = usize::from(timer.0) % TIMERS_MAX;
        self.state.timers[slot] = at_ns;
        self.state.find_next_timer();
    }

    #[inline]
    fn record_first_byte(&mut self, ticket: ExchangeId, arrived_ns: u64) {
        self.state.recorder.record_first_byte(ticket, arrived_ns);
    }

    #[inline]
    fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>) {
        self.state.recorder.complete(ticket, done);
    }

    #[inline]
    fn complete_some(&mut self, ticket: ExchangeId, count: u32, done: &Completion<'_>) {
        self.state.recorder.complete_some(ticket, count, done);
    }

    fn complete_nested(&mut self, within: &NestedExchange, done: &Completion<'_>) {
        self.state.recorder.complete_nested(within, done);
    }

    fn complete_session(&mut self, ticket: ExchangeId, series: u16, done: &Completion<'_>) {
        self.state.recorder.complete_session(ticket, series, done);
    }

    #[inline]
    fn record_arrivals(&mut self, records: &RecordArrivals) {
        self.state.recorder.record_arrivals(records);
    }

    #[inline]
    fn record_age(&mut self, aged: &RecordAge) {
        self.state.recorder.record_age(aged);
    }

    fn withdraw(&mut self, ticket: ExchangeId) {
        self.state.recorder.withdraw(ticket);
    }

    fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display) {
        self.state.recorder.fault(class, example);
    }
}
