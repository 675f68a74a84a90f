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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectStatus {
    /// Any 2xx or 3xx.
    Success,
    /// Just this one.
    Exactly(u16),
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
}
