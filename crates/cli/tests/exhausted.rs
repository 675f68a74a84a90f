//! Disks that are full, closed or slow to keep what was written, and too few file descriptors: a message with the next step, and
//! what was measured is kept.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rig::{
    Started, finish, kill, only_run, origin, records, small_experiment, state, stderr, tare, turn,
};
use tare_record::record::RunProgress;

const NGINX: &str = "  - {name: nginx, sidecars: {on: [client], proxy: nginx}}\n";

/// Longest that a small run may take here before the test gives up.
const LIMIT: Duration = Duration::from_secs(120);

/// A shell script with the words of `tare` as `"$@"`, in a mount namespace of its own; `None` without root.
fn with_mounts(script: &str, words: &[&str]) -> Option<Command> {
    rustix::process::geteuid().is_root().then(|| {
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
        ]);
        with_words(command, words)
    })
}

/// A shell script with the words of `tare` as `"$@"`.
fn with_script(script: &str, words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]);
    with_words(command, words)
}

fn with_words(mut command: Command, words: &[&str]) -> Command {
    let inner = tare(words);
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A report of the run reads all of it; at most the trial that was under way has no record, and that is said unless the run
/// could not say that it ended.
fn assert_only_the_last_is_missing(run: &Path) {
    let read = tare_report::read(run).unwrap();
    let trials = fs::read_dir(run.join("trials"));
    let count = trials.map_or(0, Iterator::count);
    let missing = format!("trials/{count:04}/record.json: No such file");
    let is_about_last = |one: &String| one.starts_with(&missing);
    assert!(
        read.skipped.len() <= 1 && read.skipped.iter().all(is_about_last),
        "{:?}",
        read.skipped
    );
    let is_running = read
        .state
        .is_some_and(|state| state.state == RunProgress::Running);
    let untold = usize::from(is_running && read.trials.len() < count && read.skipped.is_empty());
    assert_eq!(read.trials.len() + read.skipped.len() + untold, count);
}

/// Neither a panic nor an end by a signal.
fn assert_told(output: &Output, what: &str) {
    let said = stderr(output);
    assert!(!said.contains("panicked"), "{what}: {said}");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 2..=4)), "{what}: {code:?} {said}");
    if code != Some(0) {
        let is_told = said.contains("error: ") || said.contains("nothing could be measured");
        assert!(is_told, "{what}: {said}");
    }
}

#[test]
fn a_disk_that_fills_up_in_a_run_is_named_and_the_run_goes_on_when_there_is_space() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = small_experiment("200ms", folder.path(), NGINX, 4);
    let (disk, kept) = (folder.path().join("disk"), folder.path().join("kept"));
    fs::create_dir(&disk).unwrap();
    // Full in an early and in a later trial.
    for free_kib in [150, 250] {
        let script = format!(
            "mount -t tmpfs -o size={free_kib}k none {disk} && \"$@\"; echo \"code $?\"; cp -r {disk} {kept}; \
             mount -o remount,size=64m {disk} && \"$1\" run --resume {disk}/*/; echo \"code $?\"; cp -r {disk} {kept}-after",
            disk = disk.display(),
            kept = kept.display(),
        );
        let words = [
            "run",
            text(&file),
            "--out",
            text(&disk),
            "--addressing",
            "loopback",
            "--no-aa",
        ];
        let Some(mut command) = with_mounts(&script, &words) else {
            eprintln!("skipped: without root nothing can be mounted here");
            return;
        };
        let output = finish(&mut command, LIMIT);
        let (said, codes) = (stderr(&output), rig::stdout(&output));
        let codes: Vec<&str> = codes
            .lines()
            .filter(|line| line.starts_with("code "))
            .collect();
        assert_eq!(codes[0], "code 3", "{free_kib} KiB: {said}");
        assert!(
            said.contains("No space left on device"),
            "{free_kib} KiB: {said}"
        );
        assert!(!said.contains("panicked"), "{free_kib} KiB: {said}");
        let before = only_run(&kept).unwrap();
        assert_only_the_last_is_missing(&before);
        assert!(
            matches!(codes[1], "code 0" | "code 1" | "code 4"),
            "{free_kib} KiB: {said}"
        );
        let after = only_run(&folder.path().join("kept-after")).unwrap();
        assert_eq!(state(&after).state, RunProgress::Complete, "{free_kib} KiB");
        let after = records(&after);
        for record in records(&before) {
            let now = after
                .iter()
                .find(|other| other.trial == record.trial)
                .unwrap();
            let measured = |record: &tare_record::record::TrialRecord| {
                (
                    record.arm.clone(),
                    record.load.clone(),
                    record.status.clone(),
                )
            };
            assert_eq!(measured(&record), measured(now), "{free_kib} KiB");
        }
        for path in [&kept, &folder.path().join("kept-after")] {
            fs::remove_dir_all(path).unwrap();
        }
    }
}

#[test]
fn a_folder_of_runs_that_cannot_be_written_is_named_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = small_experiment("200ms", folder.path(), NGINX, 1);
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = format!("mount -t tmpfs -o ro none {} && \"$@\"", disk.display());
    let words = [
        "run",
        text(&file),
        "--out",
        text(&disk),
        "--addressing",
        "loopback",
    ];
    let Some(mut command) = with_mounts(&script, &words) else {
        eprintln!("skipped: without root nothing can be mounted here");
        return;
    };
    let output = finish(&mut command, LIMIT);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let is_named = said.contains("Read-only file system") && said.contains(text(&disk));
    assert!(is_named, "{said}");
    assert!(!said.contains("block 1"), "{said}");
}

#[test]
fn too_few_file_descriptors_are_said_and_neither_panic_nor_hang() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = small_experiment("200ms", folder.path(), NGINX, 1);
    let (_server, address) = origin(&[]);
    let url = format!("http://{address}/");
    for limit in [5, 9, 15, 40, 70] {
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        let out = folder.path().join(format!("runs-{limit}"));
        let run = [
            "run",
            text(&file),
            "--out",
            text(&out),
            "--addressing",
            "loopback",
            "--no-aa",
        ];
        let load = [
            "load",
            &url,
            "--connections",
            "20",
            "--rate",
            "100",
            "--duration",
            "300ms",
        ];
        for words in [&run[..], &load[..]] {
            let what = format!("{} with {limit}", words[0]);
            let output = finish(&mut with_script(&script, words), LIMIT);
            assert_told(&output, &what);
            let said = stderr(&output);
            let is_out = said.contains("Too many open files") || said.contains("descriptor");
            if is_out {
                assert!(said.contains("ulimit"), "{what}: {said}");
            }
            assert!(is_out || output.status.code() == Some(0), "{what}: {said}");
            if let Some(run) = only_run(&out) {
                assert_only_the_last_is_missing(&run);
            }
        }
    }
}

/// A call that changes the disk, as strace shows it.
#[derive(Debug, PartialEq)]
enum Call {
    Synced(String),
    Renamed(String),
}

/// The calls of a trace with paths below this folder, in their order.
fn calls(trace: &str, below: &str) -> Vec<Call> {
    let mut found = Vec::new();
    for line in trace.lines().filter(|line| line.ends_with("= 0")) {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        if call.starts_with("fsync(") || call.starts_with("fdatasync(") {
            let path = line
                .split_once('<')
                .and_then(|(_, rest)| rest.split_once('>'));
            found.push(Call::Synced(path.unwrap().0.to_owned()));
        } else if call.starts_with("rename") {
            // Of the two names the second one is what remains.
            found.push(Call::Renamed(line.split('"').nth(3).unwrap().to_owned()));
        }
    }
    found.retain(|call| match call {
        Call::Synced(path) | Call::Renamed(path) => path.starts_with(below),
    });
    found
}

#[test]
fn a_record_reaches_the_disk_before_its_name_and_its_name_before_the_next_trial() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = small_experiment("200ms", folder.path(), NGINX, 1);
    let (out, trace) = (folder.path().join("runs"), folder.path().join("trace"));
    let script = format!(
        "exec strace -y -e signal=none -e trace=fsync,fdatasync,rename,renameat,renameat2 -o {} \"$@\"",
        text(&trace)
    );
    let words = [
        "run",
        text(&file),
        "--out",
        text(&out),
        "--addressing",
        "loopback",
        "--no-aa",
    ];
    let output = finish(&mut with_script(&script, &words), LIMIT);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    let run = only_run(&out).unwrap();
    let calls = calls(&fs::read_to_string(trace).unwrap(), text(&run));
    let trials = records(&run);
    assert!(trials.len() >= 2);
    let mut with_data = 0;
    for record in &trials {
        let trial = format!("{}/trials/{:04}", run.display(), record.trial);
        let file = format!("{trial}/record.json");
        let named = calls
            .iter()
            .position(|call| *call == Call::Renamed(file.clone()));
        let named = named.unwrap_or_else(|| panic!("{file} was not renamed: {calls:?}"));
        let partial = Call::Synced(format!("{file}.partial"));
        assert_eq!(calls[named - 1], partial, "the data before the name");
        assert_eq!(
            calls[named + 1],
            Call::Synced(trial.clone()),
            "the name before anything else"
        );
        // The folder of the trial has its own name since before, and so have the data that belong to the record.
        let folder = Call::Synced(format!("{}/trials", run.display()));
        assert!(calls[..named].contains(&folder));
        for data in
            ["latency.hlog", "lateness.hlog", "SHA256SUMS"].map(|name| format!("{trial}/{name}"))
        {
            // A trial that failed has none.
            if Path::new(&data).exists() {
                with_data += 1;
                assert!(calls[..named].contains(&Call::Renamed(data)), "{calls:?}");
            }
        }
    }
    assert!(with_data >= 2, "{trials:?}");
    let in_order = |call: &Call| match call {
        Call::Renamed(path) if path.ends_with("record.json") => Some(path.clone()),
        _ => None,
    };
    let named: Vec<String> = calls.iter().filter_map(in_order).collect();
    assert_eq!(named.len(), trials.len());
    assert!(named.is_sorted(), "{named:?}");
}

#[test]
fn an_origin_without_descriptors_serves_those_it_has_and_later_the_others_and_says_so() {
    let words = ["origin", "--listen", "127.0.0.1:0", "--workers", "1"];
    let mut command = with_script("ulimit -n 20; exec \"$@\"", &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Started(child.spawn().unwrap());
    let mut line = String::new();
    let mut printed = BufReader::new(server.0.stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    let address = line.trim().rsplit_once("://").unwrap().1.to_owned();
    // More than it may have open at once: the kernel queues the rest.
    let mut streams: Vec<TcpStream> = (0..30)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    ask(&mut streams[0]);
    let mut last = streams.pop().unwrap();
    drop(streams);
    ask(&mut last);
    kill(server.0.id(), "TERM");
    assert!(server.0.wait().unwrap().success());
    let mut said = String::new();
    let mut told = server.0.stderr.take().unwrap();
    told.read_to_string(&mut said).unwrap();
    assert!(
        said.contains("no file descriptor was left") && said.contains("ulimit -n"),
        "{said}"
    );
}

/// A request, and its answer.
fn ask(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
        .unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
}
