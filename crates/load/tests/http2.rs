//! HTTP/2 and gRPC against nginx, which speaks it without TLS to those who know.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot start its server ends"
)]

mod rig;

use std::ops::ControlFlow;

use rig::nginx::Nginx;
use tare_load::protocols::grpc::GrpcOptions;
use tare_load::protocols::http2::Http2Options;
use tare_load::{LoadError, LoadOutcome, StopHandle, run};
use tare_record::FORMAT_VERSION;
use tare_record::load::{
    AddressPolicy, Body, CallSpec, ClientSpec, ConnectionRules, Cores, Endpoint, Expect,
    ExpectBody, ExpectStatus, LoadPlan, LoadSpec, Pacing, RequestSpec, Sched, Spin, Stop,
    Transport,
};

fn measure(
    nginx: &Nginx,
    client: ClientSpec,
    exchanges: u64,
    request: RequestSpec,
) -> Result<LoadOutcome, LoadError> {
    let plan = LoadPlan {
        version: FORMAT_VERSION,
        role: "client".into(),
        start_at_unix_us: None,
        start_lead_ns: None,
        seed: 1,
        endpoint: Endpoint {
            addresses: vec![nginx.address],
            host: "localhost".into(),
        },
        allowed_addresses: AddressPolicy::Private,
        address_overrides: Vec::new(),
        cores: Cores::Shared,
        cpu_per_exchange_ns: None,
        load: LoadSpec {
            pacing: Pacing::Max,
            stop: Stop::Count { exchanges },
            warmup_ns: 0,
            timeout_ns: 10_000_000_000,
            workers: 1,
            spin: Spin::Off,
            sched: Sched::Auto,
            sample_every_ns: 1_000_000_000,
            transport: Transport::Tcp,
            connections: ConnectionRules::default(),
            client,
            mix: Default::default(),
            requests: vec![request],
        },
    };
    run(
        &plan,
        &StopHandle::new(),
        &mut |_| ControlFlow::Continue(()),
    )
}

fn request(method: &str, path: &str, body: Body, expected: &str) -> RequestSpec {
    RequestSpec {
        name: "root".into(),
        weight: 1.0,
        method: method.into(),
        path: path.into(),
        headers: vec![("X-Test".into(), "1".into())],
        body,
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Text(expected.into()),
        },
    }
}

#[test]
fn every_exchange_is_right_although_nginx_ends_connections_and_limits_streams() {
    let directives =
        "keepalive_requests 100; http2_max_concurrent_streams 3; location / { return 200 hello; }";
    let nginx = Nginx::start("http2", directives);
    let client = ClientSpec::with(2, &Http2Options { streams: 8 });
    let outcome = measure(
        &nginx,
        client,
        2_000,
        request("GET", "/", Body::None, "hello"),
    )
    .unwrap();
    let result = &outcome.result;
    assert_eq!(
        (result.ok, result.errors, result.unfinished),
        (2_000, 0, 0),
        "{:?}",
        result.outcomes
    );
    // 100 exchanges a connection: at least 20 of them, and not many more, as what one leaves goes to the next.
    let opened = result.connections.opened;
    assert!((20..=30).contains(&opened), "{opened} connections");
    assert!(
        result
            .queue_waits
            .iter()
            .any(|wait| wait.cause == "stream" && wait.count > 0),
        "{:?}",
        result.queue_waits
    );
}

#[test]
fn large_bodies_arrive_whole_and_say_that_they_waited_for_windows() {
    let directives = "client_max_body_size 10m; location / { client_body_buffer_size 10m; proxy_pass http://127.0.0.1:1; \
                      error_page 502 =200 /fixed; } location = /fixed { internal; return 200 $content_length; }";
    let nginx = Nginx::start("http2", directives);
    let client = ClientSpec::with(1, &Http2Options { streams: 4 });
    let body = Body::Filler { bytes: 1_000_000 };
    let outcome = measure(&nginx, client, 50, request("POST", "/", body, "1000000")).unwrap();
    let result = &outcome.result;
    assert_eq!((result.ok, result.errors), (50, 0), "{:?}", result.outcomes);
    assert!(
        result.bytes_sent >= 50_000_000,
        "{} bytes",
        result.bytes_sent
    );
    assert!(
        result
            .queue_waits
            .iter()
            .any(|wait| wait.cause == "window" && wait.count > 0),
        "{:?}",
        result.queue_waits
    );
}

#[test]
fn a_call_of_grpc_has_its_status_from_the_trailers_or_the_head() {
    let directives = "location / { default_type application/grpc; add_header grpc-status 12 always; return 200; }";
    let nginx = Nginx::start("http2", directives);
    let client = ClientSpec::with(
        1,
        &GrpcOptions {
            streams: 2,
            calls: CallSpec::default(),
        },
    );
    let call = request("POST", "/a.B/C", Body::Text { text: "x".into() }, "");
    let outcome = measure(&nginx, client, 20, call).unwrap();
    let classes: Vec<(&str, u64)> = outcome
        .result
        .outcomes
        .iter()
        .map(|outcome| (outcome.class.as_str(), outcome.count))
        .collect();
    assert_eq!(classes, [("grpc-unimplemented", 20)]);
}
