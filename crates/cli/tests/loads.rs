//! `tare load` against `tare origin`, both as users start them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rig::{finish, load, metric, origin, stderr, stdout, tare, turn};
use serde_json::Value;
use tare_record::agent::LoadEnd;
use tare_record::event::{FailureReport, LoadEvent};
use tare_record::load::Stop;
use tare_record::load_report::{AssertionOutcome, LoadReport};
use tare_record::profile::Profile;
use tare_stats::{Latencies, hlog};

const LIMIT: Duration = Duration::from_secs(60);

/// Observations above `from_ms` and up to `to_ms`.
fn between(latencies: &Latencies, from_ms: u64, to_ms: u64) -> u64 {
    latencies
        .buckets()
        .filter(|(low_ns, _, _)| (from_ms..to_ms).contains(&(low_ns / 1_000_000)))
        .map(|(_, _, count)| count)
        .sum()
}

#[test]
fn a_stall_of_a_second_is_waited_for_by_a_thousand_and_served_slowly_once_per_connection() {
    let _turn = turn();
    // The load begins within six seconds and lasts beyond the seventh, also where the machine is slow.
    let (_origin, address) = origin(&["--stall", "1s@6s"]);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("latency.hlog");
    let url = format!("http://{address}/");
    let mut load = tare(&["load", &url, "--rate", "1000", "--duration", "9s"]);
    load.args([
        "--no-calibrate",
        "--connections",
        "10",
        "--json",
        "--hlog",
        log.to_str().unwrap(),
    ]);
    let output = finish(&mut load, LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        found["result"]["ok"], 9000,
        "every one is answered in the end"
    );

    let log = BufReader::new(File::open(log).unwrap());
    let tags = hlog::read_merged(log, Duration::ZERO..Duration::MAX).unwrap();
    let of = |end: &str| tags.iter().find(|(tag, _)| tag.ends_with(end)).unwrap().1;
    // Due during the stall: one each millisecond, waiting from a second down to nothing. What was left is worked off while more comes,
    // the slower the machine is the more; what waited less than a quarter may have waited for a neighbour. Response times, because
    // a worker that the machine holds up releases late, and latency leaves that out.
    let quarters: Vec<u64> = [(250, 500), (500, 750), (750, 60_000)]
        .map(|(from, to)| between(of(".response"), from, to))
        .into();
    for place in 0..quarters.len() {
        // As many as were due in it waited so long or longer; where the machine was slow, the longer ones are more.
        let longer: u64 = quarters[place..].iter().sum();
        let due = 250 * (quarters.len() - place) as u64;
        assert!(longer >= due - due / 25, "{quarters:?}");
    }
    let served_slowly = between(of(".service"), 250, 60_000);
    let waited: u64 = quarters.iter().sum();
    assert!(
        (1..=waited / 10).contains(&served_slowly),
        "{served_slowly} of {waited}"
    );
}

#[test]
fn merged_logs_have_every_answer_of_their_loads_and_its_latency() {
    let _turn = turn();
    let (_origin, address) = origin(&[]);
    let url = format!("http://{address}/?delay=20ms");
    let slow = format!("http://{address}/?delay=200ms");
    let folder = tempfile::tempdir().unwrap();
    let mut logs = Vec::new();
    // The last one has the slower tenth.
    for (number, url) in [&url, &url, &slow].into_iter().enumerate() {
        let count = if number == 2 { "60" } else { "270" };
        let words = ["load", url, "--count", count, "-c", "6", "--no-calibrate"];
        let output = finish(tare(&words).args(["--hlog", "-"]), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let path = folder.path().join(format!("{number}.hlog"));
        std::fs::write(&path, &output.stdout).unwrap();
        logs.push(path.to_str().unwrap().to_owned());
    }
    let all = folder.path().join("all.hlog");
    let merge = |words: &[&str]| {
        let output = finish(tare(&["merge", "--json"]).args(words), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        printed["latency_ns"].clone()
    };
    let mut words: Vec<&str> = logs.iter().map(String::as_str).collect();
    words.extend(["--hlog", all.to_str().unwrap()]);
    let all_tags = merge(&words);
    let merged = &all_tags["client.request.latency"];
    assert_eq!(merged["count"], 600);
    let is_within = |quantile: &str, from_ms: u64, to_ms: u64| {
        let ns = merged[quantile].as_u64().unwrap();
        assert!(
            (from_ms * 1_000_000..to_ms * 1_000_000).contains(&ns),
            "{merged}"
        );
    };
    // No mean of percentiles is there: half of the answers took 20 ms, the slowest tenth 200 ms.
    is_within("p50", 20, 199);
    is_within("p95", 200, 10_000);
    assert_eq!(merge(&[all.to_str().unwrap()]), all_tags);
    // One log after the other, as kubectl prints those of several pods.
    let texts = logs.iter().map(|log| std::fs::read(log).unwrap());
    let joined = folder.path().join("joined.hlog");
    std::fs::write(&joined, texts.collect::<Vec<_>>().concat()).unwrap();
    assert_eq!(merge(&[joined.to_str().unwrap()]), all_tags);
    // Other tools write intervals without a tag.
    let log = std::fs::read_to_string(&logs[0]).unwrap();
    let without = log.replace("Tag=client.request.latency,", "");
    let named = log.replace("client.request.latency,", "untagged,");
    std::fs::write(&joined, without + &named).unwrap();
    assert_eq!(merge(&[joined.to_str().unwrap()])["untagged"]["count"], 540);

    std::fs::write(&joined, "error: no connection\n").unwrap();
    let output = finish(&mut tare(&["merge", joined.to_str().unwrap()]), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("joined.hlog: histogram log, line 1"),
        "{}",
        stderr(&output)
    );
    let words = ["load", &url, "--count", "1", "--json", "--hlog", "-"];
    let output = finish(&mut tare(&words), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn public_addresses_are_refused_with_the_way_to_allow_them() {
    let output = finish(
        &mut tare(&["load", "http://192.0.2.1/", "--duration", "1s"]),
        LIMIT,
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--allow-public-target"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_rate_that_is_not_reached_is_said_and_fails_where_it_is_required() {
    let _turn = turn();
    // One connection and 20 ms an answer: fifty a second is all there is.
    let (_origin, address) = origin(&["--answer", "delay=20ms"]);
    let url = format!("http://{address}/");
    let run = |more: &[&str]| {
        let mut load = tare(&["load", &url, "--rate", "500", "--duration", "1s"]);
        load.args(["--connections", "1", "--timeout", "1s"])
            .args(more);
        finish(&mut load, LIMIT)
    };
    let lenient = run(&[]);
    assert_eq!(lenient.status.code(), Some(0), "{}", stderr(&lenient));
    assert!(
        stdout(&lenient).to_lowercase().contains("not reached"),
        "{}",
        stdout(&lenient)
    );
    assert_eq!(run(&["--require-rate"]).status.code(), Some(1));
}

/// Runs `tare load` with `--json` on this URL; the report, as its schema has it, and the output.
fn report(url: &str, more: &[&str]) -> (LoadReport, Output) {
    load(url, &[more, &["--no-calibrate"]].concat(), LIMIT)
}

#[test]
fn an_assertion_that_fails_is_said_listed_and_ends_with_1() {
    let _turn = turn();
    let (_origin, address) = origin(&["--answer", "p=0.5&status=503"]);
    let url = format!("http://{address}/");
    let load = ["--rate", "500", "--count", "200"];
    let asserts = [
        ("p50<10s", AssertionOutcome::Passed),
        ("p50<=1ns", AssertionOutcome::Failed),
        ("p99.99<10s", AssertionOutcome::Undecided),
        ("errors>0", AssertionOutcome::Passed),
    ];
    let words: Vec<&str> = asserts.iter().flat_map(|a| ["--assert", a.0]).collect();
    let (found, output) = report(
        &url,
        &[&load[..], &words, &["--max-error-rate", "1%"]].concat(),
    );
    assert_eq!(output.status.code(), Some(1));
    let verdicts: Vec<_> = found.assertions.iter().map(|a| a.verdict).collect();
    let mut expected: Vec<_> = asserts.iter().map(|a| a.1).collect();
    expected.push(AssertionOutcome::Failed);
    assert_eq!(verdicts, expected, "{:?}", found.assertions);
    let said = stderr(&output);
    for words in [
        "p50<=1ns failed",
        "p99.99<10s undecided",
        "error-rate<=1% failed",
    ] {
        assert!(said.contains(words), "{words:?} in {said}");
    }
    assert!(!said.contains("p50<10s"), "{said}");
    assert_eq!(found.plan.load.stop, Stop::Count { exchanges: 200 });
    assert_eq!(found.result.ok + found.result.errors, 200);

    let (_, output) = report(&url, &[&load[..], &["--assert", "p50<10s"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_calibrated_load_says_what_a_server_that_does_nothing_takes() {
    let _turn = turn();
    let (_origin, address) = origin(&["--answer", "delay=5ms"]);
    let cache = tempfile::tempdir().unwrap();
    let url = format!("http://{address}/");
    let run = || {
        let mut load = tare(&["load", &url, "--rate", "400", "--count", "100", "--json"]);
        let output = finish(load.env("TARE_CACHE", cache.path()), LIMIT);
        let found: LoadReport = serde_json::from_str(&stdout(&output)).unwrap();
        found.generator.calibration.unwrap()
    };
    let null = run();
    assert_eq!((null.offered_per_s, null.connections), (Some(400.0), 16));
    assert_eq!(null.latency.count, 180, "450 ms at 400/s");
    let is_kept = cache.path().join("null-server.json").exists();
    assert_eq!(run().kept, is_kept, "a quiet one is measured once a boot");
}

/// The type of a JSON value; `null` fits lists, as an empty one is `null` in Go.
fn fits(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) => ours
            .iter()
            .all(|one| theirs.first().is_none_or(|model| fits(one, model))),
        (Value::Null, Value::Array(_)) | (Value::Array(_), Value::Null) => true,
        (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => true,
        (Value::Object(ours), Value::Object(theirs)) => ours.iter().all(|(key, value)| {
            // The keys of these are data.
            let is_data = key.parse::<i32>().is_ok() || key.contains(':');
            is_data || theirs.get(key).is_some_and(|model| fits(value, model))
        }),
        _ => false,
    }
}

#[test]
fn a_result_for_fortio_has_the_shape_that_fortio_writes() {
    let _turn = turn();
    let (_origin, address) = origin(&["--answer", "p=0.3&status=503"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let url = format!("http://{address}/");
    let load = ["--rate", "1000", "-n", "1000", "--fortio"];
    let (found, _) = report(&url, &[&load[..], &[file.to_str().unwrap()]].concat());
    let ours: Value = serde_json::from_reader(File::open(file).unwrap()).unwrap();
    let golden = rig::root().join("crates/cli/tests/golden/fortio-1.68.0.json");
    let theirs: Value = serde_json::from_reader(File::open(golden).unwrap()).unwrap();
    for (key, value) in ours.as_object().unwrap() {
        assert!(
            fits(value, &theirs[key]),
            "{key}: {value} for {}",
            theirs[key]
        );
    }
    let duration = &ours["DurationHistogram"];
    assert_eq!(duration["Count"], 1000);
    let buckets = duration["Data"].as_array().unwrap();
    let counted: u64 = buckets.iter().map(|b| b["Count"].as_u64().unwrap()).sum();
    assert_eq!(counted, 1000);
    assert_eq!(buckets.last().unwrap()["Percent"], 100.0);
    assert_eq!(
        ours["ErrorsDurationHistogram"]["Count"],
        found.result.errors
    );
    assert_eq!(ours["RetCodes"]["200"], found.result.ok);
    assert_eq!(ours["RetCodes"]["503"], found.result.errors);
    assert_eq!(ours["URL"], url);
}

/// A signal for a load on an origin that answers late, as soon as requests have come in: as often as said, each time once the
/// last one was heard.
fn interrupted(signal: &str, times: usize, answer: &str) -> Output {
    let (_origin, address) = origin(&["--answer", answer]);
    let url = format!("http://{address}/");
    let mut load = tare(&["load", &url, "--rate", "50", "-d", "60s", "-t", "40s"]);
    load.args(["--json", "--no-calibrate"]);
    let child = load
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    rig::wait_for(LIMIT, "request", || {
        (metric(&address, "requests") > 0).then_some(())
    });
    for time in 0..times {
        rig::kill(pid, signal);
        // The signal is taken by a thread that waits for it: pending means not heard yet.
        rig::wait_for(LIMIT, "signal heard", || is_heard(pid).then_some(()));
        if time + 1 < times {
            // The load has ended, so nothing is sent any more.
            let sent = || metric(&address, "requests");
            let mut last = sent();
            rig::wait_for(LIMIT, "end of sending", || {
                let now = sent();
                let quiet = now == std::mem::replace(&mut last, now);
                std::thread::park_timeout(Duration::from_millis(100));
                quiet.then_some(())
            });
        }
    }
    child.wait_with_output().unwrap()
}

fn is_heard(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    pending.is_none_or(|mask| mask.trim().chars().all(|digit| digit == '0'))
}

#[test]
fn ctrl_c_ends_a_load_that_prints_its_result_and_a_second_one_waits_for_nothing() {
    let _turn = turn();
    let once = interrupted("INT", 1, "delay=2s");
    let found: LoadReport = serde_json::from_str(&stdout(&once)).unwrap();
    assert_eq!(found.result.ended, LoadEnd::Interrupted);
    assert_eq!(found.result.unfinished, 0, "it waited for the answers");
    assert!(found.result.ok > 0);
    assert_eq!(once.status.code(), Some(130));

    let twice = interrupted("INT", 2, "delay=20s");
    let found: LoadReport = serde_json::from_str(&stdout(&twice)).unwrap();
    assert_eq!(found.result.ok, 0, "nothing was waited for");
    assert!(found.result.unfinished > 0);
    assert_eq!(twice.status.code(), Some(130));

    let terminated = interrupted("TERM", 1, "delay=100ms");
    let found: LoadReport = serde_json::from_str(&stdout(&terminated)).unwrap();
    assert_eq!(found.result.ended, LoadEnd::Interrupted);
    assert_eq!(terminated.status.code(), Some(143));

    let hung_up = interrupted("HUP", 1, "delay=100ms");
    let found: LoadReport = serde_json::from_str(&stdout(&hung_up)).unwrap();
    assert_eq!(found.result.ended, LoadEnd::Interrupted);
    assert!(found.result.ok > 0);
    assert_eq!(hung_up.status.code(), Some(129));
}

/// The lines of `--json-lines`.
fn lines(output: &Output) -> Vec<LoadEvent> {
    let text = stdout(output);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn a_load_tells_its_samples_line_by_line_and_ends_with_its_result() {
    let _turn = turn();
    let (_origin, address) = origin(&[]);
    let url = format!("http://{address}/");
    let mut load = tare(&["load", &url, "--rate", "100", "--duration", "2s"]);
    load.args(["--json-lines", "--no-calibrate"]);
    let output = finish(&mut load, LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "progress is in the lines");
    let mut lines = lines(&output).into_iter();
    let ready = lines.next().unwrap();
    assert!(matches!(ready, LoadEvent::Ready { .. }), "{ready:?}");
    let mut samples = Vec::new();
    let result = loop {
        match lines.next().unwrap() {
            LoadEvent::Sample(sample) => samples.push(sample),
            other => break other,
        }
    };
    let LoadEvent::Result(report) = result else {
        panic!("{result:?}");
    };
    assert_eq!(lines.next(), None, "the result is the last line");
    assert!(!samples.is_empty());
    assert_eq!(report.samples, samples);
    assert_eq!(report.result.intended, 200);
}

#[test]
fn a_search_and_a_curve_tell_what_they_try_line_by_line() {
    let _turn = turn();
    let (_origin, address) = origin(&["--answer", "delay=20ms"]);
    let url = format!("http://{address}/");
    let run = |more: &[&str]| {
        let mut load = tare(&["load", &url, "--json-lines", "--probe", "1s"]);
        load.args(["--cooldown", "0s", "--timeout", "2s"]);
        lines(&finish(load.args(more), LIMIT))
    };
    let search = run(&["--search", "p50 < 10ms", "--search-time", "5s"]);
    let (last, tried) = search.split_last().unwrap();
    let LoadEvent::SearchResult(report) = last else {
        panic!("{last:?}");
    };
    let probes = tried.iter().map(|line| match line {
        LoadEvent::Probe(probe) => probe.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(probes.collect::<Vec<_>>(), report.probes);
    assert!(!report.probes.is_empty());

    let curve = run(&["--curve=1000,2000", "--repeats", "2"]);
    let (last, begun) = curve.split_last().unwrap();
    assert!(matches!(last, LoadEvent::CurveResult(_)), "{last:?}");
    let numbers: Vec<_> = begun
        .iter()
        .map(|line| match line {
            LoadEvent::Window {
                number, windows, ..
            } => (*number, *windows),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(numbers, [(1, 4), (2, 4), (3, 4), (4, 4)]);
}

#[test]
fn a_load_whose_lines_nobody_reads_ends() {
    let _turn = turn();
    let (_origin, address) = origin(&[]);
    let url = format!("http://{address}/");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut load = tare(&["load", &url, "--rate", "100", "--duration", "600s"]);
    load.args(["--json-lines", "--no-calibrate"]);
    let child = load.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{}", stderr(&output));
    assert!(!stderr(&output).contains("panicked"));
}

#[test]
fn a_load_without_an_answer_ends_with_4_and_says_why_as_json_too() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    // A connection that came in there holds the port: nobody else gets it, and nobody listens.
    let _caller = TcpStream::connect(address).unwrap();
    let _taken = closed.accept().unwrap();
    drop(closed);
    let url = format!("http://{address}/");
    for form in ["--json", "--json-lines"] {
        let mut load = tare(&["load", &url, "-n", "10", "--timeout", "2s", form]);
        load.arg("--no-calibrate");
        let output = finish(&mut load, LIMIT);
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        let failed: FailureReport = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(failed.error.exit_code, 4);
        let said = stderr(&output);
        assert!(said.contains(&failed.error.message), "{said}");
        assert!(failed.error.message.contains("no connection"), "{said}");
    }
}

#[test]
fn a_terminal_sees_the_load_as_it_goes_and_gets_its_lines_back() {
    let _turn = turn();
    let (_origin, address) = origin(&[]);
    let tare = env!("CARGO_BIN_EXE_tare");
    let on_terminal = |columns: u32| {
        let load = format!(
            "stty cols {columns} rows 24; {tare} load http://{address}/ --rate 200 -d 2s --no-calibrate >/dev/null"
        );
        let mut script = Command::new("script");
        script.args(["-qec", &load, "/dev/null"]);
        script
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS");
        script.stdin(Stdio::null());
        stdout(&finish(&mut script, LIMIT))
    };
    for columns in [100, 40] {
        let seen = on_terminal(columns);
        assert!(
            // Which second it shows last is up to the machine.
            seen.contains("of 200/s") && seen.contains(" left"),
            "{seen:?}"
        );
        assert!(!seen.contains("\x1b[1m"), "no colour was wanted: {seen:?}");
        assert!(
            seen.ends_with("\x1b[6A\r\x1b[J"),
            "all lines are taken away: {seen:?}"
        );
        let widest = seen
            .split(['\n', '\r'])
            .map(console::measure_text_width)
            .max();
        assert!(widest.unwrap() < columns as usize, "{seen:?}");
    }
}

#[test]
fn ten_thousand_connections_are_held_and_used_in_less_than_100_megabytes() {
    let _turn = turn();
    let (_origin, address) = origin(&[]);
    let url = format!("http://{address}/");
    let mut load = tare(&["load", &url, "--connections", "10000", "--count", "30000"]);
    let output = finish(load.args(["--json", "--timeout", "30s"]), LIMIT * 2);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let result = &found["result"];
    assert_eq!(result["ok"], 30_000);
    assert_eq!(
        (
            &result["connections"]["opened"],
            &result["connections"]["peak"]
        ),
        (&10_000.into(), &10_000.into()),
        "each is opened once, and all are open together"
    );
    let rss = result["generator"]["peak_rss_bytes"].as_u64().unwrap();
    assert!(rss < 100_000_000, "{rss} bytes");
}

#[test]
fn accepted_statuses_have_latencies_of_their_own_in_every_form_of_the_result() {
    let _turn = turn();
    let (_origin, address) = origin(&["--answer", "p=0.5&status=404&delay=1ms"]);
    let url = format!("http://{address}/");
    let load = ["--rate", "1000", "-n", "400", "--expect-status", "200,404"];
    let (found, _) = report(&url, &load);
    let statuses = &found.result.ok_by_status;
    assert_eq!(found.result.ok, 400, "{:?}", found.result.outcomes);
    let seen: Vec<_> = statuses.iter().map(|one| one.status).collect();
    assert_eq!(seen, [200, 404]);
    let [plain, lost] = [0, 1].map(|number| statuses[number].count);
    for quantity in ["latency", "service"] {
        let count = |tag: &str| found.latency_ns[&format!("all.{quantity}{tag}")].count;
        assert_eq!((count(".2xx"), count(".4xx")), (plain, lost));
        assert_eq!(count(""), 400);
    }
    assert_eq!(found.latency_ns["client.request.latency.4xx"].count, lost);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fortio.json");
    let mut command = tare(&["load", &url, "--no-calibrate", "--fortio"]);
    let text = stdout(&finish(command.arg(&file).args(load), LIMIT));
    let table: Vec<_> = text.split("by status").skip(1).collect();
    assert_eq!(table.len(), 1, "{text}");
    let rows: Vec<_> = table[0].lines().skip(1).take(3).collect();
    assert!(
        rows[0].starts_with("2xx ") && rows[1].starts_with("4xx "),
        "{text}"
    );
    assert!(
        rows[2].contains(" with 200, ") && rows[2].ends_with(" with 404"),
        "{text}"
    );
    let fortio: Value = serde_json::from_reader(File::open(file).unwrap()).unwrap();
    let codes = fortio["RetCodes"].as_object().unwrap();
    let sum: u64 = codes.values().map(|count| count.as_u64().unwrap()).sum();
    assert!(
        codes.contains_key("200") && codes.contains_key("404"),
        "{codes:?}"
    );
    assert_eq!((codes.len(), sum), (2, 400), "{codes:?}");
}

#[test]
fn credentials_are_sent_and_written_nowhere() {
    let _turn = turn();
    const PLANTED: &str = "planted-5d1f";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut chunk = [0; 4096];
        while !head.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut chunk).unwrap();
            head.extend_from_slice(&chunk[..read]);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        String::from_utf8(head).unwrap()
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("headers");
    std::fs::write(
        &file,
        format!("Authorization: Bearer {PLANTED}\n\nX-Plain: seen\n"),
    )
    .unwrap();
    let headers = format!("@{}", file.display());
    let mut load = tare(&[
        "load",
        &url,
        "-n",
        "1",
        "-C",
        "1",
        "--no-calibrate",
        "--json",
    ]);
    load.args(["-H", &headers]);
    let output = finish(&mut load, LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let head = server.join().unwrap();
    assert!(
        head.contains(PLANTED) && head.contains("X-Plain: seen"),
        "{head}"
    );
    let said = stdout(&output) + &stderr(&output);
    assert!(!said.contains(PLANTED), "{said}");
    assert!(
        said.contains("[redacted]") && said.contains("seen"),
        "{said}"
    );

    std::fs::write(&file, format!("Bearer {PLANTED}")).unwrap();
    let mut wrong = tare(&["load", &url, "-n", "1", "-H", &headers]);
    let output = finish(&mut wrong, LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("is not a header"),
        "{}",
        stderr(&output)
    );
    assert!(!stderr(&output).contains(PLANTED), "{}", stderr(&output));
}

#[test]
fn a_profiled_load_has_flame_graphs_or_says_why_not_and_is_not_judged() {
    let _turn = turn();
    let (origin, address) = origin(&[]);
    let url = format!("http://{address}/");
    let place = tempfile::tempdir().unwrap();
    let pid = format!("pid:{}", origin.0.id());
    let profiled = |more: &[&str]| {
        let mut command = tare(&["load", &url, "--clients", "2", "--no-calibrate"]);
        command.args(["--profile", "self", "--profile", &pid, "--out"]);
        finish(command.arg(place.path()).args(more), LIMIT)
    };
    for judged in [
        &["--assert", "p99<5s"][..],
        &["--max-error-rate", "1%"],
        &["--rate", "10", "--require-rate"],
    ] {
        let mut command = tare(&["load", &url, "--profile", "self", "--out"]);
        let output = finish(command.arg(place.path()).args(judged), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{judged:?}");
        assert!(stderr(&output).contains("judged by no assertion"));
    }
    for (wrong, said) in [
        ("server", "a load has no parts"),
        ("pid:4294967295", "no process"),
    ] {
        let output = profiled(&["--profile", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(
            stderr(&output).contains(said),
            "{wrong}: {}",
            stderr(&output)
        );
    }
    assert_eq!(
        place.path().read_dir().unwrap().count(),
        0,
        "nothing was sent"
    );
    let output = profiled(&["--duration", "2s", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: LoadReport = serde_json::from_str(&stdout(&output)).unwrap();
    let folder = place.path().read_dir().unwrap().next().unwrap().unwrap();
    let profiles = folder.path().join("profiles");
    if report.profiled.is_empty() {
        // perf is missing, or this user may not sample.
        assert_eq!(stderr(&output).matches("is not profiled").count(), 2);
        assert!(!profiles.exists());
        return;
    }
    let names = ["self".to_owned(), format!("pid-{}", origin.0.id())];
    assert_eq!(report.profiled, names);
    assert!(report.warnings.iter().any(|one| one.contains("not judged")));
    for name in names {
        let json = std::fs::read(profiles.join(format!("{name}.json"))).unwrap();
        let profile: Profile = serde_json::from_slice(&json).unwrap();
        assert!(profile.samples > 0, "{name}: two clients keep both busy");
        assert_eq!(profile.samples, profile.stacks.values().sum::<u64>());
        let svg = std::fs::read_to_string(profiles.join(format!("{name}.svg"))).unwrap();
        assert!(svg.contains(&format!("{name} in load at")), "{name}");
    }
}
