//! Outcomes of requests with the party to blame, connections, waits and bytes.

use std::collections::BTreeMap;

use tare_load::LoadOutcome;
use tare_record::agent::{ErrorSource, LoadResult, OutcomeCount};
use tare_record::escape::escape_line;
use tare_report::quantity;
use tare_report::terminal::wrap;

use super::SummaryWriter;
use super::percentiles::bar;
use crate::values::{MISSING, bytes, quantile, time};

/// Columns of the bars of outcomes.
const BAR_WIDTH: usize = 10;

/// Counts by stage, then each outcome class with latency, the party to blame, and an example.
pub(super) fn outcomes(out: &mut SummaryWriter, outcome: &LoadOutcome) {
    let result = &outcome.result;
    out.line(
        "requests",
        &format!(
            "{} intended = {} ok + {} failed + {} unfinished + {} never sent",
            result.intended,
            result.ok,
            result.errors,
            result.unfinished,
            result.never_sent()
        ),
    );
    let by_class = by_class(&result.outcomes);
    let all: u64 = by_class.values().map(|seen| seen.count).sum();
    let latency =
        outcome.sums(|tag| (tag.quantity == "latency").then_some(tag.class.unwrap_or("ok")));
    let is_plain = by_class.len() == 1 && by_class.contains_key("ok");
    for (class, seen) in by_class.iter().filter(|_| !is_plain) {
        let latency = latency.get(class).map_or_else(String::new, |latency| {
            format!("p50 {:>9}", quantile(latency.quantile(0.5)))
        });
        let bar = bar(seen.count, all, BAR_WIDTH);
        let line = format!(
            "  {:<18} {:>9} {:>8}  {latency}  {}",
            escape_line(class),
            seen.count,
            quantity::percent(seen.count as f64 / all.max(1) as f64),
            out.paint.drawn(&bar),
        );
        out.plain(line.trim_end());
        blame(out, seen);
    }
    for error in &result.connection_errors {
        out.plain(&format!(
            "  {:<18} {:>9}  (of connections)",
            escape_line(&error.class),
            error.count
        ));
        let seen = Seen {
            count: error.count,
            error_source: error.error_source,
            example: error.example.as_deref(),
        };
        blame(out, &seen);
    }
    for failed in &result.failed_addresses {
        out.plain(&format!(
            "  {:<18} {:>9}  (attempts to connect to {})",
            escape_line(&failed.class),
            failed.count,
            failed.address
        ));
        let seen = Seen {
            count: failed.count,
            error_source: failed.error_source,
            example: failed.example.as_deref(),
        };
        blame(out, &seen);
    }
}

/// An outcome class, summed over all requests.
struct Seen<'a> {
    count: u64,
    error_source: ErrorSource,
    example: Option<&'a str>,
}

/// Outcome classes, summed over all requests.
fn by_class(outcomes: &[OutcomeCount]) -> BTreeMap<&str, Seen<'_>> {
    let mut classes: BTreeMap<&str, Seen<'_>> = BTreeMap::new();
    for outcome in outcomes {
        let seen = classes.entry(&outcome.class).or_insert(Seen {
            count: 0,
            error_source: outcome.error_source,
            example: outcome.example.as_deref(),
        });
        seen.count += outcome.count;
        seen.example = seen.example.or(outcome.example.as_deref());
    }
    classes
}

fn blame(out: &mut SummaryWriter, seen: &Seen<'_>) {
    let Some(whose) = seen.error_source.whose() else {
        return;
    };
    let example = seen
        .example
        .map_or_else(String::new, |example| format!(": {}", escape_line(example)));
    let words = out.paint.bad(&format!("fault of {whose}"));
    let words = wrap(&format!("    {words}{example}"), out.width, 4);
    out.plain(&words);
}

/// The first characters of a fingerprint.
fn start_of(fingerprint: &str) -> &str {
    fingerprint.get(..12).unwrap_or(fingerprint)
}

/// Negotiated TLS parameters, and times of the connections that were opened before the window.
pub(super) fn opening(out: &mut SummaryWriter, outcome: &LoadOutcome) {
    for tls in &outcome.result.tls {
        let seen = &tls.seen;
        let part =
            |part: &Option<String>| escape_line(part.as_deref().unwrap_or(MISSING)).into_owned();
        let words = format!(
            "{} full and {} resumed handshakes: TLS {}, {}, group {}, ALPN {}, certificate {}",
            tls.full,
            tls.resumed,
            seen.version,
            seen.suite,
            part(&seen.group),
            part(&seen.alpn),
            seen.certificate.as_deref().map_or(MISSING, start_of)
        );
        out.line("tls", &words);
        if let Some(unusual) = &seen.unusual {
            out.line("", &format!("! the certificate: {}", escape_line(unusual)));
        }
    }
    let at_setup = outcome
        .sums(|tag| (tag.class == Some("setup")).then_some(tag.quantity))
        .into_iter()
        .map(|(quantity, took)| {
            let [p50, p99] = [0.5, 0.99].map(|q| quantile(took.quantile(q)));
            format!("{quantity} p50 {p50}, p99 {p99}")
        });
    let words = at_setup.collect::<Vec<_>>().join("; ");
    if !words.is_empty() {
        out.line("set-up", &words);
    }
}

/// Connections, waits and bytes.
pub(super) fn traffic(out: &mut SummaryWriter, result: &LoadResult) {
    let connections = &result.connections;
    let mut words = format!(
        "{} opened, at most {} at once",
        connections.opened, connections.peak
    );
    if connections.reconnects > 0 {
        words.push_str(&format!(", {} of them again", connections.reconnects));
    }
    if connections.failed > 0 {
        words.push_str(&format!(", {} attempts failed", connections.failed));
    }
    out.line("connections", &words);
    let counts = result
        .protocol_counts
        .iter()
        .filter(|&(_, &count)| count > 0);
    let counts: Vec<String> = counts
        .map(|(name, count)| format!("{count} {}", name.replace('-', " ")))
        .collect();
    if !counts.is_empty() {
        out.line("protocol", &counts.join(", "));
    }
    for wait in &result.queue_waits {
        let mean = time(wait.total_ns / wait.count.max(1));
        let words = format!("{} for a {}, {mean} on average", wait.count, wait.cause);
        out.line("queue wait", &words);
    }
    let moved = |count: u64| match result.window_ns {
        0 => (bytes(count as f64), String::new()),
        ns => {
            let rate = bytes(count as f64 / (ns as f64 / 1e9));
            (bytes(count as f64), format!(" ({rate}/s)"))
        }
    };
    let (sent, sent_rate) = moved(result.bytes_sent);
    let (received, received_rate) = moved(result.bytes_received);
    out.line(
        "bytes",
        &format!("{sent} sent{sent_rate}, {received} received{received_rate}"),
    );
}
