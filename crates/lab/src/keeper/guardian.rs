//! Parent of a keeper: creates its namespaces, if any, starts it, waits for its exit, and cleans up after it.
//!
//! Each of the two cleans up when the other is killed. The keeper sees the death of its guardian by a pipe, ends all
//! processes and removes the folder. The guardian is the subreaper of whatever a killed keeper leaves; in namespaces
//! the kernel ends everything with the keeper, which is process 1 there.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tare_net::enclosure;

use super::children::Children;
use super::folder;
use super::server::report_failure;
use crate::LabError;
use crate::sys::{self, ChildSetup, Session};

/// Argument of the keeper that a guardian starts: the private folder to make.
pub(crate) const INSIDE: &str = "--inside";
/// Further argument: the conductor's process id.
pub(crate) const CONDUCTOR: &str = "--conductor";
/// Further argument of a keeper in namespaces of its own.
pub(crate) const PODS: &str = "--pods";

/// Whose namespaces a keeper runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespaces {
    Hosts,
    Own,
}

/// Runs until the keeper has exited. `stream` is the keeper's socket to the conductor.
pub(crate) fn guard(
    stream: UnixStream,
    base: &Path,
    namespaces: Namespaces,
) -> Result<(), LabError> {
    folder::sweep(base);
    let parent = rustix::process::getppid();
    let conductor = parent.map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
    // The keeper makes the folder: so each of the two knows of it before it exists.
    let path = folder::new_path(base);
    let started =
        become_parent().and_then(|pipe| start(&stream, &path, conductor, namespaces, pipe));
    let (mut keeper, _alive) = started.inspect_err(|error| report_failure(&stream, error))?;
    // Else the conductor would see no end-of-file when the keeper exits.
    drop(stream);
    let ended = keeper.wait().map_err(LabError::io("wait for the keeper"));
    Children::default().end_all();
    folder::remove(&path).map_err(LabError::io("remove the private folder"))?;
    folder::remove_those_of(base, conductor);
    ended.map(drop)
}

/// Adopts all orphans below this process; a pipe that is closed when it ends.
fn become_parent() -> Result<(PipeReader, PipeWriter), LabError> {
    adopt_orphans()?;
    pipe().map_err(LabError::io("make a pipe for the keeper"))
}

/// Makes this process the parent of orphaned descendants.
pub(crate) fn adopt_orphans() -> Result<(), LabError> {
    // Any value but none sets the flag.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(LabError::io("become the parent of orphans"))
}

fn start(
    stream: &UnixStream,
    folder: &Path,
    conductor: u32,
    namespaces: Namespaces,
    (alive, watched): (PipeReader, PipeWriter),
) -> Result<(Child, PipeReader), LabError> {
    let (parent, flags): (_, &[&str]) = match namespaces {
        Namespaces::Hosts => (Some(rustix::process::getpid()), &[]),
        Namespaces::Own => {
            enclosure::unshare_all()?;
            // Process 1 of a namespace sees no parent.
            (None, &[PODS])
        }
    };
    let socket = stream
        .try_clone()
        .map_err(LabError::io("pass the socket on"))?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("tare")
        .arg("keeper")
        .arg(INSIDE)
        .arg(folder)
        .arg(CONDUCTOR)
        .arg(conductor.to_string())
        .args(flags)
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::from(watched));
    let setup = ChildSetup {
        parent,
        session: Session::Own,
        ..ChildSetup::default()
    };
    sys::prepare_child(&mut command, setup);
    let keeper = command.spawn().map_err(LabError::io("start the keeper"))?;
    Ok((keeper, alive))
}

/// The keeper's end of the pipe to its guardian: an error on it says that the guardian is gone.
pub(crate) fn watch() -> Result<OwnedFd, LabError> {
    let what = "watch the keeper's guardian";
    let pipe = std::io::stdout().as_fd().try_clone_to_owned();
    let pipe = pipe.map_err(LabError::io(what))?;
    // Until here the kernel ended the keeper with its guardian; from here on the keeper cleans up first.
    rustix::process::set_parent_process_death_signal(None).map_err(LabError::io(what))?;
    Ok(pipe)
}

/// Replaces standard input by /dev/null: only one descriptor of the socket may stay open.
pub(crate) fn forget_standard_input() -> Result<(), LabError> {
    let what = "let go of standard input";
    let nothing = std::fs::File::open("/dev/null").map_err(LabError::io(what))?;
    rustix::stdio::dup2_stdin(&nothing).map_err(LabError::io(what))?;
    std::io::stdout().flush().map_err(LabError::io(what))
}
