//! Scripted sessions: a [`Client`] that sends the requests of a session, one after the other, over an HTTP/1.1 client.
//!
//! The engine schedules the start of a session. The intended start of each later request is the end of the one before plus
//! the thinking time between. The state of a session (variables, cookies, counters) is in slots that later sessions reuse.

mod capture;
mod dry_run;
mod interpreter;
mod jar;
mod json;
mod program;
mod scripted;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::{self, Display};
use std::net::SocketAddr;

use tare_record::agent::ErrorSource;
use tare_record::load::session::OnFailure;

use crate::client::{
    Client, Closed, Completion, ConnId, DueExchange, ErrorClass, ExchangeId, ExchangeOutcome,
    NestedExchange, NestedStart, Outlet, Stamp, Status, TimerId, Written,
};
use crate::protocols::http1::client::Http1Client;
pub use dry_run::{DryRunStep, dry_run};
use interpreter::{ENDLESS_LOOP, Next, TEMPLATE_ERROR, UNIQUE_ROWS_EXHAUSTED};
pub use program::Program;
pub use scripted::{SessionRequests, SessionRequestsPlan};

/// The end of the next pause. The inner client uses lower timer ids.
const PAUSES: TimerId = TimerId(15);

/// Sessions over a client.
#[derive(Debug)]
pub struct Sessions {
    inner: Http1Client<SessionRequests>,
    steps: u16,
    /// State of each session, by its ticket.
    slots: Vec<SessionSlot>,
    /// Sessions that pause, by the end of their pause.
    pauses: BinaryHeap<Reverse<(u64, u32)>>,
    timer_ns: u64,
    ended: Vec<FinishedRequest>,
}

/// State of a session.
#[derive(Debug, Clone, Copy)]
struct SessionSlot {
    start: NestedStart,
    request: u16,
    /// Whose fault the first failed request was.
    failed: Option<ErrorSource>,
    last: Stamp,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    None,
    AwaitingResponse,
    Pausing,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy)]
struct FinishedRequest {
    session: ExchangeId,
    outcome: ExchangeOutcome,
    stamp: Stamp,
}

/// The inner client's outlet: passes everything on, except ends of exchanges, which are collected here.
struct InnerOutlet<'a, O> {
    out: &'a mut O,
    slots: &'a [SessionSlot],
    ended: &'a mut Vec<FinishedRequest>,
}

impl<O: Outlet> Outlet for InnerOutlet<'_, O> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.out.now_ns()
    }

    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        self.out.connect(conn, address);
    }

    fn set_server_name(&mut self, conn: ConnId, host: &str) {
        self.out.set_server_name(conn, host);
    }

    #[inline]
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        self.out.write(conn, bytes)
    }

    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        self.out.try_write(conn, bytes)
    }

    fn half_close(&mut self, conn: ConnId) {
        self.out.half_close(conn);
    }

    fn close(&mut self, conn: ConnId) {
        self.out.close(conn);
    }

    fn set_timer(&mut self, timer: TimerId, at_ns: u64) {
        self.out.set_timer(timer, at_ns);
    }

    #[inline]
    fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>) {
        let slot = &self.slots[ticket.0 as usize];
        let within = NestedExchange {
            request: slot.request,
            start: slot.start,
        };
        self.out.complete_nested(&within, done);
        self.ended.push(FinishedRequest {
            session: ticket,
            outcome: done.outcome,
            stamp: done.ended,
        });
    }

    fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display) {
        self.out.fault(class, example);
    }
}

impl Sessions {
    /// Sessions over a client; at most `sessions_max` at the same time.
    #[must_use]
    pub fn new(mut inner: Http1Client<SessionRequests>, sessions_max: usize) -> Self {
        let steps = inner.requests_mut().program.requests() as u16;
        Self {
            inner,
            steps,
            slots: Vec::new(),
            pauses: BinaryHeap::with_capacity(sessions_max),
            timer_ns: u64::MAX,
            ended: Vec::with_capacity(64),
        }
    }

    /// Passes an event on to the inner client, then goes on with the sessions whose requests have ended.
    #[inline]
    fn pass_on<O: Outlet>(
        &mut self,
        out: &mut O,
        event: impl FnOnce(&mut Http1Client<SessionRequests>, &mut InnerOutlet<'_, O>),
    ) {
        let mut outlet = InnerOutlet {
            out: &mut *out,
            slots: &self.slots,
            ended: &mut self.ended,
        };
        event(&mut self.inner, &mut outlet);
        self.process_finished(out);
    }

    fn process_finished(&mut self, out: &mut impl Outlet) {
        while let Some(ended) = self.ended.pop() {
            let slot = &mut self.slots[ended.session.0 as usize];
            slot.state = State::None;
            slot.last = ended.stamp;
            let fault = match ended.outcome {
                ExchangeOutcome::Ok(_) => None,
                ExchangeOutcome::Failed(class) => Some(class.error_source),
                ExchangeOutcome::Unfinished => {
                    self.end(
                        ended.session,
                        ExchangeOutcome::Unfinished,
                        &"its last request was under way",
                        out,
                    );
                    continue;
                }
            };
            self.after_request(ended.session, fault, out);
        }
    }

    /// After a request: continues the session, or ends it if the request failed.
    fn after_request(
        &mut self,
        session: ExchangeId,
        fault: Option<ErrorSource>,
        out: &mut impl Outlet,
    ) {
        let slot = &mut self.slots[session.0 as usize];
        if let Some(fault) = fault {
            slot.failed.get_or_insert(fault);
            if self.inner.requests_mut().on_failure(slot.request) == OnFailure::Abort {
                return self.finish(session, out);
            }
        }
        let from_ns = slot.last.arrived_ns;
        self.run(
            session,
            from_ns,
            NestedStart::Own {
                intended_ns: from_ns,
                released_ns: out.now_ns(),
            },
            out,
        );
    }

    /// Runs a session to its next request, pause or end. `from_ns` is when it could continue.
    fn run(
        &mut self,
        session: ExchangeId,
        from_ns: u64,
        start: NestedStart,
        out: &mut impl Outlet,
    ) {
        let at = session.0 as usize;
        let mut pause_ns: u64 = 0;
        let next = loop {
            match self.inner.requests_mut().next(session, out.now_ns()) {
                Next::Pause(more_ns) => {
                    pause_ns = pause_ns.saturating_add(more_ns);
                    if pause_ns > 0 {
                        break Next::Pause(pause_ns);
                    }
                }
                next => break next,
            }
        };
        match next {
            Next::Send(request) => {
                let slot = &mut self.slots[at];
                slot.start = start;
                slot.request = request;
                slot.state = State::AwaitingResponse;
                let due = DueExchange {
                    ticket: session,
                    request: u32::from(request),
                };
                let mut outlet = InnerOutlet {
                    out,
                    slots: &self.slots,
                    ended: &mut self.ended,
                };
                self.inner.on_due(due, &mut outlet);
            }
            Next::Pause(pause_ns) => {
                self.slots[at].state = State::Pausing;
                let until_ns = from_ns.saturating_add(pause_ns);
                self.pauses.push(Reverse((until_ns, session.0)));
                self.set_timer(out);
            }
            Next::End => self.finish(session, out),
            Next::RenderFailed(request, why) => {
                let ended = Stamp::event(out.now_ns());
                let done = Completion::unsent(ExchangeOutcome::Failed(TEMPLATE_ERROR), ended, &why);
                out.complete_nested(&NestedExchange { request, start }, &done);
                let slot = &mut self.slots[at];
                slot.request = request;
                slot.last = ended;
                slot.failed.get_or_insert(TEMPLATE_ERROR.error_source);
                if self.inner.requests_mut().on_failure(request) == OnFailure::Abort {
                    self.finish(session, out);
                } else {
                    // Queued instead of a recursive call: a session of only such requests must not grow the stack.
                    self.ended.push(FinishedRequest {
                        session,
                        outcome: ExchangeOutcome::Ok(Status::NONE),
                        stamp: ended,
                    });
                }
            }
            Next::SetFailed(why) => {
                self.end(session, ExchangeOutcome::Failed(TEMPLATE_ERROR), &why, out)
            }
            Next::EndlessLoop => {
                let why = "endless loop: it sends no request";
                self.end(session, ExchangeOutcome::Failed(ENDLESS_LOOP), &why, out);
            }
        }
    }

    /// Ends a session that is complete, or that stops after a failure.
    fn finish(&mut self, session: ExchangeId, out: &mut impl Outlet) {
        match self.slots[session.0 as usize].failed {
            None => self.end(session, ExchangeOutcome::Ok(Status::NONE), &"", out),
            Some(fault) => {
                let class = ErrorClass::of("failed-step", fault);
                self.end(
                    session,
                    ExchangeOutcome::Failed(class),
                    &"a step of it failed",
                    out,
                );
            }
        }
    }

    fn end(
        &mut self,
        session: ExchangeId,
        outcome: ExchangeOutcome,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        self.inner.requests_mut().end(session);
        let slot = &mut self.slots[session.0 as usize];
        slot.state = State::None;
        let done = Completion::unsent(outcome, slot.last, example);
        out.complete_session(session, self.steps, &done);
    }

    fn set_timer(&mut self, out: &mut impl Outlet) {
        let next_ns = self
            .pauses
            .peek()
            .map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        if next_ns != self.timer_ns {
            self.timer_ns = next_ns;
            out.set_timer(PAUSES, next_ns);
        }
    }

    fn end_pauses(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.timer_ns = u64::MAX;
        while let Some(&Reverse((at_ns, session))) = self.pauses.peek() {
            if at_ns > now_ns {
                break;
            }
            self.pauses.pop();
            // A session whose last action is a pause ends with the pause, so that the user's next session is not late.
            self.slots[session as usize].last = Stamp::event(at_ns);
            let released_ns = out.now_ns();
            let start = NestedStart::Own {
                intended_ns: at_ns,
                released_ns,
            };
            self.run(ExchangeId(session), at_ns, start, out);
        }
        self.set_timer(out);
        self.process_finished(out);
    }
}

impl Client for Sessions {
    fn on_start(&mut self, out: &mut impl Outlet) {
        self.pass_on(out, |inner, out| inner.on_start(out));
    }

    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn problem(&self) -> Option<String> {
        Client::problem(&self.inner)
    }

    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        let session = due.ticket;
        let at = session.0 as usize;
        let now_ns = out.now_ns();
        let slot = SessionSlot {
            start: NestedStart::Released(session),
            request: 0,
            failed: None,
            last: Stamp::event(now_ns),
            state: State::None,
        };
        if at >= self.slots.len() {
            self.slots.resize(at + 1, slot);
        }
        self.slots[at] = slot;
        if self.inner.requests_mut().begin(session) {
            self.run(session, now_ns, NestedStart::Released(session), out);
        } else {
            let why = "more sessions at once than unique rows: add rows, or use fewer clients";
            self.end(
                session,
                ExchangeOutcome::Failed(UNIQUE_ROWS_EXHAUSTED),
                &why,
                out,
            );
        }
        self.process_finished(out);
    }

    fn flush(&mut self, out: &mut impl Outlet) {
        self.pass_on(out, |inner, out| inner.flush(out));
    }

    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.pass_on(out, |inner, out| inner.on_connected(conn, out));
    }

    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        self.pass_on(out, |inner, out| inner.on_bytes(conn, bytes, stamp, out));
    }

    fn on_write_started(&mut self, conn: ConnId, at_ns: u64, out: &mut impl Outlet) {
        self.pass_on(out, |inner, out| inner.on_write_started(conn, at_ns, out));
    }

    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.pass_on(out, |inner, out| inner.on_closed(conn, why, out));
    }

    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        if timer == PAUSES {
            self.end_pauses(out);
        } else {
            self.pass_on(out, |inner, out| inner.on_timer(timer, out));
        }
    }

    fn redirected_to(&self) -> Option<&[u8]> {
        self.inner.redirected_to()
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        self.pass_on(out, |inner, out| inner.abandon(out));
        for at in 0..self.slots.len() {
            if self.slots[at].state == State::Pausing {
                self.slots[at].last = Stamp::event(out.now_ns());
                let session = ExchangeId(at as u32);
                self.end(
                    session,
                    ExchangeOutcome::Unfinished,
                    &"it paused when the drain ended",
                    out,
                );
            }
        }
        self.pauses.clear();
    }
}
