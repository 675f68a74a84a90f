//! The seal of a run: a plan names files, addresses and programs, so only one that this user's Tare wrote is acted on again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tare_record::FORMAT_VERSION;
use tare_record::checksums::{ENVIRONMENT, PLAN};
use tare_record::durable::sync_folder_of;
use tare_record::regular::{JSON_BYTES_MAX, open_regular, read_regular};
use tare_record::seal::{RunOrigin, RunSeal, SEAL};

use crate::config;

/// File of the key, in the user's configuration folder.
const KEY: &str = "run.key";
/// Bytes of a key, written in hexadecimal digits.
const KEY_BYTES: usize = 32;
/// Set apart from whatever else the key may once be used for.
const PURPOSE: &[u8] = b"tare: seal of a run, 1\n";
/// Limit of `seal.json`.
const SEAL_BYTES_MAX: u64 = 1 << 12;
/// Mode bits: readable or writable by others.
const OTHERS: u32 = 0o077;
/// Mode bits: writable by others.
const OTHERS_WRITE: u32 = 0o022;

/// The key of this user. It never leaves the machine.
pub struct RunKey(hmac::Key);

impl std::fmt::Debug for RunKey {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("RunKey")
    }
}

/// What was sealed, as it was read.
#[derive(Debug)]
pub struct SealedFiles {
    /// `plan.json`.
    pub plan: Vec<u8>,
    /// `environment.json`.
    pub environment: Vec<u8>,
}

impl RunKey {
    /// The key of this user, made at its first use.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of_user() -> Result<RunKey, String> {
        let folder = config::folder();
        let folder = folder.ok_or("there is no place for its key: set HOME or XDG_CONFIG_HOME")?;
        RunKey::in_folder(&folder)
    }

    /// The key in a folder, made at its first use.
    ///
    /// # Errors
    /// Why there is none.
    pub fn in_folder(folder: &Path) -> Result<RunKey, String> {
        let at = |path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| format!("its key cannot be kept: {path}: {error}")
        };
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(at(folder)(error));
            }
            _ => {}
        }
        check(
            folder,
            &fs::metadata(folder).map_err(at(folder))?,
            OTHERS_WRITE,
        )?;
        let path = folder.join(KEY);
        if !path.exists() {
            make(&path).map_err(at(&path))?;
        }
        let mut file = open_regular(&path, 1 << 10).map_err(at(&path))?;
        let found = file.get_ref().metadata().map_err(at(&path))?;
        check(&path, &found, OTHERS)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(at(&path))?;
        let bytes = bytes_of(text.trim_end()).filter(|bytes| bytes.len() == KEY_BYTES);
        let bytes = bytes.ok_or_else(|| {
            format!(
                "{} is no key: restore it, or remove it (runs that were begun with it can then not be resumed)",
                path.display()
            )
        })?;
        Ok(RunKey(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The seal of a run that this process begins.
    #[must_use]
    pub fn seal(&self, plan: &[u8], environment: &[u8]) -> RunSeal {
        let tag = hmac::sign(&self.0, &sealed(plan, environment));
        RunSeal {
            version: FORMAT_VERSION,
            origin: RunOrigin::Begun,
            hmac_sha256: Some(
                tag.as_ref()
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect(),
            ),
        }
    }

    /// Reads what was sealed, if this user's Tare sealed it.
    ///
    /// # Errors
    /// Why the run is not resumed, as the end of a sentence about it.
    pub fn open(&self, run: &Path) -> Result<SealedFiles, String> {
        let seal = read_regular(&run.join(SEAL), SEAL_BYTES_MAX);
        let seal: RunSeal = match seal {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| format!("its {SEAL} cannot be read: {error}"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(format!(
                    "nothing shows that you began it here (it has no {SEAL}: it was received, is of an earlier Tare, or no key could be kept)"
                ));
            }
            Err(error) => return Err(error.to_string()),
        };
        if seal.origin == RunOrigin::Imported {
            return Err(String::from(
                "it was imported, and what others planned is not carried out",
            ));
        }
        let read = |name: &str| {
            read_regular(&run.join(name), JSON_BYTES_MAX).map_err(|error| error.to_string())
        };
        let (plan, environment) = (read(PLAN)?, read(ENVIRONMENT)?);
        let tag = seal
            .hmac_sha256
            .as_deref()
            .and_then(bytes_of)
            .unwrap_or_default();
        hmac::verify(&self.0, &sealed(&plan, &environment), &tag).map_err(|_| {
            format!(
                "its {PLAN} or {ENVIRONMENT} is not what you began it with here: one was changed, or another user or machine began it"
            )
        })?;
        Ok(SealedFiles { plan, environment })
    }
}

/// Marks a folder as received: it cannot be resumed.
///
/// # Errors
/// When it cannot be written.
pub fn mark_imported(run: &Path) -> io::Result<()> {
    let seal = RunSeal {
        version: FORMAT_VERSION,
        origin: RunOrigin::Imported,
        hmac_sha256: None,
    };
    tare_record::durable::write(&run.join(SEAL), &serde_json::to_vec_pretty(&seal)?)
}

/// Where a run is from, as its folder says; `None`: it does not say it.
#[must_use]
pub fn origin(run: &Path) -> Option<RunOrigin> {
    let text = read_regular(&run.join(SEAL), SEAL_BYTES_MAX).ok()?;
    let seal: RunSeal = serde_json::from_slice(&text).ok()?;
    Some(seal.origin)
}

/// What is signed: each part with its length, so that no other parts are the same bytes.
fn sealed(plan: &[u8], environment: &[u8]) -> Vec<u8> {
    let length = |part: &[u8]| (part.len() as u64).to_be_bytes();
    [
        PURPOSE,
        &length(plan),
        plan,
        &length(environment),
        environment,
    ]
    .concat()
}

/// Makes a key. Another process may do the same: the first one counts.
fn make(path: &Path) -> io::Result<()> {
    let mut bytes = [0; KEY_BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("the system has no random numbers"))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}-{}", std::process::id(), &text[..8]));
    let beside = PathBuf::from(beside);
    let write = || {
        let mut options = OpenOptions::new();
        let mut file: File = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        match fs::hard_link(&beside, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => sync_folder_of(path),
        }
    };
    let written = write();
    let _ = fs::remove_file(&beside);
    written
}

/// Refuses what another user can change.
fn check(path: &Path, found: &fs::Metadata, others: u32) -> Result<(), String> {
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user {
        return Err(format!(
            "its key cannot be kept: {} belongs to user {}, not to you ({user}): set HOME or XDG_CONFIG_HOME to a folder of yours",
            path.display(),
            found.uid()
        ));
    }
    match found.mode() & others {
        0 => Ok(()),
        _ => Err(format!(
            "its key is not private: others may use {path} (mode {:o}): `chmod go-rwx {path}`",
            found.mode() & 0o7777,
            path = path.display()
        )),
    }
}

/// Bytes of hexadecimal digits.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A run that this key began.
    fn begun(place: &Path, key: &RunKey) -> PathBuf {
        let run = place.join("run");
        fs::create_dir(&run).unwrap();
        fs::write(run.join(PLAN), "a plan").unwrap();
        fs::write(run.join(ENVIRONMENT), "a machine").unwrap();
        let seal = key.seal(b"a plan", b"a machine");
        fs::write(run.join(SEAL), serde_json::to_vec(&seal).unwrap()).unwrap();
        run
    }

    #[test]
    fn only_what_this_user_began_and_nobody_changed_is_opened() {
        let place = tempfile::tempdir().unwrap();
        let key = RunKey::in_folder(&place.path().join("config")).unwrap();
        let run = begun(place.path(), &key);
        let opened = key.open(&run).unwrap();
        assert_eq!(
            (opened.plan.as_slice(), opened.environment.as_slice()),
            (&b"a plan"[..], &b"a machine"[..])
        );
        let said = |key: &RunKey| key.open(&run).unwrap_err();

        let other = RunKey::in_folder(&place.path().join("other")).unwrap();
        assert!(
            said(&other).contains("another user or machine"),
            "{}",
            said(&other)
        );
        for (file, content) in [
            (PLAN, "a plaN"),
            (PLAN, "a plana "),
            (ENVIRONMENT, "machine"),
        ] {
            let was = fs::read(run.join(file)).unwrap();
            fs::write(run.join(file), content).unwrap();
            assert!(said(&key).contains("was changed"), "{file} {content}");
            fs::write(run.join(file), was).unwrap();
        }
        // The same bytes, divided in another way.
        fs::write(run.join(PLAN), "a plana ").unwrap();
        fs::write(run.join(ENVIRONMENT), "machine").unwrap();
        assert!(said(&key).contains("was changed"));
        for (seal, words) in [
            (r#"{"version":5,"origin":"begun"}"#, "was changed"),
            (
                r#"{"version":5,"origin":"begun","hmac_sha256":""}"#,
                "was changed",
            ),
            (r#"{"version":5,"origin":"imported"}"#, "was imported"),
            ("[]", "cannot be read"),
        ] {
            fs::write(run.join(SEAL), seal).unwrap();
            assert!(said(&key).contains(words), "{seal}: {}", said(&key));
        }
        fs::remove_file(run.join(SEAL)).unwrap();
        assert!(said(&key).contains("nothing shows that you began it"));
    }

    #[test]
    fn an_imported_run_says_so_and_is_not_opened_whatever_its_seal_was() {
        let place = tempfile::tempdir().unwrap();
        let key = RunKey::in_folder(&place.path().join("config")).unwrap();
        let run = begun(place.path(), &key);
        assert_eq!(origin(&run), Some(RunOrigin::Begun));
        mark_imported(&run).unwrap();
        assert_eq!(origin(&run), Some(RunOrigin::Imported));
        assert!(key.open(&run).unwrap_err().contains("was imported"));
    }

    #[test]
    fn a_key_is_private_made_once_and_refused_where_others_can_read_or_replace_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("new/tare");
        // Several processes begin their first run at once.
        let sealed = |_| RunKey::in_folder(&folder).unwrap().seal(b"", b"");
        let seals: Vec<RunSeal> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || sealed(n))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(seals.iter().all(|seal| *seal == seals[0]));
        let names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, [KEY]);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        let path = folder.join(KEY);
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));

        let said = || RunKey::in_folder(&folder).unwrap_err();
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap()
        };
        set(&path, 0o640);
        assert!(said().contains("chmod go-rwx"), "{}", said());
        set(&path, 0o600);
        set(&folder, 0o770);
        assert!(said().contains("chmod go-rwx"), "{}", said());
        set(&folder, 0o755);
        assert!(RunKey::in_folder(&folder).is_ok());
        let text = fs::read_to_string(&path).unwrap();
        for wrong in ["", "no key", &text[..20], &format!("{}zz", &text[..62])] {
            fs::write(&path, wrong).unwrap();
            assert!(said().contains("is no key"), "{wrong}: {}", said());
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(place.path().join("elsewhere"), &path).unwrap();
        assert!(RunKey::in_folder(&folder).is_err());
    }
}
