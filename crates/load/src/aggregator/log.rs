//! Histogram logs of a load: one interval per second of intended starts and series, encoded when the second is past.

use std::collections::BTreeMap;
use std::time::Duration;

use tare_record::agent::is_unanswered_class;
use tare_stats::hlog::{WriteError, Writer};
use tare_stats::{Latencies, Range, SparseHistogram};

use super::sparse::SparseCounts;
use crate::classes::{BEFORE, SeenClass, status_digit};
use crate::client::WaitCause;
use crate::tally::{Phase, Quantity, Series, value_of};

/// Which log a series goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// `latency`, `response`, `service`, `first-byte` …, and of connections `connect` and `handshake`.
    Latency,
    /// Generator error, `lateness` and receive lag, and queue wait.
    Lateness,
}

impl Log {
    /// The log of a quantity.
    #[must_use]
    pub fn of(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Lateness | Quantity::Lag | Quantity::Wait => Log::Lateness,
            _ => Log::Latency,
        }
    }
}

/// Names of request and class numbers.
#[derive(Debug, Clone)]
pub struct SeriesNames {
    pub(super) role: String,
    pub(super) requests: Vec<String>,
    pub(super) classes: Vec<SeenClass>,
}

impl SeriesNames {
    #[must_use]
    pub fn request(&self, number: u16) -> &str {
        self.requests
            .get(usize::from(number))
            .map_or("unknown", String::as_str)
    }

    /// A class by its number; `None` for correct responses.
    #[must_use]
    pub fn class(&self, number: u8) -> Option<&SeenClass> {
        self.classes.get(usize::from(number).checked_sub(1)?)
    }

    #[must_use]
    pub fn tag(&self, series: &Series) -> String {
        let role = &self.role;
        let word = match series.quantity {
            Quantity::Latency | Quantity::LatencyOnly => "latency",
            Quantity::Response => "response",
            Quantity::Service | Quantity::ServiceMultiRead => "service",
            Quantity::FirstByte => "first-byte",
            Quantity::EndToEnd => "end-to-end",
            Quantity::Age => "timestamp-age",
            Quantity::Connect => return of_connection(role, "connect", series.class),
            Quantity::Handshake => return of_connection(role, "handshake", series.class),
            Quantity::Lateness => return format!("{role}.lateness"),
            Quantity::Lag => return format!("{role}.receive-lag"),
            Quantity::Wait => {
                let cause = WaitCause::ALL[usize::from(series.class) % WaitCause::ALL.len()];
                return format!("{role}.queue-wait.{}", cause.name());
            }
        };
        let request = self.request(series.request);
        match (self.class(series.class), status_digit(series.class)) {
            (Some(seen), _) => format!("{role}.{request}.{word}.{}", seen.class),
            (None, Some(digit)) => format!("{role}.{request}.{word}.{digit}xx"),
            (None, None) => format!("{role}.{request}.{word}"),
        }
    }

    /// Whether the observations of a series are of exchanges without an answer: lower bounds.
    fn is_censored(&self, series: &Series) -> bool {
        let of_exchange = matches!(
            series.quantity,
            Quantity::Latency
                | Quantity::LatencyOnly
                | Quantity::Response
                | Quantity::Service
                | Quantity::ServiceMultiRead
        );
        let class = self.class(series.class);
        of_exchange && class.is_some_and(|seen| is_unanswered_class(seen.class.name))
    }
}

/// `<role>.connect`, or `<role>.connect.setup` for attempts begun before the window.
fn of_connection(role: &str, word: &str, class: u8) -> String {
    match class {
        BEFORE => format!("{role}.{word}.setup"),
        _ => format!("{role}.{word}"),
    }
}

/// Builds both logs.
#[derive(Debug)]
pub struct HistogramLogs {
    /// Seconds that may still get observations.
    open: BTreeMap<Series, SparseCounts>,
    /// Encoded lines by second.
    lines: [BTreeMap<u32, Vec<u8>>; 2],
    /// Without empty buckets: there is one for each request, outcome and quantity.
    totals: BTreeMap<Series, SparseCounts>,
    scratch: Latencies,
}

impl HistogramLogs {
    /// Empty logs.
    ///
    /// # Errors
    /// Never with the range of this crate.
    pub fn new() -> Result<Self, tare_stats::LatenciesError> {
        Ok(Self {
            open: BTreeMap::new(),
            lines: [BTreeMap::new(), BTreeMap::new()],
            totals: BTreeMap::new(),
            scratch: Latencies::new(Range::default())?,
        })
    }

    /// Adds observations of one series of the window.
    pub fn add(&mut self, series: Series, counts: &[(u16, u64)]) {
        self.open.entry(series).or_default().add_sorted(counts);
    }

    /// Encodes the seconds before this one. Later observations of them are encoded as further lines, which readers add up.
    ///
    /// # Errors
    /// When a histogram cannot be encoded.
    pub fn close_before(&mut self, second: u32, names: &SeriesNames) -> Result<(), WriteError> {
        while let Some(entry) = self.open.first_entry() {
            if entry.key().second >= second {
                return Ok(());
            }
            let (series, sparse) = entry.remove_entry();
            self.encode(series, &sparse, names)?;
        }
        Ok(())
    }

    /// Sums over all seconds of each series, once every second is encoded; their `second` is 0.
    pub fn totals(&self, names: &SeriesNames) -> BTreeMap<Series, SparseHistogram> {
        let mut scratch = self.scratch.clone();
        let each = self.totals.iter().map(|(series, counts)| {
            scratch.clear();
            record(&mut scratch, counts, names.is_censored(series));
            (*series, scratch.sparse())
        });
        each.collect()
    }

    /// A whole log, once every second is encoded. `started` is the start of the load since the epoch.
    ///
    /// # Errors
    /// When the header cannot be written.
    pub fn text(&self, log: Log, started: Duration, comment: &str) -> Result<String, WriteError> {
        let mut text = Writer::begin(Vec::new(), started, &[comment])?.finish()?;
        for lines in self.lines[log as usize].values() {
            text.extend_from_slice(lines);
        }
        // Tags, numbers and base64 only.
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn encode(
        &mut self,
        series: Series,
        sparse: &SparseCounts,
        names: &SeriesNames,
    ) -> Result<(), WriteError> {
        let is_censored = names.is_censored(&series);
        self.scratch.clear();
        record(&mut self.scratch, sparse, is_censored);
        let of_total = Series {
            second: 0,
            phase: Phase::Window,
            ..series
        };
        let total = self.totals.entry(of_total).or_default();
        total.add_sorted(sparse.counts());
        let mut writer = Writer::begin(Vec::new(), Duration::ZERO, &[])?;
        let start = Duration::from_secs(series.second.into());
        writer.interval(
            &names.tag(&series),
            start,
            Duration::from_secs(1),
            &self.scratch,
        )?;
        let whole = writer.finish()?;
        let header = Writer::begin(Vec::new(), Duration::ZERO, &[])?
            .finish()?
            .len();
        self.lines[Log::of(series.quantity) as usize]
            .entry(series.second)
            .or_default()
            .extend_from_slice(&whole[header..]);
        Ok(())
    }
}

fn record(into: &mut Latencies, sparse: &SparseCounts, is_censored: bool) {
    for &(bucket, count) in sparse.counts() {
        let value_ns = value_of(bucket);
        match is_censored {
            false => into.record_many(value_ns, count),
            true => into.record_many_unfinished(value_ns, count),
        }
    }
}
