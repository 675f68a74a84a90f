//! The connections of a client that carry one exchange each at a time: opened, used in turn, and opened anew when they end.
//!
//! A protocol over such connections says what it sends and what it makes of what comes; everything else is here. One with
//! many exchanges on a connection, and one that connects for each exchange, take the parts they need: how connections are
//! opened, the deadlines, the queue of what waits.

mod backoff;
mod deadlines;
mod opener;
mod opening;
mod plan;
mod slot;
#[cfg(test)]
mod tests;
mod waiters;

use std::collections::VecDeque;
use std::fmt::Display;

use crate::client::{
    Bound, Closed, ConnId, Done, Due, ErrorClass, Outcome, Outlet, Stamp, TimerId,
};
pub(crate) use backoff::Backoff;
pub(crate) use deadlines::{DEADLINE, Deadlines};
use opener::OPEN;
pub(crate) use opener::Opener;
pub(crate) use opener::RETRY;
pub use opening::Opening;
pub use plan::Connections;
pub(crate) use slot::{Exchange, Kept, Slot, State};
pub(crate) use waiters::Waiters;

/// The first timer that is not one of ours but the client's.
pub(crate) const TIMER_OWN: TimerId = TimerId(3);

/// The connections. Free ones are used in turn, so that all carry the same share.
#[derive(Debug)]
pub(crate) struct Roster<C, X> {
    slots: Vec<Slot<C, X>>,
    free: VecDeque<u32>,
    waiters: Waiters,
    opener: Opener,
    deadlines: Deadlines,
    timeout_ns: u64,
    exchanges_max: u64,
}

impl<C: Kept, X: Copy> Roster<C, X> {
    /// Connections as planned, none of them open.
    pub fn new(plan: &Connections, conn: impl Fn() -> C) -> Self {
        Self {
            slots: (0..plan.count).map(|_| Slot::new(conn())).collect(),
            free: VecDeque::with_capacity(plan.count),
            waiters: Waiters::new(plan.waiting_max),
            opener: Opener::new(plan),
            deadlines: Deadlines::new(),
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
        self.opener.are_all_open()
    }

    /// A connection.
    #[inline]
    pub fn slot(&mut self, at: u32) -> &mut Slot<C, X> {
        &mut self.slots[at as usize]
    }

    /// Opens what is to be opened now.
    pub fn open_more(&mut self, out: &mut impl Outlet) {
        while let Some(attempt) = self.opener.attempt(out) {
            let deadline_ns = attempt.deadline_ns;
            let slot = self.slot(attempt.at);
            slot.conn.reset();
            slot.answers = 0;
            slot.state = State::Connecting { deadline_ns };
            self.deadlines.watch(deadline_ns, out);
        }
    }

    /// The connection that an exchange begins on now; without one it waits.
    #[inline]
    pub fn place(&mut self, due: Due) -> Option<u32> {
        while let Some(at) = self.free.pop_front() {
            let slot = self.slot(at);
            slot.queued = false;
            if matches!(slot.state, State::Idle) {
                return Some(at);
            }
        }
        self.waiters.push(due);
        None
    }

    /// The exchange that a connection begins next, one that waits; without one it is free.
    #[inline]
    pub fn next_for(&mut self, at: u32) -> Option<Due> {
        let next = self.waiters.pop();
        if next.is_none() {
            let slot = &mut self.slots[at as usize];
            if !slot.queued {
                slot.queued = true;
                self.free.push_back(at);
            }
        }
        next
    }

    /// Ends an exchange in time that began at this time.
    #[inline]
    pub fn watch(&mut self, begun_ns: u64, out: &mut impl Outlet) {
        let deadline_ns = begun_ns.saturating_add(self.timeout_ns);
        self.deadlines.watch(deadline_ns, out);
    }

    /// A connection is open; what it begins with is to be asked for.
    pub fn connected(&mut self, at: u32, out: &mut impl Outlet) {
        self.slot(at).state = State::Idle;
        self.opener.opened();
        self.open_more(out);
    }

    /// The other side gave an answer, right or wrong: after the next failure the pause is a short one again.
    #[inline]
    pub fn worked(&mut self) {
        self.opener.worked();
    }

    /// Whether a connection has brought as many answers as it may.
    #[inline]
    pub fn is_used_up(&self, at: u32) -> bool {
        self.slots[at as usize].answers >= self.exchanges_max
    }

    /// Ends the exchange of a busy connection; the caller decides what becomes of the connection.
    #[inline]
    pub fn end(
        &mut self,
        at: u32,
        outcome: Outcome,
        ended: Stamp,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let slot = self.slot(at);
        let State::Busy(exchange) = slot.state else {
            return;
        };
        slot.state = State::Idle;
        let done = Done {
            outcome,
            sent_ns: exchange.sent_ns,
            ended,
            bound: Bound::Exact,
            waited: exchange.waited,
            example,
        };
        out.done(exchange.due.ticket, &done);
    }

    /// Closes an open connection of ours and opens it anew.
    pub fn renew(&mut self, at: u32, out: &mut impl Outlet) {
        out.close(ConnId(at));
        self.lost(at, out);
    }

    /// An open connection is gone, its exchange has ended.
    pub fn lost(&mut self, at: u32, out: &mut impl Outlet) {
        self.slot(at).state = State::Closed;
        self.opener.lost(at);
        self.open_more(out);
    }

    /// A connection ended by itself or did not come to be. An exchange that was on it is given back: it is to be ended, and
    /// then the connection is [`lost`](Self::lost).
    pub fn closed(&mut self, at: u32, why: Closed, out: &mut impl Outlet) -> Option<Exchange<X>> {
        match self.slot(at).state {
            State::Closed => {}
            State::Connecting { .. } => self.not_connected(at, why, out),
            State::Idle => {
                self.pause_if_fruitless(at, out);
                self.lost(at, out);
            }
            State::Busy(exchange) => return Some(exchange),
        }
        None
    }

    /// Something came that no exchange had asked for: a fault of the connection, which is opened anew.
    #[cold]
    pub fn unasked(&mut self, at: u32, example: &dyn Display, out: &mut impl Outlet) {
        out.fault(ErrorClass::RUBBISH, example);
        self.pause_if_fruitless(at, out);
        self.renew(at, out);
    }

    /// A timer went off; `late` tells of an exchange that is ended because its limit, in milliseconds, has passed.
    pub fn timer<L: Display>(
        &mut self,
        timer: TimerId,
        late: impl Fn(u64, &Exchange<X>) -> L,
        out: &mut impl Outlet,
    ) {
        match timer {
            DEADLINE => self.expire(late, out),
            RETRY | OPEN => {
                self.opener.timer(timer);
                self.open_more(out);
            }
            _ => {}
        }
    }

    /// Ends every exchange as unfinished; the example is for those under way.
    pub fn abandon(&mut self, example: &dyn Display, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for at in 0..self.slots.len() as u32 {
            self.end(at, Outcome::Unfinished, ended, example, out);
        }
        let example = "still waiting for a free connection when the drain ended";
        self.waiters.end_all(Outcome::Unfinished, &example, out);
    }

    /// An attempt to connect failed.
    fn not_connected(&mut self, at: u32, why: Closed, out: &mut impl Outlet) {
        self.slot(at).state = State::Closed;
        self.opener.failed(at, out);
        if self.opener.is_none_open() {
            // Nobody is there to carry what waits: it has failed, as a user's exchange would have.
            self.waiters.end_all(Outcome::Wrong(why.class()), &why, out);
        }
        self.open_more(out);
    }

    /// Accepted and dropped: without a pause this would go round as fast as the machine can.
    fn pause_if_fruitless(&mut self, at: u32, out: &mut impl Outlet) {
        if self.slot(at).answers == 0 {
            self.opener.pause(out);
        }
    }

    fn expire<L: Display>(&mut self, late: impl Fn(u64, &Exchange<X>) -> L, out: &mut impl Outlet) {
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
                let example = late(self.timeout_ns / 1_000_000, exchange);
                let outcome = Outcome::Wrong(ErrorClass::TIMEOUT);
                self.end(at, outcome, Stamp::event(now_ns), &example, out);
                self.renew(at, out);
            } else {
                out.close(ConnId(at));
                self.not_connected(at, Closed::ConnectTimeout, out);
            }
        }
    }
}
