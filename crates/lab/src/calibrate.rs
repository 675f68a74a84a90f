//! What this machine carries with nothing on it: TCP between two pods, plain and through TLS, and the disk under the runs.

mod disk;
mod memory;
mod stream;
mod tls;

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tare_net::Switch;
use tare_net::link::{self, LinkError};
use tare_net::namespace::Namespace;
use tare_schema::calibration::{Calibration, WayFigures};

use crate::LabError;

pub use memory::remembered;

/// Measures everything that can be measured here, in about five seconds. `out` is the folder in which runs are written.
///
/// # Errors
/// When not even loopback carries anything.
pub fn measure(out: &Path) -> Result<Calibration, LabError> {
    let loopback = link::Path {
        from: None,
        to: None,
        address: Ipv4Addr::LOCALHOST.into(),
    };
    let mut ways = vec![way("two loopback addresses", loopback)?];
    // Without the right to make a pod no run uses one: nothing is missing.
    if let Ok(switch) = Namespace::new() {
        ways.extend(between_pods(&switch)?);
    }
    Ok(Calibration {
        measured_unix_s: now_unix_s(),
        boot_id: memory::boot_id(),
        ways,
        disk: disk::measure(out).ok(),
    })
}

/// What is known from the last 24 hours of this boot, else measured now and remembered in `cache`.
///
/// # Errors
/// As [`measure`]. A cache that cannot be written is no error: it is measured again next time.
pub fn remembered_or_measured(cache: &Path, out: &Path) -> Result<Calibration, LabError> {
    match remembered(cache, out) {
        Some(known) => Ok(known),
        None => measured_anew(cache, out),
    }
}

/// Measured now, whatever is remembered, and remembered.
///
/// # Errors
/// As [`measure`].
pub fn measured_anew(cache: &Path, out: &Path) -> Result<Calibration, LabError> {
    let measured = measure(out)?;
    memory::remember(cache, out, &measured);
    Ok(measured)
}

/// Two pods on a switch of their own, as a run makes them.
fn between_pods(around: &Namespace) -> Result<Option<WayFigures>, LabError> {
    let plugged = around.run(|| {
        let mut switch = Switch::new()?;
        let pods = [Namespace::new()?, Namespace::new()?];
        for (number, pod) in (0..).zip(&pods) {
            if let Some(address) = Switch::pod_address(number) {
                switch.plug(pod, address)?;
            }
        }
        // The switch's devices live as long as its namespace, which the caller holds.
        Ok(pods)
    });
    let pods = match plugged.and_then(|pods: Result<_, tare_net::NetError>| pods) {
        Ok(pods) => pods,
        // A kernel without bridges, say: then runs are on loopback too.
        Err(_) => return Ok(None),
    };
    let Some(address) = Switch::pod_address(1) else {
        return Ok(None);
    };
    let [from, to] = &pods;
    let path = link::Path {
        from: Some(from.as_fd()),
        to: Some(to.as_fd()),
        address: IpAddr::from(address),
    };
    way("two pods", path).map(Some)
}

fn way(between: &str, path: link::Path<'_>) -> Result<WayFigures, LabError> {
    Ok(WayFigures {
        between: between.to_owned(),
        plain: stream::plain(path)?,
        tls: stream::through_tls(path)?,
    })
}

/// The network's own words, as an error of the laboratory.
fn no_network(error: LinkError) -> LabError {
    LabError::io("measure what the network carries")(std::io::Error::other(error))
}

fn now_unix_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
