//! A running origin, and a blocking client that understands just enough.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use tare_origin::{BehaviourOverride, OriginError, OriginOptions, StopHandle, Totals, bind};

/// Far above anything a test waits for: only a hang reaches it.
pub const HANG: Duration = Duration::from_secs(60);

/// The clock that the server's truth is told in.
pub fn realtime_ns() -> u128 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_nanos()
}

/// A server to be held while others are asked for their truth. The kernel begins to stamp a while after the first socket that
/// asks for it, when a thread of its own has had a core; from here on it does, for every socket.
pub fn stamping() -> Server {
    let server = Server::plain();
    let mut client = server.connect();
    let given_up = Instant::now() + HANG;
    let mut is_stamped = || {
        let answer = client.get("/?timestamps");
        !answer.header("tare-timestamps").unwrap().starts_with("- ")
    };
    while !is_stamped() {
        assert!(Instant::now() < given_up, "nothing is stamped");
    }
    server
}

/// An origin in a thread; stopped at the end of the test at the latest.
pub struct Server {
    pub address: SocketAddr,
    /// Where its counters are.
    control: SocketAddr,
    stop: StopHandle,
    thread: Option<JoinHandle<Result<Totals, OriginError>>>,
}

impl Server {
    pub fn start(options: OriginOptions) -> Self {
        let origin = bind(options).unwrap();
        let stop = StopHandle::new().unwrap();
        let address = origin.local_addr();
        let control = origin.control_addr().unwrap_or(address);
        let handle = stop.clone();
        let thread = Some(std::thread::spawn(move || origin.run(handle)));
        Self {
            address,
            control,
            stop,
            thread,
        }
    }

    pub fn plain() -> Self {
        Self::start(OriginOptions::default())
    }

    pub fn changed(overrides: &[&str]) -> Self {
        let overrides = overrides
            .iter()
            .map(|text| BehaviourOverride::parse(text).unwrap())
            .collect();
        Self::start(OriginOptions {
            overrides,
            ..OriginOptions::default()
        })
    }

    pub fn connect(&self) -> Client {
        Self::connect_to(self.address)
    }

    /// A client where counters are served.
    pub fn control(&self) -> Client {
        Self::connect_to(self.control)
    }

    fn connect_to(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.set_write_timeout(Some(HANG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream,
            unread: Vec::new(),
        }
    }

    /// One counter; 0 if it is not shown.
    pub fn counter(&self, name: &str) -> u64 {
        let text = self.control().get("/metrics").text();
        let line = text
            .lines()
            .find(|line| line.strip_prefix(name).is_some_and(|l| l.starts_with(' ')));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    }

    pub fn stop_on_signals(&self) {
        self.stop.stop_on_signals().unwrap();
    }

    pub fn stop(self) -> Totals {
        self.stop.stop();
        self.wait()
    }

    /// Waits until something else stops it.
    pub fn wait(mut self) -> Totals {
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An answer, its framing undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// One connection.
pub struct Client {
    pub stream: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    pub fn get(&mut self, target: &str) -> Answer {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: o\r\n\r\n").as_bytes());
        self.answer()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next answer to a request that is not HEAD.
    pub fn answer(&mut self) -> Answer {
        let (status, head) = self.head();
        let mut answer = Answer {
            status,
            head,
            body: Vec::new(),
        };
        if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            answer.body = self.exactly(length);
        } else if answer.header("transfer-encoding").is_some() {
            loop {
                let line = self.until(b"\r\n");
                let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
                let chunk = self.exactly(size + 2);
                answer.body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    break;
                }
            }
        } else if status != 204 && status >= 200 {
            answer.body = self.rest();
        }
        answer
    }

    pub fn head(&mut self) -> (u16, String) {
        let head = self.until(b"\r\n\r\n");
        (head[9..12].parse().unwrap(), head)
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.unread)
    }

    fn more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        let count = loop {
            // A read with a timeout is not restarted behind a signal, and one test sends one.
            match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other.unwrap(),
            }
        };
        self.unread.extend_from_slice(&buffer[..count]);
        count > 0
    }

    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(
                self.more(),
                "the connection ended after {} of {count}",
                self.unread.len()
            );
        }
        self.unread.drain(..count).collect()
    }

    fn until(&mut self, mark: &[u8]) -> String {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|w| w == mark) {
                let taken: Vec<u8> = self.unread.drain(..at + mark.len()).collect();
                return String::from_utf8(taken).unwrap();
            }
            assert!(self.more(), "the connection ended within {:?}", self.unread);
        }
    }
}
