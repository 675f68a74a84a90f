//! The API as strangers read its description: schemathesis sends what it describes and what it does not, a validator of OpenAPI
//! reads it, promtool reads the page of metrics.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::json;

use crate::flows::Origin;
use crate::kafka::{AT, cluster, create, server};
use crate::rig::Server;

/// Packages that read the description; the last versions as of 2026-11.
const PACKAGES: [&str; 2] = ["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"];
const PROMTOOL: &str = "github.com/prometheus/prometheus/cmd/promtool@v0.316.0";

/// A folder of the cache, made if it is not there.
fn made(name: &str, make: impl Fn(&Path)) -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = folder("TARE_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("tare")))
        .unwrap_or_else(|| folder("HOME").unwrap().join(".cache/tare"))
        .join("peers");
    let folder = cache.join(name);
    if !folder.is_dir() {
        let made = cache.join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&made).unwrap();
        make(&made);
        let _ = fs::rename(&made, &folder);
    }
    folder
}

/// A program of Python of these packages.
fn python(module: &str) -> Command {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        made("schemathesis-4.32.5", |folder| {
            let words = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-compile",
                "--target",
            ];
            let mut command = Command::new("python3");
            let command = command.args(words).arg(folder).args(PACKAGES);
            let status = command.status().unwrap();
            assert!(status.success(), "pip should install {PACKAGES:?}");
        })
    });
    let mut command = Command::new("python3");
    command.args(["-m", module]).env("PYTHONPATH", folder);
    command
}

#[track_caller]
fn passed(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    said
}

/// Runs schemathesis with these words.
fn examined(server: &Server, words: &[&str], parameters: &str) -> String {
    let place = tempfile::tempdir().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/schemathesis");
    fs::copy(folder.join("hooks.py"), place.path().join("hooks.py")).unwrap();
    let settings = fs::read_to_string(folder.join("schemathesis.toml")).unwrap();
    let file = place.path().join("schemathesis.toml");
    fs::write(file, format!("{settings}\n[parameters]\n{parameters}")).unwrap();
    let mut command = python("schemathesis.cli");
    command
        .current_dir(place.path())
        .args(["--config-file", "schemathesis.toml", "run"])
        .arg(format!("http://{}/api/v1/openapi.json", server.address))
        .arg("--header")
        .arg(format!("Authorization: Bearer {}", server.token))
        .args(["--seed", "1", "--continue-on-failure"])
        .args(words);
    let said = passed(&command.output().unwrap());
    assert!(!said.contains("Failures:"), "{said}");
    said
}

#[test]
fn what_the_description_says_is_taken_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    examined(&server, &[], "");
}

#[test]
fn readings_of_kafka_are_as_described_on_real_brokers() {
    let cluster = cluster();
    let (_place, server) = server(&cluster);
    for name in ["orders", "payments"] {
        create(&server, name, 3);
    }
    let said = examined(
        &server,
        // What changes a cluster is sent by the other test, to no cluster: brokers take topics of any number of partitions.
        &[
            "--include-path-regex",
            "^/kafka/clusters/.cluster./",
            "--exclude-method-regex",
            "POST|DELETE",
        ],
        "\"path.cluster\" = \"test\"\n\"path.topic\" = \"orders\"\n\"path.broker\" = 1\n",
    );
    // What is named as never reached is another thing: a group, a job.
    for reached in [
        "overview",
        "topics",
        "topics/{topic}/records",
        "brokers/{broker}",
        "configs",
    ] {
        let missed = format!("- GET /kafka/clusters/{{cluster}}/{reached}\n");
        assert!(!said.contains(&missed), "{said}");
    }
    for name in ["orders", "payments"] {
        server.ask("DELETE", &format!("{AT}/topics/{name}"), None);
    }
}

#[test]
fn a_validator_of_openapi_takes_the_description() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let file = place.path().join("openapi.json");
    fs::write(&file, server.get("/api/v1/openapi.json").to_string()).unwrap();
    passed(
        &python("openapi_spec_validator")
            .arg(&file)
            .output()
            .unwrap(),
    );
}

#[test]
fn promtool_takes_the_page_of_metrics_while_a_load_goes_on() {
    let promtool = made("promtool-3.16.0", |folder| {
        let mut command = Command::new("go");
        let command = command.args(["install", PROMTOOL]).env("GOBIN", folder);
        let status = command.env("GOFLAGS", "-mod=mod").status();
        assert!(status.unwrap().success(), "go should install {PROMTOOL}");
    });
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let origin = Origin::start();
    let started = server.post(
        "/api/v1/loads",
        &json!({ "url": origin.url, "pace": { "kind": "rate", "per_s": 50 }, "stop": { "kind": "duration", "seconds": 60 } }),
    );
    let load = server.folder_of(&started);
    let page = || server.ask("GET", "/metrics", None).text();
    let begun = std::time::Instant::now();
    while !page().contains("tare_live_latency") {
        assert!(begun.elapsed() < crate::rig::PATIENCE, "{}", page());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let file = place.path().join("metrics");
    fs::write(&file, page()).unwrap();
    server.ask("POST", &format!("/api/v1/loads/{load}/stop"), None);
    let mut command = Command::new(promtool.join("promtool"));
    command.args(["check", "metrics"]);
    passed(
        &command
            .stdin(fs::File::open(&file).unwrap())
            .output()
            .unwrap(),
    );
}
