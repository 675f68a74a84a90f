//! System limits before a load: file descriptors, and low priority for the aggregator.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::LoadError;

/// Descriptors for everything but connections: epolls, wakers, standard streams, files.
const OTHERS: u64 = 64;

/// Raises the soft limit of file descriptors to what these connections need.
///
/// # Errors
/// When the hard limit is too low.
pub fn raise_descriptors(connections: u64) -> Result<(), LoadError> {
    let needed = connections + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` is unlimited.
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(allowed) = maximum.filter(|&allowed| allowed < needed) {
        return Err(LoadError::Descriptors {
            needed: connections,
            needed_descriptors: needed,
            allowed,
        });
    }
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(needed),
            maximum,
        },
    )
    .map_err(|error| LoadError::System {
        what: "raise the limit of file descriptors",
        source: error.into(),
    })
}

/// Lowers the priority of the calling thread below the workers.
pub fn lower_priority() {
    // On Linux niceness is per thread, in spite of the name. A refusal costs accuracy only on a fully loaded core.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}
