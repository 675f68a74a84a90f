//! Starts the real binary, finds its ports in what it prints, and asks it over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Limit of everything that is waited for.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A running service; it is killed when the test lets go of it.
pub struct Running {
    child: Child,
    /// Where it serves.
    pub at: SocketAddr,
    admin: SocketAddr,
}

impl Running {
    /// Starts a service with further arguments.
    pub fn start(service: &str, more: &[&str]) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_emojivoto"))
            .args([service, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut address = || -> SocketAddr {
            let line = lines.next().unwrap().unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let (at, admin) = (address(), address());
        // What it says later must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Running { child, at, admin }
    }

    /// All three, the web in front, with further arguments for the voting service.
    pub fn all(voting: &[&str]) -> [Running; 3] {
        let emoji = Running::start("emoji", &[]);
        let voting = Running::start("voting", voting);
        let (at_emoji, at_voting) = (emoji.at.to_string(), voting.at.to_string());
        let web = Running::start("web", &["--emoji", &at_emoji, "--voting", &at_voting]);
        [web, emoji, voting]
    }

    /// Status and body of a page.
    pub fn get(&self, path: &str) -> (u16, String) {
        get(self.at, path)
    }

    /// Status and body of an administration page.
    pub fn admin(&self, path: &str) -> (u16, String) {
        get(self.admin, path)
    }

    /// The sum of all lines of a metric that hold this text.
    pub fn counted(&self, metric: &str, holding: &str) -> u64 {
        let (status, page) = self.admin("/metrics");
        assert_eq!(status, 200);
        let of_metric = page.lines().filter(|line| line.starts_with(metric));
        let counts = of_metric.filter(|line| line.contains(holding));
        counts
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    }

    /// Ends it by SIGTERM and waits for its end.
    pub fn terminate(&mut self) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(&pid).status().unwrap().success());
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < LIMIT, "still there after SIGTERM");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and reads to the end of the connection.
pub fn get(at: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = send(at, path);
    read(&mut stream)
}

/// Sends a request.
pub fn send(at: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    stream
}

/// Reads the answer.
pub fn read(stream: &mut TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}
