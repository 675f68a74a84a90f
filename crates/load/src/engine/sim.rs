//! A simulated network on a virtual clock: the engine's I/O in tests.
#![allow(
    clippy::unwrap_used,
    reason = "only tests run on it: one that cannot be set up fails"
)]

mod random;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use tare_record::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec, Stop};
use tare_stats::random::Random;

use super::{ConnectionIo, Engine, ExchangeRecorder, HandOver, RequestSelector};
use crate::arrivals::{Arrivals, OpenLoop};
use crate::classes::{ClassNumbers, Classes};
use crate::client::{Client, Closed, ConnId, Connected, Stamp, StampSource, Written};
use crate::connection_pool::{OpenSchedule, PoolConfig};
use crate::protocols::http1::client::Http1Client;
use crate::protocols::http1::request::Prepared;
use crate::tally::{Phase, Quantity, value_of};

pub use random::{RandomEnd, RandomLoad, RandomPace};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;

/// Something the server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Accept,
    Send(Vec<u8>),
    Close(Closed),
}

/// The server: its actions in response to events, and their delays.
pub trait Far {
    fn connect(&mut self, now_ns: u64, conn: ConnId) -> Vec<(u64, Act)>;
    /// The same for a server with several addresses.
    fn connect_to(&mut self, now_ns: u64, conn: ConnId, _to: SocketAddr) -> Vec<(u64, Act)> {
        self.connect(now_ns, conn)
    }
    fn bytes(&mut self, now_ns: u64, conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)>;
    /// The client has closed its direction.
    fn end(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
        Vec::new()
    }
}

/// A server that accepts immediately and answers each write by a rule.
pub struct Rule<F>(pub F);

impl<F: FnMut(u64, ConnId, &[u8]) -> Vec<(u64, Act)>> Far for Rule<F> {
    fn connect(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
        vec![(0, Act::Accept)]
    }

    fn bytes(&mut self, now_ns: u64, conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)> {
        (self.0)(now_ns, conn, bytes)
    }
}

/// What a server answers to these bytes, if it answers rightly.
pub type RightAnswer = Box<dyn FnMut(&[u8]) -> Vec<u8>>;

/// A server that behaves as a script of bytes says, over and over: each connection and each write takes the next byte.
pub struct Scripted {
    script: Vec<u8>,
    at: usize,
    reply: RightAnswer,
    /// Whether it takes every connection at once, as a socket of datagrams does.
    accepts_all: bool,
}

impl Scripted {
    #[must_use]
    pub fn new(script: Vec<u8>, reply: RightAnswer) -> Self {
        Self {
            script,
            at: 0,
            reply,
            accepts_all: false,
        }
    }

    /// The same for datagrams, whose sockets are connected without the server.
    #[must_use]
    pub fn accepting_all(self) -> Self {
        Self {
            accepts_all: true,
            ..self
        }
    }

    /// The kind of the next action, of eight, and its delay.
    fn next(&mut self) -> (u8, u64) {
        let byte = self.script[self.at % self.script.len()];
        self.at += 1;
        (byte & 7, 1 + u64::from(byte >> 3) * 50 * MS)
    }
}

impl Far for Scripted {
    fn connect(&mut self, _now_ns: u64, _conn: ConnId) -> Vec<(u64, Act)> {
        match self.next() {
            _ if self.accepts_all => vec![(0, Act::Accept)],
            (0, delay_ns) => vec![(delay_ns, Act::Close(Closed::Refused))],
            (1, _) => Vec::new(),
            (2, delay_ns) => {
                let closes = (delay_ns + MS, Act::Close(Closed::Eof));
                vec![(delay_ns, Act::Accept), closes]
            }
            (_, delay_ns) => vec![(delay_ns / 8, Act::Accept)],
        }
    }

    fn bytes(&mut self, _now_ns: u64, _conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)> {
        let mut right = (self.reply)(bytes);
        match self.next() {
            (0, _) => Vec::new(),
            (1, delay_ns) => vec![(delay_ns, Act::Send(b"\x00\xffnonsense\r\n\r\n".to_vec()))],
            (2, delay_ns) => vec![(delay_ns, Act::Close(Closed::Reset))],
            (3, delay_ns) => {
                right.truncate(right.len() / 2);
                let closes = (delay_ns + MS, Act::Close(Closed::Eof));
                [(delay_ns, right)]
                    .into_iter()
                    .filter(|(_, bytes)| !bytes.is_empty())
                    .map(|(at_ns, bytes)| (at_ns, Act::Send(bytes)))
                    .chain([closes])
                    .collect()
            }
            (kind, delay_ns) => {
                let delay_ns = if kind == 4 { delay_ns } else { MS };
                match right.is_empty() {
                    true => Vec::new(),
                    false => vec![(delay_ns, Act::Send(right))],
                }
            }
        }
    }
}

/// The network between an engine and a server.
pub struct Net<F> {
    pub now_ns: u64,
    pub far: F,
    events: BTreeMap<(u64, u64), (ConnId, u64, Act)>,
    order: u64,
    lives: HashMap<ConnId, u64>,
    /// The connection that carries the responses to another one, if they differ.
    replies: HashMap<ConnId, ConnId>,
    /// Every connection attempt with its time.
    pub attempts: Vec<(u64, ConnId)>,
    /// Their addresses.
    pub addresses: Vec<SocketAddr>,
    /// Bytes that a connection still takes, where that is limited.
    pub room: HashMap<ConnId, usize>,
    /// Time that the loop spends on bytes that arrived.
    pub handling_ns: u64,
    /// How far the clock of receive timestamps lags behind.
    pub clock_behind_ns: u64,
}

impl<F: Far> Net<F> {
    pub fn new(far: F) -> Self {
        Self {
            now_ns: S,
            far,
            events: BTreeMap::new(),
            order: 0,
            lives: HashMap::new(),
            replies: HashMap::new(),
            attempts: Vec::new(),
            addresses: Vec::new(),
            room: HashMap::new(),
            handling_ns: 0,
            clock_behind_ns: 0,
        }
    }

    pub fn reply_on(&mut self, asked: ConnId, answers: ConnId) {
        self.replies.insert(asked, answers);
    }

    fn plan(&mut self, conn: ConnId, acts: Vec<(u64, Act)>) {
        let life = *self.lives.get(&conn).unwrap_or(&0);
        for (after_ns, act) in acts {
            self.order += 1;
            self.events
                .insert((self.now_ns + after_ns, self.order), (conn, life, act));
        }
    }

    fn next_ns(&self) -> u64 {
        self.events.keys().next().map_or(u64::MAX, |&(at, _)| at)
    }

    fn take(&mut self) -> Option<(u64, ConnId, Act)> {
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > self.now_ns {
                return None;
            }
            let at_ns = entry.key().0;
            let (conn, life, act) = entry.remove();
            if self.lives.get(&conn) == Some(&life) {
                return Some((at_ns, conn, act));
            }
        }
        None
    }
}

impl<F: Far> ConnectionIo for Net<F> {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        *self.lives.entry(conn).or_insert(0) += 1;
        self.attempts.push((self.now_ns, conn));
        self.addresses.push(address);
        let acts = self.far.connect_to(self.now_ns, conn, address);
        self.plan(conn, acts);
    }

    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        let acts = self.far.bytes(self.now_ns, conn, bytes);
        let back = *self.replies.get(&conn).unwrap_or(&conn);
        self.plan(back, acts);
        Written::Sent(self.now_ns)
    }

    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        let room = *self.room.get(&conn).unwrap_or(&usize::MAX);
        let taken = bytes.len().min(room);
        if let Some(left) = self.room.get_mut(&conn) {
            *left -= taken;
        }
        if taken > 0 {
            let acts = self.far.bytes(self.now_ns, conn, &bytes[..taken]);
            self.plan(conn, acts);
        }
        taken
    }

    fn half_close(&mut self, conn: ConnId) {
        let acts = self.far.end(self.now_ns, conn);
        self.plan(conn, acts);
    }

    fn close(&mut self, conn: ConnId) {
        *self.lives.entry(conn).or_insert(0) += 1;
    }
}

/// An engine on a simulated network.
pub struct Sim<C, F> {
    pub engine: Engine<C>,
    pub net: Net<F>,
    pub classes: Classes,
}

impl<C: Client, F: Far> Sim<C, F> {
    pub fn new(client: C, arrivals: Arrivals, exchanges_max: usize, far: F) -> Self {
        Self::with_recorder(client, arrivals, exchanges_max, far, |recorder| recorder)
    }

    pub fn with_recorder(
        client: C,
        arrivals: Arrivals,
        exchanges_max: usize,
        far: F,
        adapt: impl FnOnce(ExchangeRecorder) -> ExchangeRecorder,
    ) -> Self {
        let classes = Classes::default();
        let request_selector = RequestSelector::new(&[1.0], Random::from_seed(1));
        let recorder = ExchangeRecorder::new(
            arrivals,
            request_selector,
            ClassNumbers::of(&classes),
            exchanges_max,
        );
        let mut sim = Self {
            engine: Engine::new(client, adapt(recorder)),
            net: Net::new(far),
            classes,
        };
        sim.engine.open(&mut sim.net);
        // What opens immediately is open before the start, as in a worker.
        while let Some((at_ns, conn, act)) = sim.net.take() {
            sim.deliver(at_ns, conn, act);
        }
        sim.engine.begin(S);
        sim
    }

    /// Runs up to a time of the virtual clock, or until everything has ended.
    pub fn run_until(&mut self, until_ns: u64) {
        loop {
            self.engine.advance(self.net.now_ns, &mut self.net);
            while let Some((at_ns, conn, act)) = self.net.take() {
                self.deliver(at_ns, conn, act);
            }
            let next_ns = self.engine.next_ns().min(self.net.next_ns());
            if next_ns > until_ns
                || self.engine.is_drained(self.net.now_ns) && self.net.next_ns() == u64::MAX
            {
                self.net.now_ns = self.net.now_ns.max(until_ns.min(next_ns));
                return;
            }
            self.net.now_ns = self.net.now_ns.max(next_ns);
        }
    }

    /// The loop is held up: events stay in the kernel, with their timestamps.
    pub fn hold_up(&mut self, for_ns: u64) {
        self.net.now_ns += for_ns;
    }

    fn deliver(&mut self, at_ns: u64, conn: ConnId, act: Act) {
        let net = &mut self.net;
        match act {
            Act::Accept => {
                let begun_ns = net.attempts.iter().rfind(|(_, of)| *of == conn);
                let begun_ns = begun_ns.map_or(at_ns, |&(begun_ns, _)| begun_ns);
                let opening = Connected {
                    begun_ns,
                    connect_ns: at_ns - begun_ns,
                    handshake_ns: None,
                    stamp: Stamp::event(at_ns),
                };
                self.engine.on_connected(conn, &opening, net);
            }
            Act::Send(bytes) => {
                let stamp = Stamp {
                    arrived_ns: at_ns.saturating_sub(net.clock_behind_ns),
                    seen_ns: net.now_ns,
                    source: StampSource::Kernel,
                };
                self.engine.on_bytes(conn, &bytes, stamp, net);
                net.now_ns += net.handling_ns;
            }
            Act::Close(why) => {
                *net.lives.entry(conn).or_insert(0) += 1;
                self.engine.on_closed(conn, why, net);
            }
        }
    }

    /// All observations of the window by quantity and class name, sorted.
    pub fn observed(&mut self) -> Observed {
        let seen = self.classes.seen();
        let mut all = Vec::new();
        let mut drained = Vec::new();
        for mut table in self
            .engine
            .recorder_mut()
            .hand_over(HandOver::Everything)
            .collect::<Vec<_>>()
        {
            table.drain_sorted(&mut drained);
            all.append(&mut drained);
        }
        let mut of: HashMap<(Quantity, String), Vec<u64>> = HashMap::new();
        for (series, bucket, count) in all.into_iter().filter(|(s, ..)| s.phase == Phase::Window) {
            // As in the aggregator.
            let quantities: &[Quantity] = match series.quantity {
                Quantity::Latency => &[Quantity::Latency, Quantity::Response],
                Quantity::LatencyOnly => &[Quantity::Latency],
                _ => &[series.quantity],
            };
            let class = match (quantities[0], series.class) {
                (Quantity::Latency | Quantity::Response | Quantity::Service, 1..) => {
                    seen[usize::from(series.class) - 1].class.to_string()
                }
                _ => String::new(),
            };
            for &quantity in quantities {
                let values = of.entry((quantity, class.clone())).or_default();
                values.extend(std::iter::repeat_n(
                    value_of(bucket),
                    usize::try_from(count).unwrap(),
                ));
            }
        }
        Observed(of)
    }
}

/// Observations by quantity and class.
pub struct Observed(HashMap<(Quantity, String), Vec<u64>>);

impl Observed {
    /// Number of observations, of all classes.
    pub fn count(&self, quantity: Quantity) -> usize {
        let of = self.0.iter().filter(|((of, _), _)| *of == quantity);
        of.map(|(_, values)| values.len()).sum()
    }

    pub fn of(&self, quantity: Quantity, class: &str) -> Vec<u64> {
        let mut values = self
            .0
            .get(&(quantity, class.to_owned()))
            .cloned()
            .unwrap_or_default();
        values.sort_unstable();
        values
    }
}

/// A pool with a timeout of a second, sending `GET /`.
pub fn pool(connections: usize) -> Http1Client {
    pool_expecting(connections, S, ExpectBody::Any)
}

/// A pool with a timeout of ten seconds.
pub fn patient_pool(connections: usize) -> Http1Client {
    pool_expecting(connections, 10 * S, ExpectBody::Any)
}

/// A pool whose connections carry this many exchanges and are opened on a schedule.
pub fn pool_ruled(count: usize, exchanges_max: u64, opening: OpenSchedule) -> Http1Client {
    let plan = PoolConfig {
        exchanges_max,
        opening,
        ..connections(count, S)
    };
    Http1Client::new(root(ExpectBody::Any), &plan)
}

/// A pool to a server with this many addresses, which differ by their ports, from 1 on.
pub fn pool_to(addresses: u16, first: usize, count: usize) -> Http1Client {
    let all = (1..=addresses).map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let plan = PoolConfig {
        addresses: all.collect(),
        first,
        ..connections(count, S)
    };
    Http1Client::new(root(ExpectBody::Any), &plan)
}

pub fn pool_expecting(count: usize, timeout_ns: u64, body: ExpectBody) -> Http1Client {
    Http1Client::new(root(body), &connections(count, timeout_ns))
}

/// `GET /`.
fn root(body: ExpectBody) -> Arc<[Prepared]> {
    let spec = RequestSpec {
        name: "root".into(),
        weight: 1.0,
        method: "GET".into(),
        path: "/".into(),
        headers: Vec::new(),
        body: Body::None,
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body,
        },
    };
    Arc::from([Prepared::new(&spec, "test").unwrap()])
}

/// Connections that are opened immediately and never renewed.
pub fn connections(count: usize, timeout_ns: u64) -> PoolConfig {
    PoolConfig {
        addresses: Arc::new(["127.0.0.1:80".parse().unwrap()]),
        first: 0,
        count,
        exchanges_max: u64::MAX,
        opening: OpenSchedule::default(),
        timeout_ns,
        waiting_max: 100,
    }
}

/// A constant rate of one worker over a window in seconds.
pub fn rate(per_s: f64, seconds: u64) -> Arrivals {
    Arrivals::OpenLoop(OpenLoop::constant(
        per_s,
        0,
        Stop::Duration {
            window_ns: seconds * S,
        },
        0,
        1,
    ))
}

pub fn answer() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_vec()
}
