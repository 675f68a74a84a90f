//! The lines of the live view, formatted for a width.

use std::collections::VecDeque;
use std::time::Duration;

use tare_record::agent::Sample;
use tare_report::quantity;
use tare_report::terminal::Colour;

use crate::values::{self, MISSING, bytes, maybe, maybe_time as time, per_s};

/// Samples in the sparkline; one per second.
const SPARK: usize = 40;

/// Width of the label of a line, and the narrowest and widest bar.
const LABEL: usize = 8;
const BAR: (usize, usize) = (8, 40);

/// Bars from the smallest to the largest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Smallest ratio of maximum to minimum that fills the height: a smaller one is noise and drawn as a low line.
const RATIO_MIN: f64 = 2.0;

/// State of a running load.
#[derive(Debug)]
pub struct LiveState {
    words: String,
    warmup_ns: u64,
    window_ns: Option<u64>,
    count: Option<u64>,
    offered_per_s: Option<f64>,
    /// Bytes of a record, when each exchange writes one.
    record_bytes: Option<f64>,
    last: Sample,
    done: u64,
    errors: u64,
    p99s: VecDeque<Option<u64>>,
}

impl LiveState {
    /// State before the first sample.
    pub fn new(
        words: &str,
        warmup_ns: u64,
        window_ns: Option<u64>,
        count: Option<u64>,
        offered_per_s: Option<f64>,
    ) -> Self {
        Self {
            words: words.to_owned(),
            warmup_ns,
            window_ns,
            count,
            offered_per_s,
            record_bytes: None,
            last: Sample::default(),
            done: 0,
            errors: 0,
            p99s: VecDeque::with_capacity(SPARK),
        }
    }

    /// Sets the bytes of the record that each exchange writes, if it writes one.
    pub fn of_records(self, record_bytes: Option<f64>) -> Self {
        Self {
            record_bytes,
            ..self
        }
    }

    /// Adds a sample.
    pub fn add(&mut self, sample: &Sample) {
        self.last = *sample;
        self.done += sample.ok + sample.errors;
        self.errors += sample.errors + sample.never_sent;
        if self.p99s.len() == SPARK {
            self.p99s.pop_front();
        }
        // Below a thousand answers per second there is no 99th percentile: the maximum is used.
        self.p99s
            .push_back(sample.latency_p99_ns.or(sample.latency_max_ns));
    }

    /// All lines; items that do not fit into `width` are left out.
    pub fn frame(&self, width: usize, paint: Colour) -> Vec<String> {
        let sample = &self.last;
        let line = |label: &str, items: &[String]| {
            let label = paint.faint(&format!("{label:<LABEL$}"));
            format!("{label}{}", fitted(items, width.saturating_sub(LABEL + 1)))
        };
        let errors = match self.errors {
            0 => "0".to_owned(),
            n => paint.bad(&format!(
                "{n} ({})",
                quantity::percent(n as f64 / self.done.max(1) as f64)
            )),
        };
        let latency = [
            format!("p50 {}", time(sample.latency_p50_ns)),
            format!("p99 {}", paint.strong(&time(sample.latency_p99_ns))),
            format!("max {}", time(sample.latency_max_ns)),
        ];
        let rate = [
            self.rate(paint),
            format!("{} in flight", sample.in_flight),
            format!("{} connections", sample.connections),
        ];
        let wrong = [
            errors,
            format!("late p99 {}", time(sample.lateness_p99_ns)),
            format!("{} answered", self.done),
        ];
        vec![
            paint.strong(&self.words),
            self.progress(width, paint),
            line("rate", &rate),
            line("latency", &latency),
            line("errors", &wrong),
            self.spark(width, paint),
        ]
    }

    /// The state as one line, for a log.
    pub fn line(&self) -> String {
        let sample = &self.last;
        format!(
            "{} · {} · latency p50 {}, p99 {}, max {} · errors {} · late p99 {} · {} in flight",
            quantity::span(sample.offset_ns),
            self.rate(Colour::Off),
            time(sample.latency_p50_ns),
            time(sample.latency_p99_ns),
            time(sample.latency_max_ns),
            self.errors,
            time(sample.lateness_p99_ns),
            sample.in_flight,
        )
    }

    fn rate(&self, paint: Colour) -> String {
        let sample = &self.last;
        let seconds = sample.length_ns as f64 / 1e9;
        let now = match (seconds > 0.0, sample.records) {
            (true, Some(records)) => {
                let bytes = bytes(records.bytes as f64 / seconds);
                let behind = records.consumer_lag.map(|behind| format!(", lag {behind}"));
                let records = per_s(records.count as f64 / seconds);
                format!("records {records}, {bytes}/s{}", behind.unwrap_or_default())
            }
            (true, None) => {
                let answered = per_s((sample.ok + sample.errors) as f64 / seconds);
                match self.record_bytes {
                    Some(each_bytes) => {
                        let bytes = bytes(sample.ok as f64 * each_bytes / seconds);
                        format!("records {answered}, {bytes}/s")
                    }
                    None => answered,
                }
            }
            (false, _) => MISSING.to_owned(),
        };
        let now = paint.strong(&now);
        match self.offered_per_s {
            Some(asked) => format!("{now} of {}", per_s(asked)),
            None => now,
        }
    }

    /// The share that is done, and the time left as text.
    fn left(&self) -> (Option<f64>, String) {
        let at_ns = self.last.offset_ns;
        let Some(in_window_ns) = at_ns.checked_sub(self.warmup_ns) else {
            let left = clock(self.warmup_ns - at_ns);
            return (None, format!("warming up, {left} left"));
        };
        match (self.window_ns, self.count) {
            (Some(window_ns), _) if in_window_ns >= window_ns => (Some(1.0), "last answers".into()),
            (Some(window_ns), _) => (
                Some(in_window_ns as f64 / window_ns.max(1) as f64),
                format!("{} left", clock(window_ns - in_window_ns)),
            ),
            (None, Some(count)) => {
                let share = (self.done as f64 / count.max(1) as f64).min(1.0);
                let left_ns = (share > 0.0).then(|| at_ns as f64 * (1.0 - share) / share);
                let left = maybe(left_ns.map(|ns| clock(ns as u64)));
                (Some(share), format!("about {left} left"))
            }
            (None, None) => (None, "to its end, or Ctrl-C".into()),
        }
    }

    fn progress(&self, width: usize, paint: Colour) -> String {
        let (share, left) = self.left();
        let elapsed = clock(self.last.offset_ns);
        let Some(share) = share else {
            return format!("{elapsed:<LABEL$}{left}");
        };
        let beside = LABEL + left.chars().count() + 3;
        let bar = width.saturating_sub(beside).clamp(BAR.0, BAR.1);
        let full = (share * bar as f64).round() as usize;
        let drawn = paint.drawn(&"━".repeat(full.min(bar)));
        let rest = paint.faint(&"─".repeat(bar.saturating_sub(full)));
        format!("{elapsed:<LABEL$}{drawn}{rest} {left}")
    }

    fn spark(&self, width: usize, paint: Colour) -> String {
        let values: Vec<Option<u64>> = self.p99s.iter().copied().collect();
        let scale = range(&values).map_or_else(String::new, |(low, high)| {
            format!("{}–{}", time(Some(low)), time(Some(high)))
        });
        let room = width.saturating_sub(LABEL + 2 + scale.chars().count());
        let shown = &values[values.len().saturating_sub(room)..];
        let label = paint.faint(&format!("{:<LABEL$}", "p99"));
        format!(
            "{label}{} {}",
            paint.drawn(&sparkline(shown)),
            paint.faint(&scale)
        )
    }
}

fn clock(ns: u64) -> String {
    values::clock(Duration::from_nanos(ns))
}

/// Joins the items that fit; the first one always does.
fn fitted(items: &[String], width: usize) -> String {
    let mut line = String::new();
    for item in items {
        let both = console::measure_text_width(&line) + 2 + console::measure_text_width(item);
        if !line.is_empty() {
            if both > width {
                break;
            }
            line.push_str("  ");
        }
        line.push_str(item);
    }
    line
}

/// One bar per value; a blank for a missing one.
fn sparkline(values: &[Option<u64>]) -> String {
    let Some((low, high)) = range(values) else {
        return " ".repeat(values.len());
    };
    let low = low.max(1) as f64;
    let ratio = (high as f64 / low).max(RATIO_MIN).ln();
    let bar = |value: &Option<u64>| {
        value.map_or(' ', |value| {
            let at = (value.max(1) as f64 / low).ln() / ratio * (BARS.len() - 1) as f64;
            BARS[(at.round().max(0.0) as usize).min(BARS.len() - 1)]
        })
    };
    values.iter().map(bar).collect()
}

/// The smallest and the largest value, if there are any.
fn range(values: &[Option<u64>]) -> Option<(u64, u64)> {
    let known = || values.iter().flatten().copied();
    Some((known().min()?, known().max()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Colour = Colour::Off;
    const S: u64 = 1_000_000_000;

    fn sample(second: u64) -> Sample {
        Sample {
            offset_ns: second * S,
            length_ns: S,
            ok: 1990,
            errors: 10,
            latency_p50_ns: Some(210_000),
            latency_p99_ns: Some(500_000 * second),
            latency_max_ns: Some(9_000_000),
            in_flight: 3,
            connections: 50,
            ..Sample::default()
        }
    }

    fn state(warmup_s: u64, window_s: u64) -> LiveState {
        LiveState::new(
            "a load",
            warmup_s * S,
            Some(window_s * S),
            None,
            Some(2000.0),
        )
    }

    #[test]
    fn the_frame_says_rate_quantiles_errors_lateness_and_what_is_left() {
        let mut state = state(0, 10);
        state.add(&sample(1));
        state.add(&sample(2));
        let frame = state.frame(100, PLAIN).join("\n");
        for words in [
            "2000/s of 2000/s",
            "p99 1.00 ms",
            "20 (0.50 %)",
            "late p99 –",
            "3 in flight",
            "0:08 left",
            "▁█",
            "━━━━━━━━────",
        ] {
            assert!(frame.contains(words), "{words:?} in\n{frame}");
        }
    }

    #[test]
    fn forty_columns_keep_every_line_and_lose_only_what_is_least_needed() {
        let mut state = state(0, 10);
        (1..=60).for_each(|second| state.add(&sample(second)));
        let frame = state.frame(40, PLAIN);
        assert_eq!(frame.len(), 6);
        for line in &frame[1..] {
            assert!(console::measure_text_width(line) < 40, "{line:?}");
        }
        assert!(frame[3].contains("p99"), "{frame:?}");
    }

    #[test]
    fn the_warm_up_and_the_wait_at_the_end_are_named() {
        let mut state = state(5, 10);
        state.add(&sample(2));
        assert_eq!(state.left(), (None, "warming up, 0:03 left".into()));
        state.add(&sample(16));
        assert_eq!(state.left().0, Some(1.0));
        assert!(state.left().1.contains("last answers"));
    }

    #[test]
    fn a_count_is_left_by_what_was_answered() {
        let mut state = LiveState::new("", 0, None, Some(8000), None);
        state.add(&sample(1));
        assert_eq!(state.left(), (Some(0.25), "about 0:03 left".into()));
    }

    #[test]
    fn a_log_gets_it_in_one_line_with_a_dash_for_what_is_not_known() {
        let mut state = state(0, 10);
        state.add(&Sample {
            latency_p99_ns: None,
            ..sample(3)
        });
        let line = state.line();
        assert!(line.contains("2000/s") && line.contains("p99 –"), "{line}");
        assert!(line.contains("errors 10"), "{line}");
    }

    #[test]
    fn each_tenfold_climbs_alike() {
        let values: Vec<Option<u64>> = (0..8).map(|n| Some(10_u64.pow(n))).collect();
        assert_eq!(sparkline(&values), "▁▂▃▄▅▆▇█");
    }

    #[test]
    fn noise_stays_low_and_a_second_without_answers_stays_blank() {
        assert_eq!(sparkline(&[Some(100), None, Some(101)]), "▁ ▁");
        assert_eq!(sparkline(&[None, None]), "  ");
        assert_eq!(sparkline(&[]), "");
    }
}
