//! Connection pool: connections that carry one exchange at a time, used in turn, and reopened when they end.
//!
//! The protocol encodes requests and decodes responses; connecting, deadlines and the wait queue are here. Protocols with many
//! exchanges per connection, or one connection per exchange, use single parts: connect scheduling, deadlines, the queue.

mod addresses;
mod connect_scheduler;
mod pooled_protocol;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::VecDeque;
use std::fmt::Display;

use crate::client::{
    Closed, Completion, ConnId, DueExchange, ErrorClass, ExchangeOutcome, Outlet, Stamp, TimerId,
    TimestampBound, WaitCause, Written,
};
pub(crate) use addresses::Addresses;
pub(crate) use connect_scheduler::AfterFailure;
pub(crate) use connect_scheduler::ConnectScheduler;
use connect_scheduler::OPEN;
pub use connect_scheduler::{Backoff, RETRY};
pub use connect_scheduler::{OpenSchedule, PoolConfig};
pub(crate) use pooled_protocol::PooledProtocol;
pub(crate) use waiting::WaitQueue;
pub use waiting::{DEADLINE, Deadlines};

/// First timer that is free for the client's own use.
pub(crate) const TIMER_OWN: TimerId = TimerId(3);

/// A client's own state of a connection.
pub(crate) trait ConnectionState {
    /// Resets to a connection that was just opened.
    fn reset(&mut self);
}

/// One connection: `C` is the client's state of it, `X` that of an exchange.
#[derive(Debug)]
pub(crate) struct Slot<C, X> {
    /// What it is doing.
    pub state: State<X>,
    /// State of the client.
    pub conn: C,
    /// Responses since it was opened.
    pub answers: u64,
    /// Whether it is in the queue of free connections (perhaps from before it was reopened).
    queued: bool,
}

/// State of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State<X> {
    /// Not open.
    Closed,
    /// Being opened.
    Connecting {
        /// When the attempt times out.
        deadline_ns: u64,
    },
    /// Open without an exchange.
    Idle,
    /// Open with an exchange.
    Busy(Exchange<X>),
}

/// The exchange on a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange<X> {
    pub due: DueExchange,
    /// When the connection took it: the timeout counts from here.
    pub begun_ns: u64,
    /// When its first byte was sent.
    pub sent_ns: Option<u64>,
    /// Why it was not sent immediately.
    pub waited: Option<WaitCause>,
    /// Receive timestamp of the last bytes.
    pub last: Option<Stamp>,
    /// State of the client.
    pub own: X,
}

impl<C, X> Slot<C, X> {
    /// Not opened yet.
    fn new(conn: C) -> Self {
        Self {
            state: State::Closed,
            conn,
            answers: 0,
            queued: false,
        }
    }

    /// The exchange in flight.
    #[inline]
    pub fn exchange(&mut self) -> Option<&mut Exchange<X>> {
        match &mut self.state {
            State::Busy(exchange) => Some(exchange),
            State::Closed | State::Connecting { .. } | State::Idle => None,
        }
    }
}

/// The pool. Free connections are used in turn, so that all carry the same share.
#[derive(Debug)]
pub(crate) struct ConnectionPool<C, X> {
    slots: Vec<Slot<C, X>>,
    free: VecDeque<u32>,
    wait_queue: WaitQueue,
    scheduler: ConnectScheduler,
    deadlines: Deadlines,
    timeout_ns: u64,
    exchanges_max: u64,
}

impl<C: ConnectionState, X: Copy> ConnectionPool<C, X> {
    /// The connections of a plan, none open.
    pub fn new(plan: &PoolConfig, conn: impl Fn() -> C) -> Self {
        Self {
            slots: (0..plan.count).map(|_| Slot::new(conn())).collect(),
            free: VecDeque::with_capacity(plan.count),
            wait_queue: WaitQueue::new(plan.waiting_max),
            scheduler: ConnectScheduler::new(plan),
            deadlines: Deadlines::default(),
            timeout_ns: plan.timeout_ns,
            exchanges_max: plan.exchanges_max,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether all are open.
    pub fn are_all_open(&self) -> bool {
        self.scheduler.are_all_open()
    }

    /// A connection.
    #[inline]
    pub fn slot(&mut self, at: u32) -> &mut Slot<C, X> {
        &mut self.slots[at as usize]
    }

    /// The client's state of each connection.
    pub fn conns(&self) -> impl Iterator<Item = &C> {
        self.slots.iter().map(|slot| &slot.conn)
    }

    /// Starts the connection attempts that may start now.
    pub fn open_more(&mut self, out: &mut impl Outlet) {
        while let Some(attempt) = self.scheduler.attempt(out) {
            let deadline_ns = attempt.deadline_ns;
            let slot = self.slot(attempt.at);
            slot.conn.reset();
            slot.answers = 0;
            slot.state = State::Connecting { deadline_ns };
            self.deadlines.watch(deadline_ns, out);
        }
    }

    /// Takes a free connection for an exchange; without one the exchange waits.
    #[inline]
    pub fn acquire(&mut self, due: DueExchange) -> Option<u32> {
        while let Some(at) = self.free.pop_front() {
            let slot = self.slot(at);
            slot.queued = false;
            if matches!(slot.state, State::Idle) {
                return Some(at);
            }
        }
        self.wait_queue.push(due);
        None
    }

    /// Takes the next waiting exchange for a connection; without one the connection is free.
    #[inline]
    pub fn next_waiting(&mut self, at: u32) -> Option<DueExchange> {
        let next = self.wait_queue.pop();
        if next.is_none() {
            let slot = &mut self.slots[at as usize];
            if !slot.queued {
                slot.queued = true;
                self.free.push_back(at);
            }
        }
        next
    }

    /// Leaves a connection out of the free ones until `next_waiting` is asked for it.
    #[cold]
    pub fn reserve(&mut self, at: u32) {
        self.free.retain(|&free| free != at);
        self.slot(at).queued = false;
    }

    /// Registers the timeout of an exchange started at `begun_ns`.
    #[inline]
    pub fn watch(&mut self, begun_ns: u64, out: &mut impl Outlet) {
        let deadline_ns = begun_ns.saturating_add(self.timeout_ns);
        self.deadlines.watch(deadline_ns, out);
    }

    /// Sends the request of an exchange on a free connection.
    #[inline]
    pub fn send(
        &mut self,
        at: u32,
        (due, waited): (DueExchange, Option<WaitCause>),
        bytes: &[u8],
        own: X,
        out: &mut impl Outlet,
    ) {
        let (sent_ns, waited) = match out.write(ConnId(at), bytes) {
            Written::Sent(at_ns) => (Some(at_ns), waited),
            Written::Queued => (None, waited.or(Some(WaitCause::SocketBuffer))),
        };
        let begun_ns = sent_ns.unwrap_or_else(|| out.now_ns());
        self.slot(at).state = State::Busy(Exchange {
            due,
            begun_ns,
            sent_ns,
            waited,
            last: None,
            own,
        });
        self.watch(begun_ns, out);
    }

    /// Part of a response arrived.
    #[inline]
    pub fn partial(&mut self, at: u32, stamp: Stamp, out: &mut impl Outlet) {
        if let Some(exchange) = self.slot(at).exchange() {
            if exchange.last.is_none() {
                out.record_first_byte(exchange.due.ticket, stamp.arrived_ns);
            }
            exchange.last = Some(stamp);
        }
    }

    /// A connection is open; the caller asks for its first exchange with `next_waiting`.
    pub fn connected(&mut self, at: u32, out: &mut impl Outlet) {
        self.slot(at).state = State::Idle;
        self.scheduler.opened(at);
        self.open_more(out);
    }

    /// The server responded, correctly or not: resets the backoff.
    #[inline]
    pub fn reset_backoff(&mut self) {
        self.scheduler.reset_backoff();
    }

    /// Whether a connection has carried as many exchanges as it may.
    #[inline]
    pub fn is_at_exchange_limit(&self, at: u32) -> bool {
        self.slots[at as usize].answers >= self.exchanges_max
    }

    /// Ends the exchange of a busy connection; the caller decides whether the connection stays.
    #[inline]
    pub fn end(
        &mut self,
        at: u32,
        outcome: ExchangeOutcome,
        ended: Stamp,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let slot = self.slot(at);
        let State::Busy(exchange) = slot.state else {
            return;
        };
        slot.state = State::Idle;
        let done = Completion {
            outcome,
            sent_ns: exchange.sent_ns,
            ended,
            bound: TimestampBound::Exact,
            waited: exchange.waited,
            example,
        };
        out.complete(exchange.due.ticket, &done);
    }

    /// Closes an open connection and opens it again.
    pub fn reopen(&mut self, at: u32, out: &mut impl Outlet) {
        out.close(ConnId(at));
        self.lost(at, out);
    }

    /// An open connection is gone; its exchange has ended.
    pub fn lost(&mut self, at: u32, out: &mut impl Outlet) {
        self.slot(at).state = State::Closed;
        self.scheduler.lost(at);
        self.open_more(out);
    }

    /// The peer ended a connection, or an attempt failed. Returns the exchange that was on it: the caller ends it, then calls
    /// [`lost`](Self::lost).
    pub fn closed(&mut self, at: u32, why: Closed, out: &mut impl Outlet) -> Option<Exchange<X>> {
        match self.slot(at).state {
            State::Closed => {}
            State::Connecting { .. } => self.not_connected(at, why, out),
            State::Idle => {
                self.back_off_if_no_response(at, out);
                self.lost(at, out);
            }
            State::Busy(exchange) => return Some(exchange),
        }
        None
    }

    /// Unsolicited bytes: a connection error; the connection is reopened.
    #[cold]
    pub fn unsolicited(
        &mut self,
        at: u32,
        class: ErrorClass,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        out.fault(class, example);
        self.back_off_if_no_response(at, out);
        self.reopen(at, out);
    }

    /// A timer fired; `late` is the error of an exchange whose timeout, in milliseconds, has passed.
    pub fn timer<L: Display>(
        &mut self,
        timer: TimerId,
        late: impl Fn(u64, Exchange<X>) -> L,
        out: &mut impl Outlet,
    ) {
        match timer {
            DEADLINE => self.expire(late, out),
            RETRY | OPEN => {
                self.scheduler.timer(timer);
                self.open_more(out);
            }
            _ => {}
        }
    }

    /// Ends every exchange as unfinished; `example` is for those in flight.
    pub fn abandon(&mut self, example: &dyn Display, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for at in 0..self.slots.len() as u32 {
            self.end(at, ExchangeOutcome::Unfinished, ended, example, out);
        }
        let example = "still waiting for a free connection when the drain ended";
        self.wait_queue
            .end_all(ExchangeOutcome::Unfinished, &example, out);
    }

    /// An attempt to connect failed.
    fn not_connected(&mut self, at: u32, why: Closed, out: &mut impl Outlet) {
        self.slot(at).state = State::Closed;
        let next = self.scheduler.failed(at, out);
        if next == AfterFailure::Pause && self.scheduler.is_none_open() {
            // No connection is left for the waiting exchanges: they fail, as a user's would.
            self.wait_queue
                .end_all(ExchangeOutcome::Failed(why.class()), &why, out);
        }
        self.open_more(out);
    }

    /// The server accepts and closes immediately: without a pause this would be a busy loop.
    fn back_off_if_no_response(&mut self, at: u32, out: &mut impl Outlet) {
        if self.slot(at).answers == 0 {
            self.scheduler.pause(out);
        }
    }

    fn expire<L: Display>(&mut self, late: impl Fn(u64, Exchange<X>) -> L, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.deadlines.elapsed();
        for at in 0..self.slots.len() as u32 {
            let state = self.slot(at).state;
            let deadline_ns = match &state {
                State::Busy(exchange) => exchange.begun_ns.saturating_add(self.timeout_ns),
                State::Connecting { deadline_ns } => *deadline_ns,
                State::Idle | State::Closed => continue,
            };
            if deadline_ns > now_ns {
                self.deadlines.watch(deadline_ns, out);
            } else if let State::Busy(exchange) = &state {
                let example = late(self.timeout_ns / 1_000_000, *exchange);
                let outcome = ExchangeOutcome::Failed(ErrorClass::TIMEOUT);
                self.end(at, outcome, Stamp::event(now_ns), &example, out);
                self.reopen(at, out);
            } else {
                out.close(ConnId(at));
                self.not_connected(at, Closed::ConnectTimeout, out);
            }
        }
    }
}
