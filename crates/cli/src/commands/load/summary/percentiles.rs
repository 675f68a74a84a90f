//! Latency percentiles, histogram, and tables by request and by status.

use tare_load::Outcome;
use tare_report::quantity;
use tare_schema::metric::Unit;
use tare_stats::{Latencies, Quantile};

use super::SummaryWriter;

/// The quantiles of the table.
const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// Width of the first column and of the others.
const NAME: usize = 8;
const COLUMN: usize = 13;

/// Rows of the histogram, the width of its text columns, and the longest bar.
const ROWS: usize = 12;
const BESIDE_BARS: usize = 36;
const BAR_MAX: usize = 50;

/// A quantile as text.
pub(super) fn figure(quantile: Quantile) -> String {
    let time = |ns| quantity::value(Unit::Nanoseconds, ns as f64);
    match quantile {
        Quantile::Exact(ns) => time(ns),
        Quantile::Above(ns) => format!("> {}", time(ns)),
        Quantile::TooFew => quantity::MISSING.to_owned(),
    }
}

/// Percentiles of latency, response time, service time, and the generator's lateness.
pub(super) fn latencies(out: &mut SummaryWriter, outcome: &Outcome) {
    let mut columns: Vec<(String, Latencies)> = Vec::new();
    let mut add = |name: &str, latencies: Option<Latencies>| {
        columns.extend(latencies.map(|latencies| (name.to_owned(), latencies)));
    };
    add("latency", outcome.latency());
    add("response", outcome.response());
    add("service", outcome.service());
    // Quantities of a transport: connecting, handshakes.
    for (quantity, latencies) in outcome.sums(|tag| {
        let is_usual = [
            "latency",
            "response",
            "service",
            "lateness",
            "receive-lag",
            "queue-wait",
        ]
        .contains(&tag.quantity);
        (!is_usual && tag.class.is_none()).then_some(tag.quantity)
    }) {
        add(quantity, Some(latencies));
    }
    add("our lateness", outcome.lateness());
    for group in columns.chunks(((out.width - NAME) / COLUMN).max(1)) {
        table(out, group);
    }
    if outcome.latency().is_some() {
        out.faint(
            "latency: from the release of a request to the kernel's receipt of the answer, as a punctual client sees it; \
             response: from its intended start, our lateness included; service: from sending on. Successful responses; – where fewer \
             than ten lie beyond.",
        );
    }
    out.plain("");
}

fn table(out: &mut SummaryWriter, columns: &[(String, Latencies)]) {
    let names: String = columns
        .iter()
        .map(|(name, _)| format!("{name:>COLUMN$}"))
        .collect();
    let head = out.paint.strong(&format!("{:<NAME$}{names}", ""));
    out.plain(&head);
    let mut row = |name: &str, cell: &dyn Fn(&Latencies) -> String| {
        let cells: String = columns
            .iter()
            .map(|(_, latencies)| format!("{:>COLUMN$}", cell(latencies)))
            .collect();
        out.plain(&format!("{name:<NAME$}{cells}"));
    };
    for (name, quantile) in QUANTILES {
        row(name, &|latencies| figure(latencies.quantile(quantile)));
    }
    row("max", &|latencies| {
        latencies
            .max()
            .map_or_else(|| quantity::MISSING.to_owned(), figure)
    });
    row("mean", &|latencies| {
        let mean = latencies.mean_ns();
        let shown = mean.map(|ns| quantity::value(Unit::Nanoseconds, ns));
        let more = if latencies.unfinished() > 0 { "> " } else { "" };
        shown.map_or_else(
            || quantity::MISSING.to_owned(),
            |mean| format!("{more}{mean}"),
        )
    });
    row("count", &|latencies| latencies.count().to_string());
}

/// Histogram with rows of equal ratio from the smallest to the largest latency.
pub(super) fn histogram(out: &mut SummaryWriter, outcome: &Outcome) {
    let Some(latency) = outcome.latency() else {
        return;
    };
    let (Some(min_ns), Some(max_ns)) = (
        latency.min_ns(),
        latency.buckets().map(|(_, high, _)| high).last(),
    ) else {
        return;
    };
    let low = min_ns.max(1) as f64;
    let ratio = ((max_ns as f64 / low).ln() / ROWS as f64).max(1e-9);
    let mut rows = [0_u64; ROWS];
    for (lowest, _, count) in latency.buckets() {
        let at = ((lowest.max(1) as f64 / low).ln() / ratio) as usize;
        rows[at.min(ROWS - 1)] += count;
    }
    let most = rows.iter().copied().max().unwrap_or(1).max(1);
    let bar_width = out.width.saturating_sub(BESIDE_BARS).min(BAR_MAX);
    let mut below = 0;
    for (number, &count) in rows.iter().enumerate() {
        below += count;
        let to_ns = low * (ratio * (number + 1) as f64).exp();
        let bar = out.paint.drawn(&bar(count, most, bar_width));
        let line = format!(
            "≤ {:>9} {count:>10} {:>8.3} %  {bar}",
            quantity::value(Unit::Nanoseconds, to_ns),
            below as f64 * 100.0 / latency.count() as f64,
        );
        out.plain(line.trim_end());
    }
    out.plain("");
}

/// A bar in eighths of a column; at least one eighth for a count above 0.
pub(super) fn bar(count: u64, most: u64, width: usize) -> String {
    const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if count == 0 {
        return String::new();
    }
    let eighths = (count as f64 / most.max(1) as f64 * (width * 8) as f64).round() as usize;
    let eighths = eighths.max(1);
    let mut bar = "█".repeat(eighths / 8);
    if let Some(part) = (eighths % 8).checked_sub(1) {
        bar.push(EIGHTHS[part]);
    }
    bar
}

/// Latency by request, when there are several.
pub(super) fn requests(out: &mut SummaryWriter, outcome: &Outcome) {
    let by_request = outcome.sums(|tag| {
        (tag.quantity == "latency" && tag.class.is_none())
            .then_some(tag.request)
            .flatten()
    });
    if by_request.len() < 2 {
        return;
    }
    let widest = by_request.keys().map(|name| name.chars().count()).max();
    let name_width = widest.unwrap_or(0).clamp(8, 24);
    let head = format!(
        "{:<name_width$} {:>9} {:>10} {:>10} {:>10}",
        "latency, of", "ok", "p50", "p99", "max"
    );
    let head = out.paint.strong(&head);
    out.plain(&head);
    for (name, latencies) in &by_request {
        let max = latencies
            .max()
            .map_or_else(|| quantity::MISSING.to_owned(), figure);
        out.plain(&format!(
            "{name:<name_width$} {:>9} {:>10} {:>10} {max:>10}",
            latencies.count(),
            figure(latencies.quantile(0.5)),
            figure(latencies.quantile(0.99)),
        ));
    }
    out.plain("");
}

/// Successes by class of status, when there are several.
pub(super) fn statuses(out: &mut SummaryWriter, outcome: &Outcome) {
    let latency = outcome.by_status("latency");
    if latency.len() < 2 {
        return;
    }
    let service = outcome.by_status("service");
    let head = format!(
        "{:<9} {:>9} {:>10} {:>10} {:>10} {:>12} {:>10}",
        "by status", "ok", "latency p50", "p99", "max", "service p50", "p99"
    );
    let head = out.paint.strong(&head);
    out.plain(&head);
    let at = |latencies: Option<&Latencies>, q| {
        latencies.map_or_else(
            || quantity::MISSING.to_owned(),
            |latencies| figure(latencies.quantile(q)),
        )
    };
    for (class, latency) in &latency {
        let service = service.get(class);
        let max = latency
            .max()
            .map_or_else(|| quantity::MISSING.to_owned(), figure);
        out.plain(&format!(
            "{class:<9} {:>9} {:>10} {:>10} {max:>10} {:>12} {:>10}",
            latency.count(),
            figure(latency.quantile(0.5)),
            figure(latency.quantile(0.99)),
            at(service, 0.5),
            at(service, 0.99),
        ));
    }
    let counts = outcome.result.ok_by_status.iter();
    let counts: Vec<String> = counts
        .map(|seen| format!("{} with {}", seen.count, seen.status))
        .collect();
    out.faint(&counts.join(", "));
    out.plain("");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_nothing_for_something() {
        assert_eq!(bar(10, 10, 5), "█████");
        assert_eq!(bar(5, 10, 5), "██▌");
        assert_eq!(bar(1, 1_000_000, 5), "▏");
        assert_eq!(bar(0, 10, 5), "");
    }
}
