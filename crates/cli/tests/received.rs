//! What others sent, through the real binary: run folders with traps in them, and servers whose words are meant for a terminal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

#[allow(dead_code, reason = "the report's tests use more of the builder")]
#[path = "../../report/tests/fixture/mod.rs"]
mod fixture;
mod rig;

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fixture::{SampleRun, write_json};
use rig::{finish, stderr, stdout, tare};
use serde_json::{Value, json};
use tare_record::FORMAT_VERSION;
use tare_record::escape::is_terminal_control;
use tare_record::record::{ReadBackRecord, TrialRecord};
use tare_stats::hlog::Writer;
use tare_stats::{Latencies, Range};

/// Longest that a command may take with a trap before it.
const LIMIT: Duration = Duration::from_secs(120);

/// Most memory that it may ask for, in KiB.
const MEMORY_KIB: &str = "4000000";

/// `tare` that may not ask for more memory than that.
fn bounded(args: &[&str]) -> Output {
    let inner = tare(args);
    let mut outer = Command::new("sh");
    outer
        .args(["-c", "ulimit -v \"$0\" && exec \"$@\"", MEMORY_KIB])
        .arg(inner.get_program())
        .args(inner.get_args())
        .envs(
            inner
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .stdin(std::process::Stdio::null());
    finish(&mut outer, LIMIT)
}

/// A run of the baseline alone.
fn run(place: &Path) -> PathBuf {
    let mut run = SampleRun {
        blocks: 1,
        blocks_planned: 1,
        window_s: 2,
        rates_per_s: vec![400],
        published: Vec::new(),
        ..SampleRun::sidecar()
    };
    run.arms.truncate(1);
    run.write(place).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn endless(path: &Path) {
    let _ = fs::remove_file(path);
    symlink("/dev/zero", path).unwrap();
}

fn of(count: u64) -> Latencies {
    let mut latencies = Latencies::new(Range::default()).unwrap();
    latencies.record_many(1_000_000, count);
    latencies
}

fn log(tag: &str, count: u64) -> String {
    let mut writer = Writer::begin(Vec::new(), Duration::ZERO, &[]).unwrap();
    let second = Duration::from_secs(1);
    writer
        .interval(tag, Duration::ZERO, second, &of(count))
        .unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

/// The last line of a log again and again, each time with another beginning.
fn repeated(log: &str, times: usize, beginning: impl Fn(usize) -> String) -> String {
    let (_, line) = log.trim_end().rsplit_once('\n').unwrap();
    let histogram = line.rsplit_once(',').unwrap().1;
    (0..times).fold(log.to_owned(), |mut all, place| {
        let _ = writeln!(all, "{},1.000,1.0,{histogram}", beginning(place));
        all
    })
}

/// Some kilobytes that unfold to many.
fn bomb() -> String {
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend(0_u32.to_be_bytes());
    let mut encoder = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::best());
    // The head of a histogram of three digits up to an hour, and zeros behind it.
    let mut head = 0x1c84_9313_u32.to_be_bytes().to_vec();
    head.extend([0_u32, 0, 3].map(u32::to_be_bytes).concat());
    head.extend([1_u64, 3_600_000_000_000].map(u64::to_be_bytes).concat());
    head.extend(1_f64.to_be_bytes());
    encoder.write_all(&head).unwrap();
    encoder.write_all(&vec![0; 16 << 20]).unwrap();
    encoder.finish().unwrap();
    let line = format!(
        "Tag=client.echo.latency,0.000,1.000,1.0,{}\n",
        STANDARD.encode(bytes)
    );
    line.repeat(5000)
}

/// A file of so many bytes that takes no room.
fn sparse(path: &Path, bytes: u64) {
    let file = fs::File::create(path).unwrap();
    file.set_len(bytes).unwrap();
}

/// Has something read back in the first trial: the samples are read of such trials only.
fn read_back(run: &Path) {
    let path = run.join("trials/0001/record.json");
    let mut record: TrialRecord = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record.read_back = Some(ReadBackRecord {
        topic: "orders".to_owned(),
        acknowledged: 1,
        read: 1,
        lost: 0,
        duplicated: 0,
        unacknowledged: 0,
        reordered: 0,
        unexpected: 0,
        violations: Vec::new(),
    });
    write_json(&path, &record).unwrap();
}

/// A name, what is done to a folder, and why the report says that it left a file out; empty where it can read it.
type Trap = (&'static str, fn(&Path), &'static str);

/// In what says how the run went: it is read to go on with the run, too.
const RECORDS: [Trap; 5] = [
    (
        "a pipe for the environment",
        |run| pipe(&run.join("environment.json")),
        "environment.json is a pipe",
    ),
    (
        "a pipe for a record",
        |run| pipe(&run.join("trials/0001/record.json")),
        "record.json is a pipe",
    ),
    (
        "an endless state",
        |run| endless(&run.join("run.json")),
        "run.json is a link",
    ),
    (
        "deep JSON",
        |run| {
            fs::write(run.join("run.json"), "[".repeat(1 << 20)).unwrap();
            let deep = format!(
                "{{\"version\":{FORMAT_VERSION},\"facts\":{}",
                "{\"a\":".repeat(1 << 20)
            );
            fs::write(run.join("environment.json"), deep).unwrap();
        },
        "environment.json: EOF while parsing",
    ),
    (
        "a file of a terabyte",
        |run| sparse(&run.join("environment.json"), 1 << 40),
        "environment.json has 1099511627776 bytes",
    ),
];

/// In what was measured.
const LOGS: [Trap; 10] = [
    (
        "a trial of an arm that is not there",
        |run| {
            let path = run.join("trials/0001/record.json");
            let record = fs::read_to_string(&path).unwrap();
            fs::write(&path, record.replace("\"direct\"", "\"another\"")).unwrap();
        },
        "trials/0001/record.json: its arm or its level is not in the plan",
    ),
    (
        "a pipe for a log",
        |run| pipe(&run.join("trials/0001/latency.hlog")),
        "latency.hlog is a pipe",
    ),
    (
        "an endless log",
        |run| endless(&run.join("trials/0002/lateness.hlog")),
        "lateness.hlog is a link",
    ),
    (
        "a log of a gibibyte",
        |run| sparse(&run.join("trials/0001/latency.hlog"), (1 << 30) + 1),
        "latency.hlog has 1073741825 bytes",
    ),
    (
        "a pipe for samples",
        |run| {
            read_back(run);
            pipe(&run.join("trials/0001/samples.csv"));
        },
        "samples.csv is a pipe",
    ),
    (
        "endless samples",
        |run| {
            read_back(run);
            endless(&run.join("trials/0001/samples.csv"));
        },
        "samples.csv is a link",
    ),
    (
        "a huge count",
        |run| {
            let log = log("client.echo.latency.timeout", 1 << 52);
            fs::write(run.join("trials/0001/latency.hlog"), log).unwrap();
        },
        "",
    ),
    (
        "5,000 intervals",
        |run| {
            let log = log("client.echo.latency", 3);
            let all = repeated(&log, 5_000, |place| {
                format!("Tag=client.echo.latency,{place}.000")
            });
            fs::write(run.join("trials/0001/latency.hlog"), all).unwrap();
        },
        "",
    ),
    (
        "5,000 requests",
        |run| {
            let log = log("client.echo.latency", 3);
            let all = repeated(&log, 5_000, |place| {
                format!("Tag=client.r{place}.latency,1.000")
            });
            fs::write(run.join("trials/0001/latency.hlog"), all).unwrap();
        },
        "more than 1000 names of requests",
    ),
    (
        "what unfolds",
        |run| fs::write(run.join("trials/0001/latency.hlog"), bomb()).unwrap(),
        "it is longer than its range needs",
    ),
];

#[test]
fn a_received_folder_with_a_trap_in_it_ends_every_command_in_bounded_time_and_memory() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("good")).unwrap();
    let good = run(&place.path().join("good"));
    for (number, (name, trap, reason)) in RECORDS.iter().chain(&LOGS).enumerate() {
        let out = place.path().join(number.to_string());
        fs::create_dir(&out).unwrap();
        let folder = run(&out);
        trap(&folder);
        let check = |args: &[&str], codes: &[i32]| {
            let output = bounded(args);
            let (said, code) = (stderr(&output), output.status.code());
            let is_expected = code.is_some_and(|code| codes.contains(&code));
            assert!(is_expected, "{name}: {args:?}: {said}");
            assert!(!said.contains("panicked"), "{name}: {said}");
            stdout(&output)
        };
        check(&["report", text(&folder)], &[0]);
        check(&["compare", text(&good), text(&folder), "--force"], &[0]);
        check(&["report", "latest", "--csv", "--out", text(&out)], &[0]);
        let json = check(&["report", text(&folder), "--json"], &[0]);
        assert!(json.contains(*reason), "{name}: {reason:?} is not said");
        if number < RECORDS.len() {
            // What it is judged by is not all there, or not this machine's.
            let resume = ["run", "--resume", text(&folder), "--out", text(&out)];
            check(&resume, &[2, 3]);
        }
    }
}

#[test]
fn a_link_in_a_received_folder_is_never_written_through() {
    let place = tempfile::tempdir().unwrap();
    let victim = place.path().join("victim");
    for name in [
        "report.html",
        "report.html.partial",
        "lock",
        "run.json.partial",
        "trials/0001/logs/server.log",
    ] {
        let out = place.path().join(name);
        fs::create_dir_all(&out).unwrap();
        let folder = run(&out);
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, folder.join(name)).unwrap();
        let resumed = bounded(&["run", "--resume", text(&folder), "--out", text(&out)]);
        assert_eq!(fs::read(&victim).unwrap(), b"precious", "{name}, resumed");
        let said = stderr(&resumed);
        assert!(said.contains(&format!("{name} is a link")), "{said}");
        let shown = bounded(&["report", text(&folder), "--html"]);
        assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
        assert_eq!(fs::read(&victim).unwrap(), b"precious", "{name}, reported");
        assert!(
            fs::symlink_metadata(folder.join("report.html"))
                .unwrap()
                .is_file()
        );
    }
    let folder = run(&place.path().join("lock"));
    let named = bounded(&[
        "report",
        text(&folder),
        "--html",
        text(&folder.join("lock")),
    ]);
    assert_eq!(named.status.code(), Some(2), "{}", stderr(&named));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_received_run_is_not_resumed_and_nothing_that_its_plan_names_is_read_or_called() {
    let place = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let secret = place.path().join("secret");
    fs::write(&secret, "precious\n").unwrap();
    let mac = "0".repeat(64);
    let seals = [
        None,
        Some(json!({"version": FORMAT_VERSION, "origin": "begun", "hmac_sha256": mac})),
        Some(json!({"version": FORMAT_VERSION, "origin": "begun"})),
        Some(json!({"version": FORMAT_VERSION, "origin": "imported"})),
    ];
    let sources = [
        json!({"prometheus": [at], "user": "u", "password_env": "PLANTED_SECRET"}),
        json!({"prometheus": [at], "user": "u", "password_file": secret}),
    ];
    for (number, seal) in seals.iter().enumerate() {
        let out = place.path().join(number.to_string());
        fs::create_dir(&out).unwrap();
        let folder = run(&out);
        let path = folder.join("plan.json");
        let mut plan: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let external = |(number, source): (usize, &Value)| {
            json!({"name": format!("kafka-{number}"), "part": "kafka", "protocol": "kafka", "at": at, "host": "kafka",
                   "metrics": {"target": "kafka", "source": source}})
        };
        let external: Vec<Value> = sources.iter().enumerate().map(external).collect();
        plan["arms"][0]["topology"]["external"] = external.into();
        write_json(&path, &plan).unwrap();
        if let Some(seal) = seal {
            write_json(&folder.join("seal.json"), seal).unwrap();
        }
        let words = ["run", "--resume", text(&folder), "--out", text(&out)];
        let output = finish(tare(&words).env("PLANTED_SECRET", "planted"), LIMIT);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot be resumed"), "{said}");
        assert!(said.contains("`tare run EXPERIMENT`"), "{said}");
        assert!(
            !said.contains("planted") && !said.contains("precious"),
            "{said}"
        );
        let called = listener.accept();
        assert!(called.is_err(), "{seal:?}: it was called: {called:?}");
        // It is shown all the same.
        let shown = bounded(&["report", text(&folder)]);
        assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    }
}

/// Nothing but text and line breaks.
fn is_text(text: &str) -> bool {
    !text.contains(|c| is_terminal_control(c) && c != '\n' && c != '\t')
}

#[test]
fn an_error_about_a_received_folder_does_not_steer_the_terminal() {
    let place = tempfile::tempdir().unwrap();
    let folder = run(place.path());
    fs::write(
        folder.join("plan.json"),
        format!("{{\"version\":{FORMAT_VERSION},\"\\u001b]0;owned\\u0007\\u009b2J\":1}}"),
    )
    .unwrap();
    let output = bounded(&["report", text(&folder)]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains(r"\u{1b}]0;owned") && is_text(&said),
        "{said:?}"
    );
}

/// One MongoDB answer to whatever is asked: an error in these words.
fn refusal(words: &str) -> Vec<u8> {
    let mut document = vec![0x01];
    document.extend(b"ok\0");
    document.extend(0_f64.to_le_bytes());
    document.extend(b"\x02errmsg\0");
    document.extend((words.len() as u32 + 1).to_le_bytes());
    document.extend(words.as_bytes());
    document.extend(b"\0\x10code\0");
    document.extend(1_u32.to_le_bytes());
    document.push(0);
    let mut body = vec![0, 0, 0, 0, 0];
    body.extend((document.len() as u32 + 4).to_le_bytes());
    body.extend(document);
    body
}

#[test]
fn the_words_of_a_server_do_not_steer_the_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut head = [0; 16];
                while stream.read_exact(&mut head).is_ok() {
                    let length = u32::from_le_bytes(head[..4].try_into().unwrap());
                    let mut rest = vec![0; length as usize - 16];
                    stream.read_exact(&mut rest).unwrap();
                    let body = refusal("no \u{1b}]0;owned\u{7}\u{9b}2J\r\nerror: forged");
                    let mut answer = (body.len() as u32 + 16).to_le_bytes().to_vec();
                    answer.extend(1_u32.to_le_bytes());
                    answer.extend(&head[4..8]);
                    answer.extend(2013_u32.to_le_bytes());
                    answer.extend(body);
                    stream.write_all(&answer).unwrap();
                }
            });
        }
    });
    let url = format!("mongodb://{address}/shop.cart");
    for more in [&[][..], &["--json"]] {
        let mut command = tare(&["load", &url, "--no-calibrate", "--count", "20"]);
        let output = finish(command.args(more), LIMIT);
        let all = stdout(&output) + &stderr(&output);
        assert!(all.contains("]0;owned"), "the words are not shown: {all:?}");
        assert!(is_text(&all), "{all:?}");
    }
}
