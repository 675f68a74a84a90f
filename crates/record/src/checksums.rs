//! Checksums of the files that results are computed from: a changed bit is found, not believed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::durable;
use crate::regular::{open_regular, read_regular_text};

/// The checksums of a folder's files, in the format of `sha256sum`: `sha256sum -c SHA256SUMS` checks them, too.
pub const CHECKSUMS: &str = "SHA256SUMS";
/// File of a run's plan.
pub const PLAN: &str = "plan.json";
/// File of the record of a run's environment.
pub const ENVIRONMENT: &str = "environment.json";
/// File of a trial's record.
pub const RECORD: &str = "record.json";
/// Further files of a trial that results are computed from.
pub const TRIAL_FILES: [&str; 3] = ["latency.hlog", "lateness.hlog", "samples.csv"];
/// Limit of the file of checksums; ours have some lines.
const CHECKSUMS_BYTES_MAX: u64 = 1 << 20;
/// Limit of a file that is checked: that of a histogram log.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Bytes that are read at a time.
const PART_BYTES: usize = 128 << 10;

/// Checksums of files of one folder, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checksums(BTreeMap<String, String>);

/// Why a file is not believed.
#[derive(Debug, thiserror::Error)]
pub enum ChecksumError {
    /// The file, or the checksums, cannot be read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// It is not what was written.
    #[error(
        "it is not what was written (its SHA-256 is not that in {CHECKSUMS}): the disk is damaged, or somebody changed it"
    )]
    Changed,
    /// There is no checksum of it.
    #[error(
        "{CHECKSUMS} has no checksum of it: the writer was interrupted, or somebody changed the folder"
    )]
    Missing,
}

impl Checksums {
    /// Those of a folder; `None`: it has none.
    ///
    /// # Errors
    /// When there are some that cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Checksums>, ChecksumError> {
        let text = match read_regular_text(&folder.join(CHECKSUMS), CHECKSUMS_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let line = |line: &str| {
            let (sum, name) = line.split_once("  ")?;
            Some((name.to_owned(), sum.to_owned()))
        };
        let lines: Option<BTreeMap<_, _>> = text.lines().map(line).collect();
        // A line that is none has no checksum that a file could have.
        Ok(Some(Checksums(lines.unwrap_or_default())))
    }

    /// Those of the folder of a trial or of a kept load, which must have some if its run has.
    ///
    /// # Errors
    /// When they cannot be read, or are missing.
    pub fn of_trial(folder: &Path, run_has_some: bool) -> Result<Option<Checksums>, ChecksumError> {
        match Checksums::read(folder)? {
            None if run_has_some => Err(ChecksumError::Missing),
            found => Ok(found),
        }
    }

    /// Checks the files of a trial beside its record.
    ///
    /// # Errors
    /// The file that is not what was written, and why.
    pub fn check_trial_files(&self, folder: &Path) -> Result<(), (&'static str, ChecksumError)> {
        let mut names = TRIAL_FILES.into_iter();
        names.try_for_each(|name| self.check_file(folder, name).map_err(|error| (name, error)))
    }

    /// Adds a file by its content, or replaces its checksum.
    pub fn add(&mut self, name: &str, content: &[u8]) {
        self.0.insert(name.to_owned(), sha256(content));
    }

    /// Adds a file of the folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add_file(&mut self, folder: &Path, name: &str) -> io::Result<()> {
        // One that was just written: as long as it is.
        let sum = sha256_of(File::open(folder.join(name))?)?;
        self.0.insert(name.to_owned(), sum);
        Ok(())
    }

    /// Writes them durably. A new file's checksum is written before the file: a file without one was not written whole.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = String::new();
        for (name, sum) in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{sum}  {name}");
        }
        durable::write(&folder.join(CHECKSUMS), text.as_bytes())
    }

    /// Whether there is one of a file of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Checks a file by its content.
    ///
    /// # Errors
    /// When it is not what was written.
    pub fn check(&self, name: &str, content: &[u8]) -> Result<(), ChecksumError> {
        self.is(name, &sha256(content))
    }

    /// Checks a file of the folder. One that neither has a checksum nor is there is right.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was written.
    pub fn check_file(&self, folder: &Path, name: &str) -> Result<(), ChecksumError> {
        let path = folder.join(name);
        match sha256_of_file(&path) {
            Ok(sum) => self.is(name, &sum),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.has(name) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn is(&self, name: &str, found: &str) -> Result<(), ChecksumError> {
        match self.0.get(name) {
            Some(sum) if sum == found => Ok(()),
            Some(_) => Err(ChecksumError::Changed),
            None => Err(ChecksumError::Missing),
        }
    }
}

/// SHA-256 of bytes, hexadecimal.
#[must_use]
pub fn sha256(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// SHA-256 of a stream, hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub fn sha256_of(mut content: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut part = vec![0; PART_BYTES];
    loop {
        match content.read(&mut part) {
            Ok(0) => return Ok(hexadecimal(&digest.finalize())),
            Ok(bytes) => digest.update(&part[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn sha256_of_file(path: &Path) -> io::Result<String> {
    sha256_of(open_regular(path, FILE_BYTES_MAX)?)
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_changed_an_added_and_a_missing_file_are_told_from_what_was_written() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        assert_eq!(Checksums::read(folder).unwrap(), None);
        fs::write(folder.join("latency.hlog"), "log").unwrap();
        let mut sums = Checksums::default();
        sums.add_file(folder, "latency.hlog").unwrap();
        sums.add("record.json", b"{}");
        sums.write(folder).unwrap();
        fs::write(folder.join("record.json"), "{}").unwrap();
        let coreutils = Command::new("sha256sum")
            .args(["--check", "--strict", CHECKSUMS])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(coreutils.status.success(), "{coreutils:?}");

        let sums = Checksums::read(folder).unwrap().unwrap();
        let check = |name: &str| sums.check_file(folder, name);
        assert!(check("latency.hlog").is_ok() && check("record.json").is_ok());
        assert!(sums.check("record.json", b"{}").is_ok());
        assert!(check("samples.csv").is_ok(), "it never was there");
        assert!(matches!(
            sums.check("record.json", b"{ }"),
            Err(ChecksumError::Changed)
        ));
        fs::write(folder.join("samples.csv"), "added").unwrap();
        assert!(matches!(check("samples.csv"), Err(ChecksumError::Missing)));
        fs::write(folder.join("latency.hlog"), "lof").unwrap();
        assert!(matches!(check("latency.hlog"), Err(ChecksumError::Changed)));
        fs::remove_file(folder.join("latency.hlog")).unwrap();
        assert!(matches!(check("latency.hlog"), Err(ChecksumError::File(_))));
        symlink("/dev/zero", folder.join("latency.hlog")).unwrap();
        assert!(matches!(check("latency.hlog"), Err(ChecksumError::File(_))));
    }

    #[test]
    fn checksums_that_are_cut_off_or_are_none_are_of_no_file() {
        let place = tempfile::tempdir().unwrap();
        let mut sums = Checksums::default();
        sums.add("record.json", b"{}");
        sums.write(place.path()).unwrap();
        let path = place.path().join(CHECKSUMS);
        let text = fs::read(&path).unwrap();
        // Without the last line break it is whole.
        for length in 0..text.len() - 1 {
            fs::write(&path, &text[..length]).unwrap();
            let sums = Checksums::read(place.path()).unwrap().unwrap();
            assert!(sums.check("record.json", b"{}").is_err(), "cut at {length}");
        }
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert!(Checksums::read(place.path()).is_err());
    }
}
