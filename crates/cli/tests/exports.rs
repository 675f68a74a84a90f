//! `tare export`: what it says where it cannot, its collector, runs that go on, and the commands of docs/EXPORT.md.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

#[path = "../../report/tests/fixture/mod.rs"]
#[allow(
    dead_code,
    reason = "each test binary uses its own part of the fixture"
)]
mod fixture;
mod rig;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fixture::SampleRun;
use rig::{Started, finish, only_run, origin, stderr, stdout, tare, turn, wait_for};
use serde_json::Value;
use tare_record::record::RunProgress;

const LIMIT: Duration = Duration::from_secs(120);

/// A directory of runs with a run of known truth.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place::of(&SampleRun::sidecar())
    }

    fn of(run: &SampleRun) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        run.write(&place.path("runs")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = tare(&[&["export"], words].concat());
        command
            .current_dir(self.0.path())
            .env_remove("GITHUB_STEP_SUMMARY")
            .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
            .env_remove("OTEL_EXPORTER_OTLP_HEADERS");
        command
    }

    fn export(&self, words: &[&str]) -> Output {
        finish(&mut self.command(words), LIMIT)
    }

    /// What it says, with this exit code.
    fn refused(&self, words: &[&str], code: i32) -> String {
        let output = self.export(words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert_eq!(stdout(&output), "", "{words:?}");
        said
    }
}

/// A request that a collector got: its head, and its body.
type Request = (String, Value);

/// Answers requests with these statuses in turn, the last one again and again, and keeps the requests.
struct Collector {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Collector {
    fn start(statuses: &'static [u16], body: &'static str) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (request, mut stream) = request(stream.unwrap());
                let served = {
                    // Kept before the answer, after which a test looks.
                    let mut kept = kept.lock().unwrap();
                    kept.push(request);
                    kept.len()
                };
                let status = statuses[served.min(statuses.len()) - 1];
                let length = body.len();
                let reply =
                    format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n\r\n{body}");
                stream.write_all(reply.as_bytes()).unwrap();
            }
        });
        Collector { url, requests }
    }

    fn taken(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn request(stream: TcpStream) -> (Request, TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body = serde_json::from_slice(&body).unwrap();
    ((head, body), reader.into_inner())
}

/// The names of the metrics of a request.
fn names(request: &Request) -> Vec<String> {
    let metrics = &request.1["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let metrics = metrics.as_array().unwrap().iter();
    metrics
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_does_not_go_together_is_said_and_nothing_is_written() {
    let place = Place::new();
    let said = place.refused(&["--as", "step-summary"], 2);
    assert!(said.contains("GITHUB_STEP_SUMMARY is not set"), "{said}");
    let said = place.refused(&["--as", "xunit"], 2);
    assert!(said.contains("junit"), "{said}");
    let said = place.refused(&["--as", "junit", "--endpoint", "http://127.0.0.1:1"], 2);
    assert!(said.contains("--endpoint is for otlp"), "{said}");
    let said = place.refused(&["--as", "junit", "--out", "/dev/null"], 2);
    assert!(said.contains("not a regular file"), "{said}");
    let said = place.refused(&["latest", "latest", "--as", "bmf"], 2);
    assert!(
        said.contains("bmf is of one run, and there are 2"),
        "{said}"
    );
    let said = place.refused(&["--as", "junit", "--follow", "--out", "x"], 2);
    assert!(said.contains("--follow is for openmetrics"), "{said}");
    let said = place.refused(&["--as", "bmf", "--trial", "1"], 2);
    assert!(said.contains("--trial is for fortio"), "{said}");
    let said = place.refused(&["none", "--as", "bmf"], 2);
    assert!(said.contains("no run none"), "{said}");
    let said = place.refused(&["--as", "bmf", "--out", "none/x.json"], 3);
    assert!(said.contains("none/x.json"), "{said}");
    let said = place.refused(&["--as", "step-summary", "--out", "none/x.md"], 3);
    assert!(said.contains("cannot add to none/x.md"), "{said}");
    let said = place.refused(
        &["--as", "otlp", "--endpoint", "http://u:planted@127.0.0.1:1"],
        2,
    );
    assert!(
        said.contains("password") && !said.contains("planted"),
        "{said}"
    );
    fs::write(place.path("text"), "{}").unwrap();
    let said = place.refused(&["text", "--as", "bmf"], 2);
    assert!(said.contains("it is no result of Tare"), "{said}");
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 2);
}

#[test]
fn a_summary_is_added_to_what_is_there() {
    let place = Place::new();
    fs::write(place.path("summary.md"), "before\n").unwrap();
    let mut command = place.command(&["--as", "step-summary"]);
    let output = finish(
        command.env("GITHUB_STEP_SUMMARY", place.path("summary.md")),
        LIMIT,
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(place.path("summary.md")).unwrap();
    assert!(text.starts_with("before\n## "), "{text}");
    let report = finish(tare(&["report", "--md"]).current_dir(place.0.path()), LIMIT);
    assert!(text.contains(&stdout(&report)), "{text}");
}

#[test]
fn a_part_of_a_run_is_exported_and_said_to_be_one() {
    for (progress, said) in [
        (RunProgress::Running, "was killed"),
        (RunProgress::Interrupted, "was interrupted"),
    ] {
        let run = SampleRun {
            blocks: 1,
            progress,
            ..SampleRun::sidecar()
        };
        let place = Place::of(&run);
        for format in [
            "openmetrics",
            "bmf",
            "junit",
            "otava",
            "otlp",
            "step-summary",
        ] {
            let out = format!("{format}.out");
            let output = place.export(&["--as", format, "--out", &out]);
            let note = stderr(&output);
            assert!(output.status.success(), "{note}");
            assert!(
                note.contains(said) && note.contains("1 of 5 blocks"),
                "{note}"
            );
            assert!(fs::metadata(place.path(&out)).unwrap().len() > 100);
        }
        // There is no verdict.
        let text = fs::read_to_string(place.path("openmetrics.out")).unwrap();
        assert!(text.contains("tare_result_latency_seconds{"), "{text}");
        assert!(!text.contains("outcome=\"differs\""), "{text}");
    }
}

#[test]
fn a_collector_is_asked_again_only_where_that_may_help() {
    let place = Place::new();
    let send = |url: &str| place.export(&["--as", "otlp", "--endpoint", url]);

    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let said = place.refused(&["--as", "otlp", "--endpoint", &url], 3);
    assert!(said.contains("(3 attempts)"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");

    let slow = Collector::start(&[503, 200], "{}");
    assert!(send(&slow.url).status.success());
    let taken = slow.taken();
    assert_eq!(taken.len(), 2);
    assert_eq!(taken[0].1, taken[1].1);
    assert!(
        taken[0].0.starts_with("POST /v1/metrics HTTP/1.1\r\n"),
        "{}",
        taken[0].0
    );

    let strict = Collector::start(&[400], "bad \u{1b}[2J data");
    let said = place.refused(&["--as", "otlp", "--endpoint", &strict.url], 3);
    assert!(
        said.contains("status 400: bad \\u{1b}[2J data (1 attempt)"),
        "{said}"
    );
    assert_eq!(strict.taken().len(), 1);

    let partial =
        "{\"partialSuccess\":{\"rejectedDataPoints\":\"7\",\"errorMessage\":\"too old\"}}";
    let partial = Collector::start(&[200], partial);
    let said = place.refused(&["--as", "otlp", "--endpoint", &partial.url], 3);
    assert!(said.contains("7 points were rejected: too old"), "{said}");
}

#[test]
fn the_variables_of_opentelemetry_name_the_collector_and_its_headers() {
    let place = Place::new();
    let collector = Collector::start(&[200], "");
    let mut command = place.command(&["--as", "otlp"]);
    let command = command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20planted-header",
        );
    let output = finish(command, LIMIT);
    assert!(output.status.success(), "{}", stderr(&output));
    let taken = collector.taken();
    assert!(
        taken[0]
            .0
            .contains("\r\nauthorization: Bearer planted-header\r\n")
    );
    assert!(!stderr(&output).contains("planted") && stdout(&output).is_empty());
    assert!(!taken[0].1.to_string().contains("planted"));
}

#[test]
fn a_collector_behind_tls_is_verified() {
    let place = Place::new();
    let ca = place.path("ca.pem");
    let (_origin, address) = origin(&["--tls", "--ca-out", ca.to_str().unwrap()]);
    let url = format!("https://{address}");
    let named = ["--as", "otlp", "--endpoint", &url, "--cacert", "ca.pem"];
    let output = place.export(&named);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = place.refused(&named[..4], 3);
    assert!(said.contains("certificate"), "{said}");
}

#[test]
fn a_load_is_exported_from_its_folder_and_from_its_report() {
    let _turn = turn();
    let place = Place::new();
    let (_origin, address) = origin(&[]);
    let url = format!("http://{address}/");
    let words = [
        "load",
        &url,
        "--count",
        "500",
        "--rate",
        "1000",
        "--labels",
        "echo \"ü\"",
        "--json",
        "--no-calibrate",
        "--assert",
        "p50<10s",
        "--out",
        "runs",
    ];
    let output = finish(tare(&words).current_dir(place.0.path()), LIMIT);
    assert!(output.status.success(), "{}", stderr(&output));
    fs::write(place.path("load.json"), stdout(&output)).unwrap();
    let mut folders = fs::read_dir(place.path("runs")).unwrap();
    let folder = folders.find_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.ends_with("-load").then_some(name)
    });
    for source in [folder.as_deref().unwrap(), "load.json"] {
        let of = |format: &str| {
            let output = place.export(&[source, "--as", format]);
            assert!(output.status.success(), "{}", stderr(&output));
            stdout(&output)
        };
        let page = of("openmetrics");
        assert!(page.contains("outcome=\"ok\"} 500\n"), "{page}");
        assert!(page.contains("arm=\"echo \\\"ü\\\"\""), "{page}");
        let junit = of("junit");
        assert!(junit.contains("tests=\"2\" failures=\"0\""), "{junit}");
        assert!(junit.contains("name=\"p50&lt;10s\""), "{junit}");
        let benchmarks: Value = serde_json::from_str(&of("bmf")).unwrap();
        let (name, measures) = benchmarks.as_object().unwrap().iter().next().unwrap();
        assert!(name.ends_with(": echo \"ü\" at 1000/s"), "{name}");
        assert!(measures["latency"]["value"].as_f64().unwrap() > 0.0);
        let summary = place.export(&[source, "--as", "step-summary", "--out", "summary.md"]);
        assert!(summary.status.success(), "{}", stderr(&summary));
        let summary = fs::read_to_string(place.path("summary.md")).unwrap();
        assert!(summary.contains("| median |"), "{summary}");
    }
    let fortio = place.export(&[folder.as_deref().unwrap(), "--as", "fortio"]);
    let fortio: Value = serde_json::from_slice(&fortio.stdout).unwrap();
    assert_eq!(fortio["DurationHistogram"]["Count"], 500);
    assert_eq!(fortio["RetCodes"]["200"], 500);
    let said = place.refused(&["load.json", "--as", "fortio"], 2);
    assert!(said.contains("tare load --out DIR"), "{said}");
}

/// A run that goes on is exported every second; a collector that is away does not end the export, nor the run.
#[test]
fn a_run_is_exported_while_it_goes_on_and_its_result_after_its_end() {
    let _turn = turn();
    let place = Place(tempfile::tempdir().unwrap());
    let near = "  - {name: near, sidecars: {on: [client], proxy: haproxy}}\n";
    let file = rig::small_experiment("2s", place.0.path(), near, 1);
    let words = ["run", file.to_str().unwrap(), "--out", "runs"];
    let mut run = tare(&words);
    let run = run.current_dir(place.0.path()).stderr(Stdio::null());
    let mut run = Started(run.stdout(Stdio::null()).spawn().unwrap());
    let folder = wait_for(LIMIT, "run", || {
        only_run(&place.path("runs")).filter(|run| run.join("progress.jsonl").is_file())
    });
    let id = folder.file_name().unwrap().to_str().unwrap();
    let collector = Collector::start(&[400, 200], "{}");
    let every = ["--follow", "--every", "1"];
    let follow = |words: &[&str]| {
        let mut command = place.command(&[&[id], &every[..], words].concat());
        let pipes = command.stdout(Stdio::null()).stderr(Stdio::piped());
        Started(pipes.spawn().unwrap())
    };
    let mut pushed = follow(&["--as", "otlp", "--endpoint", &collector.url]);
    let mut written = follow(&["--as", "openmetrics", "--out", "live.prom"]);
    let page = wait_for(LIMIT, "live metrics", || {
        let page = fs::read_to_string(place.path("live.prom")).ok()?;
        page.contains("tare_live_responses_per_second{")
            .then_some(page)
    });
    assert!(page.ends_with("# EOF\n") && page.contains(id), "{page}");
    assert!(page.contains(&format!(
        "tare_run_state{{run=\"{id}\",state=\"running\"}} 1"
    )));
    assert!(run.0.wait().unwrap().success());
    let mut said = String::new();
    for following in [&mut pushed, &mut written] {
        assert!(following.0.wait().unwrap().success());
        following
            .0
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
    }
    assert!(said.contains("status 400"), "{said}");
    let taken = collector.taken();
    let live = taken
        .iter()
        .filter(|one| names(one).contains(&"tare.live.responses".to_owned()));
    assert!(live.count() > 0);
    assert!(names(taken.last().unwrap()).contains(&"tare.result.latency".to_owned()));
    let page = fs::read_to_string(place.path("live.prom")).unwrap();
    assert!(page.contains("tare_result_latency_seconds{") && !page.contains("tare_live_"));
    assert!(page.contains(&format!(
        "tare_run_state{{run=\"{id}\",state=\"complete\"}} 1"
    )));
}

/// The commands of the page, as they stand there; the collector is another one.
#[test]
fn every_command_of_the_page_works() {
    let page = fs::read_to_string(rig::root().join("docs/EXPORT.md")).unwrap();
    let place = Place::new();
    let twin = place.path("runs/2026-11-22T09-12-44-sidecar");
    copy(&place.path("runs/2026-11-21T09-12-44-sidecar"), &twin);
    let collector = Collector::start(&[200], "{}");
    let mut tried = 0;
    for line in page.lines().filter(|line| line.starts_with("tare export ")) {
        let line = line.split(" #").next().unwrap();
        let line = line.replace("http://127.0.0.1:4318", &collector.url);
        let line = line.replacen("tare", env!("CARGO_BIN_EXE_tare"), 1);
        let mut shell = Command::new("sh");
        let shell = shell
            .args(["-c", &line])
            .current_dir(place.0.path())
            .env("TARE_HOME", rig::root())
            .env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
        let output = finish(shell, LIMIT);
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        tried += 1;
    }
    assert!(tried >= 9, "{tried}");
    assert!(!collector.taken().is_empty());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &place),
            false => {
                fs::copy(entry.path(), place).unwrap();
            }
        }
    }
}
