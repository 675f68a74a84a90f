//! What is remembered of the last calibration: for 24 hours of the same boot.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tare_schema::calibration::Calibration;

use crate::cached;
use crate::doctor::nearest_folder;

/// Other neighbours on the host, another temperature: a day is long enough.
const REMEMBERED_S: u64 = 24 * 3600;

/// Identity of this boot.
pub(super) fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// What was measured here in the last 24 hours of this boot, for runs in `out`.
#[must_use]
pub fn remembered(cache: &Path, out: &Path) -> Option<Calibration> {
    let mut known: Calibration = cached::read(&place(cache, out))?;
    if let Some(disk) = &mut known.disk {
        disk.folder = nearest_folder(out).display().to_string();
    }
    let age_s = super::now_unix_s().checked_sub(known.measured_unix_s)?;
    (known.boot_id == boot_id() && age_s < REMEMBERED_S).then_some(known)
}

/// Remembers it; whatever prevents that, the next run measures again.
pub(super) fn remember(cache: &Path, out: &Path, measured: &Calibration) {
    let _ = cached::write(&place(cache, out), measured);
}

/// One for each file system: they may be on different disks.
fn place(cache: &Path, out: &Path) -> PathBuf {
    let device = fs::metadata(nearest_folder(out)).map_or(0, |folder| folder.dev());
    cache.join(format!("calibration-{device:x}.json"))
}
