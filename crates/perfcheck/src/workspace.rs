//! Where benchmarks are built: a private folder outside of the sources, with a git worktree of an old revision where one is asked for.
//!
//! It is removed at the end, also at Ctrl-C. That of a killed process is removed by the next one: whoever can lock its file finds
//! nobody at home.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use tare_record::locate;
use tare_record::regular::read_regular;
use tempfile::TempDir;

use crate::error::CheckError;
use crate::process::{BUILD_LIMIT, Processes, REPEAT_LIMIT};

/// Beginning of the names of these folders.
const PREFIX: &str = "tare-perfcheck-";
/// File that is locked as long as the folder is used.
const LOCK: &str = "lock";
/// File with the root of the repository that has a worktree here.
const REPOSITORY: &str = "repository";
/// Folder of the worktree.
const SOURCES: &str = "sources";
/// Longest path of a repository: that of Linux.
const ROOT_BYTES_MAX: u64 = 4096;

/// A folder for builds.
pub struct Workspace {
    folder: TempDir,
    _lock: File,
    /// The repository that has a worktree here.
    repository: Option<Repository>,
}

impl Workspace {
    /// Makes one, and removes those that killed processes have left.
    pub fn make() -> Result<Workspace, CheckError> {
        let base = std::env::temp_dir();
        sweep(&base);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&base);
        let folder = folder.map_err(CheckError::at(&base))?;
        // Locked before it has its name: nobody finds it unlocked.
        let new = folder.path().join("lock.new");
        let lock = File::create(&new).map_err(CheckError::at(&new))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| CheckError::at(&new)(error.into()))?;
        fs::rename(&new, folder.path().join(LOCK)).map_err(CheckError::at(&new))?;
        Ok(Workspace {
            folder,
            _lock: lock,
            repository: None,
        })
    }

    /// An empty folder in it.
    pub fn scratch(&self, name: &str) -> Result<PathBuf, CheckError> {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path).map_err(CheckError::at(&path))?;
        Ok(path)
    }

    /// Checks a commit out beside the user's sources; the root of the worktree.
    pub fn check_out(
        &mut self,
        repository: &Repository,
        commit: &str,
        processes: &Processes<'_>,
    ) -> Result<PathBuf, CheckError> {
        let note = self.folder.path().join(REPOSITORY);
        let root = repository.root.as_os_str().as_encoded_bytes();
        fs::write(&note, root).map_err(CheckError::at(&note))?;
        self.repository = Some(repository.clone());
        let sources = self.folder.path().join(SOURCES);
        let mut add = repository.git(&["worktree", "add", "--quiet", "--detach"]);
        add.arg(&sources).arg(commit);
        processes.succeed("checking the old revision out", &mut add, BUILD_LIMIT)?;
        Ok(sources)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Some(repository) = &self.repository {
            repository.remove_worktree(&self.folder.path().join(SOURCES));
        }
        // The folder itself is removed by its owner, after this.
    }
}

/// Removes folders of this user that nobody holds.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX) && is_private(&path);
        let Some(lock) = is_ours.then(|| File::open(path.join(LOCK)).ok()).flatten() else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        // Only this user can have written what names the repository.
        if let Ok(root) = read_regular(&path.join(REPOSITORY), ROOT_BYTES_MAX) {
            let root = PathBuf::from(OsString::from_vec(root));
            Repository { root }.remove_worktree(&path.join(SOURCES));
        }
        let _ = fs::remove_dir_all(&path);
    }
}

/// Whether a folder belongs to this user, and nobody else can write to it.
fn is_private(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0)
}

/// A git repository.
#[derive(Debug, Clone)]
pub struct Repository {
    pub root: PathBuf,
}

impl Repository {
    /// The repository that a folder is in; `None`: it is in none, or there is no git.
    pub fn of(folder: &Path, processes: &Processes<'_>) -> Result<Option<Repository>, CheckError> {
        let here = Repository {
            root: folder.to_owned(),
        };
        let mut ask = here.git(&["rev-parse", "--show-toplevel"]);
        match processes.run(&mut ask, REPEAT_LIMIT) {
            Ok(said) if said.status.success() => {
                let root = PathBuf::from(said.stdout.trim_end_matches('\n'));
                Ok(Some(Repository { root }))
            }
            Ok(_) | Err(CheckError::Environment(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The revision of the sources, with `+` where files were changed since.
    pub fn revision(&self, processes: &Processes<'_>) -> Result<Option<String>, CheckError> {
        let mut head = self.git(&["rev-parse", "--short=12", "HEAD"]);
        let head = processes.run(&mut head, REPEAT_LIMIT)?;
        if !head.status.success() {
            return Ok(None);
        }
        // Golden files change with every session.
        let golden = format!(":(exclude,top,glob)**/{}", tare_record::api::GOLDEN_FILE);
        let mut status = self.git(&["status", "--porcelain", "--untracked-files=no", "--", "."]);
        let status = processes.run(status.arg(golden), REPEAT_LIMIT)?;
        let mark = match status.stdout.trim() {
            "" => "",
            _ => "+",
        };
        Ok(Some(format!("{}{mark}", head.stdout.trim())))
    }

    /// The commit that a revision names.
    pub fn resolve(&self, revision: &str, processes: &Processes<'_>) -> Result<String, CheckError> {
        let mut ask = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        ask.arg(format!("{revision}^{{commit}}"));
        let said = processes.run(&mut ask, REPEAT_LIMIT)?;
        match said.status.success() {
            true => Ok(said.stdout.trim().to_owned()),
            false => Err(CheckError::Input(format!(
                "{} has no revision {revision:?}: name a commit, a branch or a tag (a shallow clone has few: git fetch --unshallow)",
                self.root.display()
            ))),
        }
    }

    /// Removes a worktree and its entry, and no other: entries whose folders are away, on a disk that is not mounted, are the user's.
    fn remove_worktree(&self, sources: &Path) {
        // Twice: also one whose checkout was interrupted.
        let mut remove = self.git(&["worktree", "remove", "--force", "--force", "--"]);
        remove.arg(sources);
        remove
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env("PATH", locate::search_path());
        // Also while a signal asks for the end: it takes no time worth mentioning, and a second Ctrl-C must not end it halfway.
        // An entry that stays, since the repository is away, has no content: git removes it after some months.
        let _ = remove.process_group(0).status();
    }

    /// git, with nothing of the user's that would run on the way.
    fn git(&self, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .args(["-c", "core.hooksPath=/dev/null", "-C"])
            .arg(&self.root);
        command.args(words).env("GIT_OPTIONAL_LOCKS", "0");
        // A hook that starts a check says where its own repository is.
        for variable in [
            "GIT_DIR",
            "GIT_COMMON_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
        ] {
            command.env_remove(variable);
        }
        command
    }
}
