//! A folder for the private folders of keepers, and what is asked about processes, for tests.
#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

pub mod pods;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest wait for anything here, on a machine that has much else to do.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Copies a program, for everybody to run. Another process writes it: what is open for writing here, a test beside this one may
/// hand on to its children, and the kernel runs no file that somebody writes ("Text file busy").
pub fn install(program: &Path, copy: &Path) {
    let mut install = Command::new("install");
    install.args(["--mode=755"]).args([program, copy]);
    assert!(install.status().unwrap().success());
}

/// A folder for private folders that goes with the test.
pub struct Base(pub PathBuf);

impl Base {
    pub fn new(name: &str) -> Base {
        let folder = tempfile::Builder::new()
            .prefix(&format!("lab-{name}-"))
            .permissions(Permissions::from_mode(0o755))
            .tempdir();
        Base(folder.unwrap().keep())
    }

    /// A copy of the rig for every user: the folders above the build may be closed to others.
    pub fn rig(&self) -> PathBuf {
        let copy = self.0.join("lab-rig");
        if !copy.exists() {
            install(Path::new(env!("CARGO_BIN_EXE_lab-rig")), &copy);
        }
        copy
    }

    /// A word that no other test puts on a command line.
    pub fn token(&self) -> String {
        format!("token-{}", name_of(&self.0))
    }

    pub fn text(&self) -> String {
        self.0.display().to_string()
    }

    /// Private folders of keepers.
    pub fn entries(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let entries = entries.map(|entry| entry.unwrap());
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("tare-"))
            .map(|entry| entry.path())
            .collect()
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Living processes whose command line is like this.
pub fn processes(like: impl Fn(&[String]) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|e| e.unwrap().file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
        let words: Vec<String> = line
            .unwrap_or_default()
            .split(|b| *b == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        words.len() > 1 && *pid != std::process::id() && like(&words)
    })
    .collect()
}

/// Polls until the condition holds or the limit has passed.
pub fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// Control groups with this name, wherever they are.
pub fn groups_named(name: &str) -> Vec<PathBuf> {
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name() == name {
                found.push(entry.path());
            }
            open.push(entry.path());
        }
    }
    found
}
