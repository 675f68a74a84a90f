//! What a chain is made of: the called part, started proxies, and a client that sends requests.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tare_lab::certificates::{Authority, spiffe};
use tare_lab::connector::Connector;
use tare_lab::counters::CounterReader;
use tare_lab::fetch::Software;
use tare_lab::probe::{InstanceState, Readiness};
use tare_lab::render::{Context, Listen, Login, RouteContext, Upstream, edge_id, render};
use tare_lab::targets::Target;
use tare_origin::{OriginOptions, StopHandle};
use tare_record::topology::{InstanceRole, Security, Settings};

use crate::place::{free_port, prepare};

/// The one edge of a chain.
pub const EDGE: &str = "client->server";

/// The called part: Tare's own origin in a thread.
pub struct App {
    pub address: SocketAddr,
    pub stop: StopHandle,
    pub thread: Option<JoinHandle<()>>,
}

impl App {
    pub fn start() -> App {
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let stop = StopHandle::new().unwrap();
            let origin = tare_origin::bind(OriginOptions::default()).unwrap();
            tell.send((origin.local_addr(), stop.clone())).unwrap();
            origin.run(stop).unwrap();
        });
        let (address, stop) = told.recv().unwrap();
        App {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A started proxy; killed with all its children when dropped.
pub struct Proxy {
    pub child: Child,
    pub reader: CounterReader,
    pub entry: SocketAddr,
    pub output: PathBuf,
    _place: tempfile::TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // SIGTERM first: nginx's master takes its workers with it.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::yield_now();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a proxy stands.
pub struct Stand<'a> {
    pub name: &'a str,
    /// Name its certificate is issued for: itself, unless it pretends.
    pub shown: &'a str,
    pub address: IpAddr,
    pub listen: Security,
    pub to: SocketAddr,
    pub upstream: Security,
}

pub fn start(
    target: &Target,
    software: &Software,
    protocol: &str,
    stand: &Stand<'_>,
    authority: &Authority,
) -> Proxy {
    start_with(target, software, protocol, stand, authority, |_| {})
}

/// The same with something changed in what the templates see.
pub fn start_with(
    target: &Target,
    software: &Software,
    protocol: &str,
    stand: &Stand<'_>,
    authority: &Authority,
    change: impl FnOnce(&mut Context),
) -> Proxy {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().to_owned();
    let keys = dir.join("keys");
    fs::create_dir(&keys).unwrap();
    let (entry, admin) = (free_port(stand.address), free_port(stand.address));
    let uri = |name: &str| spiffe("run", name);
    let mut context = Context {
        name: stand.name.to_owned(),
        role: InstanceRole::Sidecar,
        pod: stand.name.to_owned(),
        bin: software.bin.clone(),
        log: dir.join("output.log"),
        dir: dir.clone(),
        address: stand.address,
        admin,
        admin_socket: dir.join("admin"),
        login: Login::random().unwrap(),
        ports: BTreeMap::new(),
        memory: Some(dir.join("memory")),
        programs: BTreeMap::new(),
        redirect: None,
        mesh: None,
        ca: None,
        exempt: None,
        cpus: Vec::new(),
        settings: Settings::new(),
        workload: Settings::new(),
        identity: Some(authority.issue(stand.shown, &[], &[], &keys).unwrap()),
        routes: vec![RouteContext {
            edge: EDGE.to_owned(),
            id: edge_id(EDGE),
            from: "client".to_owned(),
            protocol: protocol.to_owned(),
            edge_security: Security::Plaintext,
            service: "server".to_owned(),
            hostname: None,
            listen: Some(Listen {
                address: entry.ip(),
                port: entry.port(),
                security: stand.listen,
                peer_identity: (stand.listen == Security::Mtls).then(|| uri("client-sidecar")),
                peer_identities: Vec::new(),
                redirected: None,
                redirect_port: None,
            }),
            upstream: Some(Upstream {
                address: stand.to.ip(),
                port: stand.to.port(),
                security: stand.upstream,
                peer_identity: (stand.upstream != Security::Plaintext)
                    .then(|| uri("server-sidecar")),
                peer_host: (stand.upstream != Security::Plaintext)
                    .then(|| "server-sidecar".to_owned()),
            }),
            advertise: None,
        }],
        peers: Vec::new(),
    };
    change(&mut context);
    let rendered = render(target, &context).unwrap();
    rendered.write().unwrap();
    prepare(&rendered);
    let output = File::create(&context.log).unwrap();
    let child = Command::new(&rendered.start[0])
        .args(&rendered.start[1..])
        .envs(rendered.env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap();
    let mut proxy = Proxy {
        child,
        reader: CounterReader::new(&rendered, Connector::Host),
        entry,
        output: context.log.clone(),
        _place: place,
    };
    let child = &mut proxy.child;
    let waited = rendered.probe.wait(
        &Connector::Host,
        Duration::from_secs(60),
        &mut || match child.try_wait() {
            Ok(None) => InstanceState::Running,
            _ => InstanceState::Ended,
        },
    );
    assert!(
        matches!(waited, Readiness::Ready(_)),
        "{waited:?}\n{}",
        text(&proxy.output)
    );
    proxy
}

pub fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// Sends requests one after the other on one connection and returns the statuses.
pub fn send(to: SocketAddr, requests: usize) -> Vec<u16> {
    let mut stream = TcpStream::connect(to).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut statuses = Vec::new();
    for _ in 0..requests {
        if stream
            .write_all(b"GET /?size=10 HTTP/1.1\r\nHost: server\r\n\r\n")
            .is_err()
        {
            break;
        }
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        let status = loop {
            let read = match stream.read(&mut chunk) {
                // A socket with a timeout is interrupted when a child of this process ends.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return statuses,
                Ok(read) => read,
            };
            answer.extend_from_slice(&chunk[..read]);
            if let Some(status) = complete(&answer) {
                break status;
            }
        };
        statuses.push(status);
    }
    statuses
}

/// The status when head and body (by its length) are there.
pub fn complete(answer: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() >= length).then_some(status)
}
