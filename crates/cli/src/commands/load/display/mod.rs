//! Progress display of `tare load`: lines redrawn in place on a terminal, else a line every ten seconds.

mod frame;

use std::io::{Write, stderr};

use console::Term;
use tare_record::agent::Sample;
use tare_record::load::{LoadSpec, Pacing, Stop};

use super::throughput;
use crate::progress::ProgressOutput;
use crate::screen;
use frame::LiveState;

/// Interval of lines where there is no terminal.
const LINE_EVERY_NS: u64 = 10_000_000_000;

/// The progress display.
pub struct Display {
    output: ProgressOutput,
    state: LiveState,
    /// The lines on the terminal now.
    drawn: Vec<String>,
    next_line_ns: u64,
}

impl Display {
    /// A display for this load, as standard error supports it.
    pub fn new(is_shown: bool, words: &str, load: &LoadSpec) -> Self {
        let can_move = std::env::var_os("TERM").is_none_or(|name| name != "dumb");
        let output = match (is_shown, Term::stderr().is_term() && can_move) {
            (false, _) => ProgressOutput::Off,
            (true, true) => ProgressOutput::Terminal,
            (true, false) => ProgressOutput::Log,
        };
        let offered_per_s = match load.pacing {
            Pacing::Constant { rate_per_s } | Pacing::Poisson { rate_per_s } => Some(rate_per_s),
            // No rate, or one that changes.
            _ => None,
        };
        let (window_ns, count) = match load.stop {
            Stop::Duration { window_ns } => (Some(window_ns), None),
            Stop::Count { exchanges } => (None, Some(exchanges)),
            Stop::Interrupted => (None, None),
        };
        Self {
            output,
            state: LiveState::new(words, load.warmup_ns, window_ns, count, offered_per_s)
                .of_records(throughput::planned_bytes(load)),
            drawn: Vec::new(),
            next_line_ns: LINE_EVERY_NS,
        }
    }

    /// Shows a message before there are samples.
    pub fn say(&mut self, words: &str) {
        if self.output == ProgressOutput::Terminal {
            self.draw(vec![words.to_owned()]);
        }
    }

    /// Shows the newest sample.
    pub fn show(&mut self, sample: &Sample) {
        self.state.add(sample);
        match self.output {
            ProgressOutput::Terminal => {
                let screen = screen::screen(&Term::stderr());
                let lines = self.state.frame(usize::from(screen.width), screen.colour);
                self.draw(lines);
            }
            ProgressOutput::Log if sample.offset_ns >= self.next_line_ns => {
                self.next_line_ns =
                    (sample.offset_ns / LINE_EVERY_NS + 1).saturating_mul(LINE_EVERY_NS);
                // An error means that standard error is closed.
                let _ = writeln!(stderr(), "{}", self.state.line());
            }
            _ => {}
        }
    }

    /// Removes the lines.
    pub fn clear(&mut self) {
        if self.output == ProgressOutput::Terminal {
            self.draw(Vec::new());
        }
    }

    fn draw(&mut self, lines: Vec<String>) {
        let width = usize::from(screen::screen(&Term::stderr()).width);
        let mut out = String::new();
        // If the terminal has become narrower, each line takes several rows now.
        let up = rows(&self.drawn, width);
        if up > 0 {
            out.push_str(&format!("\x1b[{up}A"));
        }
        out.push_str("\r\x1b[J");
        for line in &lines {
            out.push_str(&console::truncate_str(line, width.saturating_sub(1), "…"));
            out.push('\n');
        }
        // An error means that the terminal is gone.
        let _ = stderr().write_all(out.as_bytes());
        let _ = stderr().flush();
        self.drawn = lines
            .iter()
            .map(|line| console::truncate_str(line, width.saturating_sub(1), "…").into_owned())
            .collect();
    }
}

/// Rows that lines take on a terminal of this width.
fn rows(lines: &[String], width: usize) -> usize {
    let of = |line: &String| {
        console::measure_text_width(line)
            .div_ceil(width.max(1))
            .max(1)
    };
    lines.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_drawn_wide_take_more_rows_once_the_terminal_is_narrow() {
        let lines = ["x".repeat(79), "y".repeat(10), String::new()];
        assert_eq!(rows(&lines, 80), 3);
        assert_eq!(rows(&lines, 40), 4);
        assert_eq!(rows(&lines, 39), 5);
    }
}
