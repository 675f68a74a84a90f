//! Capacity of the idle machine: TCP between two pods, plaintext and TLS, and the disk of the run folders.

mod disk;
pub(crate) mod stream;
mod tls;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tare_net::Switch;
use tare_net::link::{self, LinkError};
use tare_net::namespace::Namespace;
use tare_record::calibration::{HostBaseline, PathFigures};

use crate::doctor::nearest_folder;
use crate::{LabError, cached};

use stream::Passes;

/// Passes over all paths, interleaved: a disturbance of a second does not fall on one path alone.
const PASSES: usize = 3;
/// Maximum age of a cached calibration: neighbours on the host and temperature change.
const AGE_MAX_S: u64 = 24 * 3600;

/// Measures everything in about five seconds. `out` is the folder in which runs are written.
///
/// # Errors
/// When not even loopback can be measured.
pub fn measure(out: &Path) -> Result<HostBaseline, LabError> {
    let loopback = link::Path {
        from: None,
        to: None,
        address: Ipv4Addr::LOCALHOST.into(),
    };
    let mut paths = vec![PathCalibration::new("two loopback addresses", loopback)];
    // Without the right to create a namespace no run uses pods either.
    let around = Namespace::new().ok();
    let pods = around.as_ref().and_then(two_pods);
    if let (Some([from, to]), Some(address)) = (&pods, Switch::pod_address(1)) {
        let path = link::Path {
            from: Some(from.as_fd()),
            to: Some(to.as_fd()),
            address: IpAddr::from(address),
        };
        paths.push(PathCalibration::new("two pods", path));
    }
    for _ in 0..PASSES {
        for way in &mut paths {
            way.pass()?;
        }
    }
    Ok(HostBaseline {
        measured_unix_s: now_unix_s(),
        boot_id: boot_id(),
        paths: paths
            .into_iter()
            .filter_map(PathCalibration::figures)
            .collect(),
        disk: disk::measure(out).ok(),
    })
}

/// The calibration from the last 24 hours of this boot, else a new one, stored in `cache`.
///
/// # Errors
/// As [`measure`]. A cache that cannot be written is no error: the next run measures again.
pub fn cached_or_measured(cache: &Path, out: &Path) -> Result<HostBaseline, LabError> {
    match from_cache(cache, out) {
        Some(known) => Ok(known),
        None => measure_and_cache(cache, out),
    }
}

/// Measures without reading the cache and stores the result in it.
///
/// # Errors
/// As [`measure`].
pub fn measure_and_cache(cache: &Path, out: &Path) -> Result<HostBaseline, LabError> {
    let measured = measure(out)?;
    store(cache, out, &measured);
    Ok(measured)
}

pub(crate) fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The calibration of the last 24 hours of this boot, for runs in `out`.
#[must_use]
pub fn from_cache(cache: &Path, out: &Path) -> Option<HostBaseline> {
    let mut known: HostBaseline = cached::read(&place(cache, out))?;
    if let Some(disk) = &mut known.disk {
        disk.folder = nearest_folder(out).display().to_string();
    }
    let age_s = now_unix_s().checked_sub(known.measured_unix_s)?;
    (known.boot_id == boot_id() && age_s < AGE_MAX_S).then_some(known)
}

/// Stores a calibration; if that fails, the next run measures again.
fn store(cache: &Path, out: &Path, measured: &HostBaseline) {
    let _ = cached::write(&place(cache, out), measured);
}

/// One file per file system: they may be on different disks.
fn place(cache: &Path, out: &Path) -> PathBuf {
    let device = fs::metadata(nearest_folder(out)).map_or(0, |folder| folder.dev());
    cache.join(format!("calibration-{device:x}.json"))
}

/// Two pods on a switch of their own, as in a run; `None` without kernel bridges: runs use loopback then.
fn two_pods(around: &Namespace) -> Option<[Namespace; 2]> {
    let attached = around.run(|| {
        let mut switch = Switch::new()?;
        let pods = [Namespace::new()?, Namespace::new()?];
        for (number, pod) in (0..).zip(&pods) {
            if let Some(address) = Switch::pod_address(number) {
                switch.attach(pod, address)?;
            }
        }
        // The switch's devices live as long as its namespace, which the caller owns.
        Ok::<_, tare_net::NetError>(pods)
    });
    attached.ok()?.ok()
}

/// A path and the results of its passes so far.
struct PathCalibration<'a> {
    between: &'static str,
    path: link::Path<'a>,
    plain: Passes,
    tls: Passes,
}

impl<'a> PathCalibration<'a> {
    fn new(between: &'static str, path: link::Path<'a>) -> PathCalibration<'a> {
        PathCalibration {
            between,
            path,
            plain: Passes::default(),
            tls: Passes::default(),
        }
    }

    fn pass(&mut self) -> Result<(), LabError> {
        self.plain.add(stream::plain(self.path)?);
        self.tls.add(stream::through_tls(self.path)?);
        Ok(())
    }

    fn figures(self) -> Option<PathFigures> {
        Some(PathFigures {
            between: self.between.to_owned(),
            plain: self.plain.figures()?,
            tls: self.tls.figures()?,
        })
    }
}

/// Converts an error of tare-net.
fn no_network(error: LinkError) -> LabError {
    LabError::io("measure what the network carries")(std::io::Error::other(error))
}

fn now_unix_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
