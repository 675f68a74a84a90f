//! Whole loads over TLS: what is right, and what each thing that can be wrong is called.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

mod rig;

use rig::tls::{Authority, TlsServer, Validity, believing, serving, serving_mutually, tls_plan};
use rig::{OK, Server, measure, try_measure};
use tare_load::LoadError;
use tare_schema::load::{ClientSpec, LoadPlan, Stop, TlsSpec, TlsVersion, Trust};

/// A load that must end without a connection, and what it says of why.
fn refused(plan: &LoadPlan) -> String {
    match try_measure(plan) {
        Err(LoadError::NoConnection { why, .. }) => why,
        Err(other) => panic!("another error: {other}"),
        Ok(outcome) => panic!("it worked: {:?}", outcome.result.outcomes),
    }
}

#[test]
fn requests_over_either_version_are_all_right_and_what_was_agreed_on_is_told() {
    for (version, word) in [(TlsVersion::V1_2, "1.2"), (TlsVersion::V1_3, "1.3")] {
        let authority = Authority::new();
        let server = TlsServer::answering(serving(authority.sign("localhost", Validity::Now)), OK);
        let spec = TlsSpec {
            oldest: version,
            newest: version,
            ..believing(&authority)
        };
        let result = measure(&tls_plan(server.address, spec)).result;
        assert_eq!(result.right, 100, "{:?}", result.outcomes);
        assert_eq!(result.instrument.stamped_by_kernel, 100);
        let [tls] = &result.tls[..] else {
            panic!("one kind of handshake: {:?}", result.tls);
        };
        assert_eq!((tls.full, tls.resumed), (2, 0));
        assert_eq!(tls.seen.version, word);
        assert_eq!(tls.seen.alpn.as_deref(), Some("http/1.1"));
        assert_eq!(tls.seen.group.as_deref(), Some("X25519"));
        assert!(tls.seen.suite.contains("AES_256_GCM_SHA384"), "{tls:?}");
        assert_eq!(server.asked.lock().unwrap().as_deref(), Some("localhost"));
    }
}

#[test]
fn answers_of_many_records_come_whole_and_large_requests_go_whole() {
    let authority = Authority::new();
    let config = serving(authority.sign("localhost", Validity::Now));
    let server = TlsServer::start(config, |conn| {
        let body = vec![b'x'; 1_000_000];
        while conn.request() {
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
            conn.send(&body);
        }
    });
    let mut plan = tls_plan(server.address, believing(&authority));
    plan.load.stop = Stop::Count { exchanges: 20 };
    plan.load.requests[0].headers = vec![("X-Long".into(), "y".repeat(50_000))];
    plan.load.requests[0].expect.body = tare_schema::load::ExpectBody::Length(1_000_000);
    let result = measure(&plan).result;
    assert_eq!(result.right, 20, "{:?}", result.outcomes);
    assert!(result.bytes_received > 20 * 1_000_000 && result.bytes_sent > 20 * 50_000);
}

#[test]
fn each_wrong_certificate_ends_the_load_at_once_with_its_reason() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let cases = [
        (
            authority.sign("localhost", Validity::Past),
            &authority,
            "expired",
        ),
        (
            authority.sign("elsewhere", Validity::Now),
            &authority,
            "another name",
        ),
        (
            authority.sign("localhost", Validity::Now),
            &stranger,
            "--cacert",
        ),
    ];
    for (shown, believed, word) in cases {
        let server = TlsServer::answering(serving(shown), OK);
        let why = refused(&tls_plan(server.address, believing(believed)));
        assert!(why.contains(word), "{why}");
        let insecure = TlsSpec {
            trust: Trust::Anybody,
            ..believing(believed)
        };
        let accepted = measure(&tls_plan(server.address, insecure)).result;
        assert_eq!(accepted.right, 100, "{:?}", accepted.outcomes);
    }
}

#[test]
fn a_plain_server_on_the_port_is_called_so() {
    let server = Server::start(|conn| {
        conn.send(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let authority = Authority::new();
    let why = refused(&tls_plan(server.address, believing(&authority)));
    assert!(why.contains("not TLS"), "{why}");
}

#[test]
fn a_server_that_wants_our_certificate_gets_it_or_says_so() {
    let (authority, clients) = (Authority::new(), Authority::new());
    for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
        let shown = authority.sign("localhost", Validity::Now);
        let server = TlsServer::answering(serving_mutually(shown, &clients), OK);
        let mut spec = TlsSpec {
            oldest: version,
            newest: version,
            ..believing(&authority)
        };
        spec.identity = Some(clients.sign("client", Validity::Now).identity);
        let right = measure(&tls_plan(server.address, spec.clone())).result;
        assert_eq!(right.right, 100, "{:?}", right.outcomes);
    }
}

#[test]
fn a_server_that_speaks_another_protocol_is_refused() {
    let authority = Authority::new();
    let mut config = serving(authority.sign("localhost", Validity::Now));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = TlsServer::answering(config, OK);
    let why = refused(&tls_plan(server.address, believing(&authority)));
    assert!(why.contains("ALPN"), "{why}");
}

#[test]
fn an_end_without_a_word_is_told_from_an_end_with_one() {
    let authority = Authority::new();
    for (polite, class) in [(true, "closed"), (false, "tls-truncated")] {
        let config = serving(authority.sign("localhost", Validity::Now));
        let server = TlsServer::start(config, move |conn| {
            if conn.request() && polite {
                conn.goodbye();
            }
            let _ = conn.stream.shutdown(std::net::Shutdown::Both);
        });
        let mut plan = tls_plan(server.address, believing(&authority));
        plan.load.stop = Stop::Count { exchanges: 5 };
        plan.load.client = ClientSpec::Http1 { connections: 1 };
        let result = measure(&plan).result;
        let classes: Vec<_> = result
            .outcomes
            .iter()
            .map(|o| (&o.class[..], o.count))
            .collect();
        assert_eq!(classes, [(class, 5)]);
    }
}
