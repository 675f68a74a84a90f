//! The keeper: the process under which everything a run starts lives, and which outlives Tare just
//! long enough to leave nothing behind.
//!
//! It is the same binary (`tare keeper`), started by the conductor with a socket as standard input.
//! When that socket ends, for whatever reason, it kills every descendant, reaps, removes its private
//! folder and ends. It is the subreaper of its descendants, so that double forks and new sessions do not
//! hide anything; its direct children die with it (`PR_SET_PDEATHSIG`), and what is left of a killed keeper
//! is found by the mark in its environment, by the conductor at once or by the next keeper.
//!
//! In namespaces it is process 1 of a PID namespace, and every network namespace is held by its descriptors and
//! its processes alone: with it the kernel ends them all. (docs/decisions/0004-namespaces.md)

mod children;
mod client;
mod folder;
mod guardian;
mod lines;
mod output;
mod passing;
mod pods;
mod protocol;
mod server;

pub use crate::cgroup::fence::Bounds;
pub(crate) use children::cpu_set;
pub use client::{Exit, Keeper};
pub(crate) use folder::{
    INSTANCE_MARK, PrivateFolder, default_base, make_in_memory, name_of, sweep,
};
pub(crate) use lines::Lines;
pub use protocol::{Ending, LinkCounts, Spawn};
pub use server::{Ground, keeper_main};
