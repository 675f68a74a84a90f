//! gRPC status codes, their names and error classes.

use std::fmt;

use tare_record::agent::ErrorSource;

use crate::client::ErrorClass;

struct Code {
    name: &'static str,
    class: &'static str,
}

macro_rules! codes {
    ($($name:literal),*) => {
        [$(Code { name: $name, class: concat!("grpc-", $name) }),*]
    };
}

/// By number, from 0.
static CODES: [Code; 17] = codes![
    "ok",
    "cancelled",
    "unknown",
    "invalid-argument",
    "deadline-exceeded",
    "not-found",
    "already-exists",
    "permission-denied",
    "resource-exhausted",
    "failed-precondition",
    "aborted",
    "out-of-range",
    "unimplemented",
    "internal",
    "unavailable",
    "data-loss",
    "unauthenticated"
];

/// The name of a code in kebab case, such as `deadline-exceeded`.
#[must_use]
pub fn code_name(code: u16) -> Option<&'static str> {
    CODES.get(usize::from(code)).map(|code| code.name)
}

/// The code of a quota that is used up.
const RESOURCE_EXHAUSTED: u16 = 8;

/// The error class of a call that ended with a code.
#[must_use]
pub fn code_class(code: u16) -> ErrorClass {
    match CODES.get(usize::from(code)) {
        Some(known) if code == RESOURCE_EXHAUSTED => {
            ErrorClass::of(known.class, ErrorSource::Quota)
        }
        Some(known) => ErrorClass::of(known.class, ErrorSource::Target),
        None => ErrorClass {
            name: "grpc-status",
            code: Some(code),
            error_source: ErrorSource::Target,
        },
    }
}

/// A status as text: code, name, and the server's message, percent-decoded.
#[derive(Debug, Clone, Copy)]
pub struct StatusText<'m> {
    pub code: u16,
    /// The message as sent.
    pub message: &'m [u8],
}

impl fmt::Display for StatusText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the call ended with status {} ({})",
            self.code,
            code_name(self.code).unwrap_or("unknown code")
        )?;
        if self.message.is_empty() {
            return Ok(());
        }
        write!(
            f,
            ": {}",
            String::from_utf8_lossy(&percent_decode(self.message))
        )
    }
}

/// Decodes `%XX`; everything else is unchanged.
fn percent_decode(message: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(message.len());
    let mut rest = message;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.first_chunk::<2>().filter(|_| first == b'%');
        let byte = digits.and_then(|digits| {
            let text = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(text, 16).ok()
        });
        text.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    text
}
