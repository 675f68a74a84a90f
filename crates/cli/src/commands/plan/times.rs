//! Start and overhead times on this machine, in the user's cache.

use std::path::PathBuf;

use tare_experiment::catalog::Catalog;
use tare_experiment::estimate::StartupTimes;
use tare_lab::cached;
use tare_record::plan::Plan;

/// Times of earlier runs; for targets without them, the default of the target folder.
pub fn known(catalog: &Catalog, plan: &Plan) -> StartupTimes {
    let mut times = measured();
    // A target folder that cannot be read is reported by the run.
    let usual = |target: &str| catalog.target(target).ok()??.def.ready.typical_start;
    for target in times.unknown(plan) {
        if let Some(usually) = usual(target) {
            times.usual.insert(target.to_owned(), usually.0);
        }
    }
    times
}

fn measured() -> StartupTimes {
    path()
        .and_then(|path| cached::read(&path))
        .unwrap_or_default()
}

/// Adds the times of a run to the cache. A cache that cannot be written is no error: estimates are rougher then.
pub fn remember(took: StartupTimes) {
    let Some(path) = path() else { return };
    let mut all = measured();
    all.starts.extend(took.starts);
    all.trials.extend(took.trials);
    let _ = cached::write(&path, &all);
}

fn path() -> Option<PathBuf> {
    Some(cached::folder()?.join("times.json"))
}
