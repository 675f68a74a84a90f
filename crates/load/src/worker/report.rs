//! Messages of a worker to the aggregator.

use tare_schema::agent::{Acknowledged, RecordCounts, SchedPolicy, TlsCount};

use crate::engine::{ExchangeCounts, WorkerCounts};
use crate::tally::HistogramTable;

/// One message of a worker.
#[derive(Debug)]
pub enum WorkerMessage {
    /// Its connections are open, or it gave up opening them.
    ConnectionsOpened(ConnectionsOpened),
    /// A table of observations, to be emptied and returned.
    Table {
        /// Which worker.
        worker: usize,
        /// The table.
        table: HistogramTable,
    },
    /// A sample has ended; its tables were sent before.
    Tick(Tick),
    /// The worker has ended; everything was sent before.
    Ended(Box<WorkerEnd>),
}

/// Connections of a worker before the start.
#[derive(Debug, Clone)]
pub struct ConnectionsOpened {
    /// Connections open.
    pub open: u32,
    /// Why not all of them are.
    pub problem: Option<String>,
    /// Why the load is impossible.
    pub refusal: Option<String>,
}

/// Sample of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// Which worker.
    pub worker: usize,
    /// Index of the sample, from 0.
    pub number: u64,
    /// End of the sample since the start of the load.
    pub end_offset_ns: u64,
    /// Exchanges so far.
    pub all: ExchangeCounts,
    /// Exchanges in flight.
    pub in_flight: u64,
    /// Connections open.
    pub open: u32,
    /// Records so far, if the protocol reports any.
    pub records: Option<RecordCounts>,
    /// Records not read yet, if known.
    pub backlog: Option<u64>,
}

/// Result of a worker.
#[derive(Debug, Clone)]
pub struct WorkerEnd {
    /// Which worker.
    pub worker: usize,
    /// Its counts.
    pub counts: WorkerCounts,
    /// CPU time of its thread in the window.
    pub cpu_ns: u64,
    /// CPU time of the process in the window.
    pub process_cpu_ns: u64,
    /// Time spent spinning in the window.
    pub spun_ns: u64,
    /// How the kernel scheduled it.
    pub sched_policy: SchedPolicy,
    /// End of the window: by the plan, by `StopHandle::end`, or the last exchange.
    pub window_end_ns: u64,
    /// Bytes sent from the start of the window to the end of the drain.
    pub bytes_sent: u64,
    /// Bytes received in that time.
    pub bytes_received: u64,
    /// The protocol's own counters.
    pub protocol_counts: Vec<(&'static str, u64)>,
    /// Its acknowledged records, where they are numbered.
    pub acknowledged: Vec<Acknowledged>,
    /// TLS parameters of its handshakes.
    pub tls: Vec<TlsCount>,
    /// Handshakes in which our certificate was requested and sent.
    pub client_certificates: u64,
    /// Steps of the realtime clock.
    pub clock_steps: u64,
    /// Whether the window was ended early, by `StopHandle::end`.
    pub interrupted: bool,
    /// The error that made every exchange fail, if there was one.
    pub permanent_failure: Option<String>,
    /// Why the load was aborted, if it was.
    pub abort_reason: Option<String>,
    /// An error of the loop itself, if there was one.
    pub failure: Option<String>,
}
