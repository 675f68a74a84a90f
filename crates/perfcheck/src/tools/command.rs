//! Any command: `bench.yaml` says what to start and where its output has the value.

use std::collections::BTreeMap;
use std::process::Command;

use regex::Regex;
use serde_json::Value;
use tare_experiment::benchmarks::{BENCH_FILE, CommandBenchmarkDef, read_benchmarks};

use super::{Place, Prepared, Reading, Runner, Tool, first_line};
use crate::error::CheckError;
use crate::process::{BUILD_LIMIT, Processes, REPEAT_LIMIT};

pub struct Commands;

/// Where the value is in the output.
#[derive(Debug)]
enum ValuePlace {
    /// Pointer into JSON.
    Json(String),
    /// Its first group.
    Pattern(Regex),
}

struct CommandFile {
    place: Place,
    benchmarks: Vec<(CommandBenchmarkDef, ValuePlace)>,
}

impl Tool for Commands {
    fn name(&self) -> &'static str {
        "command"
    }

    fn may_have(&self, file: &str) -> bool {
        file == BENCH_FILE
    }

    fn has(&self, _content: &str) -> bool {
        // A file that cannot be used is to be reported, not passed over.
        true
    }

    fn markers(&self) -> &'static [&'static str] {
        &[BENCH_FILE]
    }

    fn prepare(&self, place: &Place, processes: &Processes<'_>) -> Result<Prepared, CheckError> {
        let file = place.folder.join(BENCH_FILE);
        let def = read_benchmarks(&file)?;
        let mut benchmarks = Vec::new();
        for one in def.benchmarks {
            let value = match (&one.json, &one.pattern) {
                (Some(pointer), _) => ValuePlace::Json(pointer.clone()),
                (None, pattern) => ValuePlace::Pattern(
                    group(pattern.as_deref().unwrap_or_default()).map_err(|error| {
                        CheckError::Input(format!("{}: {}: {error}", file.display(), one.name))
                    })?,
                ),
            };
            benchmarks.push((one, value));
        }
        if let Some(words) = &def.prepare {
            processes.succeed("prepare", &mut command(place, words), BUILD_LIMIT)?;
        }
        let mut versions = BTreeMap::new();
        if let Some(words) = &def.version {
            let ended = processes.succeed("version", &mut command(place, words), REPEAT_LIMIT)?;
            versions.insert("command".into(), first_line(&ended.stdout));
        }
        Ok(Prepared {
            versions,
            names: benchmarks.iter().map(|(one, _)| one.name.clone()).collect(),
            runner: Box::new(CommandFile {
                place: place.clone(),
                benchmarks,
            }),
        })
    }
}

/// A pattern with one group.
fn group(pattern: &str) -> Result<Regex, String> {
    let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
    match regex.captures_len() {
        2 => Ok(regex),
        _ => Err(format!(
            "the pattern {pattern:?} needs exactly one group, which is the value: \"time: ([0-9.]+)\""
        )),
    }
}

fn command(place: &Place, words: &[String]) -> Command {
    // A program that is named by a relative path is in the folder of the file.
    let program = match words[0].contains('/') {
        true => place.folder.join(&words[0]).into_os_string(),
        false => words[0].clone().into(),
    };
    let mut command = Command::new(program);
    command.args(&words[1..]).current_dir(&place.folder);
    if place.is_old {
        // One folder for all builds of Cargo would have those of both revisions in turn.
        command.env_remove("CARGO_TARGET_DIR");
    }
    command
}

impl Runner for CommandFile {
    fn repeat(
        &self,
        place: usize,
        _: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        let (def, value) = &self.benchmarks[place];
        let mut command = command(&self.place, &def.command);
        let ended = processes.succeed(&def.name, &mut command, REPEAT_LIMIT)?;
        let value = value.find(&ended.stdout).map_err(|problem| {
            CheckError::Environment(format!("{problem}; it printed:\n{}", ended.last_lines()))
        })?;
        Ok(vec![Reading {
            benchmark: def.name.clone(),
            unit: def.unit.clone(),
            better: def.better,
            value,
        }])
    }
}

impl ValuePlace {
    fn find(&self, output: &str) -> Result<f64, String> {
        match self {
            ValuePlace::Json(pointer) => {
                let json: Value = serde_json::from_str(output.trim())
                    .map_err(|error| format!("the output is not JSON: {error}"))?;
                let found = json
                    .pointer(pointer)
                    .ok_or(format!("the output has nothing at {pointer:?}"))?;
                let number = found
                    .as_f64()
                    .or_else(|| found.as_str()?.trim().parse().ok());
                number.ok_or(format!("what the output has at {pointer:?} is no number"))
            }
            ValuePlace::Pattern(regex) => {
                let found = regex.captures(output).and_then(|found| found.get(1));
                let found = found.ok_or(format!(
                    "nothing in the output matches {:?}",
                    regex.as_str()
                ))?;
                found.as_str().trim().parse().map_err(|_| {
                    format!(
                        "{:?}, which {:?} matches, is no number",
                        found.as_str(),
                        regex.as_str()
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_place_in_json_or_by_a_pattern() {
        let json = ValuePlace::Json("/results/1/mean".into());
        let output = r#"{"results": [{"mean": 1}, {"mean": 2.5}, {"mean": "x"}]}"#;
        assert_eq!(json.find(output), Ok(2.5));
        let of = |pointer: &str, output: &str| {
            ValuePlace::Json(pointer.into()).find(output).unwrap_err()
        };
        assert!(of("/results/2/mean", output).contains("is no number"));
        assert!(of("/results/3/mean", output).contains("has nothing at"));
        assert!(of("/x", "time 3").contains("is not JSON"));

        let pattern = ValuePlace::Pattern(group(r"(?m)^encode: ([0-9.]+) ms$").unwrap());
        assert_eq!(pattern.find("warm: 9 ms\nencode: 3.25 ms\n"), Ok(3.25));
        assert!(
            pattern
                .find("decode: 1 ms")
                .unwrap_err()
                .contains("matches")
        );
        for wrong in ["time", "(a)(b)"] {
            assert!(
                group(wrong).unwrap_err().contains("exactly one group"),
                "{wrong}"
            );
        }
    }
}
