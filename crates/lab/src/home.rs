//! Where targets, workloads and experiments are found, and which of the folders that lie around are not used.
//!
//! What a target folder says is run as whoever started Tare. So he decides where it lies, or whoever could have replaced the
//! program; the current directory decides it only where nobody else can write (compare git's `safe.directory`).

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::LabError;

/// Names the folder; `./tare` sets it to its own checkout.
const VARIABLE: &str = "TARE_HOME";
/// What makes a folder the one that is looked for.
const PARTS: [&str; 2] = ["targets", "workloads"];
/// Mode bits: the group may write, all others may.
const OTHERS_WRITE: u32 = 0o022;
/// Mode bit of folders where nobody can move away what belongs to another.
const STICKY: u32 = 0o1000;

/// The folder with `targets`, `workloads` and `experiments`: the one that `TARE_HOME` names, else the nearest around the
/// program, else the nearest around the current directory that nobody but this user and root can change.
///
/// # Errors
/// That there is none, or what was found, why it is not used, and what to do.
pub fn home() -> Result<PathBuf, LabError> {
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let program = std::env::current_exe().unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    find(named.as_ref().map(Path::new), &program, &here)
}

fn find(named: Option<&Path>, program: &Path, here: &Path) -> Result<PathBuf, LabError> {
    if let Some(named) = named {
        return match is_home(named) {
            true => Ok(named.to_owned()),
            false => Err(LabError::File {
                path: named.to_owned(),
                reason: format!(
                    "{VARIABLE} names this folder, but it holds no `targets` and `workloads`; set {VARIABLE} to a checkout of Tare, or unset it"
                ),
            }),
        };
    }
    let mut refused = None;
    let of_program = around(program, |home| of_program(home, program));
    for (folder, looked_at) in of_program.chain(around(here, ours_alone)) {
        match looked_at {
            Ok(()) => return Ok(folder.to_owned()),
            Err(why) => refused = refused.or(Some((folder, why))),
        }
    }
    Err(match refused {
        Some((folder, why)) => LabError::File {
            path: folder.to_owned(),
            reason: format!(
                "`targets` and `workloads` are here, but they are not used, since what they say is run as you: {why}; if you trust this folder, set {VARIABLE}={}",
                folder.display()
            ),
        },
        None => LabError::File {
            path: program.to_owned(),
            reason: format!(
                "no folders `targets` and `workloads` around this program or the current directory; start ./tare of a checkout, or set {VARIABLE} to one"
            ),
        },
    })
}

/// The folders around this place that hold what is looked for, nearest first, and why they may not be used.
fn around(
    start: &Path,
    look_at: impl Fn(&Path) -> Result<(), String>,
) -> impl Iterator<Item = (&Path, Result<(), String>)> {
    let homes = start.ancestors().filter(|folder| is_home(folder));
    homes.map(move |folder| (folder, look_at(folder)))
}

fn is_home(folder: &Path) -> bool {
    PARTS.iter().all(|part| folder.join(part).is_dir())
}

/// Whether the parts of a folder around the program belong to those who decide what the program is.
fn of_program(home: &Path, program: &Path) -> Result<(), String> {
    let mut trusted = us();
    // Whoever owns a folder on the way to the program can replace it.
    let way = program.ancestors().take_while(|at| at.starts_with(home));
    trusted.extend(way.filter_map(|at| Some(fs::metadata(at).ok()?.uid())));
    for part in PARTS.map(|part| home.join(part)) {
        belongs(&part, &meta(&part)?, &trusted)?;
    }
    Ok(())
}

/// Whether nobody but this user and root can change the parts of a folder, or put others in their place.
fn ours_alone(home: &Path) -> Result<(), String> {
    for part in PARTS.map(|part| home.join(part)) {
        let part = part.canonicalize().map_err(unreadable(&part))?;
        for folder in part.ancestors() {
            let meta = meta(folder)?;
            belongs(folder, &meta, &us())?;
            let is_above = folder != part && !folder.starts_with(home);
            let holds_fast = is_above && meta.mode() & STICKY != 0;
            if !holds_fast {
                not_written(folder, &meta, OTHERS_WRITE)?;
            }
        }
    }
    Ok(())
}

/// Refuses a target folder when it, or a file in it, is somebody else's or may be written by more than its collection may.
/// Whoever owns the collection is trusted: it was named, or found by the rule above.
pub(crate) fn check_target(collection: &Path, folder: &Path) -> Result<(), LabError> {
    examine(collection, folder).map_err(|why| LabError::File {
        path: folder.to_owned(),
        reason: format!(
            "this target is not used, since what it says is run as you: {why}; if you trust it, `chown -R {} {folder}` and `chmod -R go-w {folder}`, else remove it",
            rustix::process::geteuid().as_raw(),
            folder = folder.display(),
        ),
    })
}

fn examine(collection: &Path, folder: &Path) -> Result<(), String> {
    let of_collection = meta(collection)?;
    let mut trusted = us();
    trusted.insert(of_collection.uid());
    // Who may write the collection, or cannot even enter it, is no concern of the files in it.
    let enter = (of_collection.mode() & 0o011) << 1;
    let more = enter & !of_collection.mode() & OTHERS_WRITE;
    let entries = fs::read_dir(folder).map_err(unreadable(folder))?;
    let mut paths = vec![folder.to_owned()];
    for entry in entries {
        paths.push(entry.map_err(unreadable(folder))?.path());
    }
    for path in paths {
        let itself = fs::symlink_metadata(&path).map_err(unreadable(&path))?;
        belongs(&path, &itself, &trusted)?;
        // A link that leads nowhere leads to no file of a stranger.
        if let Ok(meta) = fs::metadata(&path) {
            belongs(&path, &meta, &trusted)?;
            not_written(&path, &meta, more)?;
        }
    }
    Ok(())
}

/// The first of these files, in a folder or above it, that belongs neither to us, to root nor to the folder's owner.
pub(crate) fn of_stranger(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut trusted = us();
    trusted.insert(fs::metadata(folder).ok()?.uid());
    let files = folder
        .ancestors()
        .flat_map(|above| names.iter().map(|name| above.join(name)));
    files.into_iter().find(|path| {
        fs::symlink_metadata(path).is_ok_and(|meta| belongs(path, &meta, &trusted).is_err())
    })
}

/// This user and root, who can do what he wants.
fn us() -> BTreeSet<u32> {
    BTreeSet::from([0, rustix::process::geteuid().as_raw()])
}

fn belongs(path: &Path, meta: &Metadata, trusted: &BTreeSet<u32>) -> Result<(), String> {
    match trusted.contains(&meta.uid()) {
        true => Ok(()),
        false => Err(format!("{} belongs to user {}", path.display(), meta.uid())),
    }
}

fn not_written(path: &Path, meta: &Metadata, by: u32) -> Result<(), String> {
    match meta.mode() & by {
        0 => Ok(()),
        _ => Err(format!(
            "others may write {} (mode {:o})",
            path.display(),
            meta.mode() & 0o7777
        )),
    }
}

fn meta(path: &Path) -> Result<Metadata, String> {
    fs::metadata(path).map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> String {
    move |error| format!("{} cannot be read ({error})", path.display())
}

#[cfg(test)]
mod tests;
