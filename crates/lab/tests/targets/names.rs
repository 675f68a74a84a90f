//! Real proxies that know a service outside of the mesh by the server name in its TLS: others are refused, and said so.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tare_lab::certificates::Authority;
use tare_record::counter::CounterReading;
use tare_record::topology::{InstanceRole, Security};

use crate::place::{software, targets};
use crate::rig::{EDGE, Proxy, Stand, start_with, text};

const NAME: &str = "db.airline.example";
const ANSWER: &[u8] = b"not TLS, but it came through";
const LIMIT: Duration = Duration::from_secs(60);

/// The called part: accepts this number of connections and answers the first bytes of each.
fn called(connections: usize) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let mut last = Vec::new();
        for _ in 0..connections {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            // Without a timeout: a socket that has one is interrupted when a child of this process ends.
            let read = stream.read(&mut bytes).unwrap();
            last = bytes[..read].to_vec();
            stream.write_all(ANSWER).unwrap();
        }
        last
    });
    (at, thread)
}

/// The first words of a TLS client that asks for this name.
fn hello(name: &str) -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    bytes
}

/// What comes back to a client that asks for a name; nothing, if it is refused.
fn ask(at: SocketAddr, name: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let _ = stream.write_all(&hello(name));
    let mut answer = Vec::new();
    // A reset is a refusal, too.
    let _ = stream.read_to_end(&mut answer);
    answer
}

fn value(readings: &[CounterReading], name: &str) -> f64 {
    let of_name = readings.iter().filter(|reading| reading.name == name);
    let of_edge = of_name.filter(|reading| reading.edge.as_deref() == Some(EDGE));
    of_edge.map(|reading| reading.value).sum()
}

/// Reads until the counter stands there: lines of a log come after the end of a connection.
fn read_until(proxy: &mut Proxy, name: &str, wanted: f64) -> Vec<CounterReading> {
    read_while(proxy, |readings| value(readings, name) != wanted)
}

fn read_while(
    proxy: &mut Proxy,
    is_early: impl Fn(&[CounterReading]) -> bool,
) -> Vec<CounterReading> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let readings = proxy.reader.read().unwrap().readings;
        if !is_early(&readings) || Instant::now() > deadline {
            return readings;
        }
    }
}

fn routes_by_name(target: &str, role: InstanceRole, last: u8) {
    let targets = targets();
    let target = targets.get(target).unwrap();
    let (to, thread) = called(2);
    let stand = Stand {
        name: "middle",
        shown: "middle",
        address: IpAddr::V4(Ipv4Addr::new(127, 64, 0, last)),
        listen: Security::Plaintext,
        to,
        upstream: Security::Plaintext,
    };
    let authority = Authority::new("run").unwrap();
    let software = software(target);
    let mut proxy = start_with(target, &software, "tcp", &stand, &authority, |context| {
        context.role = role;
        context.routes[0].edge_security = Security::Tls;
        context.routes[0].hostname = Some(NAME.to_owned());
    });
    let said = |proxy: &Proxy| text(&proxy.output);
    assert_eq!(ask(proxy.entry, NAME), ANSWER, "{}", said(&proxy));
    let refused = ask(proxy.entry, "elsewhere.airline.example");
    assert!(refused.is_empty(), "{refused:?}");
    // The refusal was no accident of the first stranger.
    assert_eq!(ask(proxy.entry, NAME), ANSWER, "{}", said(&proxy));
    // TLS was not ended on the way: the called part saw the client's own first words.
    let seen = thread.join().unwrap();
    assert_eq!(seen[0], 22, "no TLS handshake: {seen:?}");
    let readings = read_until(&mut proxy, "unmatched-sni", 1.0);
    assert_eq!(value(&readings, "unmatched-sni"), 1.0, "{readings:?}");
    // The last may end between a look at the log and one at what is open: then it is in neither.
    let least = 2.0 * seen.len() as f64;
    let readings = read_while(&mut proxy, |readings| {
        value(readings, "connections") != 2.0 || value(readings, "bytes-received") < least
    });
    assert_eq!(value(&readings, "connections"), 2.0, "{readings:?}");
    let bytes = value(&readings, "bytes-received");
    assert!(bytes >= least, "{readings:?}");
}

#[test]
fn envoy_passes_on_the_name_it_knows_and_counts_the_others() {
    routes_by_name("envoy", InstanceRole::Sidecar, 1);
}

#[test]
fn nginx_passes_on_the_name_it_knows_and_counts_the_others() {
    routes_by_name("nginx", InstanceRole::Sni, 2);
}

/// What is open is known while it is open: pools of connections are not closed for the sake of a log.
#[test]
fn nginx_tells_what_connections_carried_that_are_still_open() {
    let targets = targets();
    let target = targets.get("nginx").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stand = Stand {
        name: "middle",
        shown: "middle",
        address: IpAddr::V4(Ipv4Addr::new(127, 64, 0, 3)),
        listen: Security::Plaintext,
        to: listener.local_addr().unwrap(),
        upstream: Security::Plaintext,
    };
    let authority = Authority::new("run").unwrap();
    let software = software(target);
    let mut proxy = start_with(target, &software, "tcp", &stand, &authority, |context| {
        context.role = InstanceRole::Sni;
        context.routes[0].edge_security = Security::Tls;
        context.routes[0].hostname = Some(NAME.to_owned());
    });
    let words = hello(NAME);
    let mut near = TcpStream::connect(proxy.entry).unwrap();
    near.write_all(&words).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    far.set_read_timeout(Some(LIMIT)).unwrap();
    let mut came = vec![0; words.len()];
    far.read_exact(&mut came).unwrap();
    assert_eq!(came, words);
    let readings = proxy.reader.read().unwrap().readings;
    assert_eq!(value(&readings, "connections"), 1.0, "{readings:?}");
    assert_eq!(
        value(&readings, "bytes-received"),
        words.len() as f64,
        "{readings:?}"
    );
    // Closed, it is counted once, not twice.
    drop((near, far));
    let log = proxy.output.with_file_name("connections.log");
    let deadline = Instant::now() + LIMIT;
    while !text(&log).contains("edge=") {
        assert!(Instant::now() < deadline, "no line of its end");
        std::thread::yield_now();
    }
    let readings = read_until(&mut proxy, "connections", 1.0);
    assert_eq!(value(&readings, "connections"), 1.0, "{readings:?}");
    assert_eq!(value(&readings, "unmatched-sni"), 0.0, "{readings:?}");
}
