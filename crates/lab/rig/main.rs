//! The program that the laboratory's tests start: a keeper, an owner to be killed, processes that
//! hide, an agent that obeys, work of a known size.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test program: it fails loudly and tells its caller by standard output"
)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tare_lab::keeper::{Keeper, Spawn, keeper_main};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["keeper"] => keeper_main(None).unwrap(),
        ["keeper", "--base", base] => keeper_main(Some(PathBuf::from(base))).unwrap(),
        ["owner", base, token] => own(base, token),
        ["tree", token] => tree(token),
        ["orphan", token, how] => {
            start(&["sleep", token, how]);
        }
        ["sleep", _, how] => sleep(how),
        ["flood"] => flood(),
        ["burn", milliseconds] => burn(milliseconds.parse().unwrap()),
        ["burn-in-child", milliseconds] => {
            let mut child = Command::new(me())
                .args(["burn-once", milliseconds])
                .spawn()
                .unwrap();
            child.wait().unwrap();
            rest();
        }
        ["burn-once", milliseconds] => burn_threads(milliseconds.parse().unwrap()),
        ["serve", address] => serve(address),
        ["agent", "--plan", plan, "--connect", place] => agent(plan, place),
        other => panic!("unknown words {other:?}"),
    }
}

fn me() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// What a conductor does: start a keeper, start trees under it, go on for ever.
fn own(base: &str, token: &str) {
    let mut keeper = Keeper::start(&me(), Some(base.as_ref())).unwrap();
    for number in 0.. {
        let name = format!("tree-{number}");
        if number < 4 {
            keeper
                .spawn(&Spawn {
                    output: keeper.folder().join(&name),
                    name,
                    argv: vec![me().display().to_string(), "tree".into(), token.into()],
                    env: Vec::new(),
                    cwd: PathBuf::from("/"),
                    cpus: Vec::new(),
                    output_bytes_max: 1000,
                    nofile: None,
                })
                .unwrap();
            println!("{number}");
        } else {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

/// A process with children of every kind that tries to outlive its parents.
fn tree(token: &str) {
    start(&["sleep", token, "plain"]);
    start(&["sleep", token, "deaf"]);
    for how in ["plain", "setsid", "deaf-setsid"] {
        start(&["orphan", token, how]);
    }
    let naked = Command::new(me())
        .args(["orphan", token, "setsid"])
        .env_clear()
        .stdin(Stdio::null())
        .spawn();
    drop(naked.unwrap());
    println!("tree stands");
    rest();
}

fn start(words: &[&str]) {
    drop(Command::new(me()).args(words).spawn().unwrap());
}

fn sleep(how: &str) {
    if how.contains("setsid") {
        rustix::process::setsid().unwrap();
    }
    if how.contains("deaf") {
        // A shell is the plainest program that can be told to ignore a signal.
        let error = std::os::unix::process::CommandExt::exec(
            Command::new("sh")
                .args(["-c", "trap '' TERM INT HUP; while :; do sleep 60; done"])
                .arg(std::env::args().nth(2).unwrap()),
        );
        panic!("{error}");
    }
    rest();
}

/// Long enough for any test, short enough not to stay for ever should one fail.
fn rest() {
    std::thread::sleep(Duration::from_secs(60));
}

fn flood() {
    let mut out = std::io::stdout().lock();
    for number in 0..200_000 {
        writeln!(out, "line {number}").unwrap();
    }
    writeln!(out, "flood over").unwrap();
}

fn burn(milliseconds: u64) {
    // Waits for a line, so that the observer is there before the work begins.
    burn_threads(milliseconds);
    println!("burnt {}", own_cpu_ns());
    rest();
}

fn burn_threads(milliseconds: u64) {
    let workers: Vec<_> = (0..2)
        .map(|_| std::thread::spawn(move || burn_this_thread(milliseconds / 2)))
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
}

/// Works until this thread has used so much CPU.
fn burn_this_thread(milliseconds: u64) {
    let used = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(
            now.tv_sec.unsigned_abs(),
            u32::try_from(now.tv_nsec).unwrap(),
        )
    };
    while used() < Duration::from_millis(milliseconds) {
        std::hint::black_box((0..10_000u64).sum::<u64>());
    }
}

fn own_cpu_ns() -> u128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap(),
    )
    .as_nanos()
}

fn serve(address: &str) {
    let listener = std::net::TcpListener::bind(address).unwrap();
    println!("listening on {address}");
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut buffer = [0u8; 4096];
        let count = stream.read(&mut buffer).unwrap_or(0);
        let _ = stream.write_all(&buffer[..count]);
    }
}

/// Speaks as an agent does; the role says how it ends.
fn agent(plan: &str, place: &str) {
    let text = std::fs::read_to_string(plan).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut stream = UnixStream::connect(place.strip_prefix("unix:").unwrap()).unwrap();
    let pid = std::process::id();
    let hello = format!("{{\"message\":\"hello\",\"version\":1,\"pid\":{pid}}}\n");
    stream.write_all(hello.as_bytes()).unwrap();
    match plan["role"].as_str().unwrap() {
        "dies" => {
            eprintln_tail();
            std::process::abort();
        }
        "rubbish" => stream.write_all(b"this is no message\n").unwrap(),
        _ => {
            let ready = b"{\"message\":\"ready\",\"connections\":3,\"start_unix_us\":5}\n";
            stream.write_all(ready).unwrap();
            let start = Instant::now();
            // The default action of SIGTERM is the end; an honest agent reports before.
            while start.elapsed() < Duration::from_millis(50) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let failed = b"{\"message\":\"failed\",\"error\":\"as planned\"}\n";
            stream.write_all(failed).unwrap();
        }
    }
}

fn eprintln_tail() {
    println!("about to die");
}
