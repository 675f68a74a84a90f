//! A client on a virtual clock with a recording network; the test is the server.

use std::net::SocketAddr;
use std::sync::Arc;

use tare_record::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec};

use super::super::super::codec::Limits;
use super::super::super::codec::tests::{block, raw, settings};
use super::super::super::request::Prepared;
use super::super::super::stream_protocol::{Http, StreamProtocol};
use super::super::{Http2, Http2Plan, Windows};
use crate::client::{
    Client, Closed, Completion, ConnId, DueExchange, ErrorClass, ExchangeId, ExchangeOutcome,
    Outlet, Stamp, StampSource, TIMERS_MAX, TimerId, TimestampBound, WaitCause, Written,
};
use crate::connection_pool::PoolConfig;
use crate::engine::sim::connections;
use crate::protocols::ConnectionSecurity;

pub const MS: u64 = 1_000_000;
pub const TIMEOUT_NS: u64 = 1_000 * MS;

/// A frame as a client sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// The end of an exchange as the client reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub ticket: u32,
    pub outcome: ExchangeOutcome,
    pub sent_ns: Option<u64>,
    pub ended_ns: u64,
    pub bound: TimestampBound,
    pub waited: Option<WaitCause>,
    pub example: String,
}

impl Ended {
    /// The class of its error, or `ok`, or `unfinished`.
    pub fn class(&self) -> String {
        match self.outcome {
            ExchangeOutcome::Ok(_) => "ok".into(),
            ExchangeOutcome::Failed(class) => class.to_string(),
            ExchangeOutcome::Unfinished => "unfinished".into(),
        }
    }
}

/// Whether the kernel accepts bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    Takes,
    Full,
}

/// Everything outside the client.
#[derive(Debug)]
pub struct Net {
    pub now_ns: u64,
    pub kernel: Kernel,
    pub written: Vec<Vec<u8>>,
    pub writes: usize,
    pub open: Vec<bool>,
    pub connects: usize,
    pub ended: Vec<Ended>,
    pub faults: Vec<String>,
    pub timers: [u64; TIMERS_MAX],
}

impl Outlet for Net {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn connect(&mut self, conn: ConnId, _address: SocketAddr) {
        let at = conn.0 as usize;
        if at >= self.open.len() {
            self.open.resize(at + 1, false);
            self.written.resize(at + 1, Vec::new());
        }
        assert!(!self.open[at], "connected twice");
        self.open[at] = true;
        self.written[at].clear();
        self.connects += 1;
    }

    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        assert!(!bytes.is_empty(), "an empty write");
        assert!(self.open[conn.0 as usize], "written to a closed connection");
        self.written[conn.0 as usize].extend_from_slice(bytes);
        self.writes += 1;
        match self.kernel {
            Kernel::Takes => Written::Sent(self.now_ns),
            Kernel::Full => Written::Queued,
        }
    }

    fn try_write(&mut self, _conn: ConnId, _bytes: &[u8]) -> usize {
        unreachable!("HTTP/2 writes")
    }

    fn half_close(&mut self, _conn: ConnId) {
        unreachable!("HTTP/2 ends streams, not directions")
    }

    fn close(&mut self, conn: ConnId) {
        self.open[conn.0 as usize] = false;
    }

    fn set_timer(&mut self, timer: TimerId, at_ns: u64) {
        self.timers[usize::from(timer.0)] = at_ns;
    }

    fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>) {
        assert!(
            self.ended.iter().all(|ended| ended.ticket != ticket.0),
            "ended twice: {ticket:?}"
        );
        self.ended.push(Ended {
            ticket: ticket.0,
            outcome: done.outcome,
            sent_ns: done.sent_ns,
            ended_ns: done.ended.arrived_ns,
            bound: done.bound,
            waited: done.waited,
            example: done.example.to_string(),
        });
    }

    fn fault(&mut self, class: ErrorClass, example: &dyn std::fmt::Display) {
        self.faults.push(format!("{class}: {example}"));
    }
}

/// A client and its net.
#[derive(Debug)]
pub struct Rig<D: StreamProtocol> {
    pub client: Http2<D>,
    pub net: Net,
    tickets: u32,
}

/// The default setup.
pub struct Setup {
    pub connections: usize,
    pub streams: u16,
    pub windows: Windows,
}

pub const ONE: Setup = Setup {
    connections: 1,
    streams: 4,
    windows: Windows {
        stream_bytes: 1 << 20,
        connection_bytes: 1 << 20,
    },
};

pub fn spec(method: &str, body_bytes: u64) -> RequestSpec {
    RequestSpec {
        name: "r".into(),
        weight: 1.0,
        method: method.into(),
        path: "/".into(),
        headers: Vec::new(),
        body: Body::Filler { bytes: body_bytes },
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    }
}

/// Requests 0: GET; 1: POST of ten bytes; 2: HEAD; 3: a POST of 100,000 bytes; 4: GET that expects `hello`; 5: the
/// same, and takes gzip.
pub fn requests() -> Arc<[Prepared]> {
    let mut expecting = spec("GET", 0);
    expecting.expect.body = ExpectBody::Text("hello".into());
    let mut encoded = expecting.clone();
    encoded.headers = vec![("Accept-Encoding".into(), "gzip".into())];
    let specs = [
        spec("GET", 0),
        spec("POST", 10),
        spec("HEAD", 0),
        spec("POST", 100_000),
        expecting,
        encoded,
    ];
    specs
        .iter()
        .map(|spec| Prepared::new(spec, "here", ConnectionSecurity::Plain).unwrap())
        .collect()
}

impl Rig<Http> {
    pub fn new(setup: Setup) -> Self {
        Self::of(setup, requests())
    }

    /// One open connection, after the server's SETTINGS.
    pub fn greeted(entries: &[(u16, u32)]) -> Self {
        let mut rig = Self::new(ONE);
        rig.greet(0, entries);
        rig
    }
}

impl<D: StreamProtocol> Rig<D> {
    pub fn of(setup: Setup, requests: Arc<[D::Request]>) -> Self {
        let client = Http2::new(Http2Plan {
            requests,
            connections: PoolConfig {
                waiting_max: 64,
                ..connections(setup.connections, TIMEOUT_NS)
            },
            streams: setup.streams,
            windows: setup.windows,
            limits: Limits::default(),
        });
        let net = Net {
            now_ns: 1_000 * MS,
            kernel: Kernel::Takes,
            written: Vec::new(),
            writes: 0,
            open: Vec::new(),
            connects: 0,
            ended: Vec::new(),
            faults: Vec::new(),
            timers: [u64::MAX; TIMERS_MAX],
        };
        let mut rig = Self {
            client,
            net,
            tickets: 0,
        };
        rig.client.on_start(&mut rig.net);
        rig
    }

    pub fn connected(&mut self, conn: u32) {
        self.client.on_connected(ConnId(conn), &mut self.net);
        self.client.flush(&mut self.net);
    }

    /// A counter of the client, by name.
    pub fn count(&self, name: &str) -> u64 {
        let mut found = None;
        self.client.counts(&mut |known, count| {
            if known == name {
                found = Some(count);
            }
        });
        found.unwrap()
    }

    /// Connects, and sends the server's settings.
    pub fn greet(&mut self, conn: u32, entries: &[(u16, u32)]) {
        self.connected(conn);
        self.arrives(conn, &settings(entries));
        self.net.written[conn as usize].clear();
    }

    /// A request becomes due; its ticket.
    pub fn due(&mut self, request: u32) -> u32 {
        let ticket = self.tickets;
        self.tickets += 1;
        self.client.on_due(
            DueExchange {
                ticket: ExchangeId(ticket),
                request,
            },
            &mut self.net,
        );
        self.client.flush(&mut self.net);
        ticket
    }

    /// Bytes of the server arrive, in one piece.
    pub fn arrives(&mut self, conn: u32, bytes: &[u8]) {
        let stamp = Stamp {
            arrived_ns: self.net.now_ns,
            seen_ns: self.net.now_ns,
            source: StampSource::Kernel,
        };
        self.client
            .on_bytes(ConnId(conn), bytes, stamp, &mut self.net);
        self.client.flush(&mut self.net);
    }

    pub fn closes(&mut self, conn: u32, why: Closed) {
        self.net.open[conn as usize] = false;
        self.client.on_closed(ConnId(conn), why, &mut self.net);
        self.client.flush(&mut self.net);
    }

    /// Time passes, and timers go off in their order.
    pub fn pass(&mut self, ns: u64) {
        let until_ns = self.net.now_ns + ns;
        loop {
            let (at, at_ns) = self
                .net
                .timers
                .iter()
                .copied()
                .enumerate()
                .min_by_key(|&(_, at_ns)| at_ns)
                .unwrap();
            if at_ns > until_ns {
                break;
            }
            self.net.timers[at] = u64::MAX;
            self.net.now_ns = self.net.now_ns.max(at_ns);
            self.client.on_timer(TimerId(at as u8), &mut self.net);
            self.client.flush(&mut self.net);
        }
        self.net.now_ns = until_ns;
    }

    /// Frames that the client has sent since the last call, without the preface.
    #[track_caller]
    pub fn sent(&mut self, conn: u32) -> Vec<Sent> {
        let bytes = std::mem::take(&mut self.net.written[conn as usize]);
        let mut rest = bytes
            .strip_prefix(&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..])
            .unwrap_or(&bytes);
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
            frames.push(Sent {
                kind: rest[3],
                flags: rest[4],
                stream: u32::from_be_bytes([rest[5], rest[6], rest[7], rest[8]]),
                payload: rest[9..9 + length].to_vec(),
            });
            rest = &rest[9 + length..];
        }
        frames
    }

    /// Kind and stream of frames that the client has sent since the last call.
    #[track_caller]
    pub fn sent_kinds(&mut self, conn: u32) -> Vec<(u8, u32)> {
        self.sent(conn)
            .iter()
            .map(|sent| (sent.kind, sent.stream))
            .collect()
    }

    /// Ticket and class of everything that has ended.
    pub fn ends(&self) -> Vec<(u32, String)> {
        self.net
            .ended
            .iter()
            .map(|ended| (ended.ticket, ended.class()))
            .collect()
    }

    pub fn last(&self) -> &Ended {
        self.net.ended.last().unwrap()
    }
}

/// A complete response without a body.
pub fn ok(stream: u32) -> Vec<u8> {
    raw(1, 5, stream, &[0x88])
}

/// The head of a response; more follows.
pub fn head(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    raw(1, 4, stream, &block(fields))
}

/// The last DATA of a response.
pub fn last_data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    raw(0, 1, stream, bytes)
}

pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    raw(3, 0, stream, &code.to_be_bytes())
}

pub fn window(stream: u32, increment: u32) -> Vec<u8> {
    raw(8, 0, stream, &increment.to_be_bytes())
}

pub fn goaway(last: u32, code: u32) -> Vec<u8> {
    raw(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A table of `(ticket, class)` as [`Rig::ends`] gives it.
pub fn ends(expected: &[(u32, &str)]) -> Vec<(u32, String)> {
    expected
        .iter()
        .map(|&(ticket, class)| (ticket, class.to_owned()))
        .collect()
}
