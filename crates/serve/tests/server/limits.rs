//! A thousand connections at once: each is answered or refused with a status, in bounded memory.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::flows::experiment;
use crate::rig::{PATIENCE, Server};

const CONNECTIONS: usize = 1000;
const RUNS: usize = 1000;
/// Threads that ask, and requests of each connection.
const THREADS: usize = 10;
const ROUNDS: usize = 4;
/// Streams that the server keeps.
const STREAMS: usize = 256;
const MEMORY_BYTES_MAX: u64 = 100_000_000;
/// Wait for memory before a request is refused.
const MEMORY_PATIENCE: Duration = Duration::from_secs(20);

/// Answers by their status.
type Statuses = BTreeMap<u16, usize>;

/// A server with 1,000 runs, copies of one, and 1,024 files as most systems have it; also the run.
fn server(runs: &Path) -> (Server, String) {
    let own = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: own.maximum,
        maximum: own.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let id = {
        let server = Server::start(runs);
        let id = server.folder_of(&server.post("/api/v1/runs", &experiment(1)));
        server.until(&format!("/api/v1/runs/{id}"), |found| {
            found["entry"]["summary"].is_object() && found["entry"]["state"] == "complete"
        });
        id
    };
    for number in 1..RUNS {
        let copy = runs.join(format!("2026-01-01T00-00-00-{number:04}"));
        std::fs::create_dir(&copy).unwrap();
        for file in ["run.json", "summary.json", "plan.json"] {
            std::fs::hard_link(runs.join(&id).join(file), copy.join(file)).unwrap();
        }
    }
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            "ulimit -Sn 1024; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_tare-serve"),
        ])
        .arg(Server::options(runs, &json!({})).to_string());
    (Server::of(command, runs), id)
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(server: &Server, mut to: &TcpStream, path: &str) {
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, server.token
    );
    // An error means that it is closed, which reading tells, too.
    let _ = to.write_all(head.as_bytes());
}

/// Reads the head of an answer, byte for byte so that nothing of its body is taken: its status, and the length of its body. None
/// when the server has closed the connection, which was silent for long.
fn head(mut from: &TcpStream) -> Option<(u16, Option<usize>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match from.read_exact(&mut byte) {
            Ok(()) => head.push(byte[0]),
            Err(_) if head.is_empty() => return None,
            Err(error) => panic!("{error} after {}", String::from_utf8_lossy(&head)),
        }
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let status = head[9..12].parse().unwrap();
    Some((status, length.map(|length| length.parse().unwrap())))
}

/// Reads a whole answer: its status, and the length of its body. None when the server has closed the connection, as that of a slow
/// reader when others wait for memory.
fn answer(from: &TcpStream) -> Option<(u16, usize)> {
    let (status, length) = head(from)?;
    let mut body = vec![0; length.unwrap()];
    let mut from = from;
    from.read_exact(&mut body).ok()?;
    Some((status, body.len()))
}

fn counted(statuses: impl IntoIterator<Item = u16>) -> Statuses {
    let mut counted = Statuses::new();
    for status in statuses {
        *counted.entry(status).or_default() += 1;
    }
    counted
}

/// The answer to a request that was sent at this time. Asks again after a closed connection, and after a refusal: on a busy machine
/// the server may have no memory for so long. It may not refuse earlier.
fn answered(
    server: &Server,
    stream: &mut TcpStream,
    path: &str,
    mut sent: Instant,
) -> (u16, usize) {
    let begun = sent;
    loop {
        match answer(stream) {
            Some((503, _)) => assert!(sent.elapsed() >= MEMORY_PATIENCE, "{path} is refused"),
            Some(answer) => return answer,
            None => *stream = connect(server),
        }
        assert!(begun.elapsed() < 2 * PATIENCE, "{path} is not answered");
        sent = Instant::now();
        send(server, stream, path);
    }
}

/// Asks again and again over connections of its own; what is asked differs from one to the next.
fn ask_all(server: &Server, paths: &[(&str, usize)], connections: usize) -> Vec<u16> {
    let mut streams: Vec<TcpStream> = (0..connections).map(|_| connect(server)).collect();
    let mut found = Vec::new();
    for round in 0..ROUNDS {
        let path = |number: usize| paths[(number + round) % paths.len()];
        let sent = Instant::now();
        for (number, stream) in streams.iter().enumerate() {
            send(server, stream, path(number).0);
        }
        for (number, stream) in streams.iter_mut().enumerate() {
            let (path, whole) = path(number);
            let (status, bytes) = answered(server, stream, path, sent);
            assert!(
                status != 200 || bytes == whole,
                "{path}: {bytes} of {whole}"
            );
            found.push(status);
        }
    }
    found
}

#[test]
fn a_thousand_connections_are_answered_or_refused_in_bounded_memory() {
    let place = tempfile::tempdir().unwrap();
    let (server, id) = server(&place.path().join("runs"));
    let view = format!("/api/v1/runs/{id}/view");
    let paths = [
        "/api/v1/server",
        "/",
        "/api/v1/runs/none",
        "/api/v1/starts",
        "/assets/app.js",
        "/api/v1/runs",
        &view,
    ];
    let whole = paths.map(|path| (path, server.ask("GET", path, None).body.len()));
    assert!(whole[5].1 > RUNS * 200, "{whole:?}");
    // What it starts has the limit of files that the server was started with.
    assert_eq!(
        server.get("/api/v1/machine")["facts"]["descriptors-soft"],
        "1024"
    );

    let statuses = std::thread::scope(|scope| {
        let ask = || ask_all(&server, &whole, CONNECTIONS / THREADS);
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        counted(
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap()),
        )
    });
    let most = server.memory_bytes("VmHWM");
    eprintln!("active: {statuses:?}, {most} bytes");
    // There is memory for all who read.
    assert!(
        statuses.keys().all(|status| [200, 404].contains(status)),
        "{statuses:?}"
    );
    assert_eq!(statuses.values().sum::<usize>(), CONNECTIONS * ROUNDS);

    // None reads before all have asked.
    let asking: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(&server)).collect();
    for (number, stream) in asking.iter().enumerate() {
        send(
            &server,
            stream,
            if number % 2 == 0 {
                "/api/v1/runs"
            } else {
                &view
            },
        );
    }
    let statuses = counted(asking.iter().filter_map(|stream| Some(answer(stream)?.0)));
    let most = server.memory_bytes("VmHWM");
    eprintln!("slow: {statuses:?}, {most} bytes");
    assert!(
        statuses.keys().all(|status| [200, 503].contains(status)),
        "{statuses:?}"
    );
    drop(asking);

    // Streams of a long past, which nobody reads.
    let line = format!("{{\"event\":\"note\",\"text\":\"{}\"}}\n", "x".repeat(300));
    std::fs::write(
        server.runs.join("2026-01-01T00-00-00-0001/progress.jsonl"),
        line.repeat(30_000),
    )
    .unwrap();
    let streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(&server)).collect();
    for stream in &streams {
        send(
            &server,
            stream,
            "/api/v1/runs/2026-01-01T00-00-00-0001/events",
        );
    }
    let statuses = counted(streams.iter().map(|stream| head(stream).unwrap().0));
    // One that is not read for long is closed, and makes room.
    assert!(
        statuses[&200] >= STREAMS && statuses.keys().all(|status| [200, 503].contains(status)),
        "{statuses:?}"
    );
    drop(streams);
    assert_eq!(server.ask("GET", "/api/v1/server", None).status, 200);
    let most = server.memory_bytes("VmHWM");
    eprintln!("streams: {most} bytes");
    assert!(most <= MEMORY_BYTES_MAX, "{most} bytes");
}
