//! From the arguments to what is sent.

use anyhow::Context;
use tare_schema::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec};

use super::super::args::Args;
use super::super::target::Target;

/// The requests of the load.
pub(super) fn request(args: &Args, target: &Target) -> anyhow::Result<RequestSpec> {
    let headers = args
        .request
        .headers
        .iter()
        .map(|text| header(text))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let body = match (&args.request.body, args.request.body_size) {
        (Some(text), _) => Body::Text { text: text.clone() },
        (None, Some(size)) => Body::Filler { bytes: size.0 },
        (None, None) => Body::None,
    };
    let usual = if body == Body::None { "GET" } else { "POST" };
    Ok(RequestSpec {
        name: "request".into(),
        weight: 1.0,
        method: args.request.method.clone().unwrap_or_else(|| usual.into()),
        path: target.path.clone(),
        headers,
        body,
        parts: Default::default(),
        expect: Expect {
            status: status(args.request.expect_status.as_deref())?,
            body: ExpectBody::Any,
        },
    })
}

pub(super) fn header(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text
        .split_once(':')
        .with_context(|| format!("{text:?} is not a header: write -H 'Name: value'"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn status(text: Option<&str>) -> anyhow::Result<ExpectStatus> {
    match text {
        None => Ok(ExpectStatus::Success),
        Some("any") => Ok(ExpectStatus::Any),
        Some(text) => text
            .parse()
            .ok()
            .filter(|status| (200..600).contains(status))
            .map(ExpectStatus::Exactly)
            .with_context(|| {
                format!("{text:?} is not a status: write a number from 200 to 599, or any")
            }),
    }
}
