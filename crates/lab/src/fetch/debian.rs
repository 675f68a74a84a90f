//! Programs that come in a Debian package, by the system's own package manager.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use tare_schema::target::DebianDef;

use super::{Found, locate};
use crate::tool;

/// Limit of one apt-get command.
const INSTALL_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Limit of a question to the package database.
const QUERY_LIMIT: Duration = Duration::from_secs(20);
/// Where Debian asks whether a freshly installed service may start (invoke-rc.d(8)).
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// Exit code 101 forbids it. The comment lets a later install know the file as ours.
const POLICY_TEXT: &str =
    "#!/bin/sh\n# Written by tare while it installs packages; removed afterwards.\nexit 101\n";

/// The program and what it needs, when they are there.
pub(super) fn present(package: &DebianDef) -> Option<Found> {
    let bin = locate(&package.program)?;
    if !package.needs.iter().all(|file| Path::new(file).exists()) {
        return None;
    }
    let source = owner(&bin).unwrap_or_else(|| "path".to_owned());
    Some(Found { bin, source })
}

/// `debian nginx 1.22.1-9`, or `None` when no package owns the file: then it is somebody's own build.
fn owner(bin: &Path) -> Option<String> {
    let query = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        tool::run(&words, &[], QUERY_LIMIT)
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

/// Whether this user may install packages here.
pub(super) fn can_install() -> bool {
    locate("apt-get").is_some() && rustix::process::geteuid().is_root()
}

/// Installs the packages without letting their services start.
pub(super) fn install(package: &DebianDef, say: &mut dyn FnMut(&str)) -> Result<Found, String> {
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
    let _policy = NoServices::decree()?;
    let install = [
        // Another program may be installing, another run of Tare among them: its end is waited for.
        &[
            "apt-get",
            "-o",
            "DPkg::Lock::Timeout=120",
            "install",
            "-y",
            "--no-install-recommends",
        ],
        package
            .packages
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice(),
    ]
    .concat();
    // Package lists may be missing or old: only a first failure is worth their download.
    if let Err(first) = apt(&install) {
        say("updating the package lists");
        apt(&["apt-get", "update"])
            .and_then(|()| apt(&install))
            .map_err(|second| {
                format!("{} ({}); try by hand: {by_hand}", explain(&second), first)
            })?;
    }
    present(package).ok_or_else(|| {
        let files = package
            .needs
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
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let env = [("DEBIAN_FRONTEND", "noninteractive"), ("LC_ALL", "C")];
    let output = tool::run(&words, &env, INSTALL_LIMIT)?;
    if output.success {
        return Ok(());
    }
    let error = output.stderr.lines().find(|line| line.starts_with("E:"));
    Err(error.unwrap_or(output.last_line()).to_owned())
}

fn explain(said: &str) -> String {
    if said.contains("No space left") || said.contains("enough free space") {
        return format!("no space left on the disk ({said})");
    }
    if said.contains("Could not get lock") {
        return format!("another program is installing packages; wait for it ({said})");
    }
    if said.contains("Failed to fetch") || said.contains("Could not resolve") {
        return format!("the package mirror cannot be reached; check the network ({said})");
    }
    said.to_owned()
}

/// While it lives, no package may start its service: an nginx of the system beside the one under
/// test would take its port and its cores.
struct NoServices {
    ours: bool,
}

impl NoServices {
    fn decree() -> Result<NoServices, String> {
        // A policy of the machine's owner stays: containers mostly have the same one.
        if Path::new(POLICY).exists()
            && fs::read_to_string(POLICY).ok().as_deref() != Some(POLICY_TEXT)
        {
            return Ok(NoServices { ours: false });
        }
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o755)
            .open(POLICY)
            .and_then(|mut file| file.write_all(POLICY_TEXT.as_bytes()))
            .map_err(|error| format!("cannot keep services from starting ({POLICY}: {error})"))?;
        Ok(NoServices { ours: true })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.ours {
            // Left behind by a kill, it is known by its text and removed by the next install.
            let _ = fs::remove_file(POLICY);
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
    fn a_program_that_no_package_owns_is_nobodys_package() {
        assert_eq!(owner(Path::new("/no/such/program")), None);
    }
}
