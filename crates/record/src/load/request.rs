//! Requests and the expected responses.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest status that a response can have: three digits.
pub const STATUS_MAX: u16 = 999;

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Name of the request, the second word of its histogram tags.
    pub name: String,
    /// Weight among all requests.
    pub weight: f64,
    /// HTTP method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers in order, besides those that the protocol needs.
    pub headers: Vec<(String, String)>,
    /// Body of the request.
    pub body: Body,
    /// Expected response.
    pub expect: Expect,
    /// How path, header values and body are read.
    #[serde(default)]
    pub template: TemplateMode,
}

/// How the text of a request's path, header values and body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TemplateMode {
    /// As written.
    #[default]
    None,
    /// Placeholders `{uuid}`, `{int:1..1000}` … are filled anew for every exchange; see [`crate::load::template`].
    Random,
    /// Placeholders `{{ uuid }}`, `{{ name }}` …, within a session.
    Session,
}

/// A request body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Body {
    /// No body.
    None,
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// A fixed printable pattern, repeated.
    Filler {
        /// Length of the body.
        bytes: u64,
    },
    /// Bytes.
    Base64 {
        /// The bytes, in standard base64 with padding.
        base64: String,
    },
    /// Messages of a gRPC call, as bytes.
    Messages {
        /// The messages, each in standard base64 with padding.
        base64: Vec<String>,
    },
    /// A form, `name=value&name=value`; filled-in values are encoded for it.
    Form {
        /// Fields, in order.
        fields: Vec<(String, String)>,
    },
    /// A JSON text; filled-in values are escaped within its strings.
    Json {
        /// The text.
        text: String,
    },
}

/// The expected response: anything else counts as an error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Expected status.
    pub status: ExpectStatus,
    /// Expected body.
    pub body: ExpectBody,
}

/// Expected status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectStatus {
    /// Any 2xx or 3xx.
    #[default]
    Success,
    /// This status.
    Exactly(u16),
    /// One of these.
    Among(Vec<u16>),
    /// Any.
    Any,
}

/// Expected body.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectBody {
    /// Any body. (Framing errors are errors nevertheless.)
    #[default]
    Any,
    /// A body of this length.
    Length(u64),
    /// This text.
    Text(String),
    /// These bytes, in standard base64 with padding.
    Base64(String),
    /// A text that matches a regular expression anywhere.
    Matches {
        /// The regular expression, in the syntax of Rust's `regex` crate.
        pattern: String,
        /// Length of the searched beginning of the body.
        match_limit_bytes: u32,
    },
}

impl ExpectStatus {
    /// Whether an HTTP status is as expected.
    #[inline]
    #[must_use]
    pub fn accepts(&self, status: u16) -> bool {
        match self {
            ExpectStatus::Success => (200..400).contains(&status),
            ExpectStatus::Exactly(exactly) => status == *exactly,
            ExpectStatus::Among(several) => several.contains(&status),
            ExpectStatus::Any => true,
        }
    }
}

impl Expect {
    /// Whether a complete HTTP response is as expected.
    ///
    /// # Errors
    /// What is wrong with it, in words: the status first, since a response with another status has another kind of body.
    pub fn judge(&self, status: u16, body: &str) -> Result<(), String> {
        if !self.status.accepts(status) {
            return Err(match &self.status {
                ExpectStatus::Exactly(wanted) => format!("{status} instead of {wanted}"),
                ExpectStatus::Success | ExpectStatus::Among(_) | ExpectStatus::Any => {
                    format!("{status}")
                }
            });
        }
        let length = body.len() as u64;
        match &self.body {
            ExpectBody::Length(wanted) if length != *wanted => {
                Err(format!("{length} bytes instead of {wanted}"))
            }
            ExpectBody::Text(wanted) if body != wanted => Err(format!("not \"{wanted}\"")),
            ExpectBody::Base64(_) | ExpectBody::Matches { .. } => Err(String::from(
                "a single request can expect a status, a length or a text only",
            )),
            ExpectBody::Any | ExpectBody::Length(_) | ExpectBody::Text(_) => Ok(()),
        }
    }
}
