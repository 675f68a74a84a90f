//! An allocator that counts what the threads allocate that measure. One test of a program uses it.
#![expect(
    unsafe_code,
    reason = "an allocator is an unsafe trait; this one only counts"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tare_load::{LoadProgress, run};
use tare_record::load::{LoadPlan, Pacing, Stop};

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

/// Time between samples.
const SAMPLE_NS: u64 = 100_000_000;

/// Runs a plan as fast as it goes; its workers must allocate per sample, not per exchange.
pub fn check(name: &str, mut plan: LoadPlan) {
    plan.load.pacing = Pacing::Max;
    plan.load.sample_every_ns = SAMPLE_NS;
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
