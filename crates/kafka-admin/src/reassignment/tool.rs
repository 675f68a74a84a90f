//! The JSON of Kafka's own `kafka-reassign-partitions.sh`, as a file and as its `--generate` and `--execute` print it.

use serde::Deserialize;

use super::ReplicaAssignment;

/// Before the JSON that `--generate` proposes.
const PROPOSED: &str = "Proposed partition reassignment configuration";
/// Before the JSON of what is now, which `--generate` and `--execute` print.
const CURRENT: &str = "Current partition replica assignment";
/// The version of the format.
const VERSION: u64 = 1;

/// What a file of the tool asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAssignment {
    /// Its partitions, in its order.
    pub partitions: Vec<ReplicaAssignment>,
    /// Partitions that name log directories, which are not followed.
    pub with_log_dirs: usize,
}

/// Why a text is not the JSON of the tool.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Not this JSON.
    #[error("it is not the JSON of kafka-reassign-partitions.sh: {0}")]
    Json(#[from] serde_json::Error),
    /// No JSON after the words of the tool.
    #[error("no JSON follows \"{0}\": paste the lines after it too")]
    NoJson(&'static str),
    /// Another version.
    #[error("its version is {0}, and only {VERSION} is known")]
    Version(u64),
}

#[derive(Deserialize)]
struct File {
    version: Option<u64>,
    partitions: Vec<Partition>,
}

#[derive(Deserialize)]
struct Partition {
    topic: String,
    partition: i32,
    replicas: Vec<i32>,
    /// `any`, or a path, for each replica; may be missing or shorter.
    #[serde(default)]
    log_dirs: Vec<String>,
}

impl ToolAssignment {
    /// Whether a text looks like one of the tool, whatever is wrong with it.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        [PROPOSED, CURRENT, "\"partitions\""]
            .iter()
            .any(|mark| text.contains(mark))
    }

    /// Reads a file of the tool, or what it has printed: then the proposed assignment, else the current one.
    ///
    /// # Errors
    /// If it is something else.
    pub fn parse(text: &str) -> Result<ToolAssignment, ToolError> {
        let printed = [PROPOSED, CURRENT]
            .iter()
            .find_map(|mark| Some((*mark, text.split_once(mark)?.1)));
        let file: File = match printed {
            // Other lines may follow.
            Some((mark, rest)) => serde_json::Deserializer::from_str(rest)
                .into_iter()
                .next()
                .ok_or(ToolError::NoJson(mark))??,
            None => serde_json::from_str(text)?,
        };
        match file.version {
            None | Some(VERSION) => {}
            Some(other) => return Err(ToolError::Version(other)),
        }
        let has_dirs = |one: &&Partition| one.log_dirs.iter().any(|dir| dir != "any");
        Ok(ToolAssignment {
            with_log_dirs: file.partitions.iter().filter(has_dirs).count(),
            partitions: file
                .partitions
                .into_iter()
                .map(|one| ReplicaAssignment {
                    topic: one.topic,
                    partition: one.partition,
                    replicas: one.replicas,
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}"#;

    fn check(text: &str, replicas: &[i32], with_log_dirs: usize) {
        let found = ToolAssignment::parse(text).unwrap();
        let one = ReplicaAssignment {
            topic: "orders".to_owned(),
            partition: 0,
            replicas: replicas.to_vec(),
        };
        assert_eq!(found.partitions, [one], "{text}");
        assert_eq!(found.with_log_dirs, with_log_dirs, "{text}");
    }

    #[test]
    fn the_files_that_people_have_are_read() {
        check(FILE, &[1, 2], 0);
        check(&FILE.replace("\"version\":1,", ""), &[1, 2], 0);
        check(
            &FILE.replace(",\"log_dirs\":[\"any\",\"any\"]", ""),
            &[1, 2],
            0,
        );
        check(
            &FILE.replace("[\"any\",\"any\"]", "[\"/data/1\"]"),
            &[1, 2],
            1,
        );
    }

    #[test]
    fn what_generate_and_execute_print_is_read_whole() {
        let proposed = FILE.replace("[1,2]", "[3,1]");
        let generated = format!("{CURRENT}\n{FILE}\n\n{PROPOSED}\n{proposed}\n");
        check(&generated, &[3, 1], 0);
        let executed = format!(
            "{CURRENT}\n\n{FILE}\n\nSave this to use as the --reassignment-json-file option during rollback\nSuccessfully started partition reassignment for orders-0\n"
        );
        check(&executed, &[1, 2], 0);
    }

    #[test]
    fn what_is_something_else_is_told() {
        for (text, expected) in [
            (FILE.replace(":1,\"part", ":2,\"part"), "version is 2"),
            (
                FILE.replace("replicas", "brokers"),
                "missing field `replicas`",
            ),
            (format!("{PROPOSED}\n"), "no JSON follows"),
            ("{}".to_owned(), "missing field `partitions`"),
        ] {
            let error = ToolAssignment::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
