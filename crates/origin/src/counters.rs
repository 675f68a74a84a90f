//! Counters of the origin, and their Prometheus text.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tare_mongo::database::Operation;

const STATUSES: usize = 600;

/// Codes of gRPC, from OK to UNAUTHENTICATED.
const CALL_CODES: usize = 17;

/// A counter with one writer and any number of readers: no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0
            .store(self.get().wrapping_add(count), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One worker's counters. Requests for counters and control are counted in counters of their own only.
#[derive(Debug)]
pub(crate) struct Counters {
    requests: [Counter; STATUSES],
    pub malformed: Counter,
    pub control: Counter,
    /// Connections whose first request was for control.
    pub control_connections: Counter,
    pub accepted: Counter,
    pub closed: Counter,
    pub received_bytes: Counter,
    pub sent_bytes: Counter,
    /// Requests answered by a reset.
    pub resets: Counter,
    pub tcp_exchanges: Counter,
    /// Streams that the client reset.
    pub cancelled: Counter,
    /// gRPC calls by the code they ended with.
    calls: [Counter; CALL_CODES],
    /// Database operations by kind, and the failed ones of them.
    operations: [Counter; Operation::ALL.len()],
    failed_operations: [Counter; Operation::ALL.len()],
    pub handshakes: Counter,
    /// Handshakes that resumed a session.
    pub resumptions: Counter,
    pub handshake_failures: HandshakeFailures,
}

/// Why a TLS handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeFailure {
    /// The input is not TLS.
    NotTls,
    /// No version, cipher or group in common.
    NothingInCommon,
    /// No application protocol in common.
    Protocol,
    /// The client sent no certificate, though one is required.
    NoCertificate,
    /// The client's certificate is invalid.
    BadCertificate,
    /// The client sent an alert, for example because it does not trust the server's certificate.
    Alert,
    /// The client closed the connection.
    Closed,
    /// It timed out.
    Timeout,
    /// Anything else.
    Other,
}

const HANDSHAKE_FAILURES: [(HandshakeFailure, &str); 9] = [
    (HandshakeFailure::NotTls, "not-tls"),
    (HandshakeFailure::NothingInCommon, "nothing-in-common"),
    (HandshakeFailure::Protocol, "protocol"),
    (HandshakeFailure::NoCertificate, "no-certificate"),
    (HandshakeFailure::BadCertificate, "bad-certificate"),
    (HandshakeFailure::Alert, "alert"),
    (HandshakeFailure::Closed, "closed"),
    (HandshakeFailure::Timeout, "timeout"),
    (HandshakeFailure::Other, "other"),
];

/// Failed handshakes by class.
#[derive(Debug, Default)]
pub(crate) struct HandshakeFailures([Counter; HANDSHAKE_FAILURES.len()]);

impl HandshakeFailures {
    pub(crate) fn add(&self, failure: HandshakeFailure) {
        self.0[failure as usize].add(1);
    }
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            requests: [const { Counter(AtomicU64::new(0)) }; STATUSES],
            malformed: Counter::default(),
            control: Counter::default(),
            control_connections: Counter::default(),
            accepted: Counter::default(),
            closed: Counter::default(),
            received_bytes: Counter::default(),
            sent_bytes: Counter::default(),
            resets: Counter::default(),
            tcp_exchanges: Counter::default(),
            cancelled: Counter::default(),
            calls: [const { Counter(AtomicU64::new(0)) }; CALL_CODES],
            operations: Default::default(),
            failed_operations: Default::default(),
            handshakes: Counter::default(),
            resumptions: Counter::default(),
            handshake_failures: HandshakeFailures::default(),
        }
    }

    /// A gRPC call ended with this code.
    pub(crate) fn call(&self, code: u8) {
        if let Some(counter) = self.calls.get(usize::from(code)) {
            counter.add(1);
        }
    }

    pub(crate) fn operation(&self, operation: Operation) {
        self.operations[operation as usize].add(1);
    }

    pub(crate) fn failed_operation(&self, operation: Operation) {
        self.failed_operations[operation as usize].add(1);
    }

    pub(crate) fn request(&self, status: u16) {
        if let Some(counter) = self.requests.get(usize::from(status)) {
            counter.add(1);
        }
    }
}

/// All workers' counters together.
#[derive(Debug, Clone)]
pub(crate) struct AllCounters(pub Vec<Arc<Counters>>);

/// Totals over the origin's life; `run` returns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Requests and operations answered, those for counters and control left out.
    pub requests: u64,
    /// Of these, requests that were not HTTP and were answered with an error.
    pub malformed: u64,
    /// Connections accepted, those for counters and control left out.
    pub connections: u64,
    /// Bytes received, everything included but TLS's own.
    pub received_bytes: u64,
    /// Bytes sent, everything included but TLS's own.
    pub sent_bytes: u64,
}

impl AllCounters {
    pub(crate) fn totals(&self) -> Totals {
        let statuses = 0..STATUSES;
        let requests: u64 = statuses
            .map(|status| self.sum(|c| &c.requests[status]))
            .sum();
        let operations: u64 = (0..Operation::ALL.len())
            .map(|at| self.sum(|c| &c.operations[at]))
            .sum();
        Totals {
            requests: requests + operations,
            malformed: self.sum(|c| &c.malformed),
            connections: self.connections(),
            received_bytes: self.sum(|c| &c.received_bytes),
            sent_bytes: self.sum(|c| &c.sent_bytes),
        }
    }

    fn sum(&self, counter: impl Fn(&Counters) -> &Counter) -> u64 {
        self.0.iter().map(|counters| counter(counters).get()).sum()
    }

    /// A control connection is known as one from its first request on: until then it is counted here.
    fn connections(&self) -> u64 {
        self.sum(|c| &c.accepted)
            .saturating_sub(self.sum(|c| &c.control_connections))
    }

    /// Prometheus text, format 0.0.4.
    pub(crate) fn render(&self) -> String {
        let mut text = String::with_capacity(2048);
        text.push_str("# TYPE tare_origin_requests_total counter\n");
        for status in 0..STATUSES {
            let count = self.sum(|c| &c.requests[status]);
            // 200 is always shown: a reader before the first request finds the series.
            if count > 0 || status == 200 {
                let _ = writeln!(
                    text,
                    "tare_origin_requests_total{{status=\"{status}\"}} {count}"
                );
            }
        }
        let open = self
            .sum(|c| &c.accepted)
            .saturating_sub(self.sum(|c| &c.closed));
        let single = [
            (
                "malformed_requests_total",
                "counter",
                self.sum(|c| &c.malformed),
            ),
            (
                "control_requests_total",
                "counter",
                self.sum(|c| &c.control),
            ),
            ("connections_opened_total", "counter", self.connections()),
            ("connections_open", "gauge", open),
            (
                "received_bytes_total",
                "counter",
                self.sum(|c| &c.received_bytes),
            ),
            ("sent_bytes_total", "counter", self.sum(|c| &c.sent_bytes)),
            ("resets_total", "counter", self.sum(|c| &c.resets)),
            (
                "tcp_exchanges_total",
                "counter",
                self.sum(|c| &c.tcp_exchanges),
            ),
            (
                "cancelled_streams_total",
                "counter",
                self.sum(|c| &c.cancelled),
            ),
            (
                "tls_handshakes_total",
                "counter",
                self.sum(|c| &c.handshakes),
            ),
            (
                "tls_resumptions_total",
                "counter",
                self.sum(|c| &c.resumptions),
            ),
        ];
        for (name, kind, value) in single {
            let _ = writeln!(
                text,
                "# TYPE tare_origin_{name} {kind}\ntare_origin_{name} {value}"
            );
        }
        text.push_str("# TYPE tare_origin_grpc_calls_total counter\n");
        for code in 0..CALL_CODES {
            let count = self.sum(|c| &c.calls[code]);
            if count > 0 {
                let _ = writeln!(
                    text,
                    "tare_origin_grpc_calls_total{{code=\"{code}\"}} {count}"
                );
            }
        }
        self.render_operations(&mut text);
        text.push_str("# TYPE tare_origin_tls_handshake_failures_total counter\n");
        for (failure, class) in HANDSHAKE_FAILURES {
            let count = self.sum(|c| &c.handshake_failures.0[failure as usize]);
            if count > 0 {
                let _ = writeln!(
                    text,
                    "tare_origin_tls_handshake_failures_total{{class=\"{class}\"}} {count}"
                );
            }
        }
        text
    }

    fn render_operations(&self, text: &mut String) {
        type Kinds = fn(&Counters) -> &[Counter];
        let series: [(&str, Kinds); 2] = [
            ("operations", |c| &c.operations),
            ("failed_operations", |c| &c.failed_operations),
        ];
        for (name, kinds) in series {
            let _ = writeln!(text, "# TYPE tare_origin_mongodb_{name}_total counter");
            for operation in Operation::ALL {
                let count = self.sum(|c| &kinds(c)[operation as usize]);
                if count > 0 {
                    let _ = writeln!(
                        text,
                        "tare_origin_mongodb_{name}_total{{operation=\"{}\"}} {count}",
                        operation.name()
                    );
                }
            }
        }
    }
}
