//! Plans of the fuzzed clients: two connections and two requests.

use std::sync::Arc;

use tare_load::protocols::http2::codec::Limits;
use tare_load::protocols::http2::dialect::Dialect;
use tare_load::protocols::http2::{Http2Plan, Windows};
use tare_load::roster::Connections;
use tare_schema::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec};

use crate::script::ADDRESS;

/// Two connections, reopened after five exchanges.
#[must_use]
pub fn connections() -> Connections {
    Connections {
        addresses: [ADDRESS].into(),
        first: 0,
        count: 2,
        exchanges_max: 5,
        opening: Default::default(),
        timeout_ns: 1_000_000_000,
        waiting_max: 16,
    }
}

/// A client plan over them with three streams on each.
#[must_use]
pub fn http2<D: Dialect>(requests: &Arc<[D::Request]>) -> Http2Plan<D> {
    Http2Plan {
        requests: Arc::clone(requests),
        connections: connections(),
        streams: 3,
        windows: Windows::default(),
        limits: Limits::default(),
    }
}

/// A GET without a body, and a POST with a body and a check of its answer.
#[must_use]
pub fn requests() -> Vec<RequestSpec> {
    let one = |name: &str, method: &str, body: Body, right: ExpectBody| RequestSpec {
        name: name.into(),
        weight: 1.0,
        method: method.into(),
        path: "/fuzz.Service/Call".into(),
        headers: Vec::new(),
        body,
        parts: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: right,
        },
    };
    vec![
        one("get", "GET", Body::None, ExpectBody::Any),
        one(
            "post",
            "POST",
            Body::Filler { bytes: 70_000 },
            ExpectBody::Length(3),
        ),
    ]
}
