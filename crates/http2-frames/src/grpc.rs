//! A single gRPC call over a blocking stream, and the health check (`grpc.health.v1`).

use std::io::{Read, Write};

use thiserror::Error;

use crate::exchange::{ExchangeLimits, exchange};
use crate::field::{bad_name_byte, bad_value_byte, decimal};
use crate::gzip;
use crate::hpack::Encoder;

/// Path of the health check.
pub const HEALTH_METHOD: &str = "/grpc.health.v1.Health/Check";

/// Paths of the method of server reflection, newest version first; the messages are the same.
pub const REFLECTION_METHODS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The status of a method that the server does not have.
pub const UNIMPLEMENTED: u64 = 12;

/// The values of `HealthCheckResponse.ServingStatus`.
const STATUSES: [&str; 4] = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/// Flag and length before each message.
const PREFIX_BYTES: usize = 5;

/// Longest timeout that is sent, eight digits of milliseconds.
const TIMEOUT_MS_MAX: u128 = 99_999_999;

#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// `/package.Service/Method`.
    pub path: &'a str,
    /// Value of `:authority`, where no field `host` is given.
    pub authority: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Metadata.
    pub headers: &'a [(String, String)],
    /// Encoded messages.
    pub messages: &'a [Vec<u8>],
    /// Timeout and size of the response.
    pub limits: ExchangeLimits,
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum CallError {
    #[error("the header {0:?} cannot be sent")]
    Header(String),
    #[error("{0}")]
    Exchange(String),
    #[error("HTTP status {0}, not 200")]
    Http(String),
    #[error("the answer has no grpc-status")]
    NoStatus,
    #[error("grpc-status {code}: {message}")]
    Status { code: u64, message: String },
    #[error("a message of the answer is cut off, or compressed with something other than gzip")]
    Message,
}

/// Makes a call and returns the messages of the response.
///
/// # Errors
/// When the call fails, also by its status.
pub fn call(stream: impl Read + Write, call: &Call<'_>) -> Result<Vec<Vec<u8>>, CallError> {
    let mut body = Vec::new();
    for message in call.messages {
        body.push(0);
        body.extend_from_slice(&(message.len() as u32).to_be_bytes());
        body.extend_from_slice(message);
    }
    let response = exchange(stream, &head(call)?, &body, call.limits);
    let response = response.map_err(CallError::Exchange)?;
    let text = |name: &str| {
        let value = response.field(name);
        value.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let http_status = text(":status").unwrap_or_else(|| "none".to_owned());
    if http_status != "200" {
        return Err(CallError::Http(http_status));
    }
    match response.field("grpc-status").and_then(decimal) {
        Some(0) => {
            let is_gzip = response.field("grpc-encoding") == Some(b"gzip".as_slice());
            messages(&response.body, is_gzip, call.limits.bytes_max).ok_or(CallError::Message)
        }
        Some(code) => Err(CallError::Status {
            code,
            message: text("grpc-message").unwrap_or_default(),
        }),
        None => Err(CallError::NoStatus),
    }
}

/// The header block.
fn head(call: &Call<'_>) -> Result<Vec<u8>, CallError> {
    let mut block = Encoder::default();
    let is_host = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("host");
    let host = call.headers.iter().find(is_host);
    let authority = host.map_or(call.authority, |(_, value)| value.trim());
    let timeout_ms = call.limits.within.as_millis().clamp(1, TIMEOUT_MS_MAX);
    let timeout = format!("{timeout_ms}m");
    for (name, value) in [
        (":method", "POST"),
        (":scheme", call.scheme),
        (":path", call.path),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", timeout.as_str()),
    ] {
        block.field(name.as_bytes(), value.as_bytes());
    }
    for (name, value) in call.headers.iter().filter(|field| !is_host(field)) {
        let lower = name.to_ascii_lowercase();
        let value = value.trim_matches([' ', '\t']).as_bytes();
        if bad_name_byte(lower.as_bytes()).is_some() || bad_value_byte(value).is_some() {
            return Err(CallError::Header(name.clone()));
        }
        block.field(lower.as_bytes(), value);
    }
    Ok(block.finish())
}

/// The messages of a body, at most `bytes_max` in all; `None`: one of them is cut off, or cannot be decoded. Servers that always
/// compress do so whatever the request offers.
fn messages(mut body: &[u8], is_gzip: bool, bytes_max: usize) -> Option<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    let mut left_bytes = bytes_max;
    while !body.is_empty() {
        let (&[compressed, a, b, c, d], behind) = body.split_first_chunk::<PREFIX_BYTES>()?;
        let (message, behind) =
            behind.split_at_checked(u32::from_be_bytes([a, b, c, d]) as usize)?;
        let message = match compressed {
            0 => message.to_vec(),
            1 if is_gzip => {
                let mut decoded = Vec::new();
                let whole = gzip::decode(message, left_bytes, &mut decoded);
                (whole == Ok(gzip::Decoded::Whole)).then_some(decoded)?
            }
            _ => return None,
        };
        left_bytes = left_bytes.checked_sub(message.len())?;
        all.push(message);
        body = behind;
    }
    Some(all)
}

/// An encoded `HealthCheckRequest { string service = 1; }`; an empty name is the whole server.
#[must_use]
pub fn health_question(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message.push(0x0a);
        let mut rest = service.len();
        while rest >= 0x80 {
            message.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        message.push(rest as u8);
        message.extend_from_slice(service.as_bytes());
    }
    message
}

/// An encoded `HealthCheckResponse { ServingStatus status = 1; }` with status SERVING.
#[must_use]
pub fn serving_answer() -> Vec<u8> {
    vec![0x08, 1]
}

/// Whether the messages of a response say that a service serves.
///
/// # Errors
/// Its status, if that is another one.
pub fn check_serving(messages: &[Vec<u8>]) -> Result<(), String> {
    // The first value of an enumeration is not written.
    let status = match messages {
        [message] => match message.as_slice() {
            [] => Some(0),
            &[0x08, status] => Some(usize::from(status)),
            _ => None,
        },
        _ => None,
    };
    match status.and_then(|status| STATUSES.get(status)) {
        Some(&"SERVING") => Ok(()),
        status => Err(format!("it is {}", status.unwrap_or(&"no known status"))),
    }
}

/// Calls the health check of a service, without TLS.
///
/// # Errors
/// Why there is no answer, or its status if that is not SERVING.
pub fn check_health(
    stream: impl Read + Write,
    authority: &str,
    service: &str,
    limits: ExchangeLimits,
) -> Result<(), String> {
    let question = Call {
        path: HEALTH_METHOD,
        authority,
        scheme: "http",
        headers: &[],
        messages: &[health_question(service)],
        limits,
    };
    match call(stream, &question) {
        Ok(messages) => check_serving(&messages),
        Err(CallError::Status { code: 5, .. }) => {
            Err(format!("it does not know the service \"{service}\""))
        }
        Err(CallError::Status {
            code: UNIMPLEMENTED,
            ..
        }) => Err("it has no health service (grpc.health.v1)".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
