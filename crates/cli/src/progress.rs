//! Progress of a run: one live line on a terminal, plain lines elsewhere.

use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tare_conduct::{Event, StopDecision, TrialProgress, Watcher};
use tare_lab::doctor::OtherPrograms;
use tare_record::agent::Sample;
use tare_record::escape::{escape_line, escape_lines};
use tare_record::event::RunEvent;
use tare_record::plan::Plan;
use tare_record::record::{TrialRecord, TrialStatus};
use tare_record::view::{Overhead, View};
use tare_report::quantity;

use crate::screen::{self, say_raw};
use crate::signals::Interruption;
use crate::values::{MISSING, clock, maybe_time};

/// File of the provisional report, in the folder of a run whose progress is no terminal.
const PROVISIONAL: &str = "provisional.txt";

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressOutput {
    /// One line, rewritten in place.
    Terminal,
    /// One line per trial.
    Log,
    /// Nothing (`--json`).
    Off,
    /// One JSON object a line, on standard output (`--json-lines`).
    JsonLines,
}

/// Shows the progress of a run.
pub struct ProgressWatcher {
    experiment: String,
    output: ProgressOutput,
    bar: ProgressBar,
    interruption: Interruption,
    plan: Plan,
    folder: Option<PathBuf>,
}

impl ProgressWatcher {
    /// A watcher of a run of this plan.
    pub fn new(plan: &Plan, output: ProgressOutput, interruption: Interruption) -> Self {
        let target = match output {
            ProgressOutput::Terminal => ProgressDrawTarget::stderr(),
            ProgressOutput::Log | ProgressOutput::Off | ProgressOutput::JsonLines => {
                ProgressDrawTarget::hidden()
            }
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        ProgressWatcher {
            experiment: escape_line(short_name(&plan.experiment)).into_owned(),
            output,
            bar,
            interruption,
            plan: plan.clone(),
            folder: None,
        }
    }

    /// The run folder, once it exists.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Warns of CPU that other programs use before anything is started.
    pub fn other_programs(&self, found: &OtherPrograms) {
        let Some(words) = found.in_words() else {
            return;
        };
        let text = format!("{words}: intervals will be wider");
        match self.output {
            ProgressOutput::JsonLines => print_line(&RunEvent::Note { text }),
            _ => self.say(&escape_lines(&format!("{} · {text}", self.experiment))),
        }
    }

    /// Removes the live line.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, words: &str) {
        match self.output {
            ProgressOutput::Terminal => self.bar.suspend(|| say_raw(words)),
            ProgressOutput::Log => say_raw(words),
            ProgressOutput::Off | ProgressOutput::JsonLines => {}
        }
    }

    /// Shows a message: in the live line on a terminal, as a line in a log.
    fn show_transient(&self, words: String) {
        match self.output {
            ProgressOutput::Terminal => self.bar.set_message(words),
            ProgressOutput::Log => say_raw(&words),
            ProgressOutput::Off | ProgressOutput::JsonLines => {}
        }
    }

    fn position_text(&self, at: &TrialProgress<'_>) -> String {
        let again = match (at.attempt, at.slot.copy) {
            (0, 0) => "",
            (0, _) => " (again, A/A check)",
            _ => " (repeat)",
        };
        format!(
            "{} · block {}/{} · {}{again} · {} · {} left",
            self.experiment,
            at.block,
            at.blocks,
            escape_line(&at.slot.arm),
            escape_line(&at.slot.level),
            clock(at.left)
        )
    }

    /// Shows what a trial waits for, on a terminal only.
    fn show_wait(&self, at: &TrialProgress<'_>, what: &str) {
        if self.output == ProgressOutput::Terminal {
            let message = format!("{} · {}", self.position_text(at), escape_line(what));
            self.bar.set_message(message);
        }
    }

    fn show_sample(&self, at: &TrialProgress<'_>, sample: &Sample) {
        if self.output != ProgressOutput::Terminal {
            return;
        }
        let seconds = sample.length_ns as f64 / 1e9;
        let rate = if seconds > 0.0 {
            format!("{:.0}/s", (sample.ok + sample.errors) as f64 / seconds)
        } else {
            MISSING.to_owned()
        };
        let p99 = maybe_time(sample.latency_p99_ns);
        let errors = match sample.errors {
            0 => String::new(),
            n => format!(", {n} errors"),
        };
        self.bar.set_message(format!(
            "{} · now {rate}, p99 {p99}{errors}",
            self.position_text(at)
        ));
    }

    fn trial_done(&self, record: &TrialRecord) {
        let why = match &record.status {
            TrialStatus::Fit => return,
            TrialStatus::Unfit { reasons } => format!("unfit: {}", reasons.join("; ")),
            TrialStatus::Invalid { reasons } => format!("invalid: {}", reasons.join("; ")),
            TrialStatus::Failed { reason, log_tail } => {
                let tail: String = log_tail
                    .iter()
                    .map(|line| format!("\n    {line}"))
                    .collect();
                format!("failed: {reason}{tail}")
            }
        };
        self.say(&escape_lines(&format!(
            "  block {} · {} · {}: {why}",
            record.block, record.arm, record.level
        )));
    }

    /// Shows a provisional report: on a terminal at once. A log would have it between its lines: there it is a file.
    fn provisional(&self, folder: &Path, view: &View, (block, of): (u32, u32)) {
        let screen = screen::screen(&console::Term::stderr());
        let report = tare_report::terminal::terminal(view, screen);
        if self.output == ProgressOutput::Terminal {
            return self.say(&report);
        }
        let file = folder.join(PROVISIONAL);
        let said = match tare_conduct::write_synced(&file, report.as_bytes()) {
            Ok(()) => format!("provisional report in {}", file.display()),
            Err(error) => format!("no provisional report: {error}"),
        };
        self.say(&escape_lines(&format!(
            "{} · block {block}/{of} · {said}",
            self.experiment
        )));
    }

    /// Makes a provisional report after the first block, and from the third on.
    fn block_done(&self, folder: &Path, block: u32, of: u32) {
        let is_shown = matches!(self.output, ProgressOutput::Terminal | ProgressOutput::Log);
        if !is_shown || block == of {
            return;
        }
        if block == 1 || block >= 3 {
            match tare_report::read(folder) {
                Ok(run) => self.provisional(folder, &tare_report::view(&run), (block, of)),
                Err(error) => self.say(&escape_lines(&format!("  (no table yet: {error})"))),
            }
        }
    }
}

impl Watcher for ProgressWatcher {
    fn on_event(&mut self, event: &Event<'_>) {
        if self.output == ProgressOutput::JsonLines {
            print_line(&event.line());
        }
        match event {
            Event::Preparing(words) => {
                self.show_transient(format!("{} · {}", self.experiment, escape_line(words)))
            }
            Event::Note(words) => {
                self.say(&format!("{} · {}", self.experiment, escape_lines(words)))
            }
            Event::Started {
                folder,
                trials,
                done,
            } => {
                self.folder = Some(folder.to_path_buf());
                let done = match done {
                    0 => String::new(),
                    done => format!(", {done} of them measured before"),
                };
                self.say(&format!(
                    "{} · {trials} trials{done} · records in {}",
                    self.experiment,
                    folder.display()
                ));
            }
            Event::TrialStarted(at) => self.show_transient(self.position_text(at)),
            Event::Starting(at, instance, waited) => {
                let seconds = waited.as_secs();
                self.show_wait(at, &format!("starting {instance}, {seconds} s"));
            }
            Event::Step(at, name) => self.show_wait(at, &format!("step {name}")),
            Event::Sampled(at, _, sample) => self.show_sample(at, sample),
            Event::TrialDone(record) => self.trial_done(record),
            Event::BlockDone { folder, block, of } => self.block_done(folder, *block, *of),
            Event::Usage(..) | Event::Ended { .. } => {}
        }
    }

    fn should_stop(&mut self, folder: &Path) -> StopDecision {
        stopping_rule(&self.plan, folder)
    }

    fn interrupted(&self) -> bool {
        // Lines that nobody reads are no reason to go on.
        self.interruption.is_requested() || screen::is_closed()
    }
}

/// A difference is known well enough when the half width of its interval is this part of it.
const OF_DIFFERENCE: f64 = 4.0;

/// Whether the intervals that the plan names are narrow enough by the records of a run folder, so that the run can end early.
fn stopping_rule(plan: &Plan, folder: &Path) -> StopDecision {
    let Some(until) = plan.blocks.until else {
        return StopDecision::Continue;
    };
    let Ok(run) = tare_report::read(folder) else {
        return StopDecision::Continue;
    };
    let view = tare_report::view(&run);
    let of_metric = view.overheads.iter();
    let mut of_metric = of_metric
        .filter(|overhead| overhead.metric == until.metric)
        .peekable();
    let is_narrow = |overhead: &Overhead| {
        let ratio = overhead.ratio?;
        let half_width = (ratio.high? - ratio.low?) / 2.0;
        let enough = until
            .half_width
            .max((ratio.estimate - 1.0).abs() / OF_DIFFERENCE);
        Some(half_width <= enough)
    };
    if of_metric.peek().is_some() && of_metric.all(|one| is_narrow(one).unwrap_or(false)) {
        StopDecision::Stop(format!(
            "every interval's half-width of the {} is at most {}, or a quarter of the difference",
            until.metric.label(),
            quantity::percent(until.half_width)
        ))
    } else {
        StopDecision::Continue
    }
}

/// Prints a line of JSON; that nobody reads it is noticed by `interrupted`.
fn print_line(event: &RunEvent) {
    let _ = screen::print_event(event);
}

/// `sidecar` of `istio-performance/sidecar`.
fn short_name(experiment: &str) -> &str {
    experiment.rsplit('/').next().unwrap_or(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_is_called_by_its_stem() {
        assert_eq!(short_name("istio-performance/sidecar"), "sidecar");
        assert_eq!(short_name("sidecar"), "sidecar");
    }
}
