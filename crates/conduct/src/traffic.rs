//! Expected traffic of an edge: what the agents sent, or the calls that follow from it according to the workload.

use std::collections::BTreeMap;

use tare_record::agent::{LoadResult, RequestCount, TlsCount};
use tare_record::plan::Cell;

/// What one agent sent over its edge, warm-up included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentTraffic {
    pub edge: String,
    /// Role of the agent.
    pub role: String,
    pub requests: u64,
    /// Of these, those that may not have arrived although they were sent.
    pub lost: u64,
    pub by_request: BTreeMap<String, RequestCount>,
    /// Connections opened.
    pub connections: u64,
    /// Request bytes.
    pub bytes: u64,
    /// TLS handshakes, by negotiated parameters.
    pub tls: Vec<TlsCount>,
    /// Handshakes with a client certificate.
    pub client_certificates: u64,
}

/// What each agent of a cell sent.
pub(crate) fn sent(cell: &Cell, results: &[LoadResult]) -> Vec<SentTraffic> {
    let roles = || cell.load.iter();
    results
        .iter()
        .filter_map(|result| {
            let role = roles().find(|role| role.role == result.role)?;
            Some(SentTraffic {
                edge: role.edge.clone(),
                role: result.role.clone(),
                requests: result.requests_sent_total,
                lost: result.requests_lost_total,
                by_request: result.by_request.clone(),
                connections: result.connections.opened,
                bytes: result.bytes_sent,
                tls: result.tls.clone(),
                client_certificates: result.client_certificates,
            })
        })
        .collect()
}

/// Traffic that must have passed an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExpectedTraffic {
    /// Fewest requests: a request that failed may not have made its calls, a datagram may have been lost.
    pub requests_min: u64,
    /// Most requests.
    pub requests_max: u64,
    /// Connections; `None` when agents do not open them.
    pub connections: Option<u64>,
    /// Fewest bytes; `None` when agents do not send them.
    pub bytes: Option<u64>,
}

impl ExpectedTraffic {
    /// Fewest and most requests.
    pub fn requests(&self) -> (u64, u64) {
        (self.requests_min, self.requests_max)
    }
}

/// Expected traffic of an edge; `None` when it cannot be known.
pub(crate) fn over(cell: &Cell, sent: &[SentTraffic], edge: &str) -> Option<ExpectedTraffic> {
    let over: Vec<&SentTraffic> = sent.iter().filter(|sent| sent.edge == edge).collect();
    if over.is_empty() {
        return calls_behind(cell, sent, edge);
    }
    let requests = over.iter().map(|sent| sent.requests).sum();
    let lost: u64 = over.iter().map(|sent| sent.lost).sum();
    Some(ExpectedTraffic {
        requests_min: u64::saturating_sub(requests, lost),
        requests_max: requests,
        connections: Some(over.iter().map(|sent| sent.connections).sum()),
        bytes: Some(over.iter().map(|sent| sent.bytes).sum()),
    })
}

/// Calls over an inner edge that follow from the requests sent; `None` unless the workload declares them for every request.
fn calls_behind(cell: &Cell, sent: &[SentTraffic], edge: &str) -> Option<ExpectedTraffic> {
    let mut traffic = ExpectedTraffic::default();
    for one in sent {
        let mut roles = cell.load.iter();
        let role = roles.find(|role| role.role == one.role && !role.calls.is_empty())?;
        for (request, count) in &one.by_request {
            let calls = role.calls.get(request)?.get(edge).copied().unwrap_or(0);
            traffic.requests_min += count.ok * u64::from(calls);
            traffic.requests_max += count.sent * u64::from(calls);
        }
    }
    (!sent.is_empty()).then_some(traffic)
}
