//! What must have passed over an edge: what the agents sent, or the calls that the workload says follow from it.

use std::collections::BTreeMap;

use tare_schema::agent::{LoadResult, RequestCount, TlsCount};
use tare_schema::plan::Cell;

/// What the agents sent over one edge, from first to last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Edge.
    pub edge: String,
    /// Role that sent it.
    pub role: String,
    /// Requests.
    pub requests: u64,
    /// Requests by name.
    pub by_request: BTreeMap<String, RequestCount>,
    /// Connections opened.
    pub connections: u64,
    /// Request bytes.
    pub bytes: u64,
    /// TLS handshakes, by what was agreed on.
    pub tls: Vec<TlsCount>,
    /// Handshakes in which the server asked for a certificate and was shown one.
    pub client_certificates: u64,
}

/// What all agents of a cell sent.
pub(crate) fn sent(cell: &Cell, results: &[LoadResult]) -> Vec<Sent> {
    let roles = || cell.load.iter();
    results
        .iter()
        .filter_map(|result| {
            let role = roles().find(|role| role.role == result.role)?;
            Some(Sent {
                edge: role.edge.clone(),
                role: result.role.clone(),
                requests: result.requests_sent_total,
                by_request: result.by_request.clone(),
                connections: result.connections.opened,
                bytes: result.bytes_sent,
                tls: result.tls.clone(),
                client_certificates: result.client_certificates,
            })
        })
        .collect()
}

/// What must have passed over an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traffic {
    /// Requests at least: a request that was not answered rightly may not have made its calls.
    pub requests_min: u64,
    /// Requests at most.
    pub requests_max: u64,
    /// Connections; `None` when others than agents open them.
    pub connections: Option<u64>,
    /// Bytes at least; `None` likewise.
    pub bytes: Option<u64>,
}

impl Traffic {
    /// Least and most requests.
    pub fn requests(&self) -> (u64, u64) {
        (self.requests_min, self.requests_max)
    }
}

/// What must have passed over an edge; `None` when nobody can know.
pub(crate) fn over(cell: &Cell, sent: &[Sent], edge: &str) -> Option<Traffic> {
    let over: Vec<&Sent> = sent.iter().filter(|sent| sent.edge == edge).collect();
    if over.is_empty() {
        return behind(cell, sent, edge);
    }
    let requests = over.iter().map(|sent| sent.requests).sum();
    Some(Traffic {
        requests_min: requests,
        requests_max: requests,
        connections: Some(over.iter().map(|sent| sent.connections).sum()),
        bytes: Some(over.iter().map(|sent| sent.bytes).sum()),
    })
}

/// The calls over an inner edge that follow from all requests sent; `None` unless the workload says so for every one.
fn behind(cell: &Cell, sent: &[Sent], edge: &str) -> Option<Traffic> {
    let mut traffic = Traffic::default();
    for one in sent {
        let mut roles = cell.load.iter();
        let role = roles.find(|role| role.role == one.role && !role.calls.is_empty())?;
        for (request, count) in &one.by_request {
            let calls = role.calls.get(request)?.get(edge).copied().unwrap_or(0);
            traffic.requests_min += count.right * u64::from(calls);
            traffic.requests_max += count.sent * u64::from(calls);
        }
    }
    (!sent.is_empty()).then_some(traffic)
}
