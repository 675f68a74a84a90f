//! Progress events of a run, and the traits that receive them.

use std::path::Path;
use std::time::Duration;

use tare_record::agent::Sample;
use tare_record::record::TrialRecord;

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
