//! Messages of an agent: one JSON object per line, while it works and after.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::ClockOffset;

mod counts;

pub use counts::{CompletedCounts, ConnectionCounts, GeneratorCounts, RecordCounts, RequestCount};

/// A message of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum AgentMessage {
    /// First message: identifies the agent.
    Hello {
        /// [`crate::FORMAT_VERSION`] of the agent.
        version: u32,
        /// Process id.
        pid: u32,
    },
    /// Connections are open and the schedule is ready; the agent waits for the start.
    Ready {
        /// Open connections.
        connections: u32,
        /// Start of the warm-up, µs since the epoch.
        start_unix_us: u64,
    },
    /// Counts since the last sample.
    Sample(Sample),
    /// Last message: the result, complete or interrupted.
    Result(Box<LoadResult>),
    /// The load could not run.
    Failed {
        /// Error, with the next step.
        error: String,
    },
}

/// A sample of a running load. Exchanges count by their end.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// End of the sample, since the start of the warm-up.
    pub offset_ns: u64,
    /// Length of the sample.
    pub length_ns: u64,
    /// Exchanges intended in the sample.
    pub intended: u64,
    /// Exchanges released in the sample.
    pub released: u64,
    /// Successful exchanges.
    pub ok: u64,
    /// Failed exchanges.
    pub errors: u64,
    /// Exchanges that the schedule intended and that were never sent.
    #[serde(default)]
    pub never_sent: u64,
    /// Median `latency` of the exchanges that ended in the sample.
    pub latency_p50_ns: Option<u64>,
    /// 99th percentile of `latency`.
    pub latency_p99_ns: Option<u64>,
    /// Maximum of `latency`.
    pub latency_max_ns: Option<u64>,
    /// 99th percentile of `lateness`.
    pub lateness_p99_ns: Option<u64>,
    /// Exchanges in flight at the end of the sample.
    pub in_flight: u64,
    /// Connections open at the end of the sample.
    pub connections: u32,
    /// Records, for protocols whose exchanges carry many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordSample>,
}

/// Records of one sample, by time of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordSample {
    /// Number of records.
    pub count: u64,
    /// Bytes of the records; see [`RecordCounts`] for which.
    pub bytes: u64,
    /// Consumer lag: records that were available and not yet read at the end of the sample; `None`: unknown.
    pub consumer_lag: Option<u64>,
    /// End-to-end latency (intended sending to arrival), median; `None` where records have no timestamp.
    pub end_to_end_p50_ns: Option<u64>,
    /// End-to-end latency, 99th percentile.
    pub end_to_end_p99_ns: Option<u64>,
    /// End-to-end latency, maximum.
    pub end_to_end_max_ns: Option<u64>,
}

/// Result of one agent. Counts are of exchanges intended in the window, unless a field says otherwise. Of these each is in one of
/// `ok`, `errors`, `unfinished` and `never_sent`: `intended` is their sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// [`crate::FORMAT_VERSION`] of the agent.
    pub version: u32,
    /// Role of the agent.
    pub role: String,
    /// How the load ended.
    pub ended: LoadEnd,
    /// Why the load was aborted, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_reason: Option<String>,
    /// Start of the window, µs since the epoch, by the conductor's clock.
    pub window_start_unix_us: u64,
    /// Clock of the agent's host, where that is not the conductor's; measured before the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockOffset>,
    /// Actual length of the window.
    pub window_ns: u64,
    /// Offered rate; `None` where there is none: closed loops, maximum rate, sessions (whose rate is not one of requests).
    pub offered_per_s: Option<f64>,
    /// Exchanges intended in the window: those that the schedule has in the time that ran; in a closed loop those begun. Of sessions:
    /// the requests that were made, and one for each session that never began.
    pub intended: u64,
    /// Of these, released before the drain ended.
    pub released: u64,
    /// Of these, sent.
    pub sent: u64,
    /// Of these, successful: answered as expected.
    pub ok: u64,
    /// Of these, failed: an unexpected response, refused or cut off.
    pub errors: u64,
    /// Of these, unfinished: not answered when the drain ended.
    pub unfinished: u64,
    /// Of these, never sent: the queue of waiting starts was full, or the load was aborted before their turn. They are failures, with
    /// their timeout, or their age when the load ended, as a lower bound of their latency.
    #[serde(default)]
    pub never_sent: u64,
    /// Responses that arrived in the window, whenever their exchange was intended.
    #[serde(default)]
    pub completed_in_window: CompletedCounts,
    /// Successful exchanges by status, in order of status; empty for protocols without one.
    #[serde(default)]
    pub ok_by_status: Vec<StatusCount>,
    /// Responses that sent the client elsewhere, which are not followed; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Redirects>,
    /// Of those never sent, the starts dropped because the queue of waiting starts was full: the offered rate was not reached.
    pub overflow: u64,
    /// Sessions, for a load of sessions; the counts above are then of the requests within them.
    #[serde(default)]
    pub sessions: Option<SessionCounts>,
    /// Records read, for protocols whose exchanges carry many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordCounts>,
    /// Records written or read in the window, for protocols of records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<RecordFlow>,
    /// Counts by request and outcome.
    pub outcomes: Vec<OutcomeCount>,
    /// Errors of connections that belong to no exchange (unrequested bytes); `request` is empty.
    #[serde(default)]
    pub connection_errors: Vec<OutcomeCount>,
    /// Failed attempts to connect, by address and class; further ones are in `connections.failed` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_addresses: Vec<FailedAddress>,
    /// Requests sent over the whole load, warm-up and drain included: what a proxy must have counted.
    pub requests_sent_total: u64,
    /// Of these, those that may not have arrived, because the protocol does not repeat what the network loses.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests_lost_total: u64,
    /// The same by request, with the successful ones: calls behind requests are checked against these.
    #[serde(default)]
    pub by_request: BTreeMap<String, RequestCount>,
    /// Connections over the whole load.
    pub connections: ConnectionCounts,
    /// Counters of the protocol, on all connections over the whole load, by name: frames of a kind, resets, retried exchanges.
    /// Empty for protocols without counters.
    #[serde(default)]
    pub protocol_counts: BTreeMap<String, u64>,
    /// Numbered records that were acknowledged over the whole load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged: Vec<Acknowledged>,
    /// Negotiated TLS parameters, with handshake counts; empty over plain TCP.
    #[serde(default)]
    pub tls: Vec<TlsCount>,
    /// Handshakes in which the server requested a certificate and got one.
    #[serde(default)]
    pub client_certificates: u64,
    /// Request bytes written, as on the wire.
    pub bytes_sent: u64,
    /// Response bytes read, as on the wire.
    pub bytes_received: u64,
    /// Queue wait of released exchanges, by cause.
    pub queue_waits: Vec<WaitCount>,
    /// Error and cost of the generator.
    pub generator: GeneratorStats,
    /// Histograms of `latency`, `response` and `service` by request (and error class), as an HdrHistogram log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub latency_hlog: String,
    /// Histograms of `lateness`, `receive-lag` and `queue-wait`, as an HdrHistogram log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lateness_hlog: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl LoadResult {
    /// Exchanges that were never sent. Earlier versions wrote only those that found the queue full.
    #[must_use]
    pub fn never_sent(&self) -> u64 {
        self.never_sent.max(self.overflow)
    }

    /// Exchanges that did not succeed: failed, unfinished or never sent.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.errors + self.unfinished + self.never_sent()
    }

    /// All exchanges, however they ended.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.ok + self.failed()
    }

    /// Share of the exchanges that did not succeed; `None` without any.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        let all = self.exchanges();
        (all > 0).then(|| self.failed() as f64 / all as f64)
    }

    /// The result without its histograms.
    #[must_use]
    pub fn without_logs(self) -> Self {
        LoadResult {
            latency_hlog: String::new(),
            lateness_hlog: String::new(),
            ..self
        }
    }
}

/// Acknowledged records of one writer in one partition, by record number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledged {
    /// Topic.
    pub topic: String,
    /// Partition of it.
    pub partition: i32,
    /// Number of the writer in the run.
    pub writer: u32,
    /// Ranges of numbers as `[first, count]`, in order.
    pub ranges: Vec<[u64; 2]>,
}

/// Sessions intended in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionCounts {
    /// Sessions that the schedule intended.
    pub intended: u64,
    /// Of these, started.
    pub started: u64,
    /// Of these, completed without a failed request.
    pub completed: u64,
    /// Of these, with a failed request.
    pub failed: u64,
    /// Of these, still in progress when the drain ended.
    pub unfinished: u64,
    /// Starts dropped because too many sessions were in progress.
    pub overflow: u64,
    /// Of the intended ones, never started: dropped, or the load was aborted before their turn.
    #[serde(default)]
    pub never_started: u64,
    /// Sessions that ended in the window, whenever they started: the session rate is computed from these.
    pub ended_in_window: u64,
}

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadEnd {
    /// By its stop condition.
    Completed,
    /// By a signal.
    Interrupted,
    /// Aborted because it could not go on (a consumer group that does not form); the result covers the time until then.
    Aborted,
}

/// Source of an error.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorSource {
    /// No error: the exchange succeeded.
    None,
    /// The software under test: an unexpected response.
    Target,
    /// The peer: it refused or cut the connection.
    Peer,
    /// The load generator.
    Client,
    /// The machine.
    Environment,
    /// The network between: no route, no address.
    Network,
    /// A limit of the generator or of its machine: file descriptors, local ports, bytes that it keeps of an answer.
    OwnLimit,
    /// What was asked for: a template, data, an address that is not allowed.
    Configuration,
    /// A quota of the target: it refuses more than it grants (status 429, RESOURCE_EXHAUSTED, throttling).
    Quota,
}

impl ErrorSource {
    /// Whose error it is, as words behind "of" and "by"; `None` for no error.
    #[must_use]
    pub fn whose(self) -> Option<&'static str> {
        match self {
            ErrorSource::None => None,
            ErrorSource::Target => Some("the target"),
            ErrorSource::Peer => Some("the peer"),
            ErrorSource::Client => Some("the client"),
            ErrorSource::Environment => Some("the environment"),
            ErrorSource::Network => Some("the network"),
            ErrorSource::OwnLimit => Some("a limit of the generator"),
            ErrorSource::Configuration => Some("the configuration"),
            ErrorSource::Quota => Some("a quota of the target"),
        }
    }
}

/// Successful exchanges with one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// The status.
    pub status: u16,
    /// Number of exchanges.
    pub count: u64,
}

/// Failed attempts to connect to one address, of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedAddress {
    /// Address with port.
    pub address: SocketAddr,
    /// Error class.
    pub class: String,
    /// Source of the error.
    pub error_source: ErrorSource,
    /// Number of attempts.
    pub count: u64,
    /// Error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// Responses that sent the client elsewhere. They are not followed: they are responses like any other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redirects {
    /// Number of exchanges, successful and failed.
    pub count: u64,
    /// `Location` of the first one seen; `None` if it had none.
    pub location: Option<String>,
}

impl Redirects {
    /// The statuses.
    pub const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];
}

/// Whether an error class is one of exchanges without an answer: not within their timeout, not before the end of the drain, held back
/// by a quota until then, or never sent. Their latency is a lower bound; that of other errors is not in the latency of a load.
#[must_use]
pub fn is_unanswered_class(class: &str) -> bool {
    ["timeout", "unfinished", "throttled", "never-sent"].contains(&class)
}

/// Whether the last word of a histogram tag is a status class (`3xx`): successful exchanges with a status other than 2xx. Any
/// other last word is an error class.
#[must_use]
pub fn is_status_class(word: &str) -> bool {
    matches!(word.as_bytes(), [b'1'..=b'9', b'x', b'x'])
}

/// Exchanges of one request with one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeCount {
    /// Name of the request.
    pub request: String,
    /// `ok`, or the error class (`status-503`, `wrong-body`, `timeout`, `reset`, …).
    pub class: String,
    /// Source of the error.
    pub error_source: ErrorSource,
    /// Number of exchanges.
    pub count: u64,
    /// An example, as a text for people.
    pub example: Option<String>,
}

/// Negotiated parameters of a TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NegotiatedTls {
    /// Version: `1.2` or `1.3`.
    pub version: String,
    /// Cipher suite by its IANA name.
    pub suite: String,
    /// Key exchange group; `None` for a session resumed without one.
    pub group: Option<String>,
    /// Protocol that the server selected (ALPN).
    pub alpn: Option<String>,
    /// SHA-256 of the server's certificate, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// What is unusual about that certificate, and what of the handshake was not verified for it; `None` for most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusual: Option<String>,
}

/// Kind of a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandshakeKind {
    /// Full handshake, with certificates.
    Full,
    /// Resumption of an earlier session.
    Resumed,
}

/// Handshakes with the same negotiated parameters, over the whole load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsCount {
    /// Negotiated parameters.
    #[serde(flatten)]
    pub seen: NegotiatedTls,
    /// Full handshakes.
    pub full: u64,
    /// Resumed handshakes.
    pub resumed: u64,
}

/// Exchanges that waited between release and first byte, by cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCount {
    /// Cause: `connection`, `stream`, `window`, `linger`, `socket-buffer` or `quota`.
    pub cause: String,
    /// Number of exchanges that waited.
    pub count: u64,
    /// Sum of their waits.
    pub total_ns: u64,
}

/// Error and cost of the load generator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorStats {
    /// Lateness: release − intended start.
    pub lateness: QuantileSummary,
    /// Receive lag: reading − arrival.
    pub receive_lag: QuantileSummary,
    /// CPU time of the agent process within the window.
    pub cpu_ns: u64,
    /// CPU time of each worker thread within the window.
    pub worker_cpu_ns: Vec<u64>,
    /// Of that, spent spinning before starts, by worker.
    pub worker_spun_ns: Vec<u64>,
    /// Scheduling of the workers; the lowest precedence where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sched_policy: Option<SchedPolicy>,
    /// Bunched starts: released later than the larger of the mean gap and 250 µs, so that several left in one burst after a late
    /// wake-up. `None` without a schedule: closed loops, maximum rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bunched: Option<u64>,
    /// Peak resident memory of the agent, bytes.
    pub peak_rss_bytes: u64,
    /// Counters of its workers.
    #[serde(flatten)]
    pub counts: GeneratorCounts,
    /// Steps of the realtime clock against the monotonic one that were detected and corrected.
    pub clock_steps: u64,
    /// Calibration of the same generator against a null server, before the load; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<GeneratorCalibration>,
}

/// Kernel scheduling of a worker.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum SchedPolicy {
    /// `SCHED_FIFO`, priority 1: ahead of every normal process on its core.
    Fifo,
    /// `SCHED_OTHER`.
    Normal {
        /// Nice value: −10 where that is permitted, unless it was set before.
        niceness: i32,
    },
}

impl std::fmt::Display for SchedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SchedPolicy::Fifo => f.write_str("SCHED_FIFO 1"),
            SchedPolicy::Normal { niceness } => write!(f, "niceness {niceness}"),
        }
    }
}

/// Calibration: a short load on a null server in the same process, which leaves the cost of the generator, the kernel and the
/// loopback interface.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorCalibration {
    /// Offered rate; `None`: a closed loop, or maximum rate.
    pub offered_per_s: Option<f64>,
    /// Responses per second.
    pub achieved_per_s: f64,
    /// Number of connections.
    pub connections: u32,
    /// Size of a request body.
    pub request_bytes: u64,
    /// Size of a response body.
    pub answer_bytes: u64,
    /// Latency: release to arrival.
    pub latency: QuantileSummary,
    /// Service time: send to arrival.
    pub service: QuantileSummary,
    /// CPU time of the workers per exchange.
    pub cpu_per_exchange_ns: Option<u64>,
    /// Whether every response had a kernel timestamp.
    pub kernel_timestamps: bool,
    /// Whether it was reused from an earlier load since boot.
    pub kept: bool,
}

/// Quantiles of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct QuantileSummary {
    /// Number of observations.
    pub count: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Maximum.
    pub max_ns: Option<u64>,
}

/// Records that one agent wrote or read within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordFlow {
    /// Direction of the flow.
    pub direction: RecordDirection,
    /// Number of records: acknowledged when written, arrived when read.
    pub count: u64,
    /// Bytes of keys and values, or of whole batches where a consumer does not decode them; `None`: unknown.
    pub bytes: Option<u64>,
    /// Of these, records with a negative end-to-end latency, see [`RecordCounts`]; `None` for produced ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_end_to_end: Option<u64>,
}

/// Direction of a record flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordDirection {
    /// Written by the agent (a producer).
    Produced,
    /// Read by the agent (a consumer).
    Consumed,
}
