//! The requests that fuzzed clients send.

use tare_schema::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec};

/// One without and one with a body, whose answer is checked.
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
