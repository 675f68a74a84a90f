//! Whether the reported service latency is true: for every exchange, what the generator reports against what the origin says
//! that it took itself.
//!
//! `cargo run --release -p tare-load --example truth -- ADDRESS RATE SECONDS [BEHAVIOUR]`, against `tare origin`; BEHAVIOUR as in
//! its query (`delay=5ms`). The origin stamps arrival and send of each exchange with the kernel's and the machine's clock and
//! tells both in its answer. What is left of (reported − origin's own) is the way through two sockets, whatever the delay:
//! its distribution must be that of a run without delay. Prints quantiles as JSON, in nanoseconds.
#![allow(clippy::print_stdout, reason = "an example prints what it measures")]

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use tare_load::client::{
    Client, Closed, Completion, ConnId, DueExchange, ErrorClass, ExchangeId, ExchangeOutcome,
    Outlet, Stamp, TimerId, Written,
};
use tare_load::protocols::http1::client::Http1Client;
use tare_load::{LoadProgress, StopHandle, run_over};
use tare_record::FORMAT_VERSION;
use tare_record::load::{
    AddressPolicy, Body, ClientSpec, ConnectionRules, Cores, Endpoint, Expect, ExpectBody,
    ExpectStatus, LoadPlan, LoadSpec, Pacing, RequestSpec, Sched, Spin, Stop, Transport,
};

/// The first ones meet cold caches on both sides, alike with and without delay, but not equally many of all.
const SKIPPED_SECONDS: f64 = 0.2;
const CONNECTIONS: u32 = 400;
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];
/// As many observations lie beyond a printed quantile.
const BEYOND_MIN: usize = 10;

/// What both sides say of one exchange, in nanoseconds.
#[derive(Clone, Copy)]
struct Observation {
    reported: u64,
    own: u64,
}

type Log = Arc<Mutex<Vec<Observation>>>;

/// A client over the pool: reads `Tare-Timestamps` on its way in, and what the pool reports on its way out.
struct Witness {
    pool: Http1Client,
    log: Log,
}

/// The engine as the pool sees it.
struct Watched<'a, O> {
    out: &'a mut O,
    own: Option<u64>,
    log: &'a Log,
}

/// The origin's own time, from the header `Tare-Timestamps: ARRIVED SENT`. Answers of this load come in one piece.
fn own_ns(bytes: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"Tare-Timestamps: ";
    let at = bytes.windows(NAME.len()).position(|part| part == NAME)?;
    let line = bytes[at + NAME.len()..]
        .split(|&byte| byte == b'\r')
        .next()?;
    let (arrived, sent) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    sent.parse::<u64>()
        .ok()?
        .checked_sub(arrived.parse::<u64>().ok()?)
}

impl<O: Outlet> Outlet for Watched<'_, O> {
    fn now_ns(&self) -> u64 {
        self.out.now_ns()
    }
    fn connect(&mut self, conn: ConnId, address: SocketAddr) {
        self.out.connect(conn, address);
    }
    fn write(&mut self, conn: ConnId, bytes: &[u8]) -> Written {
        self.out.write(conn, bytes)
    }
    fn try_write(&mut self, conn: ConnId, bytes: &[u8]) -> usize {
        self.out.try_write(conn, bytes)
    }

    fn half_close(&mut self, conn: ConnId) {
        self.out.half_close(conn);
    }

    fn close(&mut self, conn: ConnId) {
        self.out.close(conn);
    }
    fn set_timer(&mut self, timer: TimerId, at_ns: u64) {
        self.out.set_timer(timer, at_ns);
    }
    fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>) {
        if let (ExchangeOutcome::Ok(_), Some(sent_ns), Some(own)) =
            (done.outcome, done.sent_ns, self.own.take())
        {
            let reported = done.ended.arrived_ns.saturating_sub(sent_ns);
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.push(Observation { reported, own });
        }
        self.out.complete(ticket, done);
    }
    fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display) {
        self.out.fault(class, example);
    }
}

impl Witness {
    /// The pool, and the engine as it may see it.
    fn split<'a, O: Outlet>(
        &'a mut self,
        out: &'a mut O,
        own: Option<u64>,
    ) -> (&'a mut Http1Client, Watched<'a, O>) {
        let log = &self.log;
        (&mut self.pool, Watched { out, own, log })
    }
}

impl Client for Witness {
    fn on_start(&mut self, out: &mut impl Outlet) {
        self.pool.on_start(out);
    }
    fn capacity(&self) -> usize {
        self.pool.capacity()
    }
    fn is_open(&self) -> bool {
        self.pool.is_open()
    }
    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        self.pool.on_due(due, out);
    }
    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.pool.on_connected(conn, out);
    }
    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], stamp: Stamp, out: &mut impl Outlet) {
        let (pool, mut watched) = self.split(out, own_ns(bytes));
        pool.on_bytes(conn, bytes, stamp, &mut watched);
    }
    fn on_write_started(&mut self, conn: ConnId, at_ns: u64, out: &mut impl Outlet) {
        self.pool.on_write_started(conn, at_ns, out);
    }
    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.pool.on_closed(conn, why, out);
    }
    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        self.pool.on_timer(timer, out);
    }
    fn abandon(&mut self, out: &mut impl Outlet) {
        self.pool.abandon(out);
    }
}

fn plan(address: SocketAddr, rate_per_s: f64, seconds: f64, behaviour: &str) -> LoadPlan {
    LoadPlan {
        version: FORMAT_VERSION,
        role: "client".into(),
        start_at_unix_us: None,
        start_lead_ns: None,
        seed: 1,
        endpoint: Endpoint {
            addresses: vec![address],
            host: address.to_string(),
        },
        allowed_addresses: AddressPolicy::Private,
        address_overrides: Vec::new(),
        cores: Cores::Shared,
        cpu_per_exchange_ns: None,
        load: LoadSpec {
            pacing: Pacing::Constant { rate_per_s },
            stop: Stop::Duration {
                window_ns: (seconds * 1e9) as u64,
            },
            warmup_ns: 0,
            timeout_ns: 20_000_000_000,
            workers: 1,
            spin: Spin::Bounded,
            sched: Sched::Auto,
            sample_every_ns: 1_000_000_000,
            transport: Transport::Tcp,
            connections: ConnectionRules::default(),
            client: ClientSpec::new("http1", CONNECTIONS),
            mix: Default::default(),
            requests: vec![RequestSpec {
                name: "request".into(),
                weight: 1.0,
                method: "GET".into(),
                path: format!("/?timestamps&{behaviour}"),
                headers: Vec::new(),
                body: Body::None,
                template: Default::default(),
                expect: Expect {
                    status: ExpectStatus::Success,
                    body: ExpectBody::Any,
                },
            }],
        },
    }
}

/// `"p50": 1, …` of what has enough observations beyond.
fn quantiles(mut values: Vec<i64>) -> String {
    values.sort_unstable();
    let one = |&(name, q): &(&str, f64)| {
        let rank = (q * values.len() as f64).ceil() as usize;
        let beyond = values.len().saturating_sub(rank);
        let value = (beyond >= BEYOND_MIN).then(|| values[rank.saturating_sub(1)]);
        format!(
            "\"{name}\": {}",
            value.map_or("null".into(), |v| v.to_string())
        )
    };
    QUANTILES.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, rate, seconds, behaviour @ ..] = words.as_slice() else {
        return Err("usage: truth ADDRESS RATE SECONDS [BEHAVIOUR]".into());
    };
    let (rate, seconds): (f64, f64) = (rate.parse()?, seconds.parse()?);
    let behaviour = behaviour.first().map_or("", String::as_str);
    let log = Log::default();
    let outcome = run_over(
        &plan(address.parse()?, rate, seconds, behaviour),
        &StopHandle::new(),
        &mut |_: LoadProgress| ControlFlow::Continue(()),
        |pool| Witness {
            pool,
            log: Arc::clone(&log),
        },
    )?;
    let told = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let skip = (rate * SKIPPED_SECONDS) as usize;
    let counted = told.get(skip..).unwrap_or_default();
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let of = |value: fn(&Observation) -> u64| counted.iter().map(|t| signed(value(t))).collect();
    let difference = counted
        .iter()
        .map(|t| signed(t.reported) - signed(t.own))
        .collect();
    println!(
        "{{\"ok\": {}, \"intended\": {}, \"told\": {}, \"reported\": {{{}}}, \"own\": {{{}}}, \"difference\": {{{}}}}}",
        outcome.result.ok,
        outcome.result.intended,
        told.len(),
        quantiles(of(|t| t.reported)),
        quantiles(of(|t| t.own)),
        quantiles(difference),
    );
    Ok(())
}
