//! The keeper: the parent of all processes of a run. It outlives Tare just long enough to clean up.
//!
//! It is the same binary (`tare keeper`), started by the conductor with a socket as standard input. At end-of-file on
//! that socket, for whatever reason, it kills all descendants, reaps them, removes its private folder and exits. It is
//! the subreaper of its descendants, so that double forks and new sessions hide nothing. Its parent, the guardian, cleans
//! up after a killed keeper, and the keeper after a killed guardian. Only if both are killed at once, processes are found
//! by a mark in their environment, by the conductor at once or by the next keeper.
//!
//! With namespaces it is process 1 of a PID namespace, and only its descriptors and its processes keep the network
//! namespaces alive: when it exits, the kernel ends them all. (docs/decisions/0004-namespaces.md)

mod children;
mod client;
mod confinement;
mod fd_passing;
mod folder;
mod guardian;
mod lines;
mod output;
mod pods;
mod protocol;
mod server;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::LabError;
use crate::host::SharedHost;
use crate::process;

pub use crate::cgroup::limit_groups::CgroupLimits;
pub use client::{Keeper, ProcessExit};
pub use confinement::{Confinement, FileSystemView};
pub use folder::make_in_memory;
pub(crate) use folder::{
    INSTANCE_MARK, PrivateFolder, default_base, name_of, new_path, remove_stale, stale, sweep,
};
pub(crate) use lines::Lines;
pub use protocol::{ExitStatus, LinkCounts, Spawn};
pub use server::{InsideOptions, KeeperMode, keeper_main};

/// Interval of polling for the exit of a process.
const PAUSE: Duration = Duration::from_millis(2);

/// A keeper of this machine, shared by an environment and its test beds.
pub(crate) type SharedKeeper = Arc<Mutex<Keeper>>;

/// Locks a mutex even if a thread panicked while it held the lock: the keeper's state is in another process.
pub(crate) fn lock<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a process exited; `None`: not within this time.
pub(crate) fn wait_for_exit(
    host: &SharedHost,
    name: &str,
    within: Duration,
) -> Result<Option<ProcessExit>, LabError> {
    let deadline = Instant::now() + within;
    loop {
        let exit = lock(host).exit_of(name)?;
        if exit.is_some() || Instant::now() >= deadline {
            return Ok(exit);
        }
        process::pause(PAUSE);
    }
}
