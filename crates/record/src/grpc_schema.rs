//! What `tare load` asks the program `tare-proto` about a gRPC method, and its replies: a line of JSON each, over standard input and
//! output.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::load::CallKind;

/// Version of these shapes: the two programs can be of different builds.
pub const SCHEMA_QUESTION_VERSION: u32 = 1;

/// Largest line: messages of a server's reflection, or of the user, in base64.
pub const SCHEMA_LINE_BYTES_MAX: u64 = 256 << 20;

/// Which method, described where, and the messages to encode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaQuestion {
    /// [`SCHEMA_QUESTION_VERSION`] of who asks.
    pub version: u32,
    pub method: MethodName,
    pub source: SchemaSource,
    /// Messages as JSON; `None`: only the kind of call is asked for.
    pub data: Option<String>,
}

/// Where a method is described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaSource {
    /// An encoded descriptor set.
    Set(PathBuf),
    /// `.proto` files.
    Files {
        files: Vec<PathBuf>,
        import_paths: Vec<PathBuf>,
    },
    /// The server's reflection: who asks makes the calls ([`SchemaReply::Reflect`]).
    Server,
}

/// A reply to a [`SchemaQuestion`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaReply {
    /// Make one call of reflection with these messages (base64), and write a [`ReflectionAnswer`].
    Reflect(Vec<String>),
    /// The end: what was asked for.
    Described(MethodDescription),
    /// The end: why there is no answer.
    Error(String),
}

/// The messages (base64) of the server's reflection, or why there are none.
pub type ReflectionAnswer = Result<Vec<String>, String>;

/// A method by its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodDescription {
    pub kind: CallKind,
    /// The messages, encoded, in base64.
    pub messages: Option<Vec<String>>,
}

/// The full name of a method: `package.Service/Method`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodName {
    /// Full name of the service.
    pub service: String,
    pub method: String,
}

impl MethodName {
    /// The path of its calls: `/package.Service/Method`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{self}")
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.service, self.method)
    }
}

/// A text that is not the name of a method.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not the name of a method: write package.Service/Method")]
pub struct NoMethodName(String);

impl FromStr for MethodName {
    type Err = NoMethodName;

    /// Parses `package.Service/Method`; also with a leading slash, or with a dot before the method.
    fn from_str(text: &str) -> Result<Self, NoMethodName> {
        let bare = text.strip_prefix('/').unwrap_or(text);
        let parts = bare.rsplit_once('/').or_else(|| bare.rsplit_once('.'));
        let is_name = |name: &str| {
            let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            !name.is_empty() && name.chars().all(fits)
        };
        match parts {
            Some((service, method)) if is_name(service) && is_name(method) => Ok(Self {
                service: service.to_owned(),
                method: method.to_owned(),
            }),
            _ => Err(NoMethodName(text.to_owned())),
        }
    }
}
