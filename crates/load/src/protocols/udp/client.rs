//! The UDP [`Client`]: sends numbered datagrams and matches what comes back.

use std::collections::VecDeque;

use thiserror::Error;

use super::{HEADER_BYTES, UdpOptions};
use crate::client::{
    Client, Closed, Completion, ConnId, DueExchange, ErrorClass, ExchangeId, ExchangeOutcome,
    Outlet, Stamp, Status, TimerId, TimestampBound, WaitCause,
};
use crate::connection_pool::{Deadlines, PoolConfig};
use crate::protocol_counters;

/// Datagrams that are remembered after their end, to tell late and doubled answers from unknown ones.
const REMEMBERED: usize = 1 << 16;

/// Configuration of the client.
#[derive(Debug)]
pub struct UdpPlan {
    /// Its connections: sockets, each with a port of its own. A datagram counts as lost after the timeout.
    pub connections: PoolConfig,
    /// Size and number of datagrams.
    pub options: UdpOptions,
    /// Start of every datagram of this worker.
    pub key: u64,
}

/// The client.
#[derive(Debug)]
pub struct Udp {
    plan: UdpPlan,
    /// The datagram that is sent; only its number changes.
    datagram: Vec<u8>,
    connections: Vec<Connection>,
    /// The connection that sends next.
    turn: usize,
    /// Sent datagrams by number, from `first_number` on.
    sent: VecDeque<Sent>,
    first_number: u64,
    /// No earlier one is in flight.
    oldest: u64,
    /// Highest number that was answered, and one.
    answered_up_to: u64,
    /// Exchanges that no connection could send yet.
    waiting: VecDeque<(DueExchange, WaitCause)>,
    deadlines: Deadlines,
    counts: UdpCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    Opening,
    Open,
    /// The kernel takes no more datagrams now.
    Blocked,
}

/// A datagram that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    sent_ns: u64,
    ticket: ExchangeId,
    conn: u32,
    waited: Option<WaitCause>,
    state: SentState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SentState {
    InFlight,
    Answered,
    /// It has ended with an error.
    GivenUp,
}

protocol_counters! {
    /// What became of datagrams.
    struct UdpCounts {
        /// Without an answer within the timeout and since.
        lost = "datagrams-lost",
        late = "datagrams-late",
        duplicated = "datagrams-duplicated",
        reordered = "datagrams-reordered",
        unknown = "datagrams-unknown",
    }
}

#[derive(Debug, Error)]
#[error("no answer within {limit_ms} ms: the datagram or its answer was lost, or comes later")]
struct NoAnswer {
    limit_ms: u64,
}

impl Udp {
    /// A client that has not started.
    #[must_use]
    pub fn new(plan: UdpPlan) -> Self {
        let mut datagram = plan.key.to_be_bytes().to_vec();
        datagram.extend([0; 8]);
        let letters = (b'a'..=b'z').cycle();
        let bytes = plan.options.datagram_bytes as usize;
        datagram.extend(letters.take(bytes.saturating_sub(HEADER_BYTES)));
        let PoolConfig {
            count, waiting_max, ..
        } = plan.connections;
        Self {
            datagram,
            connections: vec![Connection::Opening; count],
            turn: 0,
            sent: VecDeque::with_capacity(waiting_max + REMEMBERED),
            first_number: 0,
            oldest: 0,
            answered_up_to: 0,
            waiting: VecDeque::with_capacity(waiting_max),
            deadlines: Deadlines::default(),
            counts: UdpCounts::default(),
            plan,
        }
    }

    fn connect(&self, conn: ConnId, out: &mut impl Outlet) {
        out.connect(conn, self.plan.connections.address(conn.0 as usize));
    }

    fn next_number(&self) -> u64 {
        self.first_number + self.sent.len() as u64
    }

    /// The connection whose turn it is, if it can send; a blocked one is passed over.
    fn take_turn(&mut self) -> Result<u32, WaitCause> {
        let count = self.connections.len();
        let mut why = WaitCause::Connection;
        for step in 0..count {
            let at = (self.turn + step) % count;
            match self.connections[at] {
                Connection::Open => {
                    self.turn = at + 1;
                    return Ok(at as u32);
                }
                Connection::Blocked => why = WaitCause::SocketBuffer,
                Connection::Opening => {}
            }
        }
        Err(why)
    }

    /// Sends a datagram, or says why no connection can.
    fn send(
        &mut self,
        due: DueExchange,
        waited: Option<WaitCause>,
        out: &mut impl Outlet,
    ) -> Result<(), WaitCause> {
        let number = self.next_number();
        self.datagram[8..HEADER_BYTES].copy_from_slice(&number.to_be_bytes());
        loop {
            let conn = self.take_turn()?;
            let sent_ns = out.now_ns();
            if out.try_write(ConnId(conn), &self.datagram) == 0 {
                self.connections[conn as usize] = Connection::Blocked;
                continue;
            }
            self.forget_old();
            self.sent.push_back(Sent {
                sent_ns,
                ticket: due.ticket,
                conn,
                waited,
                state: SentState::InFlight,
            });
            let deadline_ns = sent_ns.saturating_add(self.plan.connections.timeout_ns);
            self.deadlines.watch(deadline_ns, out);
            return Ok(());
        }
    }

    fn send_waiting(&mut self, out: &mut impl Outlet) {
        while let Some(&(due, cause)) = self.waiting.front() {
            if self.send(due, Some(cause), out).is_err() {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Makes space for one more datagram.
    fn forget_old(&mut self) {
        while self.sent.len() >= REMEMBERED {
            match self.sent.front() {
                Some(sent) if sent.state != SentState::InFlight => {
                    self.sent.pop_front();
                    self.first_number += 1;
                }
                _ => return,
            }
        }
    }

    /// The datagram of a number, if it is remembered.
    fn sent(&mut self, number: u64) -> Option<&mut Sent> {
        let at = number.checked_sub(self.first_number)?;
        self.sent.get_mut(usize::try_from(at).ok()?)
    }

    /// The number of an answer to a datagram of this worker.
    fn number_in(&self, answer: &[u8]) -> Option<u64> {
        let (key, rest) = answer.split_first_chunk::<8>()?;
        let (number, _) = rest.split_first_chunk::<8>()?;
        (u64::from_be_bytes(*key) == self.plan.key).then(|| u64::from_be_bytes(*number))
    }

    fn answered(&mut self, number: u64, answer: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let is_right = answer.len() == self.datagram.len()
            && answer[HEADER_BYTES..] == self.datagram[HEADER_BYTES..];
        let Some(sent) = self.sent(number) else {
            self.counts.unknown += 1;
            return;
        };
        let was = std::mem::replace(&mut sent.state, SentState::Answered);
        let sent = *sent;
        match was {
            SentState::Answered => {
                self.counts.duplicated += 1;
                return;
            }
            SentState::GivenUp => {
                self.counts.late += 1;
                self.counts.lost = self.counts.lost.saturating_sub(1);
                return;
            }
            SentState::InFlight => {}
        }
        if number < self.answered_up_to {
            self.counts.reordered += 1;
        }
        self.answered_up_to = self.answered_up_to.max(number + 1);
        let outcome = match is_right {
            true => ExchangeOutcome::Ok(Status::NONE),
            false => ExchangeOutcome::Failed(ErrorClass::WRONG_BODY),
        };
        let example = format_args!(
            "{} bytes came back for {}, or others than were sent",
            answer.len(),
            self.datagram.len()
        );
        end(&sent, outcome, stamp, &example, out);
    }

    /// Gives up datagrams in flight, the oldest first, while a condition holds.
    fn give_up(
        &mut self,
        outcome: ExchangeOutcome,
        example: &dyn std::fmt::Display,
        out: &mut impl Outlet,
        condition: impl Fn(&Sent) -> bool,
    ) {
        let ended = Stamp::event(out.now_ns());
        let next = self.next_number();
        while self.oldest < next {
            let oldest = self.oldest;
            // What was forgotten is not in flight.
            if let Some(sent) = self.sent(oldest)
                && sent.state == SentState::InFlight
            {
                if !condition(sent) {
                    return;
                }
                sent.state = SentState::GivenUp;
                end(sent, outcome, ended, example, out);
                self.counts.lost += 1;
            }
            self.oldest += 1;
        }
    }
}

/// Reports the end of an exchange.
fn end(
    sent: &Sent,
    outcome: ExchangeOutcome,
    ended: Stamp,
    example: &dyn std::fmt::Display,
    out: &mut impl Outlet,
) {
    let done = Completion {
        outcome,
        sent_ns: Some(sent.sent_ns),
        ended,
        // Each datagram has a timestamp of its own.
        bound: TimestampBound::Exact,
        waited: sent.waited,
        example,
    };
    out.complete(sent.ticket, &done);
}

impl Client for Udp {
    fn on_start(&mut self, out: &mut impl Outlet) {
        for at in 0..self.connections.len() as u32 {
            self.connect(ConnId(at), out);
        }
    }

    fn capacity(&self) -> usize {
        self.connections.len() * usize::from(self.plan.options.in_flight_max)
    }

    fn is_open(&self) -> bool {
        !self.connections.contains(&Connection::Opening)
    }

    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        if !self.waiting.is_empty() {
            return self.waiting.push_back((due, WaitCause::SocketBuffer));
        }
        if let Err(cause) = self.send(due, None, out) {
            self.waiting.push_back((due, cause));
        }
    }

    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.connections[conn.0 as usize] = Connection::Open;
        self.send_waiting(out);
    }

    fn on_bytes(&mut self, _conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        match self.number_in(bytes) {
            Some(number) => self.answered(number, bytes, stamp, out),
            None => self.counts.unknown += 1,
        }
    }

    fn on_writable(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.connections[conn.0 as usize] = Connection::Open;
        self.send_waiting(out);
    }

    /// The peer refused a datagram (ICMP): what is in flight on the connection has failed, and a new one takes its place.
    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        let ended = Stamp::event(out.now_ns());
        for sent in &mut self.sent {
            if sent.conn == conn.0 && sent.state == SentState::InFlight {
                sent.state = SentState::GivenUp;
                self.counts.lost += 1;
                end(sent, ExchangeOutcome::Failed(why.class()), ended, &why, out);
            }
        }
        self.connections[conn.0 as usize] = Connection::Opening;
        self.connect(conn, out);
    }

    fn on_timer(&mut self, _timer: TimerId, out: &mut impl Outlet) {
        self.deadlines.elapsed();
        let (now_ns, timeout_ns) = (out.now_ns(), self.plan.connections.timeout_ns);
        let example = NoAnswer {
            limit_ms: timeout_ns / 1_000_000,
        };
        self.give_up(
            ExchangeOutcome::Failed(ErrorClass::TIMEOUT),
            &example,
            out,
            |sent| sent.sent_ns.saturating_add(timeout_ns) <= now_ns,
        );
        let oldest = self.oldest;
        if let Some(sent) = self.sent(oldest) {
            let deadline_ns = sent.sent_ns.saturating_add(timeout_ns);
            self.deadlines.watch(deadline_ns, out);
        }
    }

    fn requests_lost(&self) -> u64 {
        self.counts.lost
    }

    fn counts(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        tell("datagrams-sent", self.next_number());
        self.counts.report(tell);
    }

    fn abandon(&mut self, out: &mut impl Outlet) {
        let example = "no answer when the drain ended";
        self.give_up(ExchangeOutcome::Unfinished, &example, out, |_| true);
        let (example, ended) = ("not sent when the drain ended", Stamp::event(out.now_ns()));
        let done = Completion::unsent(ExchangeOutcome::Unfinished, ended, &example);
        for (due, cause) in self.waiting.drain(..) {
            let waited = Some(cause);
            out.complete(due.ticket, &Completion { waited, ..done });
        }
    }
}
