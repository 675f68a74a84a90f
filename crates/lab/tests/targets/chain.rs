//! Requests through two real sidecars: every one counted, and the TLS between them as told.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tare_lab::catalogue::Target;
use tare_lab::certificates::{Authority, spiffe};
use tare_lab::counters::CounterReader;
use tare_lab::environment::Reading;
use tare_lab::fetch::Software;
use tare_lab::probe::{Life, Waited};
use tare_lab::render::{Context, Listen, RouteContext, Upstream, edge_id, render};
use tare_origin::{OriginOptions, StopHandle};
use tare_schema::topology::{InstanceRole, Security, Settings};

use crate::place::{catalogue, free_port, software};

const EDGE: &str = "client->server";
const CONNECTIONS: usize = 3;
const REQUESTS: usize = 7;

/// The called part: Tare's own origin in a thread.
struct App {
    address: SocketAddr,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl App {
    fn start() -> App {
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
struct Proxy {
    child: Child,
    reader: CounterReader,
    entry: SocketAddr,
    output: std::path::PathBuf,
    _place: tempfile::TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // SIGTERM first: nginx's master takes its workers with it.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::yield_now();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a proxy stands.
struct Stand<'a> {
    name: &'a str,
    /// Name its certificate is issued for: itself, unless it pretends.
    shown: &'a str,
    address: IpAddr,
    listen: Security,
    to: SocketAddr,
    upstream: Security,
}

fn start(
    target: &Target,
    software: &Software,
    protocol: &str,
    stand: &Stand<'_>,
    authority: &Authority,
) -> Proxy {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().to_owned();
    let keys = dir.join("keys");
    fs::create_dir(&keys).unwrap();
    let entry = free_port(stand.address);
    let mut admin = free_port(stand.address);
    while admin == entry {
        admin = free_port(stand.address);
    }
    let uri = |name: &str| spiffe("run", name);
    let context = Context {
        name: stand.name.to_owned(),
        role: InstanceRole::Sidecar,
        pod: stand.name.to_owned(),
        bin: software.bin.clone(),
        log: dir.join("output.log"),
        dir: dir.clone(),
        address: stand.address,
        admin,
        cpus: Vec::new(),
        settings: Settings::new(),
        workload: Settings::new(),
        identity: Some(authority.issue(stand.shown, &[], &keys).unwrap()),
        routes: vec![RouteContext {
            edge: EDGE.to_owned(),
            id: edge_id(EDGE),
            protocol: protocol.to_owned(),
            own: Security::Plaintext,
            host: "server".to_owned(),
            listen: Some(Listen {
                address: entry.ip(),
                port: entry.port(),
                security: stand.listen,
                peer: (stand.listen == Security::Mtls).then(|| uri("client-sidecar")),
            }),
            upstream: Some(Upstream {
                address: stand.to.ip(),
                port: stand.to.port(),
                security: stand.upstream,
                peer: (stand.upstream != Security::Plaintext).then(|| uri("server-sidecar")),
                peer_host: (stand.upstream != Security::Plaintext)
                    .then(|| "server-sidecar".to_owned()),
            }),
        }],
        peers: Vec::new(),
    };
    let rendered = render(target, &context).unwrap();
    rendered.write().unwrap();
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
        reader: CounterReader::new(&rendered),
        entry,
        output: context.log.clone(),
        _place: place,
    };
    let child = &mut proxy.child;
    let waited = rendered
        .probe
        .wait(Duration::from_secs(60), &mut || match child.try_wait() {
            Ok(None) => Life::Running,
            _ => Life::Ended,
        });
    assert!(
        matches!(waited, Waited::Ready(_)),
        "{waited:?}\n{}",
        text(&proxy.output)
    );
    proxy
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// Sends requests one after the other on one connection and returns the statuses.
fn send(to: SocketAddr, requests: usize) -> Vec<u16> {
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
            let read = stream.read(&mut chunk).unwrap_or(0);
            if read == 0 {
                return statuses;
            }
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
fn complete(answer: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() >= length).then_some(status)
}

fn value(readings: &[Reading], name: &str) -> Option<f64> {
    let mut found = readings
        .iter()
        .filter(|reading| reading.name == name)
        .peekable();
    found.peek()?;
    Some(found.map(|reading| reading.value).sum())
}

/// Growth of a counter, with edges checked; `None`: the target does not have it.
fn grown(before: &[Reading], after: &[Reading], name: &str) -> Option<f64> {
    for reading in after.iter().filter(|reading| reading.name == name) {
        assert_eq!(reading.edge.as_deref(), Some(EDGE), "{reading:?}");
    }
    Some(value(after, name)? - value(before, name).unwrap_or(0.0))
}

/// Reads until a counter has grown by this much, because access logs are written after the answer.
fn read_grown(proxy: &mut Proxy, before: &[Reading], name: &str, by: f64) -> Vec<Reading> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let after = proxy.reader.read().unwrap().readings;
        if grown(before, &after, name).is_none_or(|growth| growth >= by)
            || Instant::now() > deadline
        {
            return after;
        }
    }
}

struct Result {
    client: (Vec<Reading>, Vec<Reading>),
    server: (Vec<Reading>, Vec<Reading>),
}

/// Sends requests through client sidecar and server sidecar; all must be right.
fn run(target: &Target, protocol: &str, link: Security) -> Result {
    let software = software(target);
    let app = App::start();
    let authority = Authority::new("run").unwrap();
    let mut server = start(
        target,
        &software,
        protocol,
        &Stand {
            name: "server-sidecar",
            shown: "server-sidecar",
            address: IpAddr::V4(Ipv4Addr::new(127, 61, 0, 2)),
            listen: link,
            to: app.address,
            upstream: Security::Plaintext,
        },
        &authority,
    );
    let mut client = start(
        target,
        &software,
        protocol,
        &Stand {
            name: "client-sidecar",
            shown: "client-sidecar",
            address: IpAddr::V4(Ipv4Addr::new(127, 61, 0, 1)),
            listen: Security::Plaintext,
            to: server.entry,
            upstream: link,
        },
        &authority,
    );
    let before = (
        client.reader.read().unwrap().readings,
        server.reader.read().unwrap().readings,
    );
    for _ in 0..CONNECTIONS {
        let statuses = send(client.entry, REQUESTS);
        assert_eq!(
            statuses,
            vec![200; REQUESTS],
            "{}{}",
            text(&client.output),
            text(&server.output)
        );
    }
    let connections = CONNECTIONS as f64;
    let tls = if link == Security::Plaintext {
        0.0
    } else {
        1.0
    };
    Result {
        client: (
            before.0.clone(),
            read_grown(&mut client, &before.0, "connections", connections),
        ),
        server: (
            before.1.clone(),
            read_grown(&mut server, &before.1, "tls-handshakes", tls),
        ),
    }
}

fn check(name: &str, protocol: &str, link: Security) {
    let catalogue = catalogue();
    let Result { client, server } = run(catalogue.get(name).unwrap(), protocol, link);
    let sent = (CONNECTIONS * REQUESTS) as f64;
    if protocol == "tcp" {
        assert_eq!(grown(&client.0, &client.1, "requests").unwrap_or(0.0), 0.0);
    } else {
        assert_eq!(
            grown(&client.0, &client.1, "requests"),
            Some(sent),
            "{client:?}"
        );
        assert_eq!(
            grown(&server.0, &server.1, "requests"),
            Some(sent),
            "{server:?}"
        );
        for (before, after) in [&client, &server] {
            assert!(grown(before, after, "upstream-requests").is_none_or(|growth| growth == sent));
        }
    }
    for (before, after) in [&client, &server] {
        assert_eq!(grown(before, after, "retries").unwrap_or(0.0), 0.0);
    }
    assert_eq!(
        grown(&client.0, &client.1, "connections"),
        Some(CONNECTIONS as f64),
        "{client:?}"
    );
    let handshakes = grown(&server.0, &server.1, "tls-handshakes").unwrap_or(0.0);
    assert_eq!(
        grown(&client.0, &client.1, "tls-handshakes").unwrap_or(0.0),
        0.0
    );
    if link == Security::Plaintext {
        assert_eq!(handshakes, 0.0, "{server:?}");
        return;
    }
    assert!(handshakes >= 1.0, "{server:?}");
    let label = |name: &str| -> Vec<String> {
        let all = server.1.iter().filter(|reading| reading.name == name);
        all.filter_map(|reading| reading.label.clone()).collect()
    };
    assert_eq!(label("tls-version"), ["TLSv1.3"], "{server:?}");
    assert_eq!(
        label("tls-cipher"),
        ["TLS_AES_128_GCM_SHA256"],
        "{server:?}"
    );
    assert_eq!(grown(&server.0, &server.1, "tls-version"), Some(handshakes));
    assert_eq!(
        grown(&server.0, &server.1, "tls-resumed").unwrap_or(0.0),
        0.0
    );
    let shown = grown(&server.0, &server.1, "tls-client-certificates");
    let expected = if link == Security::Mtls {
        handshakes
    } else {
        0.0
    };
    assert_eq!(shown.unwrap_or(0.0), expected, "{server:?}");
    assert_eq!(
        grown(&server.0, &server.1, "tls-no-certificate").unwrap_or(0.0),
        handshakes - expected
    );
}

/// For targets of which nothing but `requests` is known.
pub fn counts_plaintext_requests(target: &Target) {
    let Result { client, server } = run(target, "http1", Security::Plaintext);
    let sent = Some((CONNECTIONS * REQUESTS) as f64);
    assert_eq!(grown(&client.0, &client.1, "requests"), sent);
    assert_eq!(grown(&server.0, &server.1, "requests"), sent);
}

/// A proxy that shows another name's certificate must not get through where names are checked.
fn refuses_an_impostor(name: &str) {
    let catalogue = catalogue();
    let target = catalogue.get(name).unwrap();
    let software = software(target);
    let app = App::start();
    let ours = Authority::new("run").unwrap();
    let theirs = Authority::new("run").unwrap();
    let stand = |name, shown, last, listen, to, upstream| Stand {
        name,
        shown,
        address: IpAddr::V4(Ipv4Addr::new(127, 62, 0, last)),
        listen,
        to,
        upstream,
    };
    let (plain, mtls) = (Security::Plaintext, Security::Mtls);
    // A server that is another one: the client's sidecar must notice.
    let other = stand("other", "other", 2, mtls, app.address, plain);
    let other = start(target, &software, "http1", &other, &ours);
    let client = stand(
        "client-sidecar",
        "client-sidecar",
        1,
        plain,
        other.entry,
        mtls,
    );
    let client = start(target, &software, "http1", &client, &ours);
    assert!(
        !send(client.entry, 1).contains(&200),
        "a wrong server was believed"
    );
    // A client of another authority: the server's sidecar must notice.
    let server = stand(
        "server-sidecar",
        "server-sidecar",
        3,
        mtls,
        app.address,
        plain,
    );
    let server = start(target, &software, "http1", &server, &ours);
    let stranger = stand(
        "client-sidecar",
        "client-sidecar",
        4,
        plain,
        server.entry,
        mtls,
    );
    let stranger = start(target, &software, "http1", &stranger, &theirs);
    assert!(
        !send(stranger.entry, 1).contains(&200),
        "a stranger was let in"
    );
}

macro_rules! chains {
    ($name:ident) => {
        mod $name {
            use super::*;
            const NAME: &str = stringify!($name);

            #[test]
            fn plaintext_requests_are_counted_exactly() {
                check(NAME, "http1", Security::Plaintext);
            }

            #[test]
            fn mtls_requests_are_counted_exactly_and_the_tls_is_mutual_and_1_3() {
                check(NAME, "http1", Security::Mtls);
            }

            #[test]
            fn tls_without_client_certificates_is_told_from_mtls() {
                check(NAME, "http1", Security::Tls);
            }

            #[test]
            fn tcp_connections_are_counted_exactly() {
                check(NAME, "tcp", Security::Mtls);
            }

            #[test]
            fn an_impostor_does_not_get_through() {
                refuses_an_impostor(NAME);
            }
        }
    };
}

chains!(envoy);
chains!(nginx);
chains!(haproxy);
