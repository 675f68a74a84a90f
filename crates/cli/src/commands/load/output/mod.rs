//! Machine-readable output of `tare load`: JSON, histogram log, samples as CSV, results as of Fortio and of Kafka's perf tools.

mod csv;
mod fortio;
mod json;
mod perf;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tare_load::Outcome;
use tare_schema::agent::Sample;
use tare_schema::load::LoadPlan;

use super::args::OutputArgs;
pub use fortio::result as fortio_result;
pub use json::report as json_report;

/// Output files, created before the load so that a wrong path does not cost a measurement.
pub struct Files {
    hlog: Option<(PathBuf, File)>,
    csv: Option<(PathBuf, File)>,
    fortio: Option<(PathBuf, File)>,
    perf: Option<(PathBuf, File)>,
}

impl Files {
    /// Creates the files that the arguments name.
    pub fn create(wanted: &OutputArgs) -> Result<Self, String> {
        let create = |path: &Option<PathBuf>| {
            let create = |path: &Path| {
                File::create(path)
                    .map(|file| (path.to_owned(), file))
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))
            };
            path.as_deref().map(create).transpose()
        };
        Ok(Self {
            hlog: create(&wanted.hlog)?,
            csv: create(&wanted.csv)?,
            fortio: create(&wanted.fortio)?,
            perf: create(&wanted.perf_csv)?,
        })
    }

    /// Writes the files.
    pub fn write(
        self,
        plan: &LoadPlan,
        url: &str,
        outcome: &Outcome,
        samples: &[Sample],
    ) -> anyhow::Result<()> {
        let failed = |path: &Path| format!("cannot write {}", path.display());
        if let Some((path, mut file)) = self.hlog {
            file.write_all(outcome.result.latency_hlog.as_bytes())
                .with_context(|| failed(&path))?;
        }
        if let Some((path, file)) = self.csv {
            csv::write(file, &plan.load, samples).with_context(|| failed(&path))?;
        }
        if let Some((path, mut file)) = self.perf {
            let text = perf::csv(&plan.load, outcome);
            file.write_all(text.as_bytes())
                .with_context(|| failed(&path))?;
        }
        if let Some((path, mut file)) = self.fortio {
            let mut text = serde_json::to_string_pretty(&fortio_result(plan, url, outcome))?;
            text.push('\n');
            file.write_all(text.as_bytes())
                .with_context(|| failed(&path))?;
        }
        Ok(())
    }
}
