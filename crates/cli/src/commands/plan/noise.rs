//! What the design can detect, from the noise that the last run of the same experiment had.

use std::path::{Path, PathBuf};

use tare_schema::metric::Metric;
use tare_schema::plan::{BaselineRuns, Compare, Plan};
use tare_schema::view::Noise;
use tare_stats::paired::{BaselineCopies, Family};
use tare_stats::power::{Design, detectable};

/// Run folders looked at, newest first, before giving up.
const FOLDERS_MAX: usize = 50;

/// The smallest relative difference that would be called at a level.
#[derive(Debug, Clone, PartialEq)]
pub struct Detectable {
    /// Level.
    pub level: String,
    /// Metric.
    pub metric: Metric,
    /// 0.03 = 3 %; `None`: that run does not tell, or there are too few blocks.
    pub relative: Option<f64>,
}

/// What an earlier run says about this plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Earlier {
    /// No run of this experiment is there, or none that went far enough.
    None,
    /// One is.
    Run {
        /// Its folder.
        folder: PathBuf,
        /// What this plan would detect with that run's noise.
        detectable: Vec<Detectable>,
    },
}

/// Looks for the last run of the same experiment and applies its noise to this plan.
pub fn earlier(out: &Path, plan: &Plan) -> Earlier {
    let folders = std::fs::read_dir(out).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = folders
        .map(|entry| entry.path())
        .filter(|path| path.join("plan.json").is_file())
        .collect();
    // Names begin with the time: the last in order is the newest.
    folders.sort();
    for folder in folders.into_iter().rev().take(FOLDERS_MAX) {
        let Ok(run) = tare_report::read(&folder) else {
            continue;
        };
        if run.plan.experiment != plan.experiment {
            continue;
        }
        let found = detectable_with(plan, &tare_report::view(&run).noise);
        if found.iter().any(|found| found.relative.is_some()) {
            return Earlier::Run {
                folder,
                detectable: found,
            };
        }
    }
    Earlier::None
}

/// What a plan would detect with this noise, for every level and primary metric that the noise is known of.
pub fn detectable_with(plan: &Plan, noise: &[Noise]) -> Vec<Detectable> {
    let arms = plan.arms.iter().filter(|arm| arm.needs.is_none()).count();
    let (compared, tables) = match plan.compare {
        Compare::Arms => (arms.saturating_sub(1), plan.levels.len()),
        Compare::Levels => (plan.levels.len().saturating_sub(1), arms),
    };
    let family = Family::new(compared, tables, plan.primary.len());
    let design = Design {
        blocks: plan.blocks.max as usize,
        copies: match plan.baseline_runs {
            BaselineRuns::Twice => BaselineCopies::Two,
            BaselineRuns::Once => BaselineCopies::One,
        },
    };
    noise
        .iter()
        .filter(|noise| plan.primary.contains(&noise.metric))
        .filter(|noise| plan.levels.iter().any(|level| level.name == noise.level))
        .map(|noise| Detectable {
            level: noise.level.clone(),
            metric: noise.metric,
            relative: noise
                .residual
                .and_then(|residual| detectable(residual, design, &family)),
        })
        .collect()
}
