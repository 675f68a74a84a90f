//! MongoDB's protocol as a [`Client`].

use std::sync::Arc;

use tare_mongo::message::Header;
use thiserror::Error;

use super::answer::{ResponseError, check_preload, check_response};
use super::documents::{Documents, Operation, SentOperation};
use crate::client::{
    Client, Closed, ConnId, Due, Outcome, Outlet, Stamp, Status, TimerId, WaitCause, Written,
};
use crate::roster::{ConnectionPool, ConnectionState, Connections, Exchange, State};

/// Configuration of a client.
#[derive(Debug)]
pub struct MongodbPlan {
    /// The operations of the plan's requests.
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
    roster: ConnectionPool<Conn, SentOperation>,
    /// The message being written.
    message: Vec<u8>,
    preload: Preload,
}

/// State of inserting the documents before the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preload {
    /// No connection is inserting.
    Waiting,
    /// This connection has sent this insert and waits for its response.
    Running { at: u32, request_id: i32 },
    /// Complete, or failed: then the operations fail.
    Done,
}

/// State of one connection: an incomplete response.
#[derive(Debug, Default)]
struct Conn {
    partial: Vec<u8>,
}

impl ConnectionState for Conn {
    fn reset(&mut self) {
        self.partial.clear();
    }
}

/// A response timeout.
#[derive(Debug, Error)]
#[error("no whole answer within {limit_ms} ms")]
struct ResponseTimeout {
    limit_ms: u64,
}

impl Mongodb {
    /// A client that has not started.
    #[must_use]
    pub fn new(plan: MongodbPlan) -> Self {
        Self {
            operations: plan.operations,
            documents: plan.documents,
            roster: ConnectionPool::new(&plan.connections, Conn::default),
            message: Vec::new(),
            preload: Preload::Waiting,
        }
    }

    fn send(&mut self, at: u32, due: Due, waited: Option<WaitCause>, out: &mut impl Outlet) {
        let operation = self.operations[usize::from(due.request) % self.operations.len()];
        self.message.clear();
        let own = self.documents.write_request(operation, &mut self.message);
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

    /// Sends a waiting exchange on a connection, if there is one.
    fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        if let Some(due) = self.roster.next_for(at) {
            self.send(at, due, Some(WaitCause::Connection), out);
        }
    }

    /// Sends the next insert of the preload; after the last one the connection is used for exchanges.
    fn next_preload(&mut self, at: u32, out: &mut impl Outlet) {
        self.message.clear();
        match self.documents.next_preload(&mut self.message) {
            Some(request_id) => {
                self.preload = Preload::Running { at, request_id };
                let _ = out.write(ConnId(at), &self.message);
            }
            None => {
                self.preload = Preload::Done;
                self.offer(at, out);
            }
        }
    }

    /// Handles a complete message.
    fn on_message(
        &mut self,
        at: u32,
        header: &Header,
        message: &[u8],
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        if let Preload::Running { at: by, request_id } = self.preload
            && by == at
        {
            self.roster.worked();
            return match check_preload(header, message, request_id) {
                Ok(()) => self.next_preload(at, out),
                Err(error) => {
                    out.fault(error.class(), &error);
                    self.preload = Preload::Done;
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
        match check_response(header, message, &exchange.own) {
            Ok(()) => {
                self.documents.record_insert(&exchange.own);
                let ok = Outcome::Ok(Status::NONE);
                self.roster.end(at, ok, stamp, &"", out);
            }
            Err(error) => {
                let outcome = Outcome::Wrong(error.class());
                self.roster.end(at, outcome, stamp, &error, out);
                if !error.keeps_connection() {
                    return self.roster.renew(at, out);
                }
            }
        }
        if self.roster.is_used_up(at) {
            return self.roster.renew(at, out);
        }
        self.offer(at, out);
    }

    /// Handles a malformed or unexpected message: ends the exchange and the connection.
    #[cold]
    fn on_protocol_error(
        &mut self,
        at: u32,
        error: &ResponseError<'_>,
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        if self.roster.slot(at).exchange().is_none() {
            self.preload_lost(at);
            return self.roster.unasked(at, error, out);
        }
        let outcome = Outcome::Wrong(error.class());
        self.roster.end(at, outcome, stamp, error, out);
        self.roster.renew(at, out);
    }

    /// If a preload ran on this connection, the next connection that opens restarts it.
    fn preload_lost(&mut self, at: u32) {
        if matches!(self.preload, Preload::Running { at: by, .. } if by == at) {
            self.documents.restart_preload();
            self.preload = Preload::Waiting;
        }
    }

    /// Handles received bytes: a complete message, or a part of one, which the caller keeps.
    fn take(&mut self, at: u32, message: &[u8], stamp: Stamp, out: &mut impl Outlet) -> Parsed {
        match Header::read(message, self.documents.answer_bytes_max()) {
            Err(error) => self.on_protocol_error(at, &error.into(), stamp, out),
            Ok(Some(header)) if header.length == message.len() => {
                self.on_message(at, &header, message, stamp, out);
            }
            Ok(Some(header)) if header.length < message.len() => {
                self.on_protocol_error(at, &ResponseError::UnexpectedMessage, stamp, out);
            }
            Ok(_) => return Parsed::Partial,
        }
        Parsed::Complete
    }
}

/// Whether received bytes were a complete message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parsed {
    Complete,
    Partial,
}

impl Client for Mongodb {
    fn start(&mut self, out: &mut impl Outlet) {
        self.roster.open_more(out);
    }

    fn capacity(&self) -> usize {
        self.roster.len()
    }

    fn is_open(&self) -> bool {
        self.preload == Preload::Done && self.roster.are_all_open()
    }

    fn due(&mut self, due: Due, out: &mut impl Outlet) {
        if let Some(at) = self.roster.place(due) {
            self.send(at, due, None, out);
        }
    }

    fn connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.roster.connected(conn.0, out);
        match self.preload {
            Preload::Waiting => self.next_preload(conn.0, out),
            Preload::Running { .. } | Preload::Done => self.offer(conn.0, out),
        }
    }

    fn bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let at = conn.0;
        let mut partial = std::mem::take(&mut self.roster.slot(at).conn.partial);
        let taken = if partial.is_empty() {
            let taken = self.take(at, bytes, stamp, out);
            if taken == Parsed::Partial {
                partial.extend_from_slice(bytes);
            }
            taken
        } else {
            partial.extend_from_slice(bytes);
            self.take(at, &partial, stamp, out)
        };
        match taken {
            Parsed::Complete => partial.clear(),
            Parsed::Partial => {
                if let Some(exchange) = self.roster.slot(at).exchange() {
                    if exchange.last.is_none() {
                        out.first_byte(exchange.due.ticket, stamp.arrived_ns);
                    }
                    exchange.last = Some(stamp);
                }
            }
        }
        self.roster.slot(at).conn.partial = partial;
    }

    fn wrote(&mut self, conn: ConnId, at_ns: u64, _out: &mut impl Outlet) {
        if let Some(exchange) = self.roster.slot(conn.0).exchange() {
            exchange.sent_ns.get_or_insert(at_ns);
        }
    }

    fn closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.preload_lost(conn.0);
        if self.roster.closed(conn.0, why, out).is_some() {
            let ended = Stamp::event(out.now_ns());
            let outcome = Outcome::Wrong(why.class());
            self.roster.end(conn.0, outcome, ended, &why, out);
            self.roster.lost(conn.0, out);
        }
    }

    fn timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        self.roster
            .timer(timer, |limit_ms, _| ResponseTimeout { limit_ms }, out);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let example = "no whole answer when the drain ended";
        self.roster.abandon(&example, out);
    }
}
