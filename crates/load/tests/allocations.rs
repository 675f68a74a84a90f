//! After warm-up, the threads that measure allocate nothing, however many exchanges they make.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]
#![expect(
    unsafe_code,
    reason = "an allocator is an unsafe trait; this one only counts"
)]

#[path = "rig/broker.rs"]
mod broker;
mod rig;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use rig::{MS, plan, request};
use tare_load::protocols::http2::Http2Options;
use tare_load::{LoadProgress, run};
use tare_origin::{
    Identity, OriginOptions, SessionTickets, StopHandle, TlsOptions, TlsVersions, bind,
};
use tare_record::load::{
    ClientSpec, FetchAssignment, FetchDecode, FetchFrom, FetchSpec, FetchUntil, LoadPlan, Pacing,
    ProduceSpec, Resumption, Stop, TlsSpec, TlsVersion, Transport, Trust,
};

/// Counts what threads named `worker-…` allocate while [`COUNTING`].
struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static BY_WORKERS: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, PartialEq)]
enum Thread {
    Unknown,
    Worker,
    Other,
}

thread_local! {
    static THREAD: Cell<Thread> = const { Cell::new(Thread::Unknown) };
}

fn this_thread() -> Thread {
    THREAD.with(|thread| {
        if thread.get() == Thread::Unknown {
            let mut name = [0u8; 16];
            // SAFETY: the kernel writes at most 16 bytes, and there are 16.
            unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
            thread.set(if name.starts_with(b"worker-") {
                Thread::Worker
            } else {
                Thread::Other
            });
        }
        thread.get()
    })
}

fn count() {
    if COUNTING.load(Ordering::Relaxed) && this_thread() == Thread::Worker {
        BY_WORKERS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the rules of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the rules of this very function.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the rules of this very function.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Fewer exchanges could hide an allocation in each of them among those of the samples.
const EXCHANGES: u64 = 1000;

/// What was counted between two samples.
struct Counted {
    allocations: u64,
    exchanges: u64,
    samples: u64,
}

/// Runs a plan until enough was seen, however slow the machine is; what its workers did after the second sample.
fn between_samples(plan: &LoadPlan) -> Counted {
    const FROM: u64 = 2;
    const LEAST: u64 = 6;
    let stop = tare_load::StopHandle::new();
    let mut counted = Counted {
        allocations: 0,
        exchanges: 0,
        samples: 0,
    };
    let mut seen = 0;
    let outcome = run(plan, &stop, &mut |progress| {
        if let LoadProgress::Sample(sample) = progress
            && !stop.is_ended()
        {
            seen += 1;
            if seen == FROM {
                BY_WORKERS.store(0, Ordering::SeqCst);
                COUNTING.store(true, Ordering::SeqCst);
            } else if seen > FROM {
                counted.exchanges += sample.ok;
                counted.samples += 1;
            }
            if counted.samples >= LEAST && counted.exchanges >= EXCHANGES {
                COUNTING.store(false, Ordering::SeqCst);
                counted.allocations = BY_WORKERS.load(Ordering::SeqCst);
                stop.end();
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(outcome.result.errors, 0, "{:?}", outcome.result.outcomes);
    counted
}

/// Each sample hands a table over and takes an emptied one back, and its report goes through a channel: a few allocations a
/// sample, none an exchange.
const A_SAMPLE: u64 = 8;

/// An origin that runs until it is dropped.
struct Serving {
    address: SocketAddr,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn start(options: OriginOptions) -> Self {
        let origin = bind(options).unwrap();
        let address = origin.local_addr();
        let stop = StopHandle::new().unwrap();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let _totals = origin.run(stopped).unwrap();
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.stop();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn over_tls() -> Transport {
    Transport::Tls(TlsSpec {
        trust: Trust::Any,
        identity: None,
        server_name: Some("localhost".into()),
        alpn: None,
        oldest: TlsVersion::V1_3,
        newest: TlsVersion::V1_3,
        resumption: Resumption::Off,
    })
}

/// The allocator counts for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_worker_allocates_per_sample_and_not_per_exchange_on_any_protocol_and_transport() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plain = Serving::start(OriginOptions::default());
    let secure = Serving::start(OriginOptions {
        tls: Some(TlsOptions {
            identity: Identity::SelfSigned { ca_out: None },
            client_ca: None,
            tickets: SessionTickets::On,
            versions: TlsVersions::Both,
        }),
        ..OriginOptions::default()
    });
    let http1 = ClientSpec::new("http1", 16);
    let http2 = ClientSpec::with(4, &Http2Options { streams: 8 });
    for (name, client, server, transport) in [
        ("http1", &http1, &plain, Transport::Tcp),
        ("http2", &http2, &plain, Transport::Tcp),
        ("http1 over tls", &http1, &secure, over_tls()),
        ("http2 over tls", &http2, &secure, over_tls()),
    ] {
        let mut plan = plan(server.address);
        plan.load.requests = vec![
            request("small", "/?size=64"),
            request("large", "/?size=100000"),
        ];
        plan.load.client = client.clone();
        plan.load.transport = transport;
        check(name, plan);
    }
}

#[test]
fn clients_of_kafka_allocate_per_sample_and_not_per_exchange() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, client) in [
        ("kafka-fetch by batches", reading(FetchDecode::Batches)),
        ("kafka-fetch by records", reading(FetchDecode::Records)),
        ("kafka-produce", writing()),
    ] {
        let mut plan = plan(broker::broker());
        plan.load.requests.truncate(1);
        plan.load.requests[0].path = broker::TOPIC.into();
        plan.load.client = client;
        check(name, plan);
    }
}

fn check(name: &str, mut plan: LoadPlan) {
    plan.load.pacing = Pacing::Max;
    plan.load.sample_every_ns = 100 * MS;
    plan.load.stop = Stop::Interrupted;
    let Counted {
        allocations,
        exchanges,
        samples,
    } = between_samples(&plan);
    assert!(
        allocations <= samples * A_SAMPLE,
        "{name}: {allocations} allocations in {exchanges} exchanges of {samples} samples"
    );
}

fn reading(decode: FetchDecode) -> ClientSpec {
    let fetch = FetchSpec {
        topics: vec![broker::TOPIC.into()],
        client_id: "tare".into(),
        in_flight_max: 1,
        assignment: FetchAssignment::Static,
        from: FetchFrom::Start,
        min_bytes: 1,
        max_wait_ms: 500,
        max_bytes: 50 << 20,
        partition_max_bytes: 1 << 20,
        check_crc: true,
        decode,
        until: FetchUntil::default(),
        sasl: None,
        ..FetchSpec::default()
    };
    ClientSpec::with(1, &fetch)
}

fn writing() -> ClientSpec {
    // Few records at a time: the broker of this test is slow.
    let produce = ProduceSpec {
        batch_bytes: 10_000,
        ..ProduceSpec::default()
    };
    ClientSpec::with(1, &produce)
}
