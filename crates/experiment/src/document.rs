//! Reads YAML files into types: text, tree with positions, and the deserialized type.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tare_record::regular::read_regular_text;

use crate::formats::Definition;
use crate::problem::Problems;
use crate::structure;
use crate::yaml::{self, FILE_BYTES_MAX, Mark, Node};

/// Reads a text file of limited size.
///
/// # Errors
/// If it cannot be read.
pub fn read_text(path: &Path) -> Result<String, Problems> {
    let read = read_regular_text(path, FILE_BYTES_MAX as u64);
    read.map_err(|error| {
        let file = path.display().to_string();
        Problems::one(&file, Mark::START, format!("cannot be read: {error}"))
    })
}

/// Parses a text and deserializes a type from it.
///
/// # Errors
/// Every difference from the type's schema, with its position.
pub fn read<T: Definition>(file: &str, text: &str) -> Result<(T, Node), Problems> {
    let node = yaml::parse(file, text)?;
    let filled = fill(file, &schema::<T>(), &node)?;
    Ok((filled, node))
}

/// The schema of a type. It is parsed once: that takes longer than to read a file.
pub(crate) fn schema<T: Definition>() -> Arc<Json> {
    static ALL: LazyLock<Mutex<HashMap<&str, Arc<Json>>>> = LazyLock::new(Mutex::default);
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let one = all.entry(T::SHAPE.name);
    Arc::clone(one.or_insert_with(|| Arc::new(T::SHAPE.schema())))
}

/// Checks a tree against a schema and deserializes a type from it.
///
/// # Errors
/// Every difference from the schema, with its position.
pub fn fill<T: DeserializeOwned>(file: &str, schema: &Json, node: &Node) -> Result<T, Problems> {
    let mut problems = Problems::default();
    structure::check(file, schema, node, &mut problems);
    problems.into_result(())?;
    serde_json::from_value(node.to_json())
        .map_err(|error| Problems::one(file, node.mark, error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_link_a_pipe_a_device_and_a_file_that_is_too_long_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("plain"), "question: Why?\n").unwrap();
        symlink(at("plain"), at("link")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        File::create(at("long"))
            .and_then(|file| file.set_len(FILE_BYTES_MAX as u64 + 1))
            .unwrap();

        assert_eq!(read_text(&at("plain")).unwrap(), "question: Why?\n");
        for (name, what) in [
            ("link", "link is a link"),
            ("pipe", "pipe is a pipe"),
            ("long", "long has 1048577 bytes"),
            ("/dev/null", "/dev/null is a device"),
        ] {
            let message = read_text(&at(name)).unwrap_err().to_string();
            let is_told = message.contains("cannot be read") && message.contains(what);
            assert!(is_told, "{name}: {message}");
        }
    }
}
