//! The built-in link: joins two network namespaces with delay, jitter, rate and loss, by a pair of TUN devices.
//!
//! It needs only TUN of the kernel. Each direction has a reader, which reads packets from one end and computes when they are due
//! at the other, and a writer, which writes them there at that time. Packets keep their virtio header, so that unsegmented TCP
//! data (GSO, up to 64 KiB) crosses as one *piece*, but is counted and paced as the packets it would be on a wire.

mod counts;
mod direction;
mod error;
mod measure;
mod offload;
mod plan;
mod pool;
mod serve;
mod shape;
mod sleep;
mod sys;
mod tcp_buffers;
mod tun;

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use counts::DirectionCounters;
use direction::DirectionThreads;
use sleep::StopFlag;
use tun::Tun;

pub use counts::{Counts, WayCounts};
pub use error::LinkError;
pub use measure::{
    Path, RoundTrips, Throughput, connected, round_trips, round_trips_while, throughput,
};
pub use plan::{LinkPlan, Scheduling, WayPlan};
pub use pool::Pool;
pub use serve::{LinkEvent, LinkOrder, LinkOrders, NamedCounts, serve};
pub use sys::go_first;
pub use tcp_buffers::widen;
pub use tun::possible;

/// Names of the threads of a link, to tell their CPU time from the rest of the process.
pub const THREADS: [&str; 2] = ["link-writer", "link-reader"];

/// How the threads of a link are scheduled.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduled {
    /// `SCHED_FIFO`: before all threads that are not real-time.
    RealTime,
    /// With a lower nice value.
    Nice,
    /// With default scheduling: a busy machine adds its own delay.
    Usual,
}

/// A running link. Dropping it removes its devices and joins its threads.
#[derive(Debug)]
pub struct Link {
    stop_flag: Arc<StopFlag>,
    counters: [Arc<DirectionCounters>; 2],
    ends: [Arc<Tun>; 2],
    threads: Vec<JoinHandle<()>>,
    scheduled: Scheduled,
}

impl Link {
    /// Creates a device in each of the two namespaces and joins them. The devices are down and have no address yet. Packets in
    /// transit are kept in the pool's memory, which the links of one run share.
    ///
    /// # Errors
    /// When a TUN device or a thread cannot be created, or the plan is invalid.
    pub fn start(
        a: BorrowedFd<'_>,
        b: BorrowedFd<'_>,
        plan: &LinkPlan,
        pool: &Arc<Pool>,
    ) -> Result<Self, LinkError> {
        plan.check()?;
        let offload = plan.offload();
        let ends = [
            Arc::new(Tun::open(a, &plan.devices[0], offload)?),
            Arc::new(Tun::open(b, &plan.devices[1], offload)?),
        ];
        let mut link = Self {
            stop_flag: Arc::new(StopFlag::new()?),
            counters: [
                Arc::new(DirectionCounters::default()),
                Arc::new(DirectionCounters::default()),
            ],
            ends,
            threads: Vec::with_capacity(4),
            scheduled: Scheduled::Usual,
        };
        for way in 0..2 {
            let direction = DirectionThreads {
                from: Arc::clone(&link.ends[way]),
                to: Arc::clone(&link.ends[1 - way]),
                stop_flag: Arc::clone(&link.stop_flag),
                counters: Arc::clone(&link.counters[way]),
                plan: plan.ways[way].clone(),
                seed: plan.seed,
                purpose: ["there", "back"][way],
                scheduling: plan.scheduling,
                pool: Arc::clone(pool),
            };
            // If this fails, the threads started so far end as the link is dropped.
            link.scheduled = direction.start(&mut link.threads)?;
        }
        Ok(link)
    }

    /// Packets passed and dropped so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let [there, back] = [0, 1].map(|way| {
            let mut counts = self.counters[way].read();
            counts.overflowed = self.ends[way].overflowed();
            counts
        });
        Counts { there, back }
    }

    /// How its threads are scheduled.
    #[must_use]
    pub fn scheduled(&self) -> Scheduled {
        self.scheduled
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop_flag.stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it on standard error.
            let _ = thread.join();
        }
    }
}
