//! Requests through two real sidecars: every one counted, and the TLS between them as told.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use tare_lab::certificates::Authority;
use tare_lab::targets::Target;
use tare_record::counter::CounterReading;
use tare_record::topology::Security;

use crate::place::{software, targets};
use crate::rig::{App, EDGE, Proxy, Stand, send, start, text};

const CONNECTIONS: usize = 3;
const REQUESTS: usize = 7;

fn value(readings: &[CounterReading], name: &str) -> Option<f64> {
    let mut found = readings
        .iter()
        .filter(|reading| reading.name == name)
        .peekable();
    found.peek()?;
    Some(found.map(|reading| reading.value).sum())
}

/// Growth of a counter, with edges checked; `None`: the target does not have it.
fn grown(before: &[CounterReading], after: &[CounterReading], name: &str) -> Option<f64> {
    for reading in after.iter().filter(|reading| reading.name == name) {
        assert_eq!(reading.edge.as_deref(), Some(EDGE), "{reading:?}");
    }
    Some(value(after, name)? - value(before, name).unwrap_or(0.0))
}

/// Reads until a counter has grown by this much, because access logs are written after the answer.
fn read_grown(
    proxy: &mut Proxy,
    before: &[CounterReading],
    name: &str,
    by: f64,
) -> Vec<CounterReading> {
    let deadline = Instant::now() + Duration::from_secs(60);
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
    client: (Vec<CounterReading>, Vec<CounterReading>),
    server: (Vec<CounterReading>, Vec<CounterReading>),
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
    // Requests share connections, TCP connections do not. All must be in a log that each of its counters is read from anew.
    let tls = match (link, protocol) {
        (Security::Plaintext, _) => 0.0,
        (_, "tcp") => connections,
        _ => 1.0,
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
    let targets = targets();
    let Result { client, server } = run(targets.get(name).unwrap(), protocol, link);
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
        grown(&server.0, &server.1, "tls-no-client-certificate").unwrap_or(0.0),
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
    let targets = targets();
    let target = targets.get(name).unwrap();
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
