//! Finds programs in the absolute folders of `PATH`: an empty or relative one means the current directory, whose files are not run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian puts servers and tools of the administrator, which an ordinary user's `PATH` does not name.
const OF_THE_ADMINISTRATOR: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A program by path, or by name in the folders of [`search_path`].
#[must_use]
pub fn locate(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        let path = absolute(Path::new(program));
        return is_runnable(&path).then_some(path);
    }
    let folders = folders(&std::env::var_os("PATH").unwrap_or_default());
    let mut paths = folders.into_iter().map(|folder| folder.join(program));
    paths.find(|path| is_runnable(path))
}

/// The absolute folders of `PATH` and those of the administrator, as a `PATH`.
#[must_use]
pub fn search_path() -> OsString {
    let folders = folders(&std::env::var_os("PATH").unwrap_or_default());
    // Only a folder with a colon in its name cannot be joined, and what was split at colons has none.
    std::env::join_paths(folders).unwrap_or_default()
}

/// A command whose program, if it is a name, is looked for in [`search_path`], as are the programs that it starts.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    // The standard library looks for the program in the `PATH` that the child is given.
    command.env("PATH", search_path());
    command
}

fn folders(path: &OsStr) -> Vec<PathBuf> {
    let named = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut folders: Vec<PathBuf> = named.collect();
    for folder in OF_THE_ADMINISTRATOR.map(PathBuf::from) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The absolute path, or the path itself if there is no current directory.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn is_runnable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_relative_folders_of_the_path_are_left_out() {
        let found = folders(OsStr::new(":/usr/bin:.:bin:/sbin::../x:/opt/bin:"));
        let expected = [
            "/usr/bin",
            "/sbin",
            "/opt/bin",
            "/usr/local/sbin",
            "/usr/sbin",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn a_program_of_the_current_directory_is_not_run_by_its_name() {
        let here = tempfile::tempdir().unwrap();
        let name = "a-program-of-this-folder";
        let install = Command::new("install")
            .args(["--mode=755", "/bin/true"])
            .arg(here.path().join(name))
            .status();
        assert!(install.unwrap().success());
        let start = |path: &str| {
            let mut command = Command::new(name);
            command.current_dir(here.path()).env("PATH", path);
            command.status()
        };
        assert!(start(".:/usr/bin").unwrap().success(), "the rig is wrong");
        let kept = std::env::join_paths(folders(OsStr::new(".:/usr/bin"))).unwrap();
        let refused = start(kept.to_str().unwrap()).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::NotFound);
        let found = command(name).current_dir(here.path()).status();
        assert_eq!(found.unwrap_err().kind(), std::io::ErrorKind::NotFound);
        assert_eq!(locate(name), None);
        let by_path = here.path().join(name);
        assert_eq!(locate(by_path.to_str().unwrap()), Some(by_path.clone()));
        assert!(command(&by_path).status().unwrap().success());
    }
}
