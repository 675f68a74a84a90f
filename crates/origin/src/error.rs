//! Errors that prevent the origin from starting, or end it.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// An error of the origin's environment; errors of clients are answered, not returned.
#[derive(Debug, Error)]
pub enum OriginError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; {}", next_step(source))]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// An option is out of range.
    #[error("{option} is {value}; choose {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The value given.
        value: String,
        /// The values that work.
        allowed: &'static str,
    },
    /// A certificate, a key or the TLS options do not work.
    #[error("cannot {what}: {reason}; {next_step}")]
    Tls {
        /// What was tried.
        what: String,
        /// Why it failed.
        reason: String,
        /// What to do.
        next_step: &'static str,
    },
    /// A kernel object that a worker needs could not be created.
    #[error("cannot {what}: {source}; check the limit of open files (ulimit -n)")]
    Setup {
        /// What was tried.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// Waiting for events failed, which ends a worker.
    #[error(
        "worker {worker} cannot wait for events: {source}; report it with the kernel's version"
    )]
    Wait {
        /// Index of the worker; the acceptor has the index after the workers.
        worker: usize,
        /// The kernel's error.
        source: io::Error,
    },
    /// A worker ended by a panic: a defect of this program.
    #[error("worker {worker} panicked; report it with the message above")]
    Panicked {
        /// Index of the worker; the acceptor has the index after the workers.
        worker: usize,
    },
}

fn next_step(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "stop the process that listens there, choose another port, or port 0 for a free one"
        }
        io::ErrorKind::AddrNotAvailable => "choose an address of this machine, such as 127.0.0.1",
        io::ErrorKind::PermissionDenied => "choose a port above 1023 or run with the privilege",
        _ => "check the address",
    }
}
