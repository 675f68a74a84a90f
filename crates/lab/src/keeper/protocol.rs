//! Protocol between conductor and keeper: one JSON object per line over a socket pair.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tare_net::link::{CountsPerDirection, LinkPlan};
use tare_net::redirect::RedirectRules;

use super::confinement::Confinement;
use crate::cgroup::limit_groups::CgroupLimits;

/// Longest line that is accepted.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// A process to be started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spawn {
    /// Unique name.
    pub name: String,
    /// Program (absolute, or looked up in the given `PATH`) and arguments.
    pub argv: Vec<String>,
    /// Its whole environment: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Cores it may use; empty: those of the keeper.
    pub cpus: Vec<u32>,
    /// File for standard output and error.
    pub output: PathBuf,
    /// Output beyond this many bytes is dropped, with a note.
    pub output_bytes_max: u64,
    /// Limit of open files; at most the hard limit is set.
    pub nofile: Option<u64>,
    /// Pod whose network it has; `None`: the keeper's.
    pub pod: Option<String>,
    /// File that it sees as `/etc/hosts`; `None`: the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<PathBuf>,
    /// Group id; `None`: the keeper's.
    pub group: Option<u32>,
    /// CPU and memory limits of it and its descendants; `None`: no own limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<CgroupLimits>,
    /// What it may do and see; `None`: what the keeper may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
}

/// Counters of a link since it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Its sites by number, in the order of the request.
    pub sites: [u8; 2],
    /// Packets that crossed it, and drops by cause.
    pub counts: CountsPerDirection,
}

/// A request of the conductor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Repeated in the reply.
    pub id: u64,
    /// The action.
    pub order: Order,
}

/// Action of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Start a process.
    Spawn { spawn: Spawn },
    /// Send a signal to one process.
    Signal { name: String, signal: i32 },
    /// Send a signal; after the grace period kill the process and its descendants; then forget the name.
    Stop {
        name: String,
        signal: i32,
        grace_ms: u64,
    },
    /// Return the last lines of a process's output.
    Tail { name: String },
    /// Pin the keeper itself to these cores.
    Pin { cpus: Vec<u32> },
    /// Create a network namespace and attach it to the switch.
    Attach { pod: String, address: Ipv4Addr },
    /// Connect two sites, creating them if necessary, and return the round-trip times.
    Join { sites: [u8; 2], plan: LinkPlan },
    /// Return the counters of every link, one line each.
    Links,
    /// Release a pod's network namespace: it ends with the last process in it.
    Detach { pod: String },
    /// Redirect a pod's traffic to its sidecar.
    Redirect { pod: String, rules: RedirectRules },
    /// Open a socket in a pod's network namespace; it comes with the reply.
    Socket { pod: String },
    /// Check that processes can be limited like this.
    TryBounds { bounds: CgroupLimits },
    /// Kill everything, remove the folder, exit.
    Shutdown,
}

/// A message of the keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// First line: the keeper is ready.
    Hello {
        /// In the conductor's PID namespace.
        pid: u32,
        folder: PathBuf,
    },
    /// The keeper could not start; last line.
    Failed { error: String },
    /// A request succeeded.
    Done {
        id: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
    },
    /// A request failed.
    Refused { id: u64, error: String },
    /// A process exited.
    Exited {
        name: String,
        pid: u32,
        how: ExitStatus,
        tail: Vec<String>,
    },
}

/// How a process exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitStatus {
    /// Exit code.
    Code(i32),
    /// Terminated by this signal.
    Signal(i32),
    /// Killed by the kernel at its memory limit.
    Memory { limit_bytes: u64 },
}

impl std::fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExitStatus::Code(code) => write!(f, "exit code {code}"),
            ExitStatus::Memory { limit_bytes } => write!(
                f,
                "killed by the kernel: it wanted more memory than its limit of {limit_bytes} bytes"
            ),
            ExitStatus::Signal(number) => {
                let name = match *number {
                    libc::SIGKILL => " (SIGKILL: killed, perhaps for want of memory)",
                    libc::SIGSEGV => " (SIGSEGV: bad memory access)",
                    libc::SIGABRT => " (SIGABRT: it gave up)",
                    libc::SIGTERM => " (SIGTERM)",
                    libc::SIGINT => " (SIGINT)",
                    libc::SIGBUS => " (SIGBUS)",
                    libc::SIGILL => " (SIGILL: instruction unknown to this CPU)",
                    _ => "",
                };
                write!(f, "signal {number}{name}")
            }
        }
    }
}
