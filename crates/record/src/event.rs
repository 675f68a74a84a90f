//! Lines of `tare load --json-lines`, `tare run --json-lines` and `progress.jsonl`: one JSON object each.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Sample;
use crate::load_report::LoadReport;
use crate::record::{RunProgress, TrialStatus};
use crate::search_report::{CurveReport, ProbeReport, SearchReport};
use crate::view::View;

/// File with the events of a run or a load, in its folder.
pub const PROGRESS: &str = "progress.jsonl";

/// A line of `tare load --json-lines`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum LoadEvent {
    /// The folder of the load exists (`--out`).
    Created {
        /// The folder.
        folder: String,
    },
    /// The connections are open and the schedule is ready.
    Ready {
        /// Open connections.
        connections: u32,
        /// Start of the warm-up, µs since the epoch.
        start_unix_us: u64,
    },
    /// Counts since the last sample; of an end-to-end load, those of the producer.
    Sample(Sample),
    /// A probe of a search has ended.
    Probe(ProbeReport),
    /// A window of a curve begins.
    Window {
        /// Number of the window, from 1.
        number: u32,
        /// Number of windows.
        windows: u32,
        /// Offered rate.
        rate_per_s: f64,
        /// Length of the window.
        length_ns: u64,
    },
    /// Last line of a load: what `--json` prints.
    Result(Box<LoadReport>),
    /// Last line of a search: what `--json` prints.
    SearchResult(SearchReport),
    /// Last line of a curve: what `--json` prints.
    CurveResult(CurveReport),
    /// Last line of an end-to-end load: what `--json` prints.
    EndToEndResult(serde_json::Map<String, serde_json::Value>),
}

/// A line of `tare run --json-lines`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum RunEvent {
    /// Something is being prepared.
    Preparing {
        /// What, as text.
        what: String,
    },
    /// A note to the user.
    Note {
        /// The note.
        text: String,
    },
    /// The run folder exists; measuring begins.
    Started {
        /// The run folder.
        folder: String,
        /// Trials planned, repeats not included.
        trials: u32,
        /// Trials of complete blocks from before the run was resumed.
        done: u32,
    },
    /// A trial begins.
    TrialStarted {
        /// Which trial.
        at: TrialPosition,
    },
    /// An instance is being started.
    Starting {
        /// For which trial.
        at: TrialPosition,
        /// The instance.
        instance: String,
        /// Time waited so far.
        waited_ns: u64,
    },
    /// A preparation step is running.
    Step {
        /// Of which trial.
        at: TrialPosition,
        /// The step.
        step: String,
    },
    /// Counts since the last sample.
    Sample {
        /// Of which trial.
        at: TrialPosition,
        /// Role of the agent, or the preparation step.
        source: String,
        /// The counts.
        sample: Box<Sample>,
    },
    /// Resource usage since the last such event, once a second within the window.
    Usage {
        /// Of which trial.
        at: TrialPosition,
        /// Time since the last one.
        length_ns: u64,
        /// The parts.
        parts: Vec<PartSample>,
        /// CPU time that programs outside of the run used; `None`: unknown.
        background_cpu_ns: Option<u64>,
    },
    /// A trial was measured and its record is on disk.
    TrialDone {
        /// Number of the trial in the run, from 1.
        trial: u32,
        /// Block, from 1.
        block: u32,
        /// Arm.
        arm: String,
        /// Level.
        level: String,
        /// 0; 1 for the second measurement of the baseline (A/A check).
        aa_copy: u32,
        /// 0; 1 for a repeat.
        attempt: u32,
        /// Status of the trial.
        status: TrialStatus,
    },
    /// All trials of a block are on disk.
    BlockDone {
        /// Block, from 1.
        block: u32,
        /// Blocks planned at most.
        blocks: u32,
    },
    /// The run has ended; in `progress.jsonl` only.
    Ended {
        /// How far it came.
        progress: RunProgress,
        /// Why, if not as planned.
        reason: Option<String>,
    },
    /// Last line: what `--json` prints.
    Result(Box<View>),
}

/// Resource usage of an instance between two moments of a window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PartSample {
    /// Instance.
    pub instance: String,
    /// Role: `app`, `agent`, `sidecar`, `gateway`, …, `conductor`.
    pub role: String,
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// Resident memory at the end.
    pub rss_bytes: Option<u64>,
    /// Bytes written to disk.
    pub disk_write_bytes: Option<u64>,
    /// Packets in and out of its pod, if it is alone in it.
    pub packets: Option<u64>,
}

/// Position of a trial in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPosition {
    /// Block, from 1.
    pub block: u32,
    /// Blocks planned at most.
    pub blocks: u32,
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// 0; 1 for the second measurement of the baseline (A/A check).
    pub aa_copy: u32,
    /// 0; 1 for a repeat.
    pub attempt: u32,
    /// Estimate of the time to the end of the run.
    pub left_ns: u64,
}

/// What a command that failed prints on standard output with `--json` or `--json-lines`: the only object, or the last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureReport {
    /// The error.
    pub error: Failure,
}

/// An error with its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The error, as text.
    pub message: String,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Causes, the nearest first, as text.
    pub causes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_event_beside_its_fields() {
        let sample = Sample {
            ok: 3,
            ..Sample::default()
        };
        let line = serde_json::to_value(LoadEvent::Sample(sample)).unwrap();
        assert_eq!(line["event"], "sample");
        assert_eq!(line["ok"], 3);
        let report = serde_json::Map::from_iter([("missing".to_owned(), 0.into())]);
        let line = serde_json::to_string(&LoadEvent::EndToEndResult(report)).unwrap();
        assert_eq!(line, r#"{"event":"end-to-end-result","missing":0}"#);
        let done = RunEvent::TrialDone {
            trial: 1,
            block: 1,
            arm: "direct".into(),
            level: "400/s".into(),
            aa_copy: 0,
            attempt: 0,
            status: TrialStatus::Fit,
        };
        let line = serde_json::to_value(&done).unwrap();
        assert_eq!(line["status"]["status"], "fit");
        assert_eq!(serde_json::from_value::<RunEvent>(line).unwrap(), done);
    }
}
