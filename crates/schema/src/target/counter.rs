//! What an instance counts, and where that is read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JmxSource;

/// One thing that an instance counts, cumulative since its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterDef {
    /// What it counts, one of [`COUNTERS`] or a name of your own that begins with `x-`.
    pub name: String,
    /// Where it is read.
    pub from: CounterSource,
    /// Factor to the unit of its name.
    #[serde(default = "one")]
    pub scale: f64,
    /// Whether it only ever grows.
    #[serde(default)]
    pub kind: CounterKind,
}

/// What a figure of an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterKind {
    /// A sum since its start: what matters is how much it has grown.
    #[default]
    Counter,
    /// The state of things at the moment.
    Gauge,
}

pub(super) fn one() -> f64 {
    1.0
}

/// Where a counter is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterSource {
    /// A page in the Prometheus text format.
    Prometheus(PrometheusSource),
    /// A JSON page.
    Json(JsonSource),
    /// Management beans of a Java process.
    Jmx(JmxSource),
    /// A page of text, by a pattern.
    Text(TextSource),
    /// Lines of a file in the instance's folder.
    Log(LogSource),
    /// The output of a command.
    Command(CommandSource),
}

/// Samples of one metric of a Prometheus page; samples with the same edge and label are added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrometheusSource {
    /// Address of the page.
    pub url: String,
    /// Name of the metric.
    pub metric: String,
    /// Label whose value is the id of an edge. Samples of other values are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// Label whose value is kept (a version, a cipher).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Labels that must have these values.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, String>,
    /// What a missing metric means.
    #[serde(default)]
    pub missing: Missing,
    /// Whether reading the page adds to the counter.
    #[serde(default)]
    pub reading: ReadingCost,
}

/// Numbers in a JSON page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonSource {
    /// Address of the page.
    pub url: String,
    /// JSON pointer (RFC 6901) to the number; `{{ edge }}` in it is the id of each edge in turn.
    pub pointer: String,
    /// What a missing number means.
    #[serde(default)]
    pub missing: Missing,
    /// Whether reading the page adds to the counter.
    #[serde(default)]
    pub reading: ReadingCost,
}

/// Numbers in a page of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextSource {
    /// Address of the page.
    pub url: String,
    /// Regular expression with the group `value`, and where they apply `edge` and `label`.
    pub pattern: String,
    /// Whether reading the page adds to the counter.
    #[serde(default)]
    pub reading: ReadingCost,
}

/// Lines of a file that the software writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSource {
    /// The file, a template; relative paths are in the instance's folder.
    pub file: String,
    /// Regular expression, with groups `edge` and `label` where they apply. Each line that matches counts 1, or its group `value`.
    pub pattern: String,
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSource {
    /// Its words, each a template.
    pub command: Vec<String>,
    /// Regular expression with the group `value`, and where they apply `edge` and `label`.
    pub pattern: String,
}

/// What it means when a counter is not on its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// No reading: nothing can be proved with it.
    #[default]
    Unknown,
    /// Nothing has happened yet: the software shows it from the first event on.
    Zero,
}

/// Whether reading a page is itself counted by the software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingCost {
    /// It is not.
    #[default]
    Free,
    /// Each reading adds 1, itself included; Tare subtracts its own readings.
    CountsOne,
}

/// Names of counters that Tare understands, with what they count.
///
/// `upstream-` is the side towards the called part, without it the side towards the caller.
pub const COUNTERS: &[(&str, &str)] = &[
    ("requests", "requests received"),
    ("upstream-requests", "requests sent on, retries included"),
    ("retries", "requests sent on again"),
    ("connections", "connections accepted"),
    ("upstream-connections", "connections opened"),
    ("bytes-received", "bytes from callers"),
    ("bytes-sent", "bytes to callers"),
    ("replication-bytes-in", "bytes copied from its peers"),
    ("replication-bytes-out", "bytes that its peers copied"),
    ("upstream-bytes-received", "bytes from called parts"),
    ("upstream-bytes-sent", "bytes to called parts"),
    (
        "unknown-connections",
        "captured connections that belong to no edge",
    ),
    (
        "unknown-names",
        "connections that were refused since no edge has the server name they asked for",
    ),
    ("tls-handshakes", "TLS handshakes done as server"),
    ("tls-version", "the same, by version"),
    ("tls-cipher", "the same, by cipher"),
    ("tls-group", "the same, by key exchange group"),
    (
        "tls-resumed",
        "of the handshakes, those that took up a session",
    ),
    (
        "tls-client-certificates",
        "of the handshakes, those in which the caller showed a certificate that was accepted",
    ),
    (
        "tls-no-certificate",
        "handshakes in which the caller showed no certificate",
    ),
    (
        "tls-failures",
        "handshakes that failed, for whatever reason",
    ),
    ("upstream-tls-handshakes", "TLS handshakes done as client"),
    ("upstream-tls-version", "the same, by version"),
    ("upstream-tls-cipher", "the same, by cipher"),
    ("upstream-tls-group", "the same, by key exchange group"),
    (
        "upstream-tls-resumed",
        "of the handshakes, those that took up a session",
    ),
    (
        "upstream-tls-failures",
        "handshakes that failed, for whatever reason",
    ),
];
