//! What conductor and keeper say to each other: one JSON object a line over a socket pair.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tare_net::capture::Capture;
use tare_net::link::{Counts, LinkPlan};

use crate::cgroup::fence::Bounds;

/// Longest line either side accepts.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// A process to be started and kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// Name that no other kept process has.
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
    /// What is written beyond so many bytes is dropped, with a note.
    pub output_bytes_max: u64,
    /// Limit of open files; at most the hard limit is set.
    pub nofile: Option<u64>,
    /// Pod whose network it has; `None`: the keeper's.
    pub pod: Option<String>,
    /// File that it sees as `/etc/hosts`; `None`: the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<PathBuf>,
    /// Group it belongs to; `None`: as the keeper.
    pub group: Option<u32>,
    /// What it and all it starts may have; `None`: as the keeper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// What has crossed a link since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Its sites by number, as they were joined.
    pub sites: [u8; 2],
    /// What crossed it, and what was dropped and why.
    pub counts: Counts,
}

/// What the conductor asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Repeated in the answer.
    pub id: u64,
    /// What to do.
    pub order: Order,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Start a process.
    Spawn { spawn: Spawn },
    /// Send a signal to one process.
    Signal { name: String, signal: i32 },
    /// Ask to end by a signal, and after the grace kill all of it, children and grandchildren; then forget the name.
    Stop {
        name: String,
        signal: i32,
        grace_ms: u64,
    },
    /// Say what it wrote last.
    Tail { name: String },
    /// Run the keeper itself on these cores.
    Pin { cpus: Vec<u32> },
    /// Make a network namespace and plug it into the switch.
    Plug { pod: String, address: Ipv4Addr },
    /// Join two sites by a link, make those that are not there, and say how long round trips are.
    Join { sites: [u8; 2], plan: LinkPlan },
    /// Say what has crossed every link, a line each.
    Links,
    /// Let go of a pod's network: it ends with the last process in it.
    Unplug { pod: String },
    /// Send a pod's traffic to its sidecar.
    Capture { pod: String, capture: Capture },
    /// Open a socket inside a pod's network; it comes with the answer.
    Socket { pod: String },
    /// Try whether processes can be bounded so.
    TryBounds { bounds: Bounds },
    /// Kill everything, remove the folder, end.
    Shutdown,
}

/// What the keeper says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// First line: ready.
    Hello {
        /// As the conductor sees it.
        pid: u32,
        folder: PathBuf,
    },
    /// The keeper could not start; last line.
    Failed { error: String },
    /// An order was carried out.
    Done {
        id: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
    },
    /// An order could not be carried out.
    Refused { id: u64, error: String },
    /// A kept process ended.
    Exited {
        name: String,
        pid: u32,
        how: Ending,
        tail: Vec<String>,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// The kernel killed it since it wanted more memory than its limit.
    Memory {
        /// The limit.
        limit_bytes: u64,
    },
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Code(code) => write!(f, "exit code {code}"),
            Ending::Memory { limit_bytes } => write!(
                f,
                "killed by the kernel: it wanted more memory than its limit of {limit_bytes} bytes"
            ),
            Ending::Signal(number) => {
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
