//! What a pod may put into the folder of a test bed here: logs with plain names, not those of others, of limited number and size.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::LabError;

/// Most of a log that is brought here.
pub(super) const LOG_BYTES_MAX: u64 = 1 << 20;
/// Longest log that is taken for one: fits into every file system.
const LOG_LENGTH_MAX: u64 = 1 << 40;
/// Most logs of a folder.
const LOGS_MAX: usize = 500;
/// Longest name of a file.
const NAME_BYTES_MAX: usize = 255;

/// Where the files go that a pod has listed for a folder. `outputs`: which pod writes which file.
pub(super) fn paths(
    listed: &[String],
    (folder, end): (&Path, &str),
    (pod, outputs): (&str, &BTreeMap<PathBuf, String>),
) -> Vec<PathBuf> {
    let names = listed.iter().filter(|word| is_name(word, end));
    let paths = names.map(|name| folder.join(name));
    let own = paths.filter(|path| outputs.get(path).is_none_or(|of| of == pod));
    own.take(LOGS_MAX).collect()
}

/// Whether a word is the name of a file with this end, and no path.
fn is_name(word: &str, end: &str) -> bool {
    let is_plain = |c: char| c != '/' && !c.is_control();
    word.ends_with(end) && word.len() <= NAME_BYTES_MAX && word.chars().all(is_plain)
}

/// Writes what was brought, as long as it is there: what is copied says how much was left out.
pub(super) fn keep(path: &Path, bytes: &[u8], length: u64) -> Result<(), LabError> {
    let written = fs::write(path, bytes)
        .and_then(|()| fs::OpenOptions::new().write(true).open(path))
        .and_then(|file| file.set_len(length.min(LOG_LENGTH_MAX)));
    written.map_err(LabError::io(format!("bring {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_brings_logs_with_plain_names_and_none_of_another_pod() {
        let folder = Path::new("/tmp/bed");
        let outputs = BTreeMap::from([
            (folder.join("own-1.log"), String::from("b1-arm/own")),
            (folder.join("other-1.log"), String::from("b1-arm/other")),
        ]);
        let paths = |listed: &[String]| paths(listed, (folder, ".log"), ("b1-arm/own", &outputs));
        let long = format!("{}.log", "x".repeat(300));
        let words = [
            "own-1.log",
            "other-1.log",
            "further.log",
            "client-1.plan.json",
            "../up.log",
            "/etc/x.log",
            "two\nlines.log",
            &long,
        ];
        let found = paths(&words.map(String::from));
        assert_eq!(
            found,
            ["own-1.log", "further.log"].map(|name| folder.join(name))
        );
        let many: Vec<String> = (0..1000).map(|number| format!("{number}.log")).collect();
        assert_eq!(paths(&many).len(), LOGS_MAX);
    }

    #[test]
    fn the_length_that_a_pod_states_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.log");
        keep(&path, b"up", u64::MAX).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), LOG_LENGTH_MAX);
        keep(&path, b"up", 2).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"up");
    }
}
