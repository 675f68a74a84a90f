//! Java: JMH, compiled once by Maven.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::escape;
use serde_json::Value;
use tare_record::view::Better;

use super::{
    FILE_BYTES_MAX, Place, Prepared, Reading, Runner, Tool, better_of, first_line, no_value,
    read_json,
};
use crate::error::CheckError;
use crate::process::{BUILD_LIMIT, Processes, REPEAT_LIMIT};

/// One repeat: a new virtual machine, which warms up and then measures.
const OPTIONS: [&str; 14] = [
    "-f", "1", "-wi", "3", "-w", "200ms", "-i", "60", "-r", "5ms", "-foe", "true", "-rf", "json",
];
/// JMH's entry.
const MAIN: &str = "org.openjdk.jmh.Main";
/// Folders of compiled classes.
const CLASSES: [&str; 2] = ["target/test-classes", "target/classes"];

pub struct Jmh;

struct Built {
    place: Place,
    class_path: String,
}

impl Tool for Jmh {
    fn name(&self) -> &'static str {
        "jmh"
    }

    fn may_have(&self, file: &str) -> bool {
        file == "pom.xml"
    }

    fn has(&self, content: &str) -> bool {
        // A parent of modules has no benchmarks of its own.
        content.contains("jmh-core") && !content.contains("<packaging>pom</packaging>")
    }

    fn markers(&self) -> &'static [&'static str] {
        &["pom.xml"]
    }

    fn prepare(&self, place: &Place, processes: &Processes<'_>) -> Result<Prepared, CheckError> {
        let list = place.scratch.join("class-path");
        let wrapper = place.folder.join("mvnw");
        let mut build = Command::new(match wrapper.is_file() {
            true => wrapper.into_os_string(),
            false => "mvn".into(),
        });
        build.current_dir(&place.folder);
        build.args([
            "-B",
            "-q",
            "-DskipTests",
            "test-compile",
            "dependency:build-classpath",
        ]);
        build.arg("-Dmdep.includeScope=test");
        build.arg(format!("-Dmdep.outputFile={}", list.display()));
        processes.succeed("building the Java benchmarks", &mut build, BUILD_LIMIT)?;
        let jars = tare_record::regular::read_regular_text(&list, FILE_BYTES_MAX);
        let jars = jars.map_err(CheckError::at(&list))?;
        let classes = CLASSES.iter().map(|classes| place.folder.join(classes));
        let classes = classes.filter(|folder| folder.is_dir());
        let mut paths: Vec<String> = classes.map(|folder| folder.display().to_string()).collect();
        paths.push(jars.trim().to_owned());
        let built = Built {
            place: place.clone(),
            class_path: paths.join(":"),
        };
        let mut version = Command::new(java());
        let version = processes.succeed(
            "asking Java for its version",
            version.arg("-version"),
            REPEAT_LIMIT,
        )?;
        let mut versions = BTreeMap::from([("java".to_owned(), first_line(&version.stderr))]);
        if let Some(version) = jmh_version(&jars) {
            versions.insert("jmh".into(), version);
        }
        let listed = processes.succeed(
            "listing the Java benchmarks",
            built.jmh().arg("-l"),
            REPEAT_LIMIT,
        )?;
        Ok(Prepared {
            versions,
            names: names(&listed.stdout),
            runner: Box::new(built),
        })
    }
}

/// The Java that the environment names, as Maven takes it.
fn java() -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) if !home.is_empty() => Path::new(&home).join("bin/java"),
        _ => PathBuf::from("java"),
    }
}

/// From the name of its archive: `jmh-core-1.37.jar`.
fn jmh_version(jars: &str) -> Option<String> {
    let (_, rest) = jars.split_once("/jmh-core-")?;
    Some(rest.split_once(".jar")?.0.to_owned())
}

/// Names after the line `Benchmarks:`.
fn names(listed: &str) -> Vec<String> {
    let lines = listed.lines().map(str::trim);
    let names = lines.skip_while(|line| *line != "Benchmarks:").skip(1);
    names
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

impl Built {
    fn jmh(&self) -> Command {
        let mut command = Command::new(java());
        // The lock is for parallel calls of JMH; one of another user would end this one.
        command.args(["-Djmh.ignoreLock=true", "-cp", &self.class_path, MAIN]);
        command.current_dir(&self.place.folder);
        command
    }
}

impl Runner for Built {
    fn repeat(
        &self,
        _: usize,
        name: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        let file = self.place.scratch.join("result.json");
        let mut command = self.jmh();
        command.args(OPTIONS).arg("-rff").arg(&file);
        command.arg(format!("^{}$", escape(name)));
        let ended = processes.succeed(name, &mut command, REPEAT_LIMIT)?;
        let readings = parse(&read_json(&file)?);
        fs::remove_file(&file).map_err(CheckError::at(&file))?;
        match readings.is_empty() {
            true => Err(no_value(name, &ended.last_lines())),
            false => Ok(readings),
        }
    }
}

/// The scores of the iterations: the best of many short ones is undisturbed, their mean, which is the score, is not.
fn iterations(metric: &Value) -> Vec<f64> {
    let forks = metric.get("rawData").and_then(Value::as_array);
    let forks = forks.into_iter().flatten().filter_map(Value::as_array);
    forks.flatten().filter_map(Value::as_f64).collect()
}

/// Values of `-rf json`, one for each combination of parameters.
fn parse(result: &Value) -> Vec<Reading> {
    let all = result.as_array().into_iter().flatten().filter_map(|one| {
        let metric = one.get("primaryMetric")?;
        let parameters = one.get("params").and_then(Value::as_object);
        let parameters = parameters.into_iter().flatten();
        let parameters: Vec<String> = parameters
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
            .collect();
        let name = one.get("benchmark")?.as_str()?;
        let better = match one.get("mode")?.as_str()? {
            "thrpt" => Better::Higher,
            _ => Better::Lower,
        };
        let iterations = iterations(metric).into_iter();
        let best = iterations.reduce(|one, other| better_of(better, one, other));
        let best = best.or_else(|| metric.get("score")?.as_f64())?;
        Some(Reading {
            benchmark: match parameters.is_empty() {
                true => name.to_owned(),
                false => format!("{name} ({})", parameters.join(", ")),
            },
            unit: metric.get("scoreUnit")?.as_str()?.to_owned(),
            better,
            value: best,
        })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_read_with_their_parameters_and_their_direction() {
        // JMH 1.37.
        let output = include_str!("../../tests/outputs/jmh.json");
        let readings = parse(&serde_json::from_str(output).unwrap());
        let lines: Vec<String> = readings
            .iter()
            .map(|one| format!("{} {} {:?}", one.benchmark, one.unit, one.better))
            .collect();
        assert_eq!(
            lines,
            [
                "codec.CodecBenchmark.encode (size=4096) ns/op Lower",
                "codec.CodecBenchmark.encode (size=16384) ns/op Lower",
                "codec.CodecBenchmark.rate ops/us Higher",
            ]
        );
        // The largest of three; their mean is the score.
        let best = 0.03214245740393883;
        assert!(
            (readings[2].value - best).abs() < 1e-12,
            "{}",
            readings[2].value
        );
    }

    #[test]
    fn the_list_begins_after_its_head_and_the_version_is_that_of_the_archive() {
        let listed = "WARNING: x\nBenchmarks: \na.B.c\na.B.d\n";
        assert_eq!(names(listed), ["a.B.c", "a.B.d"]);
        assert_eq!(
            jmh_version("/m2/jmh-core-1.37.jar:/m2/x.jar").as_deref(),
            Some("1.37")
        );
    }
}
