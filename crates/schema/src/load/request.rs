//! What is sent, and what a right answer is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Name of the request, the second word of its histogram tags.
    pub name: String,
    /// Share of this request among all, relative to the others.
    pub weight: f64,
    /// HTTP method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers in order, besides those the protocol needs.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Body,
    /// What a right answer is.
    pub expect: Expect,
    /// How its text is read.
    #[serde(default)]
    pub parts: Parts,
}

/// How the text of a request's path, header values and body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Parts {
    /// It is sent as it stands.
    #[default]
    Literal,
    /// `{uuid}`, `{int:1..1000}` and so on are filled anew for every exchange; see [`crate::load::template`].
    Random,
    /// `{{ uuid }}`, `{{ name }}` and so on, within a session.
    Session,
}

/// A request body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Body {
    /// No body.
    None,
    /// This text.
    Text {
        /// The text.
        text: String,
    },
    /// So many bytes of a fixed printable pattern.
    Filler {
        /// Length.
        bytes: u64,
    },
    /// These bytes.
    Base64 {
        /// The bytes, in the standard alphabet with padding.
        base64: String,
    },
    /// The messages of a gRPC call, each of these bytes.
    Messages {
        /// The messages, each in the standard alphabet with padding.
        base64: Vec<String>,
    },
    /// A form: `name=value&name=value`, with what is filled in encoded for it.
    Form {
        /// Its fields in order.
        fields: Vec<(String, String)>,
    },
    /// A JSON text; what is filled in within its strings is escaped for them.
    Json {
        /// The text.
        text: String,
    },
}

/// What makes an answer right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Accepted status.
    pub status: ExpectStatus,
    /// Accepted body.
    pub body: ExpectBody,
}

/// Which status is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectStatus {
    /// Any 2xx or 3xx.
    Success,
    /// Just this one.
    Exactly(u16),
    /// Each of these.
    Among(Vec<u16>),
    /// All are right.
    Any,
}

/// Which body is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectBody {
    /// All are right (framing errors are errors all the same).
    Any,
    /// Just so many bytes.
    Length(u64),
    /// Just this text.
    Text(String),
    /// Just these bytes, in the standard alphabet with padding.
    Base64(String),
    /// A text that a regular expression finds something in.
    Matches {
        /// The regular expression, in the syntax of Rust's `regex` crate.
        pattern: String,
        /// How much of the body is looked at, from its beginning.
        within_bytes: u32,
    },
}

impl ExpectStatus {
    /// Whether a status of an answer in HTTP is right.
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
    /// Whether a whole answer in HTTP is right.
    ///
    /// # Errors
    /// What is wrong with it, in words: the status first, since the body of an answer of another status is of another kind.
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
