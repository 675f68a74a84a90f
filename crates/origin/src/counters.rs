//! Counters of the origin, and their Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tare_mongo::database::Operation;

use crate::forwarded_identity::IdentityCounters;

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

/// Counters by number, such as a status.
#[derive(Debug)]
pub(crate) struct NumberedCounters<const N: usize>([Counter; N]);

impl<const N: usize> Default for NumberedCounters<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counter::default()))
    }
}

impl<const N: usize> NumberedCounters<N> {
    /// Counts one of this number; those without a counter are not counted.
    pub(crate) fn add(&self, number: usize) {
        if let Some(counter) = self.0.get(number) {
            counter.add(1);
        }
    }
}

/// One worker's counters. Requests for counters and control are counted in counters of their own only.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: NumberedCounters<STATUSES>,
    pub malformed: Counter,
    pub control: Counter,
    /// Connections whose first request was for control.
    pub control_connections: Counter,
    pub accepted: Counter,
    /// Pauses because the kernel had no descriptor or memory for a further connection.
    pub accept_pauses: Counter,
    pub closed: Counter,
    pub received_bytes: Counter,
    pub sent_bytes: Counter,
    /// Requests by the caller's identity that a proxy named.
    pub identities: IdentityCounters,
    /// Requests answered by a reset.
    pub resets: Counter,
    pub tcp_exchanges: Counter,
    /// Streams that the client reset.
    pub cancelled: Counter,
    /// gRPC calls by the code they ended with.
    calls: NumberedCounters<CALL_CODES>,
    /// Database operations by kind, and the failed ones of them.
    operations: NumberedCounters<{ Operation::ALL.len() }>,
    failed_operations: NumberedCounters<{ Operation::ALL.len() }>,
    pub handshakes: Counter,
    /// Handshakes that resumed a session.
    pub resumptions: Counter,
    handshake_failures: NumberedCounters<{ HANDSHAKE_FAILURES.len() }>,
}

/// Why a TLS handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeFailure {
    /// The input is not TLS.
    NotTls,
    /// No version, cipher or group in common.
    NoCommonParameters,
    /// No application protocol in common.
    AlpnMismatch,
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
    (HandshakeFailure::NoCommonParameters, "no-common-parameters"),
    (HandshakeFailure::AlpnMismatch, "alpn-mismatch"),
    (HandshakeFailure::NoCertificate, "no-certificate"),
    (HandshakeFailure::BadCertificate, "bad-certificate"),
    (HandshakeFailure::Alert, "alert"),
    (HandshakeFailure::Closed, "closed"),
    (HandshakeFailure::Timeout, "timeout"),
    (HandshakeFailure::Other, "other"),
];

/// The counter of one series.
type CounterOf = fn(&Counters) -> &Counter;

impl Counters {
    /// A gRPC call ended with this code.
    pub(crate) fn call(&self, code: u8) {
        self.calls.add(usize::from(code));
    }

    pub(crate) fn operation(&self, operation: Operation) {
        self.operations.add(operation as usize);
    }

    pub(crate) fn failed_operation(&self, operation: Operation) {
        self.failed_operations.add(operation as usize);
    }

    pub(crate) fn request(&self, status: u16) {
        self.requests.add(usize::from(status));
    }

    pub(crate) fn handshake_failure(&self, failure: HandshakeFailure) {
        self.handshake_failures.add(failure as usize);
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
    /// Pauses of the acceptor because the kernel had no descriptor or memory for a further connection.
    pub accept_pauses: u64,
    /// Bytes received, everything included but TLS's own.
    pub received_bytes: u64,
    /// Bytes sent, everything included but TLS's own.
    pub sent_bytes: u64,
}

impl AllCounters {
    pub(crate) fn totals(&self) -> Totals {
        let requests: u64 = self.by_number(|c| &c.requests).iter().sum();
        let operations: u64 = self.by_number(|c| &c.operations).iter().sum();
        Totals {
            requests: requests + operations,
            malformed: self.sum(|c| &c.malformed),
            connections: self.connections(),
            accept_pauses: self.sum(|c| &c.accept_pauses),
            received_bytes: self.sum(|c| &c.received_bytes),
            sent_bytes: self.sum(|c| &c.sent_bytes),
        }
    }

    fn sum(&self, counter: impl Fn(&Counters) -> &Counter) -> u64 {
        self.0.iter().map(|counters| counter(counters).get()).sum()
    }

    fn by_number<const N: usize>(
        &self,
        numbered: impl Fn(&Counters) -> &NumberedCounters<N>,
    ) -> [u64; N] {
        std::array::from_fn(|number| self.sum(|counters| &numbered(counters).0[number]))
    }

    /// A control connection is known as one from its first request on: until then it is counted here.
    fn connections(&self) -> u64 {
        self.sum(|c| &c.accepted)
            .saturating_sub(self.sum(|c| &c.control_connections))
    }

    /// Prometheus text, format 0.0.4.
    pub(crate) fn render(&self) -> String {
        const SINGLE: [(&str, CounterOf); 10] = [
            ("accept_pauses_total", |c| &c.accept_pauses),
            ("malformed_requests_total", |c| &c.malformed),
            ("control_requests_total", |c| &c.control),
            ("received_bytes_total", |c| &c.received_bytes),
            ("sent_bytes_total", |c| &c.sent_bytes),
            ("resets_total", |c| &c.resets),
            ("tcp_exchanges_total", |c| &c.tcp_exchanges),
            ("cancelled_streams_total", |c| &c.cancelled),
            ("tls_handshakes_total", |c| &c.handshakes),
            ("tls_resumptions_total", |c| &c.resumptions),
        ];
        let mut text = String::with_capacity(2048);
        let statuses = self.by_number(|c| &c.requests).into_iter().enumerate();
        // 200 is always shown: a reader before the first request finds the series.
        let shown = statuses.filter(|&(status, count)| count > 0 || status == 200);
        render_series(&mut text, "requests_total", "status", shown);
        for (name, counter) in SINGLE {
            render_single(&mut text, name, "counter", self.sum(counter));
        }
        let accepted = self.sum(|c| &c.accepted);
        let open = accepted.saturating_sub(self.sum(|c| &c.closed));
        render_single(
            &mut text,
            "connections_opened_total",
            "counter",
            self.connections(),
        );
        render_single(&mut text, "connections_open", "gauge", open);
        let calls = self.by_number(|c| &c.calls).into_iter().enumerate();
        let names = || Operation::ALL.into_iter().map(Operation::name);
        let done = names().zip(self.by_number(|c| &c.operations));
        let failed = names().zip(self.by_number(|c| &c.failed_operations));
        let counts = self.by_number(|c| &c.handshake_failures);
        let failures = HANDSHAKE_FAILURES.map(|(failure, class)| (class, counts[failure as usize]));
        render_counted(&mut text, "grpc_calls_total", "code", calls);
        render_counted(&mut text, "mongodb_operations_total", "operation", done);
        let name = "mongodb_failed_operations_total";
        render_counted(&mut text, name, "operation", failed);
        let name = "tls_handshake_failures_total";
        render_counted(&mut text, name, "class", failures.into_iter());
        let mut identities = BTreeMap::new();
        for counters in &self.0 {
            counters.identities.add_to(&mut identities);
        }
        let name = "forwarded_identities_total";
        render_counted(&mut text, name, "identity", identities.into_iter());
        text
    }
}

/// Renders the series that have counted something.
fn render_counted<L: std::fmt::Display>(
    text: &mut String,
    name: &str,
    label: &str,
    series: impl Iterator<Item = (L, u64)>,
) {
    render_series(text, name, label, series.filter(|&(_, count)| count > 0));
}

fn render_single(text: &mut String, name: &str, kind: &str, value: u64) {
    let _ = writeln!(
        text,
        "# TYPE tare_origin_{name} {kind}\ntare_origin_{name} {value}"
    );
}

fn render_series<L: std::fmt::Display>(
    text: &mut String,
    name: &str,
    label: &str,
    series: impl Iterator<Item = (L, u64)>,
) {
    let _ = writeln!(text, "# TYPE tare_origin_{name} counter");
    for (value, count) in series {
        let _ = writeln!(text, "tare_origin_{name}{{{label}=\"{value}\"}} {count}");
    }
}
