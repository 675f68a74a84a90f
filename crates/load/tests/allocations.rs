//! After warm-up, the threads that measure allocate nothing, however many exchanges they make.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

#[path = "rig/counting.rs"]
mod counting;
mod rig;

use std::net::SocketAddr;
use std::thread::JoinHandle;

use counting::check;
use rig::{plan, request};
use tare_load::protocols::http2::Http2Options;
use tare_origin::{
    Identity, OriginOptions, SessionTickets, StopHandle, TlsOptions, TlsVersions, bind,
};
use tare_record::load::{ClientSpec, Resumption, TlsSpec, TlsVersion, Transport, Trust};

/// An origin that runs until it is dropped.
struct Serving {
    address: SocketAddr,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn start(options: OriginOptions) -> Self {
        let origin = bind(options).unwrap();
        let address = origin.local_addr();
        let stop = StopHandle::new().unwrap();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let _totals = origin.run(stopped).unwrap();
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.stop();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn over_tls() -> Transport {
    Transport::Tls(TlsSpec {
        trust: Trust::Any,
        identity: None,
        server_name: Some("localhost".into()),
        alpn: None,
        oldest: TlsVersion::V1_3,
        newest: TlsVersion::V1_3,
        resumption: Resumption::Off,
    })
}

#[test]
fn a_worker_allocates_per_sample_and_not_per_exchange_on_any_protocol_and_transport() {
    let plain = Serving::start(OriginOptions::default());
    let secure = Serving::start(OriginOptions {
        tls: Some(TlsOptions {
            identity: Identity::SelfSigned { ca_out: None },
            client_ca: None,
            tickets: SessionTickets::On,
            versions: TlsVersions::Both,
        }),
        ..OriginOptions::default()
    });
    let http1 = ClientSpec::new("http1", 16);
    let http2 = ClientSpec::with(4, &Http2Options { streams: 8 });
    for (name, client, server, transport) in [
        ("http1", &http1, &plain, Transport::Tcp),
        ("http2", &http2, &plain, Transport::Tcp),
        ("http1 over tls", &http1, &secure, over_tls()),
        ("http2 over tls", &http2, &secure, over_tls()),
    ] {
        let mut plan = plan(server.address);
        plan.load.requests = vec![
            request("small", "/?size=64"),
            request("large", "/?size=100000"),
        ];
        plan.load.client = client.clone();
        plan.load.transport = transport;
        check(name, plan);
    }
}
