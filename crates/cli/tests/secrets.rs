//! Credentials of experiments and loads: neither written, nor printed, nor on a command line, and there again when a run is resumed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rig::{
    finish, kill, only_run, origin, processes, records, state, stderr, tare, turn, wait_for,
};
use tare_lab::certificates::Authority;
use tare_record::export::ExportFormat;
use tare_record::record::{RunProgress, TrialStatus};
use tare_record::secrets::REDACTED;
use tare_record::text::word_of;
use tare_test_cluster::Cluster;

const LIMIT: Duration = Duration::from_secs(240);

/// Values that occur nowhere else on this machine.
const PLANTED: [&str; 5] = [
    "planted-cdb1-bearer",
    "planted-cdb1-cookie",
    "planted-cdb1-api-key",
    "planted-cdb1-environment",
    "planted-cdb1-session",
];
/// The password of the user of the Kafka target.
const PASSWORD: &str = "tare-secret";

/// Variables of the user that have a secret.
const VARIABLES: [&str; 4] = [
    "API_TOKEN",
    "GH_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "KAFKA_PASSWORD",
];

/// A place for everything that is written, temporary folders too.
struct Place {
    folder: tempfile::TempDir,
    secrets: Vec<String>,
}

impl Place {
    fn new() -> Place {
        let place = Place {
            folder: tempfile::tempdir().unwrap(),
            secrets: PLANTED.map(String::from).to_vec(),
        };
        for name in ["tmp", "runs", "given"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the user.
    fn give(&self, name: &str, text: &str) -> String {
        let path = self.path("given").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn tare(&self, words: &[&str]) -> Command {
        let mut command = tare(words);
        command
            .current_dir(self.path("given"))
            .env("XDG_RUNTIME_DIR", self.path("tmp"))
            .env("TMPDIR", self.path("tmp"))
            .envs(VARIABLES.map(|name| (name, PLANTED[3])));
        command
    }

    fn has_secret(&self, bytes: &[u8]) -> Option<&str> {
        let text = String::from_utf8_lossy(bytes);
        let mut secrets = self.secrets.iter().map(String::as_str);
        secrets.find(|secret| text.contains(secret))
    }

    /// No command line has one, no environment but that of the command of the user, and what has one in the temporary folders is for the owner only.
    fn look_while_it_runs(&self) {
        for (pid, words) in processes() {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if self.has_secret(&environment).is_some() {
                let command = words.split_whitespace().nth(1).unwrap_or_default();
                let is_the_users =
                    ["plan", "run", "report", "export", "load", "kafka"].contains(&command);
                assert!(
                    words.contains("tare ") && is_the_users,
                    "{words} has a secret"
                );
            }
            // The password of the Kafka target is known to everybody, and other tests have it on command lines.
            let words = words.replace(PASSWORD, "");
            assert_eq!(self.has_secret(words.as_bytes()), None, "{words}");
        }
        for file in files_in(&self.path("tmp")) {
            if fs::read(&file).is_ok_and(|bytes| self.has_secret(&bytes).is_some()) {
                let within = file.strip_prefix(self.path("tmp")).unwrap();
                let first = self.path("tmp").join(within.components().next().unwrap());
                let Ok(found) = fs::metadata(first) else {
                    continue;
                };
                assert_eq!(found.permissions().mode() & 0o077, 0, "{}", file.display());
            }
        }
    }

    /// No output has one, and no file besides those that the user has written.
    fn look_after_it(&self, output: &Output) {
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            assert_eq!(self.has_secret(bytes), None, "{name}");
        }
        for file in files_in(&self.path("runs"))
            .into_iter()
            .chain(files_in(&self.path("tmp")))
        {
            let found = fs::read(&file).unwrap();
            assert_eq!(self.has_secret(&found), None, "{}", file.display());
        }
    }

    /// Runs to the end, looking all the time.
    fn run(&self, mut command: Command, until: impl Fn() -> bool) -> Output {
        let pipes = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let read = |mut pipe: Box<dyn std::io::Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).unwrap();
                bytes
            })
        };
        let stdout = read(Box::new(child.stdout.take().unwrap()));
        let stderr = read(Box::new(child.stderr.take().unwrap()));
        let mut stopped = false;
        let status = wait_for(LIMIT, "end", || {
            self.look_while_it_runs();
            if !stopped && until() {
                kill(child.id(), "INT");
                stopped = true;
            }
            child.try_wait().unwrap()
        });
        let output = Output {
            status,
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        };
        self.look_after_it(&output);
        output
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_in(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

/// The workload `echo` with credentials in its request.
fn workload(place: &Place) {
    let text = fs::read_to_string(rig::root().join("workloads/echo/workload.yaml")).unwrap();
    let headers = format!(
        "        headers: {{authorization: Bearer {}, cookie: sid={}, X-Api-Key: {}}}\n        expect:",
        PLANTED[0], PLANTED[1], PLANTED[2]
    );
    let text = text
        .replace("workload: echo", "workload: guarded")
        .replace("        expect:", &headers);
    place.give("workloads/guarded/workload.yaml", &text);
}

/// Every export, with the credentials of a collector.
fn exports(place: &Place, run: &str, fortio: &[&str]) {
    for format in ExportFormat::ALL {
        let name = word_of(&format);
        let more = match format {
            ExportFormat::Fortio => fortio,
            ExportFormat::StepSummary => &["--out", "../runs/summary.md"],
            // Nobody listens there.
            ExportFormat::Otlp => &["--endpoint", "http://127.0.0.1:1"],
            _ => &[],
        };
        let words = [&["export", run, "--as", &name][..], more].concat();
        let mut command = place.tare(&words);
        let headers = format!("authorization=Bearer%20{}", PLANTED[0]);
        command.env("OTEL_EXPORTER_OTLP_HEADERS", headers);
        let exported = finish(&mut command, LIMIT);
        let code = if format == ExportFormat::Otlp { 3 } else { 0 };
        assert_eq!(exported.status.code(), Some(code), "{}", stderr(&exported));
        place.look_after_it(&exported);
    }
}

/// A proxy that prints its environment, and how many secrets are in it as its version.
fn telling_proxy(place: &Place) -> String {
    let script = "#!/bin/sh\nenv\ncase $1 in -v) echo HAProxy version $(env | grep -c planted)-secrets; exit ;; esac\nexec haproxy \"$@\"\n";
    let path = place.give("haproxy", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn an_experiment_with_credentials_writes_none_of_them_and_is_resumed_with_them() {
    let _turn = turn();
    let place = Place::new();
    workload(&place);
    place.give(
        "small.yaml",
        "question: q\nworkload: {use: guarded}\narms:\n  - {name: direct}\n  \
         - {name: near, sidecars: {on: [client], proxy: haproxy}}\n\
         load: {model: constant, rate: 200, duration: 400ms, warmup: 100ms, connections: 4, timeout: 20s}\n\
         blocks: 4\nseed: 11\n",
    );
    let runs = place.path("runs");
    let common = ["--workloads", "workloads", "--out", runs.to_str().unwrap()];
    let proxy = telling_proxy(&place);
    let run = |first: &[&str]| {
        let mut command = place.tare(&[first, &common].concat());
        command.env("TARE_BINARY_HAPROXY", &proxy);
        command
    };

    let planned = finish(&mut run(&["plan", "small.yaml", "--json"]), LIMIT);
    assert!(planned.status.success(), "{}", stderr(&planned));
    place.look_after_it(&planned);

    let measured = || only_run(&runs).is_some_and(|run| !records(&run).is_empty());
    let output = place.run(run(&["run", "small.yaml", "--json-lines"]), measured);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let folder = only_run(&runs).unwrap();
    let plan = fs::read_to_string(folder.join("plan.json")).unwrap();
    assert!(plan.contains(REDACTED), "{plan}");

    // Without the experiment nothing tells the credentials.
    let id = folder.to_str().unwrap();
    let given = place.path("given");
    fs::rename(given.join("small.yaml"), given.join("away.yaml")).unwrap();
    let refused = place.run(run(&["run", "--resume", id]), || false);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("small.yaml") && said.contains("credentials"),
        "{said}"
    );
    fs::rename(given.join("away.yaml"), given.join("small.yaml")).unwrap();

    let output = place.run(run(&["run", "--resume", id]), || false);
    assert!(
        matches!(output.status.code(), Some(0 | 1 | 4)),
        "{}",
        stderr(&output)
    );
    assert_eq!(state(&folder).state, RunProgress::Complete);
    // What is measured has printed the environment that it was given, and its version command has counted.
    let environment = fs::read_to_string(folder.join("environment.json")).unwrap();
    assert!(environment.contains("\"0-secrets\""), "{environment}");
    let printed = files_in(&folder).into_iter().filter(|file| {
        fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("TARE_INSTANCE="))
    });
    assert!(printed.count() > 0, "the environment of an instance");
    for record in records(&folder) {
        let held = matches!(record.status, TrialStatus::Fit | TrialStatus::Unfit { .. });
        assert!(held || record.superseded, "{:?}", record.status);
    }
    let kept = files_in(&folder).into_iter();
    let plans = kept.filter(|file| file.to_string_lossy().ends_with(".plan.json"));
    assert!(plans.count() > 0, "the plans of the agents are kept");
    for format in ["--json", "--md", "--csv"] {
        let report = finish(&mut run(&["report", id, format]), LIMIT);
        place.look_after_it(&report);
    }
    exports(&place, id, &["--trial", "1"]);
}

#[test]
fn a_load_with_credentials_from_files_and_a_key_writes_none_of_them() {
    let _turn = turn();
    let mut place = Place::new();
    let keys = place.path("given/keys");
    fs::create_dir(&keys).unwrap();
    let authority = Authority::new("planted").unwrap();
    let at = ["127.0.0.1".parse().unwrap()];
    let identity = authority
        .issue("client", &["localhost"], &at, &keys)
        .unwrap();
    let file = |path: &dyn AsRef<Path>| path.as_ref().to_str().unwrap().to_owned();
    let (ca, cert, key) = (
        file(&identity.ca),
        file(&identity.certificate),
        file(&identity.key),
    );
    let pem = fs::read_to_string(&key).unwrap();
    place.secrets.push(pem.lines().nth(1).unwrap().to_owned());
    let (_origin, address) = origin(&["--tls", "--cert", &cert, "--key", &key, "--client-ca", &ca]);
    let headers = place.give(
        "headers",
        &format!(
            "authorization: Bearer {}\ncookie: sid={}\n",
            PLANTED[0], PLANTED[1]
        ),
    );
    let headers = format!("@{headers}");
    let url = format!("https://{address}/?size=10");
    let [hlog, csv, fortio] =
        ["hlog", "csv", "fortio"].map(|name| file(&place.path("runs").join(name)));
    let kept = file(&place.path("runs/kept"));
    let to = [
        "--cacert", &ca, "--cert", &cert, "--key", &key, "-H", &headers,
    ];
    let short = ["--rate", "200", "--duration", "300ms"];
    for more in [
        &["--json", "--out", &kept][..],
        &["--json-lines"],
        &["--hlog", &hlog, "--csv", &csv, "--fortio", &fortio],
    ] {
        let words = [&["load", &url][..], &to, &short, more].concat();
        let output = place.run(place.tare(&words), || false);
        assert!(output.status.success(), "{}", stderr(&output));
    }

    let loads = files_in(&place.path("runs/kept"));
    let load = loads.iter().find(|file| file.ends_with("load.json"));
    let folder = file(load.unwrap()).replace("/load.json", "");
    exports(&place, &folder, &[]);

    // What goes wrong is told without them, too.
    let broken = place.give("broken", &format!("authorization {}\n", PLANTED[0]));
    let control = place.give("control", &format!("authorization: {}\u{1}\n", PLANTED[0]));
    let session = place.give(
        "session.yaml",
        &format!(
            "session: planted\nsteps:\n  - {{name: one, path: /, headers: {{x-api-key: {}}}, expect: {{status: 404}}}}\n",
            PLANTED[4]
        ),
    );
    let (broken, control) = (format!("@{broken}"), format!("@{control}"));
    let with_user = format!("https://{}:{}@{address}/", PLANTED[1], PLANTED[2]);
    let _plain = origin(&[]);
    let plain = format!("http://{}/", _plain.1);
    for words in [
        &["load", &url, "-H", &broken][..],
        &["load", &url, "-H", &control],
        &[
            "load",
            &plain,
            "--session",
            &session,
            "--count",
            "3",
            "--json",
        ],
    ] {
        let output = place.run(place.tare(words), || false);
        assert!(!output.status.success(), "{words:?}");
    }
    // Whoever writes them into a URL shows them to all users; Tare does not repeat them at least.
    let output = finish(&mut place.tare(&["load", &with_user]), LIMIT);
    assert!(!output.status.success());
    place.look_after_it(&output);
}

#[test]
fn a_load_on_kafka_with_a_password_from_a_file_writes_it_nowhere() {
    let _turn = turn();
    let settings = [
        ("all_listeners".to_owned(), true.into()),
        ("log_dir".to_owned(), "memory".into()),
    ];
    let cluster = Cluster::start("kafka", 1, &settings.into()).unwrap();
    let mut place = Place::new();
    place.secrets.push(PASSWORD.to_owned());
    let password = place.give("password", &format!("{PASSWORD}\n"));
    let wrong = place.give("wrong", &format!("{}\n", PLANTED[0]));
    let bootstrap = cluster.at("plain")[0].to_string();
    let create = [
        "kafka",
        "topics",
        "create",
        "planted",
        "--bootstrap",
        &bootstrap,
    ];
    let created = finish(&mut place.tare(&create), LIMIT);
    assert!(created.status.success(), "{}", stderr(&created));
    let url = format!("kafka://{}/planted", cluster.at("sasl")[0]);
    for mechanism in ["plain", "scram-sha-512"] {
        for (file, is_right) in [(&password, true), (&wrong, false)] {
            let words = [
                "load",
                &url,
                "--rate",
                "50",
                "--duration",
                "300ms",
                "--json",
                "--sasl-mechanism",
                mechanism,
                "--sasl-user",
                "tare",
                "--sasl-password-file",
                file,
            ];
            let output = place.run(place.tare(&words), || false);
            assert_eq!(output.status.success(), is_right, "{}", stderr(&output));
        }
    }
}
