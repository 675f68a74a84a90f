//! The built-in link: joins two network namespaces with delay, jitter, rate and loss, by a pair of TUN devices.
//!
//! It needs only TUN of the kernel. Each direction has a reader, which reads packets from one end and computes when they are due
//! at the other, and a writer, which writes them there at that time. Packets keep their virtio header, so that unsegmented TCP
//! data (GSO, up to 64 KiB) crosses as one *piece*, but is counted and paced as the packets it would be on a wire.

mod counts;
mod direction;
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

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use counts::DirectionCounters;
use direction::DirectionThreads;
use sleep::StopFlag;
use tun::Tun;

pub use counts::{CountsPerDirection, DirectionCounts};
pub use measure::{
    Path, RoundTrips, Throughput, connected, round_trips, round_trips_while, throughput,
};
pub use plan::{DirectionPlan, LinkPlan, Scheduling};
pub use pool::Pool;
pub use serve::{LinkEvent, LinkOrder, LinkOrders, NamedCounts, serve};
pub use sys::set_sched_fifo;
pub use tcp_buffers::raise_tcp_buffers;
pub use tun::possible;

/// A failure of a link or of its measurement.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// An invalid plan.
    #[error("the link cannot be as planned: {0}")]
    Plan(String),
    /// TUN is not available.
    #[error(
        "no TUN device can be had of /dev/net/tun: {0}; load the module (`modprobe tun`), or give the container the device (`--device /dev/net/tun`)"
    )]
    NoTun(io::Error),
    /// The device cannot be created in the namespace.
    #[error(
        "cannot make the device {device}: {error}; network administration in the namespace is needed (root, or a user namespace that owns it)"
    )]
    NoDevice {
        device: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The namespace cannot be entered.
    #[error(
        "cannot enter the network namespace: {0}; it needs root, or the user namespace that owns it"
    )]
    NoEntry(io::Error),
    /// A thread or an event descriptor cannot be created.
    #[error(
        "the link cannot start: {0}; are there enough processes and open files (`ulimit -u`, `ulimit -n`)?"
    )]
    NoStart(io::Error),
    /// `tcp_rmem` and `tcp_wmem` cannot be changed.
    #[error(
        "cannot raise tcp_rmem and tcp_wmem in the namespace: {0}; /proc/sys must be writable there"
    )]
    NoWindow(io::Error),
    /// The process that started the links has closed their pipe.
    #[error(
        "the conductor closed the control socket of the links: {0}; they end with the run that started them"
    )]
    NoConductor(io::Error),
    /// A measurement failed.
    #[error(
        "cannot measure the path to {to}, {step}: {error}; is the device up, and is there a route?"
    )]
    NoMeasure {
        /// Address measured to.
        to: std::net::IpAddr,
        /// The step that failed.
        step: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// Names of the threads of a link, to tell their CPU time from the rest of the process.
pub const THREADS: [&str; 2] = ["link-writer", "link-reader"];

/// How the threads of a link are scheduled.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum LinkScheduling {
    /// `SCHED_FIFO`: before all threads that are not real-time.
    RealTime,
    /// With a lower nice value.
    Nice,
    /// With default scheduling: a busy machine adds its own delay.
    Default,
}

/// A running link. Dropping it removes its devices and joins its threads.
#[derive(Debug)]
pub struct Link {
    stop_flag: Arc<StopFlag>,
    counters: [Arc<DirectionCounters>; 2],
    ends: [Arc<Tun>; 2],
    threads: Vec<JoinHandle<()>>,
    scheduled: LinkScheduling,
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
            scheduled: LinkScheduling::Default,
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
    pub fn counts(&self) -> CountsPerDirection {
        let [there, back] = [0, 1].map(|way| {
            let mut counts = self.counters[way].read();
            counts.overflowed = self.ends[way].overflowed();
            counts
        });
        CountsPerDirection { there, back }
    }

    /// How its threads are scheduled.
    #[must_use]
    pub fn scheduled(&self) -> LinkScheduling {
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
