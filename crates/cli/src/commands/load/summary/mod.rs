//! The summary that `tare load` prints at the end.

mod generator;
mod outcomes;
mod percentiles;

use std::fmt::Write as _;

use tare_load::LoadOutcome;
use tare_record::agent::{LoadEnd, LoadResult, Redirects};
use tare_record::escape::escape_line;
use tare_record::load::Pacing;
use tare_record::load_report::{AssertionOutcome, AssertionReport};
use tare_report::quantity;
use tare_report::terminal::{Colour, Screen, wrap};

use super::generator_check::GeneratorCheck;
use crate::screen;
use crate::values::{columns, maybe, per_s};

/// The rate is reached when this share of it was answered within the window.
const REACHED: f64 = 0.99;

/// Width of the label of a line.
const LABEL: usize = 13;

/// Smallest and largest width at which lines are wrapped.
const WIDTH: (usize, usize) = (40, 110);

/// Offered and completed rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadRate {
    /// Offered rate.
    pub offered_per_s: Option<f64>,
    /// Exchanges that ended within the window, per second; `None` for a window of length 0.
    pub achieved_per_s: Option<f64>,
}

impl LoadRate {
    /// The rate of a result.
    pub fn new(pacing: &Pacing, result: &LoadResult) -> Self {
        let answered = result.completed_in_window;
        // The offered rate counts what the schedule releases, which may be sessions.
        let (intended, ended) = match result.sessions {
            Some(sessions) => (sessions.intended, sessions.ended_in_window),
            None => (result.intended, answered.ok + answered.errors),
        };
        let ended = ended as f64;
        Self {
            offered_per_s: pacing.offered_per_s(intended, result.window_ns),
            achieved_per_s: (result.window_ns > 0).then(|| ended / (result.window_ns as f64 / 1e9)),
        }
    }

    /// Whether the offered rate was reached; true when there is none.
    pub fn is_reached(&self) -> bool {
        match (self.offered_per_s, self.achieved_per_s) {
            (Some(asked), Some(completed)) => completed >= asked * REACHED,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}

/// The result as text.
#[derive(Debug)]
pub struct Summary<'a> {
    /// Description of the load.
    pub words: &'a str,
    /// Offered and completed rate.
    pub rate: LoadRate,
    /// Self-check of the generator.
    pub generator_check: &'a GeneratorCheck,
    /// Results of the assertions.
    pub assertions: &'a [AssertionReport],
    /// Processes whose stacks were sampled.
    pub profiled: &'a [String],
}

/// Collects the text of the summary.
struct SummaryWriter {
    text: String,
    paint: Colour,
    width: usize,
}

impl SummaryWriter {
    /// Writes a line with a label; long ones are wrapped and indented.
    fn line(&mut self, label: &str, words: &str) {
        let label = self.paint.strong(&format!("{label:<LABEL$}"));
        let words = wrap(&format!("{label}{words}"), self.width, LABEL);
        let _ = writeln!(self.text, "{words}");
    }

    fn plain(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// Writes rows in columns, the first one as their head.
    fn table(&mut self, rows: &[Vec<String>]) {
        for (place, line) in columns(rows).into_iter().enumerate() {
            let line = match place {
                0 => self.paint.strong(&line),
                _ => line,
            };
            self.plain(&line);
        }
    }

    /// Writes an explanation.
    fn faint(&mut self, words: &str) {
        for line in wrap(words, self.width, 0).lines() {
            let line = self.paint.faint(line);
            self.plain(&line);
        }
    }
}

impl Summary<'_> {
    /// Prints the warnings to standard error. They are comments of a histogram log: the log of a pod has both streams.
    pub fn say_warnings(&self) {
        for warning in &self.generator_check.warnings {
            screen::say(format_args!("# warning: {warning}"));
        }
    }

    /// The whole summary.
    pub fn text(&self, outcome: &LoadOutcome, screen: Screen) -> String {
        let mut out = SummaryWriter {
            text: String::new(),
            paint: screen.colour,
            width: usize::from(screen.width).clamp(WIDTH.0, WIDTH.1),
        };
        let result = &outcome.result;
        let words = out.paint.strong(&wrap(self.words, out.width, 0));
        out.plain(&words);
        let how = match (&result.abort_reason, result.ended) {
            (Some(_), _) => Some("aborted"),
            (None, LoadEnd::Interrupted) => Some("interrupted"),
            (None, LoadEnd::Completed | LoadEnd::Aborted) => None,
        };
        if let Some(how) = how {
            let span = quantity::span(result.window_ns);
            out.plain(&format!(
                "{how} after {span}: everything measured until then follows"
            ));
        }
        if let Some(why) = &result.abort_reason {
            out.line("aborted", why);
        }
        if let Some(redirects) = &result.redirects {
            out.line("redirects", &redirects_text(redirects));
        }
        out.plain("");
        percentiles::latencies(&mut out, outcome);
        percentiles::histogram(&mut out, outcome);
        percentiles::requests(&mut out, outcome);
        percentiles::statuses(&mut out, outcome);
        self.rate_line(&mut out);
        outcomes::outcomes(&mut out, outcome);
        outcomes::traffic(&mut out, result);
        outcomes::opening(&mut out, outcome);
        generator::generator(&mut out, outcome, &self.generator_check.report);
        self.verdicts(&mut out);
        out.text
    }

    fn rate_line(&self, out: &mut SummaryWriter) {
        let completed = maybe(self.rate.achieved_per_s.map(per_s));
        let words = match self.rate.offered_per_s {
            Some(offered) => {
                let reached = match self.rate.is_reached() {
                    true => "reached".to_owned(),
                    false => out.paint.bad("NOT REACHED"),
                };
                format!(
                    "offered {}, completed {completed}: {reached}",
                    per_s(offered)
                )
            }
            None => format!("completed {completed}"),
        };
        out.line("rate", &words);
    }

    fn verdicts(&self, out: &mut SummaryWriter) {
        if !self.generator_check.warnings.is_empty() {
            out.plain("");
        }
        for warning in &self.generator_check.warnings {
            let mark = out.paint.bad("!");
            let words = wrap(&format!("{mark} {warning}"), out.width, 2);
            out.plain(&words);
        }
        if !self.assertions.is_empty() {
            out.plain("");
        }
        for assertion in self.assertions {
            let words = assertion_text(assertion);
            let words = match assertion.verdict {
                AssertionOutcome::Passed => out.paint.good(&format!("✓ {words}")),
                AssertionOutcome::Failed | AssertionOutcome::Undecided => {
                    out.paint.bad(&format!("✗ {words}"))
                }
            };
            let words = wrap(&words, out.width, 2);
            out.plain(&words);
        }
    }
}

/// What redirects mean for the result.
fn redirects_text(redirects: &Redirects) -> String {
    let answers = match redirects.count {
        1 => "1 answer was a redirect".to_owned(),
        count => format!("{count} answers were redirects"),
    };
    match &redirects.location {
        Some(location) => format!(
            "{answers} to {}, which is not followed: to measure what is there, give that URL",
            escape_line(location)
        ),
        None => format!("{answers} without a location"),
    }
}

/// The result of an assertion as a sentence.
pub fn assertion_text(assertion: &AssertionReport) -> String {
    let verdict = match assertion.verdict {
        AssertionOutcome::Passed => "held",
        AssertionOutcome::Failed => "failed",
        AssertionOutcome::Undecided => "undecided",
    };
    format!("{} {verdict}: {}", assertion.assertion, assertion.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_said_with_their_number_and_place() {
        let text = |count, location: Option<&str>| {
            redirects_text(&Redirects {
                count,
                location: location.map(str::to_owned),
            })
        };
        assert!(
            text(50, Some("https://h/")).starts_with("50 answers were redirects to https://h/,")
        );
        assert!(text(1, Some("/a")).starts_with("1 answer was a redirect to /a,"));
        assert_eq!(text(2, None), "2 answers were redirects without a location");
    }

    #[test]
    fn a_rate_is_reached_from_99_percent_on_and_none_asked_is_always() {
        let rate = |offered_per_s, completed| LoadRate {
            offered_per_s,
            achieved_per_s: Some(completed),
        };
        assert!(rate(Some(1000.0), 991.0).is_reached());
        assert!(!rate(Some(1000.0), 980.0).is_reached());
        assert!(rate(None, 1.0).is_reached());
    }
}
