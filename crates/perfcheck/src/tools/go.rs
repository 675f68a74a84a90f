//! Go: `go test -bench`, compiled once per package.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tare_record::view::Better;

use super::{
    Place, Prepared, RUNS_PER_REPEAT, Reading, Runner, Tool, batches, best_of, first_line, no_value,
};
use crate::error::CheckError;
use crate::process::{BUILD_LIMIT, Processes, REPEAT_LIMIT};

/// Time of one batch: on a machine with neighbours, short moments without them are seen more often than long ones.
const TIME: &str = "100us";

pub struct Go;

/// A benchmark function.
struct Function {
    binary: PathBuf,
    /// Folder of the package, in which tests run.
    folder: PathBuf,
    /// Path of the package in the project, before the names of its benchmarks.
    package: String,
    function: String,
    /// Number of batches of a run; known after the first.
    batches: OnceCell<u32>,
}

struct Built(Vec<Function>);

impl Tool for Go {
    fn name(&self) -> &'static str {
        "go"
    }

    fn may_have(&self, file: &str) -> bool {
        file.ends_with("_test.go")
    }

    fn has(&self, content: &str) -> bool {
        content.contains("func Benchmark")
    }

    fn markers(&self) -> &'static [&'static str] {
        &["go.mod"]
    }

    fn prepare(&self, place: &Place, processes: &Processes<'_>) -> Result<Prepared, CheckError> {
        let go = |words: &[&str]| {
            let mut command = Command::new("go");
            command.args(words).current_dir(&place.folder);
            command
        };
        let version = processes.succeed(
            "asking Go for its version",
            &mut go(&["version"]),
            REPEAT_LIMIT,
        )?;
        let version = first_line(&version.stdout).replace("go version ", "");
        let format = "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}";
        let listed = processes.succeed(
            "listing the Go packages",
            &mut go(&["list", "-f", format, "./..."]),
            BUILD_LIMIT,
        )?;
        let mut functions = Vec::new();
        let packages = listed.stdout.lines().filter(|line| !line.is_empty());
        for (number, folder) in packages.enumerate() {
            let folder = PathBuf::from(folder);
            if has_benchmarks(&folder) {
                functions.extend(functions_of(place, number, &folder, processes)?);
            }
        }
        Ok(Prepared {
            versions: BTreeMap::from([("go".to_owned(), version)]),
            names: functions.iter().map(Function::name).collect(),
            runner: Box::new(Built(functions)),
        })
    }
}

/// Whether a test file of a package has a benchmark, so that others need not be compiled.
fn has_benchmarks(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut tests = files.filter(|file| Go.may_have(&file.file_name().to_string_lossy()));
    tests.any(|file| std::fs::read_to_string(file.path()).is_ok_and(|text| Go.has(&text)))
}

impl Function {
    fn name(&self) -> String {
        format!("{}{}", self.package, self.function)
    }
}

/// Builds the benchmarks of a package.
fn functions_of(
    place: &Place,
    number: usize,
    folder: &Path,
    processes: &Processes<'_>,
) -> Result<Vec<Function>, CheckError> {
    let binary = place.scratch.join(format!("{number}.test"));
    let mut build = Command::new("go");
    build
        .args(["test", "-c", "-o"])
        .arg(&binary)
        .current_dir(folder);
    processes.succeed("building the Go benchmarks", &mut build, BUILD_LIMIT)?;
    let mut list = Command::new(&binary);
    list.args(["-test.list", "^Benchmark"]).current_dir(folder);
    let listed = processes.succeed("listing the Go benchmarks", &mut list, REPEAT_LIMIT)?;
    // Go resolves links in the paths of packages.
    let root = place
        .folder
        .canonicalize()
        .unwrap_or_else(|_| place.folder.clone());
    let package = folder.strip_prefix(&root).unwrap_or(folder);
    let package = match package.as_os_str().is_empty() {
        true => String::new(),
        false => format!("{}.", package.display()),
    };
    let functions = listed.stdout.lines();
    let functions = functions.filter(|line| line.starts_with("Benchmark"));
    let functions = functions.map(|function| Function {
        binary: binary.clone(),
        folder: folder.to_owned(),
        package: package.clone(),
        function: function.to_owned(),
        batches: OnceCell::new(),
    });
    Ok(functions.collect())
}

impl Runner for Built {
    fn runs_per_repeat(&self) -> usize {
        RUNS_PER_REPEAT
    }

    fn repeat(
        &self,
        place: usize,
        name: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        let one = &self.0[place];
        let Some(count) = one.batches.get() else {
            let began = Instant::now();
            one.run(1, name, processes)?;
            let _ = one.batches.set(batches(began.elapsed()));
            return self.repeat(place, name, processes);
        };
        one.run(*count, name, processes)
    }
}

impl Function {
    /// The best of some batches.
    fn run(
        &self,
        count: u32,
        name: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        let one = self;
        let mut command = Command::new(&one.binary);
        command.current_dir(&one.folder).args([
            "-test.run=^$",
            &format!("-test.bench=^{}$", one.function),
            "-test.benchmem",
            &format!("-test.benchtime={TIME}"),
            &format!("-test.count={count}"),
        ]);
        let ended = processes.succeed(name, &mut command, REPEAT_LIMIT)?;
        let readings = parse(&one.package, &ended.stdout);
        match readings.is_empty() {
            true => Err(no_value(name, &ended.last_lines())),
            false => Ok(best_of(readings)),
        }
    }
}

/// Readings of an output: `BenchmarkEncode/1KB-8   1000   123 ns/op   16 B/op   1 allocs/op`.
fn parse(package: &str, output: &str) -> Vec<Reading> {
    let lines = output.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().filter(|name| name.starts_with("Benchmark"))?;
        words.next()?.parse::<u64>().ok()?;
        Some((name, words.collect::<Vec<&str>>()))
    });
    let lines: Vec<(&str, Vec<&str>)> = lines.collect();
    // All names of an output end with the number of threads, unless that is 1.
    let suffix = |name: &str| {
        let (_, suffix) = name.rsplit_once('-')?;
        suffix.parse::<u32>().ok()
    };
    let first = lines.first().and_then(|(name, _)| suffix(name));
    let is_common = first.is_some() && lines.iter().all(|(name, _)| suffix(name) == first);
    let mut readings = Vec::new();
    for (name, values) in lines {
        let name = match name.rsplit_once('-') {
            Some((bare, _)) if is_common => bare,
            _ => name,
        };
        for pair in values.chunks_exact(2) {
            // MB/s is the time in other words.
            if let (Ok(value), unit) = (pair[0].parse(), pair[1])
                && unit != "MB/s"
            {
                readings.push(Reading {
                    benchmark: format!("{package}{name}"),
                    unit: unit.to_owned(),
                    better: match unit.ends_with("/s") {
                        true => Better::Higher,
                        false => Better::Lower,
                    },
                    value,
                });
            }
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_all_units_are_read_and_the_number_of_threads_is_no_part_of_the_name() {
        // go1.26.8, `-test.bench=. -test.benchmem -test.cpu 2`.
        let output = include_str!("../../tests/outputs/go.txt");
        let readings = parse("codec.", output);
        let lines: Vec<String> = readings
            .iter()
            .map(|one| format!("{} {} {}", one.benchmark, one.value, one.unit))
            .collect();
        assert_eq!(
            lines,
            [
                "codec.BenchmarkEncode/1024-byte 1862 ns/op",
                "codec.BenchmarkEncode/1024-byte 1024 B/op",
                "codec.BenchmarkEncode/1024-byte 1 allocs/op",
                "codec.BenchmarkEncode/16384-byte 29170 ns/op",
                "codec.BenchmarkEncode/16384-byte 16384 B/op",
                "codec.BenchmarkEncode/16384-byte 1 allocs/op",
                "codec.BenchmarkFixed 13534 ns/op",
                "codec.BenchmarkFixed 73889 requests/s",
                "codec.BenchmarkFixed 0 B/op",
                "codec.BenchmarkFixed 0 allocs/op",
            ]
        );
        assert_eq!(readings[7].better, Better::Higher);
        assert_eq!(readings[0].better, Better::Lower);
    }

    #[test]
    fn a_name_that_ends_with_a_number_is_kept_where_go_adds_none() {
        let output = "BenchmarkA-4 \t 100 \t 2.0 ns/op\nBenchmarkB \t 100 \t 2.0 ns/op\nBenchmark: no result\n";
        let names: Vec<String> = parse("", output)
            .into_iter()
            .map(|one| one.benchmark)
            .collect();
        assert_eq!(names, ["BenchmarkA-4", "BenchmarkB"]);
    }
}
