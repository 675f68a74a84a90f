//! Copies logs and rendered files of a test bed to the run folder, up to a limit and never a key.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use tare_record::regular::JSON_BYTES_MAX;
use tare_record::secrets::redact;

use crate::LabError;
use crate::render::{Login, Rendered};

/// Maximum size of a copied file; the rest is cut.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// End of the name of an agent's load plan.
pub(super) const AGENT_PLAN: &str = ".plan.json";
/// Maximum number of copied files per test bed.
const FILES_MAX: usize = 500;
/// Identifies a private key in PEM form in any file.
const KEY_WORDS: &[u8] = b"PRIVATE KEY-----";

/// Copies logs and rendered files, without passwords, to `into/<instance>/`, and agents' logs and plans to `into/`.
pub(crate) fn collect(
    folder: &Path,
    rendered: &[Rendered],
    into: &Path,
) -> Result<Vec<PathBuf>, LabError> {
    let mut copied = Vec::new();
    // A control plane has those of its proxies.
    let logins: Vec<&Login> = rendered.iter().map(|one| &one.login).collect();
    copy_plain_files(folder, into, &|_| true, (&logins, &mut copied))?;
    for one in rendered {
        let into = into.join(&one.instance);
        let is_log = |name: &str| Path::new(name).extension().is_some_and(|e| e == "log");
        copy_plain_files(&one.dir, &into, &is_log, (&logins, &mut copied))?;
        for file in &one.files {
            let names = (file.name.as_str(), into.join(&file.name));
            copy_into(&one.dir, names, (&logins, &mut copied))?;
        }
    }
    Ok(copied)
}

fn copy_plain_files(
    from: &Path,
    into: &Path,
    wanted: &dyn Fn(&str) -> bool,
    (logins, copied): (&[&Login], &mut Vec<PathBuf>),
) -> Result<(), LabError> {
    let entries = fs::read_dir(from).map_err(LabError::io(format!("read {}", from.display())))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| wanted(name))
        .collect();
    names.sort();
    for name in names {
        copy_into(from, (&name, into.join(&name)), (logins, &mut *copied))?;
    }
    Ok(())
}

fn copy_into(
    folder: &Path,
    (name, to): (&str, PathBuf),
    (logins, copied): (&[&Login], &mut Vec<PathBuf>),
) -> Result<(), LabError> {
    if copied.len() >= FILES_MAX {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(LabError::io(format!("make {}", folder.display())))?;
    }
    let file = open_beneath(folder, name);
    let file = file.map_err(LabError::io(format!(
        "read {}",
        folder.join(name).display()
    )))?;
    if let Some(file) = file
        && copy(file, &to, logins)? == Copied::Yes
    {
        copied.push(to);
    }
    Ok(())
}

/// Opens a regular file of a folder. The software that owns the folder may have replaced it by a link to a file of the host, or by a
/// pipe: those are left out.
fn open_beneath(folder: &Path, name: &str) -> io::Result<Option<File>> {
    let folder = File::open(folder)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = match rustix::fs::openat2(&folder, name, flags, Mode::empty(), within) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP | Errno::XDEV | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

#[derive(PartialEq, Eq)]
enum Copied {
    Yes,
    /// Not copied: it contains a private key, or cannot be redacted.
    Withheld,
}

fn copy(file: File, to: &Path, logins: &[&Login]) -> Result<Copied, LabError> {
    let mut bytes = Vec::new();
    let size = file.metadata().map(|meta| meta.len()).unwrap_or_default();
    // Plans of agents have headers: they are read to their end, and one that cannot be redacted is left out.
    let is_plan = to.to_string_lossy().ends_with(AGENT_PLAN);
    file.take(if is_plan {
        JSON_BYTES_MAX
    } else {
        FILE_BYTES_MAX
    })
    .read_to_end(&mut bytes)
    .map_err(LabError::io(format!("read what becomes {}", to.display())))?;
    if bytes.windows(KEY_WORDS.len()).any(|part| part == KEY_WORDS) {
        return Ok(Copied::Withheld);
    }
    for login in logins {
        login.withhold(&mut bytes);
    }
    if is_plan {
        let Ok(mut plan) = serde_json::from_slice(&bytes) else {
            return Ok(Copied::Withheld);
        };
        redact(&mut plan);
        bytes = serde_json::to_vec_pretty(&plan).unwrap_or_default();
        bytes.truncate(FILE_BYTES_MAX as usize);
    }
    if size > FILE_BYTES_MAX {
        bytes.extend_from_slice(
            format!("\n[cut here: {size} bytes in all, the limit is {FILE_BYTES_MAX}]\n")
                .as_bytes(),
        );
    }
    let what = || format!("write {} (is the disk full?)", to.display());
    File::create(to)
        .and_then(|mut file| file.write_all(&bytes))
        .map_err(LabError::io(what()))?;
    Ok(Copied::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_cut_and_keys_and_passwords_are_withheld() {
        let base = tempfile::tempdir().unwrap();
        let (from, into) = (base.path().join("from"), base.path().join("into"));
        fs::create_dir_all(&from).unwrap();
        fs::write(from.join("long.log"), vec![b'x'; 3 << 20]).unwrap();
        fs::write(from.join("proxy.cfg"), "listen 1").unwrap();
        fs::write(from.join("inline.cfg"), "-----BEGIN PRIVATE KEY-----\nMII").unwrap();
        let mut copied = Vec::new();
        let login = Login::random().unwrap();
        let properties = format!("user=u\npassword={}\n", login.password);
        fs::write(from.join("with.properties"), properties).unwrap();
        copy_plain_files(&from, &into, &|_| true, (&[&login], &mut copied)).unwrap();
        let names = ["long.log", "proxy.cfg", "with.properties"];
        assert_eq!(copied, names.map(|name| into.join(name)));
        let kept = fs::read_to_string(into.join("with.properties")).unwrap();
        assert_eq!(kept, "user=u\npassword=[withheld]\n");
        let length = fs::metadata(into.join("long.log")).unwrap().len();
        assert!((FILE_BYTES_MAX..FILE_BYTES_MAX + 200).contains(&length));
        assert!(!into.join("inline.cfg").exists());
    }

    #[test]
    fn plans_of_agents_are_redacted_before_they_are_cut_and_left_out_where_they_cannot_be() {
        let base = tempfile::tempdir().unwrap();
        let (from, into) = (base.path().join("from"), base.path().join("into"));
        fs::create_dir_all(&from).unwrap();
        let plan = |rest: &str| {
            let header = r#"{"headers": [["authorization", "Bearer planted"]], "body": "#;
            format!("{header}{rest}")
        };
        let long = plan(&format!("\"{}\"}}", "x".repeat(2 << 20)));
        fs::write(from.join(format!("a-1{AGENT_PLAN}")), long).unwrap();
        fs::write(from.join(format!("b-2{AGENT_PLAN}")), plan("torn")).unwrap();
        let mut copied = Vec::new();
        copy_plain_files(&from, &into, &|_| true, (&[], &mut copied)).unwrap();
        assert_eq!(copied, [into.join(format!("a-1{AGENT_PLAN}"))]);
        let kept = fs::read_to_string(&copied[0]).unwrap();
        assert!(kept.contains("[redacted]") && !kept.contains("planted"));
        assert!(kept.len() < 2 << 20 && kept.ends_with("]\n"));
    }

    #[test]
    fn links_and_pipes_in_the_place_of_files_are_left_out() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("own");
        fs::create_dir_all(base.path().join("elsewhere")).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(base.path().join("elsewhere/secret"), "secret").unwrap();
        std::os::unix::fs::symlink("../elsewhere/secret", folder.join("file")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", folder.join("objects")).unwrap();
        let (at, kind) = (folder.join("pipe"), rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(rustix::fs::CWD, at, kind, Mode::RUSR, 0).unwrap();
        fs::write(folder.join("right"), "").unwrap();
        for name in ["file", "objects/secret", "pipe"] {
            assert!(open_beneath(&folder, name).unwrap().is_none(), "{name}");
        }
        assert!(open_beneath(&folder, "right").unwrap().is_some());
        assert!(open_beneath(&folder, "missing").is_err());
    }
}
