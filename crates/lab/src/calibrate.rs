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
use stream::Passes;

/// All ways are measured so often in turn: what disturbs the machine for a second does not fall on one of them alone.
const PASSES: usize = 3;

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
    let mut ways = vec![Way::new("two loopback addresses", loopback)];
    // Without the right to make a pod no run uses one: nothing is missing.
    let around = Namespace::new().ok();
    let pods = around.as_ref().and_then(two_pods);
    if let (Some([from, to]), Some(address)) = (&pods, Switch::pod_address(1)) {
        let path = link::Path {
            from: Some(from.as_fd()),
            to: Some(to.as_fd()),
            address: IpAddr::from(address),
        };
        ways.push(Way::new("two pods", path));
    }
    for _ in 0..PASSES {
        for way in &mut ways {
            way.pass()?;
        }
    }
    Ok(Calibration {
        measured_unix_s: now_unix_s(),
        boot_id: memory::boot_id(),
        ways: ways.into_iter().filter_map(Way::figures).collect(),
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

/// Two pods on a switch of their own, as a run makes them; a kernel without bridges, say, has none, and runs are on loopback too.
fn two_pods(around: &Namespace) -> Option<[Namespace; 2]> {
    let plugged = around.run(|| {
        let mut switch = Switch::new()?;
        let pods = [Namespace::new()?, Namespace::new()?];
        for (number, pod) in (0..).zip(&pods) {
            if let Some(address) = Switch::pod_address(number) {
                switch.plug(pod, address)?;
            }
        }
        // The switch's devices live as long as its namespace, which the caller holds.
        Ok::<_, tare_net::NetError>(pods)
    });
    plugged.ok()?.ok()
}

/// A way and what its passes have found so far.
struct Way<'a> {
    between: &'static str,
    path: link::Path<'a>,
    plain: Passes,
    tls: Passes,
}

impl<'a> Way<'a> {
    fn new(between: &'static str, path: link::Path<'a>) -> Way<'a> {
        Way {
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

    fn figures(self) -> Option<WayFigures> {
        Some(WayFigures {
            between: self.between.to_owned(),
            plain: self.plain.figures()?,
            tls: self.tls.figures()?,
        })
    }
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
