//! Aggregates the reports of the workers: samples while the load runs, logs and totals at its end. Runs at low priority.

mod log;
mod sparse;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use tare_record::agent::{RecordCounts, RecordSample, Sample};
use tare_stats::hlog::WriteError;

pub use log::{HistogramLogs, Log, SeriesNames};
use sparse::SparseCounts;

use crate::classes::{Classes, is_right};
use crate::engine::ExchangeCounts;
use crate::tally::{HistogramTable, Phase, Quantity, Series};
use crate::worker::{Tick, WorkerEnd, WorkerMessage};

/// The aggregator of a load.
#[derive(Debug)]
pub struct Aggregator {
    /// Without the classes.
    names: SeriesNames,
    classes: Classes,
    /// A second is encoded when it is this long past: nearly all its exchanges have ended.
    horizon: Duration,
    logs: HistogramLogs,
    /// What each worker reported since its last tick.
    since_tick: Vec<IntervalHistograms>,
    /// Samples that some worker has not reported yet.
    pending: BTreeMap<u64, Pending>,
    workers: Vec<WorkerState>,
    last_offset_ns: u64,
    emptied: Vec<Sender<HistogramTable>>,
    drained: Vec<(Series, u16, u64)>,
    run: Vec<(u16, u64)>,
    ends: Vec<WorkerEnd>,
}

#[derive(Debug, Default)]
struct IntervalHistograms {
    latency: SparseCounts,
    lateness: SparseCounts,
    end_to_end: SparseCounts,
}

impl IntervalHistograms {
    fn add(&mut self, other: &Self) {
        self.latency.add_sorted(other.latency.counts());
        self.lateness.add_sorted(other.lateness.counts());
        self.end_to_end.add_sorted(other.end_to_end.counts());
    }
}

#[derive(Debug, Default)]
struct Pending {
    histograms: IntervalHistograms,
    stages: ExchangeCounts,
    end_offset_ns: u64,
    in_flight: u64,
    open: u32,
    records: Option<RecordCounts>,
    backlog: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy)]
struct WorkerState {
    all: ExchangeCounts,
    records: RecordCounts,
    /// Ticks reported.
    ticks: u64,
    ended: bool,
}

/// Logs, names and worker results of a load.
pub struct AggregatedLoad {
    /// The logs and their totals.
    pub logs: HistogramLogs,
    pub names: SeriesNames,
    /// Results of the workers.
    pub ends: Vec<WorkerEnd>,
}

impl Aggregator {
    /// An empty aggregator for workers that receive emptied tables over these channels. Tags consist of the role and the names
    /// of the requests.
    ///
    /// # Errors
    /// Never with the range of this crate.
    pub fn new(
        (role, requests): (String, Vec<String>),
        classes: Classes,
        horizon: Duration,
        emptied: Vec<Sender<HistogramTable>>,
    ) -> Result<Self, tare_stats::LatenciesError> {
        let workers = emptied.len();
        Ok(Self {
            names: SeriesNames {
                role,
                requests,
                classes: Vec::new(),
            },
            classes,
            horizon,
            logs: HistogramLogs::new()?,
            since_tick: (0..workers)
                .map(|_| IntervalHistograms::default())
                .collect(),
            pending: BTreeMap::new(),
            workers: vec![WorkerState::default(); workers],
            last_offset_ns: 0,
            emptied,
            drained: Vec::new(),
            run: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Runs until every worker has ended; each sample goes to `sampled`.
    ///
    /// # Errors
    /// When a histogram cannot be encoded.
    pub fn aggregate(
        mut self,
        reports: &Receiver<WorkerMessage>,
        sampled: &mut dyn FnMut(Sample),
    ) -> Result<AggregatedLoad, WriteError> {
        while self.ends.len() < self.workers.len() {
            // The channel closes early only when a worker died; its result is then missing.
            let Ok(report) = reports.recv() else { break };
            match report {
                WorkerMessage::ConnectionsOpened(_) => {}
                WorkerMessage::Table { worker, table } => self.add_table(worker, table),
                WorkerMessage::Tick(tick) => {
                    self.tick(&tick);
                    self.emit(sampled)?;
                }
                WorkerMessage::Ended(end) => {
                    self.ended(*end);
                    self.emit(sampled)?;
                }
            }
        }
        let names = self.names();
        self.logs.close_before(u32::MAX, &names)?;
        Ok(AggregatedLoad {
            logs: self.logs,
            names,
            ends: self.ends,
        })
    }

    /// Records the end of a worker.
    pub fn ended(&mut self, end: WorkerEnd) {
        self.workers[end.worker].ended = true;
        self.ends.push(end);
    }

    fn add_table(&mut self, worker: usize, mut table: HistogramTable) {
        table.drain_sorted(&mut self.drained);
        // Fails only when the worker has ended and needs no more tables.
        let _ = self.emptied[worker].send(table);
        let histograms = &mut self.since_tick[worker];
        for of_series in self.drained.chunk_by(|a, b| a.0 == b.0) {
            let series = of_series[0].0;
            self.run.clear();
            self.run
                .extend(of_series.iter().map(|&(_, bucket, count)| (bucket, count)));
            match series.quantity {
                Quantity::Latency | Quantity::LatencyOnly => {
                    histograms.latency.add_sorted(&self.run)
                }
                Quantity::Lateness => histograms.lateness.add_sorted(&self.run),
                Quantity::EndToEnd => histograms.end_to_end.add_sorted(&self.run),
                _ => {}
            }
            if series.phase == Phase::Window {
                let as_a = |quantity| Series { quantity, ..series };
                match series.quantity {
                    Quantity::LatencyOnly => {
                        self.logs.add(as_a(Quantity::Latency), &self.run);
                    }
                    // Released on time.
                    Quantity::Latency => {
                        self.logs.add(series, &self.run);
                        self.logs.add(as_a(Quantity::Response), &self.run);
                    }
                    Quantity::ServiceMultiRead => {
                        self.logs.add(as_a(Quantity::Service), &self.run);
                    }
                    // Read in one piece: first and last byte arrived together. An error may have had no byte at all.
                    Quantity::Service if is_right(series.class) => {
                        self.logs.add(series, &self.run);
                        self.logs.add(as_a(Quantity::FirstByte), &self.run);
                    }
                    _ => self.logs.add(series, &self.run),
                }
            }
        }
    }

    fn tick(&mut self, tick: &Tick) {
        let state = &mut self.workers[tick.worker];
        let histograms = std::mem::take(&mut self.since_tick[tick.worker]);
        let pending = self.pending.entry(tick.number).or_default();
        pending.histograms.add(&histograms);
        if let Some(records) = tick.records {
            let sum = pending.records.get_or_insert_default();
            sum.total += records.total - state.records.total;
            sum.bytes_total += records.bytes_total - state.records.bytes_total;
            state.records = records;
        }
        if let Some(backlog) = tick.backlog {
            *pending.backlog.get_or_insert(0) += backlog;
        }
        pending.stages += tick.all - state.all;
        pending.end_offset_ns = pending.end_offset_ns.max(tick.end_offset_ns);
        pending.in_flight += tick.in_flight;
        pending.open += tick.open;
        state.all = tick.all;
        state.ticks = tick.number + 1;
    }

    /// Emits the samples that every running worker has reported.
    fn emit(&mut self, sampled: &mut dyn FnMut(Sample)) -> Result<(), WriteError> {
        while let Some(entry) = self.pending.first_entry() {
            let number = *entry.key();
            if !self.workers.iter().all(|w| w.ended || w.ticks > number) {
                return Ok(());
            }
            let pending = entry.remove();
            let sample = self.sample(&pending);
            self.last_offset_ns = pending.end_offset_ns;
            sampled(sample);
            let past = Duration::from_nanos(self.last_offset_ns).saturating_sub(self.horizon);
            let names = self.names();
            self.logs.close_before(past.as_secs() as u32, &names)?;
        }
        Ok(())
    }

    fn sample(&self, pending: &Pending) -> Sample {
        let Pending {
            histograms, stages, ..
        } = pending;
        Sample {
            offset_ns: pending.end_offset_ns,
            length_ns: pending.end_offset_ns.saturating_sub(self.last_offset_ns),
            intended: stages.intended,
            released: stages.released,
            ok: stages.ok,
            errors: stages.errors,
            never_sent: stages.never_sent,
            latency_p50_ns: histograms.latency.quantile_ns(0.5),
            latency_p99_ns: histograms.latency.quantile_ns(0.99),
            latency_max_ns: histograms.latency.max_ns(),
            lateness_p99_ns: histograms.lateness.quantile_ns(0.99),
            in_flight: pending.in_flight,
            connections: pending.open,
            records: pending.records.map(|records| RecordSample {
                count: records.total,
                bytes: records.bytes_total,
                consumer_lag: pending.backlog,
                end_to_end_p50_ns: histograms.end_to_end.quantile_ns(0.5),
                end_to_end_p99_ns: histograms.end_to_end.quantile_ns(0.99),
                end_to_end_max_ns: histograms.end_to_end.max_ns(),
            }),
        }
    }

    fn names(&self) -> SeriesNames {
        SeriesNames {
            classes: self.classes.seen(),
            ..self.names.clone()
        }
    }
}
