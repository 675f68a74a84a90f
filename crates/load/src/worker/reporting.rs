//! What a worker reports to the aggregator: tables and ticks while it runs, its result at the end.

use tare_record::agent::{Acknowledged, RecordCounts, SchedPolicy, TlsCount};

use super::Worker;
use super::meter::Usage;
use crate::arrivals::NEVER;
use crate::client::Client;
use crate::clock::monotonic_ns;
use crate::engine::{ExchangeCounts, HandOver, WorkerCounts};
use crate::tally::HistogramTable;

/// Most tables on their way to the aggregator: 32 MB. Beyond, the worker waits.
const TABLES_OUT_MAX: usize = 64;

/// Counter of datagrams that arrived at a full receive buffer.
const DROPPED_BY_GENERATOR: &str = "datagrams-dropped-by-generator";

#[derive(Debug)]
pub enum WorkerMessage {
    /// Its connections are open, or it gave up opening them.
    ConnectionsOpened(ConnectionsOpened),
    /// A table of observations, to be emptied and returned.
    Table {
        worker: usize,
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
    pub worker: usize,
    pub counts: WorkerCounts,
    /// What it used in the window.
    pub usage: Usage,
    /// How the kernel scheduled it.
    pub sched_policy: SchedPolicy,
    /// End of the window: by the plan, by `StopHandle::end`, or the last exchange.
    pub window_end_ns: u64,
    /// Requests sent that may not have arrived.
    pub requests_lost: u64,
    /// Where the server sent the client with its first redirect.
    pub redirected_to: Option<String>,
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
    /// Whether its schedule came to its end, by the plan or by `StopHandle::end`.
    pub is_complete: bool,
    /// The error that made every exchange fail, if there was one.
    pub permanent_failure: Option<String>,
    /// Why the load was aborted, if it was.
    pub abort_reason: Option<String>,
    /// An error of the loop itself, if there was one.
    pub failure: Option<String>,
}

/// Longest location of a redirect that is kept, in characters.
const LOCATION_CHARS_MAX: usize = 200;

/// The location of a redirect as text.
fn location_text(location: &[u8]) -> String {
    let text = String::from_utf8_lossy(location);
    text.chars().take(LOCATION_CHARS_MAX).collect()
}

impl<C: Client> Worker<C> {
    /// Ends the samples that are over; several after a hold-up, so that none is missing.
    pub(super) fn tick(&mut self, now_ns: u64) {
        self.hand_over(HandOver::Everything);
        while now_ns >= self.next_tick_ns {
            self.report_tick(self.next_tick_ns);
            self.next_tick_ns = self.next_tick_ns.saturating_add(self.plan.sample_every_ns);
        }
    }

    fn report_tick(&mut self, end_ns: u64) {
        let recorder = self.engine.recorder();
        let tick = Tick {
            worker: self.plan.worker,
            number: self.next_tick,
            end_offset_ns: end_ns.saturating_sub(self.start_ns),
            all: *recorder.counts().exchanges(),
            in_flight: recorder.under_way() as u64,
            open: recorder.counts().open,
            records: recorder.counts().records,
            backlog: self.engine.client().backlog(),
        };
        self.next_tick += 1;
        self.send(WorkerMessage::Tick(tick));
    }

    fn hand_over(&mut self, what: HandOver) {
        let worker = self.plan.worker;
        for table in self.engine.recorder_mut().hand_over(what) {
            self.tables_out += 1;
            // Fails only when the aggregator has ended, which needs no table any more.
            let _ = self
                .plan
                .reports
                .send(WorkerMessage::Table { worker, table });
        }
        while let Ok(table) = self.plan.emptied.try_recv() {
            self.tables_out -= 1;
            self.engine.recorder_mut().give_back(table);
        }
        while self.tables_out > TABLES_OUT_MAX {
            let Ok(table) = self.plan.emptied.recv() else {
                return;
            };
            self.tables_out -= 1;
            self.engine.recorder_mut().give_back(table);
        }
    }

    pub(super) fn send(&self, report: WorkerMessage) {
        // Fails only when the aggregator has ended; the load is then being aborted.
        let _ = self.plan.reports.send(report);
    }

    pub(super) fn finish(mut self, failure: Option<String>, sched_policy: SchedPolicy) {
        let started = self.start_ns != NEVER;
        if started {
            let now_ns = monotonic_ns();
            self.engine.abandon(&mut self.io.sockets);
            self.read_if_due(now_ns);
            self.hand_over(HandOver::Everything);
            self.report_tick(now_ns);
        }
        let recorder = self.engine.recorder();
        let counts = recorder.counts().clone();
        let mut protocol_counts = Vec::new();
        let mut note = |name, count| protocol_counts.push((name, count));
        self.engine.client().counts(&mut note);
        if let Some(count) = self.io.sockets.dropped_datagrams() {
            note(DROPPED_BY_GENERATOR, count);
        }
        let mut acknowledged = Vec::new();
        self.engine
            .client()
            .acknowledged(&mut |one| acknowledged.push(one));
        let fixed_ns = match started {
            true => recorder.arrivals().window_end_ns(),
            false => 0,
        };
        let end = WorkerEnd {
            worker: self.plan.worker,
            usage: self.meter.usage(self.bytes(), self.sleeper.spun_ns()),
            sched_policy,
            window_end_ns: if fixed_ns == NEVER {
                counts.last_done_ns
            } else {
                fixed_ns
            },
            requests_lost: self.engine.client().requests_lost(),
            redirected_to: (self.engine.client().redirected_to()).map(location_text),
            protocol_counts,
            acknowledged,
            tls: self.io.sockets.take_tls_counts(),
            client_certificates: self.io.sockets.certificates_shown(),
            clock_steps: self.io.offset.steps(),
            interrupted: !started || self.plan.control.end_ns() <= fixed_ns.min(NEVER - 1),
            is_complete: self.is_complete,
            counts,
            permanent_failure: self.permanent_failure.map(|why| why.to_string()),
            abort_reason: self.abort_reason.take(),
            failure,
        };
        self.send(WorkerMessage::Ended(Box::new(end)));
    }
}
