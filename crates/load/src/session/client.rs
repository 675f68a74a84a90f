//! The client over a client: starts sessions when they are due, and each session's next request when the last one is done.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::{self, Display};
use std::net::SocketAddr;

use tare_schema::agent::{Acknowledged, Fault};
use tare_schema::load::session::OnFailure;

use super::machine::{NO_ROW, Next, RUNAWAY, UNSENDABLE};
use super::scripted::Scripted;
use crate::client::{
    Bound, Client, Closed, ConnId, Done, Due, ErrorClass, Outcome, Outlet, Stamp, Status, Ticket,
    TimerId, Within, WithinStart, Written,
};
use crate::http1::pool::Pool;

/// The end of the next pause; the client below has the slots before.
const PAUSES: TimerId = TimerId(15);

/// A client that carries sessions' requests.
pub trait Carrier: Client {
    /// The sessions.
    fn scripted(&mut self) -> &mut Scripted;
}

impl Carrier for Pool<Scripted> {
    fn scripted(&mut self) -> &mut Scripted {
        self.requests_mut()
    }
}

/// Sessions over a client.
#[derive(Debug)]
pub struct Sessions<C> {
    inner: C,
    steps: u16,
    /// What each session is at, by its ticket.
    flights: Vec<Flight>,
    /// Sessions that pause, by when they go on.
    pauses: BinaryHeap<Reverse<(u64, u32)>>,
    timer_ns: u64,
    ended: Vec<Ended>,
}

/// Where a session stands.
#[derive(Debug, Clone, Copy)]
struct Flight {
    start: WithinStart,
    request: u16,
    /// The first fault that an answer had.
    failed: Option<Fault>,
    last: Stamp,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    None,
    Asking,
    Pausing,
}

/// A request that is done.
#[derive(Debug, Clone, Copy)]
struct Ended {
    session: Ticket,
    outcome: Outcome,
    stamp: Stamp,
}

/// The outlet of the client below: it asks for connections as if it were alone, and its exchanges end here.
struct Inner<'a, O> {
    out: &'a mut O,
    flights: &'a [Flight],
    ended: &'a mut Vec<Ended>,
}

fn inner<'a, O: Outlet>(
    out: &'a mut O,
    flights: &'a [Flight],
    ended: &'a mut Vec<Ended>,
) -> Inner<'a, O> {
    Inner {
        out,
        flights,
        ended,
    }
}

impl<O: Outlet> Outlet for Inner<'_, O> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.out.now_ns()
    }

    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        self.out.connect(conn, address);
    }

    fn name(&mut self, conn: ConnId, host: &str) {
        self.out.name(conn, host);
    }

    #[inline]
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        self.out.write(conn, bytes)
    }

    fn pour(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        self.out.pour(conn, bytes)
    }

    fn half_close(&mut self, conn: ConnId) {
        self.out.half_close(conn);
    }

    fn close(&mut self, conn: ConnId) {
        self.out.close(conn);
    }

    fn timer(&mut self, timer: TimerId, at_ns: u64) {
        self.out.timer(timer, at_ns);
    }

    #[inline]
    fn done(&mut self, ticket: Ticket, done: &Done<'_>) {
        let flight = &self.flights[ticket.0 as usize];
        let within = Within {
            request: flight.request,
            start: flight.start,
        };
        self.out.within(&within, done);
        self.ended.push(Ended {
            session: ticket,
            outcome: done.outcome,
            stamp: done.ended,
        });
    }

    fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display) {
        self.out.fault(class, example);
    }
}

impl<C: Carrier> Sessions<C> {
    /// Sessions over a client; `sessions_max` may be under way at once.
    #[must_use]
    pub fn new(mut inner: C, sessions_max: usize) -> Self {
        let steps = inner.scripted().program.steps() as u16;
        Self {
            inner,
            steps,
            flights: Vec::new(),
            pauses: BinaryHeap::with_capacity(sessions_max),
            timer_ns: u64::MAX,
            ended: Vec::with_capacity(64),
        }
    }

    fn go_on(&mut self, out: &mut impl Outlet) {
        while let Some(ended) = self.ended.pop() {
            let flight = &mut self.flights[ended.session.0 as usize];
            flight.state = State::None;
            flight.last = ended.stamp;
            let fault = match ended.outcome {
                Outcome::Right(_) => None,
                Outcome::Wrong(class) => Some(class.fault),
                Outcome::Unfinished => {
                    self.end(
                        ended.session,
                        Outcome::Unfinished,
                        &"its last request was under way",
                        out,
                    );
                    continue;
                }
            };
            self.step_over(ended.session, fault, out);
        }
    }

    /// Behind a request: the session goes on, or ends with its failure.
    fn step_over(&mut self, session: Ticket, fault: Option<Fault>, out: &mut impl Outlet) {
        let flight = &mut self.flights[session.0 as usize];
        if let Some(fault) = fault {
            flight.failed.get_or_insert(fault);
            if self.inner.scripted().on_failure(flight.request) == OnFailure::End {
                return self.over(session, out);
            }
        }
        let from_ns = flight.last.arrived_ns;
        self.run(
            session,
            from_ns,
            WithinStart::Own {
                intended_ns: from_ns,
                released_ns: out.now_ns(),
            },
            out,
        );
    }

    /// Runs a session to its next request, pause or end. `from_ns` is when it was free to go on.
    fn run(&mut self, session: Ticket, from_ns: u64, start: WithinStart, out: &mut impl Outlet) {
        let at = session.0 as usize;
        let mut pause_ns: u64 = 0;
        let next = loop {
            match self.inner.scripted().next(session, out.now_ns()) {
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
                let flight = &mut self.flights[at];
                flight.start = start;
                flight.request = request;
                flight.state = State::Asking;
                let due = Due {
                    ticket: session,
                    request,
                };
                let mut through = inner(out, &self.flights, &mut self.ended);
                self.inner.due(due, &mut through);
            }
            Next::Pause(pause_ns) => {
                self.flights[at].state = State::Pausing;
                let until_ns = from_ns.saturating_add(pause_ns);
                self.pauses.push(Reverse((until_ns, session.0)));
                self.set_timer(out);
            }
            Next::End => self.over(session, out),
            Next::Unsendable(request, why) => {
                let ended = Stamp::event(out.now_ns());
                let done = Done {
                    outcome: Outcome::Wrong(UNSENDABLE),
                    sent_ns: None,
                    ended,
                    bound: Bound::Exact,
                    waited: None,
                    example: &why,
                };
                out.within(&Within { request, start }, &done);
                let flight = &mut self.flights[at];
                flight.request = request;
                flight.last = ended;
                flight.failed.get_or_insert(UNSENDABLE.fault);
                if self.inner.scripted().on_failure(request) == OnFailure::End {
                    self.over(session, out);
                } else {
                    // Not from within: a session of nothing but such requests must not grow the stack.
                    self.ended.push(Ended {
                        session,
                        outcome: Outcome::Right(Status::NONE),
                        stamp: ended,
                    });
                }
            }
            Next::Unset(why) => self.end(session, Outcome::Wrong(UNSENDABLE), &why, out),
            Next::Runaway => {
                let why = "its loops go round without sending anything";
                self.end(session, Outcome::Wrong(RUNAWAY), &why, out);
            }
        }
    }

    /// A session did everything it was to do, or ended by a failure.
    fn over(&mut self, session: Ticket, out: &mut impl Outlet) {
        match self.flights[session.0 as usize].failed {
            None => self.end(session, Outcome::Right(Status::NONE), &"", out),
            Some(fault) => {
                let class = ErrorClass::of("failed-step", fault);
                self.end(session, Outcome::Wrong(class), &"a step of it failed", out);
            }
        }
    }

    fn end(
        &mut self,
        session: Ticket,
        outcome: Outcome,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        self.inner.scripted().end(session);
        let flight = &mut self.flights[session.0 as usize];
        flight.state = State::None;
        let done = Done {
            outcome,
            sent_ns: None,
            ended: flight.last,
            bound: Bound::Exact,
            waited: None,
            example,
        };
        out.session(session, self.steps, &done);
    }

    fn set_timer(&mut self, out: &mut impl Outlet) {
        let next_ns = self
            .pauses
            .peek()
            .map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        if next_ns != self.timer_ns {
            self.timer_ns = next_ns;
            out.timer(PAUSES, next_ns);
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
            // A session that ends with a pause ends with the pause: its user's next one is not late by it.
            self.flights[session as usize].last = Stamp::event(at_ns);
            let released_ns = out.now_ns();
            let start = WithinStart::Own {
                intended_ns: at_ns,
                released_ns,
            };
            self.run(Ticket(session), at_ns, start, out);
        }
        self.set_timer(out);
        self.go_on(out);
    }
}

impl<C: Carrier> Client for Sessions<C> {
    fn start(&mut self, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.start(&mut through);
        self.go_on(out);
    }

    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        let session = due.ticket;
        let at = session.0 as usize;
        let now_ns = out.now_ns();
        let flight = Flight {
            start: WithinStart::Released(session),
            request: 0,
            failed: None,
            last: Stamp::event(now_ns),
            state: State::None,
        };
        if at >= self.flights.len() {
            self.flights.resize(at + 1, flight);
        }
        self.flights[at] = flight;
        if self.inner.scripted().begin(session) {
            self.run(session, now_ns, WithinStart::Released(session), out);
        } else {
            let why = "more sessions at once than unique rows: add rows, or use fewer clients";
            self.end(session, Outcome::Wrong(NO_ROW), &why, out);
        }
        self.go_on(out);
    }

    fn flush(&mut self, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.flush(&mut through);
        self.go_on(out);
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.connected(conn, &mut through);
        self.go_on(out);
    }

    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.bytes(conn, bytes, stamp, &mut through);
        self.go_on(out);
    }

    fn wrote(&mut self, conn: ConnId, at_ns: u64, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.wrote(conn, at_ns, &mut through);
        self.go_on(out);
    }

    fn room(&mut self, conn: ConnId, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.room(conn, &mut through);
        self.go_on(out);
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.closed(conn, why, &mut through);
        self.go_on(out);
    }

    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        if timer == PAUSES {
            self.end_pauses(out);
        } else {
            let mut through = inner(out, &self.flights, &mut self.ended);
            self.inner.timer(timer, &mut through);
            self.go_on(out);
        }
    }

    fn counts(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        self.inner.counts(tell);
    }

    fn acknowledged(&self, tell: &mut dyn FnMut(Acknowledged)) {
        self.inner.acknowledged(tell);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let mut through = inner(out, &self.flights, &mut self.ended);
        self.inner.abandon(&mut through);
        self.go_on(out);
        for at in 0..self.flights.len() {
            if self.flights[at].state == State::Pausing {
                self.flights[at].last = Stamp::event(out.now_ns());
                let session = Ticket(at as u32);
                self.end(
                    session,
                    Outcome::Unfinished,
                    &"it paused when the drain ended",
                    out,
                );
            }
        }
        self.pauses.clear();
    }
}
