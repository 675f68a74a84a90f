//! What can go wrong with a link, and the next step.

use std::io;

/// A failure of a link or of its measurement.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A plan that makes no sense.
    #[error("the link cannot be as planned: {0}")]
    Plan(String),
    /// No TUN.
    #[error(
        "no TUN device can be had of /dev/net/tun: {0}; load the module (`modprobe tun`), or give the container the device (`--device /dev/net/tun`)"
    )]
    NoTun(io::Error),
    /// No device in the namespace.
    #[error(
        "cannot make the device {device}: {error}; network administration in the namespace is needed (root, or a user namespace that owns it)"
    )]
    NoDevice {
        /// Its name.
        device: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The namespace cannot be entered.
    #[error(
        "cannot enter the network namespace: {0}; it needs root, or the user namespace that owns it"
    )]
    NoEntry(io::Error),
    /// No thread, or no event descriptor.
    #[error(
        "the link cannot start: {0}; are there enough processes and open files (`ulimit -u`, `ulimit -n`)?"
    )]
    NoStart(io::Error),
    /// The settings of TCP cannot be changed.
    #[error(
        "the windows of TCP in the namespace cannot be widened: {0}; /proc/sys must be writable there"
    )]
    NoWindow(io::Error),
    /// Whoever gave the orders is gone.
    #[error("nobody listens to the links any more: {0}; they end with the run that started them")]
    NoConductor(io::Error),
    /// A measurement did not work.
    #[error(
        "the way to {to} cannot be measured, {step}: {error}; is the device up, and is there a route?"
    )]
    NoMeasure {
        /// Address measured to.
        to: std::net::IpAddr,
        /// What was tried.
        step: &'static str,
        /// What the system said.
        error: io::Error,
    },
}
