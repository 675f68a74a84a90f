//! Errors of a link, with advice.

use std::io;

/// A failure of a link or of its measurement.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// An invalid plan.
    #[error("the link cannot be as planned: {0}")]
    Plan(String),
    /// TUN is not available.
    #[error(
        "no TUN device can be had of /dev/net/tun: {0}; load the module (`modprobe tun`), or give the container the device (`--device /dev/net/tun`)"
    )]
    NoTun(io::Error),
    /// The device cannot be created in the namespace.
    #[error(
        "cannot make the device {device}: {error}; network administration in the namespace is needed (root, or a user namespace that owns it)"
    )]
    NoDevice {
        /// Its name.
        device: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The namespace cannot be entered.
    #[error(
        "cannot enter the network namespace: {0}; it needs root, or the user namespace that owns it"
    )]
    NoEntry(io::Error),
    /// A thread or an event descriptor cannot be created.
    #[error(
        "the link cannot start: {0}; are there enough processes and open files (`ulimit -u`, `ulimit -n`)?"
    )]
    NoStart(io::Error),
    /// `tcp_rmem` and `tcp_wmem` cannot be changed.
    #[error(
        "cannot raise tcp_rmem and tcp_wmem in the namespace: {0}; /proc/sys must be writable there"
    )]
    NoWindow(io::Error),
    /// The process that started the links has closed their pipe.
    #[error(
        "the conductor closed the control socket of the links: {0}; they end with the run that started them"
    )]
    NoConductor(io::Error),
    /// A measurement failed.
    #[error(
        "the way to {to} cannot be measured, {step}: {error}; is the device up, and is there a route?"
    )]
    NoMeasure {
        /// Address measured to.
        to: std::net::IpAddr,
        /// The step that failed.
        step: &'static str,
        /// The system's error.
        error: io::Error,
    },
}
