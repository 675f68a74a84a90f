//! Each tool with a real project: what is measured, and a slowdown in its sources.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tare_record::api::{BenchmarkOutcome, PerfReference};

use crate::rig::{Place, names, outcome};

/// A folder in the cache, for what takes long to fetch or to build.
fn cached(name: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/tare"));
    let cache = std::env::var_os("TARE_CACHE")
        .map(PathBuf::from)
        .or_else(home);
    let folder = cache.unwrap().join("perfcheck-tests").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// pytest-benchmark, in a folder for `PYTHONPATH`.
fn pytest_benchmark() -> PathBuf {
    let folder = cached("pytest-benchmark-5.3.1");
    if !folder.join("done").exists() {
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--root-user-action",
            "ignore",
            "--upgrade",
            "--target",
        ]);
        let output = pip
            .arg(&folder)
            .args(["pytest==9.2.0", "pytest-benchmark==5.3.1"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::write(folder.join("done"), "").unwrap();
    }
    folder
}

#[test]
fn go_benchmarks_are_measured_with_those_of_the_old_revision_in_turn() {
    let mut place = Place::of("go");
    place.options.reference = PerfReference::Revision("HEAD".into());
    place.options.repeats = Some(4);
    place.plant("codec/codec.go", "Rounds = 1", "Rounds = 60");
    let report = place.report(1);
    assert_eq!(
        names(&report),
        [
            "go: codec.BenchmarkEncode/1024-byte B/op",
            "go: codec.BenchmarkEncode/1024-byte allocs/op",
            "go: codec.BenchmarkEncode/1024-byte ns/op",
            "go: codec.BenchmarkEncode/16384-byte B/op",
            "go: codec.BenchmarkEncode/16384-byte allocs/op",
            "go: codec.BenchmarkEncode/16384-byte ns/op",
            "go: codec.BenchmarkFixed B/op",
            "go: codec.BenchmarkFixed allocs/op",
            "go: codec.BenchmarkFixed ns/op",
            "go: codec.BenchmarkFixed requests/s",
        ]
    );
    let of = |unit: &str| outcome(&report, "go: codec.BenchmarkEncode/16384-byte", unit);
    assert_eq!(of("ns/op"), BenchmarkOutcome::Worse);
    assert_eq!(of("allocs/op"), BenchmarkOutcome::Same);
    assert!(report.revision.unwrap().ends_with('+'));
    assert!(
        report.versions["go"].starts_with("go1."),
        "{:?}",
        report.versions
    );
    assert_eq!(place.left(), 0);
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn python_benchmarks_of_an_old_revision_import_its_own_modules() {
    let mut place = Place::of("python");
    place.variable("PYTHONPATH", pytest_benchmark());
    place.options.reference = PerfReference::Revision("HEAD".into());
    place.options.repeats = Some(3);
    place.plant("codec.py", "ROUNDS = 1", "ROUNDS = 60");
    let report = place.report(1);
    assert_eq!(
        names(&report),
        [
            "pytest: test_codec.py::test_encode[4096] ns",
            "pytest: test_codec.py::test_encode[512] ns",
            "pytest: test_codec.py::test_fixed ns",
        ]
    );
    let slow = outcome(&report, "pytest: test_codec.py::test_encode[4096]", "ns");
    assert_eq!(slow, BenchmarkOutcome::Worse);
    assert_eq!(report.versions["pytest-benchmark"], "5.3.1");
    // Nothing is left in the sources.
    assert_eq!(place.git(&["status", "--porcelain"]), " M codec.py\n");
}

/// One session into the golden file, then a slowdown: judged by the repeats.
fn golden(mut place: Place, file: &str, slow: (&str, &str), expected: &[&str]) {
    place.options.repeats = Some(4);
    place.add_sessions(1);
    let [before, after] = [1, 60].map(|rounds| format!("ROUNDS{} = {rounds}", slow.0));
    place.plant(file, &before, &after);
    let report = place.report(1);
    assert_eq!(names(&report), expected);
    let (benchmark, unit) = slow.1.rsplit_once(' ').unwrap();
    assert_eq!(
        outcome(&report, benchmark, unit),
        BenchmarkOutcome::Worse,
        "{report:#?}"
    );
    let notes = report.notes.join("\n");
    assert!(notes.contains("has 1 session of this machine"), "{notes}");
    assert_eq!(place.left(), 0);
}

#[test]
fn rust_benchmarks_are_compared_with_their_golden_file() {
    let mut place = Place::of("rust");
    place.variable("CARGO_TARGET_DIR", cached("criterion-0.7"));
    golden(
        place,
        "src/lib.rs",
        (": u32", "criterion: encode/encode/16384 ns"),
        &[
            "criterion: encode/encode/16384 ns",
            "criterion: encode/encode/4096 ns",
            "criterion: encode/fixed ns",
        ],
    );
}

#[test]
fn java_benchmarks_are_compared_with_their_golden_file() {
    let mut place = Place::of("java");
    place.options.benchmarks = Some("rate".into());
    golden(
        place,
        "src/main/java/codec/CodecBenchmark.java",
        ("", "jmh: codec.CodecBenchmark.rate ops/us"),
        &["jmh: codec.CodecBenchmark.rate ops/us"],
    );
}

#[test]
fn cpp_benchmarks_are_compared_with_their_golden_file() {
    golden(
        Place::of("cpp"),
        "codec.cpp",
        ("", "google-benchmark: codec/Encode/16384 ns"),
        &[
            "google-benchmark: codec/Encode/16384 ns",
            "google-benchmark: codec/Encode/4096 ns",
        ],
    );
}
