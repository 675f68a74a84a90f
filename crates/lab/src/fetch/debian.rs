//! Programs from Debian packages, installed by apt-get.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use tare_experiment::target::DebianDef;
use tare_record::locate::locate;

use super::{ProgramPath, wait_for_lock};
use crate::subprocess;
use crate::variables::ProgramKind;

/// Timeout of one apt-get command.
const INSTALL_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Timeout of a query to the package database.
const QUERY_LIMIT: Duration = Duration::from_secs(20);
/// Debian's hook that decides whether an installed service may start (invoke-rc.d(8)).
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// Held while the policy is there: two installs at once would remove it from each other.
const LOCK: &str = "/run/tare-install.lock";
/// Exit code 101 forbids it. A later install recognises the file by its comment.
const POLICY_TEXT: &str =
    "#!/bin/sh\n# Written by tare while it installs packages; removed afterwards.\nexit 101\n";

/// The program, if it and its required files are installed.
pub(super) fn installed(package: &DebianDef) -> Option<ProgramPath> {
    let bin = locate(&package.program)?;
    if !package
        .required_files
        .iter()
        .all(|file| Path::new(file).exists())
    {
        return None;
    }
    let source = owner(&bin).unwrap_or_else(|| "path".to_owned());
    Some(ProgramPath::outside(bin, source))
}

/// `debian nginx 1.22.1-9`; `None` when no package owns the file.
fn owner(bin: &Path) -> Option<String> {
    let query = |words: &[&str]| {
        subprocess::run(words, ProgramKind::Plain, QUERY_LIMIT)
            .ok()
            .filter(|output| output.success)
            .map(|output| output.stdout)
    };
    let path = bin.display().to_string();
    // With a merged /usr the database may know the file by its older name.
    let short = path.strip_prefix("/usr").unwrap_or(&path).to_owned();
    let owned =
        query(&["dpkg-query", "-S", &path]).or_else(|| query(&["dpkg-query", "-S", &short]))?;
    let name = owned.lines().next()?.split(':').next()?.trim().to_owned();
    let version = query(&["dpkg-query", "-W", "-f", "${Version}", &name])?;
    Some(format!("debian {name} {}", version.trim()))
}

/// Whether this user may install packages.
pub(super) fn can_install() -> bool {
    locate("apt-get").is_some() && rustix::process::geteuid().is_root()
}

/// Installs the packages without letting their services start.
pub(super) fn install(
    package: &DebianDef,
    say: &mut dyn FnMut(&str),
) -> Result<ProgramPath, String> {
    let packages = package.packages.join(" ");
    let by_hand = format!(
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends {packages}"
    );
    if locate("apt-get").is_none() {
        return Err(format!(
            "no apt-get here: install {packages} your own way, so that `{}` is in PATH",
            package.program
        ));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(format!(
            "installing {packages} needs root; run: {by_hand} (if that starts a service, stop it: sudo systemctl disable --now {})",
            package.packages.first().unwrap_or(&package.program)
        ));
    }
    say(&format!("installing the Debian packages {packages}"));
    let waits = || say("another run is installing packages; waiting");
    let _policy = NoServices::activate(Path::new(POLICY), Path::new(LOCK), waits)?;
    // Waits for other programs that install packages, such as another run of Tare.
    let mut install = vec!["apt-get", "-o", "DPkg::Lock::Timeout=120", "install", "-y"];
    install.push("--no-install-recommends");
    install.extend(package.packages.iter().map(String::as_str));
    // Package lists may be missing or old: they are updated only after a first failure.
    if let Err(first) = apt(&install) {
        say("updating the package lists");
        apt(&["apt-get", "update"])
            .and_then(|()| apt(&install))
            .map_err(|second| {
                format!("{} ({}); try by hand: {by_hand}", explain(&second), first)
            })?;
    }
    installed(package).ok_or_else(|| {
        let files = package
            .required_files
            .iter()
            .filter(|file| !Path::new(file).exists());
        let program = locate(&package.program)
            .is_none()
            .then_some(&package.program);
        let missing: Vec<&str> = program
            .into_iter()
            .chain(files)
            .map(String::as_str)
            .collect();
        format!(
            "{packages} installed, but not there: {}",
            missing.join(", ")
        )
    })
}

fn apt(words: &[&str]) -> Result<(), String> {
    let env = [("DEBIAN_FRONTEND", "noninteractive"), ("LC_ALL", "C")];
    let output = subprocess::run(words, ProgramKind::Apt.with(&env), INSTALL_LIMIT)?;
    if output.success {
        return Ok(());
    }
    let error = output.stderr.lines().find(|line| line.starts_with("E:"));
    Err(error.unwrap_or(output.last_line()).to_owned())
}

fn explain(message: &str) -> String {
    if message.contains("No space left") || message.contains("enough free space") {
        return format!("no space left on the disk ({message})");
    }
    if message.contains("Could not get lock") {
        return format!("another program is installing packages; wait for it ({message})");
    }
    if message.contains("Failed to fetch") || message.contains("Could not resolve") {
        return format!("the package mirror cannot be reached; check the network ({message})");
    }
    message.to_owned()
}

/// Keeps packages from starting their services while it lives: a system nginx beside the one under test would take its
/// port and its cores.
struct NoServices<'a> {
    /// The policy, if it is ours.
    ours: Option<&'a Path>,
    /// Released after it is removed.
    _lock: File,
}

impl NoServices<'_> {
    fn activate<'a>(
        policy: &'a Path,
        lock: &Path,
        waits: impl FnOnce(),
    ) -> Result<NoServices<'a>, String> {
        let in_words = |error| format!("cannot lock {}: {error}", lock.display());
        let held = File::create(lock).map_err(in_words)?;
        if !wait_for_lock(&held, waits).map_err(in_words)? {
            return Err(format!(
                "another run holds {} while it installs packages; end it",
                lock.display()
            ));
        }

        // An existing policy stays: containers mostly have the same one. One of ours is left of an install that was
        // killed, perhaps before all of it was written.
        let is_ours = |text: String| POLICY_TEXT.starts_with(&text);
        if policy.exists() && !fs::read_to_string(policy).is_ok_and(is_ours) {
            return Ok(NoServices {
                ours: None,
                _lock: held,
            });
        }
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o755)
            .open(policy)
            .and_then(|mut file| file.write_all(POLICY_TEXT.as_bytes()))
            .map_err(|error| {
                format!(
                    "cannot keep services from starting ({}: {error})",
                    policy.display()
                )
            })?;
        Ok(NoServices {
            ours: Some(policy),
            _lock: held,
        })
    }
}

impl Drop for NoServices<'_> {
    fn drop(&mut self) {
        if let Some(policy) = self.ours {
            // If Tare is killed, the next install recognises the file by its text and removes it.
            let _ = fs::remove_file(policy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apt_says_gets_its_meaning() {
        assert!(explain("E: Could not get lock /var/lib/dpkg/lock").contains("wait for it"));
        assert!(explain("E: Failed to fetch http://x").contains("check the network"));
        assert!(explain("E: You don't have enough free space").contains("no space"));
    }

    #[test]
    fn a_policy_left_by_a_killed_install_is_removed_by_the_next_one_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        let left = |text: &str| {
            fs::write(&policy, text).unwrap();
            let lock = folder.path().join("lock");
            let active = NoServices::activate(&policy, &lock, || ()).unwrap();
            let during = fs::read_to_string(&policy).unwrap();
            drop(active);
            (during, fs::read_to_string(&policy).ok())
        };
        for cut in 0..=POLICY_TEXT.len() {
            let ours = left(&POLICY_TEXT[..cut]);
            assert_eq!(ours, (POLICY_TEXT.to_owned(), None), "cut at {cut}");
        }
        let other = "#!/bin/sh\nexit 101\n";
        assert_eq!(left(other), (other.to_owned(), Some(other.to_owned())));
    }

    #[test]
    fn of_two_installs_at_once_neither_removes_the_policy_of_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (policy, lock) = (
            folder.path().join("policy-rc.d"),
            folder.path().join("lock"),
        );
        let first = NoServices::activate(&policy, &lock, || ()).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let (policy, lock) = (&policy, &lock);
            let second = scope.spawn(move || {
                let active = NoServices::activate(policy, lock, || tell.send(()).unwrap());
                let active = active.unwrap();
                assert!(policy.exists());
                drop(active);
            });
            told.recv().unwrap();
            assert!(policy.exists());
            drop(first);
            second.join().unwrap();
        });
        assert!(!policy.exists());
    }

    #[test]
    fn a_program_that_no_package_owns_is_nobodys_package() {
        assert_eq!(owner(Path::new("/no/such/program")), None);
    }
}
