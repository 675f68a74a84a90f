//! What the processes of a test bed may do and see. With root, each instance has a user of its own and a view of the file system in
//! which only its own folders can be written.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tare_experiment::target::Capability;

use crate::LabError;
use crate::keeper::{Confinement, FileSystemView, Keeper, Spawn};
use crate::render::Context;
use crate::variables;

/// First user ID of instances: above those of people, containers and services.
const FIRST_USER: u32 = 0x6000_0000;
/// User IDs of one run; they are used again after as many instances.
const USERS: u32 = 4096;
/// First user ID of instances in a pod: within those that a pod with users of its own has.
const FIRST_POD_USER: u32 = 20_000;
/// User IDs of instances in pods; they are used again after as many instances.
const POD_USERS: u32 = 40_000;
/// User ID of the version commands of a process: below those of instances, none of which it may signal or trace.
const VERSION_USER: u32 = FIRST_USER - 0x1_0000;
/// Most processes and threads of an instance.
const PROCESSES_MAX: u64 = 4096;

/// How instances are separated from the host and from each other.
#[derive(Debug, Clone)]
pub(crate) enum Isolation {
    /// By users of their own, of which this is the next one.
    Users { first: u32, used: u32 },
    /// The same in pods elsewhere, whose file systems are their own, by users of which this many were used. Their keepers run as root.
    UsersOfPods { used: u32 },
    /// They are processes of this user, without capabilities if it is root. Without root they keep those of their user namespace, which
    /// proxies need to mark their packets.
    SameUser { reason: String, is_root: bool },
}

impl Isolation {
    /// The best isolation that is possible here.
    pub(crate) fn possible(keeper: &mut Keeper) -> Isolation {
        match Self::try_users(keeper) {
            Ok(()) => Isolation::Users {
                first: FIRST_USER + (std::process::id() % 0x1_0000) * USERS,
                used: 0,
            },
            Err(reason) => Isolation::SameUser {
                reason,
                is_root: is_root(),
            },
        }
    }

    /// Pods elsewhere, each with a file system and a keeper of its own.
    pub(crate) fn of_pods(has_users: bool) -> Isolation {
        match has_users {
            // Two runs on a node should not share limits of processes.
            true => Isolation::UsersOfPods {
                used: std::process::id(),
            },
            false => Isolation::SameUser {
                reason: String::from("each has a pod of its own, with a file system of its own"),
                is_root: is_root(),
            },
        }
    }

    fn try_users(keeper: &mut Keeper) -> Result<(), String> {
        if !is_root() {
            return Err(String::from("Tare does not run as root"));
        }
        let folder = keeper.folder().to_owned();
        let spawn = Spawn {
            name: String::from("isolation"),
            argv: vec![String::from("true")],
            env: variables::of_measured(&folder),
            cwd: PathBuf::from("/"),
            output: folder.join("isolation.log"),
            output_bytes_max: 1024,
            confinement: Some(Confinement {
                user: Some(FIRST_USER),
                processes_max: Some(PROCESSES_MAX),
                view: Some(FileSystemView::default()),
                ..Confinement::default()
            }),
            ..Spawn::default()
        };
        let tried = keeper.spawn(&spawn).map_err(|error| error.to_string());
        let stopped = keeper.stop(&spawn.name, libc::SIGKILL, std::time::Duration::ZERO);
        tried?;
        stopped.map_err(|error| error.to_string())
    }

    /// One sentence for the record.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Isolation::Users { .. } => String::from(
                "each target has a user of its own, no capabilities but those its folder declares, and writes in its own folders only",
            ),
            Isolation::UsersOfPods { .. } => String::from(
                "each target has a user of its own in its pod, no capabilities but those its folder declares",
            ),
            Isolation::SameUser { reason, .. } => {
                format!("targets run as this user: {reason}")
            }
        }
    }

    /// Confinement of an instance, whose files become its user's.
    ///
    /// # Errors
    /// When a file cannot be given to it.
    pub(crate) fn confine(&mut self, context: &Context) -> Result<Option<Confinement>, LabError> {
        let (first, used) = match self {
            Isolation::Users { first, used } => (first, used),
            Isolation::UsersOfPods { used } => {
                let user = FIRST_POD_USER + *used % POD_USERS;
                *used += 1;
                return Ok(Some(Confinement {
                    user: Some(user),
                    processes_max: Some(PROCESSES_MAX),
                    ..Confinement::default()
                }));
            }
            Isolation::SameUser { is_root, .. } => {
                return Ok(is_root.then(Confinement::default));
            }
        };
        let writable = writable_by(context);
        let mut readable: BTreeSet<PathBuf> = BTreeSet::new();
        let programs: Vec<&PathBuf> = std::iter::once(&context.bin)
            .chain(context.programs.values())
            .collect();
        for program in &programs {
            readable.extend(folders_of_program(program));
        }
        let keys = keys_of(context);
        readable.extend(keys.iter().cloned());
        readable.extend(
            context
                .mesh
                .iter()
                .map(|mesh| mesh.root_certificate.clone()),
        );
        readable.retain(|path| path.exists());
        // A program that only this user may read cannot be run by another.
        let user = programs.iter().all(|program| is_open_to_others(program));
        let user = user.then(|| {
            let user = *first + *used % USERS;
            *used += 1;
            user
        });
        if let Some(user) = user {
            for path in writable.iter().chain(&keys) {
                give(path, user)?;
            }
        }
        Ok(Some(Confinement {
            user,
            capabilities: Vec::new(),
            processes_max: user.map(|_| PROCESSES_MAX),
            view: Some(FileSystemView { readable, writable }),
        }))
    }
}

fn writable_by(context: &Context) -> BTreeSet<PathBuf> {
    let mut writable = BTreeSet::from([context.dir.clone()]);
    writable.extend(context.memory.clone());
    writable.extend(context.admin_socket.parent().map(Path::to_owned));
    writable
}

fn keys_of(context: &Context) -> Vec<PathBuf> {
    let keys = context.identity.iter().filter_map(|one| one.key.parent());
    let keys = keys.chain(context.ca.iter().map(|ca| ca.folder.as_path()));
    keys.map(Path::to_owned).collect()
}

/// Folders that belong to the user of an instance.
pub(crate) fn folders_of(context: &Context) -> Vec<PathBuf> {
    writable_by(context)
        .into_iter()
        .chain(keys_of(context))
        .collect()
}

/// Confinement of a load agent: it sets its own scheduling class, and reads the files of its plan.
pub(crate) fn of_agent(isolation: &Isolation) -> Option<Confinement> {
    let has_users = !matches!(isolation, Isolation::SameUser { .. });
    has_users.then(|| Confinement {
        capabilities: vec![Capability::SysNice],
        ..Confinement::default()
    })
}

/// Restrictions of a target's version command, which runs in a folder of its own, the strictest first. None without root: then
/// instances have none either.
pub(crate) fn of_version_command(
    program: &Path,
    argv: &[String],
    folder: &Path,
) -> Vec<Confinement> {
    if !is_root() {
        return Vec::new();
    }
    let folders = folders_of_program(program).into_iter();
    let user = is_open_to_others(program).then(|| VERSION_USER + std::process::id() % 0x1_0000);
    let strict = Confinement {
        user,
        capabilities: Vec::new(),
        processes_max: user.map(|_| PROCESSES_MAX),
        view: Some(FileSystemView {
            readable: folders.filter(|path| path.exists()).collect(),
            writable: [folder.to_owned()].into(),
        }),
    };
    let strict = with_command(Some(&strict), &[], argv);
    strict.into_iter().chain([Confinement::default()]).collect()
}

/// The same confinement with capabilities, and with a command's program among what it can read.
pub(crate) fn with_command(
    confinement: Option<&Confinement>,
    capabilities: &[Capability],
    argv: &[String],
) -> Option<Confinement> {
    let mut confinement = confinement?.clone();
    confinement.capabilities = capabilities.to_vec();
    if let (Some(view), Some(program)) = (&mut confinement.view, argv.first())
        && !program.contains('/')
        && let Some(path) = tare_record::locate::locate(program)
    {
        let more = folders_of_program(&path).into_iter();
        // Its libraries are beside its folder: …/bin/java, …/lib.
        let above = more.filter_map(|folder| Some(folder.parent()?.to_owned()));
        let closed = |path: &PathBuf| path.ancestors().skip(1).any(|one| !can_enter(one));
        view.readable.extend(above.filter(closed));
    }
    Some(confinement)
}

/// Whether this is root of the machine, not of a user namespace.
pub(crate) fn is_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_whole = map
        .split_ascii_whitespace()
        .any(|word| word == "4294967295");
    rustix::process::geteuid().is_root() && is_whole
}

/// The folder of a program, and of what it is a link to. A program may be a folder itself.
pub(crate) fn folders_of_program(program: &Path) -> Vec<PathBuf> {
    let folder = |path: &Path| match path.is_dir() {
        true => Some(path.to_owned()),
        false => path.parent().map(Path::to_owned),
    };
    let real = fs::canonicalize(program).ok();
    let all = [Some(program), real.as_deref()].into_iter().flatten();
    let mut folders: Vec<PathBuf> = all.filter_map(folder).collect();
    folders.retain(|path| path.is_absolute() && path.parent().is_some());
    folders.dedup();
    folders
}

fn is_open_to_others(path: &Path) -> bool {
    let readable = |path: &Path| mode(path).is_some_and(|mode| mode & 0o005 == 0o005);
    let folders = folders_of_program(path);
    readable(path) && folders.iter().all(|folder| readable(folder))
}

pub(crate) fn can_enter(folder: &Path) -> bool {
    mode(folder).is_some_and(|mode| mode & 0o001 != 0)
}

fn mode(path: &Path) -> Option<u32> {
    Some(fs::metadata(path).ok()?.permissions().mode())
}

/// Makes a user and its group the owner of a folder and everything in it. Nothing runs there yet.
pub(crate) fn give(path: &Path, user: u32) -> Result<(), LabError> {
    let failed = |error| LabError::io(format!("give {} to its user", path.display()))(error);
    std::os::unix::fs::lchown(path, Some(user), Some(user)).map_err(failed)?;
    if path.symlink_metadata().map_err(failed)?.is_dir() {
        for entry in fs::read_dir(path).map_err(failed)? {
            give(&entry.map_err(failed)?.path(), user)?;
        }
    }
    Ok(())
}

/// Folder of an instance's administration socket.
pub(crate) fn socket_folder(sockets: &Path, index: usize) -> PathBuf {
    sockets.with_extension(OsStr::new(&format!("a{index}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_seen_with_its_folder_and_that_of_the_file_it_links_to() {
        let base = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(base.path()).unwrap();
        for folder in ["bin", "lib"] {
            fs::create_dir(base.join(folder)).unwrap();
        }
        fs::write(base.join("lib/it"), "").unwrap();
        std::os::unix::fs::symlink("../lib/it", base.join("bin/it")).unwrap();
        let folders = folders_of_program(&base.join("bin/it"));
        assert_eq!(folders, [base.join("bin"), base.join("lib")]);
        assert_eq!(folders_of_program(&base.join("lib")), [base.join("lib")]);
    }

    #[test]
    fn a_program_that_others_cannot_read_is_not_run_by_another_user() {
        let base = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = base.path().join("it");
        fs::write(&program, "").unwrap();
        for (mode, is_open) in [(0o755, true), (0o700, false), (0o744, false)] {
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_open_to_others(&program), is_open, "{mode:o}");
        }
    }
}
