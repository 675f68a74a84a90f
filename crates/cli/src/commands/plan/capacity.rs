//! Capacity of this machine, as measured by an earlier run of the same experiment.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tare_lab::seal::RunKey;
use tare_record::plan::{Capacity, Plan};
use tare_record::record::EnvironmentRecord;

use crate::runs;

/// Most run folders that are examined, newest first.
const FOLDERS_MAX: usize = 50;
/// How long a measured capacity is valid: as long as the calibration of the machine.
const GOOD_FOR: Duration = Duration::from_secs(24 * 3600);

/// The newest capacity that this user measured with the same file, arms and cores since this machine was booted, within a day. What a
/// received run says leaves no level out.
pub fn known(out: &Path, plan: &Plan) -> Option<Capacity> {
    if !plan.needs_capacity_probe() {
        return None;
    }
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let key = RunKey::of_user().ok()?;
    let mut newest = runs::known(out).into_iter().rev().take(FOLDERS_MAX);
    newest.find_map(|folder| {
        let files = key.open(&folder).ok()?;
        let was: Plan = serde_json::from_slice(&files.plan).ok()?;
        let machine: EnvironmentRecord = serde_json::from_slice(&files.environment).ok()?;
        let capacity = was.capacity.clone()?;
        let same = was.file_digest == plan.file_digest
            && was.arms_with_most_proxies() == plan.arms_with_most_proxies()
            && was.placement == plan.placement
            && was.addressing == plan.addressing
            && was.external() == plan.external()
            && machine.boot_id == boot_id.trim();
        (same && is_fresh(&capacity)).then_some(capacity)
    })
}

fn is_fresh(capacity: &Capacity) -> bool {
    let measured = SystemTime::UNIX_EPOCH + Duration::from_micros(capacity.measured_unix_us);
    let age = SystemTime::now().duration_since(measured);
    // An error means that the clock was set back: then the age is unknown.
    age.is_ok_and(|age| age < GOOD_FOR)
}

/// The plan without the levels above a known capacity.
pub fn kept(plan: &Plan, known: Option<&Capacity>) -> Plan {
    let mut kept = plan.clone();
    if let Some(capacity) = known {
        kept.skip_levels_above(capacity.clone());
    }
    kept
}

/// Which levels are left out, as text; `None` when the plan does not ask for it.
pub fn words(plan: &Plan, known: Option<&Capacity>) -> Option<String> {
    if !plan.needs_capacity_probe() {
        return None;
    }
    let Some(capacity) = known else {
        return Some(format!(
            "before the first block {} will be run at max rate: levels above 80 % of what they sustain are skipped",
            plan.arms_with_most_proxies().join(" and ")
        ));
    };
    Some(match kept(plan, known).skipped_levels.as_slice() {
        [] => format!(
            "{} sustained {:.0}/s at max rate: no level lies above 80 % of it",
            capacity.arm, capacity.achieved_per_s
        ),
        skipped_levels @ [first, ..] => {
            let levels: Vec<&str> = skipped_levels
                .iter()
                .map(|left| left.level.as_str())
                .collect();
            format!("{} will be skipped: {}", levels.join(", "), first.reason)
        }
    })
}
