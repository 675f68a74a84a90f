//! Parent of a keeper with namespaces: creates the namespaces, starts the keeper as process 1 in them, waits for its
//! exit and removes the folder.
//!
//! It is the only process of a run that sees the host's processes and holds the folder's lock. If it is killed, the
//! keeper dies with it, and the kernel kills all processes of the namespace.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tare_net::enclosure;

use super::folder::{self, PrivateFolder};
use super::server::report_failure;
use crate::LabError;
use crate::process;
use crate::sys::{self, ChildSetup, Session};

/// Argument of the keeper in the new namespaces.
pub(crate) const INSIDE: &str = "--inside";

/// Runs until the keeper has exited. `stream` is the keeper's socket to the conductor.
pub(crate) fn guard(stream: UnixStream, base: &Path) -> Result<(), LabError> {
    let (folder, mut inside) = match start(&stream, base) {
        Ok(started) => started,
        Err(error) => {
            report_failure(&stream, &error);
            return Err(error);
        }
    };
    // Else the conductor would see no end-of-file when the keeper exits.
    drop(stream);
    let ended = inside.wait().map_err(LabError::io("wait for the keeper"));
    folder
        .remove()
        .map_err(LabError::io("remove the private folder"))?;
    ended.map(drop)
}

fn start(
    stream: &UnixStream,
    base: &Path,
) -> Result<(PrivateFolder, std::process::Child), LabError> {
    folder::sweep(base);
    let folder = PrivateFolder::make(base)?;
    match start_inside(stream, folder.path()) {
        Ok(inside) => Ok((folder, inside)),
        Err(error) => {
            // The first error is the one to report.
            let _ = folder.remove();
            Err(error)
        }
    }
}

fn start_inside(stream: &UnixStream, folder: &Path) -> Result<std::process::Child, LabError> {
    enclosure::unshare_all()?;
    let socket = OwnedFd::from(
        stream
            .try_clone()
            .map_err(LabError::io("pass the socket on"))?,
    );
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("tare")
        .arg("keeper")
        .arg(INSIDE)
        .arg(folder)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null());
    // Process 1 of a namespace sees no parent.
    let setup = ChildSetup {
        session: Session::Own,
        ..ChildSetup::default()
    };
    sys::prepare_child(&mut command, setup);
    command
        .spawn()
        .map_err(LabError::io("start the keeper in namespaces of its own"))
}

/// Checks, while `/proc` is still the host's, that the guardian lives: had it died before the parent-death signal was
/// set, that signal would never come.
pub(crate) fn is_there(folder: &Path) -> Result<(), LabError> {
    let own = std::fs::read_to_string("/proc/self/stat").ok();
    let parent = own
        .and_then(|line| process::parse_stat(&line))
        .map(|own| own.parent);
    match (parent, folder::owner_of(&folder::name_of(folder))) {
        (Some(parent), Some(guardian)) if parent == guardian => Ok(()),
        _ => Err(LabError::Keeper(String::from(
            "the keeper's guardian ended while the keeper started",
        ))),
    }
}

/// Replaces standard input by /dev/null: only one descriptor of the socket may stay open.
pub(crate) fn forget_standard_input() -> Result<(), LabError> {
    let what = "let go of standard input";
    let nothing = std::fs::File::open("/dev/null").map_err(LabError::io(what))?;
    rustix::stdio::dup2_stdin(&nothing).map_err(LabError::io(what))?;
    std::io::stdout().flush().map_err(LabError::io(what))
}
