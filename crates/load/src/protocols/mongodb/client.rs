//! MongoDB's protocol over a pool of connections.

use std::sync::Arc;

use tare_mongo::message::Header;

use super::answer::{ResponseError, check_preload, check_response};
use super::documents::{DocumentSource, Operation, SentOperation};
use crate::client::{
    ConnId, DueExchange, ErrorClass, ExchangeOutcome, Outlet, Stamp, Status, WaitCause,
};
use crate::connection_pool::{ConnectionPool, ConnectionState, PoolConfig, PooledProtocol, State};

/// Configuration of a client.
#[derive(Debug)]
pub struct MongodbPlan {
    /// The operations of the plan's requests.
    pub operations: Arc<[Operation]>,
    pub connections: PoolConfig,
    pub documents: DocumentSource,
}

/// The client.
#[derive(Debug)]
pub struct Mongodb {
    operations: Arc<[Operation]>,
    documents: DocumentSource,
    pool: ConnectionPool<Conn, SentOperation>,
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
pub(crate) struct Conn {
    partial: Vec<u8>,
}

impl ConnectionState for Conn {
    fn reset(&mut self) {
        self.partial.clear();
    }
}

impl Mongodb {
    /// A client that has not started.
    #[must_use]
    pub fn new(plan: MongodbPlan) -> Self {
        Self {
            operations: plan.operations,
            documents: plan.documents,
            pool: ConnectionPool::new(&plan.connections, Conn::default),
            message: Vec::new(),
            preload: Preload::Waiting,
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
            self.pool.reset_backoff();
            return match check_preload(header, message, request_id) {
                Ok(()) => self.next_preload(at, out),
                Err(error) => {
                    out.fault(error.class(), &error);
                    self.preload = Preload::Done;
                    self.offer(at, out);
                }
            };
        }
        let slot = self.pool.slot(at);
        let State::Busy(exchange) = slot.state else {
            let example = "an unsolicited message";
            return self
                .pool
                .unsolicited(at, ErrorClass::MALFORMED, &example, out);
        };
        slot.answers += 1;
        self.pool.reset_backoff();
        match check_response(header, message, &exchange.own) {
            Ok(()) => {
                self.documents.record_insert(&exchange.own);
                let ok = ExchangeOutcome::Ok(Status::NONE);
                self.pool.end(at, ok, stamp, &"", out);
            }
            Err(error) => {
                let outcome = ExchangeOutcome::Failed(error.class());
                self.pool.end(at, outcome, stamp, &error, out);
                if !error.keeps_connection() {
                    return self.pool.reopen(at, out);
                }
            }
        }
        if self.pool.is_at_exchange_limit(at) {
            return self.pool.reopen(at, out);
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
        if self.pool.slot(at).exchange().is_none() {
            self.before_close(at);
            return self.pool.unsolicited(at, ErrorClass::MALFORMED, error, out);
        }
        let outcome = ExchangeOutcome::Failed(error.class());
        self.pool.end(at, outcome, stamp, error, out);
        self.pool.reopen(at, out);
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

impl PooledProtocol for Mongodb {
    type Conn = Conn;
    type Own = SentOperation;

    #[inline]
    fn pool(&self) -> &ConnectionPool<Conn, SentOperation> {
        &self.pool
    }

    #[inline]
    fn pool_mut(&mut self) -> &mut ConnectionPool<Conn, SentOperation> {
        &mut self.pool
    }

    fn begin(
        &mut self,
        at: u32,
        due: DueExchange,
        waited: Option<WaitCause>,
        out: &mut impl Outlet,
    ) {
        let operation = self.operations[due.request as usize % self.operations.len()];
        self.message.clear();
        let own = self.documents.write_request(operation, &mut self.message);
        self.pool.send(at, (due, waited), &self.message, own, out);
    }

    fn receive(&mut self, at: u32, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let mut partial = std::mem::take(&mut self.pool.slot(at).conn.partial);
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
            Parsed::Partial => self.pool.partial(at, stamp, out),
        }
        self.pool.slot(at).conn.partial = partial;
    }

    fn is_prepared(&self) -> bool {
        self.preload == Preload::Done
    }

    fn after_open(&mut self, at: u32, out: &mut impl Outlet) {
        match self.preload {
            Preload::Waiting => {
                self.pool.reserve(at);
                self.next_preload(at, out);
            }
            Preload::Running { .. } | Preload::Done => self.offer(at, out),
        }
    }

    /// If a preload ran on this connection, the next connection that opens restarts it.
    fn before_close(&mut self, at: u32) {
        if matches!(self.preload, Preload::Running { at: by, .. } if by == at) {
            self.documents.restart_preload();
            self.preload = Preload::Waiting;
        }
    }
}
