//! What is exported: a run or a load, read from its folder, as one view.

use std::fs;
use std::path::{Path, PathBuf};

use tare_record::api::LOAD_REPORT;
use tare_record::load_report::LoadReport;
use tare_record::record::RunProgress;
use tare_record::view::View;
use tare_report::target_counters::{self, CounterFigure};
use tare_report::{Run, loads};

use crate::error::ExportError;
use crate::{load_view, lock};

/// A run or a load.
#[derive(Debug)]
pub struct ExportSubject {
    /// Its folder; `None`: the report of a load alone.
    pub folder: Option<PathBuf>,
    pub view: View,
    /// Start, µs since the epoch.
    pub started_unix_us: u64,
    pub counters: Vec<CounterFigure>,
    pub source: Source,
}

/// What a view was made of.
#[derive(Debug)]
pub enum Source {
    Run(Box<Run>),
    Load(Box<LoadReport>),
}

impl ExportSubject {
    /// Reads the folder of a run or a kept load, or a file that `tare load --json` wrote.
    ///
    /// # Errors
    /// When it is none of these, or cannot be read.
    pub fn read(path: &Path) -> Result<ExportSubject, ExportError> {
        let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        if !is_file && !path.join(LOAD_REPORT).is_file() {
            return Ok(ExportSubject::of_run(tare_report::read(path)?));
        }
        let (read, folder) = match is_file {
            true => (loads::report_file(path), None),
            false => (loads::report(path), Some(path.to_owned())),
        };
        let report = read.map_err(|error| ExportError::Load {
            path: path.to_owned(),
            error,
        })?;
        Ok(ExportSubject {
            view: load_view::view(&report, path),
            folder,
            started_unix_us: report.result.window_start_unix_us,
            counters: Vec::new(),
            source: Source::Load(Box::new(report)),
        })
    }

    fn of_run(run: Run) -> ExportSubject {
        ExportSubject {
            folder: Some(run.folder.clone()),
            view: tare_report::view(&run),
            started_unix_us: run.state.as_ref().map_or(0, |state| state.started_unix_us),
            counters: target_counters::figures(&run),
            source: Source::Run(Box::new(run)),
        }
    }

    /// When the last of it was measured, ns since the epoch.
    #[must_use]
    pub fn ended_unix_ns(&self) -> u64 {
        let started = self.started_unix_us.saturating_mul(1000);
        started.saturating_add(self.view.run.took_ns)
    }

    /// What the result does not have, as a sentence.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let run = &self.view.run;
        let blocks = format!("{} of {}", run.blocks_complete, run.blocks_planned);
        let is_held = || self.folder.as_deref().is_some_and(lock::is_held);
        let why = match run.progress {
            RunProgress::Complete => return None,
            RunProgress::Running if is_held() => "is still running",
            RunProgress::Running => "was killed",
            RunProgress::Interrupted => "was interrupted",
            RunProgress::Failed => "failed",
        };
        Some(format!(
            "{} {why}: what is exported is of {blocks} blocks",
            run.id
        ))
    }
}
