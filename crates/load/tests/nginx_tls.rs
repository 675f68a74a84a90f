//! TLS and mTLS against nginx, and what runs above them against the origin: both sides tell the same.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod rig;

use std::path::PathBuf;
use std::thread::JoinHandle;

use rig::nginx::Nginx;
use rig::tls::{Authority, Validity, believing, tls_plan};
use rig::{count, measure, try_measure};
use tare_load::LoadOutcome;
use tare_load::protocols::grpc::GrpcOptions;
use tare_load::protocols::http2::Http2Options;
use tare_origin::{
    Identity, OriginOptions, SessionTickets, StopHandle, TlsOptions, TlsVersions, Totals, bind,
};
use tare_record::load::{
    Body, CallSpec, ClientSpec, ExpectBody, LoadPlan, Pacing, Resumption, Stop, TlsSpec, TlsVersion,
};

const VERSIONS: [(TlsVersion, &str, &str); 2] = [
    (TlsVersion::V1_2, "1.2", "TLSv1.2"),
    (TlsVersion::V1_3, "1.3", "TLSv1.3"),
];

fn http1() -> ClientSpec {
    ClientSpec::new("http1", 2)
}

fn http2() -> ClientSpec {
    ClientSpec::with(2, &Http2Options { streams: 8 })
}

/// What nginx needs to show this authority's certificate, and what it answers.
fn serving(authority: &Authority) -> String {
    let shown = authority.sign("localhost", Validity::Now).identity;
    format!(
        "ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.2 TLSv1.3; \
         location / {{ return 200 hello; }}",
        shown.certificate, shown.key
    )
}

/// TLS of one version.
fn only(version: TlsVersion, spec: TlsSpec) -> TlsSpec {
    TlsSpec {
        oldest: version,
        newest: version,
        ..spec
    }
}

/// So many exchanges, as fast as they go.
fn exchanges(mut plan: LoadPlan, client: &ClientSpec, exchanges: u64) -> LoadPlan {
    plan.load.client = client.clone();
    plan.load.pacing = Pacing::Max;
    plan.load.timeout_ns = 10_000 * rig::MS;
    plan.load.stop = Stop::Count { exchanges };
    plan.load.requests[0].expect.body = ExpectBody::Text("hello".into());
    plan
}

/// Full and resumed handshakes.
fn handshakes(outcome: &LoadOutcome) -> (u64, u64) {
    outcome
        .result
        .tls
        .iter()
        .fold((0, 0), |(full, resumed), tls| {
            (full + tls.full, resumed + tls.resumed)
        })
}

#[test]
fn nginx_speaks_each_version_with_each_protocol_that_alpn_agrees_on() {
    let authority = Authority::new();
    let nginx = Nginx::start("ssl http2", &serving(&authority));
    let mut before = 0;
    for (version, word, logged) in VERSIONS {
        for (client, alpn, protocol) in [
            (&http1(), "http/1.1", "HTTP/1.1"),
            (&http2(), "h2", "HTTP/2.0"),
        ] {
            let spec = only(version, believing(&authority));
            let outcome = measure(&exchanges(tls_plan(nginx.address, spec), client, 200));
            let result = &outcome.result;
            assert_eq!(result.ok, 200, "{:?}", result.outcomes);
            assert_eq!(handshakes(&outcome), (2, 0));
            for tls in &result.tls {
                assert_eq!(
                    (&tls.seen.version[..], tls.seen.alpn.as_deref()),
                    (word, Some(alpn))
                );
            }
            let lines = nginx.logged(before + 200);
            let expected = format!(". {logged} NONE {protocol} 200");
            assert!(
                lines[before..].iter().all(|line| *line == expected),
                "not all {expected}: {:?}",
                lines.last()
            );
            assert_eq!(lines.len(), before + 200);
            before = lines.len();
        }
    }
}

#[test]
fn nginx_verifies_our_certificate_and_refuses_those_without_and_of_strangers() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let directives = format!(
        "{} ssl_verify_client on; ssl_client_certificate {};",
        serving(&authority),
        clients.file()
    );
    let nginx = Nginx::start("ssl http2", &directives);
    let ours = clients.sign("client", Validity::Now).identity;
    let strangers = authority.sign("client", Validity::Now).identity;
    let mut before = 0;
    for (version, _, logged) in VERSIONS {
        for client in [&http1(), &http2()] {
            for (identity, verified, status) in [
                (Some(&ours), "SUCCESS", 200),
                (None, "NONE", 400),
                (Some(&strangers), "FAILED:", 400),
            ] {
                let mut spec = only(version, believing(&authority));
                spec.identity = identity.cloned();
                let outcome = measure(&exchanges(tls_plan(nginx.address, spec), client, 20));
                let result = &outcome.result;
                // nginx ends the handshake well whoever it is, and answers strangers with this status.
                let refused = count(&outcome, "status-400");
                let expected = if status == 200 { (20, 0) } else { (0, 20) };
                assert_eq!((result.ok, refused), expected, "{:?}", result.outcomes);
                let lines = nginx.logged(before + 20);
                let begins = format!(". {logged} {verified}");
                assert!(
                    lines[before..]
                        .iter()
                        .all(|line| line.starts_with(&begins)
                            && line.ends_with(&format!(" {status}"))),
                    "not all {begins}: {:?}",
                    lines.last()
                );
                before = lines.len();
            }
        }
    }
}

#[test]
fn nginx_counts_as_many_resumed_sessions_as_we_do_with_and_without_our_certificate() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let ours = clients.sign("client", Validity::Now).identity;
    let asking = format!(
        "ssl_verify_client optional; ssl_client_certificate {};",
        clients.file()
    );
    for (version, ..) in VERSIONS {
        for resumption in [Resumption::Off, Resumption::On] {
            for identity in [None, Some(&ours)] {
                let directives = format!("{} {asking} keepalive_requests 1;", serving(&authority));
                let nginx = Nginx::start("ssl", &directives);
                let mut spec = only(version, believing(&authority));
                spec.resumption = resumption;
                spec.identity = identity.cloned();
                let client = ClientSpec::new("http1", 1);
                let outcome = measure(&exchanges(tls_plan(nginx.address, spec), &client, 30));
                assert_eq!(outcome.result.ok, 30, "{:?}", outcome.result.outcomes);
                let expected = match resumption {
                    Resumption::Off => (30, 0),
                    Resumption::On => (1, 29),
                };
                assert_eq!(handshakes(&outcome), expected, "{version:?}");
                let lines = nginx.logged(30);
                let starting = |word: &str| lines.iter().filter(|l| l.starts_with(word)).count();
                let counted = (starting(". ") as u64, starting("r ") as u64);
                assert_eq!(counted, expected, "{version:?} {lines:?}");
                let verified = if identity.is_some() {
                    " SUCCESS "
                } else {
                    " NONE "
                };
                assert!(
                    lines.iter().all(|line| line.contains(verified)),
                    "{lines:?}"
                );
            }
        }
    }
}

/// An origin over TLS on a port of its own.
struct Running {
    plan: Box<dyn Fn(TlsSpec) -> LoadPlan>,
    stop: StopHandle,
    thread: JoinHandle<Totals>,
}

impl Running {
    fn start(authority: &Authority, client_ca: Option<PathBuf>) -> Self {
        let shown = authority.sign("localhost", Validity::Now).identity;
        let origin = bind(OriginOptions {
            tls: Some(TlsOptions {
                identity: Identity::Files {
                    certificate: PathBuf::from(shown.certificate),
                    key: PathBuf::from(shown.key),
                },
                client_ca,
                tickets: SessionTickets::On,
                versions: TlsVersions::Both,
            }),
            ..OriginOptions::default()
        })
        .unwrap();
        let address = origin.local_addr();
        let stop = StopHandle::new().unwrap();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || origin.run(stopped).unwrap());
        Self {
            plan: Box::new(move |spec| tls_plan(address, spec)),
            stop,
            thread,
        }
    }

    fn totals(self) -> Totals {
        self.stop.stop();
        self.thread.join().unwrap()
    }
}

/// What runs above TLS, with the request it is asked by and the answer's body.
fn speaking(mut plan: LoadPlan, client: &ClientSpec) -> LoadPlan {
    plan = exchanges(plan, client, 300);
    let request = &mut plan.load.requests[0];
    if client.is::<GrpcOptions>() {
        // A message whose first field is "hello": it comes back as it is.
        let message = "\u{a}\u{5}hello";
        request.method = "POST".into();
        request.path = "/tare.origin.Echo/Echo".into();
        request.body = Body::Text {
            text: message.into(),
        };
        request.expect.body = ExpectBody::Text(message.into());
    } else {
        request.path = "/?size=100000".into();
        request.expect.body = ExpectBody::Length(100_000);
    }
    plan
}

fn protocols() -> [ClientSpec; 3] {
    [
        http1(),
        http2(),
        ClientSpec::with(
            2,
            &GrpcOptions {
                streams: 8,
                calls: CallSpec::default(),
            },
        ),
    ]
}

#[test]
fn each_protocol_runs_over_tls_and_mtls_and_the_origin_has_answered_every_request() {
    let (authority, people) = (Authority::new(), Authority::new());
    let ours = people.sign("client", Validity::Now).identity;
    for certified in [None, Some(ours)] {
        let origin = Running::start(
            &authority,
            certified.as_ref().map(|_| PathBuf::from(people.file())),
        );
        let mut sent = 0;
        for (version, word, _) in VERSIONS {
            for client in protocols() {
                let mut spec = only(version, believing(&authority));
                spec.identity.clone_from(&certified);
                let outcome = measure(&speaking((origin.plan)(spec), &client));
                let result = &outcome.result;
                assert_eq!(result.ok, 300, "{client:?} {:?}", result.outcomes);
                assert_eq!(handshakes(&outcome), (2, 0));
                assert!(result.tls.iter().all(|tls| tls.seen.version == word));
                sent += result.requests_sent_total;
            }
        }
        let totals = origin.totals();
        assert_eq!(
            (totals.requests, totals.malformed, totals.connections),
            (sent, 0, 12)
        );
    }
}

#[test]
fn an_origin_that_certifies_its_clients_answers_none_without_on_any_protocol() {
    let (authority, people) = (Authority::new(), Authority::new());
    let origin = Running::start(&authority, Some(PathBuf::from(people.file())));
    for (version, ..) in VERSIONS {
        for client in protocols() {
            let spec = only(version, believing(&authority));
            let ended = try_measure(&speaking((origin.plan)(spec), &client));
            let why = ended.err().map(|error| error.to_string());
            assert!(
                why.as_ref().is_some_and(|why| why.contains("--cert")),
                "{version:?} {client:?}: {why:?}"
            );
        }
    }
    assert_eq!(origin.totals().requests, 0);
}
