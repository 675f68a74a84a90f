//! Errors that prevent the origin from starting, or end it.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// An error of the origin's environment; errors of clients are answered, not returned.
#[derive(Debug, Error)]
pub enum OriginError {
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}; {advice}", advice = next_step(.1))]
    Bind(SocketAddr, #[source] io::Error),
    /// An option is out of range: its name, the value given, and those that work.
    #[error("{0} is {1}; choose {2}")]
    Option(&'static str, String, &'static str),
    /// A certificate, a key or the TLS options do not work: what was tried, why it failed, what to do.
    #[error("cannot {0}: {1}; {2}")]
    Tls(String, String, &'static str),
    /// A kernel object that a worker needs could not be created.
    #[error("cannot {0}: {1}; check the limit of open files (ulimit -n)")]
    Setup(&'static str, #[source] io::Error),
    /// Waiting for events failed, which ends the worker with this index; the acceptor has the index after the workers.
    #[error("worker {0} cannot wait for events: {1}; report it with the kernel's version")]
    Wait(usize, #[source] io::Error),
    /// The worker with this index ended by a panic: a defect of this program.
    #[error("worker {0} panicked; report it with the message above")]
    Panicked(usize),
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
