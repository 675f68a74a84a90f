//! Capacity of the idle machine: TCP between two pods, plaintext and TLS, and the disk of the run folders.

mod cache;
mod disk;
mod stream;
mod tls;

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tare_net::Switch;
use tare_net::link::{self, LinkError};
use tare_net::namespace::Namespace;
use tare_schema::calibration::{Calibration, PathFigures};

use crate::LabError;

pub use cache::from_cache;
use stream::Passes;

/// Passes over all paths, interleaved: a disturbance of a second does not fall on one path alone.
const PASSES: usize = 3;

/// Measures everything in about five seconds. `out` is the folder in which runs are written.
///
/// # Errors
/// When not even loopback can be measured.
pub fn measure(out: &Path) -> Result<Calibration, LabError> {
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
    Ok(Calibration {
        measured_unix_s: now_unix_s(),
        boot_id: cache::boot_id(),
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
pub fn cached_or_measured(cache: &Path, out: &Path) -> Result<Calibration, LabError> {
    match from_cache(cache, out) {
        Some(known) => Ok(known),
        None => measure_and_cache(cache, out),
    }
}

/// Measures without reading the cache and stores the result in it.
///
/// # Errors
/// As [`measure`].
pub fn measure_and_cache(cache: &Path, out: &Path) -> Result<Calibration, LabError> {
    let measured = measure(out)?;
    cache::store(cache, out, &measured);
    Ok(measured)
}

/// Two pods on a switch of their own, as in a run; `None` without kernel bridges: runs use loopback then.
fn two_pods(around: &Namespace) -> Option<[Namespace; 2]> {
    let plugged = around.run(|| {
        let mut switch = Switch::new()?;
        let pods = [Namespace::new()?, Namespace::new()?];
        for (number, pod) in (0..).zip(&pods) {
            if let Some(address) = Switch::pod_address(number) {
                switch.plug(pod, address)?;
            }
        }
        // The switch's devices live as long as its namespace, which the caller owns.
        Ok::<_, tare_net::NetError>(pods)
    });
    plugged.ok()?.ok()
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
