//! What an HTTP/1.1 exchange costs in the generator's own code, the kernel left out: engine, pool, codec and book on a wire that
//! answers at once. `cargo run --release -p tare-load --example own_cost [CONNECTIONS]`.
//!
//! Times are made up, so no clock is read but around each batch; the price of a reading is printed beside. The smallest batch
//! is what the code costs with warm caches, whatever else runs on the machine.
#![allow(clippy::print_stdout, reason = "an example prints what it measures")]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};
use tare_load::arrivals::{Arrivals, ClosedLoop, SharedCount};
use tare_load::client::{Client, ConnId, Connected, Stamp, StampSource, Written};
use tare_load::connection_pool::{OpenSchedule, PoolConfig};
use tare_load::engine::{ConnectionIo, Engine, ExchangeRecorder, HandOver, RequestSelector};
use tare_load::protocols::http1::client::Http1Client;
use tare_load::protocols::http1::request::Prepared;
use tare_load::{ClassNumbers, Classes};
use tare_record::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec, Stop};
use tare_stats::random::Random;

const BATCHES: usize = 300;
const EXCHANGES_PER_BATCH: usize = 20_000;
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 02:39:15 GMT\r\n\
    Content-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nhello world\n";

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A wire on which what is written waits for its answer; time goes on by the microsecond.
struct Instant {
    now_ns: u64,
    written: Vec<(ConnId, u64)>,
    connecting: Vec<ConnId>,
}

impl ConnectionIo for Instant {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn connect(&mut self, conn: ConnId, _address: SocketAddr) {
        self.connecting.push(conn);
    }

    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        std::hint::black_box(bytes);
        self.now_ns += 1000;
        self.written.push((conn, self.now_ns));
        Written::Sent(self.now_ns)
    }

    fn try_write(&mut self, _conn: ConnId, _bytes: &[u8]) -> usize {
        unreachable!("HTTP/1.1 writes")
    }
    fn half_close(&mut self, _conn: ConnId) {
        unreachable!("HTTP/1.1 keeps both directions open")
    }
    fn close(&mut self, _conn: ConnId) {}
}

fn engine(connections: usize) -> Result<Engine<Http1Client>, Box<dyn Error>> {
    let spec = RequestSpec {
        name: "request".into(),
        weight: 1.0,
        method: "GET".into(),
        path: "/".into(),
        headers: Vec::new(),
        body: Body::None,
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    };
    let requests: Arc<[Prepared]> = Arc::from([Prepared::new(&spec, "127.0.0.1:8080")?]);
    let pool = Http1Client::new(
        requests,
        &PoolConfig {
            addresses: Arc::new([SocketAddr::from(([127, 0, 0, 1], 8080))]),
            first: 0,
            count: connections,
            exchanges_max: u64::MAX,
            opening: OpenSchedule::default(),
            timeout_ns: 10_000_000_000,
            waiting_max: connections,
        },
    );
    let stop = Stop::Interrupted;
    let arrivals = Arrivals::ClosedLoop(ClosedLoop::new(
        connections,
        0,
        0,
        stop,
        &SharedCount::new(0, 1),
    ));
    let recorder = ExchangeRecorder::new(
        arrivals,
        RequestSelector::new(&[1.0], Random::for_purpose(1, "own cost")),
        ClassNumbers::of(&Classes::default()),
        pool.capacity(),
    );
    Ok(Engine::new(pool, recorder))
}

/// Answers everything written, 100 to 400 µs after it was sent; how many answers.
fn answer_all(engine: &mut Engine<Http1Client>, wire: &mut Instant, random: &mut Random) -> usize {
    let mut answered = std::mem::take(&mut wire.written);
    let count = answered.len();
    for (conn, sent_ns) in answered.drain(..) {
        let took_ns = 100_000 + (random.unit() * 300_000.0) as u64;
        let arrived_ns = sent_ns + took_ns;
        wire.now_ns = wire.now_ns.max(arrived_ns + 5000);
        let stamp = Stamp {
            arrived_ns,
            seen_ns: wire.now_ns,
            source: StampSource::Kernel,
        };
        engine.on_bytes(conn, ANSWER, stamp, wire);
    }
    if wire.written.is_empty() {
        wire.written = answered;
    }
    count
}

fn main() -> Result<(), Box<dyn Error>> {
    let connections: usize = std::env::args()
        .nth(1)
        .map_or(Ok(64), |text| text.parse())?;
    let mut engine = engine(connections)?;
    let mut wire = Instant {
        now_ns: 1_000_000_000,
        written: Vec::new(),
        connecting: Vec::new(),
    };
    engine.open(&mut wire);
    while let Some(conn) = wire.connecting.pop() {
        let now_ns = wire.now_ns;
        let opening = Connected {
            begun_ns: now_ns,
            connect_ns: 0,
            handshake_ns: None,
            stamp: Stamp::event(now_ns),
        };
        engine.on_connected(conn, &opening, &mut wire);
    }
    engine.begin(wire.now_ns);
    // Behind the staggered start every client is under way.
    wire.now_ns += 1_000_000_000;
    while engine.next_start_ns() <= wire.now_ns {
        engine.advance(wire.now_ns, &mut wire);
    }
    let mut random = Random::for_purpose(2, "own cost");
    let (mut costs, mut drained) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        let (before_ns, mut count) = (now_ns(), 0);
        while count < EXCHANGES_PER_BATCH {
            count += answer_all(&mut engine, &mut wire, &mut random);
        }
        costs.push((now_ns() - before_ns) as f64 / count as f64);
        let tables: Vec<_> = engine
            .recorder_mut()
            .hand_over(HandOver::Everything)
            .collect();
        for mut table in tables {
            table.drain_sorted(&mut drained);
            engine.recorder_mut().give_back(table);
        }
    }
    costs.sort_unstable_by(f64::total_cmp);
    let before_ns = now_ns();
    let readings = 100_000;
    for _ in 0..readings {
        std::hint::black_box(now_ns());
    }
    let reading_ns = (now_ns() - before_ns) as f64 / f64::from(readings);
    println!(
        "{connections} connections: own code {:.0} ns an exchange at least, {:.0} ns in the middle; a clock reading {reading_ns:.0} ns",
        costs[0],
        costs[BATCHES / 2]
    );
    Ok(())
}
