//! Plans; tests change what they are about.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::net::SocketAddr;

use tare_record::FORMAT_VERSION;
use tare_record::load::{
    AddressPolicy, Body, ClientSpec, ConnectionRules, Cores, Endpoint, Expect, ExpectBody,
    ExpectStatus, LoadPlan, LoadSpec, Pacing, RequestSpec, Sched, Spin, Stop, Transport,
};

pub const MS: u64 = 1_000_000;

/// A plan of 100 exchanges at 1000/s over two connections; tests change what they are about.
pub fn plan(address: SocketAddr) -> LoadPlan {
    LoadPlan {
        version: FORMAT_VERSION,
        role: "client".into(),
        start_at_unix_us: None,
        start_lead_ns: None,
        seed: 1,
        endpoint: Endpoint {
            addresses: vec![address],
            host: "test".into(),
        },
        allowed_addresses: AddressPolicy::Private,
        address_overrides: Vec::new(),
        cores: Cores::Shared,
        cpu_per_exchange_ns: None,
        load: LoadSpec {
            pacing: Pacing::Constant { rate_per_s: 1000.0 },
            stop: Stop::Count { exchanges: 100 },
            warmup_ns: 0,
            timeout_ns: 20_000 * MS,
            workers: 1,
            spin: Spin::Off,
            sched: Sched::Auto,
            sample_every_ns: 1000 * MS,
            transport: Transport::Tcp,
            connections: ConnectionRules::default(),
            client: ClientSpec::new("http1", 2),
            mix: Default::default(),
            requests: vec![request("root", "/")],
        },
    }
}

pub fn request(name: &str, path: &str) -> RequestSpec {
    RequestSpec {
        name: name.into(),
        weight: 1.0,
        method: "GET".into(),
        path: path.into(),
        headers: Vec::new(),
        body: Body::None,
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    }
}
