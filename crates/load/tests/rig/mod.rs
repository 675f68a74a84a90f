//! Plans, and small servers written by hand that misbehave in one way each.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot be set up fails"
)]

pub mod nginx;
mod plan;
pub mod tls;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[allow(unused_imports, reason = "each test binary uses its part")]
pub use plan::{MS, plan, request};
use tare_load::{LoadError, LoadOutcome, LoadProgress, StopHandle, run};
use tare_record::load::LoadPlan;

pub fn measure(plan: &LoadPlan) -> LoadOutcome {
    try_measure(plan).unwrap()
}

pub fn try_measure(plan: &LoadPlan) -> Result<LoadOutcome, LoadError> {
    run(plan, &StopHandle::new(), &mut |_: LoadProgress| {
        ControlFlow::Continue(())
    })
}

/// How many exchanges ended in a class.
pub fn count(outcome: &LoadOutcome, class: &str) -> u64 {
    let of = |o: &&tare_record::agent::OutcomeCount| o.class == class;
    outcome
        .result
        .outcomes
        .iter()
        .filter(of)
        .map(|o| o.count)
        .sum()
}

/// A server on a port of its own: each connection is handed to `serve` on its own thread.
pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicU64>,
    pub requests: Arc<AtomicU64>,
}

impl Server {
    pub fn start(serve: impl Fn(&mut Conn) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (connections, requests) = (
            Arc::clone(&server.connections),
            Arc::clone(&server.requests),
        );
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let mut conn = Conn {
                    stream,
                    number,
                    requests: Arc::clone(&requests),
                    text: Vec::new(),
                };
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(&mut conn));
            }
        });
        server
    }

    /// Answers every request with the same bytes.
    pub fn answering(answer: &'static [u8]) -> Self {
        Self::start(move |conn| while conn.request().is_some() && conn.send(answer) {})
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

/// The server's side of one connection.
pub struct Conn {
    pub stream: TcpStream,
    /// Number of the connection, from 0.
    pub number: u64,
    requests: Arc<AtomicU64>,
    text: Vec<u8>,
}

impl Conn {
    /// Reads one request without a body; its head, or `None` when the client has gone.
    pub fn request(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.windows(4).position(|w| w == b"\r\n\r\n") {
                let head: Vec<u8> = self.text.drain(..end + 4).collect();
                self.requests.fetch_add(1, Ordering::SeqCst);
                return Some(String::from_utf8(head).unwrap());
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part) {
                Ok(count) if count > 0 => self.text.extend_from_slice(&part[..count]),
                _ => return None,
            }
        }
    }

    /// Sends; false when the client has gone.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Reads so many bytes of a request's body.
    pub fn skip(&mut self, mut bytes: usize) {
        let held = bytes.min(self.text.len());
        self.text.drain(..held);
        bytes -= held;
        let mut part = vec![0; 64 * 1024];
        while bytes > 0 {
            let room = part.len().min(bytes);
            match self.stream.read(&mut part[..room]) {
                Ok(count) if count > 0 => bytes -= count,
                _ => return,
            }
        }
    }

    /// Ends the connection with a reset instead of an orderly close.
    pub fn reset(&mut self) {
        let socket = rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
        socket.unwrap();
    }

    /// Keeps the connection open without a word until the client closes it.
    pub fn hold(&mut self) {
        self.stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let _ = std::io::copy(&mut self.stream, &mut std::io::sink());
    }
}

pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
