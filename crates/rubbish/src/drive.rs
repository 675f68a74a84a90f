//! Drives a client of the generator by a script of rubbish, and checks what must hold whatever a server does.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use tare_load::client::{
    Client, Closed, ConnId, Done, Due, ErrorClass, Outlet, Stamp, StampSource, Ticket, TimerId,
    Written,
};

/// Most steps of one script: beyond, nothing new is learnt.
const STEPS_MAX: usize = 400;

/// The address that all connections go to.
pub const ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 80);

/// What stands for the network: remembers what the client asked for, and objects to what it must not.
#[derive(Debug, Default)]
struct World {
    now_ns: u64,
    connecting: BTreeSet<u32>,
    open: BTreeSet<u32>,
    /// Open connections with a write whose first byte has not gone.
    queued: BTreeSet<u32>,
    /// Open connections that are to be told when there is room.
    pouring: BTreeSet<u32>,
    timers: [Option<u64>; 16],
    under_way: BTreeSet<u32>,
    full: bool,
}

impl Outlet for World {
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

    fn pour(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        assert!(self.open.contains(&conn.0), "a write without connection");
        if self.full {
            self.pouring.insert(conn.0);
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
        self.pouring.remove(&conn.0);
    }

    fn timer(&mut self, timer: TimerId, at_ns: u64) {
        self.timers[usize::from(timer.0)] = Some(at_ns);
    }

    fn done(&mut self, ticket: Ticket, done: &Done<'_>) {
        assert!(
            self.under_way.remove(&ticket.0),
            "an exchange ends that is not under way"
        );
        // The example is formatted by the driver, once a class.
        let _ = done.example.to_string();
    }

    fn fault(&mut self, _class: ErrorClass, example: &dyn fmt::Display) {
        let _ = example.to_string();
    }
}

/// Runs the script: every exchange must end exactly once, at the latest when the client is abandoned.
pub fn drive(mut client: impl Client, script: &[u8]) {
    let mut world = World {
        now_ns: 1_000_000,
        ..World::default()
    };
    let world = &mut world;
    let capacity = client.capacity();
    let mut tickets = 0;
    client.start(world);
    let mut rest = script;
    for _ in 0..STEPS_MAX {
        let [step, more @ ..] = rest else { break };
        rest = more;
        world.now_ns += 1000;
        step_of(&mut client, world, *step, &mut rest, &mut tickets, capacity);
        client.flush(world);
    }
    client.abandon(world);
    assert!(
        world.under_way.is_empty(),
        "exchanges are left after the end"
    );
}

fn step_of(
    client: &mut impl Client,
    world: &mut World,
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
            if world.under_way.len() < capacity + 8 {
                let ticket = Ticket(*tickets);
                *tickets += 1;
                world.under_way.insert(ticket.0);
                let request = u16::from(step >> 3) % 2;
                client.due(Due { ticket, request }, world);
            }
        }
        1 => {
            if let Some(conn) = pick(&world.connecting) {
                world.connecting.remove(&conn);
                world.open.insert(conn);
                client.connected(ConnId(conn), world);
            }
        }
        2 | 3 => {
            let length = rest.first().map_or(0, |&length| usize::from(length) + 1);
            let from = rest.len().min(1);
            let until = rest.len().min(from + length);
            let bytes = &rest[from..until];
            *rest = &rest[until..];
            if let Some(conn) = pick(&world.open).filter(|_| !bytes.is_empty()) {
                let stamp = Stamp {
                    arrived_ns: world.now_ns,
                    seen_ns: world.now_ns,
                    source: StampSource::Kernel,
                };
                client.bytes(ConnId(conn), bytes, stamp, world);
            }
        }
        4 => {
            let all: BTreeSet<u32> = world.open.union(&world.connecting).copied().collect();
            if let Some(conn) = pick(&all) {
                world.open.remove(&conn);
                world.connecting.remove(&conn);
                world.queued.remove(&conn);
                world.pouring.remove(&conn);
                let why = [Closed::Eof, Closed::Reset, Closed::Refused, Closed::NoPorts];
                client.closed(ConnId(conn), why[usize::from(step >> 3) % 4], world);
            }
        }
        5 => fire(client, world),
        6 => world.full = !world.full,
        _ => {
            if let Some(conn) = pick(&world.queued) {
                world.queued.remove(&conn);
                let now_ns = world.now_ns;
                client.wrote(ConnId(conn), now_ns, world);
            } else if let Some(conn) = pick(&world.pouring) {
                world.pouring.remove(&conn);
                client.room(ConnId(conn), world);
            }
        }
    }
}

/// Lets the earliest timer go off.
fn fire(client: &mut impl Client, world: &mut World) {
    let earliest = (0..world.timers.len())
        .filter_map(|at| world.timers[at].map(|at_ns| (at_ns, at)))
        .min();
    if let Some((at_ns, at)) = earliest {
        world.now_ns = world.now_ns.max(at_ns);
        world.timers[at] = None;
        client.timer(TimerId(at as u8), world);
    }
}
