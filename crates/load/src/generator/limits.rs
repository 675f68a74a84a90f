//! What the process asks of the system before a load: file descriptors, and a low priority for the bookkeeping.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::LoadError;

/// Descriptors for everything but connections: epolls, wakers, standard streams, files.
const OTHERS: u64 = 64;

/// Raises the soft limit of file descriptors as far as these connections need.
///
/// # Errors
/// When the hard limit is lower.
pub fn raise_descriptors(connections: u64) -> Result<(), LoadError> {
    let needed = connections + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None is no limit.
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

/// Makes the calling thread give way to the workers.
pub fn lower_priority() {
    // On Linux priorities are per thread, in spite of the name. A refusal costs exactness only on a full core.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}
