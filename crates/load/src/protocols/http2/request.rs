//! Encodes a planned request as header block and body, once, before the load starts.

use tare_record::load::RequestSpec;
use thiserror::Error;

use super::hpack::Encoder;
use crate::protocols::ConnectionSecurity;
use crate::protocols::http1::ResponseMismatch;
use crate::protocols::http1::body_scan::BodyScan;
use crate::protocols::http1::codec::{BodyCheck, BodyProgress, ContentCoding, RequestKind};
use crate::protocols::http1::request::{
    Expected, Prepared as Http1Request, RequestError as Http1RequestError, body_bytes, has_header,
    method_expects_body,
};

/// An encoded request with the expected response.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The header block. It does not depend on the state of a connection's dynamic table.
    pub block: Box<[u8]>,
    pub body: Box<[u8]>,
    /// Whether the response can have a body.
    pub kind: RequestKind,
    /// The expected response.
    pub expected: Expected,
    /// Bytes of the body to compare once they are decoded; 0 if the server was not asked for a coding, or any body is right.
    pub keep_bytes: usize,
}

/// Why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// An error that any version of HTTP has.
    #[error(transparent)]
    Http(#[from] Http1RequestError),
    #[error(
        "header {0:?} belongs to http/1 connections and cannot be sent in http/2: leave it out"
    )]
    ConnectionHeader(String),
    #[error("header {0:?} follows from the call and cannot be set: leave it out")]
    GrpcHeader(String),
    #[error("{0:?} is not the path of a gRPC method: write /package.Service/Method")]
    GrpcPath(String),
    /// A binary metadata field (`-bin`) whose value is not base64.
    #[error("header {0:?} is binary metadata by its name, and its value must be base64")]
    BinaryMetadata(String),
    #[error("{0}")]
    CallKind(&'static str),
}

impl Prepared {
    /// Prepares a request to a host.
    ///
    /// # Errors
    /// When a part of it cannot be sent in HTTP/2.
    pub fn new(
        spec: &RequestSpec,
        host: &str,
        security: ConnectionSecurity,
    ) -> Result<Self, RequestError> {
        // Methods, paths, fields and the body are validated as for HTTP/1.1, and the expectations are the same.
        let checked = Http1Request::new(spec, host)?;
        let body = body_bytes(&spec.body)?;
        let mut encoder = Encoder::default();
        put_head(&mut encoder, spec, host, security)?;
        if method_expects_body(spec) || !body.is_empty() {
            encoder.field(b"content-length", body.len().to_string().as_bytes());
        }
        Ok(Self {
            block: encoder.finish().into_boxed_slice(),
            body: body.into_boxed_slice(),
            kind: checked.kind,
            keep_bytes: match &checked.expected.body {
                BodyCheck::Exact(body) if has_header(spec, "accept-encoding") => body.len(),
                _ => 0,
            },
            expected: checked.expected,
        })
    }
}

impl Prepared {
    /// Checks a complete response whose body is in a coding.
    pub(super) fn judge_encoded(
        &self,
        progress: BodyProgress,
        coding: ContentCoding,
        kept: Vec<u8>,
        status: u16,
    ) -> Result<(), ResponseMismatch> {
        if !self.expected.status.accepts(status) {
            return Err(ResponseMismatch::Status(status));
        }
        let mut scan = BodyScan::received(progress, coding, self.keep_bytes, kept);
        scan.decode(&self.expected.body)?;
        Ok(scan.finish(&self.expected.body)?)
    }
}

/// Encodes the pseudo-header fields, then the planned ones.
///
/// # Errors
/// When a planned field is one that only HTTP/1 has (RFC 9113 §8.2.2).
pub fn put_head(
    encoder: &mut Encoder,
    spec: &RequestSpec,
    host: &str,
    security: ConnectionSecurity,
) -> Result<(), RequestError> {
    let planned_host = spec
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = planned_host.map_or(host, |(_, value)| value.trim());
    encoder.field(b":method", spec.method.as_bytes());
    let scheme: &[u8] = match security {
        ConnectionSecurity::Plain => b"http",
        ConnectionSecurity::Tls => b"https",
    };
    encoder.field(b":scheme", scheme);
    encoder.field(b":authority", authority.as_bytes());
    encoder.field(b":path", spec.path.as_bytes());
    let mut has_agent = false;
    for (name, value) in &spec.headers {
        let lower = name.to_ascii_lowercase();
        let value = value.trim_matches([' ', '\t']);
        match lower.as_str() {
            "host" => continue,
            "connection" | "keep-alive" | "proxy-connection" | "http2-settings" => {
                return Err(RequestError::ConnectionHeader(name.clone()));
            }
            "te" if value != "trailers" => {
                return Err(RequestError::ConnectionHeader(name.clone()));
            }
            "user-agent" => has_agent = true,
            _ => {}
        }
        encoder.field(lower.as_bytes(), value.as_bytes());
    }
    if !has_agent {
        encoder.field(
            b"user-agent",
            concat!("tare/", env!("CARGO_PKG_VERSION")).as_bytes(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tare_record::load::{Body, Expect, ExpectBody, ExpectStatus};

    use super::super::hpack::{Decoder, HeaderListLimits};
    use super::*;

    fn spec(method: &str, path: &str, headers: &[(&str, &str)]) -> RequestSpec {
        RequestSpec {
            name: "r".into(),
            weight: 1.0,
            method: method.into(),
            path: path.into(),
            headers: headers.iter().map(|&(n, v)| (n.into(), v.into())).collect(),
            body: Body::None,
            template: Default::default(),
            expect: Expect {
                status: ExpectStatus::Success,
                body: ExpectBody::Any,
            },
        }
    }

    fn fields(spec: &RequestSpec) -> Vec<(String, String)> {
        let prepared = Prepared::new(spec, "here:80", ConnectionSecurity::Plain).unwrap();
        let mut decoder = Decoder::new(
            0,
            HeaderListLimits {
                bytes_max: 65_536,
                fields_max: 100,
            },
        );
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        decoder
            .decode(&prepared.block, |n, v| fields.push((text(n), text(v))))
            .unwrap();
        fields
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn pseudo_fields_come_first_and_names_are_in_lower_case() {
        let mut post = spec(
            "POST",
            "/a?b=c",
            &[("X-One", "1"), ("Host", "there"), ("User-Agent", "me")],
        );
        post.body = Body::Filler { bytes: 28 };
        let expected = [
            pair(":method", "POST"),
            pair(":scheme", "http"),
            pair(":authority", "there"),
            pair(":path", "/a?b=c"),
            pair("x-one", "1"),
            pair("user-agent", "me"),
            pair("content-length", "28"),
        ];
        assert_eq!(fields(&post), expected);
        let prepared = Prepared::new(&post, "h", ConnectionSecurity::Tls).unwrap();
        assert_eq!(&*prepared.body, b"abcdefghijklmnopqrstuvwxyzab");
    }

    #[test]
    fn what_only_http1_has_is_refused_by_name() {
        for (name, value) in [("Connection", "close"), ("Keep-Alive", "5"), ("TE", "gzip")] {
            let error = Prepared::new(
                &spec("GET", "/", &[(name, value)]),
                "h",
                ConnectionSecurity::Plain,
            )
            .unwrap_err();
            assert_eq!(error, RequestError::ConnectionHeader(name.into()));
        }
        assert!(fields(&spec("GET", "/", &[("TE", "trailers")])).contains(&pair("te", "trailers")));
        let smuggling = Prepared::new(&spec("GET", "/ x", &[]), "h", ConnectionSecurity::Plain);
        assert!(matches!(smuggling, Err(RequestError::Http(_))));
    }
}
