//! Sequential write and read speed in the folder of the runs.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use tare_record::calibration::DiskFigures;

use crate::doctor::nearest_folder;

/// Largest amount written …
const FILE_BYTES: usize = 256_000_000;
/// … in blocks of this size …
const PIECE_BYTES: usize = 4_000_000;
/// … and the time limit, for writing and reading each.
const LIMIT: Duration = Duration::from_millis(1500);

/// Writes a file, drops it from the page cache, reads it, removes it.
pub(super) fn measure(out: &Path) -> io::Result<DiskFigures> {
    let folder = nearest_folder(out);
    let path = folder.join(format!(".tare-calibration-{}", std::process::id()));
    let measured = write_then_read(&path);
    let removed = fs::remove_file(&path);
    let (write_bytes_per_s, read_bytes_per_s) = measured?;
    removed?;
    Ok(DiskFigures {
        folder: folder.display().to_string(),
        write_bytes_per_s,
        read_bytes_per_s,
    })
}

fn write_then_read(path: &Path) -> io::Result<(f64, f64)> {
    // Not all zeros: some file systems store those as holes.
    let mut piece: Vec<u8> = (0..PIECE_BYTES).map(|i| (i * 31 % 251) as u8).collect();
    let mut file = File::create(path)?;
    let began = Instant::now();
    let mut written = 0;
    while written < FILE_BYTES && began.elapsed() < LIMIT {
        file.write_all(&piece)?;
        written += PIECE_BYTES;
    }
    // Synced: data in the page cache are not written yet.
    file.sync_data()?;
    let writing = began.elapsed();
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let mut file = File::open(path)?;
    let began = Instant::now();
    let mut read = 0;
    while began.elapsed() < LIMIT {
        match file.read(&mut piece)? {
            0 => break,
            length => read += length,
        }
    }
    Ok((speed(written, writing), speed(read, began.elapsed())))
}

fn speed(bytes: usize, took: Duration) -> f64 {
    bytes as f64 / took.as_secs_f64().max(1e-9)
}
