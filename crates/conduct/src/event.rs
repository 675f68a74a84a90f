//! What a run tells while it goes on, and what it asks.

use std::path::Path;
use std::time::Duration;

use tare_schema::agent::Sample;
use tare_schema::record::TrialRecord;

use crate::order::Slot;

/// One thing that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something is being made ready, in words.
    Preparing(&'a str),
    /// Something to know before it begins, in words.
    Told(&'a str),
    /// The run folder exists; measuring begins.
    Started {
        /// The run folder.
        folder: &'a Path,
        /// Trials planned, repeats not included.
        trials: u32,
        /// Trials that an earlier session of this run has left complete.
        done: u32,
    },
    /// A trial begins.
    TrialStarted(&'a Progress<'a>),
    /// An instance is being started for it, and has been waited for so long.
    Starting(&'a Progress<'a>, &'a str, Duration),
    /// A step before the trial is being taken, by its name.
    Step(&'a Progress<'a>, &'a str),
    /// One sample of the trial under way, or of what a step writes.
    Sampled(&'a Progress<'a>, &'a str, &'a Sample),
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

/// Where a run stands.
#[derive(Debug, Clone)]
pub struct Progress<'a> {
    /// Block, from 1.
    pub block: u32,
    /// Blocks at most.
    pub blocks: u32,
    /// Arm, level and copy.
    pub slot: &'a Slot,
    /// 0, or 1 for a repeat.
    pub attempt: u32,
    /// Estimate of the time to the end of the run.
    pub left: Duration,
}

/// Whether the blocks measured so far suffice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enough {
    /// Go on.
    No,
    /// Stop, for this reason.
    Yes(String),
}

/// Follows one trial.
pub(crate) trait Listener {
    fn step(&mut self, name: &str);
    fn sample(&mut self, role: &str, sample: &Sample);
    fn interrupted(&self) -> bool;
}

/// Whoever watches a run.
pub trait Watcher {
    /// Hears what happened; must not block for long.
    fn hear(&mut self, event: &Event<'_>);

    /// Judges, between `blocks.min` and `blocks.max`, whether the intervals are narrow enough.
    fn enough(&mut self, folder: &Path) -> Enough;

    /// Whether the user wants the run to end now.
    fn interrupted(&self) -> bool;
}
