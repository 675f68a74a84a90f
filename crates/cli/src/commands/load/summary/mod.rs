//! What `tare load` prints at the end.

mod ladder;
mod ours;
mod outcomes;

use std::fmt::Write as _;

use tare_load::Outcome;
use tare_report::quantity;
use tare_report::terminal::Screen;
use tare_schema::agent::{Ended, LoadResult};
use tare_schema::load::Pacing;
use tare_schema::load_report::{AssertionReport, AssertionVerdict};
use tare_schema::metric::Unit;

use super::judgement::Judgement;
use super::paint::{Paint, wrapped};

/// The rate is reached when so much of it was answered within the window.
const REACHED: f64 = 0.99;

/// Width of the words that begin a line.
const LABEL: usize = 13;

/// Narrower than this lines are not broken; wider than that they cannot be read.
const WIDTH: (usize, usize) = (40, 110);

/// The rate as asked and as it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// As asked.
    pub asked_per_s: Option<f64>,
    /// Exchanges that ended within the window, per second; unknown for a window without length.
    pub completed_per_s: Option<f64>,
}

impl Rate {
    /// Of a result.
    pub fn new(pacing: &Pacing, result: &LoadResult) -> Self {
        let answered = result.answered_in_window;
        // What is asked for is what the schedule releases, and that may be sessions.
        let (intended, ended) = match result.sessions {
            Some(sessions) => (sessions.intended, sessions.ended_in_window),
            None => (result.intended, answered.right + answered.errors),
        };
        let ended = ended as f64;
        Self {
            asked_per_s: pacing.offered_per_s(intended, result.window_ns),
            completed_per_s: (result.window_ns > 0)
                .then(|| ended / (result.window_ns as f64 / 1e9)),
        }
    }

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
#[derive(Debug)]
pub struct Summary<'a> {
    /// The load in words.
    pub words: &'a str,
    /// Asked and reached.
    pub rate: Rate,
    /// What of it was ours.
    pub judgement: &'a Judgement,
    /// What was asserted.
    pub assertions: &'a [AssertionReport],
}

/// Where the text goes: its width, its colours, and what was written so far.
struct Page {
    text: String,
    paint: Paint,
    width: usize,
}

impl Page {
    /// A line that begins with a word; what is too long goes on below, indented.
    fn line(&mut self, label: &str, words: &str) {
        let label = self.paint.strong(&format!("{label:<LABEL$}"));
        let words = wrapped(&format!("{label}{words}"), self.width, LABEL);
        let _ = writeln!(self.text, "{words}");
    }

    fn plain(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// An explanation.
    fn faint(&mut self, words: &str) {
        for line in wrapped(words, self.width, 0).lines() {
            let line = self.paint.faint(line);
            self.plain(&line);
        }
    }
}

impl Summary<'_> {
    /// All of it.
    pub fn text(&self, outcome: &Outcome, screen: Screen) -> String {
        let mut page = Page {
            text: String::new(),
            paint: Paint(screen.colour),
            width: usize::from(screen.width).clamp(WIDTH.0, WIDTH.1),
        };
        let result = &outcome.result;
        let words = page.paint.strong(&wrapped(self.words, page.width, 0));
        page.plain(&words);
        let how = match (&result.broke_off, result.ended) {
            (Some(_), _) => Some("broke off"),
            (None, Ended::Interrupted) => Some("interrupted"),
            (None, Ended::Completed | Ended::BrokeOff) => None,
        };
        if let Some(how) = how {
            let span = quantity::span(result.window_ns);
            page.plain(&format!(
                "{how} after {span}: everything measured until then follows"
            ));
        }
        if let Some(why) = &result.broke_off {
            page.line("broke off", why);
        }
        page.plain("");
        ladder::latencies(&mut page, outcome);
        ladder::histogram(&mut page, outcome);
        ladder::requests(&mut page, outcome);
        ladder::statuses(&mut page, outcome);
        self.rate_line(&mut page);
        outcomes::outcomes(&mut page, outcome);
        outcomes::traffic(&mut page, result);
        outcomes::opening(&mut page, outcome);
        ours::ours(&mut page, outcome, &self.judgement.ours);
        self.verdicts(&mut page);
        page.text
    }

    fn rate_line(&self, page: &mut Page) {
        let rate = |per_s| quantity::value(Unit::PerSecond, per_s);
        let completed = self
            .rate
            .completed_per_s
            .map_or_else(|| quantity::MISSING.to_owned(), rate);
        let words = match self.rate.asked_per_s {
            Some(asked) if self.rate.is_reached() => {
                format!("{} asked, {completed} answered: reached", rate(asked))
            }
            Some(asked) => {
                let not = page.paint.bad("NOT REACHED");
                format!("{} asked, {completed} answered: {not}", rate(asked))
            }
            None => format!("{completed} answered"),
        };
        page.line("rate", &words);
    }

    fn verdicts(&self, page: &mut Page) {
        if !self.judgement.warnings.is_empty() {
            page.plain("");
        }
        for warning in &self.judgement.warnings {
            let mark = page.paint.bad("!");
            let words = wrapped(&format!("{mark} {warning}"), page.width, 2);
            page.plain(&words);
        }
        if !self.assertions.is_empty() {
            page.plain("");
        }
        for assertion in self.assertions {
            let words = sentence(assertion);
            let words = match assertion.verdict {
                AssertionVerdict::Held => page.paint.good(&format!("✓ {words}")),
                AssertionVerdict::Failed | AssertionVerdict::CannotBeTold => {
                    page.paint.bad(&format!("✗ {words}"))
                }
            };
            let words = wrapped(&words, page.width, 2);
            page.plain(&words);
        }
    }
}

/// How an assertion went, in words.
pub fn sentence(assertion: &AssertionReport) -> String {
    let verdict = match assertion.verdict {
        AssertionVerdict::Held => "held",
        AssertionVerdict::Failed => "failed",
        AssertionVerdict::CannotBeTold => "cannot be told",
    };
    format!("{} {verdict}: {}", assertion.assertion, assertion.because)
}

#[cfg(test)]
mod tests {
    use super::*;

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
