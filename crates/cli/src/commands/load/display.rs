//! The live line of `tare load`: on a terminal only, rewritten once a second.

use std::io::{IsTerminal, Write, stderr};

use tare_report::quantity;
use tare_schema::agent::Sample;
use tare_schema::metric::Unit;

/// The line.
pub struct Display {
    live: bool,
    errors: u64,
}

impl Display {
    /// A line, unless nobody wants or can see it.
    pub fn new(quiet: bool) -> Self {
        Self {
            live: !quiet && stderr().is_terminal(),
            errors: 0,
        }
    }

    /// Shows the newest sample.
    pub fn show(&mut self, sample: &Sample) {
        self.errors += sample.errors;
        if !self.live {
            return;
        }
        // Fails only when the terminal is gone, and then nobody looks.
        let _ = write!(stderr(), "\r\x1b[K{}", line(sample, self.errors));
        let _ = stderr().flush();
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.live {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

fn line(sample: &Sample, errors: u64) -> String {
    let seconds = sample.length_ns as f64 / 1e9;
    let rate = match seconds > 0.0 {
        true => format!("{:.0}/s", (sample.right + sample.errors) as f64 / seconds),
        false => "–".to_owned(),
    };
    format!(
        "{} · {rate} · felt p50 {}, p99 {}, max {} · errors {errors} · late p99 {} · {} in flight",
        quantity::span(sample.offset_ns),
        time(sample.felt_p50_ns),
        time(sample.felt_p99_ns),
        time(sample.felt_max_ns),
        time(sample.lateness_p99_ns),
        sample.in_flight,
    )
}

/// A time, or a dash.
pub fn time(ns: Option<u64>) -> String {
    ns.map_or_else(
        || "–".to_owned(),
        |ns| quantity::value(Unit::Nanoseconds, ns as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_rate_quantiles_errors_and_lateness_and_a_dash_for_what_is_not_known() {
        let sample = Sample {
            offset_ns: 3_000_000_000,
            length_ns: 1_000_000_000,
            right: 1990,
            errors: 10,
            felt_p50_ns: Some(210_000),
            ..Sample::default()
        };
        let line = line(&sample, 12);
        assert!(line.contains("2000/s"), "{line}");
        assert!(
            line.contains("p99 –") && line.contains("errors 12"),
            "{line}"
        );
    }
}
