//! Client for connections as exchanges: each opens one, with its TLS handshake, and closes it.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use tare_record::load::{ClientSpec, Resumption, TlsVersion, Transport};
use tare_record::protocol::OverTcp;

use super::{Connects, Protocol, without_options};
use crate::client::{
    Client, Closed, Completion, ConnId, Connected, DueExchange, ExchangeOutcome, Outlet, Stamp,
    Status, TimerId, WaitCause,
};
use crate::connection_pool::{Addresses, Deadlines, PoolConfig, WaitQueue};
use crate::generator::{self, Launch, LoadError};

/// Connections alone: an exchange opens one, over TLS with its handshake, and closes it. Requests are not sent.
pub static PROTOCOL: Protocol = Protocol {
    connects: Connects::PerExchange,
    ..Protocol::new(
        without_options(NAME, OverTcp::Usual, false, |connections, _| {
            ClientSpec::new(NAME, connections)
        }),
        run,
    )
};

fn run(launch: Launch<'_, '_>) -> Result<generator::LoadOutcome, LoadError> {
    let setup = launch.setup;
    let resumes = match &setup.load.transport {
        Transport::Tcp => false,
        // TLS 1.2 sends tickets within the handshake.
        Transport::Tls(spec) => {
            spec.resumption == Resumption::On && spec.newest == TlsVersion::V1_3
        }
    };
    launch.clients(|part| {
        let after_open = match resumes {
            true => AfterOpen::AwaitTicket,
            false => AfterOpen::Close,
        };
        Connect::new(setup.pooled(&part, part.connections), after_open)
    })
}

/// Name of the protocol.
pub const NAME: &str = "connect";

/// Longest wait for a ticket or the close of the server after the handshake.
const PEER_TIMEOUT_NS: u64 = 1_000_000_000;

/// What happens to a connection once it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterOpen {
    /// It is closed. Over TLS only after the server has shown, by a ticket or by closing, that it has read the end of the
    /// handshake: an earlier reset could make the handshake fail on the server.
    Close,
    /// It is closed when the server has sent the session ticket for the next one. The exchange has ended before.
    AwaitTicket,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Free,
    Connecting {
        due: DueExchange,
        begun_ns: u64,
        waited: Option<WaitCause>,
        /// Index of its address.
        index: usize,
    },
    AwaitingPeer {
        until_ns: u64,
    },
}

/// The client. It closes with a reset: an orderly close would hold a local port for a minute (`TIME_WAIT`).
#[derive(Debug)]
pub struct Connect {
    config: PoolConfig,
    after_open: AfterOpen,
    slots: Vec<State>,
    free: Vec<u32>,
    wait_queue: WaitQueue,
    /// Each attempt goes to the next address of those that answer.
    addresses: Addresses,
    /// Deadlines of attempts, and of waiting for the server after a handshake.
    deadlines: Deadlines,
}

impl Connect {
    /// A client that has not started; its connections are the attempts at a time.
    #[must_use]
    pub fn new(config: PoolConfig, after_open: AfterOpen) -> Self {
        Self {
            slots: vec![State::Free; config.count],
            free: (0..config.count as u32).rev().collect(),
            wait_queue: WaitQueue::new(config.waiting_max),
            addresses: Addresses::new(&config.addresses, config.first),
            deadlines: Deadlines::default(),
            config,
            after_open,
        }
    }

    fn begin(
        &mut self,
        at: u32,
        due: DueExchange,
        waited: Option<WaitCause>,
        out: &mut impl Outlet,
    ) {
        let begun_ns = out.now_ns();
        let choice = self.addresses.choose_now(begun_ns);
        self.slots[at as usize] = State::Connecting {
            due,
            begun_ns,
            waited,
            index: choice.index,
        };
        out.connect(ConnId(at), choice.address);
        let deadline_ns = begun_ns.saturating_add(self.config.timeout_ns);
        self.deadlines.watch(deadline_ns, out);
    }

    /// Ends the exchange of a slot, if it has one.
    fn end(
        &mut self,
        at: u32,
        outcome: ExchangeOutcome,
        ended: Stamp,
        example: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let state = std::mem::replace(&mut self.slots[at as usize], State::Free);
        let State::Connecting {
            due,
            begun_ns,
            waited,
            index,
        } = state
        else {
            return;
        };
        match outcome {
            ExchangeOutcome::Ok(_) => self.addresses.answered(index),
            ExchangeOutcome::Failed(_) => {
                self.addresses.failed(index, out.now_ns());
            }
            ExchangeOutcome::Unfinished => {}
        }
        let done = Completion {
            // The SYN is sent when the attempt starts.
            sent_ns: Some(begun_ns),
            waited,
            ..Completion::unsent(outcome, ended, example)
        };
        out.complete(due.ticket, &done);
    }

    /// Gives a free slot its next exchange.
    fn offer(&mut self, at: u32, out: &mut impl Outlet) {
        self.slots[at as usize] = State::Free;
        match self.wait_queue.pop() {
            Some(due) => self.begin(at, due, Some(WaitCause::Connection), out),
            None => self.free.push(at),
        }
    }

    fn expire(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.deadlines.elapsed();
        for at in 0..self.slots.len() as u32 {
            let deadline_ns = match self.slots[at as usize] {
                State::Free => continue,
                State::Connecting { begun_ns, .. } => {
                    begun_ns.saturating_add(self.config.timeout_ns)
                }
                State::AwaitingPeer { until_ns } => until_ns,
            };
            if deadline_ns > now_ns {
                self.deadlines.watch(deadline_ns, out);
                continue;
            }
            let why = Closed::ConnectTimeout;
            let outcome = ExchangeOutcome::Failed(why.class());
            out.abort(ConnId(at));
            self.end(at, outcome, Stamp::event(now_ns), &why, out);
            self.offer(at, out);
        }
    }
}

impl Client for Connect {
    fn on_start(&mut self, _out: &mut impl Outlet) {}

    fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn is_open(&self) -> bool {
        true
    }

    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        match self.free.pop() {
            Some(at) => self.begin(at, due, None, out),
            None => self.wait_queue.push(due),
        }
    }

    fn on_connected(&mut self, _conn: ConnId, _out: &mut impl Outlet) {}

    fn on_connected_with(&mut self, conn: ConnId, opening: &Connected, out: &mut impl Outlet) {
        self.end(
            conn.0,
            ExchangeOutcome::Ok(Status::NONE),
            opening.stamp,
            &"",
            out,
        );
        if opening.handshake_ns.is_some() {
            if self.after_open == AfterOpen::Close {
                out.close_notify(conn);
            }
            let until_ns = out.now_ns().saturating_add(PEER_TIMEOUT_NS);
            self.slots[conn.0 as usize] = State::AwaitingPeer { until_ns };
            self.deadlines.watch(until_ns, out);
            return;
        }
        out.abort(conn);
        self.offer(conn.0, out);
    }

    fn on_session_ticket(&mut self, conn: ConnId, out: &mut impl Outlet) {
        if let State::AwaitingPeer { .. } = self.slots[conn.0 as usize] {
            out.abort(conn);
            self.offer(conn.0, out);
        }
    }

    fn on_bytes(&mut self, _conn: ConnId, _bytes: &[u8], _stamp: Stamp, _out: &mut impl Outlet) {}

    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        self.end(
            conn.0,
            ExchangeOutcome::Failed(why.class()),
            ended,
            &why,
            out,
        );
        self.offer(conn.0, out);
    }

    fn on_timer(&mut self, _timer: TimerId, out: &mut impl Outlet) {
        self.expire(out);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        let example = "not connected when the drain ended";
        for at in 0..self.slots.len() as u32 {
            self.end(at, ExchangeOutcome::Unfinished, ended, &example, out);
        }
        self.wait_queue
            .end_all(ExchangeOutcome::Unfinished, &example, out);
    }
}
