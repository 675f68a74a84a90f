//! The figures of a run in short, `figures.json` of its folder, written when it ends: a history reads them instead of all records.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_record::FORMAT_VERSION;
use tare_record::checksums::Checksums;
use tare_record::durable;
use tare_record::metric::Metric;
use tare_record::record::RunState;
use tare_record::regular::{JSON_BYTES_MAX, read_regular};
use tare_record::schemas::JsonSchema;
use tare_record::view::LevelView;

/// Name of the file.
pub const FIGURES: &str = "figures.json";

/// All figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoredFigures {
    /// [`tare_record::FORMAT_VERSION`] of the writer.
    version: u32,
    /// When the run had ended, as in `run.json`: one that was resumed since has other figures.
    ended_unix_us: Option<u64>,
    /// The figures of all cells.
    pub figures: Vec<StoredFigure>,
}

/// A metric of a cell, as in the view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoredFigure {
    /// Level.
    pub level: String,
    /// Arm.
    pub arm: String,
    /// Metric.
    pub metric: Metric,
    /// Value: the median over the blocks.
    pub value: f64,
    /// Lowest value of a block.
    pub low: Option<f64>,
    /// Highest value of a block.
    pub high: Option<f64>,
    /// Whether `value` is a lower bound.
    pub is_lower_bound: bool,
}

impl StoredFigures {
    /// The figures of a view.
    #[must_use]
    pub fn of(levels: &[LevelView], state: Option<&RunState>) -> StoredFigures {
        let cells = levels
            .iter()
            .flat_map(|level| level.cells.iter().map(move |cell| (&level.name, cell)));
        let figures = cells.flat_map(|(level, cell)| {
            cell.figures.iter().filter_map(|figure| {
                Some(StoredFigure {
                    level: level.clone(),
                    arm: cell.arm.clone(),
                    metric: figure.metric,
                    value: figure.value.filter(|value| value.is_finite())?,
                    low: figure.low,
                    high: figure.high,
                    is_lower_bound: figure.is_lower_bound,
                })
            })
        });
        StoredFigures {
            version: FORMAT_VERSION,
            ended_unix_us: state.and_then(|state| state.ended_unix_us),
            figures: figures.collect(),
        }
    }

    /// Writes them into a folder, with their checksum if it has some.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        if let Some(mut sums) = Checksums::read(folder).map_err(io::Error::other)? {
            sums.add(FIGURES, &text);
            sums.write(folder)?;
        }
        durable::write(&folder.join(FIGURES), &text)
    }

    /// Those in a folder; `None`: there are none of this state of the run.
    #[must_use]
    pub fn read(folder: &Path, state: &RunState) -> Option<StoredFigures> {
        let text = read_regular(&folder.join(FIGURES), JSON_BYTES_MAX).ok()?;
        // Those of a folder whose checksums do not name them are made again.
        let sums = Checksums::read(folder).ok()?;
        sums.map_or(Ok(()), |sums| sums.check(FIGURES, &text))
            .ok()?;
        let found: StoredFigures = serde_json::from_slice(&text).ok()?;
        let is_current = found.version == FORMAT_VERSION
            && found.ended_unix_us.is_some()
            && found.ended_unix_us == state.ended_unix_us;
        is_current.then_some(found)
    }
}
