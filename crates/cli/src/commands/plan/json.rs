//! The plan with its estimate as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use tare_schema::estimate::{Times, estimate};
use tare_schema::plan::{Capacity, Plan};

use super::capacity;
use super::noise::Earlier;
use super::text::not_run;

/// The plan as in `plan.json`, with the estimate of its time and the detectable differences.
pub fn value(plan: &Plan, earlier: &Earlier, times: &Times, known: Option<&Capacity>) -> Value {
    let kept = capacity::kept(plan, known);
    let estimate = estimate(&kept, times);
    let ns = |time: Option<Duration>| {
        time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    };
    let detectable = match earlier {
        Earlier::None => Value::Null,
        Earlier::Run { folder, detectable } => json!({
            "run": folder.display().to_string(),
            "differences": detectable.iter().map(|one| json!({
                "level": one.level,
                "metric": one.metric,
                "relative": one.relative,
            })).collect::<Vec<_>>(),
        }),
    };
    json!({
        "plan": plan,
        "estimate": {
            "trials_per_block": estimate.trials_per_block,
            "trials_min": estimate.trials.0,
            "trials_max": estimate.trials.1,
            "measuring_per_block_ns": ns(estimate.measuring),
            "block_ns": ns(estimate.block),
            "total_min_ns": ns(estimate.total.map(|total| total.0)),
            "total_max_ns": ns(estimate.total.map(|total| total.1)),
            "levels_may_be_left_out": kept.may_leave_levels_out(),
            "starts_not_yet_timed": times.unknown(plan),
        },
        "minimum_detectable": detectable,
        "not_proved": plan.not_proved().iter().map(|(one, arms)| json!({
            "edge": one.edge,
            "part": one.part,
            "reason": one.reason,
            "arms": arms,
        })).collect::<Vec<_>>(),
        "not_run": not_run(plan).iter().map(|(what, reason)| json!({"what": what, "reason": reason})).collect::<Vec<_>>(),
    })
}
