//! Runs a client of the generator against a script of malformed input, and checks its invariants.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use tare_load::client::{
    Client, Closed, Completion, ConnId, Connected, DueExchange, ErrorClass, ExchangeId, Outlet,
    Stamp, StampSource, TimerId, Written,
};

/// Upper limit of steps of one script: longer ones find nothing new.
const STEPS_MAX: usize = 400;

/// The address of all connections.
pub const ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 80);

/// A fake network: tracks connections, writes and timers, and asserts that the client uses them correctly.
#[derive(Debug, Default)]
struct FakeNetwork {
    now_ns: u64,
    connecting: BTreeSet<u32>,
    open: BTreeSet<u32>,
    /// Open connections with a write of which no byte has been sent.
    queued: BTreeSet<u32>,
    /// Open connections whose client waits for room to write.
    blocked: BTreeSet<u32>,
    timers: [Option<u64>; 16],
    in_flight: BTreeSet<u32>,
    full: bool,
}

impl Outlet for FakeNetwork {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn connect(&mut self, conn: ConnId, _address: SocketAddr) {
        assert!(!self.open.contains(&conn.0), "an open slot is opened again");
        assert!(self.connecting.insert(conn.0), "two attempts in one slot");
    }

    fn write(&mut self, conn: ConnId, _bytes: &[u8]) -> Written {
        assert!(self.open.contains(&conn.0), "a write without connection");
        if self.full || self.queued.contains(&conn.0) {
            self.queued.insert(conn.0);
            return Written::Queued;
        }
        Written::Sent(self.now_ns)
    }

    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        assert!(self.open.contains(&conn.0), "a write without connection");
        if self.full {
            self.blocked.insert(conn.0);
            return bytes.len() / 3;
        }
        bytes.len()
    }

    fn half_close(&mut self, conn: ConnId) {
        assert!(self.open.contains(&conn.0), "an end without connection");
    }

    fn close(&mut self, conn: ConnId) {
        let was = self.open.remove(&conn.0) | self.connecting.remove(&conn.0);
        assert!(was, "a slot without connection is closed");
        self.queued.remove(&conn.0);
        self.blocked.remove(&conn.0);
    }

    fn set_timer(&mut self, timer: TimerId, at_ns: u64) {
        self.timers[usize::from(timer.0)] = Some(at_ns);
    }

    fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>) {
        assert!(
            self.in_flight.remove(&ticket.0),
            "an exchange ends that is not under way"
        );
        // A real engine formats the example, once per class.
        let _ = done.example.to_string();
    }

    fn withdraw(&mut self, ticket: ExchangeId) {
        assert!(
            self.in_flight.remove(&ticket.0),
            "an exchange is taken back that is not under way"
        );
    }

    fn fault(&mut self, _class: ErrorClass, example: &dyn fmt::Display) {
        let _ = example.to_string();
    }
}

/// Runs a script: every exchange must end exactly once, at the latest when the client is abandoned.
pub fn run_script(mut client: impl Client, script: &[u8]) {
    let mut network = FakeNetwork {
        now_ns: 1_000_000,
        ..FakeNetwork::default()
    };
    let network = &mut network;
    let capacity = client.capacity();
    let mut tickets = 0;
    client.on_start(network);
    let mut rest = script;
    for _ in 0..STEPS_MAX {
        let [step, more @ ..] = rest else { break };
        rest = more;
        network.now_ns += 1000;
        run_step(
            &mut client,
            network,
            *step,
            &mut rest,
            &mut tickets,
            capacity,
        );
        client.flush(network);
    }
    client.abandon(network);
    assert!(
        network.in_flight.is_empty(),
        "exchanges are left after the end"
    );
}

fn run_step(
    client: &mut impl Client,
    network: &mut FakeNetwork,
    step: u8,
    rest: &mut &[u8],
    tickets: &mut u32,
    capacity: usize,
) {
    let pick = |set: &BTreeSet<u32>| {
        let at = usize::from(step >> 3) % set.len().max(1);
        set.iter().nth(at).copied()
    };
    match step & 7 {
        0 => {
            if network.in_flight.len() < capacity + 8 {
                let ticket = ExchangeId(*tickets);
                *tickets += 1;
                network.in_flight.insert(ticket.0);
                let request = u32::from(step >> 3) % 2;
                client.on_due(DueExchange { ticket, request }, network);
            }
        }
        1 => {
            if let Some(conn) = pick(&network.connecting) {
                network.connecting.remove(&conn);
                network.open.insert(conn);
                let now_ns = network.now_ns;
                let opening = Connected {
                    begun_ns: now_ns - 1000,
                    connect_ns: 500,
                    handshake_ns: (step & 0x80 != 0).then_some(500),
                    stamp: stamp(now_ns),
                };
                client.on_connected_with(ConnId(conn), &opening, network);
            }
        }
        2 | 3 => {
            let length = rest.first().map_or(0, |&length| usize::from(length) + 1);
            let from = rest.len().min(1);
            let until = rest.len().min(from + length);
            let bytes = &rest[from..until];
            *rest = &rest[until..];
            if let Some(conn) = pick(&network.open).filter(|_| !bytes.is_empty()) {
                client.on_bytes(ConnId(conn), bytes, stamp(network.now_ns), network);
            }
        }
        4 => {
            let all: BTreeSet<u32> = network.open.union(&network.connecting).copied().collect();
            if let Some(conn) = pick(&all) {
                network.open.remove(&conn);
                network.connecting.remove(&conn);
                network.queued.remove(&conn);
                network.blocked.remove(&conn);
                let why = [Closed::Eof, Closed::Reset, Closed::Refused, Closed::NoPorts];
                client.on_closed(ConnId(conn), why[usize::from(step >> 3) % 4], network);
            }
        }
        5 => fire(client, network),
        6 => network.full = !network.full,
        _ => {
            if let Some(conn) = pick(&network.queued) {
                network.queued.remove(&conn);
                let now_ns = network.now_ns;
                client.on_write_started(ConnId(conn), now_ns, network);
            } else if let Some(conn) = pick(&network.blocked) {
                network.blocked.remove(&conn);
                client.on_writable(ConnId(conn), network);
            }
        }
    }
}

fn stamp(now_ns: u64) -> Stamp {
    Stamp {
        arrived_ns: now_ns,
        seen_ns: now_ns,
        source: StampSource::Kernel,
    }
}

/// Fires the earliest timer.
fn fire(client: &mut impl Client, network: &mut FakeNetwork) {
    let earliest = (0..network.timers.len())
        .filter_map(|at| network.timers[at].map(|at_ns| (at_ns, at)))
        .min();
    if let Some((at_ns, at)) = earliest {
        network.now_ns = network.now_ns.max(at_ns);
        network.timers[at] = None;
        client.on_timer(TimerId(at as u8), network);
    }
}
