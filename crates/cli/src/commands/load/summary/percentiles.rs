//! Latency percentiles, histogram, and tables by request and by status.

use tare_load::{LoadOutcome, merged};
use tare_record::metric::Unit;
use tare_report::quantity;
use tare_stats::{Latencies, SparseHistogram};

use super::SummaryWriter;
use crate::values::{MISSING, largest, maybe, quantile};

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

/// Most requests that the text has a row for.
const REQUESTS_SHOWN: usize = 20;

/// Width of the first column, and least width of the others.
const NAME: usize = 8;
const WIDTH: usize = 11;

/// Rows of the histogram, the width of its text columns, and the longest bar.
const ROWS: usize = 12;
const BESIDE_BARS: usize = 36;
const BAR_MAX: usize = 50;

/// Percentiles of latency, response time, service time, and the generator's lateness.
pub(super) fn latencies(out: &mut SummaryWriter, outcome: &LoadOutcome) {
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
    add("lateness", outcome.lateness());
    for group in columns.chunks(((out.width - NAME) / (WIDTH + 2)).max(1)) {
        table(out, group);
    }
    if outcome.latency().is_some() {
        out.faint(
            "latency: from the release of a request to the kernel's receipt of the answer, as a punctual client sees it; \
             response: from its intended start, lateness included; service: from sending on. Successful responses, and requests \
             without an answer as lower bounds; – where fewer than ten lie beyond.",
        );
    }
    out.plain("");
}

fn table(out: &mut SummaryWriter, columns: &[(String, Latencies)]) {
    let row = |name: &str, cell: &dyn Fn(&Latencies) -> String| {
        let mut row = vec![format!("{name:<NAME$}")];
        row.extend(columns.iter().map(|(_, latencies)| cell(latencies)));
        row
    };
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(columns.iter().map(|(name, _)| format!("{name:>WIDTH$}")));
    for (name, q) in QUANTILES {
        rows.push(row(name, &|latencies| quantile(latencies.quantile(q))));
    }
    rows.push(row("max", &largest));
    rows.push(row("mean", &|latencies| {
        let more = if latencies.unfinished() > 0 { "> " } else { "" };
        let mean = latencies.mean_ns();
        maybe(mean.map(|ns| format!("{more}{}", quantity::value(Unit::Nanoseconds, ns))))
    }));
    rows.push(row("count", &|latencies| latencies.count().to_string()));
    out.table(&rows);
}

/// Histogram with rows of equal ratio from the smallest to the largest latency.
pub(super) fn histogram(out: &mut SummaryWriter, outcome: &LoadOutcome) {
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

/// Keeps the order of a few; of more than `most`, those with the longest mean, the longest first.
fn slowest<T>(mut all: Vec<T>, most: usize, mean_ns: impl Fn(&T) -> f64) -> Vec<T> {
    if all.len() > most {
        all.sort_by_cached_key(|one| std::cmp::Reverse(mean_ns(one) as u64));
        all.truncate(most);
    }
    all
}

/// Latency by request, when there are several.
pub(super) fn requests(out: &mut SummaryWriter, outcome: &LoadOutcome) {
    let by_request = outcome.groups(|tag| {
        (tag.quantity == "latency" && tag.is_in_latency())
            .then_some(tag.request)
            .flatten()
    });
    let all = by_request.len();
    if all < 2 {
        return;
    }
    let head = ["latency, of", "count", "p50", "p99", "max"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mean_ns = |(_, group): &(&str, Vec<&SparseHistogram>)| {
        let mean = merged(group).and_then(|latencies| latencies.mean_ns());
        mean.unwrap_or_default()
    };
    let shown = slowest(by_request.into_iter().collect(), REQUESTS_SHOWN, mean_ns);
    rows.extend(shown.iter().filter_map(|(name, group)| {
        let latencies = merged(group)?;
        let [p50, p99] = [0.5, 0.99].map(|q| quantile(latencies.quantile(q)));
        let count = latencies.count().to_string();
        Some(vec![
            (*name).to_owned(),
            count,
            p50,
            p99,
            largest(&latencies),
        ])
    }));
    out.table(&rows);
    if shown.len() < all {
        let shown = shown.len();
        out.faint(&format!(
            "the slowest {shown} of {all} requests, by their mean; all of them are in --json"
        ));
    }
    out.plain("");
}

/// Successes by class of status, when there are several.
pub(super) fn statuses(out: &mut SummaryWriter, outcome: &LoadOutcome) {
    let latency = outcome.by_status("latency");
    if latency.len() < 2 {
        return;
    }
    let service = outcome.by_status("service");
    let head = [
        "by status",
        "ok",
        "latency p50",
        "p99",
        "max",
        "service p50",
        "p99",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (class, latency) in &latency {
        let service = service.get(class);
        let service = |q| service.map_or(MISSING.to_owned(), |one| quantile(one.quantile(q)));
        rows.push(vec![
            (*class).to_owned(),
            latency.count().to_string(),
            quantile(latency.quantile(0.5)),
            quantile(latency.quantile(0.99)),
            largest(latency),
            service(0.5),
            service(0.99),
        ]);
    }
    out.table(&rows);
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
    fn of_many_requests_the_slowest_are_shown_and_few_keep_their_order() {
        let shown = |most| slowest(vec![50, 70, 10, 90], most, |ns| f64::from(*ns));
        assert_eq!(shown(4), [50, 70, 10, 90]);
        assert_eq!(shown(2), [90, 70]);
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_nothing_for_something() {
        assert_eq!(bar(10, 10, 5), "█████");
        assert_eq!(bar(5, 10, 5), "██▌");
        assert_eq!(bar(1, 1_000_000, 5), "▏");
        assert_eq!(bar(0, 10, 5), "");
    }
}
