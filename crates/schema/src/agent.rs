//! What an agent writes while and after it works: one JSON message a line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod flow;

pub use flow::{RecordFlow, RecordWay};

/// One line of an agent's stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum AgentMessage {
    /// First line: who speaks.
    Hello {
        /// [`crate::FORMAT_VERSION`] of the agent.
        version: u32,
        /// Its process id.
        pid: u32,
    },
    /// Connections are open, the schedule stands; waits for the start.
    Ready {
        /// Connections open.
        connections: u32,
        /// When the warm-up will start (or started), µs since the epoch.
        start_unix_us: u64,
    },
    /// What happened since the last sample.
    Sample(Sample),
    /// The end, good or interrupted.
    Result(Box<LoadResult>),
    /// The load could not be run at all.
    Failed {
        /// Why, with the next step.
        error: String,
    },
}

/// One sample of a running load, by the time an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// End of the sample since the start of the warm-up.
    pub offset_ns: u64,
    /// Length of the sample.
    pub length_ns: u64,
    /// Exchanges intended in it.
    pub intended: u64,
    /// Exchanges released in it.
    pub released: u64,
    /// Right answers in it.
    pub right: u64,
    /// Wrong or missing answers in it.
    pub errors: u64,
    /// `latency` of those that ended in it, median.
    pub latency_p50_ns: Option<u64>,
    /// `latency`, 99th percentile.
    pub latency_p99_ns: Option<u64>,
    /// `latency`, maximum.
    pub latency_max_ns: Option<u64>,
    /// `lateness`, 99th percentile.
    pub lateness_p99_ns: Option<u64>,
    /// Exchanges under way at its end.
    pub in_flight: u64,
    /// Connections open at its end.
    pub connections: u32,
    /// Of a protocol whose exchanges carry many records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordSample>,
}

/// The records of one sample, by the time they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordSample {
    /// How many.
    pub count: u64,
    /// Their bytes, as far as the load looks at them: see [`RecordCounts`].
    pub bytes: u64,
    /// Records that were there and had not been read when it ended; `None` where that is not known.
    pub backlog: Option<u64>,
    /// From their intended sending to their arrival, median; `None` where records do not say when that was.
    pub end_to_end_p50_ns: Option<u64>,
    /// The same, 99th percentile.
    pub end_to_end_p99_ns: Option<u64>,
    /// The same, maximum.
    pub end_to_end_max_ns: Option<u64>,
}

/// Records carried by the exchanges of a load, by the time they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordCounts {
    /// Within the window.
    pub in_window: u64,
    /// From the first to the last byte of the load.
    pub total: u64,
    /// Bytes of those of the window: of keys and values where the load looks at each record, else of whole batches as they came.
    pub bytes_in_window: u64,
    /// The same of all.
    pub bytes_total: u64,
    /// From the start of the window to the last one's arrival in it.
    pub last_arrival_ns: u64,
    /// Ages of all that would be below zero: a record's time lies behind its arrival, so the clocks differ, or one was set. No histogram
    /// has them.
    #[serde(default)]
    pub negative_ages: u64,
}

/// What one agent measured, over the window unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// [`crate::FORMAT_VERSION`] of the agent.
    pub version: u32,
    /// Role of the agent.
    pub role: String,
    /// How the load ended.
    pub ended: Ended,
    /// Why it could not go on, if it broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke_off: Option<String>,
    /// Start of the window, µs since the epoch.
    pub window_start_unix_us: u64,
    /// Length of the window as it was.
    pub window_ns: u64,
    /// Rate asked for; `None` where there is none: a closed loop, full speed, sessions (their rate is none of requests).
    pub offered_per_s: Option<f64>,
    /// Exchanges intended in the window.
    pub intended: u64,
    /// Of those, released by our loop before the drain ended.
    pub released: u64,
    /// Of those, sent.
    pub sent: u64,
    /// Of those, answered rightly.
    pub right: u64,
    /// Of those, answered wrongly, refused or cut off.
    pub errors: u64,
    /// Of those, unanswered when the drain ended.
    pub unfinished: u64,
    /// Answers that arrived in the window, whenever their exchange was intended.
    #[serde(default)]
    pub answered_in_window: Answered,
    /// Right answers intended within the window, in the order of their statuses; empty for a protocol without one.
    #[serde(default)]
    pub right_by_status: Vec<StatusCount>,
    /// Arrivals that found the queue of waiting arrivals full: offered rate not reached.
    pub overflow: u64,
    /// Sessions, if the load was one of sessions: what is counted above are then the requests within them.
    #[serde(default)]
    pub sessions: Option<SessionCounts>,
    /// Records that were read, if its exchanges carry many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordCounts>,
    /// Records that were written or read in the window, where exchanges are about records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<RecordFlow>,
    /// Counts per request and outcome.
    pub outcomes: Vec<OutcomeCount>,
    /// Faults of connections that no exchange is blamed with (bytes nobody asked for); `request` is empty.
    #[serde(default)]
    pub connection_faults: Vec<OutcomeCount>,
    /// Requests written to the kernel from first to last byte of the load, warm-up and drain included: what a proxy must have seen.
    pub requests_sent_total: u64,
    /// The same by name of the request, and how many of them were answered rightly: what the calls behind them are counted against.
    #[serde(default)]
    pub by_request: BTreeMap<String, RequestCount>,
    /// Connections opened from first to last byte of the load.
    pub connections: ConnectionCounts,
    /// What the protocol counts of its own on all connections from first to last byte of the load, by name: frames of a kind, resets,
    /// exchanges sent again. Empty for one that counts nothing.
    #[serde(default)]
    pub protocol_counts: BTreeMap<String, u64>,
    /// Which records were acknowledged from first to last byte of the load, where they are numbered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged: Vec<Acknowledged>,
    /// What was agreed on over TLS, and how often; empty over plain TCP.
    #[serde(default)]
    pub tls: Vec<TlsCount>,
    /// Handshakes in which the server asked for a certificate and was shown ours.
    #[serde(default)]
    pub client_certificates: u64,
    /// Request bytes written, as they went over the wire.
    pub bytes_sent: u64,
    /// Answer bytes read, as they came over the wire.
    pub bytes_received: u64,
    /// Why released exchanges waited for their first byte.
    pub waits: Vec<WaitCount>,
    /// Our own error and cost.
    pub instrument: Instrument,
    /// `latency`, `response` and `service` per request (and error class) as an HdrHistogram log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub latency_hlog: String,
    /// `lateness`, `lag` and `wait` as an HdrHistogram log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lateness_hlog: String,
}

impl LoadResult {
    /// The same without its histograms.
    #[must_use]
    pub fn without_logs(self) -> Self {
        LoadResult {
            latency_hlog: String::new(),
            lateness_hlog: String::new(),
            ..self
        }
    }
}

/// Records that one writer had acknowledged in one partition, by the numbers in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledged {
    /// Topic.
    pub topic: String,
    /// Partition of it.
    pub partition: i32,
    /// Number of the writer in the run.
    pub writer: u32,
    /// First number and how many, in order.
    pub ranges: Vec<[u64; 2]>,
}

/// Exchanges with one request, from first to last byte of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RequestCount {
    /// Written to the kernel.
    pub sent: u64,
    /// Of those, answered rightly.
    pub right: u64,
}

/// Answers by when they arrived, not by when their exchange was intended: rates and costs of a window are per what was done
/// within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Right ones.
    pub right: u64,
    /// Wrong, refused or cut off.
    pub errors: u64,
}

/// Sessions intended within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionCounts {
    /// By the schedule.
    pub intended: u64,
    /// Of those, started.
    pub started: u64,
    /// Of those, gone through without a wrong answer.
    pub completed: u64,
    /// Of those, with a wrong answer.
    pub failed: u64,
    /// Of those, still under way when the drain ended.
    pub unfinished: u64,
    /// Arrivals that found too many sessions under way.
    pub overflow: u64,
    /// Sessions that ended within the window, whenever they started: what its rate is made of.
    pub ended_in_window: u64,
}

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// As its stop rule said.
    Completed,
    /// By a signal.
    Interrupted,
    /// It could not go on, as without a consumer group that takes its members: what was measured until then is there.
    BrokeOff,
}

/// Whose fault an outcome is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Nobody's: the answer was right.
    None,
    /// The software under test answered wrongly.
    Target,
    /// The other end of the connection refused or cut it.
    Peer,
    /// Us.
    Client,
    /// The machine: no descriptors, no ports, no route.
    Environment,
}

/// Right answers with one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// The status.
    pub status: u16,
    /// How many.
    pub count: u64,
}

/// Whether the last word of a histogram's tag is the class of a status, `3xx`: its answers are right ones, whose status is not 2xx.
/// Those of another last word are errors.
#[must_use]
pub fn is_status_class(word: &str) -> bool {
    matches!(word.as_bytes(), [b'1'..=b'9', b'x', b'x'])
}

/// How many exchanges of one request ended in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeCount {
    /// Name of the request.
    pub request: String,
    /// `right`, or the error class (`status-503`, `wrong-body`, `timeout`, `reset`, …).
    pub class: String,
    /// Whose fault it is.
    pub fault: Fault,
    /// How many.
    pub count: u64,
    /// One example in words, for people.
    pub example: Option<String>,
}

/// Connections over the whole life of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionCounts {
    /// Opened with success.
    pub opened: u64,
    /// Of those, opened again after a connection was lost or closed.
    pub reconnects: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Most open at once.
    pub peak: u32,
}

/// What two sides agreed on in a TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSeen {
    /// Version: `1.2` or `1.3`.
    pub version: String,
    /// Cipher suite by its registered name.
    pub suite: String,
    /// Group of the key exchange; a session resumed without one has none.
    pub group: Option<String>,
    /// Protocol chosen by the server (ALPN), if it chose one.
    pub alpn: Option<String>,
    /// SHA-256 of the server's certificate, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// Whether a handshake resumed a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Handshaken {
    /// Certificates were shown and checked.
    Full,
    /// An earlier session was resumed.
    Resumed,
}

/// Handshakes with one result, over the whole life of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsCount {
    /// What was agreed on.
    #[serde(flatten)]
    pub seen: TlsSeen,
    /// Full handshakes.
    pub full: u64,
    /// Handshakes that resumed a session.
    pub resumed: u64,
}

/// Exchanges that waited between release and first byte for one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCount {
    /// `connection`, `stream`, `window`, `linger`, `socket-buffer`.
    pub cause: String,
    /// How many waited.
    pub count: u64,
    /// Their waits, added up.
    pub total_ns: u64,
}

/// The generator's own error and cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// `released − intended`.
    pub lateness: Spread,
    /// `seen − arrived`.
    pub lag: Spread,
    /// CPU of the whole agent process within the window.
    pub cpu_ns: u64,
    /// CPU of each worker thread within the window.
    pub worker_cpu_ns: Vec<u64>,
    /// Of that, spent spinning before starts.
    pub worker_spun_ns: Vec<u64>,
    /// How the kernel schedules the workers; the least of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Scheduled>,
    /// Arrivals of the window that were released later than the larger of their mean gap and 250 µs: behind a late wake-up they left in
    /// a burst, as no punctual client would have sent them. `None` where no schedule says when to start: a closed loop, full speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bunched: Option<u64>,
    /// Peak resident memory of the agent.
    pub peak_rss_bytes: u64,
    /// Answers stamped by the kernel.
    pub stamped_by_kernel: u64,
    /// Answers stamped by our own clock, because the kernel gave no stamp.
    pub stamped_by_us: u64,
    /// Of the kernel's stamps, those with other exchanges in flight on the connection: upper bounds.
    pub stamp_upper_bounds: u64,
    /// Steps of the realtime clock against the monotonic one that were seen and corrected.
    pub clock_steps: u64,
    /// Values beyond the histograms' range.
    pub out_of_range: u64,
    /// What the same generator found against a server that does nothing, before the load; `None` where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// How the kernel schedules a worker.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum Scheduled {
    /// `SCHED_FIFO`, priority 1: before every ordinary process on its core.
    Fifo,
    /// `SCHED_OTHER`.
    Normal {
        /// −10 where it may have that; what somebody chose stays.
        niceness: i32,
    },
}

impl std::fmt::Display for Scheduled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scheduled::Fifo => f.write_str("SCHED_FIFO 1"),
            Scheduled::Normal { niceness } => write!(f, "niceness {niceness}"),
        }
    }
}

/// A short load on a server in the same process that answers at once: what is left is the generator, the kernel and the
/// loopback.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Rate asked for; `None`: a closed loop, or as fast as possible.
    pub asked_per_s: Option<f64>,
    /// Answers a second.
    pub completed_per_s: f64,
    /// Connections.
    pub connections: u32,
    /// Bytes of a request's body.
    pub request_bytes: u64,
    /// Bytes of an answer's body.
    pub answer_bytes: u64,
    /// From the release to the answer.
    pub latency: Spread,
    /// From sending to the answer.
    pub service: Spread,
    /// CPU of the workers for an exchange.
    pub cpu_per_exchange_ns: Option<u64>,
    /// Whether the kernel stamped every answer.
    pub stamped_by_kernel: bool,
    /// Whether it was measured for this load or kept from an earlier one of this boot.
    pub kept: bool,
}

/// Quantiles of a quantity of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Observations.
    pub count: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Maximum.
    pub max_ns: Option<u64>,
}
