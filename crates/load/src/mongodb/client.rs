//! MongoDB's protocol as a [`Client`].

use std::sync::Arc;

use tare_mongo::message::Header;
use thiserror::Error;

use super::answer::{Wrong, judge, judge_filling};
use super::documents::{Asked, Documents, Operation};
use crate::client::{
    Client, Closed, ConnId, Due, Outcome, Outlet, Stamp, Status, TimerId, WaitCause, Written,
};
use crate::roster::{Connections, Exchange, Kept, Roster, State};

/// What a client is made of.
#[derive(Debug)]
pub struct MongodbPlan {
    /// What the requests of the plan do.
    pub operations: Arc<[Operation]>,
    /// Its connections.
    pub connections: Connections,
    /// Its documents.
    pub documents: Documents,
}

/// The client.
#[derive(Debug)]
pub struct Mongodb {
    operations: Arc<[Operation]>,
    documents: Documents,
    roster: Roster<Conn, Asked>,
    /// The message being written.
    message: Vec<u8>,
    filling: Filling,
}

/// How far the documents are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filling {
    /// No connection is at it.
    Waits,
    /// This connection has sent this message of it.
    Runs { at: u32, request_id: i32 },
    /// They are there, or will not be: then answers say so.
    Over,
}

/// What is kept of one connection: an answer that has not come whole.
#[derive(Debug, Default)]
struct Conn {
    inbox: Vec<u8>,
}

impl Kept for Conn {
    fn reset(&mut self) {
        self.inbox.clear();
    }
}

/// Why an exchange is given up.
#[derive(Debug, Error)]
#[error("no whole answer within {limit_ms} ms")]
struct Late {
    limit_ms: u64,
}

impl Mongodb {
    /// A client that has not started.
    #[must_use]
    pub fn new(plan: MongodbPlan) -> Self {
        Self {
            operations: plan.operations,
            documents: plan.documents,
            roster: Roster::new(&plan.connections, Conn::default),
            message: Vec::new(),
            filling: Filling::Waits,
        }
    }

    fn send(&mut self, at: u32, due: Due, waited: Option<WaitCause>, out: &mut impl Outlet) {
        let operation = self.operations[usize::from(due.request) % self.operations.len()];
        self.message.clear();
        let own = self.documents.ask(operation, &mut self.message);
        let (sent_ns, waited) = match out.write(ConnId(at), &self.message) {
            Written::Sent(at_ns) => (Some(at_ns), waited),
            Written::Queued => (None, waited.or(Some(WaitCause::SocketBuffer))),
        };
        let begun_ns = sent_ns.unwrap_or_else(|| out.now_ns());
        self.roster.slot(at).state = State::Busy(Exchange {
            due,
            begun_ns,
            sent_ns,
            waited,
            last: None,
            own,
        });
        self.roster.watch(begun_ns, out);
    }

    /// Gives a connection its next exchange, or keeps it free.
    fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        if let Some(due) = self.roster.next_for(at) {
            self.send(at, due, Some(WaitCause::Connection), out);
        }
    }

    /// Sends the next message that fills; behind the last one the connection is as the others.
    fn fill(&mut self, at: u32, out: &mut impl Outlet) {
        self.message.clear();
        match self.documents.fill(&mut self.message) {
            Some(request_id) => {
                self.filling = Filling::Runs { at, request_id };
                let _ = out.write(ConnId(at), &self.message);
            }
            None => {
                self.filling = Filling::Over;
                self.offer(at, out);
            }
        }
    }

    /// A whole message came.
    fn whole(
        &mut self,
        at: u32,
        header: &Header,
        message: &[u8],
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        if let Filling::Runs { at: by, request_id } = self.filling
            && by == at
        {
            self.roster.worked();
            return match judge_filling(header, message, request_id) {
                Ok(()) => self.fill(at, out),
                Err(wrong) => {
                    out.fault(wrong.class(), &wrong);
                    self.filling = Filling::Over;
                    self.offer(at, out);
                }
            };
        }
        let slot = self.roster.slot(at);
        let State::Busy(exchange) = slot.state else {
            return self
                .roster
                .unasked(at, &"an answer that nothing had asked for", out);
        };
        slot.answers += 1;
        self.roster.worked();
        match judge(header, message, &exchange.own) {
            Ok(()) => {
                self.documents.is_there(&exchange.own);
                let right = Outcome::Right(Status::NONE);
                self.roster.end(at, right, stamp, &"", out);
            }
            Err(wrong) => {
                let outcome = Outcome::Wrong(wrong.class());
                self.roster.end(at, outcome, stamp, &wrong, out);
                if !wrong.is_whole() {
                    return self.roster.renew(at, out);
                }
            }
        }
        if self.roster.is_used_up(at) {
            return self.roster.renew(at, out);
        }
        self.offer(at, out);
    }

    /// What cannot be an answer.
    #[cold]
    fn broken(&mut self, at: u32, wrong: &Wrong<'_>, stamp: Stamp, out: &mut impl Outlet) {
        if self.roster.slot(at).exchange().is_none() {
            self.filling_lost(at);
            return self.roster.unasked(at, wrong, out);
        }
        let outcome = Outcome::Wrong(wrong.class());
        self.roster.end(at, outcome, stamp, wrong, out);
        self.roster.renew(at, out);
    }

    /// The next connection that opens fills again.
    fn filling_lost(&mut self, at: u32) {
        if matches!(self.filling, Filling::Runs { at: by, .. } if by == at) {
            self.documents.fill_again();
            self.filling = Filling::Waits;
        }
    }

    /// Takes what arrived: a whole message, or a part that is kept.
    fn take(&mut self, at: u32, message: &[u8], stamp: Stamp, out: &mut impl Outlet) -> Taken {
        match Header::read(message, self.documents.answer_bytes_max()) {
            Err(error) => self.broken(at, &error.into(), stamp, out),
            Ok(Some(header)) if header.length == message.len() => {
                self.whole(at, &header, message, stamp, out);
            }
            Ok(Some(header)) if header.length < message.len() => {
                self.broken(at, &Wrong::Kind, stamp, out);
            }
            Ok(_) => return Taken::Part,
        }
        Taken::Whole
    }
}

/// What became of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Whole,
    Part,
}

impl Client for Mongodb {
    fn start(&mut self, out: &mut impl Outlet) {
        self.roster.open_more(out);
    }

    fn capacity(&self) -> usize {
        self.roster.len()
    }

    fn is_open(&self) -> bool {
        self.filling == Filling::Over && self.roster.are_all_open()
    }

    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        if let Some(at) = self.roster.place(due) {
            self.send(at, due, None, out);
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.roster.connected(conn.0, out);
        match self.filling {
            Filling::Waits => self.fill(conn.0, out),
            Filling::Runs { .. } | Filling::Over => self.offer(conn.0, out),
        }
    }

    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let at = conn.0;
        let mut inbox = std::mem::take(&mut self.roster.slot(at).conn.inbox);
        let taken = if inbox.is_empty() {
            let taken = self.take(at, bytes, stamp, out);
            if taken == Taken::Part {
                inbox.extend_from_slice(bytes);
            }
            taken
        } else {
            inbox.extend_from_slice(bytes);
            self.take(at, &inbox, stamp, out)
        };
        match taken {
            Taken::Whole => inbox.clear(),
            Taken::Part => {
                if let Some(exchange) = self.roster.slot(at).exchange() {
                    if exchange.last.is_none() {
                        out.first_byte(exchange.due.ticket, stamp.arrived_ns);
                    }
                    exchange.last = Some(stamp);
                }
            }
        }
        self.roster.slot(at).conn.inbox = inbox;
    }

    fn wrote(&mut self, conn: ConnId, at_ns: u64, _out: &mut impl Outlet) {
        if let Some(exchange) = self.roster.slot(conn.0).exchange() {
            exchange.sent_ns.get_or_insert(at_ns);
        }
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.filling_lost(conn.0);
        if self.roster.closed(conn.0, why, out).is_some() {
            let ended = Stamp::event(out.now_ns());
            let outcome = Outcome::Wrong(why.class());
            self.roster.end(conn.0, outcome, ended, &why, out);
            self.roster.lost(conn.0, out);
        }
    }

    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        self.roster
            .timer(timer, |limit_ms, _| Late { limit_ms }, out);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let example = "no whole answer when the drain ended";
        self.roster.abandon(&example, out);
    }
}
