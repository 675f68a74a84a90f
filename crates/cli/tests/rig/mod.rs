//! Runs the real binary: starts it, reads what it says, finds what it leaves behind.
#![allow(dead_code, reason = "each test binary uses its own part of the rig")]

pub mod calls;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tare_record::record::{RunState, TrialRecord};

/// Tests that measure take turns: two loads on two cores would disturb each other.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Top of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The binary with the checkout as its home.
pub fn tare(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command
        .args(args)
        .env("TARE_HOME", root())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// The binary without a network: not even the loopback interface is up.
pub fn tare_without_network(args: &[&str]) -> Command {
    let inner = tare(args);
    let mut command = Command::new("unshare");
    command
        .arg("--net")
        .arg(inner.get_program())
        .args(inner.get_args());
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stdin(Stdio::null());
    command
}

/// A process that dies with the test.
pub struct Holder(pub Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs to the end, at most this long.
pub fn finish(command: &mut Command, limit: Duration) -> Output {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let (done, ended) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let output = child.wait_with_output().unwrap();
        let _ = done.send(());
        output
    });
    if ended.recv_timeout(limit).is_err() {
        kill(pid, "KILL");
        let output = reader.join().unwrap();
        panic!(
            "not done after {limit:?}; stderr so far:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    reader.join().unwrap()
}

/// Runs `tare load` with `--json` on this URL; its report, and the output.
pub fn load<T: DeserializeOwned>(url: &str, more: &[&str], limit: Duration) -> (T, Output) {
    let mut load = tare(&["load", url, "--json"]);
    let output = finish(load.args(more), limit);
    let report = serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(&output), stderr(&output)));
    (report, output)
}

/// Of an experiment whose test does not ask how well a trial was measured: limits that other programs on the machine do not pass.
pub const FIT_BESIDE_OTHERS: &str =
    "fitness: {bunched_share: 100%, released_share: 0%, worker_busy: 100%}\n";

/// An experiment file on the workload `echo` with these arms beside the bare one, windows of this length and so many blocks.
pub fn small_experiment(window: &str, folder: &Path, arms: &str, blocks: u32) -> PathBuf {
    let path = folder.join("small.yaml");
    let text = format!(
        "question: What does it cost, in short?\n\
         workload: {{use: echo}}\n\
         arms:\n  - {{name: direct}}\n{arms}\
         load: {{model: constant, rate: 200, duration: {window}, warmup: 100ms, connections: 4, timeout: 20s}}\n\
         {FIT_BESIDE_OTHERS}\
         blocks: {blocks}\n\
         seed: 11\n"
    );
    fs::write(&path, text).unwrap();
    path
}

/// Runs an experiment to its end, and returns its trials.
pub fn run_experiment(
    folder: &Path,
    text: &str,
    more: &[&str],
    limit: Duration,
) -> Vec<TrialRecord> {
    let mut command = tare(&["run"]);
    command.args(more);
    run_experiment_by(command, folder, text, limit)
}

/// The same by a command to which the file and the folder of the run are added.
pub fn run_experiment_by(
    mut command: Command,
    folder: &Path,
    text: &str,
    limit: Duration,
) -> Vec<TrialRecord> {
    let file = folder.join("experiment.yaml");
    fs::write(&file, text).unwrap();
    let out = folder.join("runs");
    command.arg(&file).arg("--out").arg(&out);
    let output = finish(&mut command, limit);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");
    records(&only_run(&out).unwrap())
}

/// The first trial of an arm.
pub fn of_arm<'a>(records: &'a [TrialRecord], arm: &str) -> &'a TrialRecord {
    let found = records.iter().find(|record| record.arm == arm);
    found.unwrap_or_else(|| panic!("no trial of {arm}"))
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends a signal by name to one process.
pub fn kill(pid: u32, signal: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &pid.to_string()])
        .stderr(Stdio::null())
        .status();
    assert!(sent.is_ok());
}

/// Looks again and again, for at most `limit`, until there is something.
pub fn wait_for<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < limit, "no {what} within {limit:?}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Every process with its words, zombies left out.
pub fn processes() -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let Some(pid) = process.file_name().to_string_lossy().parse::<u32>().ok() else {
            continue;
        };
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if !stat.is_empty() && !stat.contains(") Z ") {
            found.push((pid, String::from_utf8_lossy(&words).replace('\0', " ")));
        }
    }
    found
}

/// The keeper of a running tare: its child of that name.
pub fn keeper_of(tare: u32) -> Option<u32> {
    let is_child = |pid: u32| {
        fs::read_to_string(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| {
                let after = stat.rsplit_once(") ")?.1.to_owned();
                after.split(' ').nth(1)?.parse::<u32>().ok()
            })
            == Some(tare)
    };
    processes()
        .into_iter()
        .find(|(pid, words)| words.contains(" keeper") && is_child(*pid))
        .map(|(pid, _)| pid)
}

/// A keeper and everything it keeps: all carry the name of its folder in their environment.
pub fn kept_by(keeper: u32) -> Vec<(u32, String)> {
    let mark = format!("TARE_KEEPER=tare-{keeper}-");
    processes()
        .into_iter()
        .filter(|(pid, words)| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            (*pid == keeper && words.contains(" keeper"))
                // The one in namespaces, whose folder has its guardian's name.
                || words.contains(&format!("--inside {}/tare-{keeper}-", base().display()))
                || environ
                    .split(|byte| *byte == 0)
                    .any(|entry| entry.starts_with(mark.as_bytes()))
        })
        .collect()
}

/// Where keepers make their private folders.
fn base() -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(|| "/tmp".into(), PathBuf::from)
}

/// Private folders that a keeper has left.
pub fn keeper_folders(keeper: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(base()).unwrap().filter_map(Result::ok);
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with(&format!("tare-{keeper}-"))
        })
        .collect()
}

/// The records of a run folder.
pub fn records(run: &Path) -> Vec<TrialRecord> {
    let mut records: Vec<TrialRecord> = fs::read_dir(run.join("trials"))
        .map(|entries| {
            entries
                .filter_map(Result::ok)
                .filter_map(|entry| fs::read(entry.path().join("record.json")).ok())
                .map(|text| serde_json::from_slice(&text).unwrap())
                .collect()
        })
        .unwrap_or_default();
    records.sort_by_key(|record| record.trial);
    records
}

/// The state of a run.
pub fn state(run: &Path) -> RunState {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap()
}

/// The only run in a folder of runs.
pub fn only_run(out: &Path) -> Option<PathBuf> {
    let mut runs = fs::read_dir(out)
        .ok()?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.join("plan.json").is_file());
    let run = runs.next();
    assert!(
        runs.next().is_none(),
        "more than one run in {}",
        out.display()
    );
    run
}

/// A process that is killed when the test ends, whatever happens.
pub struct Started(pub Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `tare origin` on a free port, with the address it printed.
pub fn origin(args: &[&str]) -> (Started, String) {
    let (started, [address]) = origin_at(args);
    (started, address)
}

/// The same with a second port, whose address comes second: there its counters are read whatever the first one speaks.
pub fn origin_with_counters(args: &[&str]) -> (Started, [String; 2]) {
    let (started, [counters, address]) = origin_at(&[&["--control", "127.0.0.1:0"], args].concat());
    (started, [address, counters])
}

/// Starts it; the addresses that it prints, one a line.
fn origin_at<const N: usize>(args: &[&str]) -> (Started, [String; N]) {
    let mut command = tare(&["origin", "--listen", "127.0.0.1:0"]);
    let mut child = command
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let addresses = std::array::from_fn(|_| {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let address = line.split_whitespace().find_map(|word| {
            let address = word.split_once("://").map_or(word, |(_, address)| address);
            address.parse::<std::net::SocketAddr>().ok()
        });
        address
            .unwrap_or_else(|| panic!("no address in {line:?}"))
            .to_string()
    });
    (Started(child), addresses)
}

/// A counter of the origin.
pub fn metric(address: &str, name: &str) -> u64 {
    let mut stream = TcpStream::connect(address).unwrap();
    let ask = "GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    stream.write_all(ask.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let line = text.lines().find(|line| {
        let named = line.split([' ', '{']).next().unwrap_or_default();
        named.contains(name) && !line.starts_with('#')
    });
    let value = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}")) as u64
}
