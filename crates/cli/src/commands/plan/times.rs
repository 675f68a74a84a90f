//! What starting and measuring took on this machine, kept in the user's cache.

use std::path::PathBuf;

use tare_lab::cached;
use tare_lab::fetch::Fetcher;
use tare_schema::estimate::Times;

/// What earlier runs took; nothing where none is known.
pub fn known() -> Times {
    path()
        .and_then(|path| cached::read(&path))
        .unwrap_or_default()
}

/// Keeps what a run took, beside what others have kept meanwhile. A cache that cannot be written is no error: estimates are
/// rougher then.
pub fn remember(took: Times) {
    let Some(path) = path() else { return };
    let mut all = known();
    all.starts.extend(took.starts);
    all.trials.extend(took.trials);
    let _ = cached::write(&path, &all);
}

fn path() -> Option<PathBuf> {
    Some(Fetcher::from_env().ok()?.cache.join("times.json"))
}
