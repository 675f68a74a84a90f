//! Finds the folder with targets, workloads and experiments, and refuses folders that another user can change.
//!
//! Target folders run code as the user. A folder is used if the user named it, if it belongs to the owner of the
//! program, or if nobody else can write to it (compare git's `safe.directory`).

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::local::isolation::is_root;

/// Environment variable that names the folder; `./tare` sets it to its own checkout.
const VARIABLE: &str = "TARE_HOME";
/// Subfolders that identify it.
const PARTS: [&str; 2] = ["targets", "workloads"];
/// Mode bits: writable by group and others.
const OTHERS_WRITE: u32 = 0o022;
/// Sticky bit: only the owner of an entry can rename or remove it.
const STICKY: u32 = 0o1000;

/// The folder with `targets`, `workloads` and `experiments`: the one that `TARE_HOME` names, else the nearest above
/// the program, else the nearest above the current directory that only this user and root can change.
///
/// # Errors
/// When there is none; or what was found, why it is not trusted, and what to do.
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
    let of_program = candidates(program, |home| of_program(home, program));
    for (folder, looked_at) in of_program.chain(candidates(here, check_private)) {
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

/// Candidate folders at and above this path, nearest first, each with the reason if it is not trusted.
fn candidates(
    start: &Path,
    look_at: impl Fn(&Path) -> Result<(), String>,
) -> impl Iterator<Item = (&Path, Result<(), String>)> {
    let homes = start.ancestors().filter(|folder| is_home(folder));
    homes.map(move |folder| (folder, look_at(folder)))
}

fn is_home(folder: &Path) -> bool {
    PARTS.iter().all(|part| folder.join(part).is_dir())
}

/// Checks that the subfolders belong to an owner of the program or of a folder above it.
fn of_program(home: &Path, program: &Path) -> Result<(), String> {
    let mut trusted = trusted_users();
    // The owner of a folder above the program can replace it.
    let way = program.ancestors().take_while(|at| at.starts_with(home));
    trusted.extend(way.filter_map(|at| Some(fs::metadata(at).ok()?.uid())));
    for part in PARTS.map(|part| home.join(part)) {
        check_owner(&part, &meta(&part)?, &trusted)?;
    }
    Ok(())
}

/// Checks that only this user and root can change or replace the subfolders.
fn check_private(home: &Path) -> Result<(), String> {
    let mut parts = PARTS.iter().map(|part| home.join(part));
    parts.try_for_each(|part| check_whole_path(&part, home))
}

/// Checks that only this user and root can change or replace a folder. Above `home` a folder may be one in which everybody has files of
/// their own.
fn check_whole_path(path: &Path, home: &Path) -> Result<(), String> {
    let path = path.canonicalize().map_err(unreadable(path))?;
    for folder in path.ancestors() {
        let meta = meta(folder)?;
        check_owner(folder, &meta, &trusted_users())?;
        let is_above = folder != path && !folder.starts_with(home);
        let is_sticky = is_above && meta.mode() & STICKY != 0;
        if !is_sticky {
            check_mode(folder, &meta, OTHERS_WRITE)?;
        }
    }
    Ok(())
}

/// Refuses a cache from which root would run what another user has put there: a user's home that `sudo` has kept.
pub(crate) fn check_cache(cache: &Path) -> Result<(), LabError> {
    if !is_root() {
        return Ok(());
    }
    // It may not be there yet; then what is above it counts.
    let there = cache.ancestors().find(|folder| folder.exists());
    let checked = there.map_or(Ok(()), |folder| check_whole_path(folder, folder));
    checked.map_err(|why| LabError::File {
        path: cache.to_owned(),
        reason: format!(
            "this cache is not used, since what is in it is run as root: {why}; set TARE_CACHE to a folder of root, or to this one if you trust its owner"
        ),
    })
}

/// Refuses a target folder if it, or a file in it, belongs to another user or is writable by more users than its
/// collection. The owner of the collection is trusted: it was named, or found by the rule above.
pub(crate) fn check_target(collection: &Path, folder: &Path) -> Result<(), LabError> {
    examine(collection, folder).map_err(|why| LabError::File {
        path: folder.to_owned(),
        reason: format!(
            "target refused: its commands run with your rights, and {why}; if you trust it, `chown -R {} {folder}` and `chmod -R go-w {folder}`, else remove it",
            rustix::process::geteuid().as_raw(),
            folder = folder.display(),
        ),
    })
}

fn examine(collection: &Path, folder: &Path) -> Result<(), String> {
    let of_collection = meta(collection)?;
    let mut trusted = trusted_users();
    trusted.insert(of_collection.uid());
    // Users who may write the collection, or cannot enter it, cannot do more harm through its files.
    let enter = (of_collection.mode() & 0o011) << 1;
    let more = enter & !of_collection.mode() & OTHERS_WRITE;
    let entries = fs::read_dir(folder).map_err(unreadable(folder))?;
    let mut paths = vec![folder.to_owned()];
    for entry in entries {
        paths.push(entry.map_err(unreadable(folder))?.path());
    }
    for path in paths {
        let itself = fs::symlink_metadata(&path).map_err(unreadable(&path))?;
        check_owner(&path, &itself, &trusted)?;
        // A dangling link leads to no file.
        if let Ok(meta) = fs::metadata(&path) {
            check_owner(&path, &meta, &trusted)?;
            check_mode(&path, &meta, more)?;
        }
    }
    Ok(())
}

/// The first of these files, in a folder or above it, that belongs neither to us, to root nor to the folder's owner.
pub(crate) fn untrusted_file(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut trusted = trusted_users();
    trusted.insert(fs::metadata(folder).ok()?.uid());
    let files = folder
        .ancestors()
        .flat_map(|above| names.iter().map(|name| above.join(name)));
    files.into_iter().find(|path| {
        fs::symlink_metadata(path).is_ok_and(|meta| check_owner(path, &meta, &trusted).is_err())
    })
}

/// Trusted users: this one, and root, who can change everything anyway.
fn trusted_users() -> BTreeSet<u32> {
    BTreeSet::from([0, rustix::process::geteuid().as_raw()])
}

fn check_owner(path: &Path, meta: &Metadata, trusted: &BTreeSet<u32>) -> Result<(), String> {
    match trusted.contains(&meta.uid()) {
        true => Ok(()),
        false => Err(format!("{} belongs to user {}", path.display(), meta.uid())),
    }
}

fn check_mode(path: &Path, meta: &Metadata, by: u32) -> Result<(), String> {
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
