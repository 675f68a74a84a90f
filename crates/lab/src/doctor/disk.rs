//! The disk of the run folders: free space and write speed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tare_record::record::Check;

use super::{Graded, check, figure};

/// Largest amount written …
const TRIAL_BYTES: usize = 64_000_000;
/// … in blocks of this size, each synced, …
const PIECE_BYTES: usize = 4_000_000;
/// … and the time limit.
const TRIAL_LIMIT: Duration = Duration::from_millis(900);
/// Records are small, but a disk slower than this stalls every part that writes a log.
const SPEED_MIN: f64 = 50.0;
/// A run takes a few MB to a few hundred.
const SPACE_NEEDED_MB: f64 = 200.0;
const SPACE_WANTED_MB: f64 = 2000.0;

/// Free space in the folder of the runs.
pub(crate) fn space(out: &Path) -> Check {
    let folder = existing(out);
    let stat = match rustix::fs::statvfs(&folder) {
        Ok(stat) => stat,
        Err(error) => return check("space", format!("not known: {error}")),
    };
    let free_mb = (stat.f_bavail.saturating_mul(stat.f_frsize)) as f64 / 1e6;
    let found = format!("{:.1} GB free in {}", free_mb / 1000.0, folder.display());
    let advice = format!(
        "a run needs {SPACE_NEEDED_MB:.0} MB: free some or choose another folder (--out DIR)"
    );
    figure("space", found, free_mb, "MB")
        .warn_if(
            free_mb < SPACE_WANTED_MB,
            "long runs with many levels may fill the disk: free some",
        )
        .fail_if(free_mb < SPACE_NEEDED_MB, advice)
}

/// Synced write speed in the folder of the runs.
pub(crate) fn speed(out: &Path) -> Check {
    let folder = existing(out);
    match try_writing(&folder) {
        Err(error) => {
            let found = format!("cannot write in {}: {error}", folder.display());
            check("disk", found).fail_if(
                true,
                "records are written there: correct the permissions or choose another folder (--out DIR)",
            )
        }
        Ok(speed) => figure("disk", format!("{speed:.0} MB/s, synced"), speed, "MB/s").warn_if(
            speed < SPEED_MIN,
            "targets that write to disk are limited by it: choose a faster one (--out DIR), stop other writers",
        ),
    }
}

fn try_writing(folder: &Path) -> std::io::Result<f64> {
    let path = folder.join(format!(".tare-disk-{}", std::process::id()));
    let written = write_pieces(&path);
    let removed = fs::remove_file(&path);
    let speed = written?;
    removed?;
    Ok(speed)
}

fn write_pieces(path: &Path) -> std::io::Result<f64> {
    // Not all zeros: some file systems store those as holes.
    let piece: Vec<u8> = (0..PIECE_BYTES).map(|i| (i * 31 % 251) as u8).collect();
    let mut file = File::create(path)?;
    let start = Instant::now();
    let mut written = 0;
    while written < TRIAL_BYTES && start.elapsed() < TRIAL_LIMIT {
        file.write_all(&piece)?;
        file.sync_data()?;
        written += PIECE_BYTES;
    }
    Ok(written as f64 / 1e6 / start.elapsed().as_secs_f64())
}

/// A folder's path and the type of its file system.
pub(crate) fn file_system(folder: &Path) -> String {
    // Magic numbers of statfs(2).
    let kind = rustix::fs::statfs(folder).map(|found| match found.f_type {
        0xEF53 => "ext4",
        0x0102_1994 => "tmpfs (memory)",
        0x5846_5342 => "xfs",
        0x9123_683E => "btrfs",
        0x794C_7630 => "overlay",
        _ => "a file system of another kind",
    });
    format!("{} on {}", folder.display(), kind.unwrap_or("–"))
}

/// The folder, or its nearest existing ancestor: runs create theirs when they start.
pub(crate) fn existing(out: &Path) -> PathBuf {
    let absolute = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
    absolute
        .ancestors()
        .find(|folder| folder.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}
