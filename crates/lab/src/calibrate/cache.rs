//! Cache of the last calibration, valid for 24 hours of the same boot.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tare_schema::calibration::Calibration;

use crate::cached;
use crate::doctor::nearest_folder;

/// Maximum age: neighbours on the host and temperature change.
const AGE_MAX_S: u64 = 24 * 3600;

pub(super) fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The calibration of the last 24 hours of this boot, for runs in `out`.
#[must_use]
pub fn from_cache(cache: &Path, out: &Path) -> Option<Calibration> {
    let mut known: Calibration = cached::read(&place(cache, out))?;
    if let Some(disk) = &mut known.disk {
        disk.folder = nearest_folder(out).display().to_string();
    }
    let age_s = super::now_unix_s().checked_sub(known.measured_unix_s)?;
    (known.boot_id == boot_id() && age_s < AGE_MAX_S).then_some(known)
}

/// Stores a calibration; if that fails, the next run measures again.
pub(super) fn store(cache: &Path, out: &Path, measured: &Calibration) {
    let _ = cached::write(&place(cache, out), measured);
}

/// One file per file system: they may be on different disks.
fn place(cache: &Path, out: &Path) -> PathBuf {
    let device = fs::metadata(nearest_folder(out)).map_or(0, |folder| folder.dev());
    cache.join(format!("calibration-{device:x}.json"))
}
