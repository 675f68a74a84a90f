//! What a worker tells while and after it works.

use tare_schema::agent::{Acknowledged, RecordCounts, Scheduled, TlsCount};

use crate::engine::{Counts, Stages};
use crate::tally::Tally;

/// One message of a worker.
#[derive(Debug)]
pub enum FromWorker {
    /// Its connections are open, or it gave up waiting for them.
    Opened(Opened),
    /// A table of observations, to be emptied and given back.
    Table {
        /// Which worker.
        worker: usize,
        /// The table.
        tally: Tally,
    },
    /// A sample has ended; its tables were sent before.
    Tick(Tick),
    /// The worker is done; everything was sent before.
    Ended(Box<WorkerEnd>),
}

/// The state of a worker's connections before the start.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Connections open.
    pub open: u32,
    /// Why not all of them are.
    pub problem: Option<String>,
    /// Why the load cannot be carried at all.
    pub refusal: Option<String>,
}

/// The state of a worker at the end of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// Which worker.
    pub worker: usize,
    /// Number of the sample, from 0.
    pub number: u64,
    /// End of the sample since the start of the load.
    pub end_offset_ns: u64,
    /// Everything so far.
    pub all: Stages,
    /// Exchanges under way.
    pub in_flight: u64,
    /// Connections open.
    pub open: u32,
    /// Records so far, if the protocol tells of any.
    pub records: Option<RecordCounts>,
    /// What has not been read, if that is known.
    pub backlog: Option<u64>,
}

/// What a worker leaves.
#[derive(Debug, Clone)]
pub struct WorkerEnd {
    /// Which worker.
    pub worker: usize,
    /// All it counted.
    pub counts: Counts,
    /// Its own CPU time within the window.
    pub cpu_ns: u64,
    /// CPU time of the process within the window.
    pub process_cpu_ns: u64,
    /// Time spent spinning within the window.
    pub spun_ns: u64,
    /// How the kernel scheduled it.
    pub scheduled: Scheduled,
    /// End of the window: fixed by the plan, by an order, or by the last exchange.
    pub window_end_ns: u64,
    /// Bytes sent from the start of the window to the end of the drain.
    pub bytes_sent: u64,
    /// Bytes received in that time.
    pub bytes_received: u64,
    /// What the protocol counted of its own.
    pub protocol_counts: Vec<(&'static str, u64)>,
    /// Which of its records were acknowledged, where they are numbered.
    pub acknowledged: Vec<Acknowledged>,
    /// What its handshakes agreed on.
    pub tls: Vec<TlsCount>,
    /// Handshakes in which our certificate was asked for and shown.
    pub client_certificates: u64,
    /// Steps of the realtime clock.
    pub clock_steps: u64,
    /// Whether the window was ended by order.
    pub interrupted: bool,
    /// Why nothing can come of this load, if that was seen.
    pub hopeless: Option<String>,
    /// Why the load could not go on to its end, if it could not.
    pub broke_off: Option<String>,
    /// What stopped the loop before its time, if anything did.
    pub failure: Option<String>,
}
