//! Stopping rule: a run ends early when the intervals that its plan names are narrow enough.

use std::path::Path;

use tare_conduct::Enough;
use tare_schema::plan::Plan;

/// Applies the rule to the records of a run folder.
pub fn decide(plan: &Plan, folder: &Path) -> Enough {
    let Some(until) = plan.blocks.until else {
        return Enough::No;
    };
    let Ok(run) = tare_report::read(folder) else {
        return Enough::No;
    };
    let view = tare_report::view(&run);
    let widths: Vec<Option<f64>> = view
        .overheads
        .iter()
        .filter(|overhead| overhead.metric == until.metric)
        .map(|overhead| {
            let ratio = overhead.ratio?;
            Some((ratio.high? - ratio.low?) / 2.0)
        })
        .collect();
    let narrow = widths
        .iter()
        .all(|width| width.is_some_and(|width| width <= until.half_width));
    if narrow && !widths.is_empty() {
        Enough::Yes(format!(
            "every interval of the {} is within ± {:.1} % of the baseline",
            until.metric.label(),
            until.half_width * 100.0
        ))
    } else {
        Enough::No
    }
}
