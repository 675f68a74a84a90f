//! The built-in link: joins two network namespaces with delay, jitter, rate and loss, by a pair of TUN devices.
//!
//! It needs nothing of the kernel but TUN. A packet that one end sends is read, stamped with the moment at which it is due at the
//! other end, and written there when that moment has come: one reader and one writer per direction. Packets
//! keep their virtio header, so that segments which the kernel has not cut yet cross as one (up to 64 KiB), but are counted and
//! paced as the packets they would be on a wire.

mod counts;
mod error;
mod flow;
mod measure;
mod offload;
mod pause;
mod plan;
mod pool;
mod serve;
mod shape;
mod sys;
mod tun;
mod windows;

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use counts::Tally;
use flow::Flow;
use pause::Bell;
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
pub use tun::possible;
pub use windows::widen;

/// Names of the threads of a link: what they consume can be told from the rest of their process.
pub const THREADS: [&str; 2] = ["link-writer", "link-reader"];

/// How the threads of a link are scheduled in fact.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduled {
    /// Before everything else that is not real-time.
    RealTime,
    /// With a better nice value.
    Nice,
    /// As everything else: a busy machine adds its own delay.
    Usual,
}

/// A running link. Dropping it removes its devices and joins its threads.
#[derive(Debug)]
pub struct Link {
    bell: Arc<Bell>,
    tallies: [Arc<Tally>; 2],
    ends: [Arc<Tun>; 2],
    threads: Vec<JoinHandle<()>>,
    scheduled: Scheduled,
}

impl Link {
    /// Makes a device in each of the two namespaces and joins them. The devices are down and have no address yet. What is under way
    /// is in memory of the pool, which links of one run share.
    ///
    /// # Errors
    /// When the kernel gives no TUN device or no thread, or the plan makes no sense.
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
            bell: Arc::new(Bell::new()?),
            tallies: [Arc::new(Tally::default()), Arc::new(Tally::default())],
            ends,
            threads: Vec::with_capacity(4),
            scheduled: Scheduled::Usual,
        };
        for way in 0..2 {
            let flow = Flow {
                from: Arc::clone(&link.ends[way]),
                to: Arc::clone(&link.ends[1 - way]),
                bell: Arc::clone(&link.bell),
                tally: Arc::clone(&link.tallies[way]),
                plan: plan.ways[way].clone(),
                seed: plan.seed,
                purpose: ["there", "back"][way],
                scheduling: plan.scheduling,
                pool: Arc::clone(pool),
            };
            // What has started by then ends with the link, when this fails.
            link.scheduled = flow.start(&mut link.threads)?;
        }
        Ok(link)
    }

    /// What has crossed so far, and what was dropped and why.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let [there, back] = [0, 1].map(|way| {
            let mut counts = self.tallies[way].read();
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
        self.bell.ring();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so on standard error.
            let _ = thread.join();
        }
    }
}
