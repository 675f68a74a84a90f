//! C++: Google Benchmark, compiled once by CMake.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use regex::escape;
use serde_json::Value;

use super::{
    Place, Prepared, RUNS_PER_REPEAT, Reading, Runner, Tool, batches, first_line, no_value,
    read_json,
};
use crate::error::CheckError;
use crate::process::{BUILD_LIMIT, Processes, REPEAT_LIMIT};

/// Time of one batch, s. Without a unit: versions before 1.8 take none.
const TIME: &str = "0.0002";
/// CMake's description of what is built (cmake-file-api(7)).
const QUERY: &str = ".cmake/api/v1/query/codemodel-v2";
const REPLY: &str = ".cmake/api/v1/reply";

pub struct GoogleBenchmark;

struct Built {
    folder: PathBuf,
    /// Program and name in it.
    benchmarks: Vec<(PathBuf, String)>,
    /// Number of batches of a run; known after the first.
    batches: Vec<OnceCell<u32>>,
}

impl Tool for GoogleBenchmark {
    fn name(&self) -> &'static str {
        "google-benchmark"
    }

    fn may_have(&self, file: &str) -> bool {
        file == "CMakeLists.txt"
    }

    fn has(&self, content: &str) -> bool {
        // Only the outermost file can be built alone.
        content.contains("benchmark::benchmark") && content.contains("project(")
    }

    fn markers(&self) -> &'static [&'static str] {
        &["CMakeLists.txt"]
    }

    fn prepare(&self, place: &Place, processes: &Processes<'_>) -> Result<Prepared, CheckError> {
        let build = place.scratch.join("build");
        let query = build.join(QUERY);
        let folder = query.parent().unwrap_or(&build);
        fs::create_dir_all(folder).map_err(CheckError::at(folder))?;
        fs::write(&query, "").map_err(CheckError::at(&query))?;
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(&place.folder).arg("-B").arg(&build);
        configure.arg("-DCMAKE_BUILD_TYPE=Release");
        processes.succeed(
            "configuring the C++ benchmarks",
            &mut configure,
            BUILD_LIMIT,
        )?;
        let mut compile = Command::new("cmake");
        compile.arg("--build").arg(&build).arg("--parallel");
        processes.succeed("building the C++ benchmarks", &mut compile, BUILD_LIMIT)?;
        let mut version = Command::new("cmake");
        let version = processes.succeed(
            "asking CMake for its version",
            version.arg("--version"),
            REPEAT_LIMIT,
        )?;
        let (mut names, mut benchmarks) = (Vec::new(), Vec::new());
        for program in programs(&build)? {
            let mut list = Command::new(&program);
            list.arg("--benchmark_list_tests=true")
                .current_dir(&place.folder);
            let listed =
                processes.succeed("listing the C++ benchmarks", &mut list, REPEAT_LIMIT)?;
            let stem = program.file_name().unwrap_or_default().to_string_lossy();
            for name in listed.stdout.lines().filter(|line| !line.is_empty()) {
                names.push(format!("{stem}/{name}"));
                benchmarks.push((program.clone(), name.to_owned()));
            }
        }
        Ok(Prepared {
            versions: BTreeMap::from([("cmake".to_owned(), first_line(&version.stdout))]),
            names,
            runner: Box::new(Built {
                folder: place.folder.clone(),
                batches: benchmarks.iter().map(|_| OnceCell::new()).collect(),
                benchmarks,
            }),
        })
    }
}

/// The programs of a build that are linked with Google Benchmark, from CMake's replies.
fn programs(build: &Path) -> Result<Vec<PathBuf>, CheckError> {
    let replies = build.join(REPLY);
    let mut found = Vec::new();
    for entry in fs::read_dir(&replies)
        .map_err(CheckError::at(&replies))?
        .flatten()
    {
        if entry.file_name().to_string_lossy().starts_with("target-") {
            let target = read_json(&entry.path())?;
            found.extend(program(&target).map(|program| build.join(program)));
        }
    }
    found.sort();
    Ok(found)
}

/// Path of the program of a target, if it is one with benchmarks.
fn program(target: &Value) -> Option<PathBuf> {
    if target.get("type")?.as_str()? != "EXECUTABLE" {
        return None;
    }
    let fragments = target.pointer("/link/commandFragments")?.as_array()?;
    let mut fragments = fragments
        .iter()
        .filter_map(|one| one.get("fragment")?.as_str());
    fragments.find(|fragment| fragment.contains("benchmark"))?;
    Some(target.pointer("/artifacts/0/path")?.as_str()?.into())
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
        let Some(count) = self.batches[place].get() else {
            let began = Instant::now();
            self.run(place, 1, name, processes)?;
            let _ = self.batches[place].set(batches(began.elapsed()));
            return self.repeat(place, name, processes);
        };
        self.run(place, *count, name, processes)
    }
}

impl Built {
    /// The best of some batches.
    fn run(
        &self,
        place: usize,
        count: u32,
        name: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        let (program, own) = &self.benchmarks[place];
        let mut command = Command::new(program);
        command.current_dir(&self.folder).args([
            &format!("--benchmark_filter=^{}$", escape(own)),
            "--benchmark_format=json",
            &format!("--benchmark_min_time={TIME}"),
            &format!("--benchmark_repetitions={count}"),
        ]);
        let ended = processes.succeed(name, &mut command, REPEAT_LIMIT)?;
        let result: Option<Value> = serde_json::from_str(&ended.stdout).ok();
        let time = result.as_ref().and_then(parse);
        let time = time.ok_or_else(|| no_value(name, &ended.last_lines()))?;
        Ok(vec![Reading::time(name, time)])
    }
}

/// The least time of the repetitions of an output, ns; it has aggregates of them as well.
fn parse(result: &Value) -> Option<f64> {
    let all = result.get("benchmarks")?.as_array()?;
    let own = all
        .iter()
        .filter(|one| one.get("run_type").is_none_or(|kind| kind == "iteration"));
    own.filter_map(time).reduce(f64::min)
}

fn time(one: &Value) -> Option<f64> {
    let unit = match one.get("time_unit")?.as_str()? {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(one.get("real_time")?.as_f64()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_time_is_read_in_its_unit() {
        let of = |unit: &str| {
            let text = format!(
                r#"{{"benchmarks": [{{"real_time": 9, "time_unit": "{unit}", "run_type": "iteration"}},
                {{"real_time": 2.5, "time_unit": "{unit}", "run_type": "iteration"}},
                {{"real_time": 1, "time_unit": "{unit}", "run_type": "aggregate"}}]}}"#
            );
            parse(&serde_json::from_str(&text).unwrap())
        };
        assert_eq!(
            [of("ns"), of("us"), of("weeks")],
            [Some(2.5), Some(2500.0), None]
        );
    }

    #[test]
    fn programs_that_are_linked_with_the_library_have_benchmarks() {
        let target = |kind: &str, fragment: &str| {
            serde_json::json!({"type": kind, "artifacts": [{"path": "bench"}],
                "link": {"commandFragments": [{"fragment": "-O3"}, {"fragment": fragment}]}})
        };
        let library = "/usr/lib/x86_64-linux-gnu/libbenchmark.so.1.7.1";
        assert_eq!(
            program(&target("EXECUTABLE", library)),
            Some("bench".into())
        );
        assert_eq!(program(&target("EXECUTABLE", "-lz")), None);
        assert_eq!(program(&target("SHARED_LIBRARY", library)), None);
    }
}
