//! The programs that read exports, fetched by the ordinary clients of their registries into the cache, with fixed versions.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Packages that parse; the last versions as of 2026-11.
const PARSERS: [&str; 5] = [
    "prometheus-client==0.26.0",
    "junitparser==5.0.3",
    "opentelemetry-proto==1.45.2",
    "protobuf==7.36.2",
    "typing_extensions==4.16.0",
];
/// The version that `crates/stats/reference` was made with, and what it imports.
const OTAVA: [&str; 3] = ["apache-otava==0.8.0", "numpy==2.2.0", "scipy==1.16.3"];

fn cache() -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    folder("TARE_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("tare")))
        .unwrap_or_else(|| folder("HOME").unwrap().join(".cache/tare"))
        .join("peers")
}

/// A folder of the cache, made if it is not there. Whoever is first has it; a second one is as good.
fn made(name: &str, make: impl Fn(&Path)) -> PathBuf {
    let folder = cache().join(name);
    if !folder.is_dir() {
        let made = cache().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&made).unwrap();
        make(&made);
        let _ = fs::rename(&made, &folder);
    }
    folder
}

fn packages(name: &str, packages: &[&str]) -> PathBuf {
    made(name, |folder| {
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--target",
        ];
        let mut command = Command::new("python3");
        let command = command.args(pip).arg(folder).args(packages);
        let status = command.status().unwrap();
        assert!(status.success(), "pip should install {packages:?}");
    })
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumers")
}

/// What the program of a format has read.
pub fn read(what: &str, arguments: &[&str]) -> Value {
    let path = match what {
        "otava" => packages("otava-0.8.0", &OTAVA),
        _ => packages("export-parsers-1", &PARSERS),
    };
    let mut command = Command::new("python3");
    let command = command.arg(sources().join("consumers.py")).arg(what);
    let output = command
        .args(arguments)
        .env("PYTHONPATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What Fortio's own type says of a result.
pub fn fortio(file: &str) -> String {
    let folder = made("fortio-reader-1.68.0", |folder| {
        let mut command = Command::new("go");
        let command = command.args(["build", "-o"]).arg(folder.join("reader"));
        let status = command.arg(".").current_dir(sources().join("fortio"));
        assert!(
            status.status().unwrap().success(),
            "go should build the reader"
        );
    });
    let mut command = Command::new(folder.join("reader"));
    let output = command.stdin(File::open(file).unwrap()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}
