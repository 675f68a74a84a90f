//! The formats: each module makes a document of views, as its reader wants it.

pub mod bmf;
pub mod fortio;
pub mod github_action_benchmark;
pub mod junit;
pub mod openmetrics;
pub mod otava;
pub mod otlp;
pub mod step_summary;

use tare_record::export::ExportFormat;
use tare_record::text::word_of;
use tare_record::view::{Better, CellView, Figure, LevelView, View};

use crate::error::ExportError;
use crate::subject::ExportSubject;

/// What is asked for beside the format.
#[derive(Debug, Clone, Copy)]
pub struct FormatOptions {
    /// Metrics of which direction, where a document has those of one.
    pub better: Better,
    /// Number of the trial, where a document is of one.
    pub trial: Option<u32>,
}

/// A format.
pub trait Format: Sync {
    /// Whether a document can have several runs.
    fn takes_several(&self) -> bool {
        true
    }

    /// The document.
    ///
    /// # Errors
    /// When the subject has not what the format needs.
    fn text(
        &self,
        subjects: &[ExportSubject],
        options: FormatOptions,
    ) -> Result<String, ExportError>;
}

/// The module of a format.
#[must_use]
pub fn of(format: ExportFormat) -> &'static dyn Format {
    match format {
        ExportFormat::Openmetrics => &openmetrics::OpenMetrics,
        ExportFormat::Otlp => &otlp::Otlp,
        ExportFormat::Junit => &junit::Junit,
        ExportFormat::Bmf => &bmf::Bmf,
        ExportFormat::GithubActionBenchmark => &github_action_benchmark::GithubActionBenchmark,
        ExportFormat::Otava => &otava::Otava,
        ExportFormat::Fortio => &fortio::Fortio,
        ExportFormat::StepSummary => &step_summary::StepSummary,
    }
}

/// The document of these runs.
///
/// # Errors
/// As [`Format::text`]; also when the format takes one run and there are several.
pub fn text(
    format: ExportFormat,
    subjects: &[ExportSubject],
    options: FormatOptions,
) -> Result<String, ExportError> {
    let of = of(format);
    if !of.takes_several() && subjects.len() != 1 {
        return Err(ExportError::Input(format!(
            "{} is of one run, and there are {}: export them one after another",
            word_of(&format),
            subjects.len()
        )));
    }
    of.text(subjects, options)
}

/// A figure with its value and where it belongs.
struct Measured<'a> {
    level: &'a LevelView,
    cell: &'a CellView,
    figure: &'a Figure,
    value: f64,
}

/// All figures that have a value.
fn measured(view: &View) -> impl Iterator<Item = Measured<'_>> {
    let levels = view.levels.iter();
    let cells = levels.flat_map(|level| level.cells.iter().map(move |cell| (level, cell)));
    cells.flat_map(|(level, cell)| {
        cell.figures.iter().filter_map(move |figure| {
            Some(Measured {
                level,
                cell,
                figure,
                value: figure.value.filter(|value| value.is_finite())?,
            })
        })
    })
}

/// Name of a cell in lists of benchmarks.
fn cell_name(view: &View, level: &LevelView, cell: &CellView) -> String {
    format!("{}: {} at {}", view.run.experiment, cell.arm, level.name)
}
