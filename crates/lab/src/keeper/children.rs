//! Processes started by a keeper: started, monitored, reaped, and all their descendants found.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};
use tare_record::regular::open_to_append;

use super::folder::{INSTANCE_MARK, KEEPER_MARK};
use super::output::Output;
use super::protocol::{ExitStatus, Spawn};
use crate::process::{self, ProcessStat};
use crate::sys::{self, ChildSetup, NO_DROP, NO_GROUP, NO_NAMES, NO_VIEW, Session};

/// Most processes at a time that one keeper starts itself.
const CHILDREN_MAX: usize = 500;

/// Clean-up after Tare's death must fit in 2 s.
const LAST_LIMIT: Duration = Duration::from_millis(1700);

/// Whether one more of what is kept by name has room.
pub(crate) fn room_for(count: usize, max: usize, what: &str) -> Result<(), String> {
    match count < max {
        true => Ok(()),
        false => Err(format!("{max} {what} are the limit; stop some first")),
    }
}

/// One process started on request.
pub(crate) struct Child {
    pub(crate) pid: Pid,
    /// Its id in the conductor's PID namespace.
    pub(crate) outer_pid: u32,
    /// pidfd: readable when the process has exited.
    pub(crate) ended: OwnedFd,
    pub(crate) output: Output,
    /// Its memory limit, if any.
    pub(crate) memory_bytes_max: Option<u64>,
    pub(crate) exit_status: Option<ExitStatus>,
    /// Whether the exit was reported to the conductor.
    pub(crate) exit_reported: bool,
}

/// All started processes by name.
#[derive(Default)]
pub(crate) struct Children {
    pub(crate) by_name: BTreeMap<String, Child>,
}

impl Children {
    /// Starts a process and returns its id as the conductor sees it.
    pub(crate) fn spawn(&mut self, spawn: &Spawn, place: SpawnContext<'_>) -> Result<u32, String> {
        if self.by_name.contains_key(&spawn.name) {
            return Err(format!("a process named {} is already kept", spawn.name));
        }
        room_for(self.by_name.len(), CHILDREN_MAX, "processes")?;
        let child = start(spawn, place)?;
        let pid = child.outer_pid;
        self.by_name.insert(spawn.name.clone(), child);
        Ok(pid)
    }

    /// Reaps all exited processes, adopted ones too.
    pub(crate) fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let child = self.by_name.values_mut().find(|child| child.pid == pid);
            if let Some(child) = child {
                child.exit_status = exit_status(status);
            }
        }
    }

    /// The running processes of a name: its descendants, its session, and those that left both and are recognised by
    /// the mark in their environment.
    pub(crate) fn members(&self, name: &str) -> Vec<ProcessStat> {
        let Some(child) = self.by_name.get(name) else {
            return Vec::new();
        };
        let root = id(child.pid);
        let own: BTreeSet<u32> = self.by_name.values().map(|child| id(child.pid)).collect();
        let all = process::snapshot();
        let mark = format!("{INSTANCE_MARK}={name}");
        let me = std::process::id();
        let mut roots = BTreeSet::new();
        if child.exit_status.is_none() {
            roots.insert(root);
        }
        // While a session has members, the kernel does not reuse its id.
        roots.extend(all.iter().filter(|p| p.session == root).map(|p| p.pid));
        let adopted = all
            .iter()
            .filter(|p| p.parent == me && !own.contains(&p.pid));
        roots.extend(
            adopted
                .filter(|p| process::has_environment(p.pid, &mark))
                .map(|p| p.pid),
        );
        let members = process::with_descendants(&all, &roots);
        all.into_iter()
            .filter(|p| members.contains(&p.pid) && p.is_alive())
            .collect()
    }

    /// Kills and reaps every descendant of this process, however long that takes within the limit.
    pub(crate) fn end_all(&mut self) {
        let deadline = Instant::now() + LAST_LIMIT;
        while !self.kill_all() && Instant::now() < deadline {
            process::pause(Duration::from_millis(1));
        }
    }

    /// Sends SIGKILL to every descendant of this process; returns whether none is left.
    ///
    /// As subreaper this process adopts every orphan, so no descendant can hide; but one may fork in the meantime, so
    /// the caller repeats this.
    fn kill_all(&mut self) -> bool {
        let all = process::snapshot();
        let me = std::process::id();
        let below = process::with_descendants(&all, &BTreeSet::from([me]));
        let mut left = false;
        for one in all.iter().filter(|p| p.pid != me && below.contains(&p.pid)) {
            left = true;
            if one.is_alive() {
                process::send_signal(one, Signal::KILL);
            }
        }
        self.reap();
        !left
    }
}

/// Parameters of a start that the keeper adds.
pub(crate) struct SpawnContext<'a> {
    /// The keeper's mark in the environment.
    pub(crate) mark: &'a str,
    /// Network namespace; `None`: the keeper's.
    pub(crate) network: Option<BorrowedFd<'a>>,
    /// The host's `/proc`, where the keeper has its own PID namespace.
    pub(crate) outer_proc: Option<BorrowedFd<'a>>,
    /// `cgroup.procs` files of the control groups that it joins.
    pub(crate) groups: Vec<OwnedFd>,
}

fn start(spawn: &Spawn, place: SpawnContext<'_>) -> Result<Child, String> {
    let (program, arguments) = spawn
        .argv
        .split_first()
        .ok_or_else(|| String::from("there is no program to start"))?;
    let in_words = |what: &str, error: &dyn std::fmt::Display| format!("cannot {what}: {error}");
    // At the second start of an instance the folder is that of its software.
    let file = open_to_append(&spawn.output, 0o600)
        .map_err(|e| in_words(&format!("write {}", spawn.output.display()), &e))?;
    let (read, write) =
        rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|e| in_words("make a pipe", &e))?;
    rustix::io::ioctl_fionbio(&read, true).map_err(|e| in_words("make a pipe", &e))?;
    let again = write.try_clone().map_err(|e| in_words("make a pipe", &e))?;
    let network = place.network.map(|network| network.try_clone_to_owned());
    let network = network.transpose();
    let network = network.map_err(|e| in_words("hold the pod's network", &e))?;
    let hosts = spawn.hosts.as_ref().map(|file| file.as_os_str().as_bytes());
    let hosts = hosts.map(CString::new).transpose();
    let hosts = hosts.map_err(|e| in_words("name the file of names", &e))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(spawn.env.iter().map(|(name, value)| (name, value)))
        .env(KEEPER_MARK, place.mark)
        .env(INSTANCE_MARK, &spawn.name)
        .current_dir(&spawn.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::from(write))
        .stderr(Stdio::from(again));
    let mut setup = ChildSetup {
        parent: Some(rustix::process::getpid()),
        network,
        hosts,
        groups: place.groups,
        session: Session::Own,
        cpus: process::cpu_set(&spawn.cpus),
        nofile: spawn.nofile,
        group: spawn.group,
        ..ChildSetup::default()
    };
    if let Some(confinement) = &spawn.confinement {
        let set_up = confinement.set_up(&spawn.cwd, &mut setup);
        set_up.map_err(|e| in_words("look at what it may see", &e))?;
    }
    sys::prepare_child(&mut command, setup);
    let process = command.spawn().map_err(|error| why_not(spawn, &error))?;
    // Closes our copies of the pipe's write end; otherwise it would never report end-of-file.
    drop(command);
    let pid = process::raw_pid(process.id())
        .ok_or_else(|| String::from("the kernel gave an impossible process id"))?;
    let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty())
        .map_err(|e| in_words("watch the process", &e))?;
    let outer_pid = match place.outer_proc {
        None => id(pid),
        // A wrong id would have another process observed: better no process.
        Some(proc) => outer_pid(proc, ended.as_fd()).ok_or_else(|| {
            let _ = rustix::process::pidfd_send_signal(&ended, Signal::KILL);
            String::from("the host's /proc does not tell its process id")
        })?,
    };
    Ok(Child {
        pid,
        outer_pid,
        ended,
        output: Output::new(read, file, spawn.output_bytes_max),
        memory_bytes_max: spawn.bounds.and_then(|bounds| bounds.memory_bytes),
        exit_status: None,
        exit_reported: false,
    })
}

/// A process's id outside of our PID namespace: a `/proc` shows ids of the namespace in which it was mounted.
fn outer_pid(proc: BorrowedFd<'_>, process: BorrowedFd<'_>) -> Option<u32> {
    let path = format!("self/fdinfo/{}", process.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(proc, path, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    std::fs::File::from(file).read_to_string(&mut text).ok()?;
    let pid = process::field(&text, "Pid")?;
    u32::try_from(pid).ok().filter(|pid| *pid != 0)
}

/// Why a program did not start, with the next step.
fn why_not(spawn: &Spawn, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound if !spawn.cwd.is_dir() => {
            format!("its working directory {} is missing", spawn.cwd.display())
        }
        std::io::ErrorKind::NotFound => {
            String::from("there is no such program; install it or correct the path")
        }
        std::io::ErrorKind::PermissionDenied => {
            String::from("permission denied; make the file executable (chmod +x) or use another")
        }
        _ if error.raw_os_error() == Some(libc::EMFILE) => {
            String::from("no file descriptor is left; raise the limit of open files (ulimit -n)")
        }
        _ if error.raw_os_error() == Some(libc::EINVAL) && !spawn.cpus.is_empty() => {
            format!("{error}; are the cores {:?} there and allowed?", spawn.cpus)
        }
        _ if error.raw_os_error() == Some(NO_GROUP) => String::from(
            "it cannot join the control group of its limits; run as root, or remove `limits`",
        ),
        _ if error.raw_os_error() == Some(NO_NAMES) => String::from(
            "it cannot have names of its own: make an empty file /etc/hosts, or use `--addressing loopback`",
        ),
        _ if error.raw_os_error() == Some(NO_VIEW) => String::from(
            "it cannot have its own view of the file system: mounts are not permitted here",
        ),
        _ if error.raw_os_error() == Some(NO_DROP) => {
            String::from("it cannot drop its privileges here")
        }
        _ => error.to_string(),
    }
}

fn exit_status(status: WaitStatus) -> Option<ExitStatus> {
    let code = status.exit_status().map(ExitStatus::Code);
    code.or_else(|| status.terminating_signal().map(ExitStatus::Signal))
}

fn id(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_and_processes_beyond_the_limit_are_refused() {
        assert_eq!(
            room_for(CHILDREN_MAX - 1, CHILDREN_MAX, "processes"),
            Ok(())
        );
        let said = room_for(CHILDREN_MAX, CHILDREN_MAX, "processes").unwrap_err();
        assert_eq!(said, "500 processes are the limit; stop some first");
    }
}
