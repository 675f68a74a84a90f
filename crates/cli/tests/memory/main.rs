//! Whatever a peer does, the generator stays small and says who did it: servers that talk without end and read nothing. So does the
//! origin.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on says where by panicking, and what was measured is printed"
)]

mod http1;
mod http2;
mod origin;
mod plain;
#[path = "../rig/mod.rs"]
mod rig;
mod targets;
mod tls;

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tare_record::agent::{ErrorSource, OutcomeCount};
use tare_record::load_report::LoadReport;

/// What no peer may make of the generator.
const PEAK_BYTES_MAX: u64 = 200_000_000;

/// Where a test gives up: the machine is to outlive it.
const KILL_BYTES: u64 = 1_500_000_000;

/// A load that takes longer hangs. On a machine that is busy with other things some take half a minute.
const LIMIT: Duration = Duration::from_secs(180);

/// A server on a port of its own: each connection is served on its own thread until that fails, as it does when the client goes.
fn server(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    server_at(TcpListener::bind("127.0.0.1:0").unwrap(), serve)
}

fn server_at(
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, serve) = (stream.unwrap(), Arc::clone(&serve));
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Waits until something has come that is not read.
fn wait_for_bytes(stream: &TcpStream) -> io::Result<()> {
    match stream.peek(&mut [0])? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Sends the same for ever, in pieces that are worth a system call.
fn repeat(mut stream: &TcpStream, unit: &[u8]) -> io::Result<()> {
    let many = unit.repeat((64 * 1024 / unit.len()).max(1));
    loop {
        stream.write_all(&many)?;
    }
}

/// The peak of a process so far; `None` once it has ended.
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Runs `tare load` against a hostile server, in which it stays small.
fn load(url: &str, more: &[&str]) -> Output {
    let timeout: &[&str] = match more.contains(&"--timeout") {
        true => &[],
        false => &["--timeout", "3s"],
    };
    let mut load = rig::tare(&["load", url, "--json", "--no-calibrate"]);
    load.args(more).args(timeout);
    let (peak, output) = peak_of(load);
    let wrong = rig::stderr(&output);
    assert!(peak < PEAK_BYTES_MAX, "{peak} bytes: {wrong}");
    output
}

/// Runs a load to its end; the most memory that it took.
fn peak_of(mut load: Command) -> (u64, Output) {
    // Files, since nobody reads while it runs and a report may be larger than a pipe.
    let mut files = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
    let mut child = load
        .stdout(files[0].try_clone().unwrap())
        .stderr(files[1].try_clone().unwrap())
        .spawn()
        .unwrap();
    let pid = child.id();
    let begun = Instant::now();
    let mut peak = 0;
    while let Some(bytes) = peak_bytes(pid) {
        peak = peak.max(bytes);
        if peak > KILL_BYTES || begun.elapsed() > LIMIT {
            child.kill().unwrap();
            break;
        }
        std::thread::park_timeout(Duration::from_millis(3));
    }
    let (took, status) = (begun.elapsed(), child.wait().unwrap());
    let [stdout, stderr] = files.each_mut().map(|file| {
        let mut said = Vec::new();
        file.rewind()
            .and_then(|()| file.read_to_end(&mut said))
            .unwrap();
        said
    });
    let output = Output {
        status,
        stdout,
        stderr,
    };
    let wrong = rig::stderr(&output);
    println!("{} MB after {took:?}", peak / 1_000_000);
    assert!(peak < KILL_BYTES && took < LIMIT, "{took:?}: {wrong}");
    (peak, output)
}

/// The outcomes of a load against a hostile server: the peer is blamed for each that is not right, or a limit is named, and there are such.
fn survives(url: &str, more: &[&str]) -> Vec<OutcomeCount> {
    let output = load(url, more);
    let said = rig::stdout(&output);
    let report: LoadReport = serde_json::from_str(&said)
        .unwrap_or_else(|error| panic!("{error}: {said}{}", rig::stderr(&output)));
    let mut outcomes = report.result.outcomes;
    for one in &outcomes {
        println!("{} × {} {:?}", one.count, one.class, one.example);
    }
    outcomes.retain(|one| one.class != "ok");
    assert!(!outcomes.is_empty());
    let blamed = |one: &OutcomeCount| {
        use ErrorSource::{OwnLimit, Peer, Target};
        matches!(one.error_source, Target | Peer | OwnLimit)
    };
    assert!(outcomes.iter().all(blamed), "{outcomes:?}");
    outcomes
}

/// What is said of a server that no load can be sent to.
fn refused(url: &str, more: &[&str]) -> String {
    let output = load(url, more);
    assert!(!output.status.success());
    rig::stderr(&output)
}

/// Whether one of them was given up with these words.
fn says(outcomes: &[OutcomeCount], words: &str) -> bool {
    let examples = outcomes.iter().filter_map(|one| one.example.as_deref());
    examples.into_iter().any(|example| example.contains(words))
}
