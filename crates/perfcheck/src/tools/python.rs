//! Python: pytest-benchmark.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Place, Prepared, Reading, Runner, Tool, no_value, read_json};
use crate::error::CheckError;
use crate::process::{BUILD_LIMIT, Processes, REPEAT_LIMIT};

/// Time of one repeat, s.
const TIME: &str = "0.2";
/// Folders of virtual environments in a project.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];
/// Ends with 3 when a package is missing.
const VERSIONS: &str = "
import platform, sys
try:
    import pytest, pytest_benchmark
except ImportError as error:
    sys.exit('tare: ' + str(error))
print('python=' + platform.python_implementation() + ' ' + platform.python_version())
print('pytest=' + pytest.__version__)
print('pytest-benchmark=' + pytest_benchmark.__version__)
";
/// Writes the names of all tests with the fixture `benchmark` to a file: pytest's own output has all tests.
const LIST: &str = "
import sys, pytest
class Names:
    def pytest_collection_finish(self, session):
        with open(sys.argv[1], 'w', encoding='utf-8') as file:
            for item in session.items:
                if 'benchmark' in getattr(item, 'fixturenames', ()):
                    file.write(item.nodeid + '\\n')
sys.exit(pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider'], plugins=[Names()]))
";
/// Exit code of pytest without a test.
const NO_TESTS: i32 = 5;

pub struct PytestBenchmark;

struct Collected {
    python: PathBuf,
    place: Place,
}

impl Tool for PytestBenchmark {
    fn name(&self) -> &'static str {
        "pytest"
    }

    fn may_have(&self, file: &str) -> bool {
        file.ends_with(".py") && (file.contains("test") || file.contains("bench"))
    }

    fn has(&self, content: &str) -> bool {
        let arguments = content.split("def ").skip(1).filter_map(|rest| {
            let (name, rest) = rest.split_once('(')?;
            (name.starts_with("test") || name.starts_with("bench"))
                .then_some(rest.split(')').next()?)
        });
        let mut words =
            arguments.flat_map(|some| some.split(|c: char| !c.is_alphanumeric() && c != '_'));
        words.any(|word| word == "benchmark")
    }

    fn markers(&self) -> &'static [&'static str] {
        &[
            "pyproject.toml",
            "pytest.ini",
            "tox.ini",
            "setup.cfg",
            "setup.py",
            "requirements.txt",
        ]
    }

    fn prepare(&self, place: &Place, processes: &Processes<'_>) -> Result<Prepared, CheckError> {
        let python = interpreter(&place.home);
        let mut ask = python_in(place, &python);
        ask.args(["-c", VERSIONS]);
        let said = processes.run(&mut ask, REPEAT_LIMIT)?;
        if !said.status.success() {
            let python = python.display();
            return Err(CheckError::Environment(format!(
                "{python} cannot run the benchmarks of {}: {}; next step: {python} -m pip install pytest-benchmark, \
                 or make a virtual environment in .venv of the project",
                place.home.display(),
                said.last_lines().replace("tare: ", "")
            )));
        }
        let versions = said.stdout.lines().filter_map(|line| line.split_once('='));
        let versions = versions.map(|(name, version)| (name.to_owned(), version.to_owned()));
        let versions = versions.collect();
        let file = place.scratch.join("names");
        let mut list = python_in(place, &python);
        list.args(["-c", LIST]).arg(&file);
        let listed = processes.run(&mut list, BUILD_LIMIT)?;
        let has_ended_well = listed.status.success() || listed.status.code() == Some(NO_TESTS);
        if !has_ended_well {
            let folder = place.folder.display();
            let said = listed.stdout.lines().rev().take(12).collect::<Vec<_>>();
            let said: Vec<&str> = said.into_iter().rev().collect();
            return Err(CheckError::Environment(format!(
                "pytest cannot collect the tests of {folder}:\n{}",
                said.join("\n")
            )));
        }
        let names = fs::read_to_string(&file).unwrap_or_default();
        Ok(Prepared {
            versions,
            names: names.lines().map(str::to_owned).collect(),
            runner: Box::new(Collected {
                python,
                place: place.clone(),
            }),
        })
    }
}

/// The interpreter of a project: of its virtual environment, else the one in PATH.
fn interpreter(home: &Path) -> PathBuf {
    let mut own = ENVIRONMENTS
        .iter()
        .map(|name| home.join(name).join("bin/python"));
    own.find(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from("python3"))
}

/// An interpreter in the folder of a project, whose own packages come before those that are installed.
fn python_in(place: &Place, python: &Path) -> Command {
    let mut command = Command::new(python);
    command.current_dir(&place.folder);
    // Nothing is left in the sources, and a file that was changed within a second is read again.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    if place.is_old {
        // An editable installation names the sources of the new revision.
        let given = std::env::var_os("PYTHONPATH").unwrap_or_default();
        let own = [place.folder.join("src"), place.folder.clone()];
        let paths = own.into_iter().chain(std::env::split_paths(&given));
        let paths = std::env::join_paths(paths);
        command.envs(paths.ok().map(|paths| ("PYTHONPATH", paths)));
    }
    command
}

impl Runner for Collected {
    fn repeat(
        &self,
        _: usize,
        name: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        let file = self.place.scratch.join("result.json");
        let mut command = python_in(&self.place, &self.python);
        command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
        command.args(["--benchmark-only", "--benchmark-min-rounds=5"]);
        command.arg(format!("--benchmark-max-time={TIME}"));
        command
            .arg(format!("--benchmark-json={}", file.display()))
            .arg(name);
        let ended = processes.run(&mut command, REPEAT_LIMIT)?;
        if !ended.status.success() {
            // pytest says everything to standard output.
            let lines: Vec<&str> = ended.stdout.lines().collect();
            let last = lines[lines.len().saturating_sub(12)..].join("\n");
            return Err(CheckError::Environment(format!(
                "{}:\n{last}",
                ended.status
            )));
        }
        let readings = parse(&read_json(&file)?);
        fs::remove_file(&file).map_err(CheckError::at(&file))?;
        match readings.is_empty() {
            true => Err(no_value(name, &ended.last_lines())),
            false => Ok(readings),
        }
    }
}

/// The least times of `--benchmark-json`.
fn parse(result: &Value) -> Vec<Reading> {
    let all = result.get("benchmarks").and_then(Value::as_array);
    let all = all.into_iter().flatten().filter_map(|one| {
        let seconds = one.pointer("/stats/min")?.as_f64()?;
        Some(Reading::time(one.get("fullname")?.as_str()?, seconds * 1e9))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_time_of_each_benchmark_is_read() {
        // pytest-benchmark 5.3.1.
        let output = include_str!("../../tests/outputs/pytest.json");
        let readings = parse(&serde_json::from_str(output).unwrap());
        let names: Vec<&str> = readings.iter().map(|one| one.benchmark.as_str()).collect();
        assert_eq!(
            names,
            [
                "test_codec.py::test_encode[512]",
                "test_codec.py::test_encode[4096]",
                "test_codec.py::test_fixed"
            ]
        );
        assert!((readings[0].value - 33_399.003).abs() < 0.01 && readings[0].unit == "ns");
    }

    #[test]
    fn only_tests_with_the_fixture_are_benchmarks() {
        let has = |text: &str| PytestBenchmark.has(text);
        assert!(has("def test_encode(benchmark):\n  pass"));
        assert!(has("async def test_x(\n    size, benchmark,\n):"));
        assert!(!has("def test_encode(benchmarks):\n  benchmark = 1"));
        assert!(!has("def helper(benchmark):\n  pass"));
    }
}
