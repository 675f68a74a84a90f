//! A server of its own for a test, and plain HTTP requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest wait for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server; it ends with this.
pub struct Server {
    process: Child,
    pub runs: PathBuf,
    /// `127.0.0.1:PORT`, or the name of the server instead.
    pub address: String,
    /// The token of scripts.
    pub token: String,
    /// Token of the printed link.
    pub link: String,
}

/// The program `tare` beside the server; `cargo test --workspace` has built both.
pub fn tare() -> PathBuf {
    let tare = PathBuf::from(env!("CARGO_BIN_EXE_tare-serve")).with_file_name("tare");
    assert!(tare.is_file(), "build it first: cargo build --release");
    tare
}

/// The checkout.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

impl Server {
    pub fn start(runs: &Path) -> Server {
        Server::start_with(runs, &json!({}))
    }

    /// Starts a server with further options.
    pub fn start_with(runs: &Path, more: &Value) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare-serve"));
        command.arg(Server::options(runs, more).to_string());
        Server::of(command, runs)
    }

    /// What the server is told by `tare serve`.
    pub fn options(runs: &Path, more: &Value) -> Value {
        let mut options = json!({
            "listen": "127.0.0.1:0", "runs": runs, "read_only": false, "files": [], "environment": [], "clusters": null, "hosts": [], "tls": null,
            "password_file": null, "parallel": 1, "tare": tare(), "home": home(),
        });
        for (name, value) in more.as_object().unwrap() {
            options[name] = value.clone();
        }
        options
    }

    /// The server that a command starts, once it listens.
    pub fn of(mut command: Command, runs: &Path) -> Server {
        // Whole before the first word is read: it ends the process if the test fails there.
        let mut server = Server {
            process: command.stderr(Stdio::piped()).spawn().unwrap(),
            runs: runs.to_owned(),
            address: String::new(),
            link: String::new(),
            token: String::new(),
        };
        let mut lines = BufReader::new(server.process.stderr.take().unwrap()).lines();
        let mut line = || lines.next().expect("the server said too little").unwrap();
        let said = line();
        let file = said.rsplit(' ').next().unwrap();
        // It may see other mounts.
        let seen = format!("/proc/{}/root{file}", server.pid());
        let token = std::fs::read_to_string(file).or_else(|_| std::fs::read_to_string(seen));
        let token = token.unwrap_or_else(|error| panic!("{said}: {error}"));
        server.token = token.trim().to_owned();
        let said = line();
        let (address, link) = said
            .rsplit_once("://")
            .unwrap()
            .1
            .split_once("/?token=")
            .unwrap();
        (server.address, server.link) = (address.to_owned(), link.to_owned());
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        server
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A request as scripts make it.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            self.token,
            body.len()
        );
        self.raw(&[head.as_bytes(), body.as_bytes()].concat())
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body)
            .unwrap_or_else(|error| panic!("{path}: {error}: {}", answer.text()))
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.ask("POST", path, Some(body));
        assert!(
            answer.status < 300,
            "{path}: {} {}",
            answer.status,
            answer.text()
        );
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
    }

    /// A request with these header lines and no credentials of its own.
    pub fn with_headers(&self, method: &str, path: &str, headers: &str) -> Answer {
        let text = format!(
            "{method} {path} HTTP/1.1\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        self.raw(text.as_bytes())
    }

    /// Sends bytes and reads until the server closes.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A server that refuses early may close before all is sent.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    /// Events of a stream, by name and data, until they are as wanted.
    pub fn events(
        &self,
        path: &str,
        is_enough: impl Fn(&[(String, String)]) -> bool,
    ) -> Vec<(String, String)> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
            self.address, self.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut events = Vec::new();
        let mut name = String::new();
        // Sizes of chunks are lines of their own, which begin no field.
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            if let Some(text) = line.strip_prefix("event: ") {
                text.clone_into(&mut name);
            }
            if let Some(text) = line.strip_prefix("data: ") {
                events.push((name.clone(), text.to_owned()));
                if is_enough(&events) {
                    return events;
                }
            }
        }
        panic!("{path} ended after {} events", events.len());
    }

    /// Asks until the answer is as wanted.
    pub fn until(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let found = self.get(path);
            if is_wanted(&found) {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{path} is still {found:#}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The folder of a start, once it exists.
    pub fn folder_of(&self, start: &Value) -> String {
        let path = format!("/api/v1/starts/{}", start["id"].as_str().unwrap());
        let found = self.until(&path, |found| {
            found["folder"].is_string() || found["state"] == "ended"
        });
        found["folder"]
            .as_str()
            .unwrap_or_else(|| panic!("{found:#}"))
            .to_owned()
    }

    /// A figure of the server's memory in bytes: `VmHWM` is the most that was resident. (proc_pid_status(5))
    pub fn memory_bytes(&self, name: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let kib: u64 = line
            .split_ascii_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        kib << 10
    }

    /// Ends the server as `systemctl stop` does: SIGTERM to this process alone.
    pub fn terminate(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Answer {
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let rest = bytes.get(end + 4..).unwrap_or_default();
        let is_chunked = head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked");
        Answer {
            status: head
                .split(' ')
                .nth(1)
                .and_then(|word| word.parse().ok())
                .unwrap_or(0),
            body: if is_chunked {
                dechunked(rest)
            } else {
                rest.to_vec()
            },
            head,
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }
}

fn dechunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = String::from_utf8_lossy(&rest[..end]);
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else {
            break;
        };
        let data = rest.get(end + 2..end + 2 + size).unwrap_or_default();
        body.extend_from_slice(data);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    body
}

/// Events of a stream until one is wanted.
pub fn events_until(
    server: &Server,
    path: &str,
    is_last: impl Fn(&Value) -> bool,
) -> Vec<(String, Value)> {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, server.token
    )
    .unwrap();
    let (mut found, mut id) = (Vec::new(), String::new());
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(text) = line.strip_prefix("id: ") {
            id = text.to_owned();
        }
        if let Some(data) = line.strip_prefix("data: ") {
            let Ok(event) = serde_json::from_str::<Value>(data) else {
                break;
            };
            let is_end = is_last(&event);
            found.push((id.clone(), event));
            if is_end {
                break;
            }
        }
    }
    found
}
