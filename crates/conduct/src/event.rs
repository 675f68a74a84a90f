//! Progress events of a run, and the traits that receive them.

use std::path::Path;
use std::time::Duration;

use tare_lab::environment::UsageSample;
use tare_record::agent::Sample;
use tare_record::event::{RunEvent, TrialPosition};
use tare_record::record::{RunProgress, TrialRecord};

use crate::order::Slot;

/// A progress event.
#[derive(Debug)]
pub enum Event<'a> {
    /// What is being prepared, as text.
    Preparing(&'a str),
    /// A note to the user before measuring begins, as text.
    Note(&'a str),
    /// The run folder exists; measuring begins.
    Started {
        /// The run folder.
        folder: &'a Path,
        /// Trials planned, repeats not included.
        trials: u32,
        /// Trials of complete blocks from before the run was resumed.
        done: u32,
    },
    /// A trial begins.
    TrialStarted(&'a TrialProgress<'a>),
    /// An instance is being started for the trial; its name and the time waited so far.
    Starting(&'a TrialProgress<'a>, &'a str, Duration),
    /// A preparation step is running; its name.
    Step(&'a TrialProgress<'a>, &'a str),
    /// A sample of the current trial or of a preparation step; the role or the step, and the sample.
    Sampled(&'a TrialProgress<'a>, &'a str, &'a Sample),
    /// Resource usage of the parts in the current window.
    Usage(&'a TrialProgress<'a>, &'a UsageSample),
    /// A trial was measured and its record is on disk.
    TrialDone(&'a TrialRecord),
    /// All trials of a block are on disk.
    BlockDone {
        /// The run folder.
        folder: &'a Path,
        /// The block, from 1.
        block: u32,
        /// Blocks planned at most.
        of: u32,
    },
    /// The run has ended, and its state is on disk.
    Ended {
        /// How far it came.
        progress: RunProgress,
        /// Why, if not as planned.
        reason: Option<&'a str>,
    },
}

/// Where the run is: the trial, and the time left.
#[derive(Debug, Clone)]
pub struct TrialProgress<'a> {
    /// Block, from 1.
    pub block: u32,
    /// Maximum number of blocks.
    pub blocks: u32,
    /// Arm, level and copy.
    pub slot: &'a Slot,
    /// 0, or 1 for a repeat.
    pub attempt: u32,
    /// Estimate of the time to the end of the run.
    pub left: Duration,
}

impl Event<'_> {
    /// The event as a line of `progress.jsonl` and of `tare run --json-lines`.
    #[must_use]
    pub fn line(&self) -> RunEvent {
        match self {
            Event::Preparing(what) => RunEvent::Preparing {
                what: (*what).to_owned(),
            },
            Event::Note(text) => RunEvent::Note {
                text: (*text).to_owned(),
            },
            Event::Started {
                folder,
                trials,
                done,
            } => RunEvent::Started {
                folder: folder.display().to_string(),
                trials: *trials,
                done: *done,
            },
            Event::TrialStarted(at) => RunEvent::TrialStarted { at: position(at) },
            Event::Starting(at, instance, waited) => RunEvent::Starting {
                at: position(at),
                instance: (*instance).to_owned(),
                waited_ns: waited.as_nanos() as u64,
            },
            Event::Step(at, step) => RunEvent::Step {
                at: position(at),
                step: (*step).to_owned(),
            },
            Event::Sampled(at, source, sample) => RunEvent::Sample {
                at: position(at),
                source: (*source).to_owned(),
                sample: Box::new(**sample),
            },
            Event::TrialDone(record) => RunEvent::TrialDone {
                trial: record.trial,
                block: record.block,
                arm: record.arm.clone(),
                level: record.level.clone(),
                aa_copy: record.aa_copy,
                attempt: record.attempt,
                status: record.status.clone(),
            },
            Event::BlockDone { block, of, .. } => RunEvent::BlockDone {
                block: *block,
                blocks: *of,
            },
            Event::Usage(at, usage) => RunEvent::Usage {
                at: position(at),
                length_ns: usage.length.as_nanos() as u64,
                parts: usage.parts.clone(),
                background_cpu_ns: usage.background_cpu_ns,
            },
            Event::Ended { progress, reason } => RunEvent::Ended {
                progress: *progress,
                reason: reason.map(str::to_owned),
            },
        }
    }
}

fn position(at: &TrialProgress<'_>) -> TrialPosition {
    TrialPosition {
        block: at.block,
        blocks: at.blocks,
        arm: at.slot.arm.clone(),
        level: at.slot.level.clone(),
        aa_copy: at.slot.copy,
        attempt: at.attempt,
        left_ns: at.left.as_nanos() as u64,
    }
}

/// Whether the run may stop after the blocks measured so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopDecision {
    /// Measure the next block.
    Continue,
    /// End the run, for this reason.
    Stop(String),
}

/// Receives the progress of one trial.
pub(crate) trait TrialObserver {
    fn step(&mut self, name: &str);
    fn sample(&mut self, role: &str, sample: &Sample);
    fn usage(&mut self, usage: &UsageSample);
    fn interrupted(&self) -> bool;
}

/// Receives the events of a run, and decides whether it ends early.
pub trait Watcher {
    /// Handles an event; must not block for long.
    fn on_event(&mut self, event: &Event<'_>);

    /// Decides, between `blocks.min` and `blocks.max`, whether the intervals are narrow enough.
    fn should_stop(&mut self, folder: &Path) -> StopDecision;

    /// Whether the user has interrupted the run.
    fn interrupted(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_says_of_which_trial_it_is() {
        let slot = Slot {
            arm: "direct".into(),
            level: "400/s".into(),
            copy: 1,
        };
        let at = TrialProgress {
            block: 2,
            blocks: 5,
            slot: &slot,
            attempt: 0,
            left: Duration::from_secs(3),
        };
        let sample = Sample {
            ok: 7,
            ..Sample::default()
        };
        let line = serde_json::to_value(Event::Sampled(&at, "client", &sample).line()).unwrap();
        assert_eq!(line["event"], "sample");
        assert_eq!(line["source"], "client");
        assert_eq!(line["sample"]["ok"], 7);
        let at = &line["at"];
        assert_eq!((&at["block"], &at["aa_copy"]), (&2.into(), &1.into()));
        assert_eq!(at["left_ns"], 3_000_000_000_u64);
    }
}
