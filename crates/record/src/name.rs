//! Names, which become folders, host names and columns; edges; exclusions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest name: with a suffix it is still a DNS label.
const NAME_CHARS_MAX: usize = 40;

/// A name: lower-case letters, digits and inner hyphens, at most 40 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(pub String);

/// An edge or a pattern over edges: `client->server`, `*->database`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EdgePattern(pub String);

/// An exclusion from a sidecar: an edge, a part, `port:9092`, or an address range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExcludeText(pub String);

macro_rules! text {
    ($name:ident, $format:literal, $about:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "format": $format, "description": $about})
            }
        }
    };
}

text!(
    Name,
    "name",
    "A name: small letters, digits and hyphens, at most 40."
);
text!(
    EdgePattern,
    "edge",
    "An edge, `from->to`; `*` stands for every part."
);
text!(
    ExcludeText,
    "exclude",
    "An edge (`*->database`), a part, a port (`port:9092`) or an address range (`10.0.0.0/8`)."
);

impl EdgePattern {
    /// Caller and called part.
    #[must_use]
    pub fn sides(&self) -> (&str, &str) {
        split_edge(&self.0).unwrap_or((&self.0, ""))
    }

    /// Whether it matches this edge.
    #[must_use]
    pub fn matches(&self, from: &str, to: &str) -> bool {
        let (left, right) = self.sides();
        (left == "*" || left == from) && (right == "*" || right == to)
    }
}

/// A parsed exclusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Excluded {
    /// Edges that match a pattern.
    Edge(EdgePattern),
    /// Every edge of a part.
    Part(String),
    /// A port, on any edge.
    Port(u16),
    /// An address range in CIDR form.
    Range(String),
}

impl ExcludeText {
    /// The parsed exclusion; `None`: invalid.
    #[must_use]
    pub fn meaning(&self) -> Option<Excluded> {
        if split_edge(&self.0).is_some() {
            return Some(Excluded::Edge(EdgePattern(self.0.clone())));
        }
        if let Some(port) = self.0.strip_prefix("port:") {
            return port
                .parse::<u16>()
                .ok()
                .filter(|port| *port > 0)
                .map(Excluded::Port);
        }
        if self.0.contains('/') {
            return is_range(&self.0).then(|| Excluded::Range(self.0.clone()));
        }
        check_name(&self.0)
            .is_none()
            .then(|| Excluded::Part(self.0.clone()))
    }
}

/// Splits `from->to`; spaces around the arrow are allowed.
fn split_edge(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text.split_once("->")?;
    Some((from.trim(), to.trim()))
}

fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    match (address.parse::<std::net::IpAddr>(), bits.parse::<u8>()) {
        (Ok(std::net::IpAddr::V4(_)), Ok(bits)) => bits <= 32,
        (Ok(std::net::IpAddr::V6(_)), Ok(bits)) => bits <= 128,
        _ => false,
    }
}

fn check_name(text: &str) -> Option<String> {
    let good = !text.is_empty()
        && text.len() <= NAME_CHARS_MAX
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-');
    (!good).then(|| {
        format!(
            "invalid name \"{text}\": use small letters, digits and hyphens, at most {NAME_CHARS_MAX}"
        )
    })
}

/// Checks a text against a format of this module; `None`: it is valid, or the format is of another module.
#[must_use]
pub fn check_format(format: &str, text: &str) -> Option<String> {
    match format {
        "name" => check_name(text),
        "edge" => {
            let good = split_edge(text).is_some_and(|(from, to)| {
                [from, to]
                    .iter()
                    .all(|side| *side == "*" || check_name(side).is_none())
            });
            (!good).then(|| format!("invalid edge \"{text}\": write from->to, or *->to"))
        }
        "exclude" => ExcludeText(text.to_owned()).meaning().is_none().then(|| {
            format!(
                "\"{text}\" cannot be excluded: write an edge (*->database), a part, port:9092 or a range (10.0.0.0/8)"
            )
        }),
        _ => None,
    }
}
