//! What `tare load` prints at the end.

use std::fmt::Write as _;

use tare_load::Outcome;
use tare_report::quantity;
use tare_schema::agent::{Ended, Fault, LoadResult, Sample};
use tare_schema::metric::Unit;
use tare_stats::{Latencies, Quantile};

use super::display::time;
use super::plan::Wanted;

/// The rate is reached when so much of it was answered within the window.
const REACHED: f64 = 0.99;

/// Rows and width of the text histogram.
const ROWS: usize = 14;
const BAR_WIDTH: f64 = 40.0;

/// The rate as asked and as it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// As asked.
    pub asked_per_s: Option<f64>,
    /// Exchanges that ended within the window, per second; unknown for a window without length.
    pub completed_per_s: Option<f64>,
}

impl Rate {
    /// Whether it was reached; true when none was asked for.
    pub fn is_reached(&self) -> bool {
        match (self.asked_per_s, self.completed_per_s) {
            (Some(asked), Some(completed)) => completed >= asked * REACHED,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}

/// The result for people.
pub struct Summary {
    /// The load in words.
    pub words: String,
    /// Asked and reached.
    pub rate: Rate,
}

impl Summary {
    /// Looks at a result.
    pub fn new(wanted: &Wanted, outcome: &Outcome, samples: &[Sample]) -> Self {
        let from_ns = wanted.plan.load.warmup_ns;
        let window_ns = outcome.result.window_ns;
        let ended = ended_within(samples, from_ns, from_ns + window_ns);
        let completed_per_s = (window_ns > 0).then(|| ended / (window_ns as f64 / 1e9));
        Self {
            words: wanted.words.clone(),
            rate: Rate {
                asked_per_s: wanted
                    .plan
                    .load
                    .pacing
                    .offered_per_s(outcome.result.intended, window_ns),
                completed_per_s,
            },
        }
    }

    /// All of it.
    pub fn text(&self, outcome: &Outcome) -> String {
        let result = &outcome.result;
        let mut text = format!("{}\n", self.words);
        if result.ended == Ended::Interrupted {
            let span = quantity::span(result.window_ns);
            let _ = writeln!(
                text,
                "interrupted after {span}: everything measured until then follows"
            );
        }
        text.push('\n');
        latencies(&mut text, outcome);
        histogram(&mut text, outcome);
        self.rate_lines(&mut text, result);
        outcomes(&mut text, result);
        cost(&mut text, result);
        text
    }

    fn rate_lines(&self, text: &mut String, result: &LoadResult) {
        let completed = self
            .rate
            .completed_per_s
            .map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}/s"));
        match self.rate.asked_per_s {
            Some(asked) if self.rate.is_reached() => {
                let _ = writeln!(
                    text,
                    "rate         {}/s asked, {completed} answered: reached",
                    figure_of(asked)
                );
            }
            Some(asked) => {
                let _ = writeln!(
                    text,
                    "rate         NOT REACHED: {}/s asked, {completed} answered within the window{}",
                    figure_of(asked),
                    why_not(result)
                );
            }
            None => {
                let _ = writeln!(text, "rate         {completed} answered");
            }
        }
    }
}

/// A rate as it was typed, or to one place when a schedule came to it.
fn figure_of(rate_per_s: f64) -> f64 {
    (rate_per_s * 10.0).round() / 10.0
}

/// Exchanges that ended between two offsets; samples across a border count by their share.
fn ended_within(samples: &[Sample], from_ns: u64, to_ns: u64) -> f64 {
    let part = |sample: &Sample| {
        let start_ns = sample.offset_ns - sample.length_ns.min(sample.offset_ns);
        let within_ns = sample
            .offset_ns
            .min(to_ns)
            .saturating_sub(start_ns.max(from_ns));
        let share = within_ns as f64 / sample.length_ns.max(1) as f64;
        (sample.right + sample.errors) as f64 * share
    };
    samples.iter().map(part).sum()
}

fn why_not(result: &LoadResult) -> String {
    let mut why = String::new();
    let waited: u64 = result.waits.iter().map(|wait| wait.count).sum();
    if result.overflow > 0 {
        let _ = write!(
            why,
            "; {} arrivals found the queue full and were never sent",
            result.overflow
        );
    } else if waited * 10 > result.intended {
        let _ = write!(
            why,
            "; {waited} waited for a free connection: the server is too slow for it, or try more --connections"
        );
    }
    why
}

fn latencies(text: &mut String, outcome: &Outcome) {
    let _ = writeln!(
        text,
        "{:<12} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "", "count", "p50", "p90", "p99", "p99.9", "max"
    );
    let mut row = |name: &str, latencies: &Latencies| {
        let of = |q| figure(latencies.quantile(q));
        let max = latencies.max().map_or_else(|| "–".to_owned(), figure);
        let _ = writeln!(
            text,
            "{name:<12} {:>9} {:>10} {:>10} {:>10} {:>10} {max:>10}",
            latencies.count(),
            of(0.5),
            of(0.9),
            of(0.99),
            of(0.999)
        );
    };
    let total = |tag: &str| outcome.totals.get(tag);
    if let Some(felt) = total("client.request.felt") {
        row("felt", felt);
    }
    if let Some(service) = total("client.request.service") {
        row("service", service);
    }
    for (tag, latencies) in &outcome.totals {
        if let Some(class) = tag.strip_prefix("client.request.felt.") {
            row(class, latencies);
        }
    }
    if let Some(lateness) = total("client.lateness") {
        row("our lateness", lateness);
    }
    if let Some(lag) = total("client.lag") {
        row("our lag", lag);
    }
    let _ = writeln!(
        text,
        "felt: from the intended start to the kernel's receipt of the answer; service: from sending on.\n"
    );
}

fn figure(quantile: Quantile) -> String {
    match quantile {
        Quantile::Exact(ns) => time(Some(ns)),
        Quantile::Above(ns) => format!("> {}", time(Some(ns))),
        Quantile::TooFew => "–".to_owned(),
    }
}

/// Rows of equal ratio from the smallest to the largest answer felt.
fn histogram(text: &mut String, outcome: &Outcome) {
    let Some(felt) = outcome.totals.get("client.request.felt") else {
        return;
    };
    let (Some(min_ns), Some(max_ns)) = (
        felt.min_ns(),
        felt.buckets().map(|(_, high, _)| high).last(),
    ) else {
        return;
    };
    let low = min_ns.max(1) as f64;
    let ratio = ((max_ns as f64 / low).ln() / ROWS as f64).max(1e-9);
    let mut rows = [0_u64; ROWS];
    for (lowest, _, count) in felt.buckets() {
        let at = ((lowest.max(1) as f64 / low).ln() / ratio) as usize;
        rows[at.min(ROWS - 1)] += count;
    }
    let most = rows.iter().copied().max().unwrap_or(1).max(1) as f64;
    let mut below = 0;
    for (number, &count) in rows.iter().enumerate() {
        below += count;
        let to_ns = low * (ratio * (number + 1) as f64).exp();
        let bar = (count as f64 / most * BAR_WIDTH).ceil() as usize;
        let _ = writeln!(
            text,
            "≤ {:>10} {:>9} {:>7.3} %  {}",
            quantity::value(Unit::Nanoseconds, to_ns),
            count,
            below as f64 * 100.0 / felt.count() as f64,
            "█".repeat(bar)
        );
    }
    text.push('\n');
}

fn outcomes(text: &mut String, result: &LoadResult) {
    let _ = writeln!(
        text,
        "requests     {} intended, {} sent, {} right, {} wrong, {} unfinished",
        result.intended, result.sent, result.right, result.errors, result.unfinished
    );
    for outcome in result
        .outcomes
        .iter()
        .chain(&result.connection_faults)
        .filter(|o| o.fault != Fault::None)
    {
        let example = outcome.example.as_deref().unwrap_or("–");
        let _ = writeln!(
            text,
            "  {:<18} {:>8}  fault of the {}: {example}",
            outcome.class,
            outcome.count,
            fault(outcome.fault)
        );
    }
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::None => "nobody",
        Fault::Target => "target",
        Fault::Peer => "peer",
        Fault::Client => "client",
        Fault::Environment => "environment",
    }
}

fn cost(text: &mut String, result: &LoadResult) {
    let connections = &result.connections;
    let _ = writeln!(
        text,
        "connections  {} opened, {} of them again, {} attempts failed, at most {} at once",
        connections.opened, connections.reconnects, connections.failed, connections.peak
    );
    let bytes = |bytes: u64| quantity::value(Unit::Bytes, bytes as f64);
    let _ = writeln!(
        text,
        "bytes        {} sent, {} received",
        bytes(result.bytes_sent),
        bytes(result.bytes_received)
    );
    let ours = &result.instrument;
    let done = result.right + result.errors;
    let per_request = match done {
        0 => "–".to_owned(),
        done => quantity::value(Unit::Nanoseconds, ours.cpu_ns as f64 / done as f64),
    };
    let stamped = ours.stamped_by_kernel + ours.stamped_by_us;
    let by_kernel = match stamped {
        0 => "–".to_owned(),
        all => quantity::percent(ours.stamped_by_kernel as f64 / all as f64),
    };
    let _ = writeln!(
        text,
        "generator    {per_request} CPU per request ({} of it spinning), {} of memory, {by_kernel} of the answers stamped by the kernel",
        match ours.cpu_ns {
            0 => "–".to_owned(),
            cpu_ns => quantity::percent(ours.spun_ns as f64 / cpu_ns as f64),
        },
        bytes(ours.peak_rss_bytes)
    );
    if ours.clock_steps > 0 {
        let _ = writeln!(
            text,
            "             the realtime clock stepped {} times; stamps were corrected",
            ours.clock_steps
        );
    }
    if ours.out_of_range > 0 {
        let _ = writeln!(
            text,
            "             {} values beyond an hour are counted as an hour",
            ours.out_of_range
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_across_the_border_of_the_window_counts_by_its_share() {
        let sample = |offset_s: u64, right| Sample {
            offset_ns: offset_s * 1_000_000_000,
            length_ns: 1_000_000_000,
            right,
            ..Sample::default()
        };
        let samples = [sample(1, 100), sample(2, 100), sample(3, 50)];
        assert_eq!(ended_within(&samples, 0, 2_000_000_000), 200.0);
        assert_eq!(ended_within(&samples, 500_000_000, 2_500_000_000), 175.0);
    }

    #[test]
    fn a_rate_is_reached_from_99_percent_on_and_none_asked_is_always() {
        let rate = |asked_per_s, completed| Rate {
            asked_per_s,
            completed_per_s: Some(completed),
        };
        assert!(rate(Some(1000.0), 991.0).is_reached());
        assert!(!rate(Some(1000.0), 980.0).is_reached());
        assert!(rate(None, 1.0).is_reached());
    }
}
