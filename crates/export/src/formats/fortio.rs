//! A trial or a load as a result of Fortio, for its UI and the tools that read it.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;

use tare_load::{LoadOutcome, fortio};
use tare_record::FORMAT_VERSION;
use tare_record::checksums::Checksums;
use tare_record::load::LoadPlan;
use tare_record::regular::open_regular;
use tare_report::Run;
use tare_report::latency::LOG_BYTES_MAX;
use tare_stats::{SparseHistogram, hlog};

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions};
use crate::subject::{ExportSubject, Source};

/// The format.
pub struct Fortio;

impl Format for Fortio {
    fn takes_several(&self) -> bool {
        false
    }

    fn text(
        &self,
        subjects: &[ExportSubject],
        options: FormatOptions,
    ) -> Result<String, ExportError> {
        let [subject] = subjects else {
            return Err(ExportError::Input("name one run".to_owned()));
        };
        let found = match &subject.source {
            Source::Run(run) => trial(run, options.trial)?,
            Source::Load(report) => {
                let folder = subject.folder.as_deref().ok_or_else(|| {
                    ExportError::Input(
                        "a report alone has no histograms: keep the load in a folder with `tare load --out DIR`, or use `tare load --fortio FILE`"
                            .to_owned(),
                    )
                })?;
                let outcome = LoadOutcome {
                    result: report.result.clone(),
                    totals: totals(folder)?,
                };
                let labels = report.labels.clone().unwrap_or_default();
                fortio::result(&report.plan, &report.load, labels, &outcome)
            }
        };
        Ok(serde_json::to_string_pretty(&found)? + "\n")
    }
}

/// A trial; of several agents the first one.
fn trial(run: &Run, number: Option<u32>) -> Result<fortio::FortioResult, ExportError> {
    let numbers = run.trials.iter().map(|trial| trial.record.trial);
    let last = numbers.max().unwrap_or_default();
    let wrong = |text: String| ExportError::Input(format!("{text}: say --trial N, 1 to {last}"));
    let number = number.ok_or_else(|| wrong("a result of Fortio is of one trial".to_owned()))?;
    let mut all = run.trials.iter();
    let trial = all.find(|trial| trial.record.trial == number);
    let trial = trial.ok_or_else(|| wrong(format!("there is no trial {number}")))?;
    let record = &trial.record;
    let mut cells = run.plan.cells.iter();
    let cell = cells.find(|cell| cell.arm == record.arm && cell.level == record.level);
    let role = cell.and_then(|cell| cell.load.first());
    let result = role.and_then(|role| record.load.iter().find(|one| one.role == role.role));
    let (Some(role), Some(result), Some(endpoint)) = (role, result, record.endpoints.first())
    else {
        return Err(wrong(format!("trial {number} measured nothing")));
    };
    let plan = LoadPlan {
        version: FORMAT_VERSION,
        role: role.role.clone(),
        start_at_unix_us: None,
        start_lead_ns: None,
        seed: 0,
        endpoint: endpoint.clone(),
        allowed_addresses: Default::default(),
        address_overrides: Vec::new(),
        cores: Default::default(),
        cpu_per_exchange_ns: None,
        load: role.load.clone(),
    };
    let mut totals = totals(&trial.folder)?;
    let own = format!("{}.", role.role);
    totals.retain(|tag, _| tag.starts_with(&own));
    let outcome = LoadOutcome {
        result: result.clone(),
        totals,
    };
    let labels = format!(
        "{} {} {} block {}",
        run.plan.experiment, record.arm, record.level, record.block
    );
    let address = endpoint.addresses.first();
    let url = address.map_or_else(|| endpoint.host.clone(), ToString::to_string);
    Ok(fortio::result(&plan, &url, labels, &outcome))
}

/// The histograms of a folder, by tag.
fn totals(folder: &Path) -> Result<BTreeMap<String, SparseHistogram>, ExportError> {
    let path = folder.join("latency.hlog");
    let failed = |error| ExportError::File {
        path: path.clone(),
        error,
    };
    let sums = Checksums::read(folder).map_err(|error| failed(std::io::Error::other(error)))?;
    if let Some(sums) = sums {
        let checked = sums.check_file(folder, "latency.hlog");
        checked.map_err(|error| failed(std::io::Error::other(error)))?;
    }
    let file = open_regular(&path, LOG_BYTES_MAX).map_err(failed)?;
    let read = hlog::read_merged(BufReader::new(file), ..);
    let read = read.map_err(|error| failed(std::io::Error::other(error)))?;
    let sparse = read
        .into_iter()
        .map(|(tag, latencies)| (tag, latencies.sparse()));
    Ok(sparse.collect())
}
